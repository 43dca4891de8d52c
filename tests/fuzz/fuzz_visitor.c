/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_visitor.c - any bytes as a Cookie field, as a file of keys, and as what is done to a cookie on its way.
 *
 * What must hold: nobody is known whom no gateway wrote; who was written and was changed in any way is forged, or of
 * elsewhere, and else is known or expired as his times say; a field without our cookies has none, and its others are
 * there.
 */
#include <stdlib.h>
#include <string.h>

#undef NDEBUG
#include <assert.h>

#include "mod_qos_drr/qos_visitor.h"

#define NOW  UINT64_C(1800000000)
#define LIFE 604800u
#define HOST (&www)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct qos_visitor_place www = { "www.example.org", "c0000200" };

static struct qos_visitor_form form(void) {
    static const char keys[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
    struct qos_visitor_form f = { .name = "fairgate", .life_s = LIFE };

    assert(qos_visitor_keys_read(&f.keys, keys, sizeof keys - 1, NULL) == 0);
    return f;
}

static void as_field(const struct qos_visitor_form *f, struct policy_text field) {
    struct policy_text left = field, cookie, rest;
    struct qos_visitor v;
    char *out = malloc(2 * field.n + 1);
    unsigned before = 0, after = 0;

    assert(out);
    assert(qos_visitor_find(f, HOST, NOW, field, &v) != QOS_VISITOR_KNOWN && !v.known);
    rest = (struct policy_text){ out, qos_visitor_without(f, field, out) };
    assert(rest.n <= 2 * field.n);
    while (policy_next_cookie(&left, &cookie)) before += cookie.n < 9 || memcmp(cookie.p, "fairgate=", 9) != 0;
    assert(qos_visitor_find(f, HOST, NOW, rest, &v) == QOS_VISITOR_NONE);
    while (policy_next_cookie(&rest, &cookie)) after++;
    assert(before == after && !qos_visitor_has(f, (struct policy_text){ out, strlen(out) }));
    assert(!qos_visitor_says_class(f, field) || qos_visitor_has(f, field));
    free(out);
}

static void as_keys(const uint8_t *data, size_t size) {
    struct qos_visitor_keys k;
    char *error = NULL;
    int rv = qos_visitor_keys_read(&k, (const char *)data, size, &error);

    assert(rv == 0 ? k.n >= 1 && k.n <= QOS_VISITOR_KEYS : error && strstr(error, "; "));
    free(error);
}

/* Bytes: times, then for each change a place and what is done there. */
static void as_changes(const struct qos_visitor_form *f, const uint8_t *data, size_t size) {
    static const int64_t steps[] = { 0, 1, -1, 60, -60, 3600, 3601, -3600, LIFE, -(int64_t)LIFE, LIFE / 2, -86400 };
    struct qos_visitor v = { true, "member", NOW, NOW, NOW, "00112233445566778899aabbccddeeff" }, is;
    char value[2 * QOS_VISITOR_ROOM], was[QOS_VISITOR_ROOM];
    enum qos_visitor_verdict verdict;
    bool same;
    size_t n;

    if (size < 4) return;
    v.first += (uint64_t)steps[data[0] % 12];
    v.issued += (uint64_t)steps[data[1] % 12];
    v.expires = v.issued + (uint64_t)steps[data[2] % 12];
    if (data[3] & 1) v.class[0] = '\0';
    n = qos_visitor_write(f, HOST, &v, value);
    assert(n > 0 && n < QOS_VISITOR_ROOM);
    memcpy(was, value, n + 1);
    for (size_t i = 4; i + 1 < size; i += 2) {
        size_t at = data[i] % (n + 1);

        if (data[i] & 128 && n < sizeof value) {
            memmove(value + at + 1, value + at, n++ - at);
            value[at] = (char)data[i + 1];
        } else if (data[i + 1] == 0 && at < n) {
            memmove(value + at, value + at + 1, --n - at);
        } else if (at < n) {
            value[at] = (char)(value[at] ^ data[i + 1]);
        }
    }
    same = n == strnlen(was, sizeof was) && memcmp(was, value, n) == 0;
    verdict = qos_visitor_open(f, HOST, NOW, (struct policy_text){ value, n }, &is);
    assert(is.known == (verdict == QOS_VISITOR_KNOWN));
    if (!same) {
        assert(verdict == QOS_VISITOR_FORGED || verdict == QOS_VISITOR_ELSEWHERE);
    } else if (v.issued > NOW + QOS_VISITOR_SKEW || v.expires <= NOW || v.issued + LIFE <= NOW || v.first > v.issued) {
        assert(verdict == QOS_VISITOR_EXPIRED);
    } else {
        assert(verdict == QOS_VISITOR_KNOWN && strcmp(is.class, v.class) == 0 && is.first == v.first);
        assert(qos_visitor_age(&is, NOW) <= NOW - v.first || v.first > NOW);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct qos_visitor_form f = form();

    if (size < 1) return 0;
    switch (data[0] % 3) {
    case 0: as_field(&f, (struct policy_text){ (const char *)data + 1, size - 1 }); break;
    case 1: as_keys(data + 1, size - 1); break;
    default: as_changes(&f, data + 1, size - 1); break;
    }
    return 0;
}
