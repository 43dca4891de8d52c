/* SPDX-License-Identifier: BSD-2-Clause */
/* What fairgate-bots reads: its configuration, and lists as somebody has published them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prober/bots_config.h"
#include "prober/bots_list.h"
#include "run_suite.h"

/* ---- lists ------------------------------------------------------------------------------------------------------- */

#define GOOGLE                                                                                                         \
    "{\"creationTime\": \"2026-01-01T00:00:00.000000\", \"prefixes\": [{\"ipv6Prefix\": \"2001:4860:4801:10::/64\"},"  \
    " {\"ipv4Prefix\": \"66.249.64.32/27\"}, {\"ipv4Prefix\": \"66.249.64.0/27\"}]}"

static const struct {
    const char *text;
    unsigned count;   /* 0: refused */
    const char *said; /* then, in the sentence */
    bool wide, private;
} lists[] = {
    { GOOGLE, 3, NULL, false, false },
    { " \n[\"66.249.64.0/27\", \"66.249.64.0/27\", {\"ipv4Prefix\": \"66.249.64.32/27\", \"service\": \"x\"}]", 2, NULL,
      false, false },
    { "66.249.64.0/27\n66.249.64.32/27", 2, NULL, false, false },
    { "# a list\r\n\r\n  66.249.64.1\t# one\r\n66.249.64.2;two\n;\n", 2, NULL, false, false },
    { "", 0, "no network at all", false, false },
    { "# nothing\n", 0, "no network at all", false, false },
    { "{\"prefixes\": []}", 0, "no network at all", false, false },
    { "{}", 0, "without an array", false, false },
    { "{\"prefixes\": {}}", 0, "without an array", false, false },
    { "{\"prefixes\": [1]}", 0, "has neither", false, false },
    { "{\"prefixes\": [{}]}", 0, "has neither", false, false },
    { "{\"prefixes\": [{\"ipv4Prefix\": 7}]}", 0, "is no text", false, false },
    { "{\"prefixes\": [{\"ipv4Prefix\": \"66.249.64.0/27\"}", 0, "no JSON", false, false },
    { "{\"prefixes\": [\"66.249.64.0/27\"], \"prefixes\": []}", 0, "no JSON", false, false },
    { "<!DOCTYPE html><p>Not found", 0, "more than one word", false, false },
    { "66.249.64.0/27 66.249.64.32/27", 0, "more than one word", false, false },
    { "66.249.64.1/27", 0, "bits set behind", false, false },
    { "0.0.0.0/0", 0, "wider than", false, false },
    { "17.0.0.0/8", 0, "wider than", false, false },
    { "17.0.0.0/8", 1, NULL, true, false },
    { "16.0.0.0/7", 0, "wider than", true, false },
    { "17.16.0.0/12", 1, NULL, false, false },
    { "::/0", 0, "wider than", true, true },
    { "2001:4800::/24", 0, "wider than", false, false },
    { "2600::/28", 1, NULL, false, false },
    { "2600::/16", 1, NULL, true, false },
    { "10.1.0.0/16", 0, "private networks", false, false },
    { "10.1.0.0/16", 1, NULL, false, true },
    { "127.0.0.1", 0, "private networks", false, false },
    { "100.64.0.0/10", 0, "wider than", false, true },
    { "100.64.0.0/12", 0, "private networks", false, false },
    { "192.160.0.0/12", 0, "private networks", false, false }, /* 192.168.0.0/16 is in it */
    { "169.254.169.254", 0, "nobody's", false, true },
    { "224.0.0.1", 0, "nobody's", false, true },
    { "fe80::1", 0, "nobody's", false, true },
    { "fd00::/48", 0, "private networks", false, false },
    { "fd00::/48", 1, NULL, false, true },
    { "2001:db8::/32", 0, "private networks", false, false },
    { "64:ff9b::1.2.3.4", 0, "nobody's", false, false },
    { "2002:102:304::/48", 0, "nobody's", false, false },
    { "::ffff:1.2.3.4", 0, "written as one", false, false },
};

START_TEST(a_list_is_taken_or_refused) {
    struct bots_bounds b = { lists[_i].wide, lists[_i].private };
    struct crawlers_prefix *p = NULL;
    char *error = NULL, *exact = malloc(strlen(lists[_i].text) + 1);
    size_t n = strlen(lists[_i].text);
    uint32_t count = 0;
    int rc;

    memcpy(exact, lists[_i].text, n);
    exact = realloc(exact, n + !n);
    rc = bots_list_read(exact, n, &b, &p, &count, &error);
    free(exact);
    if (lists[_i].count) {
        ck_assert_msg(rc == 0, "%s: %s", lists[_i].text, error);
        ck_assert_uint_eq(count, lists[_i].count);
        for (uint32_t i = 0; i < count; i++) {
            ck_assert(bots_list_fits(&p[i], &b));
            if (i) ck_assert_int_lt(crawlers_prefix_compare(&p[i - 1], &p[i]), 0);
        }
    } else {
        ck_assert_msg(rc == -1 && error && strstr(error, lists[_i].said), "%s: %s", lists[_i].text, error);
    }
    free(error);
    free(p);
}
END_TEST

START_TEST(a_list_of_too_many) {
    struct bots_bounds b = { false, false };
    struct crawlers_prefix *p = NULL;
    char *text = NULL, *error = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    uint32_t count;

    for (unsigned i = 0; i <= BOTS_LIST_NETWORKS; i++) fprintf(f, "11.0.%u.%u\n", i >> 8, i & 255);
    fclose(f);
    ck_assert_int_eq(bots_list_read(text, n, &b, &p, &count, &error), -1);
    ck_assert_msg(strstr(error, "more than 20000") != NULL, "%s", error);
    free(error);
    free(text);
}
END_TEST

/* ---- configuration ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *said; /* NULL: right */
} configs[] = {
    { "googlebot https://a.example/x names=googlebot.com,google.com\n# x\n\nOwn /etc/list private wide agent=Foo/1 # y",
      NULL },
    { "abc names=.Googlebot.COM\n", NULL },
    { "a /f\n", NULL },
    { "a names=googlebot.com\n", "is too short to be looked for in user agents" },
    { "a /f agent=ab\n", "must have 3 to 63" },
    { "", "f:0: names no crawler" },
    { "# nothing\n", "names no crawler" },
    { "a\n", "f:1: a has neither a list nor names" },
    { "a agent=xyz\n", "neither a list nor names" },
    { "\na /f\na /g\n", "f:3: a has a line already" },
    { "a /f\nA /g\n", "f:2: a has a line already" },
    { "a /f /f\n", "stands there twice" },
    { "google*bot /f\n", "is no name for a crawler" },
    { "a names=\n", "names= has no name" },
    { "a names=com\n", "is no domain of somebody's" },
    { "a names=google..com\n", "is no domain of somebody's" },
    { "a /f agent=\n", "must have 3 to 63" },
    { "a ftp://x/y\n", "is no list and no option" },
    { "a /f Wide\n", "is no list and no option" },
    { "a /f agent=001 agent=002 agent=003 agent=004 agent=005 agent=006 agent=007 agent=008 agent=009\n",
      "more than 8 agents" },
    { "a /1 /2 /3 /4 /5 /6 /7 /8 /9 /a /b /c /d /e /f /g /h\n", "more than 16 lists" },
};

START_TEST(a_configuration_is_read_or_refused) {
    struct bots_config c;
    char *error = NULL;
    size_t n = strlen(configs[_i].text);
    FILE *f = n ? fmemopen((char *)(uintptr_t)configs[_i].text, n, "r") : fopen("/dev/null", "r");
    int rc = bots_config_read_stream(&c, f, "f", &error);

    if (configs[_i].said) {
        const char *said = configs[_i].said;

        if (!strncmp(said, "f:0", 3)) said = strchr(said, ' ') + 1;
        ck_assert_msg(rc == -1 && error && strstr(error, said) && !strncmp(error, "f", 1), "%s", error);
        ck_assert_ptr_null(c.table);
    } else {
        ck_assert_msg(rc == 0, "%s", error);
    }
    free(error);
    bots_config_free(&c);
}
END_TEST

START_TEST(what_a_configuration_says) {
    struct bots_config c;
    char *error = NULL;
    const struct crawlers_crawler *a;

    ck_assert_int_eq(bots_config_read_stream(
                         &c, fmemopen((char *)(uintptr_t)configs[0].text, strlen(configs[0].text), "r"), "f", &error),
                     0);
    ck_assert_uint_eq(c.table->n, 2);
    a = &c.table->crawler[0];
    ck_assert_str_eq(a->name, "googlebot");
    ck_assert_str_eq(a->agent[0], "googlebot");
    ck_assert_uint_eq(a->nsuffixes, 2);
    ck_assert_str_eq(a->suffix[1], "google.com");
    ck_assert_str_eq(a->source[0].url, "https://a.example/x");
    ck_assert(!c.bounds[0].wide && !c.bounds[0].private && c.bounds[1].wide && c.bounds[1].private);
    ck_assert_str_eq(c.table->crawler[1].name, "own");
    ck_assert_str_eq(c.table->crawler[1].agent[0], "Foo/1");
    bots_config_free(&c);
}
END_TEST

START_TEST(the_example_is_right) {
    struct bots_config c;
    char *error = NULL;

    ck_assert_msg(!bots_config_read(&c, TOP_SRCDIR "/etc/bots-example.conf", &error), "%s", error);
    ck_assert_uint_gt(c.table->n, 10);
    bots_config_free(&c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("lists of crawlers");
    TCase *t = tcase_create("lists");

    tcase_add_loop_test(t, a_list_is_taken_or_refused, 0, sizeof lists / sizeof *lists);
    tcase_add_test(t, a_list_of_too_many);
    tcase_add_loop_test(t, a_configuration_is_read_or_refused, 0, sizeof configs / sizeof *configs);
    tcase_add_test(t, what_a_configuration_says);
    tcase_add_test(t, the_example_is_right);
    suite_add_tcase(s, t);
    return run_suite(s);
}
