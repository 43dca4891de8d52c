/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy_match.c - what each kind of rule matches, and which rule wins. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_impl.h"
#include "test_policy.h"

enum {
    D = POLICY_DEFAULT_MATCH,
    S = POLICY_SUBSTRING,
    P = POLICY_PREFIX,
    X = POLICY_SUFFIX,
    E = POLICY_EXACT,
    R = POLICY_REGEX
};

static policy_t *one_rule(enum policy_field field, enum policy_match match, const char *pattern) {
    policy_t *p = policy_new();
    char *error = NULL;

    ck_assert_int_eq(policy_add_class(p, &(struct policy_class){ .id = 1, .quantum = 1 }, &error), 0);
    ck_assert_msg(policy_add_rule(p, 0, field, match, pattern, strlen(pattern), &error) == 0, "%s", error);
    ck_assert_int_eq(policy_freeze(p, &error), 0);
    return p;
}

static void set_text(struct policy_request *r, enum policy_field field, struct policy_text text) {
    struct policy_text *to = (struct policy_text *)(uintptr_t)policy_request_text(r, field);

    *to = text;
}

static const struct {
    enum policy_field field;
    int match;
    const char *pattern, *text;
    int yes;
} texts[] = {
    { POLICY_URL, D, "/b", "http://a/b/c", 1 },
    { POLICY_URL, D, "/B", "http://a/b/c", 0 },
    { POLICY_URL, D, "http://a/b/c", "http://a/b/c", 1 },
    { POLICY_URL, D, "http://a/b/cd", "http://a/b/c", 0 },
    { POLICY_URL, D, "aab", "aaaab", 1 },
    { POLICY_URL, P, "http://a", "http://a/b", 1 },
    { POLICY_URL, P, "ttp://a", "http://a/b", 0 },
    { POLICY_URL, P, "aa", "aa", 1 },
    { POLICY_URL, X, ".jpg", "http://a/b.jpg", 1 },
    { POLICY_URL, X, ".jpg", "http://a/b.jpg?x", 1 },
    { POLICY_URL, X, ".jpg", "http://a/b?x=.jpg", 0 },
    { POLICY_URL, X, "?x", "http://a/b.jpg?x", 1 },
    { POLICY_URL, D, "/checkout/", "http://a/b?x=/checkout/", 0 },
    { POLICY_URL, D, "/b?x=/checkout/", "http://a/b?x=/checkout/", 1 },
    { POLICY_URL, D, "/checkout/?b", "http://a/b?x=/checkout/%3Fb", 0 },
    { POLICY_URL, R, "/checkout/", "http://a/b?x=/checkout/", 1 },
    { POLICY_URL, P, "http://a/b?x", "http://a/b?xy", 1 },
    { POLICY_URL, E, "http://a/b", "http://a/b?xy", 1 },
    { POLICY_URL, E, "http://a/b?x", "http://a/b?xy", 0 },
    { POLICY_URL, E, "HTTP://A.B.:80", "http://a.b/", 1 },
    { POLICY_URL, X, ".jpg", ".jpg", 1 },
    { POLICY_URL, X, "abab", "ababab", 1 },
    { POLICY_URL, E, "http://a/", "http://a/", 1 },
    { POLICY_URL, E, "http://a/", "http://a/b", 0 },
    { POLICY_URL, E, "a", "aa", 0 },
    { POLICY_URL, R, "^https?://a/\\d+$", "https://a/123", 1 },
    { POLICY_URL, R, "^https?://a/\\d+$", "https://a/123x", 0 },
    { POLICY_URL, R, "A", "a", 0 },
    { POLICY_URL, R, "^$", "", 1 },
    { POLICY_URL, D, "a", "", 0 },
    { POLICY_URL, D, "\xe9", "caf%E9", 1 },
    { POLICY_URL, D, "caf%e9", "caf%E9", 1 },
    { POLICY_USER_AGENT, D, "GoogleBot", "Mozilla/5.0 (compatible; googlebot/2.1)", 1 },
    { POLICY_USER_AGENT, D, "google bot", "Mozilla/5.0 (compatible; googlebot/2.1)", 0 },
    { POLICY_USER_AGENT, P, "CURL/", "curl/8.0", 1 },
    { POLICY_USER_AGENT, R, "^curl/[78]\\.", "Curl/8.0", 1 },
    { POLICY_USER_AGENT, D, "\xc9", "\xe9", 0 },
    { POLICY_USER_AGENT, D, "@", "`", 0 },
    { POLICY_USER_AGENT, D, "[", "{", 0 },
    { POLICY_PROT_TYPE, D, "HTTPS", "https", 1 },
    { POLICY_PROT_TYPE, D, "http", "https", 0 },
    { POLICY_SSL_ID, D, "5F3a", "5f3A", 1 },
    { POLICY_SSL_ID, D, "5f3a", "5f3a00", 0 },
    { POLICY_CRAWLER, D, "GoogleBot", "googlebot", 1 },
    { POLICY_CRAWLER, D, "google", "googlebot", 0 },
    { POLICY_CRAWLER, P, "google", "googlebot", 1 },
    { POLICY_CRAWLER, D, "*", "googlebot", 1 },
    { POLICY_CRAWLER, S, "*", "googlebot", 1 },
    { POLICY_CRAWLER, R, "^(google|bing)bot$", "bingbot", 1 },
    { POLICY_CRAWLER, R, "\\*", "bingbot", 0 },
    { POLICY_DST_DN, D, "example.org", "example.org", 1 },
    { POLICY_DST_DN, D, "example.org", "WWW.Example.ORG", 1 },
    { POLICY_DST_DN, D, "example.org", "www.example.org.", 1 },
    { POLICY_DST_DN, D, "example.org.", "www.example.org", 1 },
    { POLICY_DST_DN, D, ".example.org", "example.org", 1 },
    { POLICY_DST_DN, D, "example.org", "badexample.org", 0 },
    { POLICY_DST_DN, D, "example.org", "example.org.evil.net", 0 },
    { POLICY_DST_DN, D, "example.org", "org", 0 },
    { POLICY_SRC_DN, E, "example.org", "www.example.org", 0 },
    { POLICY_SRC_DN, E, "example.org", "example.org.", 1 },
    { POLICY_SRC_DN, P, "crawl-", "crawl-66-249.example.net", 1 },
    { POLICY_SRC_DN, S, "example", "www.example.org", 1 },
    { POLICY_SRC_DN, R, "^crawl-\\d+\\.example\\.net$", "crawl-7.example.net.", 1 },
    { POLICY_COOKIE, D, "session=", "session=1", 1 },
    { POLICY_COOKIE, D, "session=", "a=b; session=1", 1 },
    { POLICY_COOKIE, D, "session=", "a=b;session=1", 1 },
    { POLICY_COOKIE, D, "session=", "a=b ;\t session=1", 1 },
    { POLICY_COOKIE, D, "session=", "xsession=1; a=session=2", 0 },
    { POLICY_COOKIE, D, "session=", "session", 0 },
    { POLICY_COOKIE, D, "session=", "Session=1", 0 },
    { POLICY_COOKIE, D, "lang=de", "a=b; lang=de", 1 },
    { POLICY_COOKIE, D, "lang=de", "a=b; lang=de-CH; c=d", 1 },
    { POLICY_COOKIE, E, "lang=de", "a=b; lang=de-CH; c=d", 0 },
    { POLICY_COOKIE, E, "lang=de", "a=b; lang=de ; c=d", 1 },
    { POLICY_COOKIE, X, "=de", "lang=de; c=d", 1 },
    { POLICY_COOKIE, S, "g=d", "a=b; lang=de; c=d", 1 },
    { POLICY_COOKIE, S, "b lang", "a=b; lang=de", 0 },
    { POLICY_COOKIE, D, "a=", ";;; ;a=1", 1 },
    { POLICY_COOKIE, R, "a=b; lang=(de|fr)$", "a=b; lang=de", 1 },
};

START_TEST(a_text_matches_or_not) {
    policy_t *p = one_rule(texts[_i].field, (enum policy_match)texts[_i].match, texts[_i].pattern);
    struct policy_request r = { .src_port = 0 };

    ck_assert_uint_eq(policy_match_request(p, &r).position, POLICY_NONE);
    set_text(&r, texts[_i].field, text_of(texts[_i].text));
    ck_assert_msg((policy_match_request(p, &r).rule == 0) == texts[_i].yes, "%s in %s", texts[_i].pattern,
                  texts[_i].text);
    ck_assert_int_eq(policy_rule_matches(p, 0, &r), texts[_i].yes);
    /* A text that has no NUL behind it is not read beyond its end. */
    {
        size_t n = strlen(texts[_i].text);
        char *exact = malloc(n + (n == 0));

        memcpy(exact, texts[_i].text, n);
        set_text(&r, texts[_i].field, (struct policy_text){ exact, n });
        ck_assert_int_eq(policy_match_request(p, &r).rule == 0, texts[_i].yes);
        free(exact);
    }
    policy_free(&p);
}
END_TEST

static const struct {
    const char *rule, *address;
    int yes;
} addresses[] = {
    { "192.0.2.0/24", "192.0.2.0", 1 },
    { "192.0.2.0/24", "192.0.2.255", 1 },
    { "192.0.2.0/24", "192.0.3.0", 0 },
    { "192.0.2.0/24", "192.0.1.255", 0 },
    { "192.0.2.7", "192.0.2.7", 1 },
    { "192.0.2.7", "192.0.2.8", 0 },
    { "0.0.0.0/0", "255.255.255.255", 1 },
    { "0.0.0.0/0", "::1", 0 },
    { "192.0.2.0/24", "::ffff:192.0.2.9", 1 },
    { "::ffff:192.0.2.0/120", "192.0.2.9", 1 },
    { "::ffff:0:0/96", "192.0.2.9", 1 },
    { "::/0", "192.0.2.9", 0 },
    { "::/0", "::1", 1 },
    { "::/0", "ffff::", 1 },
    { "::/0", "::ffff:1.2.3.4", 0 },
    { "::fffe:0:0/95", "::fffe:1:2", 1 },
    { "::fffe:0:0/95", "1.2.3.4", 0 },
    { "::/64", "::1:0:0:1", 1 },
    { "2001:db8::/32", "2001:db8:ffff::1", 1 },
    { "2001:db8::/32", "2001:db9::", 0 },
    { "2001:db8::/65", "2001:db8:0:0:8000::", 0 },
    { "2001:db8::/65", "2001:db8::7fff:ffff:ffff:ffff", 1 },
    { "255.255.255.255", "255.255.255.255", 1 },
    { "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 1 },
    { "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffd", 0 },
};

START_TEST(an_address_matches_or_not) {
    policy_t *p = one_rule(POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, addresses[_i].rule);
    unsigned char raw[16];
    unsigned len = inet_pton(AF_INET, addresses[_i].address, raw) == 1 ? 4 : 16;
    struct policy_request r = { .src_addr = raw, .src_addr_len = len };

    ck_assert_int_eq(len == 4 || inet_pton(AF_INET6, addresses[_i].address, raw) == 1, 1);
    ck_assert_msg((policy_match_request(p, &r).rule == 0) == addresses[_i].yes, "%s in %s", addresses[_i].address,
                  addresses[_i].rule);
    ck_assert_int_eq(policy_rule_matches(p, 0, &r), addresses[_i].yes);
    r = (struct policy_request){ .dst_addr = raw, .dst_addr_len = len };
    ck_assert_uint_eq(policy_match_request(p, &r).rule, POLICY_NONE);
    r = (struct policy_request){ .src_addr = raw, .src_addr_len = 5 };
    ck_assert_uint_eq(policy_match_request(p, &r).rule, POLICY_NONE);
    policy_free(&p);
}
END_TEST

START_TEST(a_port_matches_or_not) {
    policy_t *p = one_rule(POLICY_DST_PORT, POLICY_DEFAULT_MATCH, "8000-8010");
    static const struct {
        uint16_t port;
        int yes;
    } ports[] = {
        { 0, 0 }, { 7999, 0 }, { 8000, 1 }, { 8010, 1 }, { 8011, 0 }, { 65535, 0 },
    };

    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        struct policy_request r = { .dst_port = ports[i].port };

        ck_assert_int_eq(policy_match_request(p, &r).rule == 0, ports[i].yes);
        r = (struct policy_request){ .src_port = ports[i].port };
        ck_assert_uint_eq(policy_match_request(p, &r).rule, POLICY_NONE);
    }
    policy_free(&p);
}
END_TEST

START_TEST(a_visitor_matches_or_not) {
    static const struct {
        const char *rule, *class;
        uint32_t age_s;
        int yes;
    } rows[] = {
        { "class=member", "member", 0, 1 },
        { "class=member", "members", 0, 0 },
        { "class=member", "membe", 0, 0 },
        { "class=member", "Member", 0, 0 },
        { "class=member", "", 9999, 0 },
        { "age=10m", "", 600, 1 },
        { "age=10m", "member", 601, 1 },
        { "age=10m", "", 599, 0 },
        { "class=member,age=10m", "member", 600, 1 },
        { "class=member,age=10m", "member", 599, 0 },
        { "class=member,age=10m", "guest", 600, 0 },
        { "age=1h,class=member", "member", 3600, 1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        policy_t *p = one_rule(POLICY_VISITOR, POLICY_DEFAULT_MATCH, rows[i].rule);
        struct policy_request r = { .visitor = { true, text_of(rows[i].class), rows[i].age_s } };

        ck_assert_msg((policy_match_request(p, &r).rule == 0) == rows[i].yes, "row %zu", i);
        ck_assert_int_eq(policy_rule_matches(p, 0, &r), rows[i].yes);
        /* Who is not known is nobody, whatever else stands there. */
        r.visitor.known = false;
        ck_assert_uint_eq(policy_match_request(p, &r).rule, POLICY_NONE);
        ck_assert_int_eq(policy_rule_matches(p, 0, &r), 0);
        ck_assert_int_eq(policy_asks_age(p), strstr(rows[i].rule, "age=") != NULL);
        ck_assert_uint_eq(policy_least_age(p), strcmp(rows[i].rule, "age=10m") ? 0 : 600);
        policy_free(&p);
    }
}
END_TEST

/* The least of several, and not that of whom the application must have named, too. */
START_TEST(the_least_age_of_all_rules) {
    static const char *const rules[] = { "age=10m", "age=2,class=member", "age=5" };
    policy_t *p = policy_new();

    ck_assert_int_eq(policy_add_class(p, &(struct policy_class){ .id = 1, .quantum = 1 }, NULL), 0);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        ck_assert_int_eq(policy_add_rule(p, 0, POLICY_VISITOR, POLICY_DEFAULT_MATCH, rules[i], strlen(rules[i]), NULL),
                         0);
    ck_assert_int_eq(policy_freeze(p, NULL), 0);
    ck_assert_uint_eq(policy_least_age(p), 5);
    policy_free(&p);
}
END_TEST

/*
 * A rule of an earlier class wins, whatever the field and whenever it was added; of a class, the rule that was added
 * first is named.
 */
START_TEST(the_first_class_wins) {
    static const char client[4] = { 10, 0, 0, 1 };
    policy_t *p = policy_new();
    struct policy_request r = { .src_addr = client, .src_addr_len = 4, .src_port = 80 };

    for (uint32_t i = 0; i < 4; i++)
        ck_assert_int_eq(
            policy_add_class(p, &(struct policy_class){ .id = i + 1, .quantum = 1, .is_default = i == 0 }, NULL), 0);
    /* 0 */
    ck_assert_int_eq(policy_add_rule(p, 3, POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "10.0.0.0/8", 10, NULL), 0);
    /* 1 */
    ck_assert_int_eq(policy_add_rule(p, 2, POLICY_SRC_PORT, POLICY_DEFAULT_MATCH, "80", 2, NULL), 0);
    /* 2 */
    ck_assert_int_eq(policy_add_rule(p, 1, POLICY_URL, POLICY_REGEX, "a+", 2, NULL), 0);
    /* 3 */
    ck_assert_int_eq(policy_add_rule(p, 1, POLICY_USER_AGENT, POLICY_PREFIX, "bot", 3, NULL), 0);
    /* 4 */
    ck_assert_int_eq(policy_add_rule(p, 3, POLICY_USER_AGENT, POLICY_SUBSTRING, "o", 1, NULL), 0);
    /* 5 */
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_COOKIE, POLICY_DEFAULT_MATCH, "s=", 2, NULL), 0);
    /* 6, 7 */
    ck_assert_int_eq(policy_add_rule(p, 1, POLICY_VISITOR, POLICY_DEFAULT_MATCH, "class=member", 12, NULL), 0);
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=1m", 6, NULL), 0);
    ck_assert_int_eq(policy_freeze(p, NULL), 0);

    ck_assert_uint_eq(policy_match_request(p, &r).rule, 1);
    ck_assert_uint_eq(policy_match_request(p, &r).position, 2);
    r.user_agent = text_of("robot");
    ck_assert_uint_eq(policy_match_request(p, &r).rule, 1);
    r.user_agent = text_of("bot");
    ck_assert_uint_eq(policy_match_request(p, &r).rule, 3);
    r.url = text_of("xaax");
    ck_assert_uint_eq(policy_match_request(p, &r).rule, 2);
    ck_assert_uint_eq(policy_match_request(p, &r).position, 1);
    r.visitor = (struct policy_visitor){ true, text_of("member"), 0 };
    ck_assert_uint_eq(policy_match_request(p, &r).rule, 2);
    r.url = r.user_agent = text_of("");
    ck_assert_uint_eq(policy_match_request(p, &r).rule, 6);
    r.visitor.age_s = 60;
    ck_assert_uint_eq(policy_match_request(p, &r).rule, 7);
    r.cookie = text_of("t=1; s=2");
    ck_assert_uint_eq(policy_match_request(p, &r).rule, 5);
    r = (struct policy_request){ .src_port = 81 };
    ck_assert_uint_eq(policy_match_request(p, &r).position, 0);
    ck_assert_uint_eq(policy_match_request(p, &r).rule, POLICY_NONE);
    policy_free(&p);
}
END_TEST

/* A long text is cut for a regex, and $ does not match at the cut; a regex that backtracks for ever ends. */
START_TEST(a_regex_is_bounded) {
    policy_t *end = one_rule(POLICY_URL, POLICY_REGEX, "a$"), *slow = one_rule(POLICY_URL, POLICY_REGEX, "^(a+)+$");
    char *text = malloc(20000);
    struct policy_request r = { .url = { text, 20000 } };

    memset(text, 'a', 20000);
    ck_assert_uint_eq(policy_match_request(end, &r).rule, POLICY_NONE);
    r.url.n = 8192;
    ck_assert_uint_eq(policy_match_request(end, &r).rule, 0);
    text[39] = 'b';
    r.url = (struct policy_text){ text, 40 };
    ck_assert_uint_eq(policy_match_request(slow, &r).rule, POLICY_NONE);
    policy_free(&end);
    policy_free(&slow);
    free(text);
}
END_TEST

Suite *policy_match_suite(void) {
    Suite *s = suite_create("policy: matching");
    TCase *t = tcase_create("match");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_text_matches_or_not, 0, sizeof texts / sizeof *texts);
    tcase_add_loop_test(t, an_address_matches_or_not, 0, sizeof addresses / sizeof *addresses);
    tcase_add_test(t, a_port_matches_or_not);
    tcase_add_test(t, a_visitor_matches_or_not);
    tcase_add_test(t, the_least_age_of_all_rules);
    tcase_add_test(t, the_first_class_wins);
    tcase_add_test(t, a_regex_is_bounded);
    suite_add_tcase(s, t);
    return s;
}
