/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a host keeps for its console: samples of ten minutes, the dearest pages, quantiles of waits; and what a page of
 * the console may ask, and who may ask it.
 */
#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/console_classes.h"
#include "console/console_page.h"
#include "console/console_request.h"
#include "console/console_told.h"
#include "console/console_top.h"
#include "run_suite.h"

#define SECOND UINT64_C(1000000)

static struct console_ring ring;
static struct console_top top;

static void setup(void) {
    memset(&ring, 0, sizeof ring);
    memset(&top, 0, sizeof top);
}

static void to_file(void *to, const char *text, size_t bytes) { fwrite(text, 1, bytes, to); }

/* "history", as a reader has it; json_decref'ed by the caller. */
static json_t *history(uint32_t most, uint64_t now) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    struct base_json j = base_json_into((struct base_sink){ to_file, out });
    json_t *all, *found;
    json_error_t why;

    base_json_object(&j, NULL);
    console_ring_json(&j, &ring, most, now);
    base_json_end_object(&j);
    base_json_done(&j);
    fclose(out);
    all = json_loads(text, JSON_DECODE_INT_AS_REAL, &why);
    ck_assert_msg(all != NULL, "no JSON, %s: %.100s", why.text, text + (why.position > 50 ? why.position - 50 : 0));
    found = json_incref(json_object_get(all, "history"));
    json_decref(all);
    free(text);
    return found;
}

static double cell(const json_t *h, size_t row, size_t column) {
    return json_number_value(json_array_get(json_array_get(json_object_get(h, "rows"), row), column));
}

static size_t rows(const json_t *h) { return json_array_size(json_object_get(h, "rows")); }

static uint64_t add(uint64_t now, double gauge, double counter, const char *last) {
    struct console_column c[2] = { { "queued", false, gauge }, { "", true, counter } };

    snprintf(c[1].name, sizeof c[1].name, "%s", last);
    console_ring_add(&ring, now, c, 2);
    return now;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

START_TEST(one_writes_each_second) {
    unsigned written = 0;

    for (uint64_t now = 5 * SECOND; now < 15 * SECOND; now += SECOND / 10) written += console_ring_due(&ring, now);
    ck_assert_uint_eq(written, 10);
    /* Nobody came for a while: one, and not all that were missed. */
    ck_assert(console_ring_due(&ring, 60 * SECOND) && !console_ring_due(&ring, 60 * SECOND + 1));
    /* A clock that began anew, or a time that somebody wrote there. */
    ck_assert(console_ring_due(&ring, SECOND) && !console_ring_due(&ring, SECOND + 1));
    atomic_store(&ring.next_us, UINT64_MAX);
    ck_assert(console_ring_due(&ring, 2 * SECOND));
}
END_TEST

START_TEST(counters_are_told_by_the_second) {
    json_t *h;

    add(10 * SECOND, 3, 1000, "people/bytes");
    add(11 * SECOND, 4, 1500, "people/bytes");
    add(13 * SECOND, 5, 2500, "people/bytes"); /* late */
    add(14 * SECOND, 6, 7, "people/bytes");    /* it began anew */
    h = history(600, 15 * SECOND);
    ck_assert_uint_eq(rows(h), 4);
    for (size_t i = 0; i < 4; i++) {
        static const double ages[] = { 5, 4, 2, 1 }, bytes[] = { 0, 500, 500, 0 };
        ck_assert_double_eq(cell(h, i, 0), (double)i + 1);
        ck_assert_double_eq(cell(h, i, 1), ages[i]);
        ck_assert_double_eq(cell(h, i, 2), (double)i + 3);
        ck_assert_double_eq(cell(h, i, 3), bytes[i]);
    }
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(h, "columns"), 1)), "people/bytes");
    json_decref(h);
    h = history(2, 15 * SECOND);
    ck_assert(rows(h) == 2 && cell(h, 0, 0) == 3);
    json_decref(h);
}
END_TEST

START_TEST(ten_minutes_are_kept) {
    json_t *h;

    for (uint64_t i = 1; i <= 1500; i++) add(i * SECOND, (double)i, (double)i, "n");
    h = history(UINT32_MAX, 1500 * SECOND);
    ck_assert_uint_eq(rows(h), CONSOLE_SAMPLES - 1);
    ck_assert(cell(h, 0, 2) == 1500 - CONSOLE_SAMPLES + 2 && cell(h, CONSOLE_SAMPLES - 2, 2) == 1500);
    json_decref(h);
}
END_TEST

START_TEST(other_columns_begin_anew) {
    json_t *h;

    for (uint64_t i = 1; i <= 5; i++) add(i * SECOND, 1, 10.0 * (double)i, "people/bytes");
    add(6 * SECOND, 1, 99, "search/bytes");
    h = history(600, 7 * SECOND);
    ck_assert_uint_eq(rows(h), 1);
    ck_assert(cell(h, 0, 0) == 6 && cell(h, 0, 3) == 0);
    json_decref(h);
}
END_TEST

/* Processes of less power write there: what they leave is numbers and names, and never read beyond its end. */
START_TEST(a_hostile_ring_is_told_within_bounds) {
    struct console_column c[CONSOLE_COLUMNS];

    memset(c, 0, sizeof c);
    for (unsigned i = 0; i < CONSOLE_COLUMNS; i++) snprintf(c[i].name, sizeof c[i].name, "c%u", i);
    for (unsigned seed = 0; seed < 12; seed++) {
        unsigned char *at = (unsigned char *)&ring;
        uint64_t added;

        srandom(seed);
        for (size_t i = 0; i < sizeof ring; i++) at[i] = seed % 3 ? (unsigned char)random() : 0xff;
        added = seed % 2 ? atomic_load(&ring.added) : (uint64_t)random();
        atomic_store(&ring.added, added);
        for (uint64_t k = added; k + 20 > added && k; k--) atomic_store(&ring.sample[k % CONSOLE_SAMPLES].number, k);
        if (seed % 2) atomic_store(&ring.begins, 1);
        json_decref(history(UINT32_MAX, SECOND));
        console_ring_due(&ring, SECOND);
        console_ring_add(&ring, 2 * SECOND, c, UINT32_MAX);
        json_decref(history(5, 3 * SECOND));
    }
}
END_TEST

/* Its classes become others each second, faster than any administrator: nothing of one stands under another's name. */
static void *changes_columns(void *ends) {
    for (uint64_t i = 1; !atomic_load((_Atomic bool *)ends); i++) {
        struct console_column c[CONSOLE_COLUMNS];

        for (unsigned k = 0; k < CONSOLE_COLUMNS; k++) {
            snprintf(c[k].name, sizeof c[k].name, "%u/c%u", (unsigned)(i / 3 % 5), k);
            c[k].counter = false;
            c[k].value = (double)(i / 3 % 5);
        }
        console_ring_add(&ring, i * SECOND, c, CONSOLE_COLUMNS);
    }
    return NULL;
}

START_TEST(a_row_stands_under_its_own_columns) {
    static _Atomic bool ends;
    pthread_t writer;
    size_t seen = 0;

    atomic_store(&ends, false);
    ck_assert(!pthread_create(&writer, NULL, changes_columns, &ends));
    for (unsigned look = 0; look < 3000 || (!seen && look < 300000); look++) {
        json_t *h = history(CONSOLE_RECENT, 0), *names = json_object_get(h, "columns");

        for (size_t i = 0; i < rows(h); i++, seen++)
            for (size_t k = 0; k < json_array_size(names); k++)
                ck_assert_double_eq(cell(h, i, k + 2), atof(json_string_value(json_array_get(names, k))));
        json_decref(h);
    }
    atomic_store(&ends, true);
    pthread_join(writer, NULL);
    ck_assert_uint_gt(seen, 0);
}
END_TEST

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* However many cheap ones pass by: one that costs a hundredth of all is there, and is told to have cost what it did. */
START_TEST(a_dear_page_is_not_lost) {
    struct console_dear dear[CONSOLE_TOP_SHOWN];
    uint32_t n;

    for (uint64_t i = 0; i < 200000; i++) {
        char url[32];
        int length = snprintf(url, sizeof url, "/page/%lu", (unsigned long)i);

        console_top_add(&top, SECOND, i * UINT64_C(0x9e3779b97f4a7c15), url, (size_t)length, 1, 100, 10);
        if (i % 10 == 0) console_top_add(&top, SECOND, 12345, "/dear", 5, 2, 10000, 20);
    }
    n = console_top_read(&top, SECOND, dear, CONSOLE_TOP_SHOWN);
    ck_assert_uint_eq(n, CONSOLE_TOP_SHOWN);
    ck_assert_str_eq(dear[0].url, "/dear");
    ck_assert(dear[0].us >= 20000 * 10000u && dear[0].requests <= 20000 && dear[0].class == 2);
    for (uint32_t i = 1; i < n; i++) ck_assert(dear[i - 1].us >= dear[i].us);
}
END_TEST

START_TEST(what_was_long_ago_fades) {
    struct console_dear dear[1];

    console_top_fade(&top, SECOND);
    console_top_add(&top, SECOND, 1, "/a", 2, 0, 1000, 1000);
    console_top_fade(&top, 2 * SECOND);
    ck_assert(console_top_read(&top, SECOND, dear, 1) == 1 && dear[0].us == 1000);
    console_top_fade(&top, 62 * SECOND);
    ck_assert(console_top_read(&top, SECOND, dear, 1) == 1 && dear[0].us == 900);
}
END_TEST

START_TEST(who_died_there_keeps_nobody_out_for_long) {
    struct console_dear dear[1];

    atomic_store(&top.set[1].taken, 10 * SECOND);
    console_top_add(&top, 10 * SECOND + 5, 1, "/a", 2, 0, 1000, 1000);
    ck_assert_uint_eq(console_top_read(&top, 10 * SECOND + 6, dear, 1), 0);
    console_top_add(&top, 12 * SECOND, 1, "/a", 2, 0, 1000, 1000);
    ck_assert_uint_eq(console_top_read(&top, 12 * SECOND, dear, 1), 1);
}
END_TEST

/* Processes do not look at the clock at the same moment: who took it later than another looked still has it. */
START_TEST(a_set_is_not_taken_from_who_has_it) {
    struct console_dear dear[1];

    atomic_store(&top.set[1].taken, 10 * SECOND + 3);
    console_top_add(&top, 10 * SECOND, 1, "/a", 2, 0, 1000, 1000);
    ck_assert_uint_eq(atomic_load(&top.set[1].taken), 10 * SECOND + 3);
    ck_assert_uint_eq(top.set[1].row[0].key, 0);
    /* A time that nobody's clock has yet is a stranger's hand. */
    atomic_store(&top.set[1].taken, UINT64_MAX);
    console_top_add(&top, 10 * SECOND, 1, "/a", 2, 0, 1000, 1000);
    ck_assert_uint_eq(console_top_read(&top, 10 * SECOND, dear, 1), 1);
}
END_TEST

START_TEST(a_long_url_has_an_end) {
    struct console_dear dear[1];
    char url[500];

    memset(url, 'x', sizeof url);
    console_top_add(&top, SECOND, 1, url, sizeof url, 0, 1000, 1000);
    ck_assert_uint_eq(console_top_read(&top, SECOND, dear, 1), 1);
    ck_assert_uint_eq(strlen(dear[0].url), CONSOLE_URL - 1);
}
END_TEST

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static _Atomic uint32_t waits[RS_WAITS];
static const _Atomic uint32_t *waits_of(const void *of, uint32_t i) {
    (void)of;
    return i ? NULL : waits;
}

static double column_of(const struct console_column *c, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(c[i].name, name)) return c[i].value;
    ck_abort_msg("no column %s", name);
}

START_TEST(quantiles_are_of_the_last_seconds) {
    static struct console_waits w;
    struct console_column c[CONSOLE_COLUMNS];
    struct rs_figures_class classes[2] = { { .s.settings.name = "people" }, { .s.settings.name = "search" } };
    struct rs_figures f = { .classes = classes, .nclasses = 2 };
    uint32_t n = console_classes_columns(&w, &f, waits_of, NULL, c);

    ck_assert(__builtin_isnan(column_of(c, n, "people/p50_ms")));
    /* Of a hundred, ninety waited 10 ms and ten 1 s. */
    atomic_fetch_add(&waits[rs_waits_bucket(10000)], 90);
    atomic_fetch_add(&waits[rs_waits_bucket(1000000)], 10);
    n = console_classes_columns(&w, &f, waits_of, NULL, c);
    ck_assert_double_ge(column_of(c, n, "people/p50_ms"), 10);
    ck_assert_double_lt(column_of(c, n, "people/p50_ms"), 12.5);
    ck_assert_double_ge(column_of(c, n, "people/p95_ms"), 1000);
    ck_assert_double_lt(column_of(c, n, "people/p95_ms"), 1250);
    ck_assert(__builtin_isnan(column_of(c, n, "search/p95_ms")));
    /* Twenty seconds later, when all waited 1 ms. */
    for (int i = 0; i < 20; i++) {
        atomic_fetch_add(&waits[rs_waits_bucket(1000)], 100);
        n = console_classes_columns(&w, &f, waits_of, NULL, c);
    }
    ck_assert_double_lt(column_of(c, n, "people/p95_ms"), 1.25);
    /* Another class in its place: nothing of before is its. */
    strcpy(classes[0].s.settings.name, "others");
    n = console_classes_columns(&w, &f, waits_of, NULL, c);
    ck_assert(__builtin_isnan(column_of(c, n, "others/p50_ms")));
}
END_TEST

START_TEST(many_classes_have_room) {
    static struct console_waits w;
    static struct rs_figures_class classes[1000];
    struct console_column c[CONSOLE_COLUMNS];
    struct rs_figures f = { .classes = classes, .nclasses = 1000 };

    for (unsigned i = 0; i < 1000; i++)
        snprintf(classes[i].s.settings.name, RS_NAME_MAX, "%.*s%u", RS_NAME_MAX - 6,
                 "abcdefghijklmnopqrstuvwxyz-and-more", i);
    ck_assert_uint_le(console_classes_columns(&w, &f, NULL, NULL, c), CONSOLE_COLUMNS - 6);
}
END_TEST

/* Each wait is in the bucket that says it: a quarter more at most. */
START_TEST(buckets_hold_what_they_say) {
    for (uint64_t us = 1; us <= rs_waits_most(RS_WAITS - 1); us += 1 + us / 97) {
        uint32_t b = rs_waits_bucket(us);
        ck_assert(us <= rs_waits_most(b) && (us < 16 || rs_waits_most(b) <= us + us / 4));
        ck_assert(!b || us > rs_waits_most(b - 1));
    }
    ck_assert_uint_eq(rs_waits_bucket(UINT64_MAX), RS_WAITS - 1);
}
END_TEST

/* ---- who may ask whom -------------------------------------------------------------------------------------------- */

START_TEST(a_policy_holds_sites_and_nothing_else) {
    static const struct {
        const char *others, *told;
        int good;
    } rows[] = {
        { NULL, "", 1 },
        { "", "", 1 },
        { "http://a/x", " http://a", 1 },
        { " http://a:81/x?y  https://[2001:db8::1]:8443 ", " http://a:81 https://[2001:db8::1]:8443", 1 },
        { "http://a;script-src", "", 0 },
        { "http://a,http://b 'unsafe-inline' https://c/ javascript:1 * data: http:// //d", " https://c", 0 },
        { "http://user@a/", "", 0 },
    };
    char plain[CONSOLE_POLICY], policy[CONSOLE_POLICY], many[CONSOLE_POLICY * 2] = "";

    ck_assert(console_policy(plain, NULL));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(console_policy(policy, rows[i].others), rows[i].good);
        ck_assert(!strncmp(policy, plain, strlen(plain)));
        ck_assert_str_eq(policy + strlen(plain), rows[i].told);
    }
    for (int i = 0; i < 60; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "http://a-site-%d.example/ ", i);
    ck_assert(!console_policy(policy, many));
    ck_assert(strstr(policy, "http://a-site-15.example") && !strstr(policy, "http://a-site-16.example"));
}
END_TEST

START_TEST(an_origin_is_one_that_was_named) {
    const char *sites = "http://admin.example/qos-status https://b.example:8443";

    ck_assert(console_allows("http://admin.example", sites) && console_allows("https://b.example:8443", sites));
    ck_assert(!console_allows("http://admin.example.evil", sites) && !console_allows("http://admin", sites));
    ck_assert(!console_allows("https://admin.example", sites) && !console_allows("null", sites));
    ck_assert(!console_allows("", sites) && !console_allows("http://admin.example", NULL) && !console_allows("", ""));
}
END_TEST

START_TEST(requests_are_read) {
    static const struct {
        const char *head, *what, *host;
        int refused;
        bool stays;
    } rows[] = {
        { "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", "a", 0, true },
        { "GET /?console-now HTTP/1.1\r\nhOST:\t localhost:1 \r\nConnection: keep-alive\r\n\r\n", "console-now",
          "localhost:1", 0, true },
        { "GET /?console-now HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "console-now", "a", 0, false },
        { "GET /metrics HTTP/1.0\r\nHost: a\r\n\r\n", "/metrics", "a", 0, false },
        { "GET /metricsX HTTP/1.1\r\n\r\n", "", "", 404, false },
        { "GET /x HTTP/1.1\r\n\r\n", "", "", 404, false },
        { "GET http://a/ HTTP/1.1\r\n\r\n", "", "", 404, false },
        { "HEAD / HTTP/1.1\r\n\r\n", "", "", 405, false },
        { "GET / HTTP/1.12\r\n\r\n", "", "", 400, false },
        { "GET /\r\n\r\n", "", "", 400, false },
        { "\r\n\r\n", "", "", 400, false },
        { "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "", "a", 400, false },
        { "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "", "", 400, false },
        { "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "", "", 400, false },
        /* By a proxy on this machine, whose clients are anywhere. */
        { "GET / HTTP/1.1\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n", "", "", 403, false },
        { "GET / HTTP/1.1\r\nx-real-ip: 203.0.113.9\r\n\r\n", "", "", 403, false },
        { "GET / HTTP/1.1\r\nForwarded: for=203.0.113.9\r\n\r\n", "", "", 403, false },
        { "GET / HTTP/1.1\r\nVia: 1.1 front\r\n\r\n", "", "", 403, false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct console_request r;
        size_t n = strlen(rows[i].head);

        ck_assert_uint_eq(console_request_whole(rows[i].head, n), n);
        ck_assert_uint_eq(console_request_whole(rows[i].head, n - 1), 0);
        console_request_read(rows[i].head, n, &r);
        ck_assert_msg(r.refused == rows[i].refused, "%s: %d", rows[i].head, r.refused);
        ck_assert_str_eq(r.what, rows[i].what);
        ck_assert_str_eq(r.host, rows[i].host);
        ck_assert(r.stays == rows[i].stays);
    }
}
END_TEST

/* Who may ask: the names of a loopback; the address that it listens at, with its port or, of port 80, without. */
START_TEST(names_of_ours) {
    static const struct {
        const char *listens, *host;
        bool ours;
    } rows[] = {
        { "127.0.0.1:9118", "127.0.0.1:9118", true },
        { "127.0.0.1:9118", "LOCALHOST:8080", true },
        { "127.0.0.1:9118", "[::1]:9118", true },
        { "127.0.0.1:9118", "localhost.evil.example", false },
        { "127.0.0.1:9118", "127.0.0.1.evil.example", false },
        { "127.0.0.1:9118", "", false },
        { "192.0.2.1:9118", "192.0.2.1:9118", true },
        { "192.0.2.1:9118", "192.0.2.1", false },
        { "192.0.2.1:80", "192.0.2.1", true },
        { "192.0.2.1:80", "192.0.2.1:80", true },
        { "192.0.2.1:80", "192.0.2.10", false },
        { "[2001:db8::1]:80", "[2001:db8::1]", true },
        { "192.0.2.1:8080", "192.0.2.1", false },
        { "192.0.2.1:80", "192.0.2", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct console_request r = { .what = "" };

        strcpy(r.host, rows[i].host);
        ck_assert_msg(console_request_is_ours(&r, rows[i].listens) == rows[i].ours, "%s at %s", rows[i].host,
                      rows[i].listens);
    }
}
END_TEST

/* Pages of other sites, as a browser says that they ask; who is no browser says nothing. */
START_TEST(pages_of_other_sites) {
    static const struct {
        const char *origin, *site;
        bool foreign;
    } rows[] = {
        { "", NULL, false },
        { "", "same-origin", false },
        { "", "none", false },
        { "", "cross-site", true },
        { "", "same-site", true },
        { "http://evil.example", "cross-site", true },
        { "null", "cross-site", true },
        { "http://admin.example", "cross-site", false },
        { "", "nonsense", true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(console_foreign(rows[i].site, rows[i].origin, "http://admin.example/x") == rows[i].foreign,
                      "%s %s", rows[i].origin, rows[i].site);
}
END_TEST

/* What is told of others is what the page may ask: no password of an address, nothing that is none, not too many. */
START_TEST(others_are_told_as_they_may_be_asked) {
    char others[4096] = "http://user:secret@a/ javascript:1 //b ftp://c http://d/x?y /eeod-status ", *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    json_t *all, *list;

    for (int i = 0; i < 40; i++)
        snprintf(others + strlen(others), sizeof others - strlen(others), "http://a-site-%d.example/ ", i);
    fputs("{\"a\":1", out);
    console_tell_end((struct base_sink){ to_file, out }, "here", others);
    fclose(out);
    all = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(all);
    list = json_object_get(all, "others");
    ck_assert(!strstr(text, "secret") && !strstr(text, "javascript") && !strstr(text, "//b"));
    ck_assert_uint_eq(json_array_size(list), CONSOLE_OTHERS);
    ck_assert_str_eq(json_string_value(json_array_get(list, 0)), "http://d/x?y");
    ck_assert_str_eq(json_string_value(json_array_get(list, 1)), "/eeod-status");
    json_decref(all);
    free(text);
}
END_TEST

int main(void) {
    Suite *s = suite_create("console");
    TCase *t = tcase_create("console");

    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, one_writes_each_second);
    tcase_add_test(t, counters_are_told_by_the_second);
    tcase_add_test(t, ten_minutes_are_kept);
    tcase_add_test(t, other_columns_begin_anew);
    tcase_add_test(t, a_hostile_ring_is_told_within_bounds);
    tcase_add_test(t, a_row_stands_under_its_own_columns);
    tcase_add_test(t, a_dear_page_is_not_lost);
    tcase_add_test(t, what_was_long_ago_fades);
    tcase_add_test(t, who_died_there_keeps_nobody_out_for_long);
    tcase_add_test(t, a_set_is_not_taken_from_who_has_it);
    tcase_add_test(t, a_long_url_has_an_end);
    tcase_add_test(t, quantiles_are_of_the_last_seconds);
    tcase_add_test(t, many_classes_have_room);
    tcase_add_test(t, buckets_hold_what_they_say);
    tcase_add_test(t, a_policy_holds_sites_and_nothing_else);
    tcase_add_test(t, an_origin_is_one_that_was_named);
    tcase_add_test(t, requests_are_read);
    tcase_add_test(t, names_of_ours);
    tcase_add_test(t, pages_of_other_sites);
    tcase_add_test(t, others_are_told_as_they_may_be_asked);
    return run_suite(s);
}
