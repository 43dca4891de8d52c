/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy_log.c - lines of access logs, and formats of them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_log.h"
#include "run_suite.h"

static struct policy_log_format format;
static struct policy_log_memory memory;
static char room[4096];

static const char *read_line(const char *text, struct policy_log_line *out) {
    size_t n = strlen(text);

    ck_assert_uint_lt(n, sizeof room);
    memcpy(room, text, n);
    return policy_log_read(&format, &memory, room, n, out);
}

static void use(const char *text) {
    char *error = NULL;
    ck_assert_msg(!policy_log_format(&format, text, &error), "%s: %s", text, error);
}

#define IS(t, s) ck_assert_msg((t).n == strlen(s) && !memcmp((t).p, s, (t).n), "%.*s is not %s", (int)(t).n, (t).p, s)

START_TEST(a_combined_line) {
    struct policy_log_line l;

    use(POLICY_LOG_COMBINED);
    ck_assert_ptr_null(read_line("192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] \"GET /a%20b?c HTTP/1.0\" 200 2326 "
                                 "\"http://e.org/\\\"x\" \"Mozilla/5.0 (\\\"quoted\\\" \\x41\\\\)\"",
                                 &l));
    ck_assert_uint_eq(l.address_len, 4);
    ck_assert_uint_eq(l.address[3], 7);
    ck_assert_int_eq(l.time_us, INT64_C(971211336000000));
    ck_assert_uint_eq(l.fine, 1000000);
    ck_assert(!l.has_took);
    ck_assert_uint_eq(l.bytes, 2326);
    IS(l.method, "GET");
    IS(l.target, "/a%20b?c");
    IS(l.agent, "Mozilla/5.0 (\"quoted\" A\\)");
    ck_assert_ptr_null(read_line("2001:db8::1 - - [29/Feb/2024:00:00:00 +0100] \"-\" 408 - \"-\" \"-\"", &l));
    ck_assert_uint_eq(l.address_len, 16);
    ck_assert_int_eq(l.time_us, INT64_C(1709161200000000));
    ck_assert_uint_eq(l.bytes, 0);
    ck_assert_ptr_null(l.target.p);
    ck_assert_ptr_null(l.agent.p);
    /* A name is no address, and a user may have a blank. */
    ck_assert_ptr_null(
        read_line("host.example - a [1/Jan [01/Jan/1970:00:00:01 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"\"", &l) ==
                NULL
            ? "a user with brackets is not told from the time"
            : NULL);
    ck_assert_ptr_null(
        read_line("host.example - - [01/Jan/1970:00:00:01 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"\"", &l));
    ck_assert(!l.has_address);
    ck_assert_int_eq(l.time_us, 1000000);
}
END_TEST

START_TEST(finer_times_and_how_long_it_took) {
    struct policy_log_line l;

    use("%a:%{remote}p %{Host}i %{sec}t.%{usec_frac}t %m %U %q %>s %O %D %T \\\"%{Cookie}i\\\" %%");
    ck_assert_ptr_null(
        read_line("192.0.2.1:4711 www.example.org 1700000000.000123 POST /p - 201 99 1234 0 \"a=\\\"b\\\"; c\" %", &l));
    ck_assert_int_eq(l.time_us, INT64_C(1700000000000123));
    ck_assert_uint_eq(l.fine, 1);
    ck_assert_uint_eq(l.port, 4711);
    ck_assert_uint_eq(l.took_us, 1234);
    IS(l.host, "www.example.org");
    IS(l.cookie, "a=\"b\"; c");
    use("%{end:usec}t %T %t");
    ck_assert_ptr_null(read_line("1700000000000123 3 [10/Oct/2000:13:55:36 -0700]", &l));
    ck_assert(l.time_is_end);
    ck_assert_int_eq(l.time_us, INT64_C(1700000000000123));
    ck_assert_uint_eq(l.took_us, 3000000);
    use("%{msec}t %{ms}T");
    ck_assert_ptr_null(read_line("1700000000123 -", &l));
    ck_assert(!l.has_took);
    ck_assert_int_eq(l.time_us, INT64_C(1700000000123000));
}
END_TEST

START_TEST(lines_that_are_none) {
    static const char *const lines[] = {
        "",
        "192.0.2.7",
        "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326",
        "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0 200 2326 \"-\" \"x",
        "192.0.2.7 - - [10/Okt/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326 \"-\" \"-\"",
        "192.0.2.7 - - [10/Oct/2000:13:55:36 -07000] \"GET / HTTP/1.0\" 200 2326 \"-\" \"-\"",
        "192.0.2.7 - - 10/Oct/2000:13:55:36 \"GET / HTTP/1.0\" 200 2326 \"-\" \"-\"",
        "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 23x6 \"-\" \"-\"",
        "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 99999999999999999999 \"-\" \"-\"",
        "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1 \"-\" \"-\\",
    };
    struct policy_log_line l;

    use(POLICY_LOG_COMBINED);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(read_line(lines[i], &l) != NULL, "line %zu was taken", i);
}
END_TEST

START_TEST(formats_that_are_none) {
    static const char *const formats[] = { "%h %l", "%h%t", "%{usec", "%", "%t %{x", "%h %{msec_frac}t" };
    char *error = NULL, many[POLICY_LOG_FORMAT_MAX + 100];

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        ck_assert_msg(policy_log_format(&format, formats[i], &error) < 0, "%s", formats[i]);
        ck_assert_ptr_nonnull(error);
    }
    memset(many, 'x', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    ck_assert_int_lt(policy_log_format(&format, many, &error), 0);
    for (size_t i = 0; i + 3 < sizeof many; i += 3) memcpy(many + i, "%h ", 3);
    ck_assert_int_lt(policy_log_format(&format, many, &error), 0);
    free(error);
}
END_TEST

int main(void) {
    Suite *s = suite_create("policy: log");
    TCase *c = tcase_create("log");

    tcase_add_test(c, a_combined_line);
    tcase_add_test(c, finer_times_and_how_long_it_took);
    tcase_add_test(c, lines_that_are_none);
    tcase_add_test(c, formats_that_are_none);
    suite_add_tcase(s, c);
    return run_suite(s);
}
