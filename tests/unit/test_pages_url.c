/* SPDX-License-Identifier: BSD-2-Clause */
/* One spelling for each page. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "pages/pages_url.h"
#include "run_suite.h"

static const struct {
    const char *written, *spelt;
} rows[] = {
    { "", "/" },
    { "a", "/a" },
    { "?q", "/?q" },
    { "/a?", "/a?" },
    { "/a#b", "/a" },
    { "/a?b#c?d", "/a?b" },
    { "/%7Euser", "/~user" },
    { "/%7euser", "/~user" },
    { "/~user", "/~user" },
    { "/a%c3%a9", "/a%C3%A9" },
    { "/a\xc3\xa9", "/a%C3%A9" },
    { "/a b", "/a%20b" },
    { "/<>\"{}|\\^`", "/%3C%3E%22%7B%7D%7C%5C%5E%60" },
    { "/100%", "/100%25" },
    { "/%4", "/%254" },
    { "/%zz", "/%25zz" },
    { "/%25", "/%25" },
    { "/%", "/%25" },
    { "/a%2fb", "/a%2Fb" },
    { "/a%3fb", "/a%3Fb" },
    { "/a%23b", "/a%23b" },
    { "/%00", "/%00" },
    { "/a/./b/../c", "/a/c" },
    { "/a/%2e%2E/c", "/c" },
    { "/.", "/" },
    { "/..", "/" },
    { "/../../x", "/x" },
    { "/a/..", "/" },
    { "/a/.", "/a/" },
    { "/a/b/../..", "/" },
    { "../x", "/x" },
    { "/...", "/..." },
    { "/a..", "/a.." },
    { "/.a", "/.a" },
    { "//", "//" },
    { "//a", "//a" },
    { "/a//b", "/a//b" },
    { "/a//../b", "/a/b" },
    { "/a/b//../..", "/a/" },
    { "/?/../x", "/?/../x" },
    { "/?a=%2E&b=[1]", "/?a=.&b=%5B1%5D" },
    { "/?a=b?c/d", "/?a=b?c/d" },
};

START_TEST(each_page_has_one_spelling) {
    char out[256];
    size_t n = pages_url_spell(rows[_i].written, strlen(rows[_i].written), out, sizeof out);

    ck_assert_str_eq(out, rows[_i].spelt);
    ck_assert_uint_eq(n, strlen(out));
}
END_TEST

START_TEST(a_nul_is_a_byte_like_others) {
    char out[32];
    ck_assert_uint_eq(pages_url_spell("/a\0b", 4, out, sizeof out), 6);
    ck_assert_str_eq(out, "/a%00b");
    ck_assert_uint_eq(pages_url_spell(NULL, 0, out, sizeof out), 1);
    ck_assert_str_eq(out, "/");
}
END_TEST

START_TEST(too_little_room_writes_nothing) {
    char out[64];
    memset(out, '.', sizeof out);
    ck_assert_uint_eq(pages_url_spell("/abc", 4, out, PAGES_URL_ROOM(4) - 1), 0);
    ck_assert_int_eq(out[0], '.');
    ck_assert_uint_eq(pages_url_spell("/abc", 4, out, PAGES_URL_ROOM(4)), 4);
}
END_TEST

/* Whatever is written, made of what spelling looks at. */
START_TEST(a_spelling_is_its_own_spelling) {
    static const char alphabet[] = "/..//%%2eE2fF?#a\xe9 ";
    char in[24], once[PAGES_URL_ROOM(sizeof in)], twice[PAGES_URL_ROOM(sizeof once)];

    srand(1);
    for (int i = 0; i < 200000; i++) {
        size_t n = (size_t)rand() % sizeof in, m;
        for (size_t j = 0; j < n; j++) in[j] = alphabet[(size_t)rand() % (sizeof alphabet - 1)];
        m = pages_url_spell(in, n, once, sizeof once);
        ck_assert_uint_ge(m, 1);
        ck_assert_uint_le(m, 3 * n + 1);
        ck_assert_uint_eq(pages_url_spell(once, m, twice, sizeof twice), m);
        ck_assert_str_eq(once, twice);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("pages_url");
    TCase *t = tcase_create("spelling");
    tcase_set_timeout(t, 60);

    tcase_add_loop_test(t, each_page_has_one_spelling, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(t, a_nul_is_a_byte_like_others);
    tcase_add_test(t, too_little_room_writes_nothing);
    tcase_add_test(t, a_spelling_is_its_own_spelling);
    suite_add_tcase(s, t);
    return run_suite(s);
}
