/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_bots_fields.c - any bytes as the fields of a signed request.
 *
 * Lines of the input: Signature-Input, Signature, Signature-Agent, a field X, the target.  What must hold: what is
 * written of a dictionary's member reads again and is written the same; a claim's agent is its own spelling; of a claim
 * there is a base within its room, or none; a base ends with the parameters, and has a line for each component.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bots/bots_claim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = { "signature-input", "signature", "signature-agent", "x" };
struct lines {
    struct bots_text line[5];
};

static struct bots_text line_of(const void *of, const char *name) {
    const struct lines *l = of;

    for (unsigned i = 0; i < 4; i++)
        if (!strcmp(name, names[i])) return l->line[i];
    return bots_text(NULL, 0);
}

static void check_members(struct bots_text field) {
    struct bots_member m, again;
    char one[4096], two[4096];

    one[0] = 'a', one[1] = '=';
    while (bots_fields_member(&field, &m)) {
        struct bots_text written;
        int n = bots_fields_write(&m.item, one + 2, sizeof one - 2);

        if (n < 0) continue;
        written = bots_text(one, (size_t)n + 2);
        assert(bots_fields_member(&written, &again) && written.at && !written.n);
        assert(bots_fields_write(&again.item, two, sizeof two) == n && !memcmp(one + 2, two, (size_t)n));
        assert(bots_fields_write(&m.item, two, n ? (size_t)n - 1 : 0) < 0);
    }
}

static void check_base(const struct bots_message *m, const struct bots_claim *c) {
    static const char last[] = "\"@signature-params\": (";
    static char base[BOTS_BASE_MAX];
    int n = bots_base(m, &c->list, base, sizeof base);
    const char *at = base, *end;

    if (n < 0) return;
    end = base + n;
    for (;;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        assert(*at == '"');
        if (!stop) break;
        at = stop + 1;
    }
    assert((size_t)(end - at) > sizeof last && !memcmp(at, last, sizeof last - 1));
    assert(bots_base(m, &c->list, base, (size_t)n - 1) < 0);
}

static void check_claims(const struct bots_message *m) {
    struct bots_claims all;
    struct bots_claim c;
    char again[BOTS_AGENT_MAX];
    unsigned n = 0;
    enum bots_read read;

    if (!bots_claims(&all, m)) return;
    while ((read = bots_claim_next(&all, &c)) != BOTS_NO_CLAIM) {
        assert(++n <= BOTS_CLAIMS_MAX + 1);
        if (read != BOTS_A_CLAIM) continue;
        assert(bots_agent(c.agent, strlen(c.agent), again) == strlen(c.agent) && !strcmp(c.agent, again));
        assert(c.created >= 0 && c.until >= c.created && c.until - c.created <= BOTS_LONGEST);
        check_base(m, &c);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct lines l = { 0 };
    struct bots_text left = bots_text((const char *)data, size);
    struct bots_message m = { .method = bots_text("GET", 3),
                              .scheme = bots_text("https", 5),
                              .authority = bots_text("example.com", 11),
                              .path = bots_text("/", 1),
                              .field = line_of,
                              .of = &l };
    char agent[BOTS_AGENT_MAX];

    for (unsigned i = 0; i < 5 && left.n; i++) {
        const char *end = memchr(left.at, '\n', left.n);
        l.line[i] = bots_text(left.at, end ? (size_t)(end - left.at) : left.n);
        left = end ? bots_text(end + 1, left.n - l.line[i].n - 1) : bots_text(left.at, 0);
        check_members(l.line[i]);
    }
    m.query = l.line[4];
    bots_agent((const char *)data, size, agent);
    check_claims(&m);
    return 0;
}
