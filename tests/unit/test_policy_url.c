/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy_url.c - rules see each URL in one spelling, whatever its client wrote. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_impl.h"
#include "policy/policy_url.h"
#include "test_policy.h"

static const struct {
    const char *scheme, *host, *target;
    uint32_t port;
    int slashes;
    const char *text;
} rows[] = {
    { "http", "a", "/b/size/", 0, 0, "http://a/b/size/" },
    { "http", "a", "/b/%73ize/", 0, 0, "http://a/b/size/" },
    { "http", "a", "/b/./size/", 0, 0, "http://a/b/size/" },
    { "http", "a", "/x/../b/size/", 0, 0, "http://a/b/size/" },
    { "http", "a", "/b//size/", 0, 0, "http://a/b/size/" },
    { "http", "a", "//b///size//", 0, 0, "http://a/b/size/" },
    { "http", "a", "/x//../b/size/", 0, 0, "http://a/b/size/" },
    { "http", "a", "/x/%2e%2E//b/siz%65/%2e", 0, 0, "http://a/b/size/" },
    { "http", "a", "/../../..//b/size/", 0, 0, "http://a/b/size/" },
    { "http", "a", "/b/size/?", 0, 0, "http://a/b/size/?" },
    { "http", "a", "/b/size/#?/checkout/", 0, 0, "http://a/b/size/" },
    { "http", "a", "?x=/checkout/", 0, 0, "http://a/?x=/checkout/" },
    { "http", "a", "/?x=%2Fcheckout%2f", 0, 0, "http://a/?x=/checkout/" },
    { "http", "a", "/?x=/checkout/?y", 0, 0, "http://a/?x=/checkout/%3Fy" },
    { "http", "a", "/?x=/./a//../b", 0, 0, "http://a/?x=/./a//../b" },
    { "http", "a", "/?a%26b=c%3Dd%2Be%3B&f+g", 0, 0, "http://a/?a%26b=c%3Dd%2Be%3B&f+g" },
    { "http", "a", "/x%3F/checkout/", 0, 0, "http://a/x%3F/checkout/" },
    { "http", "a", "/wiki/Special%3aSearch%2C%21%40", 0, 0, "http://a/wiki/Special:Search,!@" },
    { "http", "a", "/b%2fsize/", 0, 0, "http://a/b%2Fsize/" },
    { "http", "a", "/b%2fsize/", 0, 1, "http://a/b/size/" },
    { "http", "a", "/x%2F..%2fb%2F%2fsize/?%2f", 0, 1, "http://a/b/size/?/" },
    { "http", "a", "/x%2Fy/../b", 0, 1, "http://a/b" },
    { "http", "a", "/b%252fsize/", 0, 1, "http://a/b%252fsize/" },
    { "http", "a", "/b%252E%252e/", 0, 0, "http://a/b%252E%252e/" },
    { "http", "a", "/b\\size%5c", 0, 0, "http://a/b%5Csize%5C" },
    { "http", "a", "/a%00b", 0, 0, "http://a/a%00b" },
    { "http", "a", "/%c0%ae%c0%ae/%C0%af", 0, 0, "http://a/%C0%AE%C0%AE/%C0%AF" },
    { "http", "a", "/caf\xc3\xa9 \"<>^`{|}", 0, 0, "http://a/caf%C3%A9%20%22%3C%3E%5E%60%7B%7C%7D" },
    { "http", "a", "/100%/%4/%zz", 0, 0, "http://a/100%25/%254/%25zz" },
    { "http", "a", "", 0, 0, "http://a/" },
    { "http", "a", "*", 0, 0, "http://a/*" },
    { "http", "a", "b", 0, 0, "http://a/b" },
    { "HTTP", "WWW.Example.ORG.", "/A", 0, 0, "http://www.example.org/A" },
    { "http", "a.%2e", "/", 0, 0, "http://a/" },
    { "http", "a", "/", 80, 0, "http://a/" },
    { "https", "a", "/", 443, 0, "https://a/" },
    { "https", "a", "/", 80, 0, "https://a:80/" },
    { "http", "a", "/", 8080, 0, "http://a:8080/" },
    { "http", "[2001:DB8:0:0::1]", "/", 8080, 0, "http://[2001:db8::1]:8080/" },
    { "http", "2001:db8::1", "/", 0, 0, "http://[2001:db8::1]/" },
    { "http", "[::zz]", "/", 0, 0, "http://%3A%3Azz/" },
    { "http", "a/checkout/?b@c", "/", 0, 0, "http://a%2Fcheckout%2F%3Fb%40c/" },
    { "http", "%57ww.a%2eb%2f", "/", 0, 0, "http://www.a.b%2F/" },
    { "http", NULL, "/b", 0, 0, "http:///b" },
    { NULL, "Example.org", NULL, 443, 0, "example.org:443" },
    { NULL, "::1", NULL, 443, 0, "[::1]:443" },
    { NULL, NULL, "/b/../c", 0, 0, "/c" },
    { NULL, NULL, NULL, 0, 0, "" },
};

static struct policy_text maybe(const char *s) { return s != NULL ? text_of(s) : (struct policy_text){ NULL, 0 }; }

START_TEST(each_url_has_one_text) {
    struct policy_url u = { maybe(rows[_i].scheme), maybe(rows[_i].host), rows[_i].port, maybe(rows[_i].target),
                            rows[_i].slashes };
    size_t room = policy_url_room(&u);
    char *out = malloc(room), *again;
    struct policy_text text = policy_url_text(&u, out, room);

    ck_assert_str_eq(text.p, rows[_i].text);
    ck_assert_uint_eq(text.n, strlen(rows[_i].text));
    ck_assert_ptr_null(policy_url_text(&u, out, room - 1).p);
    /* And is its own spelling. */
    u = policy_url_parse(text);
    room = policy_url_room(&u);
    again = malloc(room);
    ck_assert_str_eq(policy_url_text(&u, again, room).p, out);
    free(out);
    free(again);
}
END_TEST

static const struct {
    const char *written, *text;
} wholes[] = {
    { "HTTP://user:pw@A.b:080/c/../d?e", "http://a.b/d?e" },
    { "http://a@b@c/", "http://c/" },
    { "http://[::1]:8080", "http://[::1]:8080/" },
    { "http://[::1]", "http://[::1]/" },
    { "http://a:99999/", "http://a%3A99999/" },
    { "http://a?b/c", "http://a/?b/c" },
    { "http://", "http:///" },
    { "/x/../b", "/b" },
    { "//b//c", "/b/c" },
    { "a.b:443", "a.b:443" },
    { "a.b", "a.b" },
    { "?x", "/?x" },
    { "", "" },
};

START_TEST(a_url_in_one_piece_is_taken_apart) {
    struct policy_url u = policy_url_parse(text_of(wholes[_i].written));
    char out[200];

    ck_assert_str_eq(policy_url_text(&u, out, sizeof out).p, wholes[_i].text);
}
END_TEST

static policy_t *two_classes(void) {
    static const char xml[] =
        "<classification><class id=\"1\" name=\"sizes\" quantum=\"1\"><url>/b/size/</url></class>"
        "<class id=\"2\" name=\"shop\" quantum=\"1\"><url>/checkout/</url></class></classification>";
    return parse_expecting(xml, sizeof xml - 1, 0, NULL);
}

/* The faults that were seen: a spelling left the class, a query entered another. */
START_TEST(no_spelling_leaves_its_class_and_no_query_enters_another) {
    static const struct {
        const char *target;
        uint32_t position;
    } requests[] = {
        { "/b/size/1", 0 },
        { "/b/%73ize/1", 0 },
        { "/b/./size/1", 0 },
        { "/x/../b/size/1", 0 },
        { "/b//size/1", 0 },
        { "/checkout//../b/size/1", 0 },
        { "/checkout/%2e%2e/b/size/1", 0 },
        { "/?x=/checkout/", POLICY_NONE },
        { "/?x=/checkout/?", POLICY_NONE },
        { "/%3F/checkout/", 1 },
        { "/c?/b/size/", POLICY_NONE },
        { "/#/checkout/", POLICY_NONE },
    };
    policy_t *p = two_classes();

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct policy_url u = { .scheme = text_of("http"),
                                .host = text_of("a"),
                                .target = text_of(requests[i].target) };
        char out[200];
        struct policy_request r = { .url = policy_url_text(&u, out, sizeof out) };

        ck_assert_msg(policy_match_request(p, &r).position == requests[i].position, "%s", requests[i].target);
    }
    policy_free(&p);
}
END_TEST

/* A pattern is spelt as what it is looked for in. */
START_TEST(a_pattern_is_spelt_too) {
    static const struct {
        const char *written, *spelt;
    } patterns[] = {
        { "/b/%73ize/", "url substring \"/b/size/\"" },
        { "/b//size/", "url substring \"/b/size/\"" },
        { "/b%2fc%3a", "url substring \"/b%2Fc:\"" },
        { "HTTPS://WWW.Example.org.:443/A", "url substring \"https://www.example.org/A\"" },
        { "http://WWW.", "url substring \"http://www.\"" },
        { "http://a?x", "url substring \"http://a/?x\"" },
        { "a?b?c", "url substring \"a?b%3Fc\"" },
        { "?b//c", "url substring \"?b//c\"" },
    };
    policy_t *p = policy_new();
    char text[200];

    ck_assert_int_eq(policy_add_class(p, &(struct policy_class){ .id = 1, .quantum = 1 }, NULL), 0);
    for (uint32_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        ck_assert_int_eq(policy_add_rule(p, 0, POLICY_URL, POLICY_DEFAULT_MATCH, patterns[i].written,
                                         strlen(patterns[i].written), NULL),
                         0);
        policy_rule_text(p, i, text, sizeof text);
        ck_assert_str_eq(text, patterns[i].spelt);
    }
    policy_free(&p);
}
END_TEST

/* 64 KiB of the worst, in time that is linear. */
START_TEST(a_long_url_is_spelt) {
    static const char *const units[] = { "/..", "%", "/", "\xff", "?", "/a/..", "%2f" };
    enum { LENGTH = 65536 };
    char *target = malloc(LENGTH), *out = malloc(POLICY_URL_ROOM(LENGTH + 8));

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct policy_url u = {
            .scheme = text_of("http"), .host = text_of("a"), .target = { target, LENGTH }, .slashes = 1
        };
        struct policy_text text;

        for (size_t at = 0; at < LENGTH; at++) target[at] = units[i][at % strlen(units[i])];
        text = policy_url_text(&u, out, policy_url_room(&u));
        ck_assert_ptr_nonnull(text.p);
        ck_assert_uint_lt(text.n, policy_url_room(&u));
    }
    free(target);
    free(out);
}
END_TEST

Suite *policy_url_suite(void) {
    Suite *s = suite_create("policy: URLs");
    TCase *t = tcase_create("url");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, each_url_has_one_text, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(t, a_url_in_one_piece_is_taken_apart, 0, sizeof wholes / sizeof *wholes);
    tcase_add_test(t, no_spelling_leaves_its_class_and_no_query_enters_another);
    tcase_add_test(t, a_pattern_is_spelt_too);
    tcase_add_test(t, a_long_url_is_spelt);
    suite_add_tcase(s, t);
    return s;
}
