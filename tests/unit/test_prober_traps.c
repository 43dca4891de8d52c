/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounds that end what has no end; and the set of URLs, and the options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prober/settings.h"
#include "prober/traps.h"
#include "prober/urls.h"
#include "test_prober.h"

START_TEST(sessions_are_dropped) {
    static const struct {
        const char *target, *left;
    } t[] = {
        { "/a;jsessionid=0123?x=1", "/a?x=1" },
        { "/a;JSESSIONID=0123", "/a" },
        { "/a;v=1;jsessionid=2/b", "/a;v=1/b" },
        { "/a?PHPSESSID=abc", "/a" },
        { "/a?x=1&PHPSESSID=abc", "/a?x=1" },
        { "/a?PHPSESSID=abc&x=1", "/a?x=1" },
        { "/a?x=1&PHPSESSID=abc&y=2", "/a?x=1&y=2" },
        { "/a?ASPSESSIONIDQQ=1&b", "/a?b" },
        { "/a?PHPSESSID=1&jsessionid=2&sessionid", "/a" },
        { "/a?x=PHPSESSID=1", "/a?x=PHPSESSID=1" },
        { "/a?", "/a?" },
        { "/a?x&", "/a?x&" },
        { "/", "/" },
        { "/;jsessionid=", "/" },
        { "/a?phpsessidx=1", "/a?phpsessidx=1" },
        { "/a;jsessionid=1;jsessionid=2", "/a" },
    };
    char text[128];

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        size_t n;
        strcpy(text, t[i].target);
        n = traps_drop_session(text, strlen(text));
        ck_assert_str_eq(text, t[i].left);
        ck_assert_uint_eq(n, strlen(t[i].left));
    }
}
END_TEST

START_TEST(bounds_count) {
    struct traps_bounds b = { .segments = 5, .repeats = 2, .pattern = 3 };
    struct traps *t = traps_new(&b);
    static const struct {
        const char *target;
        int refused;
    } row[] = {
        { "/1/2/3/4/5", 0 }, { "/1/2/3/4/5/6", 1 }, { "/a/a", 0 },       { "/a/b/a/c/a", 1 },
        { "//////////", 0 }, { "/s?a=1&b=2", 0 },   { "/s?b=3&a=1", 0 }, { "/s?a=9&b=9", 0 },
        { "/s?a=4&b=4", 1 }, { "/s?b=5&a=4", 1 },   { "/s?a=4", 0 },     { "/t?a=4&b=4", 0 },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ck_assert_msg((traps_refuse(t, "http://h", row[i].target, strlen(row[i].target)) != NULL) == row[i].refused,
                      "%s", row[i].target);
    ck_assert_ptr_null(traps_refuse(t, "http://g", "/s?a=1&b=1", 10));
    traps_free(&t);
}
END_TEST

START_TEST(many_patterns) {
    struct traps_bounds b = { .segments = 5, .repeats = 2, .pattern = 1 };
    struct traps *t = traps_new(&b);
    char target[32];

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++) {
            int n = snprintf(target, sizeof target, "/p%d?x=%d", i, round);
            ck_assert_int_eq(traps_refuse(t, "http://h", target, (size_t)n) != NULL, round);
        }
    traps_free(&t);
}
END_TEST

TCase *traps_case(void) {
    TCase *t = tcase_create("traps");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, sessions_are_dropped);
    tcase_add_test(t, bounds_count);
    tcase_add_test(t, many_patterns);
    return t;
}

/* ---- urls -------------------------------------------------------------------------------------------------------- */

START_TEST(each_url_once) {
    struct urls *u = urls_new();
    char target[40];
    int fresh;

    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 20000; i++) {
            int n = snprintf(target, sizeof target, "/dir%u/page%u", i % 7, i / 2);
            uint16_t origin = (uint16_t)(i % 2);
            ck_assert_uint_eq(urls_add(u, origin, target, (size_t)n, &fresh), i);
            ck_assert_int_eq(fresh, round == 0);
        }
    ck_assert_uint_eq(urls_count(u), 20000);
    for (uint32_t i = 0; i < 20000; i++) {
        snprintf(target, sizeof target, "/dir%u/page%u", i % 7, i / 2);
        ck_assert_str_eq(urls_target(u, i), target);
        ck_assert_uint_eq(urls_find(u, (uint16_t)(i % 2), target, strlen(target)), i);
        ck_assert_uint_eq(urls_find(u, 9, target, strlen(target)), URLS_NONE);
    }
    urls_free(&u);
}
END_TEST

START_TEST(validators) {
    struct urls *u = urls_new();
    int fresh;
    uint32_t i = urls_add(u, 0, "/", 1, &fresh);
    char huge[PAGES_ETAG_MAX + 1];

    ck_assert_ptr_null(urls_etag(u, i));
    ck_assert_int_eq(urls_set_etag(u, i, "\"a\"", 3), 0);
    ck_assert_str_eq(urls_etag(u, i), "\"a\"");
    ck_assert_int_eq(urls_set_etag(u, i, "\"b\"", 3), 0);
    ck_assert_str_eq(urls_etag(u, i), "\"b\"");
    ck_assert_int_eq(urls_set_etag(u, i, "", 0), 0);
    ck_assert_ptr_null(urls_etag(u, i));
    memset(huge, 'x', sizeof huge);
    ck_assert_int_eq(urls_set_etag(u, i, huge, sizeof huge), 0);
    ck_assert_ptr_null(urls_etag(u, i));
    urls_free(&u);
}
END_TEST

TCase *urls_case(void) {
    TCase *t = tcase_create("urls");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, each_url_once);
    tcase_add_test(t, validators);
    return t;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

START_TEST(options) {
    struct settings s = { .table = NULL };
    char *error = NULL;
    char *argv[] = { "crawl",   "--rate",    "5",  "http://a/",      "--connections=7",
                     "--fresh", "--include", "/a", "--include=/b=c", "--max-bytes=2M",
                     "--",      "--odd",     NULL };

    ck_assert_int_eq(base_settings_options(&settings_table, &s, 12, argv, &error), 3);
    ck_assert_uint_eq(s.rate, 5);
    ck_assert_uint_eq(s.samples, 3);
    ck_assert_uint_eq(s.connections, 7);
    ck_assert_uint_eq(s.max_bytes, 2 << 20);
    ck_assert(s.fresh && !s.quiet);
    ck_assert_uint_eq(s.include.n, 2);
    ck_assert_str_eq(s.include.item[1], "/b=c");
    ck_assert_str_eq(argv[1], "http://a/");
    ck_assert_str_eq(argv[2], "--odd");
    base_settings_free(&settings_table, &s);
}
END_TEST

START_TEST(options_that_are_wrong) {
    static const struct {
        const char *option, *value, *sentence;
    } t[] = {
        { "--rate", NULL, "needs a value" },
        { "--rate=x", NULL, "must be a number of requests a second from 0 to 1000000" },
        { "--rate=-1", NULL, "must be" },
        { "--connections", "65", "from 1 to 64" },
        { "--connections", "0", "from 1 to 64" },
        { "--rate", "99999999999999999999", "must be" },
        { "--odd", NULL, "no such option" },
        { "-r", NULL, "no such option" },
        { "--fresh=1", NULL, "takes no value" },
        { "--rate=", NULL, "must be" },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char *argv[] = { "crawl", (char *)(uintptr_t)t[i].option, (char *)(uintptr_t)t[i].value, NULL }, *error = NULL;
        struct settings s = { .table = NULL };

        ck_assert_msg(base_settings_options(&settings_table, &s, t[i].value ? 3 : 2, argv, &error) == -1, "row %zu", i);
        ck_assert_msg(error && strstr(error, t[i].sentence), "row %zu: %s", i, error);
        free(error);
        base_settings_free(&settings_table, &s);
    }
}
END_TEST

TCase *settings_case(void) {
    TCase *t = tcase_create("settings");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, options);
    tcase_add_test(t, options_that_are_wrong);
    return t;
}
