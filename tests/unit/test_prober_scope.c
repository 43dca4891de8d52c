/* SPDX-License-Identifier: BSD-2-Clause */
/* Where links lead, and whom a connection may go to. */
#include <arpa/inet.h>
#include <locale.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "prober/scope.h"
#include "test_prober.h"

static struct scope scope;
static struct scope_place base, out;

static void make_scope(void) {
    memset(&scope, 0, sizeof scope);
    ck_assert_ptr_null(scope_add(&scope, "http://www.example.org/dir/page.html?q=1", &base));
    ck_assert_ptr_null(scope_add(&scope, "https://shop.example.org:8443", &out));
    ck_assert_str_eq(base.target, "/dir/page.html?q=1");
    ck_assert_str_eq(out.target, "/");
}

START_TEST(links_lead_where_browsers_go) {
    static const struct {
        const char *ref;
        uint16_t origin;
        const char *target;
    } t[] = {
        { "x.html", 0, "/dir/x.html" },
        { "/x", 0, "/x" },
        { "../x", 0, "/x" },
        { "../../../x", 0, "/x" },
        { "?a=b", 0, "/dir/page.html?a=b" },
        { "x?y#z", 0, "/dir/x?y" },
        { " \t\nx\r\n ", 0, "/dir/x" },
        { "a\nb", 0, "/dir/ab" },
        { ".", 0, "/dir/" },
        { "a/./b/../c", 0, "/dir/a/c" },
        { "http://www.example.org", 0, "/" },
        { "HTTP://WWW.EXAMPLE.ORG:80/A", 0, "/A" },
        { "//www.example.org/y", 0, "/y" },
        { "http://www.example.org/a/../b?c/../d", 0, "/b?c/../d" },
        { "https://shop.example.org:8443/%7Ex", 1, "/~x" },
        { "x:y/z?", 0, NULL },
        { "a b", 0, "/dir/a%20b" },
        { "\xc3\xa9", 0, "/dir/%C3%A9" },
        { "http://www.example.org?x=1", 0, "/?x=1" },
        { "/\t/evil.example/", 0, "//evil.example/" },
        { "\\\\evil.example\\x", 0, "/dir/%5C%5Cevil.example%5Cx" },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        enum scope_answer a = scope_resolve(&scope, &base, t[i].ref, strlen(t[i].ref), &out);
        if (!t[i].target) {
            ck_assert_int_ne(a, SCOPE_IN);
            continue;
        }
        ck_assert_msg(a == SCOPE_IN, "%s: %s", t[i].ref, scope_reason(a));
        ck_assert_str_eq(out.target, t[i].target);
        ck_assert_uint_eq(out.length, strlen(t[i].target));
        ck_assert_msg(out.origin == t[i].origin, "%s", t[i].ref);
    }
}
END_TEST

START_TEST(links_that_lead_nowhere) {
    static const struct {
        const char *ref;
        enum scope_answer answer;
    } t[] = {
        { "", SCOPE_IGNORED },
        { "#x", SCOPE_IGNORED },
        { "mailto:a@b", SCOPE_IGNORED },
        { "JavaScript:x()", SCOPE_IGNORED },
        { "data:text/html,x", SCOPE_IGNORED },
        { "file:///etc/passwd", SCOPE_SCHEME },
        { "gopher://h/", SCOPE_SCHEME },
        { "ftp://www.example.org/", SCOPE_SCHEME },
        { "http://other.example/", SCOPE_OTHER_SITE },
        { "https://www.example.org/", SCOPE_OTHER_SITE },
        { "//example.org/", SCOPE_OTHER_SITE },
        { "http://www.example.org:8080/", SCOPE_OTHER_SITE },
        { "http://www.example.org.evil.example/", SCOPE_OTHER_SITE },
        { "http://www.example.org@evil.example/", SCOPE_USER },
        { "http://evil.example\\@www.example.org/", SCOPE_USER },
        { "http://user:pw@www.example.org/", SCOPE_USER },
        { "http://169.254.169.254/latest", SCOPE_OTHER_SITE },
        { "http://[::ffff:127.0.0.1]/", SCOPE_OTHER_SITE },
        { "http://127.0.0.1/", SCOPE_OTHER_SITE },
        { "http://2130706433/", SCOPE_OTHER_SITE },
        { "http:x", SCOPE_NOT_A_URL },
        { "http:/x", SCOPE_NOT_A_URL },
        { "http://", SCOPE_NOT_A_URL },
        { "http://www.example.org:99999/", SCOPE_NOT_A_URL },
        { "http://www.exam ple.org/", SCOPE_NOT_A_URL },
        { "//", SCOPE_NOT_A_URL },
    };
    char huge[20000];

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        enum scope_answer a = scope_resolve(&scope, &base, t[i].ref, strlen(t[i].ref), &out);
        ck_assert_msg(a == t[i].answer, "%s: %s, not %s", t[i].ref, scope_reason(a), scope_reason(t[i].answer));
    }
    memset(huge, 'a', sizeof huge);
    ck_assert_int_eq(scope_resolve(&scope, &base, huge, sizeof huge, &out), SCOPE_TOO_LONG);
    memset(huge, '"', sizeof huge); /* three times as long when it is spelt */
    ck_assert_int_eq(scope_resolve(&scope, &base, huge, 8000, &out), SCOPE_TOO_LONG);
    ck_assert_int_eq(scope_resolve(&scope, &base, "a\0b", 3, &out), SCOPE_NOT_A_URL);
    ck_assert_int_eq(scope_resolve(&scope, NULL, "x", 1, &out), SCOPE_NOT_A_URL);
    ck_assert_int_eq(scope_resolve(&scope, NULL, "http://www.example.org/x", 24, &out), SCOPE_IN);
}
END_TEST

START_TEST(what_a_walk_begins_with) {
    static const char *const bad[] = { "www.example.org", "ftp://h/",    "http://",
                                       "http://a:b@h/",   "http://h h/", "file:///x" };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(scope_add(&scope, bad[i], &out) != NULL, "%s", bad[i]);
    ck_assert_uint_eq(scope.n, 2);
    ck_assert_ptr_null(scope_add(&scope, "http://WWW.example.org:80/other", &out));
    ck_assert_uint_eq(scope.n, 2);
    ck_assert_ptr_null(scope_add(&scope, "http://[2001:DB8::1]:8080/", &out));
    ck_assert_str_eq(scope.origin[2].name, "http://[2001:db8::1]:8080");
    setlocale(LC_CTYPE, "C.UTF-8");
    ck_assert_ptr_null(scope_add(&scope,
                                 "http://b\xc3\xbc"
                                 "cher.example/",
                                 &out));
    ck_assert_str_eq(scope.origin[3].name, "http://xn--bcher-kva.example");
    ck_assert_int_eq(scope_resolve(&scope, &base,
                                   "http://b\xc3\xbc"
                                   "cher.example/x",
                                   23, &out),
                     SCOPE_IN);
    ck_assert_uint_eq(out.origin, 3);
    ck_assert_int_eq(scope_resolve(&scope, &base, "http://xn--bcher-kva.example/x", 30, &out), SCOPE_IN);
    ck_assert_int_eq(scope_resolve(&scope, &base,
                                   "http://b\xc3\xbd"
                                   "cher.example/x",
                                   23, &out),
                     SCOPE_OTHER_SITE);
}
END_TEST

static int allows_port(uint16_t origin, const char *address, uint16_t port) {
    struct sockaddr_storage a = { .ss_family = AF_INET };

    if (inet_pton(AF_INET, address, &((struct sockaddr_in *)&a)->sin_addr) != 1) {
        a.ss_family = AF_INET6;
        ck_assert_int_eq(inet_pton(AF_INET6, address, &((struct sockaddr_in6 *)&a)->sin6_addr), 1);
    }
    ((struct sockaddr_in *)&a)->sin_port = htons(port);
    return scope_allows(&scope, origin, (struct sockaddr *)&a);
}

static int allows(uint16_t origin, const char *address) { return allows_port(origin, address, 80); }

START_TEST(addresses) {
    /* 0 never, 1 with --allow-private, 2 always; which address is in which range: test_web_address.c */
    static const struct {
        const char *address;
        int when;
    } t[] = {
        { "93.184.216.34", 2 }, { "2606:2800:220:1::1", 2 }, { "10.1.2.3", 1 },
        { "::1", 1 },           { "169.254.169.254", 0 },    { "fe80::1", 0 },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        scope.allow_private = 0;
        ck_assert_msg(allows(0, t[i].address) == (t[i].when == 2), "%s", t[i].address);
        scope.allow_private = 1;
        ck_assert_msg(allows(0, t[i].address) == (t[i].when >= 1), "%s, private ones allowed", t[i].address);
    }
}
END_TEST

START_TEST(addresses_that_were_written_out) {
    ck_assert_ptr_null(scope_add(&scope, "http://10.0.0.7:8080/", &out));
    ck_assert_int_eq(allows_port(2, "10.0.0.7", 8080), 1);
    ck_assert_int_eq(allows_port(2, "10.0.0.7", 80), 0);
    ck_assert_int_eq(allows(2, "10.0.0.8"), 0);
    ck_assert_int_eq(scope_give(&scope, "[fd00::7]:80"), 0);
    ck_assert_int_eq(allows(0, "fd00::7"), 1);
    ck_assert_int_eq(scope_give(&scope, "169.254.1.1"), 0);
    ck_assert_int_eq(allows(0, "169.254.1.1"), 1);
    ck_assert_int_eq(scope_give(&scope, "backend:80"), -1);
    ck_assert_int_eq(scope_give(&scope, "[::1"), -1);
    ck_assert_ptr_null(scope_add(&scope, "http://localhost:8080/", &out));
    ck_assert_int_eq(allows(3, "127.0.0.1"), 1);
    ck_assert_int_eq(allows(3, "::1"), 1);
    ck_assert_int_eq(allows(3, "10.0.0.1"), 0);
    ck_assert_int_eq(allows(0, "127.0.0.1"), 0);
}
END_TEST

TCase *scope_case(void) {
    TCase *t = tcase_create("scope");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, make_scope, NULL);
    tcase_add_test(t, links_lead_where_browsers_go);
    tcase_add_test(t, links_that_lead_nowhere);
    tcase_add_test(t, what_a_walk_begins_with);
    tcase_add_test(t, addresses);
    tcase_add_test(t, addresses_that_were_written_out);
    return t;
}
