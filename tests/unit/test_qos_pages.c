/* SPDX-License-Identifier: BSD-2-Clause */
/* The page-size table: by URL, then by directory; it forgets the least seen; nobody outside can aim at its rows. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mod_qos_drr/qos_pages.h"

#define PAGES 1024u

static const uint64_t hash_key[2] = { 7, 11 };
static void *table;

static void make_table(void) {
    table = calloc(1, qos_pages_bytes(PAGES));
    ck_assert_ptr_nonnull(table);
}

static void free_table(void) { free(table); }

static struct qos_page_keys keys_of(const char *host, const char *path, const char *query) {
    struct qos_page_keys k;
    char target[256];
    int n = snprintf(target, sizeof target, "%s%s%s", path ? path : "/", query ? "?" : "", query ? query : "");
    qos_pages_keys(hash_key, host, target, (size_t)n, &k);
    return k;
}

static uint64_t ask(const char *host, const char *path, const char *query) {
    struct qos_page_keys k = keys_of(host, path, query);
    return qos_pages_estimate(table, PAGES, &k);
}

static void teach(const char *host, const char *path, const char *query, uint64_t bytes) {
    struct qos_page_keys k = keys_of(host, path, query);
    qos_pages_learn(table, PAGES, &k, bytes);
}

START_TEST(a_url_then_its_directory_then_nothing) {
    ck_assert_uint_eq(ask("a.example", "/x/1.html", NULL), 0);
    teach("a.example", "/x/1.html", NULL, 5000);
    ck_assert_uint_eq(ask("a.example", "/x/1.html", NULL), 5000);
    ck_assert_uint_eq(ask("a.example", "/x/2.html", NULL), 5000);
    ck_assert_uint_eq(ask("a.example", "/y/1.html", NULL), 0);
    ck_assert_uint_eq(ask("b.example", "/x/1.html", NULL), 0);
    ck_assert_uint_eq(ask(NULL, NULL, NULL), 0);
}
END_TEST

START_TEST(host_path_and_query_are_told_apart) {
    static const struct { const char *host, *path, *query; } odd[] = {
        { "a", "/b/c", NULL }, { "a", "/b/c", "" }, { "a", "/b/c", "d" }, { "a", "/b/cd", NULL }, { "a/b", "/c", NULL },
        { "a", "/b/", "c" }, { "a", "/b/", NULL }, { "a", "/b", NULL }, { "", "a/b/c", NULL }, { NULL, "/b/c", NULL },
    };
    size_t n = sizeof odd / sizeof *odd;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            struct qos_page_keys a = keys_of(odd[i].host, odd[i].path, odd[i].query), b = keys_of(odd[j].host, odd[j].path, odd[j].query);
            ck_assert_msg(a.url != b.url, "rows %zu and %zu share a key", i, j);
            ck_assert_msg(a.url != b.dir && a.dir != b.url, "a page of %zu or %zu is taken for a directory", i, j);
        }
}
END_TEST

START_TEST(the_mean_follows_a_page_that_changes) {
    for (int i = 0; i < 100; i++) teach("h", "/p", NULL, 1000);
    ck_assert_uint_eq(ask("h", "/p", NULL), 1000);
    /* A mean over the last 8 has covered 1 - (7/8)^40 > 99 % of a step after 40 answers. */
    for (int i = 0; i < 40; i++) teach("h", "/p", NULL, 100000);
    ck_assert_uint_ge(ask("h", "/p", NULL), 99000);
    ck_assert_uint_le(ask("h", "/p", NULL), 100000);
    teach("h", "/huge", NULL, UINT64_MAX);
    ck_assert_uint_gt(ask("h", "/huge", NULL), UINT64_C(1) << 43);
}
END_TEST

START_TEST(a_full_table_keeps_what_is_asked_often) {
    char path[32];

    for (int i = 0; i < 50; i++) teach("h", "/often/page", NULL, 4321);
    for (int i = 0; i < 100000; i++) {
        snprintf(path, sizeof path, "/once/%d/x", i);
        teach("h", path, NULL, 10);
        if (i % 100 == 0) teach("h", "/often/page", NULL, 4321);
    }
    ck_assert_uint_eq(ask("h", "/often/page", NULL), 4321);
    ck_assert_uint_le(qos_pages_used(table, PAGES), PAGES);
    ck_assert_uint_gt(qos_pages_used(table, PAGES), PAGES * 9 / 10);
}
END_TEST

START_TEST(keys_depend_on_the_secret) {
    static const uint64_t other[2] = { 7, 12 };
    struct qos_page_keys a, b;

    qos_pages_keys(hash_key, "h", "/p", 2, &a);
    qos_pages_keys(other, "h", "/p", 2, &b);
    ck_assert_uint_ne(a.url, b.url);
    ck_assert_uint_ne(a.dir, b.dir);
}
END_TEST

int main(void) {
    Suite *s = suite_create("qos_pages");
    TCase *t = tcase_create("table");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, make_table, free_table);
    tcase_add_test(t, a_url_then_its_directory_then_nothing);
    tcase_add_test(t, host_path_and_query_are_told_apart);
    tcase_add_test(t, the_mean_follows_a_page_that_changes);
    tcase_add_test(t, a_full_table_keeps_what_is_asked_often);
    tcase_add_test(t, keys_depend_on_the_secret);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
