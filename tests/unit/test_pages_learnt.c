/* SPDX-License-Identifier: BSD-2-Clause */
/* What answers taught: it follows pages that change and forgets the least seen. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "pages/pages_learnt.h"
#include "run_suite.h"

#define PAGES 1024u

static void *table;

static void make_table(void) {
    table = calloc(1, pages_learnt_bytes(PAGES));
    ck_assert_ptr_nonnull(table);
}

static void free_table(void) { free(table); }

/* Keys are hashes: any numbers that differ all over. */
static uint64_t key_of(uint64_t n) { return (n + 1) * UINT64_C(0x9e3779b97f4a7c15); }
static uint64_t ask(uint64_t n) { return pages_learnt_mean(table, PAGES, key_of(n)); }
static void teach(uint64_t n, uint64_t bytes) { pages_learnt_add(table, PAGES, key_of(n), bytes); }

START_TEST(what_was_taught_and_nothing_else) {
    ck_assert_uint_eq(ask(1), 0);
    teach(1, 5000);
    ck_assert_uint_eq(ask(1), 5000);
    ck_assert_uint_eq(ask(2), 0);
}
END_TEST

START_TEST(the_mean_follows_a_page_that_changes) {
    for (int i = 0; i < 100; i++) teach(1, 1000);
    ck_assert_uint_eq(ask(1), 1000);
    /* A mean over the last 8 has covered 1 - (7/8)^40 > 99 % of a step after 40 answers. */
    for (int i = 0; i < 40; i++) teach(1, 100000);
    ck_assert_uint_ge(ask(1), 99000);
    ck_assert_uint_le(ask(1), 100000);
    teach(2, UINT64_MAX);
    ck_assert_uint_gt(ask(2), UINT64_C(1) << 43);
}
END_TEST

START_TEST(a_full_table_keeps_what_is_asked_often) {
    for (int i = 0; i < 50; i++) teach(0, 4321);
    for (uint64_t i = 1; i <= 200000; i++) {
        teach(i, 10);
        if (i % 200 == 0) teach(0, 4321);
    }
    ck_assert_uint_eq(ask(0), 4321);
    ck_assert_uint_le(pages_learnt_used(table, PAGES), PAGES);
    ck_assert_uint_gt(pages_learnt_used(table, PAGES), PAGES * 9 / 10);
}
END_TEST

/* Keys that come once, eight for each set, take no rows of those that came eight times; in the long run these go. */
START_TEST(a_crowd_of_strangers_takes_no_rows) {
    for (uint64_t i = 0; i < 20; i++)
        for (int k = 0; k < 8; k++) teach(i, 4321);
    for (uint64_t i = 100; i < 100 + 2 * PAGES; i++) teach(i, 10);
    for (uint64_t i = 0; i < 20; i++) ck_assert_uint_eq(ask(i), 4321);
    for (uint64_t i = 10000; i < 210000; i++) teach(i, 10);
    for (uint64_t i = 0; i < 20; i++) ck_assert_uint_eq(ask(i), 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("pages_learnt");
    TCase *t = tcase_create("table");
    tcase_set_timeout(t, 60);

    tcase_add_checked_fixture(t, make_table, free_table);
    tcase_add_test(t, what_was_taught_and_nothing_else);
    tcase_add_test(t, the_mean_follows_a_page_that_changes);
    tcase_add_test(t, a_crowd_of_strangers_takes_no_rows);
    tcase_add_test(t, a_full_table_keeps_what_is_asked_often);
    suite_add_tcase(s, t);
    return run_suite(s);
}
