/* SPDX-License-Identifier: BSD-2-Clause */
/* What a page is known by: its URL, its pattern, its directory; and what a client takes. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "pages/pages_keys.h"
#include "run_suite.h"

static const uint64_t hash_key[2] = { 7, 11 };

static struct pages_keys keys_of(const char *host, const char *target) {
    struct pages_keys k;
    pages_keys(hash_key, host, target, strlen(target), &k);
    return k;
}

START_TEST(host_path_and_query_are_told_apart) {
    static const struct {
        const char *host, *target;
    } odd[] = {
        { "a", "/b/c" },     { "a", "/b/c?" }, { "a", "/b/c?d" }, { "a", "/b/c?d=" },      { "a", "/b/c?d=1" },
        { "a", "/b/c?d=2" }, { "a", "/b/cd" }, { "a/b", "/c" },   { "a", "/b/?c" },        { "a", "/b/" },
        { "a", "/b" },       { "", "a/b/c" },  { NULL, "/b/c" },  { "a", "/b/c?d=1&e=2" }, { "a", "/b/c?e=2&d=1" },
    };
    size_t n = sizeof odd / sizeof *odd;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            struct pages_keys a = keys_of(odd[i].host, odd[i].target), b = keys_of(odd[j].host, odd[j].target);
            ck_assert_msg(a.url != b.url, "rows %zu and %zu share a key", i, j);
            ck_assert_msg(a.url != b.dir && a.dir != b.url, "a page of %zu or %zu is taken for a directory", i, j);
            ck_assert_msg(a.url != b.pattern && a.pattern != b.url, "a page of %zu or %zu is taken for a pattern", i,
                          j);
        }
}
END_TEST

START_TEST(a_pattern_is_a_path_and_names_in_any_order) {
    char many[512] = "/show?", few[512] = "/show?";
    static const struct {
        const char *a, *b;
        int same;
    } t[] = {
        { "/show?id=7&lang=en", "/show?lang=de&id=1", 1 },
        { "/show?id=7", "/show?id=8", 1 },
        { "/show?id", "/show?id=", 1 },
        { "/show?", "/show?", 1 },
        { "/show?id=7", "/show?id=7&id=8", 1 },
        { "/show?id=7", "/show?ID=7", 0 },
        { "/show?id=7", "/shew?id=7", 0 },
        { "/show?id=7&a=1", "/show?id=7", 0 },
        { "/a/show?id=1", "/b/show?id=1", 0 },
        { "/show?ab=1&c=2", "/show?a=1&bc=2", 0 },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct pages_keys a = keys_of("h", t[i].a), b = keys_of("h", t[i].b);
        ck_assert_msg((a.pattern == b.pattern) == t[i].same, "row %zu", i);
        ck_assert_msg(a.pattern, "row %zu", i);
    }
    ck_assert_uint_eq(keys_of("h", "/show").pattern, 0);
    for (int i = 0; i < 40; i++) sprintf(many + strlen(many), "&p%d=%d", i, i);
    for (int i = 0; i < 33; i++) sprintf(few + strlen(few), "&p%d", i);
    ck_assert_uint_eq(keys_of("h", many).pattern, keys_of("h", few).pattern);
}
END_TEST

START_TEST(a_directory_ends_with_the_last_slash_of_the_path) {
    ck_assert_uint_eq(keys_of("h", "/a/b").dir, keys_of("h", "/a/c?x=/y/z").dir);
    ck_assert_uint_eq(keys_of("h", "/a/b").dir, keys_of("h", "/a/").dir);
    ck_assert_uint_ne(keys_of("h", "/a/b").dir, keys_of("h", "/a").dir);
    ck_assert_uint_ne(keys_of("h", "/a/b").dir, keys_of("g", "/a/b").dir);
}
END_TEST

START_TEST(keys_depend_on_the_secret_and_the_coding) {
    static const uint64_t other[2] = { 7, 12 };
    struct pages_keys a, b;

    pages_keys(hash_key, "h", "/p?q", 4, &a);
    pages_keys(other, "h", "/p?q", 4, &b);
    ck_assert_uint_ne(a.url, b.url);
    ck_assert_uint_ne(a.dir, b.dir);
    ck_assert_uint_ne(a.pattern, b.pattern);
    ck_assert_uint_eq(pages_key_coded(a.url, PAGES_IDENTITY), a.url);
    ck_assert_uint_ne(pages_key_coded(a.url, PAGES_GZIP), a.url);
    ck_assert_uint_ne(pages_key_coded(a.url, PAGES_GZIP), pages_key_coded(a.url, PAGES_BR));
}
END_TEST

START_TEST(what_a_client_takes) {
    static const struct {
        const char *field;
        enum pages_coding most;
    } t[] = {
        { NULL, PAGES_IDENTITY },
        { "", PAGES_IDENTITY },
        { "identity", PAGES_IDENTITY },
        { "gzip", PAGES_GZIP },
        { "x-gzip", PAGES_GZIP },
        { "gzip, deflate", PAGES_GZIP },
        { "gzip, deflate, br", PAGES_BR },
        { "gzip, deflate, br, zstd", PAGES_BR },
        { "br", PAGES_BR },
        { "BR;q=0.5, gzip", PAGES_BR },
        { "br;q=0, gzip", PAGES_GZIP },
        { "br ; q=0.000 ,gzip;q=0", PAGES_IDENTITY },
        { "br;q=0.01", PAGES_BR },
        { "deflate", PAGES_IDENTITY },
        { "zstd", PAGES_IDENTITY },
        { ",,, gzip ,,", PAGES_GZIP },
        { "gzipped", PAGES_IDENTITY },
        { "brotli", PAGES_IDENTITY },
        { "br;", PAGES_BR },
        { ";q=0", PAGES_IDENTITY },
        { "gzip;q=", PAGES_GZIP },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        ck_assert_msg(pages_coding_of(t[i].field) == t[i].most, "%s", t[i].field ? t[i].field : "(none)");
}
END_TEST

int main(void) {
    Suite *s = suite_create("pages_keys");
    TCase *t = tcase_create("keys");
    tcase_set_timeout(t, 60);

    tcase_add_test(t, host_path_and_query_are_told_apart);
    tcase_add_test(t, a_pattern_is_a_path_and_names_in_any_order);
    tcase_add_test(t, a_directory_ends_with_the_last_slash_of_the_path);
    tcase_add_test(t, keys_depend_on_the_secret_and_the_coding);
    tcase_add_test(t, what_a_client_takes);
    suite_add_tcase(s, t);
    return run_suite(s);
}
