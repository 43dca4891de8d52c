/* SPDX-License-Identifier: BSD-2-Clause */
/* test_qos_whole.c - which heads httpd reads without waiting, byte by byte. */
#include <string.h>

#include <check.h>

#include "mod_qos_drr/qos_whole.h"
#include "run_suite.h"

#define GET   "GET /a?b HTTP/1.1\r\n"
#define HOST  "Host: x\r\n"
/* of a table below: where it begins to be whole */
#define NEVER (-1)

static const struct qos_whole_limits strict = { 8190, 8190, 100, true, false }, lax = { 8190, 8190, 100, false, false },
                                     proxied = { 8190, 8190, 100, true, true };

/* How many bytes of it are enough; NEVER: not all. */
static int enough(const struct qos_whole_limits *limits, const char *p, size_t n) {
    int at = NEVER;

    for (size_t i = 0; i <= n; i++) {
        bool is = qos_whole(limits, p, i) != QOS_NOT_WHOLE;

        if (is && at == NEVER) at = (int)i;
        ck_assert_msg(is == (at != NEVER), "no longer whole with %zu bytes of %s", i, p);
    }
    return at;
}

static int enough_of(const struct qos_whole_limits *limits, const char *s) { return enough(limits, s, strlen(s)); }

static const struct {
    const char *head;
    int strict, lax;
} heads[] = {
    { GET HOST "\r\n", 30, 30 },
    { GET "\r\n", 21, 21 },
    { "\r\n\r\n" GET HOST "\r\nbody", 34, 34 },
    { "\n" GET HOST "\r\n", 1, 31 },
    { "GET / HTTP/1.1\nHost: x\n\n", 15, 24 },
    { GET HOST, NEVER, NEVER },
    { "", NEVER, NEVER },
    /* a request line that is all there is */
    { "GET /\r\n", 7, 7 },
    { "hello\r\n", 7, 7 },
    { "GET / HTTP/1.1 x\r\n", 18, 18 },
    { "GET / HTTP/0.9\r\n", 16, 16 },
    { "GET / HTTP/1.10\r\n", 17, 17 },
    { "GET / FTP/1.1\r\n", 15, 15 },
    { "GET / http/1.1\r\n", 16, 16 },
    { "GET  / HTTP/1.1\r\n", 17, 17 },
    { "GET / HTTP/1.1 \r\n", 17, 17 },
    { " GET / HTTP/1.1\r\n", 17, 17 },
    { "G(T / HTTP/1.1\r\n", 16, 16 },
    { "GET /\x01 HTTP/1.1\r\n", 17, 17 },
    /* and those whose target may be none */
    { "GET x HTTP/1.1\r\n", 16, 16 },
    { "POST htt127.0.0.1:8080/23 HTTP/1.1\r\n" HOST, 36, 36 },
    { "GET http://a:99999999/ HTTP/1.1\r\n" HOST, 33, 33 },
    { "OPTIONS * HTTP/1.1\r\n", 20, 20 },
    { "CONNECT /a HTTP/1.1\r\n", 21, 21 },
    { "CONNECTS /a HTTP/1.1\r\n", NEVER, NEVER },
    { "GET /\xc3\xa4 HTTP/1.1\r\n" HOST, NEVER, NEVER },
    { "HTTP/1.1\r\n", 10, 10 },
    { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 16, 16 },
    /* fields that are none are refused when the line behind them has come */
    { GET "none\r\n" HOST, 34, NEVER },
    { GET "none\r\n more\r\n" HOST, 41, NEVER },
    { GET "a b: c\r\n" HOST, 36, NEVER },
    { GET ": c\r\n" HOST, 33, NEVER },
    { GET "a: \x01\r\n" HOST, 34, NEVER },
    { GET "a: b\rc\r\n" HOST, 36, NEVER },
    { GET "a: b\tc \r\n" HOST, NEVER, NEVER },
    { GET "a: b\r\n c\r\n\td\r\n" HOST, NEVER, NEVER },
    { GET "a: b\r\n \x02\r\n" HOST, 38, NEVER },
    { GET " folded\r\n", 28, 28 },
    { GET "a: b\r\n \t \r\n", 30, 30 },
    { GET "a: b\n", 24, NEVER },
    { GET HOST "\n", 29, 29 },
};

START_TEST(heads_are_whole_where_they_are_read) {
    ck_assert_int_eq(enough_of(&strict, heads[_i].head), heads[_i].strict);
    ck_assert_int_eq(enough_of(&lax, heads[_i].head), heads[_i].lax);
}
END_TEST

START_TEST(what_is_too_long_is_refused_at_the_end_of_its_line) {
    const struct qos_whole_limits small = { 20, 10, 2, true, false };

    /* httpd reads on to the end of its line. */
    ck_assert_int_eq(enough_of(&small, "GET /aaaaaaaaaaaaaaaaaaaaaaaaaa"), NEVER);
    ck_assert_int_eq(enough_of(&small, "GET /aaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"), 33);
    ck_assert_int_eq(enough_of(&small, "GET /aaaaa HTTP/1.1\r\n" HOST), NEVER);
    ck_assert_int_eq(enough_of(&small, GET "a: 0123456789abcdef"), NEVER);
    ck_assert_int_eq(enough_of(&small, GET "a: 0123456789abcdef\r\n"), 19 + 21);
    /* The second is read; when the line behind the third has come, that is one too many. */
    ck_assert_int_eq(enough_of(&small, GET "a: b\r\na: b\r\n"), NEVER);
    ck_assert_int_eq(enough_of(&small, GET "a: b\r\na: b\r\na: b\r\n"), NEVER);
    ck_assert_int_eq(enough_of(&small, GET "a: b\r\na: b\r\na: b\r\na: b\r\n"), 19 + 24);
}
END_TEST

START_TEST(only_a_blank_line_is_the_end) {
    ck_assert_int_eq(qos_whole(&strict, GET HOST "\r\n", 30), QOS_WHOLE);
    ck_assert_int_eq(qos_whole(&lax, "\n\nGET /\n\n", 9), QOS_WHOLE);
    ck_assert_int_eq(qos_whole(&strict, "hello\r\n", 7), QOS_ANSWERED);
    ck_assert_int_eq(qos_whole(&strict, GET "none\r\n" HOST, 34), QOS_ANSWERED);
    ck_assert_int_eq(qos_whole(&strict, GET HOST "\r", 29), QOS_NOT_WHOLE);
}
END_TEST

START_TEST(a_nul_is_refused) {
    static const char line[] = "GET /\0 HTTP/1.1\r\n", field[] = GET "a: \0\r\n";

    ck_assert_int_eq(enough(&lax, line, sizeof line - 1), (int)sizeof line - 1);
    ck_assert_int_eq(enough(&strict, field, sizeof field - 1), (int)sizeof field - 1);
}
END_TEST

START_TEST(blank_lines_are_left_out_up_to_a_number) {
    char blank[2 * 12 + 1] = "";

    for (int i = 0; i < 12; i++) strcat(blank, "\r\n");
    ck_assert_int_eq(enough_of(&strict, blank), 22);
}
END_TEST

START_TEST(the_proxy_protocol_stands_before_it) {
    static const char v2[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\1\x7f\0\0\1\0\1\0\2" GET "\r\n";
    static const char long_v2[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11\1\0";
    char long_v1[200];

    ck_assert_int_eq(enough_of(&proxied, "PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n" GET HOST "\r\n"), 36 + 30);
    ck_assert_int_eq(enough_of(&proxied, "PROXY UNKNOWN\r\nhello\r\n"), 22);
    ck_assert_int_eq(enough(&proxied, v2, sizeof v2 - 1), 28 + 21);
    /* Neither: mod_remoteip closes it when it has enough to see that. */
    ck_assert_int_eq(enough_of(&proxied, GET HOST "\r\n"), 15);
    ck_assert_int_eq(enough(&proxied, long_v2, sizeof long_v2 - 1), 16);
    memset(long_v1, 'x', sizeof long_v1);
    memcpy(long_v1, "PROXY ", 6);
    ck_assert_int_eq(enough(&proxied, long_v1, sizeof long_v1), 107);
    /* To a server that knows nothing of it, it is a wrong request. */
    ck_assert_int_eq(enough_of(&strict, "PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n"), 36);
}
END_TEST

int main(void) {
    Suite *s = suite_create("qos_whole");
    TCase *t = tcase_create("heads");

    tcase_add_loop_test(t, heads_are_whole_where_they_are_read, 0, sizeof heads / sizeof *heads);
    tcase_add_test(t, what_is_too_long_is_refused_at_the_end_of_its_line);
    tcase_add_test(t, only_a_blank_line_is_the_end);
    tcase_add_test(t, a_nul_is_refused);
    tcase_add_test(t, blank_lines_are_left_out_up_to_a_number);
    tcase_add_test(t, the_proxy_protocol_stands_before_it);
    suite_add_tcase(s, t);
    return run_suite(s);
}
