/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers against real sockets on loopback.  `outside` may be asked, `inside` must not be: that nothing came there is
 * what a test of a refusal looks at, besides what is said.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "web/web_fetch.h"
#include "test_web.h"

static struct server outside, inside, ftp;
static struct web_fetch *fetch;
static char outside_at[32];

struct got {
    unsigned calls;
    struct web_answer a;
};

static double test_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void keep(void *of, struct web_answer *a) {
    struct got *g = of;

    g->calls++;
    g->a = *a;
    a->body = NULL;
    a->media_type = NULL;
}

static void got_free(struct got *g) {
    free(g->a.body);
    free(g->a.media_type);
    memset(g, 0, sizeof *g);
}

/* The rules of most tests. */
static struct web_rules usual(void) {
    static const char *const hosts[] = { "*" };
    static const char *addresses[1];
    struct web_rules r = {
        .hosts = hosts,
        .nhosts = 1,
        .addresses = addresses,
        .naddresses = 1,
        .bytes = 100000,
        .seconds = 20,
        .redirects = 3,
        .at_once = 8,
    };
    addresses[0] = outside_at;
    return r;
}

static void begin(const struct web_rules *r) {
    char *error = NULL;
    fetch = web_new(r, &error);
    ck_assert_msg(fetch != NULL, "%s", error);
}

static void run_until(const unsigned *calls, unsigned n) {
    double late = test_now() + 40;
    while (*calls < n && test_now() < late) web_run(fetch, 100);
    ck_assert_uint_eq(*calls, n);
}

/* `uri`: of outside, if it is a path. */
static struct got get(const char *uri) {
    char whole[256];
    struct got g = { .calls = 0 };

    if (*uri == '/') snprintf(whole, sizeof whole, "http://%s%s", outside_at, uri);
    else snprintf(whole, sizeof whole, "%s", uri);
    ck_assert_int_eq(web_start(fetch, whole, SIZE_MAX, keep, &g), 0);
    run_until(&g.calls, 1);
    ck_assert_uint_eq(web_run(fetch, 0), 0);
    if (g.a.end == WEB_WHOLE) ck_assert_msg(g.a.body && !g.a.body[g.a.n] && !*g.a.error, "%s", uri);
    else ck_assert_msg(!g.a.body && !g.a.n && *g.a.error, "%s", uri);
    for (const char *c = g.a.error; *c; c++) ck_assert_msg(*c >= ' ' && *c <= '~', "%s", uri);
    return g;
}

static void ends(const char *uri, enum web_end end) {
    struct got g = get(uri);
    ck_assert_msg(g.a.end == end, "%s: %d, not %d: %s", uri, g.a.end, end, g.a.error);
    got_free(&g);
}

static void make_servers(void) {
    signal(SIGPIPE, SIG_IGN);
    server_start(&outside, "127.0.0.1", false);
    server_start(&inside, "127.0.0.2", false);
    server_start(&ftp, "127.0.0.1", true);
    snprintf(outside_at, sizeof outside_at, "127.0.0.1:%u", outside.port);
}

static void stop_servers(void) {
    web_free(&fetch);
    ck_assert_ptr_null(fetch);
    ck_assert_uint_eq(server_connections(&inside), 0);
    server_stop(&outside);
    server_stop(&inside);
    server_stop(&ftp);
}

static void make_usual(void) {
    struct web_rules r;
    make_servers();
    r = usual();
    begin(&r);
}

START_TEST(whole) {
    static const struct {
        const char *path, *media_type, *body;
        unsigned status;
        uint64_t fresh_s;
    } t[] = {
        { "/whole", "text/plain; charset=utf-8", "hello", 200, 50 },
        { "/unsaid", NULL, "hello", 200, 0 },
        { "/empty", NULL, "", 200, 0 },
        { "/missing", NULL, "no", 404, 0 },
        { "/no-location", NULL, "", 302, 0 },
        /* Permanent: a way that may be kept.  Found: one that may not. */
        { "/moved", "text/plain; charset=utf-8", "hello", 200, 50 },
        { "/found", "text/plain; charset=utf-8", "hello", 200, 0 },
        { "/interim", NULL, "hello", 200, 0 },
        { "/trailer", "text/plain", "hello", 200, 0 },
        { "/bad-type", NULL, "", 200, 0 },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct got g = get(t[i].path);
        ck_assert_msg(g.a.end == WEB_WHOLE, "%s: %s", t[i].path, g.a.error);
        ck_assert_msg(g.a.status == t[i].status, "%s: %u", t[i].path, g.a.status);
        ck_assert_msg(g.a.n == strlen(t[i].body) && !memcmp(g.a.body, t[i].body, g.a.n), "%s: %s", t[i].path, g.a.body);
        ck_assert_msg(!g.a.media_type == !t[i].media_type &&
                          (!t[i].media_type || !strcmp(g.a.media_type, t[i].media_type)),
                      "%s: %s", t[i].path, g.a.media_type ? g.a.media_type : "none");
        ck_assert_msg(g.a.fresh_s == t[i].fresh_s, "%s: %llu", t[i].path, (unsigned long long)g.a.fresh_s);
        got_free(&g);
    }
}
END_TEST

START_TEST(test_field_that_goes_on_in_a_second_line_is_read_whole) {
    static const struct {
        const char *path, *media_type;
        uint64_t fresh_s;
    } t[] = {
        { "/folded", "text/plain", 0 },
        { "/folded-age", NULL, 50 },
        { "/folded-redirect", "text/plain; charset=utf-8", 0 },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct got g = get(t[i].path);
        ck_assert_msg(g.a.end == WEB_WHOLE && g.a.n == 5, "%s: %s", t[i].path, g.a.error);
        if (t[i].media_type) ck_assert_pstr_eq(g.a.media_type, t[i].media_type);
        ck_assert_msg(g.a.fresh_s == t[i].fresh_s, "%s: %llu", t[i].path, (unsigned long long)g.a.fresh_s);
        got_free(&g);
    }
    ends("/folded-packing", WEB_FAILED);
}
END_TEST

START_TEST(nothing_of_ours_goes_along) {
    static const char *const never[] = { "cookie", "authorization", "accept-encoding", "referer", "proxy" };
    char proxy[64];
    unsigned asked;

    snprintf(proxy, sizeof proxy, "http://127.0.0.2:%u", inside.port);
    setenv("http_proxy", proxy, 1);
    setenv("all_proxy", proxy, 1);
    setenv("ALL_PROXY", proxy, 1);
    ends("/whole", WEB_WHOLE);
    ends("/found", WEB_WHOLE); /* after a cookie was set, and by a redirect */
    asked = server_asked(&outside);
    ck_assert_uint_eq(asked, 3);
    for (char *c = outside.request; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c + 'a' - 'A');
    ck_assert_msg(strstr(outside.request, "\r\nuser-agent: fairgate/") != NULL, "%s", outside.request);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        ck_assert_msg(!strstr(outside.request, never[i]), "%s", outside.request);
}
END_TEST

static void keep_validator(void *of, struct web_answer *a) {
    struct got *g = of;

    g->calls++;
    g->a = *a;
    a->validator = NULL;
    g->a.body = NULL;
    g->a.media_type = NULL;
}

START_TEST(asked_for_again) {
    static const char date[] = "Tue, 24 Nov 2026 00:00:00 GMT";
    static const struct {
        const char *path, *with, *validator, *sent;
        unsigned status;
    } t[] = {
        { "/tag", NULL, "\"v1\"", NULL, 200 },
        { "/tag", "\"v1\"", "\"v1\"", "\r\nIf-None-Match: \"v1\"\r\n", 304 },
        { "/tag", "W/\"v0\"", "\"v1\"", "\r\nIf-None-Match: W/\"v0\"\r\n", 200 },
        { "/date", date, date, "\r\nIf-Modified-Since: Tue, 24 Nov 2026 00:00:00 GMT\r\n", 200 },
        { "/whole", NULL, NULL, NULL, 200 },
        { "/bad-tag", NULL, NULL, NULL, 200 },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct got g = { .calls = 0 };
        char uri[256];

        snprintf(uri, sizeof uri, "http://%s%s", outside_at, t[i].path);
        ck_assert_int_eq(web_start_if(fetch, uri, SIZE_MAX, t[i].with, keep_validator, &g), 0);
        run_until(&g.calls, 1);
        ck_assert_int_eq(g.a.end, WEB_WHOLE);
        ck_assert_uint_eq(g.a.status, t[i].status);
        ck_assert_msg(t[i].validator ? g.a.validator && !strcmp(g.a.validator, t[i].validator) : !g.a.validator,
                      "%s: %s", t[i].path, g.a.validator ? g.a.validator : "none");
        if (t[i].sent) ck_assert_msg(strstr(outside.request, t[i].sent) != NULL, "%s", outside.request);
        else ck_assert_msg(!strstr(outside.request, "\r\nIf-"), "%s", outside.request);
        free(g.a.validator);
    }
    /* A field of a request is one line. */
    {
        struct got g = { .calls = 0 };
        ck_assert_int_eq(web_start_if(fetch, "http://a/", SIZE_MAX, "\"a\"\r\nX: y", keep_validator, &g), -1);
        ck_assert_uint_eq(g.calls, 0);
    }
}
END_TEST

START_TEST(only_https) {
    struct web_rules r = usual();
    unsigned asked;

    web_free(&fetch);
    r.secure = true;
    begin(&r);
    asked = server_asked(&outside);
    ends("/whole", WEB_NOT_ALLOWED);
    ends("ftp://127.0.0.1/x", WEB_NOT_ALLOWED);
    ck_assert_uint_eq(server_asked(&outside), asked);
}
END_TEST

START_TEST(bounds) {
    static const struct {
        const char *path;
        enum web_end end;
    } t[] = {
        { "/large", WEB_TOO_LARGE },
        { "/endless", WEB_TOO_LARGE },
        { "/endless-chunks", WEB_TOO_LARGE },
        { "/endless-header", WEB_TOO_LARGE },
        { "/endless-interim", WEB_TOO_LARGE },
        { "/cut", WEB_FAILED },
        { "/packed", WEB_FAILED },
        { "/garbage", WEB_FAILED },
        { "/loop", WEB_FAILED },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) ends(t[i].path, t[i].end);
}
END_TEST

START_TEST(as_large_as_may_be) {
    struct web_rules r = usual();
    struct got g;

    web_free(&fetch);
    r.bytes = SERVER_LARGE;
    begin(&r);
    g = get("/large");
    ck_assert_int_eq(g.a.end, WEB_WHOLE);
    ck_assert_uint_eq(g.a.n, SERVER_LARGE);
    got_free(&g);
    web_free(&fetch);
    r.bytes = 5;
    begin(&r);
    ends("/whole", WEB_WHOLE);
    ends("/unsaid", WEB_WHOLE);
    web_free(&fetch);
    r.bytes = 4;
    begin(&r);
    ends("/whole", WEB_TOO_LARGE);
    ends("/unsaid", WEB_TOO_LARGE);
    ends("/empty", WEB_WHOLE);
}
END_TEST

/* Who wants less holds no more, whatever the rules permit; and who wants more gets what they permit. */
START_TEST(a_transfer_has_a_bound_of_its_own) {
    static const struct {
        uint64_t rules, bytes;
        enum web_end end;
    } own[] = { { 5, 4, WEB_TOO_LARGE }, { 9, 5, WEB_WHOLE }, { 4, 5, WEB_TOO_LARGE } };

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        for (unsigned unsaid = 0; unsaid < 2; unsaid++) {
            struct web_rules r = usual();
            struct got g = { .calls = 0 };
            char url[256];

            web_free(&fetch);
            r.bytes = own[i].rules;
            begin(&r);
            snprintf(url, sizeof url, "http://%s%s", outside_at, unsaid ? "/unsaid" : "/whole");
            ck_assert_int_eq(web_start(fetch, url, own[i].bytes, keep, &g), 0);
            run_until(&g.calls, 1);
            ck_assert_int_eq(g.a.end, own[i].end);
            got_free(&g);
        }
}
END_TEST

START_TEST(redirects_are_counted) {
    struct web_rules r = usual();

    ends("/loop", WEB_FAILED);
    ck_assert_uint_eq(server_asked(&outside), 4); /* the first, and three redirects */
    outside.lead = "";                            /* is none */
    ends("/redirect", WEB_WHOLE);
    web_free(&fetch);
    r.redirects = 0;
    begin(&r);
    ends("/found", WEB_FAILED);
    ck_assert_uint_eq(server_asked(&outside), 6);
}
END_TEST

START_TEST(redirects_lead_nowhere_else) {
    static const char *const lead[] = {
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "gopher://127.0.0.1/",
        "dict://127.0.0.1/",
        "http://127.0.0.1:22/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "//169.254.169.254/",
        "http://localhost:22/",
        "http://user:pw@ho st/",
        "http://user:pw@[::zz]/",
        "http://\xff\xff/",
        "http://[::ffff:127.0.0.1]/",
        "http://user:pw@127.0.0.1/",
        "//u:p@b\xc3\xbc\143her/",
        "ftp://127.0.0.1/",
        "http://x.onion/",
        "http://",
        "http://127.0.0.1:99999/",
    };
    char to_inside[5][64];
    static const char *const same[] = { "127.0.0.2", "2130706434", "0x7f.2", "[::ffff:127.0.0.2]", "0177.2" };

    for (size_t i = 0; i < sizeof lead / sizeof *lead; i++) {
        outside.lead = lead[i];
        ends("/redirect", WEB_NOT_ALLOWED);
    }
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        snprintf(to_inside[i], sizeof to_inside[i], "http://%s:%u/whole", same[i], inside.port);
        outside.lead = to_inside[i];
        ends("/redirect", WEB_NOT_ALLOWED);
        ends(to_inside[i], WEB_NOT_ALLOWED);
    }
}
END_TEST

START_TEST(spellings_of_what_is_allowed) {
    static const char *const same[] = { "127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1" };
    char url[64];
    unsigned asked;

    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        snprintf(url, sizeof url, "http://%s:%u/whole", same[i], outside.port);
        ends(url, WEB_WHOLE);
    }
    asked = server_asked(&outside);
    /* In other clothes it is private still, and was not written out. */
    snprintf(url, sizeof url, "http://[::ffff:127.0.0.1]:%u/whole", outside.port);
    ends(url, WEB_NOT_ALLOWED);
    ck_assert_uint_eq(server_asked(&outside), asked);
}
END_TEST

START_TEST(urls_that_are_refused) {
    char url[300];
    static const char *const bad[] = {
        "", "x", "/whole", "file:///etc/passwd", "http://www.example.org:25/", "http:///"
    };

    ends("http://user:pw@127.0.0.1/", WEB_NOT_ALLOWED);
    snprintf(url, sizeof url, "http://user@%s/whole", outside_at);
    ends(url, WEB_NOT_ALLOWED);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct got g = { .calls = 0 };
        ck_assert_int_eq(web_start(fetch, bad[i], SIZE_MAX, keep, &g), 0);
        run_until(&g.calls, 1);
        ck_assert_int_eq(g.a.end, WEB_NOT_ALLOWED);
    }
    ck_assert_uint_eq(server_connections(&outside), 0);
}
END_TEST

/* A name is judged by where it leads when it is connected to: as a name that changes its mind would be. */
START_TEST(names_of_what_is_inside) {
    struct web_rules r = usual();
    char host[64], below[64], url[64];
    const char *hosts[] = { host, below };

    snprintf(host, sizeof host, "LocalHost.:%u", outside.port);
    snprintf(below, sizeof below, "*.localhost:%u", outside.port);
    snprintf(url, sizeof url, "http://localhost:%u/whole", outside.port);
    ends(url, WEB_NOT_ALLOWED); /* not that port, of any host */
    web_free(&fetch);
    r.hosts = hosts;
    r.nhosts = 2;
    r.naddresses = 0;
    begin(&r);
    ends(url, WEB_NOT_ALLOWED);
    snprintf(url, sizeof url, "http://a.b.localhost:%u/whole", outside.port);
    ends(url, WEB_NOT_ALLOWED);
    ck_assert_uint_eq(server_connections(&outside), 0);
    web_free(&fetch);
    r.naddresses = 1;
    begin(&r);
    ends(url, WEB_WHOLE);
    snprintf(url, sizeof url, "http://localhost:%u/whole", outside.port);
    ends(url, WEB_WHOLE);
    ends("/whole", WEB_NOT_ALLOWED); /* 127.0.0.1 is no name of these */
    ck_assert_uint_ge(server_connections(&outside), 2);
}
END_TEST

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* One second, and what a busy machine adds to it. */
static void took_a_second(double began) {
    double took = test_now() - began;
    ck_assert_msg(took > 0.9 && took < 15, "%.1f s", took);
}

START_TEST(too_slow) {
    struct web_rules r = usual();
    double began;

    web_free(&fetch);
    r.seconds = 1;
    begin(&r);
    began = test_now();
    ends("/drip", WEB_TOO_SLOW);
    took_a_second(began);
    began = test_now();
    outside.lead = "/mute";
    ends("/redirect", WEB_TOO_SLOW);
    took_a_second(began);
}
END_TEST

/* The seconds are those of all requests together, not of each. */
START_TEST(too_slow_with_its_redirects) {
    struct web_rules r = usual();
    double began, took;

    web_free(&fetch);
    r.seconds = 3;
    begin(&r);
    outside.lead = "/mute";
    began = test_now();
    ends("/redirect-late", WEB_TOO_SLOW);
    took = test_now() - began;
    ck_assert_uint_eq(server_asked(&outside), 2);
    ck_assert_msg(took < 3 + SERVER_LATE_MS / 1000. - .5, "%.1f s", took);
}
END_TEST

START_TEST(waits_no_longer_than_it_may_take) {
    struct web_rules r = usual();
    char url[64];
    struct got g[3] = { { .calls = 0 } };
    double began = test_now();

    web_free(&fetch);
    r.seconds = r.at_once = 1;
    begin(&r);
    snprintf(url, sizeof url, "http://%s/mute", outside_at);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(web_start(fetch, url, SIZE_MAX, keep, &g[i]), 0);
    for (int i = 0; i < 3; i++) {
        run_until(&g[i].calls, 1);
        ck_assert_int_eq(g[i].a.end, WEB_TOO_SLOW);
    }
    took_a_second(began);
    ends("/whole", WEB_WHOLE);
}
END_TEST

static uint64_t taken, most_taken;

static bool take_some(uint64_t bytes) {
    if (taken + bytes > most_taken) return false;
    taken += bytes;
    return true;
}

static void give_some(uint64_t bytes) {
    ck_assert_uint_le(bytes, taken);
    taken -= bytes;
}

START_TEST(test_body_beyond_the_accounted_memory_ends_its_transfer_and_all_is_given_back) {
    struct web_rules r = usual();

    web_free(&fetch);
    r.bytes = 2 * SERVER_LARGE;
    r.take = take_some;
    r.give = give_some;
    begin(&r);
    most_taken = SERVER_LARGE / 2;
    ends("/large", WEB_NO_ROOM);
    ck_assert_uint_eq(taken, 0);
    ends("/endless", WEB_NO_ROOM);
    ends("/found", WEB_WHOLE);
    ends("/cut", WEB_FAILED);
    ck_assert_uint_eq(taken, 0);
    most_taken = UINT64_MAX;
    ends("/large", WEB_WHOLE);
    ends("/endless", WEB_TOO_LARGE);
    ck_assert_uint_eq(taken, 0);
}
END_TEST

/* ---- many -------------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define EACH    50

struct starter {
    pthread_t thread;
    struct got got[EACH];
};

static void *starts_many(void *of) {
    struct starter *s = of;
    char url[64];

    snprintf(url, sizeof url, "http://%s/whole", outside_at);
    for (unsigned i = 0; i < EACH; i++)
        if (web_start(fetch, url, SIZE_MAX, keep, &s->got[i])) abort();
    return NULL;
}

START_TEST(many_at_once_by_many_threads) {
    static struct starter s[THREADS];

    for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&s[i].thread, NULL, starts_many, &s[i]), 0);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < EACH; k++) run_until(&s[i].got[k].calls, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(s[i].thread, NULL);
        for (int k = 0; k < EACH; k++) {
            ck_assert_msg(s[i].got[k].a.end == WEB_WHOLE, "%s", s[i].got[k].a.error);
            got_free(&s[i].got[k]);
        }
    }
    ck_assert_uint_eq(server_asked(&outside), THREADS * EACH);
    ck_assert_uint_eq(web_run(fetch, 0), 0);
}
END_TEST

struct waker {
    struct got got;
    pid_t who; /* the thread that waits */
};

static void *starts_one(void *of) {
    struct waker *w = of;
    char path[64], url[64], state = 0;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)w->who);
    while (state != 'S') {
        FILE *stat = fopen(path, "r");
        if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) abort();
        fclose(stat);
    }
    snprintf(url, sizeof url, "http://%s/whole", outside_at);
    if (web_start(fetch, url, SIZE_MAX, keep, &w->got)) abort();
    return NULL;
}

START_TEST(a_start_wakes_who_waits) {
    struct waker w = { .who = gettid() };
    pthread_t thread;
    double began = test_now();

    ck_assert_int_eq(pthread_create(&thread, NULL, starts_one, &w), 0);
    while (!w.got.calls) web_run(fetch, 60000);
    ck_assert(test_now() - began < 30);
    ck_assert_int_eq(w.got.a.end, WEB_WHOLE);
    pthread_join(thread, NULL);
    got_free(&w.got);
}
END_TEST

/* Those that are refused at once are started anew each time: that must not keep web_run from coming back. */
static void again(void *of, struct web_answer *a) {
    unsigned *calls = of;

    ck_assert_int_ne(a->end, WEB_WHOLE);
    ++*calls;
    ck_assert_int_eq(web_start(fetch, "file:///x", SIZE_MAX, again, of), a->end == WEB_FAILED ? -1 : 0);
}

START_TEST(starts_by_what_is_called_at_the_end) {
    unsigned calls = 0;

    ck_assert_int_eq(web_start(fetch, "file:///x", SIZE_MAX, again, &calls), 0);
    for (unsigned i = 0; i < 10; i++) ck_assert_uint_eq(web_run(fetch, 0), 1);
    ck_assert_uint_ge(calls, 10);
    ck_assert_uint_le(calls, 30); /* a run looks three times */
    calls = 0;
    web_free(&fetch);
    ck_assert_uint_eq(calls, 1);
}
END_TEST

static unsigned ended;

static void is_ended(void *of, struct web_answer *a) {
    (void)of;
    ended++;
    ck_assert_int_eq(a->end, WEB_FAILED);
    ck_assert_msg(*a->error && !a->body, "%s", a->error);
    ck_assert_int_eq(web_start(fetch, "http://127.0.0.1/", SIZE_MAX, is_ended, NULL), -1);
}

START_TEST(the_end_of_all) {
    static const char *const path[] = { "mute", "drip", "mute", "drip", "whole" };
    struct web_rules r = usual();
    char url[64];
    double late = test_now() + 40;

    web_free(&fetch);
    r.at_once = 4;
    begin(&r);
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        snprintf(url, sizeof url, "http://%s/%s", outside_at, path[i]);
        ck_assert_int_eq(web_start(fetch, url, SIZE_MAX, is_ended, NULL), 0);
    }
    while (server_asked(&outside) < 4 && test_now() < late) ck_assert_uint_eq(web_run(fetch, 10), 5);
    web_free(&fetch);
    ck_assert_uint_eq(ended, 5);
    ck_assert_uint_eq(server_asked(&outside), 4);
}
END_TEST

START_TEST(rules_that_hold_nothing) {
    for (int i = 0; i < 4; i++) {
        static const char *const wrong[] = { "a b" };
        struct web_rules r = usual();
        struct web_fetch *f;
        char *error = NULL;

        if (i == 0) r.bytes = 0;
        if (i == 1) r.seconds = 0;
        if (i == 2) r.at_once = 0;
        if (i == 3) r.hosts = wrong;
        f = web_new(&r, &error);
        ck_assert(!f && error);
        free(error);
    }
}
END_TEST

/* ---- ftp --------------------------------------------------------------------------------------------------------- */

static void begin_ftp(void) {
    static const char *const addresses[] = { "127.0.0.1" };
    static char host[32];
    static const char *const hosts[] = { host };
    struct web_rules r = usual();

    web_free(&fetch);
    snprintf(host, sizeof host, "127.0.0.1:%u", ftp.port);
    r.hosts = hosts;
    r.addresses = addresses;
    r.seconds = 2;
    begin(&r);
}

static const char *ftp_url(const char *path) {
    static char url[64];
    snprintf(url, sizeof url, "ftp://127.0.0.1:%u/%s", ftp.port, path);
    return url;
}

static struct got get_ftp(const char *path) { return get(ftp_url(path)); }

START_TEST(files_of_ftp) {
    static const struct {
        const char *path;
        enum web_end end;
    } t[] = { { "large", WEB_TOO_LARGE },
              { "endless", WEB_TOO_LARGE },
              { "mute", WEB_TOO_SLOW },
              { "a%0d%0aDELE%20b", WEB_FAILED } };
    struct got g;

    begin_ftp();
    g = get_ftp("small");
    ck_assert_msg(g.a.end == WEB_WHOLE, "%s", g.a.error);
    ck_assert_str_eq((char *)g.a.body, "hello");
    ck_assert_uint_eq(g.a.status, 226);
    ck_assert_ptr_null(g.a.media_type);
    ck_assert_uint_eq(g.a.fresh_s, 0);
    got_free(&g);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        g = get_ftp(t[i].path);
        ck_assert_msg(g.a.end == t[i].end, "%s: %d: %s", t[i].path, g.a.end, g.a.error);
        got_free(&g);
    }
}
END_TEST

/* It keeps all others waiting, so it is not waited for long. */
START_TEST(servers_of_ftp_that_do_not_answer) {
    double began = test_now(), took;
    unsigned asked;
    struct got g;

    begin_ftp();
    g = get_ftp("stay"); /* not even when we leave */
    took = test_now() - began;
    ck_assert_msg(g.a.end == WEB_WHOLE, "%s", g.a.error);
    ck_assert_msg(took < WEB_FTP_WAIT + 10, "%.1f s", took);
    got_free(&g);
    began = test_now(); /* its connection is not kept for later, when nothing bounds the wait */
    web_free(&fetch);
    took = test_now() - began;
    ck_assert_msg(took < WEB_FTP_WAIT - 1, "%.1f s", took);
    begin_ftp();
    g = get_ftp("stuck");
    ck_assert_msg(g.a.end == WEB_TOO_SLOW, "%s", g.a.error);
    got_free(&g);
    /* Nor at the end of all. */
    asked = server_asked(&ftp);
    ck_assert_int_eq(web_start(fetch, ftp_url("stuck"), SIZE_MAX, is_ended, NULL), 0);
    for (double late = test_now() + 40; server_asked(&ftp) < asked + 6 && test_now() < late;) web_run(fetch, 10);
    began = test_now();
    web_free(&fetch);
    took = test_now() - began;
    ck_assert_msg(took < WEB_FTP_WAIT, "%.1f s", took);
    ck_assert_uint_eq(ended, 1);
}
END_TEST

/* A server that says where its data is to be had, and means another's port. */
START_TEST(data_of_ftp_is_nowhere_else) {
    char lead[64];
    struct got g;

    snprintf(lead, sizeof lead, "127,0,0,2,%u,%u", inside.port >> 8, inside.port & 255);
    ftp.lead = lead;
    begin_ftp();
    g = get_ftp("small");
    ck_assert_int_ne(g.a.end, WEB_WHOLE);
    got_free(&g);
}
END_TEST

TCase *web_fetch_case(void) {
    TCase *t = tcase_create("fetch");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, make_usual, stop_servers);
    tcase_add_test(t, whole);
    tcase_add_test(t, test_field_that_goes_on_in_a_second_line_is_read_whole);
    tcase_add_test(t, nothing_of_ours_goes_along);
    tcase_add_test(t, asked_for_again);
    tcase_add_test(t, only_https);
    tcase_add_test(t, bounds);
    tcase_add_test(t, as_large_as_may_be);
    tcase_add_test(t, a_transfer_has_a_bound_of_its_own);
    tcase_add_test(t, redirects_are_counted);
    tcase_add_test(t, redirects_lead_nowhere_else);
    tcase_add_test(t, spellings_of_what_is_allowed);
    tcase_add_test(t, urls_that_are_refused);
    tcase_add_test(t, names_of_what_is_inside);
    tcase_add_test(t, too_slow);
    tcase_add_test(t, too_slow_with_its_redirects);
    tcase_add_test(t, waits_no_longer_than_it_may_take);
    tcase_add_test(t, test_body_beyond_the_accounted_memory_ends_its_transfer_and_all_is_given_back);
    tcase_add_test(t, many_at_once_by_many_threads);
    tcase_add_test(t, a_start_wakes_who_waits);
    tcase_add_test(t, starts_by_what_is_called_at_the_end);
    tcase_add_test(t, the_end_of_all);
    tcase_add_test(t, rules_that_hold_nothing);
    tcase_add_test(t, files_of_ftp);
    tcase_add_test(t, servers_of_ftp_that_do_not_answer);
    tcase_add_test(t, data_of_ftp_is_nowhere_else);
    return t;
}
