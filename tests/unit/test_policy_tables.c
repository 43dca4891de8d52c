/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy_tables.c - 10,000 rules: what they cost in time and memory, from many threads, and without allocating. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy/match_literal.h"
#include "policy/policy_impl.h"
#include "tests/lab/policy_sample.h"
#include "test_policy.h"

#ifndef SANITIZED
/* Every allocation of the process, the libraries' too, comes through here. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static _Thread_local unsigned long allocations;

void *malloc(size_t n) {
    allocations++;
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    allocations++;
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    allocations++;
    return __libc_realloc(p, n);
}

START_TEST(matching_allocates_nothing) {
    static const char xml[] =
        "<classification><class id=\"1\" quantum=\"1\"><url match=\"regex\">(a|b)+(c|d)*e</url><url>zz</url>"
        "<user_agent match=\"regex\">^(.*x){3}$</user_agent></class></classification>";
    policy_t *p = parse_expecting(xml, sizeof xml - 1, 0, NULL), *large = sample_policy(1000);
    struct policy_request r = { .user_agent = text_of("axbxcxd"), .url = text_of("http://ababababcdcd") };
    unsigned long before;

    ck_assert_uint_gt(allocations, 1000); /* reading the policy is counted: the counter works */
    before = allocations;
    for (int i = 0; i < 100; i++) policy_match_request(p, &r);
    for (unsigned i = 0; i < SAMPLE_REQUESTS; i++) {
        struct policy_request other = sample_request(1000, i);

        policy_match_request(large, &other);
    }
    before = allocations - before;
    ck_assert_uint_eq(before, 0);
    policy_free(&p);
    policy_free(&large);
}
END_TEST
#endif

static double cpu_ns(void) {
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of many rounds of CPU time: what else the machine does can only add. */
static double least_cost(const policy_t *p, unsigned rules) {
    double least = 1e18;

    for (int round = 0; round < 200; round++) {
        double start = cpu_ns(), took;

        for (unsigned i = 0; i < SAMPLE_REQUESTS; i++) {
            struct policy_request r = sample_request(rules, i);

            for (int k = 0; k < 20; k++) policy_match_request(p, &r);
        }
        took = cpu_ns() - start;
        if (took < least) least = took;
    }
    return least;
}

START_TEST(cost_does_not_follow_the_number_of_rules) {
    policy_t *small = sample_policy(10), *large = sample_policy(10000);
    double few = least_cost(small, 10), many = least_cost(large, 10000);

    ck_assert_msg(many < 20 * few, "1,000 times the rules cost %.1f times as much", many / few);
    ck_assert_uint_lt(policy_table_bytes(large), 10u << 20);
    policy_free(&small);
    policy_free(&large);
}
END_TEST

START_TEST(the_sample_matches_what_it_says) {
    policy_t *p = sample_policy(10000);
    enum policy_field fields[SAMPLE_REQUESTS] = { POLICY_FIELDS, POLICY_USER_AGENT, POLICY_COOKIE, POLICY_URL };

    ck_assert_ptr_nonnull(p);
    for (unsigned i = 0; i < SAMPLE_REQUESTS; i++) {
        struct policy_request r = sample_request(10000, i);
        struct policy_answer a = policy_match_request(p, &r);

        if (i == 0) ck_assert_uint_eq(a.rule, POLICY_NONE);
        else ck_assert_int_eq(p->rules[a.rule].field, fields[i]);
    }
    policy_free(&p);
}
END_TEST

struct reader {
    const policy_t *p;
    struct policy_answer expected[SAMPLE_REQUESTS];
    unsigned wrong;
};

static void *read_often(void *data) {
    struct reader *reader = data;

    for (int k = 0; k < 2000; k++)
        for (unsigned i = 0; i < SAMPLE_REQUESTS; i++) {
            struct policy_request r = sample_request(10000, i);
            struct policy_answer a = policy_match_request(reader->p, &r);

            reader->wrong += a.rule != reader->expected[i].rule;
        }
    return NULL;
}

START_TEST(many_threads_match_at_once) {
    policy_t *p = sample_policy(10000);
    struct reader readers[8];
    pthread_t threads[8];

    for (int t = 0; t < 8; t++) {
        readers[t] = (struct reader){ .p = p };
        for (unsigned i = 0; i < SAMPLE_REQUESTS; i++) {
            struct policy_request r = sample_request(10000, i);

            readers[t].expected[i] = policy_match_request(p, &r);
        }
        ck_assert_int_eq(pthread_create(&threads[t], NULL, read_often, &readers[t]), 0);
    }
    for (int t = 0; t < 8; t++) {
        pthread_join(threads[t], NULL);
        ck_assert_uint_eq(readers[t].wrong, 0);
    }
    policy_free(&p);
}
END_TEST

/* All 256 bytes in use, no symbol left for "other"; and a trie deeper than its dense rows. */
START_TEST(an_automaton_may_use_every_byte) {
    char bytes[256], deep[4096];
    struct match_pattern patterns[256 + 2];
    struct match_literal *m;
    struct match_scan s;

    memset(deep, 7, sizeof deep);
    for (int i = 0; i < 256; i++) {
        bytes[i] = (char)i;
        patterns[i] = (struct match_pattern){ bytes, (uint32_t)i + 1, (uint32_t)(1000 - i), MATCH_SUBSTRING };
    }
    patterns[256] = (struct match_pattern){ deep, sizeof deep, 1, MATCH_SUBSTRING };
    patterns[257] = (struct match_pattern){ bytes + 200, 56, 2, MATCH_SUFFIX };
    m = match_literal_new(patterns, 258, 0);
    ck_assert_ptr_nonnull(m);
    for (int i = 0; i < 256; i++) {
        s = match_scan_begin(m, MATCH_NO_RANK);
        match_scan_feed(&s, "\xff\x01", 2);
        match_scan_feed(&s, bytes, (size_t)i + 1);
        ck_assert_uint_eq(match_scan_end(&s), i == 255 ? 2u : (uint32_t)(1000 - i));
    }
    s = match_scan_begin(m, MATCH_NO_RANK);
    match_scan_feed(&s, deep, sizeof deep - 1);
    ck_assert_uint_eq(match_scan_end(&s), MATCH_NO_RANK);
    match_scan_feed(&s, deep, 1);
    ck_assert_uint_eq(match_scan_end(&s), 1);
    match_literal_free(&m);
}
END_TEST

Suite *policy_tables_suite(void) {
    Suite *s = suite_create("policy: tables");
    TCase *t = tcase_create("tables");

    tcase_set_timeout(t, 120);
#ifndef SANITIZED
    tcase_add_test(t, matching_allocates_nothing);
#endif
    tcase_add_test(t, cost_does_not_follow_the_number_of_rules);
    tcase_add_test(t, the_sample_matches_what_it_says);
    tcase_add_test(t, many_threads_match_at_once);
    tcase_add_test(t, an_automaton_may_use_every_byte);
    suite_add_tcase(s, t);
    return s;
}
