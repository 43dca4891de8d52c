/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fetches over a path in simulated time: an Interest takes `delay` to the server; its Data waits in the queue of the
 * narrowest link, which drops what finds it full and marks what finds it long, and takes `delay` back.  Either way some
 * are lost; Data may come twice, late, or with a lie about the last segment.
 *
 * Each fetch ends whole, with each segment told to be new exactly once, or failed; and at each step: none beyond the
 * last is asked for, no more than the window are out, none has more than its tries.
 */
#include "test_ndn_path.h"

#include <math.h>

enum { SEGMENTS_MAX = 2000, EVENTS_MAX = 1 << 14 };

struct path {
    uint64_t n;                               /* segments */
    uint64_t page;                            /* how long the first takes to make */
    uint64_t delay, service;                  /* one way; a Data on the narrowest link */
    uint64_t queue, mark_from;                /* Data that wait there; 0: any number; never */
    uint32_t loss, twice, late, lie, refused; /* of a thousand, each */
    uint64_t silent_from;                     /* no answer to these segments; 0: to all */
    uint64_t hint;
    bool mute; /* only the last says which is the last */
};

struct event {
    uint64_t at, segment, last;
    bool marked, nack;
};

struct run {
    const struct path *path;
    struct ndn_fetch f;
    struct ndn_asked place[NDN_PLACES_MAX];
    struct event heap[EVENTS_MAX];
    uint32_t events;
    uint64_t now, free_at, random;
    uint32_t tries[SEGMENTS_MAX];
    bool got[SEGMENTS_MAX];
    uint64_t dropped, sign_at, signs, least_between;
};

static struct run run;

static uint32_t draw(struct run *r) { /* 0 .. 999; xorshift */
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return (uint32_t)(r->random % 1000);
}

static void push(struct run *r, struct event e) {
    uint32_t i = r->events++;
    ck_assert_uint_lt(r->events, EVENTS_MAX);
    for (; i && r->heap[(i - 1) / 2].at > e.at; i = (i - 1) / 2) r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = e;
}

static struct event pop(struct run *r) {
    struct event top = r->heap[0], e = r->heap[--r->events];
    uint32_t i = 0, child;
    for (; (child = 2 * i + 1) < r->events; i = child) {
        if (child + 1 < r->events && r->heap[child + 1].at < r->heap[child].at) child++;
        if (e.at <= r->heap[child].at) break;
        r->heap[i] = r->heap[child];
    }
    r->heap[i] = e;
    return top;
}

static void serve(struct run *r, uint64_t segment) {
    const struct path *p = r->path;
    uint64_t t = r->now + p->delay + (segment == r->f.first ? p->page : 0);
    struct event e = { .segment = segment, .last = p->mute && segment + 1 < p->n ? NDN_NO_NUMBER : p->n - 1 };

    if (segment >= p->silent_from || draw(r) < p->loss || draw(r) < p->loss) return;
    if (draw(r) < p->refused) {
        e.nack = true;
        e.marked = draw(r) < 500;
        e.at = t + p->delay;
        push(r, e);
        return;
    }
    uint64_t waiting = p->service && r->free_at > t ? (r->free_at - t) / p->service : 0;
    if (p->queue && waiting >= p->queue) {
        r->dropped++;
        return;
    }
    r->free_at = (r->free_at > t ? r->free_at : t) + p->service;
    e.marked = p->mark_from && waiting >= p->mark_from;
    e.at = r->free_at + p->delay + (draw(r) < p->late ? p->delay * 3 : 0);
    if (segment != r->f.first && draw(r) < p->lie) e.last += draw(r) < 500 ? 1 : UINT64_MAX;
    push(r, e);
    e.at += p->delay / 2;
    if (draw(r) < p->twice) push(r, e);
}

static void deliver(struct run *r, struct event e) {
    uint64_t last = r->f.last, signs = r->f.signs;

    r->now = e.at;
    if (e.nack) {
        ndn_fetch_nack(&r->f, r->now, e.segment, e.marked);
    } else {
        enum ndn_came c =
            ndn_fetch_data(&r->f, r->now, e.segment, e.last,
                           e.segment == r->f.first && r->path->hint ? r->path->hint : NDN_NO_NUMBER, e.marked);
        ck_assert(c != NDN_CAME_NEW || !r->got[e.segment]);
        if (last != NDN_NO_NUMBER && e.last != NDN_NO_NUMBER && e.last != last) ck_assert(c == NDN_CAME_STRANGE);
        if (c == NDN_CAME_NEW) r->got[e.segment] = true;
    }
    ck_assert(r->f.signs <= signs + 1);
}

static void ask_all(struct run *r, uint64_t *again) {
    uint64_t segment, signs = r->f.signs;

    while ((segment = ndn_fetch_next(&r->f, r->now, again)) != NDN_NO_NUMBER) {
        ck_assert(segment < SEGMENTS_MAX);
        ck_assert(r->f.last == NDN_NO_NUMBER || segment <= r->f.last);
        ck_assert(r->path->mute || segment < r->path->n);
        ck_assert(r->f.outstanding <= ndn_fetch_window(&r->f));
        ck_assert(++r->tries[segment] <= r->f.settings.tries);
        ck_assert(!r->got[segment]);
        if (segment < r->path->n) serve(r, segment);
    }
    ck_assert(r->f.signs <= signs + 1);
}

/* How long it took; r->f says the rest. */
static uint64_t fetch(struct run *r, const struct path *p, struct ndn_fetch_settings s, uint64_t first, uint64_t seed) {
    uint64_t again, steps = 0, signs = 0;
    const char *wrong;

    memset(r, 0, sizeof *r);
    r->path = p;
    r->random = seed * 2654435761u + 1;
    r->least_between = UINT64_MAX;
    ck_assert(ndn_fetch_begin(&r->f, &s, r->place, first, 0));
    for (;;) {
        ask_all(r, &again);
        wrong = fetch_unsound(&r->f);
        ck_assert_msg(!wrong, "%s", wrong);
        if (r->f.signs != signs) {
            if (signs && r->now - r->sign_at < r->least_between) r->least_between = r->now - r->sign_at;
            r->sign_at = r->now;
            signs = r->f.signs;
        }
        if (ndn_fetch_whole(&r->f) || ndn_fetch_failed(&r->f)) break;
        ck_assert(again > r->now);
        ck_assert(again != UINT64_MAX); /* something is always out, held or due */
        if (r->events && r->heap[0].at <= again) deliver(r, pop(r));
        else r->now = again;
        ck_assert_uint_lt(++steps, 4000000);
    }
    ck_assert(ndn_fetch_whole(&r->f) != ndn_fetch_failed(&r->f));
    for (uint64_t i = 0; i < p->n && ndn_fetch_whole(&r->f); i++) ck_assert(r->got[i] == (i >= first));
    return r->now;
}

#define MS 1000u
static const struct ndn_fetch_settings usual = { NDN_WINDOW_CUBIC, NDN_WINDOW_MAX, 10, 4000 * MS };

static struct ndn_fetch_settings usual_of(enum ndn_window_kind kind, uint32_t window) {
    struct ndn_fetch_settings s = usual;
    s.kind = kind;
    s.window = window;
    return s;
}

/*
 * Without loss and queues a window takes as many round trips as it has to, fewer where it grows; nothing is asked
 * twice.
 */
START_TEST(a_hint_is_used_for_any_number_of_segments) {
    for (uint64_t n = 1; n <= SEGMENTS_MAX; n++) {
        uint64_t hint = (n - 1 + 4) / 5, window = hint > 100 ? 100 : hint ? hint : 1;
        struct path p = { .n = n, .page = 30 * MS, .delay = 10 * MS, .silent_from = n, .hint = hint ? hint : 1 };
        uint64_t took = fetch(&run, &p, usual_of(NDN_WINDOW_HINT, 100), 0, 1);
        ck_assert(ndn_fetch_whole(&run.f));
        ck_assert_uint_eq(run.f.interests, n);
        ck_assert_uint_eq(run.f.retransmissions + run.f.losses + run.f.signs, 0);
        ck_assert_uint_le(took, 50 * MS + (n - 1 + window - 1) / window * 20 * MS);
        ck_assert_uint_ge(took, 50 * MS + (n > 1 ? 20 : 0) * MS);
    }
}
END_TEST

START_TEST(one_at_a_time_takes_a_round_trip_each) {
    for (uint64_t n = 1; n <= 200; n += 3) {
        struct path p = { .n = n, .delay = 10 * MS, .silent_from = n };
        ck_assert_uint_eq(fetch(&run, &p, usual_of(NDN_WINDOW_FIXED, 1), 0, 1), n * 20 * MS);
        ck_assert_uint_eq(run.f.interests, n);
    }
}
END_TEST

START_TEST(what_is_there_already_is_not_asked_for) {
    for (int kind = 0; kind < NDN_WINDOW_KINDS; kind++)
        for (uint64_t first = 0; first < 300; first += 7) {
            struct path p = { .n = 300, .delay = 10 * MS, .service = 100, .loss = 20, .silent_from = 300, .hint = 60 };
            fetch(&run, &p, usual_of((enum ndn_window_kind)kind, 64), first, first);
            ck_assert(ndn_fetch_whole(&run.f));
            ck_assert_uint_eq(run.f.came, 300 - first);
            for (uint64_t i = 0; i < first; i++) ck_assert_uint_eq(run.tries[i], 0);
        }
}
END_TEST

START_TEST(a_server_falls_silent) {
    for (int kind = 0; kind < NDN_WINDOW_KINDS; kind++)
        for (uint64_t from = 0; from < 100; from += 9) {
            struct path p = { .n = 100, .delay = 10 * MS, .silent_from = from, .hint = 20 };
            struct ndn_fetch_settings s = usual_of((enum ndn_window_kind)kind, 32);
            s.tries = 4;
            uint64_t took = fetch(&run, &p, s, 0, 1);
            ck_assert(ndn_fetch_failed(&run.f));
            ck_assert_uint_eq(run.f.came, from);
            uint32_t most = 0;
            for (uint64_t i = 0; i < p.n; i++) most = run.tries[i] > most ? run.tries[i] : most;
            ck_assert_uint_eq(most, 4);
            /* Four tries of the first; else at most the waits of four tries, and what came before. */
            if (from == 0) ck_assert_uint_eq(took, 4 * s.first_wait);
            else ck_assert_uint_lt(took, 4 * 4000 * MS + from * 20 * MS);
        }
}
END_TEST

/*
 * A thousand paths of any kind.  Two signs are a round trip apart, at least.  No fetch fails: with at most 20 % lost on
 * a whole way, 10 % lies, 10 % refusals and thirty tries, one in 10^15 would.
 */
START_TEST(fetches_end_whole_whatever_the_path_does) {
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);
        struct path p = { .n = 1 + random % 300,
                          .page = (random >> 9) % 3 * 700 * MS,
                          .delay = (1 + (random >> 12) % 80) * MS,
                          .service = (random >> 20) % 2000,
                          .queue = (random >> 32) % 60,
                          .loss = (uint32_t)(random >> 38) % 110,
                          .twice = (uint32_t)(random >> 44) % 100,
                          .late = (uint32_t)(random >> 48) % 100,
                          .lie = (uint32_t)(random >> 52) % 100,
                          .refused = (uint32_t)(random >> 56) % 100,
                          .hint = (random >> 58) % 64,
                          .mute = random >> 63 };
        struct ndn_fetch_settings s = usual_of((enum ndn_window_kind)(seed % NDN_WINDOW_KINDS), 1 + random % 200);
        if (p.queue && p.queue < 4) p.queue = 4;
        p.mark_from = seed % 3 ? p.queue / 2 : 0;
        if (p.mute) p.lie = 0; /* the first that names a last is believed */
        p.silent_from = p.n;
        s.tries = 30;
        fetch(&run, &p, s, 0, seed);
        ck_assert_msg(ndn_fetch_whole(&run.f), "path %llu fails", (unsigned long long)seed);
        ck_assert_uint_eq(run.f.came, p.n);
        ck_assert_msg(run.least_between >= 2 * p.delay, "path %llu: signs %llu us apart", (unsigned long long)seed,
                      (unsigned long long)run.least_between);
    }
}
END_TEST

/*
 * 2,000 segments over 20 ms and a link of 10,000 a second that lets 100 wait.  With marks from 50 on those that look
 * for the size of the path (200 under way and 50 that wait) lose nothing and take no more than twice what the link
 * alone does; without marks they double once too often, lose half of a window, and find it when its time is up: 200 ms,
 * and as long again for the few that are lost twice.
 */
START_TEST(windows_fill_a_link) {
    static const enum ndn_window_kind kinds[] = { NDN_WINDOW_AIMD, NDN_WINDOW_CUBIC, NDN_WINDOW_HINT };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int marks = 0; marks < 2; marks++) {
            struct path p = {
                .n = SEGMENTS_MAX, .delay = 10 * MS, .service = 100, .queue = 100, .silent_from = SEGMENTS_MAX
            };
            p.mark_from = marks ? 50 : 0;
            uint64_t link = SEGMENTS_MAX * p.service, took = fetch(&run, &p, usual_of(kinds[i], NDN_WINDOW_MAX), 0, 1);
            ck_assert(ndn_fetch_whole(&run.f));
            ck_assert_uint_gt(run.f.signs, 0);
            ck_assert_uint_eq(run.f.retransmissions, run.dropped);
            if (marks) ck_assert_uint_eq(run.dropped, 0);
            ck_assert_msg(took < (marks ? 2 * link : 2 * link + 600 * MS), "kind %zu, marks %d: %llu us", i, marks,
                          (unsigned long long)took);
        }
}
END_TEST

TCase *path_case(void) {
    TCase *c = tcase_create("path");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_hint_is_used_for_any_number_of_segments);
    tcase_add_test(c, one_at_a_time_takes_a_round_trip_each);
    tcase_add_test(c, what_is_there_already_is_not_asked_for);
    tcase_add_test(c, a_server_falls_silent);
    tcase_add_test(c, fetches_end_whole_whatever_the_path_does);
    tcase_add_test(c, windows_fill_a_link);
    return c;
}
