/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lab.c - what every measurement rests on: message framing, the histogram, the timers. */
#include "lab_hist.h"
#include "lab_http.h"
#include "lab_timer.h"
#include "../unit/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- replies: fed whole, and byte by byte ------------------------------------------------------------------------ */

static const struct reply_case {
    const char *text;
    bool head_request, closes; /* closes: the peer closes behind the text */
    enum lab_http expected;
    int status;
    bool keep_alive;
    size_t surplus; /* bytes behind the message */
} reply_cases[] = {
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, false, LAB_HTTP_DONE, 200, true, 0 },
    { "HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\nhelloXY", false, false, LAB_HTTP_DONE, 200, true, 2 },
    { "HTTP/1.1 200 OK\nContent-Length: 0\n\n", false, false, LAB_HTTP_DONE, 200, true, 0 },
    { "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", false, false, LAB_HTTP_DONE, 200, false, 0 },
    { "HTTP/1.1 200 OK\r\nConnection: foo, close\r\nContent-Length: 2\r\n\r\nab", false, false, LAB_HTTP_DONE, 200,
      false, 0 },
    { "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", true, false, LAB_HTTP_DONE, 200, true, 0 },
    { "HTTP/1.1 304 No\r\nContent-Length: 500\r\n\r\n", false, false, LAB_HTTP_DONE, 304, true, 0 },
    { "HTTP/1.1 204 No\r\n\r\n", false, false, LAB_HTTP_DONE, 204, true, 0 },
    { "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx", false, false, LAB_HTTP_DONE, 404, true,
      0 },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", false,
      false, LAB_HTTP_DONE, 200, true, 0 },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", false, false, LAB_HTTP_DONE,
      200, true, 0 },
    { "HTTP/1.1 200 OK\r\n\r\nto the end", false, true, LAB_HTTP_DONE, 200, false, 0 },
    { "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", false, false, LAB_HTTP_MORE, 200, true, 0 },
    { "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", false, true, LAB_HTTP_BAD, 200, true, 0 },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false, true, LAB_HTTP_BAD, 200, true, 0 },
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", false, false, LAB_HTTP_BAD, 200, true, 0 },
    { "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", false, false, LAB_HTTP_BAD, 200, true, 0 },
    { "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", false, false, LAB_HTTP_BAD, 200, true, 0 },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", false, false, LAB_HTTP_BAD, 200, true, 0 },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", false, false, LAB_HTTP_BAD, 200,
      true, 0 },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", false, false, LAB_HTTP_BAD, 200,
      true, 0 },
    { "HTTP/1.1 999 OK\r\n\r\n", false, false, LAB_HTTP_BAD, 0, true, 0 },
    { "SSH-2.0-OpenSSH\r\n", false, false, LAB_HTTP_BAD, 0, true, 0 },
    { "\r\n\r\n", false, false, LAB_HTTP_BAD, 0, true, 0 },
};

static enum lab_http feed_in_pieces(struct lab_reply *r, const struct reply_case *c, size_t piece, size_t *used) {
    size_t length = strlen(c->text), part;
    enum lab_http result = LAB_HTTP_MORE;
    lab_reply_begin(r, c->head_request);
    *used = 0;
    while (*used < length && result == LAB_HTTP_MORE) {
        size_t n = length - *used < piece ? length - *used : piece;
        result = lab_reply_feed(r, c->text + *used, n, &part);
        ck_assert_uint_le(part, n);
        *used += part;
    }
    return result == LAB_HTTP_MORE && c->closes ? lab_reply_eof(r) : result;
}

START_TEST(replies) {
    const struct reply_case *c = &reply_cases[_i];
    static const size_t pieces[] = { 100000, 1, 2, 3, 7 };
    for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
        struct lab_reply r;
        size_t used;
        ck_assert_msg(feed_in_pieces(&r, c, pieces[p], &used) == c->expected, "in pieces of %zu: %s", pieces[p],
                      c->text);
        ck_assert_int_eq(r.status, c->status);
        if (c->expected == LAB_HTTP_DONE) {
            ck_assert_msg(r.keep_alive == c->keep_alive, "%s", c->text);
            if (!c->closes) ck_assert_uint_eq(strlen(c->text) - used, c->surplus);
        }
    }
}
END_TEST

START_TEST(endless_head) {
    struct lab_reply r;
    size_t used;
    static const char field[] = "X-Filler: 0123456789012345678901234567890123456789\r\n";
    int fed = 0;
    lab_reply_begin(&r, false);
    ck_assert_int_eq(lab_reply_feed(&r, "HTTP/1.1 200 OK\r\n", 17, &used), LAB_HTTP_MORE);
    while (lab_reply_feed(&r, field, sizeof field - 1, &used) == LAB_HTTP_MORE)
        ck_assert_int_lt(++fed, LAB_HEAD_MAX / 40);
    lab_reply_begin(&r, false);
    fed = 0;
    while (lab_reply_feed(&r, "AAAAAAAAAAAAAAAA", 16, &used) == LAB_HTTP_MORE)
        ck_assert_int_lt(++fed, LAB_HEAD_MAX / 8);
}
END_TEST

START_TEST(skipped_body) {
    struct lab_reply r;
    size_t used;
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc";
    lab_reply_begin(&r, false);
    ck_assert_int_eq(lab_reply_feed(&r, head, sizeof head - 1, &used), LAB_HTTP_MORE);
    ck_assert_uint_eq(lab_reply_opaque(&r), 999997);
    ck_assert_int_eq(lab_reply_skip(&r, 999996), LAB_HTTP_MORE);
    ck_assert_int_eq(lab_reply_skip(&r, 1), LAB_HTTP_DONE);
}
END_TEST

START_TEST(requests) {
    static const char text[] =
        "POST /size/7?chunked HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        "bodyGET /next HTTP/1.0\r\n\r\n";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct lab_request q;
        size_t at = 0, part;
        enum lab_http r = LAB_HTTP_MORE;
        lab_request_begin(&q);
        for (; r == LAB_HTTP_MORE; at += part)
            r = lab_request_feed(&q, text + at, sizeof text - 1 - at < piece ? sizeof text - 1 - at : piece, &part);
        ck_assert_int_eq(r, LAB_HTTP_DONE);
        ck_assert_str_eq(q.target, "/size/7?chunked");
        ck_assert(q.expect_continue && q.keep_alive && !q.head_method);
        ck_assert_int_eq(strncmp(text + at, "GET /next", 9), 0);
        lab_request_begin(&q);
        ck_assert_int_eq(lab_request_feed(&q, text + at, sizeof text - 1 - at, &part), LAB_HTTP_DONE);
        ck_assert_str_eq(q.target, "/next");
        ck_assert(!q.keep_alive);
    }
}
END_TEST

/* ---- histogram and timers ---------------------------------------------------------------------------------------- */

START_TEST(quantiles) {
    static struct lab_hist h, other;
    memset(&h, 0, sizeof h);
    memset(&other, 0, sizeof other);
    ck_assert_uint_eq(lab_hist_quantile(&h, 0.5), 0);
    for (uint64_t i = 1; i <= 100000; i++) lab_hist_add(i % 2 ? &h : &other, i * 37);
    lab_hist_merge(&h, &other);
    static const double fractions[] = { 0.001, 0.01, 0.5, 0.95, 0.99, 1.0 };
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        double exact = fractions[i] * 100000 * 37, got = (double)lab_hist_quantile(&h, fractions[i]);
        ck_assert_msg(got > exact * (1 - 1.0 / 64) && got < exact * (1 + 1.0 / 64), "%g: %g instead of %g",
                      fractions[i], got, exact);
    }
    ck_assert_uint_eq(h.max, 3700000);
    ck_assert_double_eq_tol(lab_hist_mean(&h), 37 * 50000.5, 1e-6);
    lab_hist_add(&h, UINT64_MAX / 2);
    ck_assert_uint_eq(h.count, 100001);
}
END_TEST

START_TEST(timers_in_order) {
    enum { N = 2000 };
    static struct lab_timer t[N];
    struct lab_timers ts;
    memset(t, 0, sizeof t);
    lab_timers_init(&ts);
    srandom(7);
    for (int i = 0; i < 20 * N; i++) {
        struct lab_timer *one = &t[random() % N];
        if (random() % 3) lab_timer_set(&ts, one, (uint64_t)random() % 1000);
        else lab_timer_clear(&ts, one);
    }
    uint32_t set = 0;
    for (int i = 0; i < N; i++) set += t[i].place != 0;
    ck_assert_uint_eq(ts.count, set);
    uint64_t last = 0;
    for (uint64_t now = 0; now <= 1000; now += 10) {
        for (struct lab_timer *due; (due = lab_timers_due(&ts, now)); set--) {
            ck_assert_uint_le(due->when, now);
            ck_assert_uint_ge(due->when, last);
            last = due->when;
        }
        ck_assert_uint_gt(lab_timers_next(&ts), now);
    }
    ck_assert_uint_eq(set, 0);
    ck_assert_uint_eq(lab_timers_next(&ts), LAB_NEVER);
    lab_timers_free(&ts);
}
END_TEST

int main(void) {
    Suite *s = suite_create("lab");
    TCase *t = tcase_create("lab");
    tcase_add_loop_test(t, replies, 0, (int)(sizeof reply_cases / sizeof reply_cases[0]));
    tcase_add_test(t, endless_head);
    tcase_add_test(t, skipped_body);
    tcase_add_test(t, requests);
    tcase_add_test(t, quantiles);
    tcase_add_test(t, timers_in_order);
    suite_add_tcase(s, t);
    return run_suite(s);
}
