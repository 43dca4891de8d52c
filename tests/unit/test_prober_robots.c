/* SPDX-License-Identifier: BSD-2-Clause */
/* robots.txt as RFC 9309 has it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prober/robots.h"
#include "test_prober.h"

static int allows(const char *text, const char *target) {
    struct robots *r = robots_parse(text, strlen(text), "fairgate-prober");
    int allow;

    ck_assert_ptr_nonnull(r);
    allow = robots_allow(r, target, NULL, NULL);
    robots_free(&r);
    ck_assert_ptr_null(r);
    return allow;
}

START_TEST(rules) {
    static const struct {
        const char *text, *target;
        int allow;
    } t[] = {
        { "", "/", 1 },
        { "nonsense\n\x01\n", "/", 1 },
        { "User-agent: *\nDisallow: /\n", "/", 0 },
        { "User-agent: *\nDisallow: /\n", "/robots.txt", 1 },
        { "User-agent: *\nDisallow:\n", "/x", 1 },
        { "Disallow: /\n", "/x", 1 },
        { "User-agent: *\nDisallow: /a\n", "/ab", 0 },
        { "User-agent: *\nDisallow: /a/\n", "/a", 1 },
        /* the longest decides, and Allow of two equal ones */
        { "User-agent: *\nDisallow: /a\nAllow: /a/b\n", "/a/b/c", 1 },
        { "User-agent: *\nAllow: /a/b\nDisallow: /a\n", "/a/c", 0 },
        { "User-agent: *\nDisallow: /a\nAllow: /a\n", "/a", 1 },
        { "User-agent: *\nAllow: /a\nDisallow: /a\n", "/a", 1 },
        { "User-agent: *\nAllow: /p\nDisallow: /\n", "/page", 1 },
        { "User-agent: *\nAllow: /$\nDisallow: /\n", "/", 1 },
        { "User-agent: *\nAllow: /$\nDisallow: /\n", "/x", 0 },
        /* ours before everybody's, and several groups of ours together */
        { "User-agent: *\nDisallow: /\n\nUser-agent: fairgate-prober\nDisallow: /x\n", "/y", 1 },
        { "User-agent: Fairgate-Prober/2.0 (x)\nDisallow: /x\n", "/x", 0 },
        { "User-agent: fairgate-prober\nDisallow: /x\nUser-agent: other\nDisallow: /z\nUser-agent: "
          "fairgate-prober\nDisallow: /y\n",
          "/y", 0 },
        { "User-agent: fairgate-prober\nDisallow: /x\nUser-agent: other\nDisallow: /z\nUser-agent: "
          "fairgate-prober\nDisallow: /y\n",
          "/z", 1 },
        { "User-agent: other\nUser-agent: fairgate-prober\nDisallow: /x\n", "/x", 0 },
        { "User-agent: fairgate-prober\nUser-agent: other\nDisallow: /x\n", "/x", 0 },
        { "User-agent: fairgate-proberx\nDisallow: /x\n", "/x", 1 },
        { "User-agent: fairgate\nDisallow: /x\n", "/x", 1 },
        { "User-agent: fairgate-prober\nSitemap: http://h/s\nUser-agent: a\nDisallow: /x\n", "/x", 0 },
        /* stars and ends */
        { "User-agent: *\nDisallow: /*.pdf$\n", "/a/b.pdf", 0 },
        { "User-agent: *\nDisallow: /*.pdf$\n", "/a/b.pdf?x", 1 },
        { "User-agent: *\nDisallow: *.pdf\n", "/b.pdf?x", 0 },
        { "User-agent: *\nDisallow: /a*b*c$\n", "/aXbXcXbXc", 0 },
        { "User-agent: *\nDisallow: /a*b*c$\n", "/aXbXcX", 1 },
        { "User-agent: *\nDisallow: /**\n", "/x", 0 },
        { "User-agent: *\nDisallow: /ab$\n", "/ab", 0 },
        { "User-agent: *\nDisallow: /ab$\n", "/abab", 1 },
        { "User-agent: *\nDisallow: /*ab$\n", "/ab", 0 },
        { "User-agent: *\nDisallow: /a*a$\n", "/a", 1 },
        /* spellings (2.2.2) */
        { "User-agent: *\nDisallow: /%7Ejoe\n", "/~joe/x", 0 },
        { "User-agent: *\nDisallow: /a%3cd\n", "/a%3Cd", 0 },
        { "User-agent: *\nDisallow: /f\xc3\xb6\n", "/f%C3%B6", 0 },
        /* line ends, marks, comments, spaces, case of keys */
        { "\xef\xbb\xbfuser-AGENT : *\r\nDISALLOW\t:\t/x # why\r\n", "/x", 0 },
        { "User-agent: *\rDisallow: /x\r", "/x", 0 },
        { "User-agent: * # all\n# Disallow: /\nDisallow: /x", "/y", 1 },
        { "User-agent: * # all\nDisallow: /x", "/x", 0 },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        ck_assert_msg(allows(t[i].text, t[i].target) == t[i].allow, "row %zu: %s\n%s", i, t[i].target, t[i].text);
    ck_assert_int_eq(robots_allow(NULL, "/x", NULL, NULL), 1);
}
END_TEST

START_TEST(sitemaps_and_delay) {
    static const char text[] = "Sitemap: http://h/1\nUser-agent: x\nSitemap:http://h/2\nCrawl-delay: 9\nUser-agent: "
                               "*\nCrawl-delay: 2.5\nSitemap:\n";
    struct robots *r = robots_parse(text, sizeof text - 1, "fairgate-prober");

    ck_assert_str_eq(robots_sitemap(r, 0), "http://h/1");
    ck_assert_str_eq(robots_sitemap(r, 1), "http://h/2");
    ck_assert_ptr_null(robots_sitemap(r, 2));
    ck_assert_double_eq(robots_delay(r), 2.5);
    robots_free(&r);
    r = robots_parse("User-agent: *\nCrawl-delay: 1e99\n", 32, "x");
    ck_assert_double_eq(robots_delay(r), 120);
    robots_free(&r);
    r = robots_parse("User-agent: *\nCrawl-delay: -1\n", 30, "x");
    ck_assert_double_eq(robots_delay(r), 0);
    robots_free(&r);
}
END_TEST

/* Many stars against what nearly matches: linear, or this would not end. */
START_TEST(stars_are_cheap) {
    enum { N = 60000 };
    char *text = malloc(2 * N + 64), *target = malloc(N + 1);
    struct robots *r;
    size_t n = (size_t)sprintf(text, "User-agent: *\nDisallow: /");

    for (int i = 0; i < N; i++) n += (size_t)sprintf(text + n, "a*");
    n += (size_t)sprintf(text + n, "b\n");
    memset(target, 'a', N);
    target[0] = '/';
    target[N] = 0;
    r = robots_parse(text, n, "x");
    ck_assert_int_eq(robots_allow(r, target, NULL, NULL), 1);
    robots_free(&r);
    free(text);
    free(target);
}
END_TEST

START_TEST(what_comes_after_500_kib_does_not_count) {
    size_t room = ROBOTS_MAX + 100, n;
    char *text = malloc(room);
    struct robots *r;

    n = (size_t)sprintf(text, "User-agent: *\n");
    memset(text + n, '\n', room - n);
    memcpy(text + ROBOTS_MAX + 1, "Disallow: /", 11);
    r = robots_parse(text, room, "x");
    ck_assert_int_eq(robots_allow(r, "/x", NULL, NULL), 1);
    robots_free(&r);
    free(text);
}
END_TEST

/* No time: asked after a few rules, and then nothing is allowed. */
static int no_time(void *context) {
    ++*(int *)context;
    return 1;
}

START_TEST(rules_without_end_are_left_when_there_is_no_more_time) {
    char *text = malloc(200000);
    size_t n = (size_t)sprintf(text, "User-agent: *\nAllow: /longer-than-all-others-and-first\n");
    int asked = 0;
    struct robots *r;

    for (int i = 0; i < 4900; i++) n += (size_t)sprintf(text + n, "Disallow: /*a*b%d\n", i);
    r = robots_parse(text, n, "x");
    ck_assert_int_eq(robots_allow(r, "/x", NULL, NULL), 1);
    ck_assert_int_eq(robots_allow(r, "/x", no_time, &asked), 0);
    ck_assert_int_eq(asked, 1);
    ck_assert_int_eq(robots_allow(r, "/longer-than-all-others-and-first", no_time, &asked), 1);
    ck_assert_int_eq(asked, 1);
    robots_free(&r);
    free(text);
}
END_TEST

TCase *robots_case(void) {
    TCase *t = tcase_create("robots");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, rules);
    tcase_add_test(t, sitemaps_and_delay);
    tcase_add_test(t, stars_are_cheap);
    tcase_add_test(t, what_comes_after_500_kib_does_not_count);
    tcase_add_test(t, rules_without_end_are_left_when_there_is_no_more_time);
    return t;
}
