/* SPDX-License-Identifier: BSD-2-Clause */
/* Whom a stranger's URL may lead to, and how long an answer may be kept. */
#include <stdlib.h>
#include <string.h>

#include "web/web_fresh.h"
#include "web/web_rules.h"
#include "test_web.h"

static struct web_allowed *allowed;

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const some_hosts[] = {
    "www.example.org",      "*.example.net", "EXAMPLE.com.:8088", "8.8.8.8",
    "[2606:2800:220:1::1]", "10.0.0.7",      "169.254.1.1",
};
static const char *const some_addresses[] = { "10.0.0.7:9000", "169.254.1.1" };

static struct web_allowed *rules_of(const char *const *hosts, size_t nhosts, const char *const *addresses,
                                    size_t naddresses) {
    struct web_rules r = {
        .hosts = hosts, .nhosts = (unsigned)nhosts, .addresses = addresses, .naddresses = (unsigned)naddresses
    };
    char *error = NULL;
    struct web_allowed *w = web_allowed_new(&r, &error);
    ck_assert_msg(w != NULL, "%s", error);
    return w;
}

static void make_rules(void) {
    allowed = rules_of(some_hosts, COUNT(some_hosts), some_addresses, COUNT(some_addresses));
}

static void free_rules(void) { web_allowed_free(&allowed); }

/* url NULL: refused. */
static void leads_to(const struct web_allowed *w, const char *base, const char *text, const char *url) {
    char error[WEB_ERROR_MAX], *got = web_allowed_url(w, base, text, error);

    if (url) ck_assert_msg(got && !strcmp(got, url), "%s: %s, not %s", text, got ? got : error, url);
    else ck_assert_msg(!got && *error, "%s: %s", text, got ? got : "refused without a reason");
    free(got);
}

START_TEST(urls) {
    static const struct {
        const char *text, *url;
    } t[] = {
        { "http://www.example.org", "http://www.example.org/" },
        { "HTTP://WWW.Example.ORG/A?b c#d", "http://WWW.Example.ORG/A?b%20c" },
        { "https://www.example.org:443/", "https://www.example.org:443/" },
        { "http://www.example.org./", "http://www.example.org./" },
        { "http://www.example.org:8080/", "http://www.example.org:8080/" },
        { "http://www.example.org:/", "http://www.example.org/" },
        { "https://www.example.org:8443/", "https://www.example.org:8443/" },
        { "ftp://www.example.org/x", "ftp://www.example.org/x" },
        { "http://www.example.org:21/", NULL },
        { "ftp://www.example.org:80/", NULL },
        { "http://www.example.org:22/", NULL },
        { "http://www.example.org:0/", NULL },
        { "http://www.example.org:99999/", NULL },
        { "http://example.org/", NULL },
        { "http://a.www.example.org/", NULL },
        { "http://www.example.org.evil.test/", NULL },
        { "http://a.example.net/", "http://a.example.net/" },
        { "http://a.b.example.net/", "http://a.b.example.net/" },
        { "http://example.net/", NULL },
        { "http://.example.net/", NULL },
        { "http://a..example.net/", NULL },
        { "http://aexample.net/", NULL },
        { "http://example.com:8088/", "http://example.com:8088/" },
        { "http://example.com/", NULL },
        { "http://8.8.8.8/", "http://8.8.8.8/" },
        { "http://8.8.2056/", "http://8.8.8.8/" },
        { "http://134744072/", "http://8.8.8.8/" },
        { "http://[2606:2800:0220:0001::1]/", "http://[2606:2800:220:1::1]/" },
        { "http://10.0.0.7:9000/", "http://10.0.0.7:9000/" },
        { "http://10.0.0.7/", NULL },
        { "http://10.0.0.7:9001/", NULL },
        { "http://10.0.0.8:9000/", NULL },
        { "http://169.254.1.1/", "http://169.254.1.1/" },
        { "http://169.254.1.1:9000/", NULL },
        { "file:///etc/passwd", NULL },
        { "gopher://www.example.org/", NULL },
        { "javascript:alert(1)", NULL },
        { "http:www.example.org/", NULL },
        { "http:/www.example.org/", NULL },
        { "http:///www.example.org/", NULL },
        { "www.example.org/", NULL },
        { "//www.example.org/", NULL },
        { "/x", NULL },
        { "", NULL },
        { " http://www.example.org/", NULL },
        { "http://", NULL },
        { "http://user@www.example.org/", NULL },
        { "http://user:pw@www.example.org/", NULL },
        { "http://:@www.example.org/", NULL },
        { "http://www.example.org@evil.test/", NULL },
        { "http://evil.test\\@www.example.org/", NULL },
        { "http://evil.test#@www.example.org/", NULL },
        { "http://user:pw@ho st/", NULL },
        { "http://ho st/", NULL },
        { "http://www.example.org\\.evil.test/", NULL },
        { "http://www%2eexample.org/", NULL },
        { "http://www.example.org%00.evil.test/", NULL },
        { "http://b\xc3\xbc"
          "cher.example.net/",
          NULL },
        { "http://\xff\xfe.example.net/", NULL },
        { "http://www.example.org/\xc3\xbc", "http://www.example.org/%c3%bc" },
        { "http://www.example.org/\r\nX: y", NULL },
        { "http://www.example.org:80x/", NULL },
        { "http://[::1/", NULL },
        { "http://[::zz]/", NULL },
        { "http://[fe80::1%25lo]/", NULL },
        { "http://[]/", NULL },
        { "http://[1.2.3.4]/", NULL },
        { "http://[:::::]/", NULL },
    };
    char huge[WEB_URI_MAX + 100];

    for (size_t i = 0; i < COUNT(t); i++) leads_to(allowed, NULL, t[i].text, t[i].url);
    memset(huge, 'a', sizeof huge - 1);
    huge[sizeof huge - 1] = 0;
    memcpy(huge, "http://www.example.org/", 23);
    leads_to(allowed, NULL, huge, NULL);
    memset(huge, 'a', sizeof huge - 1);
    memcpy(huge, "http://", 7);
    leads_to(allowed, NULL, huge, NULL);
    /* Three times as long as it was, once it is escaped. */
    memset(huge, ' ', sizeof huge - 1);
    memcpy(huge, "http://www.example.org/", 23);
    huge[WEB_URI_MAX - 1] = 0;
    leads_to(allowed, NULL, huge, NULL);
}
END_TEST

START_TEST(redirects_are_judged_anew) {
    static const struct {
        const char *text, *url;
    } t[] = {
        { "y", "http://www.example.org/x/y" },
        { "/y z", "http://www.example.org/y%20z" },
        { "?q", "http://www.example.org/x/?q" },
        { "../../y", "http://www.example.org/y" },
        { "//a.example.net/", "http://a.example.net/" },
        { "https://a.example.net/", "https://a.example.net/" },
        { "ftp://a.example.net/", "ftp://a.example.net/" },
        { "//evil.test/", NULL },
        { "//user@a.example.net/", NULL },
        { "//user:pw@ho st/", NULL },
        { "http://user:pw@ho%st/", NULL },
        { "http://169.254.169.254/latest", NULL },
        { "file:///etc/passwd", NULL },
        { "FILE:///etc/passwd", NULL },
        { "x:y", NULL },
        { "http:y", NULL },
    };

    for (size_t i = 0; i < COUNT(t); i++) leads_to(allowed, "http://www.example.org/x/", t[i].text, t[i].url);
}
END_TEST

START_TEST(all_that_is_public) {
    static const char *const below_number[] = { "*.8.8" }, *const all[] = { "*" },
                             *const any_port[] = { "*", "*:8000" };
    static const char *const inside[] = {
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://0/",
        "http://0.0.0.0/",
        "http://127.0.0.1./",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::127.0.0.1]/",
        "http://[2002:7f00:1::]/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://[fe80::1]/",
        "http://0xA9FEA9FE/",
        "http://[fd00:ec2::254]/",
        "http://192.168.1.1/",
        "http://100.100.100.200/",
        "http://example.onion/",
        "http://a.b.ONION./",
        "http://onion/",
        "http://www.test:8000/",
        "http://www.test:11211/",
    };
    struct web_allowed *w = rules_of(all, 1, NULL, 0);

    for (size_t i = 0; i < COUNT(inside); i++) leads_to(w, NULL, inside[i], NULL);
    leads_to(w, NULL, "http://www.test/", "http://www.test/");
    leads_to(w, NULL, "http://8.8.8.8/", "http://8.8.8.8/");
    /* Where a name leads is seen when it is connected to. */
    leads_to(w, NULL, "http://localhost/", "http://localhost/");
    web_allowed_free(&w);
    w = rules_of(any_port, 2, NULL, 0);
    leads_to(w, NULL, "http://www.test:8000/", "http://www.test:8000/");
    leads_to(w, NULL, "http://127.0.0.1:8000/", NULL);
    web_allowed_free(&w);
    w = rules_of(below_number, 1, NULL, 0);
    leads_to(w, NULL, "http://8.8.8.8/", NULL); /* an address is below nothing */
    web_allowed_free(&w);
    w = rules_of(NULL, 0, some_addresses, COUNT(some_addresses));
    leads_to(w, NULL, "http://10.0.0.7:9000/", NULL);
    web_allowed_free(&w);
}
END_TEST

START_TEST(rules_that_are_none) {
    static const char *const hosts[] = {
        "",    ".",       "*.",    "**",  "*x",   "*.*.org", "a b", "http://a/", "a/b",    "a:",
        "a:0", "a:65536", "a:80x", ":80", "a:-1", "a..b",    ".a",  "[::1",      "[::1]x", "b\xc3\xbc\143her.example",
    };
    static const char *const addresses[] = { "", "localhost", "10.0.0.0/8", "10.0.0.1:x", "*" };

    for (size_t i = 0; i < COUNT(hosts) + COUNT(addresses); i++) {
        bool host = i < COUNT(hosts);
        const char *const *text = host ? &hosts[i] : &addresses[i - COUNT(hosts)];
        struct web_rules r = { .hosts = text, .nhosts = host, .addresses = text, .naddresses = !host };
        char *error = NULL;
        ck_assert_msg(!web_allowed_new(&r, &error) && error, "%s", *text);
        free(error);
    }
}
END_TEST

START_TEST(no_way_from_https_to_http) {
    static const char *const hosts[] = { "*" };
    struct web_rules r = { .hosts = hosts, .nhosts = 1, .secure = true };
    struct web_allowed *w = web_allowed_new(&r, NULL);
    char error[WEB_ERROR_MAX], *url;

    url = web_allowed_url(w, "https://a.example/x", "/y", error);
    ck_assert_str_eq(url, "https://a.example/y");
    free(url);
    ck_assert_ptr_null(web_allowed_url(w, "https://a.example/x", "http://a.example/y", error));
    ck_assert_str_eq(error, "only https is asked for");
    ck_assert_ptr_null(web_allowed_url(w, NULL, "http://a.example/", error));
    ck_assert_ptr_null(web_allowed_url(w, NULL, "ftp://a.example/", error));
    web_allowed_free(&w);
}
END_TEST

TCase *web_rules_case(void) {
    TCase *t = tcase_create("rules");
    tcase_add_checked_fixture(t, make_rules, free_rules);
    tcase_add_test(t, no_way_from_https_to_http);
    tcase_add_test(t, urls);
    tcase_add_test(t, redirects_are_judged_anew);
    tcase_add_test(t, all_that_is_public);
    tcase_add_test(t, rules_that_are_none);
    return t;
}

/* ---- freshness --------------------------------------------------------------------------------------------------- */

START_TEST(freshness) {
    static const struct {
        const char *control, *age, *vary;
        uint64_t seconds;
    } t[] = {
        { "max-age=60", NULL, NULL, 60 },
        { "Max-Age = \"60\" , public", NULL, NULL, 60 },
        { "max-age=60, s-maxage=5", NULL, NULL, 5 },
        { "s-maxage=500,max-age=60", NULL, NULL, 500 },
        { "s-maxage=0,max-age=60", NULL, NULL, 0 },
        { "max-age=60", "10", NULL, 50 },
        { "max-age=60", "60", NULL, 0 },
        { "max-age=60", "61", NULL, 0 },
        { "max-age=60", "99999999999999999999999", NULL, 0 },
        { "max-age=60", "x", NULL, 60 },
        { "max-age=60", "-5", NULL, 60 },
        { "max-age=60", "10 , 20", NULL, 50 },
        { "max-age=99999999999999999999999", NULL, NULL, 2147483648 },
        { "max-age=60, max-age=5", NULL, NULL, 5 },
        { "max-age=60, max-age=x", NULL, NULL, 0 },
        { "max-age=", NULL, NULL, 0 },
        { "max-age", NULL, NULL, 0 },
        { "max-age=-1", NULL, NULL, 0 },
        { "max-age=6 0", NULL, NULL, 0 },
        { "max-age=60, no-store", NULL, NULL, 0 },
        { "no-cache, max-age=60", NULL, NULL, 0 },
        { "NO-CACHE=\"set-cookie\", max-age=60", NULL, NULL, 0 },
        { "private=\"a, max-age=5\", max-age=60", NULL, NULL, 0 },
        { "x=\"no-store, a\\\", b\", max-age=60", NULL, NULL, 60 },
        { "x=\"no-end, max-age=60", NULL, NULL, 0 },
        { "no-storey, xmax-age=5, max-age=60", NULL, NULL, 60 },
        { "max-age=60", NULL, "Accept-Encoding", 60 },
        { "max-age=60", NULL, "*", 0 },
        { ",,, ,", NULL, NULL, 0 },
        { "\\", NULL, NULL, 0 },
        { "\"\\", NULL, NULL, 0 },
        { "=", NULL, NULL, 0 },
        { "", NULL, NULL, 0 },
    };

    for (size_t i = 0; i < COUNT(t); i++) {
        struct web_fresh f = { .never = false };
        web_fresh_control(&f, t[i].control, strlen(t[i].control));
        if (t[i].age) web_fresh_age(&f, t[i].age, strlen(t[i].age));
        if (t[i].vary) web_fresh_vary(&f, t[i].vary, strlen(t[i].vary));
        ck_assert_msg(web_fresh_seconds(&f) == t[i].seconds, "%s: %llu", t[i].control,
                      (unsigned long long)web_fresh_seconds(&f));
    }
}
END_TEST

START_TEST(freshness_in_several_fields) {
    struct web_fresh f = { .never = false };

    ck_assert(!web_fresh_was_said(&f));
    web_fresh_control(&f, "public", 6);
    ck_assert(!web_fresh_was_said(&f));
    web_fresh_control(&f, "max-age=60", 10);
    ck_assert(web_fresh_was_said(&f));
    web_fresh_control(&f, "max-age=600", 11);
    web_fresh_age(&f, "20", 2);
    web_fresh_age(&f, "10", 2);
    ck_assert_uint_eq(web_fresh_seconds(&f), 40);
    web_fresh_control(&f, "no-store", 8);
    ck_assert_uint_eq(web_fresh_seconds(&f), 0);
}
END_TEST

TCase *web_fresh_case(void) {
    TCase *t = tcase_create("fresh");
    tcase_add_test(t, freshness);
    tcase_add_test(t, freshness_in_several_fields);
    return t;
}
