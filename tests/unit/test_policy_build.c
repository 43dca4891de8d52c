/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy_build.c - building call by call: what is taken, what is refused and in which words. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_policy.h"

/* with what follows: no delay said, nobody signed in */
#define NO_KEYS { 0, 0, 0, false }, false, false

static const struct {
    struct policy_class c;
    const char *error; /* NULL: taken */
} classes[] = {
    { { "people", 1, 600, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, NULL },
    { { "", 2, 1, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, NULL },
    { { "a-very.long_name-of-31-charactrs", 3, 1, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "too long" },
    { { "a.very-long_name-of-31-letters0", 3, 1000000, 1000000, 86400, 0, 0, POLICY_SHORTEST, 1, NO_KEYS }, NULL },
    { { "x y", 4, 1, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "has a character" },
    { { "x", 0, 1, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "id 0 is out of range; use 1 to 1000000" },
    { { "x", 1000001, 1, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "id 1000001 is out of range" },
    { { "x", 4, 0, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "quantum 0 is out of range" },
    { { "x", 4, 1000001, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "quantum 1000001 is out of range" },
    { { "x", 4, 1, 1000001, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "queue 1000001 is out of range" },
    { { "x", 4, 1, 0, 86401, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "wait 86401 is out of range" },
    { { "x", 4, 1, 0, 0, 3600001, 0, POLICY_FIFO, 0, NO_KEYS }, "delay 3600001 is out of range" },
    { { "x", 4, 1, 0, 0, 0, 1000001, POLICY_FIFO, 0, NO_KEYS }, "slots 1000001 is out of range" },
    { { "x", 1, 1, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "class id 1 is taken by class \"people\"" },
    { { "people", 4, 1, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS },
      "class name \"people\" is taken by the class with id 1" },
    { { "class-2", 4, 1, 0, 0, 0, 0, POLICY_FIFO, 0, NO_KEYS }, "class name \"class-2\" is taken" },
    { { "x", 4, 1, 0, 0, 0, 0, POLICY_FIFO, 1, NO_KEYS }, "second default" },
    { { "x", 4, 1, 0, 0, 0, 0, POLICY_SHORTEST, 0, { 1, 32, 64, false }, false, false },
      "which exclude each other; leave out within or order" },
    { { "keys", 4, 1, 0, 0, 0, 0, POLICY_FIFO, 0, { 2, 32, 64, false }, false, false }, NULL },
};

/* Of a client's address so many bits, the same for an IPv4 address in either writing. */
START_TEST(a_client_is_a_prefix) {
    static const struct {
        const char *text, *addr, *prefix;
    } rows[] = {
        { "client", "198.51.100.77", "198.51.100.77" },
        { "client", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::" },
        { "visitor", "198.51.100.77", "198.51.100.77" },
        { "client/24/56", "198.51.100.77", "198.51.100.0" },
        { "client/24/56", "::ffff:198.51.100.77", "198.51.100.0" },
        { "client/24/56", "2001:db8:1:2ff:3:4:5:6", "2001:db8:1:200::" },
        { "client/1/128", "198.51.100.77", "128.0.0.0" },
        { "client/1/128", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6" },
        { "client/31/1", "198.51.100.77", "198.51.100.76" },
        { "client/31/1", "ffff::1", "8000::" },
    };
    static const char *const wrong[] = {
        "",           "clients",      "client/",       "client/24",     "client/24/",
        "client/0/1", "client/33/64", "client/24/129", "client/24/56/", "client/024/56",
        "Client",     "client/-1/56", "client/24/ 56", "clien",         "client/24/4294967297",
        "visitors",   "visitor/24/56"
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct policy_within w;
        unsigned char raw[16], prefix[16];
        char text[64];
        char *error = NULL;
        unsigned n = inet_pton(AF_INET, rows[i].addr, raw) == 1 ? 4 : 16;

        if (n == 16) ck_assert_int_eq(inet_pton(AF_INET6, rows[i].addr, raw), 1);
        ck_assert_int_eq(policy_within_read(rows[i].text, strlen(rows[i].text), &w, &error), 0);
        ck_assert_uint_eq(w.levels, 1);
        ck_assert_int_eq(w.visitor, rows[i].text[0] == 'v');
        n = policy_within_prefix(&w, raw, n, prefix);
        inet_ntop(n == 4 ? AF_INET : AF_INET6, prefix, text, sizeof text);
        ck_assert_str_eq(text, rows[i].prefix);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct policy_within w;
        char *error = NULL;

        ck_assert_msg(policy_within_read(wrong[i], strlen(wrong[i]), &w, &error) == -1, "%s", wrong[i]);
        ck_assert_ptr_nonnull(strstr(error, "is not right; write within=\"client\""));
        free(error);
    }
}
END_TEST

START_TEST(classes_are_taken_or_refused) {
    policy_t *p = policy_new();
    uint32_t taken = 0;

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        char *error = NULL;
        int result = policy_add_class(p, &classes[i].c, &error);

        if (classes[i].error == NULL) {
            ck_assert_msg(result == 0, "row %zu: %s", i, error);
            taken++;
        } else {
            ck_assert_msg(result == -1 && error != NULL && strstr(error, classes[i].error) != NULL, "row %zu: %s", i,
                          error);
            ck_assert_msg(strstr(error, "; ") != NULL, "row %zu has no cure: %s", i, error);
        }
        ck_assert_uint_eq(policy_class_count(p), taken);
        free(error);
    }
    ck_assert_str_eq(policy_class_at(p, 1)->name, "class-2");
    ck_assert_int_eq(policy_class_at(p, 2)->is_default, 1);
    ck_assert_uint_eq(policy_class_at(p, 2)->wait_s, 86400);
    policy_free(&p);
    ck_assert_ptr_null(p);
    policy_free(&p);
}
END_TEST

static policy_t *with_class(void) {
    policy_t *p = policy_new();
    struct policy_class c = { .id = 7, .quantum = 1 };

    ck_assert_int_eq(policy_add_class(p, &c, NULL), 0);
    return p;
}

static const struct {
    enum policy_field field;
    enum policy_match match;
    const char *pattern, *error;
} rules[] = {
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "10.0.0.0/8", NULL },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "0.0.0.0/0", NULL },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "::/0", NULL },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "2001:db8::/32", NULL },
    { POLICY_DST_IP_ADDR, POLICY_DEFAULT_MATCH, "::ffff:192.0.2.1", NULL },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "10.1.2.3/8",
      "write 10.0.0.0/8 for the network or 10.1.2.3 for the one address" },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "2001:db8::1/32", "write 2001:db8::/32 for the network" },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "10.0.0.0/33", "write /0 to /32" },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "::/129", "write /0 to /128" },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "10.0.0.0/", "write /0 to /32" },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "10.0.0.0/+8", "write /0 to /32" },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "10.0.0/8", "is no IP address" },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "10.0.0.256", "is no IP address" },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "fe80::1%eth0", "is no IP address" },
    { POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, "example.org", "is no IP address" },
    { POLICY_SRC_IP_ADDR, POLICY_PREFIX, "10.0.0.1", "src_ip_addr takes no match=\"prefix\"; leave match out" },
    { POLICY_DST_PORT, POLICY_DEFAULT_MATCH, "80", NULL },
    { POLICY_DST_PORT, POLICY_DEFAULT_MATCH, "1-65535", NULL },
    { POLICY_DST_PORT, POLICY_DEFAULT_MATCH, "0", "is no port; write a number from 1 to 65535" },
    { POLICY_DST_PORT, POLICY_DEFAULT_MATCH, "65536", "is no port" },
    { POLICY_DST_PORT, POLICY_DEFAULT_MATCH, "80-", "is no port" },
    { POLICY_DST_PORT, POLICY_DEFAULT_MATCH, "99999999999999999999", "is no port" },
    { POLICY_DST_PORT, POLICY_DEFAULT_MATCH, "http", "is no port" },
    { POLICY_DST_PORT, POLICY_DEFAULT_MATCH, "90-80", "runs backwards; write 80-90" },
    { POLICY_SRC_PORT, POLICY_EXACT, "80", "ports are compared as numbers" },
    { POLICY_URL, POLICY_DEFAULT_MATCH, "", "url has an empty pattern" },
    { POLICY_URL, POLICY_REGEX, "^https?://[a-z]+/$", NULL },
    { POLICY_URL, POLICY_REGEX, "a(b", "is no regular expression: missing closing parenthesis at byte 3" },
    { POLICY_URL, POLICY_REGEX, "*a", "at byte" },
    { POLICY_URL, POLICY_REGEX, "(*UTF)a", "is no regular expression" },
    { POLICY_URL, POLICY_REGEX, "((a{1,999}){1,999}){1,999}", "is no regular expression" },
    { POLICY_URL, POLICY_DEFAULT_MATCH, "/a/../b", "has . or .. for a segment of its path" },
    { POLICY_URL, POLICY_DEFAULT_MATCH, "/%2e/", "has . or .. for a segment of its path" },
    { POLICY_URL, POLICY_EXACT, "http://a/..", "has . or .. for a segment of its path" },
    { POLICY_URL, POLICY_PREFIX, "http://a/.", NULL },
    { POLICY_URL, POLICY_DEFAULT_MATCH, "/.well-known/", NULL },
    { POLICY_URL, POLICY_DEFAULT_MATCH, "?a=/../", NULL },
    { POLICY_URL, POLICY_DEFAULT_MATCH, "/a#b", "what stands behind one never reaches a server" },
    { POLICY_URL, POLICY_REGEX, "#", NULL },
    { POLICY_COOKIE, POLICY_DEFAULT_MATCH, "session=", NULL },
    { POLICY_COOKIE, POLICY_DEFAULT_MATCH, "a=1; b=2", "reaches over the bounds of one cookie" },
    { POLICY_COOKIE, POLICY_SUBSTRING, " a", "reaches over the bounds of one cookie" },
    { POLICY_DST_DN, POLICY_DEFAULT_MATCH, ".", "names no domain" },
    { POLICY_DST_DN, POLICY_DEFAULT_MATCH, "..", "names no domain" },
    { POLICY_DST_DN, POLICY_DEFAULT_MATCH, ".example.org.", NULL },
    { POLICY_SSL_ID, POLICY_PREFIX, "5f3a", NULL },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "class=member", NULL },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=10m", NULL },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=1d,class=a_b-9", NULL },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "class=a-very_long-name-of-31-letters0", NULL },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "class=a-very_long-name-of-32-letters00", "is no word; use 1 to 31" },
    { POLICY_VISITOR, POLICY_EXACT, "class=member", "leave match out: words are compared as they are" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "", "visitor has an empty pattern" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "member", "visitor has no \"member\" here; write class=WORD" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "class=", "is no word" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "class=-", "is no word" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "class=Member", "is no word" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "class=a,class=b", "each once" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "class=a,", "visitor has no \"\" here" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=0", "visitor age 0: must be a number of seconds from 1 to 31536000" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=366d", "must be a number of seconds" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=10 m", "must be a number of seconds" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=0000000000000000000000010m", "is no time; write one like 10m" },
    { POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=1d,age=2d", "each once" },
    { POLICY_CRAWLER, POLICY_DEFAULT_MATCH, "OAI-SearchBot", NULL },
    { POLICY_CRAWLER, POLICY_DEFAULT_MATCH, "*", NULL },
    { POLICY_CRAWLER, POLICY_DEFAULT_MATCH, "google*", "is no crawler's name" },
    { POLICY_CRAWLER, POLICY_DEFAULT_MATCH, "Google bot", "is no crawler's name" },
    { POLICY_CRAWLER, POLICY_REGEX, "google.*", NULL },
};

START_TEST(rules_are_taken_or_refused) {
    policy_t *p = with_class();
    uint32_t taken = 0;
    char *error = NULL;

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        int result =
            policy_add_rule(p, 0, rules[i].field, rules[i].match, rules[i].pattern, strlen(rules[i].pattern), &error);

        if (rules[i].error == NULL) {
            ck_assert_msg(result == 0, "row %zu (%s): %s", i, rules[i].pattern, error);
            taken++;
        } else {
            ck_assert_msg(result == -1 && error != NULL && strstr(error, rules[i].error) != NULL, "row %zu (%s): %s", i,
                          rules[i].pattern, error);
            ck_assert_msg(strstr(error, "; ") != NULL, "row %zu has no cure: %s", i, error);
        }
        free(error);
        error = NULL;
        ck_assert_uint_eq(policy_rule_count(p), taken);
    }
    ck_assert_int_eq(policy_freeze(p, &error), 0);
    policy_free(&p);
}
END_TEST

START_TEST(limits_hold) {
    policy_t *p = with_class();
    char *error = NULL, *long_one = malloc(POLICY_PATTERN_MAX + 1);

    memset(long_one, 'a', POLICY_PATTERN_MAX + 1);
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_URL, POLICY_PREFIX, long_one, POLICY_PATTERN_MAX + 1, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "use at most 4096"));
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_URL, POLICY_PREFIX, long_one, POLICY_PATTERN_MAX, &error), 0);
    for (int i = 0; i < POLICY_REGEX_MAX; i++)
        ck_assert_int_eq(policy_add_rule(p, 0, POLICY_URL, POLICY_REGEX, "a.b", 3, &error), 0);
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_URL, POLICY_REGEX, "a.b", 3, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "more than 64 regex rules"));
    while (policy_rule_count(p) < (POLICY_TEXT_MAX - POLICY_REGEX_MAX * 3) / POLICY_PATTERN_MAX + POLICY_REGEX_MAX)
        ck_assert_int_eq(policy_add_rule(p, 0, POLICY_URL, POLICY_PREFIX, long_one, POLICY_PATTERN_MAX, &error), 0);
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_URL, POLICY_PREFIX, long_one, POLICY_PATTERN_MAX, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "bytes in all; shorten them"));
    while (policy_rule_count(p) < POLICY_RULES_MAX)
        if (policy_add_rule(p, 0, POLICY_URL, POLICY_PREFIX, "b", 1, NULL) != 0) break;
    policy_free(&p);

    p = with_class();
    for (int i = 0; i < POLICY_RULES_MAX; i++)
        ck_assert_int_eq(policy_add_rule(p, 0, POLICY_URL, POLICY_PREFIX, "b", 1, &error), 0);
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_URL, POLICY_PREFIX, "b", 1, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "more than 100000 rules"));
    free(error);
    error = NULL;
    policy_free(&p);

    p = with_class();
    for (int i = 0; i < POLICY_VISITOR_MAX; i++)
        ck_assert_int_eq(policy_add_rule(p, 0, POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=1m", 6, &error), 0);
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_VISITOR, POLICY_DEFAULT_MATCH, "age=1m", 6, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "more than 256 rules about visitors"));
    for (uint32_t i = 1; i < POLICY_CLASSES_MAX; i++) {
        struct policy_class c = { .id = 7 + i, .quantum = 1 };

        ck_assert_int_eq(policy_add_class(p, &c, NULL), 0);
    }
    ck_assert_int_eq(policy_add_class(p, &(struct policy_class){ .id = 1, .quantum = 1 }, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "more than 10000 classes"));
    free(error);
    free(long_one);
    policy_free(&p);
}
END_TEST

START_TEST(a_policy_without_class_is_refused) {
    policy_t *p = policy_new();
    char *error = NULL;

    ck_assert_int_eq(policy_freeze(p, &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "there is no class; write at least one"));
    free(error);
    policy_free(&p);
}
END_TEST

START_TEST(names_and_texts) {
    policy_t *p = with_class();
    char buf[200], tiny[5];

    ck_assert_int_eq(policy_field_by_name("user_agent"), POLICY_USER_AGENT);
    ck_assert_int_eq(policy_field_by_name("User_Agent"), -1);
    ck_assert_int_eq(policy_match_by_name("regex"), POLICY_REGEX);
    ck_assert_int_eq(policy_match_by_name(""), -1);
    ck_assert_int_eq(policy_uses(p, POLICY_USER_AGENT), 0);
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_USER_AGENT, POLICY_DEFAULT_MATCH, "a\"\n", 3, NULL), 0);
    ck_assert_int_eq(policy_add_rule(p, 0, POLICY_SRC_PORT, POLICY_DEFAULT_MATCH, "80", 2, NULL), 0);
    ck_assert_int_eq(policy_uses(p, POLICY_USER_AGENT), 1);
    policy_rule_text(p, 0, buf, sizeof buf);
    ck_assert_str_eq(buf, "user_agent substring \"a\"\\x0a\"");
    policy_rule_text(p, 1, buf, sizeof buf);
    ck_assert_str_eq(buf, "src_port \"80\"");
    ck_assert_int_eq(policy_rule_text(p, 1, tiny, sizeof tiny), 13);
    ck_assert_str_eq(tiny, "src_");
    policy_rule_text(p, POLICY_NONE, buf, sizeof buf);
    ck_assert_str_eq(buf, "default");
    policy_free(&p);
}
END_TEST

/* The class "other" is the default where none is said to be, for whoever asks: both hosts, check and explain. */
START_TEST(a_class_other_is_the_default) {
    static const struct {
        const char *classes;
        uint32_t position;
    } rows[] = {
        { "<class id='1' name='a' quantum='1'/><class id='2' name='other' quantum='9'/>", 1 },
        { "<class id='1' name='other' quantum='1'/><class id='2' name='b' quantum='1' default='yes'/>", 1 },
        { "<class id='1' name='a' quantum='1'/><class id='2' name='Other' quantum='1'/>", POLICY_NONE },
        { "<class id='1' name='a' quantum='1'/>", POLICY_NONE },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char xml[256];
        int n = snprintf(xml, sizeof xml, "<classification>%s</classification>", rows[i].classes);
        policy_t *p = policy_parse(xml, (size_t)n, "rows", NULL);
        struct policy_answer a;

        ck_assert_ptr_nonnull(p);
        a = policy_match_request(p, &(struct policy_request){ .dst_port = 80 });
        ck_assert_msg(a.position == rows[i].position && a.rule == POLICY_NONE, "row %zu: class %u", i, a.position);
        for (uint32_t c = 0; c < policy_class_count(p); c++)
            ck_assert_int_eq(policy_class_at(p, c)->is_default, c == rows[i].position);
        policy_free(&p);
    }
}
END_TEST

Suite *policy_build_suite(void) {
    Suite *s = suite_create("policy: building");
    TCase *t = tcase_create("build");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, classes_are_taken_or_refused);
    tcase_add_test(t, a_client_is_a_prefix);
    tcase_add_test(t, rules_are_taken_or_refused);
    tcase_add_test(t, limits_hold);
    tcase_add_test(t, a_policy_without_class_is_refused);
    tcase_add_test(t, names_and_texts);
    tcase_add_test(t, a_class_other_is_the_default);
    suite_add_tcase(s, t);
    return s;
}
