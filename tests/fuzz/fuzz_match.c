/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_match.c - rules and a request out of any bytes: the tables must answer as the plain reading of the rules does.
 *
 * Bytes: number of rules; for each rule field and match, class, length, pattern; then for each text field a length and
 * a text; what is left are a visitor, addresses and ports.  Patterns of these are written out of bytes, so that most
 * of them are right.
 */
#include <stdio.h>
#include <string.h>

#include "policy/policy_impl.h"

enum { CLASSES = 5, RULES_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *p;
    size_t n;
};

static unsigned next_byte(struct input *in) {
    if (in->n == 0) return 0;
    in->n--;
    return *in->p++;
}

static struct policy_text next_text(struct input *in, unsigned most) {
    size_t n = next_byte(in) % (most + 1);
    struct policy_text t;

    if (n > in->n) n = in->n;
    t = (struct policy_text){ (const char *)in->p, n };
    in->p += n;
    in->n -= n;
    return t;
}

static struct policy_text number_pattern(struct input *in, enum policy_kind kind, char *room, size_t len) {
    unsigned a = next_byte(in), b = next_byte(in), bits = next_byte(in) % 33;
    uint32_t net = 0x0a000000u | (a & 3u) << 8 | b;
    int n;

    net &= bits > 0 ? ~0u << (32 - bits) : 0;
    if (kind == POLICY_PORT) n = snprintf(room, len, "%u-%u", a + 1, a + 1 + b % 8);
    else if (a & 128) n = snprintf(room, len, "::ffff:%x:%x/%u", net >> 16, net & 0xffff, bits + 96);
    else if (a & 64) n = snprintf(room, len, "::/%u", bits * 3);
    else n = snprintf(room, len, "%u.%u.%u.%u/%u", net >> 24, net >> 16 & 255, net >> 8 & 255, net & 255, bits);
    return (struct policy_text){ room, (size_t)n };
}

static struct policy_text visitor_pattern(struct input *in, char *room, size_t len) {
    unsigned what = next_byte(in), age = next_byte(in);
    int n;

    if (what & 4) return next_text(in, 24);
    n = snprintf(room, len, "%s%s", what & 1 ? "class=a" : "", (what & 3) == 3 ? "," : "");
    if (what & 2) n += snprintf(room + n, len - (size_t)n, "age=%u", age);
    return (struct policy_text){ room, (size_t)n };
}

static policy_t *build(struct input *in) {
    policy_t *p = policy_new();
    unsigned rules = next_byte(in) % (RULES_MAX + 1);

    assert(p != NULL);
    for (uint32_t c = 0; c < CLASSES; c++) {
        struct policy_class class = { .id = c + 1, .quantum = 1, .is_default = c == 2 };

        assert(policy_add_class(p, &class, NULL) == 0);
    }
    for (unsigned i = 0; i < rules; i++) {
        unsigned what = next_byte(in), class = next_byte(in) % CLASSES;
        enum policy_field field = (enum policy_field)(what % POLICY_FIELDS);
        enum policy_match match = (enum policy_match)(what / POLICY_FIELDS % POLICY_REGEX);
        char room[64];
        struct policy_text pattern;

        if (policy_field_rows[field].kind == POLICY_VISITORS) {
            pattern = visitor_pattern(in, room, sizeof room);
            match = POLICY_DEFAULT_MATCH;
        } else if (policy_is_numeric(field)) {
            pattern = number_pattern(in, policy_field_rows[field].kind, room, sizeof room);
            match = POLICY_DEFAULT_MATCH;
        } else {
            pattern = next_text(in, 24);
        }
        policy_add_rule(p, class, field, match, pattern.p, pattern.n, NULL);
    }
    assert(policy_freeze(p, NULL) == 0);
    return p;
}

static uint32_t plain_rule(const policy_t *p, const struct policy_request *r) {
    for (uint32_t rank = 0; rank < p->rule_count; rank++)
        if (policy_rule_matches(p, p->by_rank[rank], r)) return p->by_rank[rank];
    return POLICY_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = { data, size };
    policy_t *p = build(&in);
    struct policy_request r = { .src_port = 0 };
    unsigned char addr[16] = { 0 };
    uint32_t expected;

    r.url = next_text(&in, 255);
    r.user_agent = next_text(&in, 255);
    r.cookie = next_text(&in, 255);
    r.dst_dn = next_text(&in, 64);
    r.src_dn = next_text(&in, 64);
    r.prot_type = next_text(&in, 16);
    r.ssl_id = next_text(&in, 16);
    r.visitor.known = next_byte(&in) & 1;
    r.visitor.age_s = next_byte(&in);
    r.visitor.word = next_text(&in, 8);
    r.src_port = (uint16_t)next_byte(&in);
    r.dst_port = (uint16_t)next_byte(&in);
    for (size_t i = 0; i < sizeof addr; i++) addr[i] = (unsigned char)next_byte(&in);
    r.crawler = next_text(&in, 16);
    r.src_addr = addr;
    r.src_addr_len = addr[15] & 1 ? 4 : 16;

    expected = plain_rule(p, &r);
    assert(policy_match_request(p, &r).rule == expected);
    policy_free(&p);
    return 0;
}
