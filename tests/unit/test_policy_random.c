/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_policy_random.c - random policies and requests over a small alphabet: the tables must answer as the plain
 * reading of the rules does.
 */
#include <stdio.h>
#include <string.h>

#include "policy/policy_impl.h"
#include "test_policy.h"

static uint32_t random_below(uint64_t *seed, uint32_t n) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*seed >> 33) % n;
}

static size_t random_text(uint64_t *seed, char *out, size_t most, const char *letters) {
    size_t n = 1 + random_below(seed, (uint32_t)most);

    for (size_t i = 0; i < n; i++) out[i] = letters[random_below(seed, (uint32_t)strlen(letters))];
    return n;
}

static void random_rule(uint64_t *seed, policy_t *p, uint32_t class) {
    enum policy_field field = (enum policy_field)random_below(seed, POLICY_FIELDS);
    enum policy_match match = (enum policy_match)random_below(seed, POLICY_REGEX); /* not regex */
    char text[64];
    size_t n;

    switch (policy_field_rows[field].kind) {
    case POLICY_ADDRESS: {
        unsigned bits = 26 + random_below(seed, 7), low = random_below(seed, 64) & ~((1u << (32 - bits)) - 1u);

        n = (size_t)snprintf(text, sizeof text, random_below(seed, 2) ? "10.0.0.%u/%u" : "::ffff:10.0.0.%u/%u", low,
                             bits);
        if (text[0] == ':') n = (size_t)snprintf(text, sizeof text, "::ffff:10.0.0.%u/%u", low, bits + 96);
        match = POLICY_DEFAULT_MATCH;
        break;
    }
    case POLICY_PORT: {
        unsigned from = 1 + random_below(seed, 60);

        n = (size_t)snprintf(text, sizeof text, "%u-%u", from, from + random_below(seed, 9));
        match = POLICY_DEFAULT_MATCH;
        break;
    }
    case POLICY_VISITORS: {
        char word = "ab"[random_below(seed, 2)];
        unsigned age = 1 + random_below(seed, 60);

        switch (random_below(seed, 3)) {
        case 0: n = (size_t)snprintf(text, sizeof text, "class=%c", word); break;
        case 1: n = (size_t)snprintf(text, sizeof text, "age=%u", age); break;
        default: n = (size_t)snprintf(text, sizeof text, "age=%u,class=%c", age, word); break;
        }
        match = POLICY_DEFAULT_MATCH;
        break;
    }
    case POLICY_DOMAIN: n = random_text(seed, text, 7, "aB.."); break;
    case POLICY_COOKIES: n = random_text(seed, text, 5, "ab= "); break;
    case POLICY_TEXT:
        if (field == POLICY_CRAWLER && random_below(seed, 4) == 0) {
            n = (size_t)snprintf(text, sizeof text, "*");
            break;
        }
        /* fall through */
    default: n = random_text(seed, text, 6, field == POLICY_URL ? "abA?" : "abA"); break;
    }
    /* Some texts are no right pattern; then there is a rule less. */
    policy_add_rule(p, class, field, match, text, n, NULL);
}

static struct policy_text random_field(uint64_t *seed, char *room, const char *letters) {
    if (random_below(seed, 4) == 0) return (struct policy_text){ NULL, 0 };
    return (struct policy_text){ room, random_text(seed, room, 20, letters) };
}

static struct policy_answer plain_answer(const policy_t *p, const struct policy_request *r) {
    for (uint32_t rank = 0; rank < p->rule_count; rank++)
        if (policy_rule_matches(p, p->by_rank[rank], r))
            return (struct policy_answer){ p->rules[p->by_rank[rank]].class, p->by_rank[rank] };
    return (struct policy_answer){ p->default_class, POLICY_NONE };
}

static void try_request(uint64_t *seed, const policy_t *p, uint32_t *matched) {
    char room[8][32];
    unsigned char addr[2][4] = { { 10, 0, 0, (unsigned char)random_below(seed, 70) },
                                 { 10, 0, 0, (unsigned char)random_below(seed, 70) } };
    struct policy_request r = { .src_addr = addr[0], .dst_addr = addr[1] };
    struct policy_answer plain, fast;

    /* Each field is left out at times, or the numbers, which match most, would hide the others. */
    r.src_addr_len = random_below(seed, 4) == 0 ? 4 : 0;
    r.dst_addr_len = random_below(seed, 4) == 0 ? 4 : 0;
    r.src_port = random_below(seed, 4) == 0 ? (uint16_t)random_below(seed, 70) : 0;
    r.dst_port = random_below(seed, 4) == 0 ? (uint16_t)random_below(seed, 70) : 0;
    r.prot_type = random_field(seed, room[0], "abAB");
    r.src_dn = random_field(seed, room[1], "ab.");
    r.dst_dn = random_field(seed, room[2], "AB.");
    r.user_agent = random_field(seed, room[3], "abB");
    r.cookie = random_field(seed, room[4], "ab=; ");
    r.ssl_id = random_field(seed, room[5], "ab");
    r.url = random_field(seed, room[6], "abcab?");
    r.visitor =
        (struct policy_visitor){ random_below(seed, 8) == 0, { "ab", random_below(seed, 2) }, random_below(seed, 70) };
    r.crawler = random_field(seed, room[7], "abB");
    plain = plain_answer(p, &r);
    fast = policy_match_request(p, &r);
    ck_assert_uint_eq(fast.rule, plain.rule);
    ck_assert_uint_eq(fast.position, plain.position);
    *matched += fast.rule != POLICY_NONE;
}

START_TEST(tables_answer_as_the_rules_say) {
    uint64_t seed = 0x5eed + (uint64_t)_i;
    uint32_t tried = 0, matched = 0;

    for (int round = 0; round < 300; round++) {
        policy_t *p = policy_new();
        uint32_t rules = 1 + random_below(&seed, round % 10 == 0 ? 200 : 12);

        for (uint32_t c = 0; c < 4; c++)
            ck_assert_int_eq(
                policy_add_class(p, &(struct policy_class){ .id = c + 1, .quantum = 1, .is_default = c == 3 }, NULL),
                0);
        for (uint32_t i = 0; i < rules; i++) random_rule(&seed, p, random_below(&seed, 4));
        ck_assert_int_eq(policy_freeze(p, NULL), 0);
        for (int i = 0; i < 60; i++, tried++) try_request(&seed, p, &matched);
        policy_free(&p);
    }
    /* The trial says nothing if nearly all requests match, or nearly none. */
    ck_assert_uint_gt(matched, tried / 10);
    ck_assert_uint_lt(matched, tried - tried / 10);
}
END_TEST

Suite *policy_random_suite(void) {
    Suite *s = suite_create("policy: random");
    TCase *t = tcase_create("random");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, tables_answer_as_the_rules_say, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
