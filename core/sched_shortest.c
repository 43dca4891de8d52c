/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_shortest.c - shortest expected remaining work first, aged by the response ratio, over all classes.
 *
 * Source: shortest remaining processing time (Schrage and Miller), which the IDSRS paper's section 6 wishes for, with
 * the ageing of highest response ratio next (Brinch Hansen): the request with the largest (waited + size) / size goes,
 * size in the time that the server needs for it.  Time per byte is the same for all, so the order is that of waited /
 * size and no rate need be known.  Departures:
 *
 * - Waited counts from when that was asked for of which the request is a part (rs_submit_since).  A page that goes out
 *   in segments comes once for each of them; by the age of the single segment it would stand, once begun, behind all
 *   pages that have not begun, and about half of what is to be won would go (tests/sim/test_sim_ccn.c).
 * - Weights count, as in weighted shortest processing time: a size is one per weight.  What is six times as heavy
 *   goes before another when it has waited a sixth as long.
 * - Requests stand in buckets by size per weight, two to a doubling (base_buckets.h).  In a bucket the oldest goes, be
 *   it somewhat larger than others (base_ages.h), so the choice is among 64 at most.  Finer ones, up to sixteen to a
 *   doubling, saved about a point of the mean at most on the paper's loads.
 * - A class with a window of its own has no more released than that, and leaves the rest of the gate's to others,
 *   however small its requests and however long it waits; but where no others came for RS_WINDOW_QUIET, nothing is left
 *   idle for them.  Those of such classes stand in buckets of their own, so that who may not go hides nobody who may;
 *   where there are several such classes, one that is at its bound hides the younger ones of the others in the same
 *   bucket.
 *
 * NOBODY WAITS WITHOUT END whose class has no window of its own.  Whoever goes before a request of size S that has
 * waited for t has waited for t / S times its own size.  So of n others, the places of the queue, each brings work to
 * the threads at a rate of S / t at most, however small its requests are and however soon it is back; from t = 2 n S /
 * m on that is half of what m threads do.  Who was there before then is done with soon after: it has its turn by 2 n (S
 * + the largest size) / m, times the ratio of the weights.  A stream of one size makes it wait for n S / m
 * (tests/sim/test_sim_ccn.c), as in order of arrival.
 *
 * Levels and a class's own order say nothing here; its bounds do.
 */
#include "sched.h"
#include "base_ages.h"
#include "base_buckets.h"

struct shortest_set {
    uint64_t map;             /* which buckets are not empty; of the others `top` is garbage */
    uint32_t top[RS_BUCKETS]; /* heaps of ages */
};
struct shortest {
    struct shortest_set free, bound; /* of classes without, and with, a window of their own */
    rs_time_t others;                /* when one without came last; 0: never */
};

static uint64_t shortest_size(uint32_t classes) {
    (void)classes;
    return sizeof(struct shortest);
}

/* A class that has gone may be heavier than those in force. */
static uint64_t weighted_size(const rs_engine_t *e, const struct rs_ticket_row *r) {
    uint64_t size = r->estimate * e->weight_max / rs_row_flow(e, r)->weight;
    return size ? size : 1;
}

static uint32_t bucket_for(const rs_engine_t *e, uint32_t t) { return rs_bucket_of(weighted_size(e, rs_row(e, t))); }

static struct shortest_set *set_of(const rs_engine_t *e, const struct rs_outlet *o, uint32_t t) {
    struct shortest *s = rs_sched_state(e, o);
    return rs_row_class(e, rs_row(e, t))->settings.window ? &s->bound : &s->free;
}

static bool below_its_window(const rs_engine_t *e, const struct shortest *s, uint32_t t) {
    const struct rs_class_row *row = rs_row_class(e, rs_row(e, t));
    return !s->others || e->now - s->others > RS_WINDOW_QUIET || row->outstanding + row->parked < row->settings.window;
}

static void shortest_enter(rs_engine_t *e, struct rs_outlet *o, uint32_t t) {
    struct shortest *all = rs_sched_state(e, o);
    struct shortest_set *s = set_of(e, o, t);
    uint32_t b = bucket_for(e, t);
    if (s == &all->free) all->others = e->now;
    s->top[b] = rs_ages_add(e, s->map >> b & 1 ? s->top[b] : RS_NIL, t);
    s->map |= (uint64_t)1 << b;
}

static void shortest_leave(rs_engine_t *e, struct rs_outlet *o, uint32_t t) {
    struct shortest_set *s = set_of(e, o, t);
    uint32_t b = bucket_for(e, t);
    s->top[b] = rs_ages_remove(e, s->top[b], t);
    if (s->top[b] == RS_NIL) s->map &= ~((uint64_t)1 << b);
}

static void shortest_nothing(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { (void)e, (void)o, (void)c; }

static bool shortest_may(const rs_engine_t *e, const struct rs_outlet *o) {
    const struct shortest *s = rs_sched_state(e, o);
    if (s->free.map) return true;
    for (uint64_t left = s->bound.map; left; left &= left - 1)
        if (below_its_window(e, s, s->bound.top[__builtin_ctzll(left)])) return true;
    return false;
}

struct shortest_best {
    uint32_t t;
    uint64_t waited, size;
};

/* From the smallest up: only who has waited longer than those before in its set can have the larger ratio. */
static void best_of(const rs_engine_t *e, struct rs_outlet *o, const struct shortest_set *s, rs_time_t now,
                    struct shortest_best *best) {
    const struct shortest *all = rs_sched_state(e, o);
    uint64_t longest = 0;
    for (uint64_t left = s->map; left; left &= left - 1) {
        uint32_t t = s->top[__builtin_ctzll(left)];
        const struct rs_ticket_row *r = rs_row(e, t);
        uint64_t waited = now - r->since + 1; /* +1: of those that came this instant the smallest goes */
        o->turns++;
        if (waited <= longest || (s == &all->bound && !below_its_window(e, all, t))) continue;
        uint64_t size = weighted_size(e, r);
        if ((unsigned __int128)waited * best->size <= (unsigned __int128)best->waited * size) continue;
        *best = (struct shortest_best){ t, waited, size };
        longest = waited;
    }
}

static uint32_t shortest_take(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    const struct shortest *s = rs_sched_state(e, o);
    struct shortest_best best = { RS_NIL, 0, 1 };
    best_of(e, o, &s->free, now, &best);
    best_of(e, o, &s->bound, now, &best);
    return best.t;
}

static void shortest_restore(rs_engine_t *e, struct rs_outlet *o, int keep) {
    (void)keep;
    struct shortest *s = rs_sched_state(e, o);
    s->free.map = s->bound.map = 0;
    for (uint32_t c = 0; c < e->classes; c++) RS_ASSERT(!rs_flow(e, o, c)->shortest);
}

static const char *check_set(const rs_engine_t *e, const struct rs_outlet *o, const struct shortest_set *s,
                             uint32_t *members) {
    for (uint64_t left = s->map; left; left &= left - 1) {
        uint32_t b = (uint32_t)__builtin_ctzll(left);
        const char *why = rs_ages_check(e, s->top[b], o->number, members);
        for (uint32_t t = s->top[b]; !why && t != RS_NIL; t = rs_ages_walk(e, s->top[b], t))
            if (bucket_for(e, t) != b || set_of(e, o, t) != s) why = "a ticket stands in the wrong heap of ages";
        if (why) return why;
    }
    return NULL;
}

static const char *shortest_check(const rs_engine_t *e, const struct rs_outlet *o) {
    const struct shortest *s = rs_sched_state(e, o);
    uint32_t members = o->queued;
    const char *why = check_set(e, o, &s->free, &members);
    if (!why) why = check_set(e, o, &s->bound, &members);
    if (why) return why;
    return members ? "the heaps of ages have lost a ticket" : NULL;
}

const struct rs_sched_ops rs_sched_shortest = {
    .name = "shortest",
    .size = shortest_size,
    .restore = shortest_restore,
    .enter = shortest_enter,
    .leave = shortest_leave,
    .backlog = shortest_nothing,
    .head = shortest_nothing,
    .may = shortest_may,
    .take = shortest_take,
    .drained = shortest_nothing,
    .check = shortest_check,
};
