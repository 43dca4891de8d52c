/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_shortest.c - shortest expected first, aged by the response ratio, over all classes.
 *
 * Source: highest response ratio next (Brinch Hansen); found by our simulation of the IDSRS paper's loads to beat its
 * two levels.  The request with the largest (waited + size) / size goes, size in the time that the server needs for it.
 * Time per byte is the same for all, so the order is that of waited / size and no rate need be known.  Requests stand
 * in buckets by size, two to a doubling, each in order of arrival: the oldest of a bucket stands for it, so the choice
 * is among at most 64 and a ratio is exact within a bucket's width.
 *
 * Weights, levels and a class's own order say nothing here; its bounds do.
 */
#include "sched.h"
#include "base_arena.h"
#include "base_buckets.h"

struct shortest {
    uint64_t map;
    uint32_t bucket_at;
};

static uint64_t shortest_layout(struct shortest *s) {
    uint64_t used = sizeof *s;
    s->bucket_at = (uint32_t)rs_carve(&used, RS_BUCKETS, sizeof(struct rs_bucket));
    return used;
}

static uint64_t shortest_size(uint32_t classes) {
    (void)classes;
    struct shortest s;
    return shortest_layout(&s);
}

static struct rs_bucket *buckets_of(struct shortest *s) { return (void *)((uintptr_t)s + s->bucket_at); }

static void shortest_enter(rs_engine_t *e, struct rs_outlet *o, uint32_t t) {
    struct shortest *s = rs_sched_state(e, o);
    rs_bucket_add(e, buckets_of(s), &s->map, t);
}

static void shortest_leave(rs_engine_t *e, struct rs_outlet *o, uint32_t t) {
    struct shortest *s = rs_sched_state(e, o);
    rs_bucket_remove(e, buckets_of(s), &s->map, t);
}

static void shortest_nothing(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { (void)e, (void)o, (void)c; }

static uint32_t shortest_take(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    struct shortest *s = rs_sched_state(e, o);
    const struct rs_bucket *buckets = buckets_of(s);
    uint32_t best = RS_NIL;
    uint64_t best_waited = 0, best_size = 1;
    for (uint64_t left = s->map; left; left &= left - 1) {
        uint32_t t = buckets[__builtin_ctzll(left)].first;
        const struct rs_ticket_row *r = rs_row(e, t);
        uint64_t waited = now - r->submitted + 1; /* +1: of those that came this instant the smallest goes */
        o->turns++;
        if (best == RS_NIL || (unsigned __int128)waited * best_size > (unsigned __int128)best_waited * r->estimate) {
            best = t;
            best_waited = waited;
            best_size = r->estimate;
        }
    }
    return best;
}

static void shortest_restore(rs_engine_t *e, struct rs_outlet *o, int keep) {
    (void)keep;
    struct shortest *s = rs_sched_state(e, o);
    shortest_layout(s);
    s->map = 0;
    for (uint32_t c = 0; c < e->classes; c++) RS_ASSERT(!rs_flow(e, o, c)->shortest);
}

static const char *shortest_check(const rs_engine_t *e, const struct rs_outlet *o) {
    struct shortest *s = rs_sched_state(e, o);
    return rs_buckets_check(e, buckets_of(s), s->map, o->queued, o->number, RS_NO_CLASS);
}

const struct rs_sched_ops rs_sched_shortest = {
    .name = "shortest",
    .size = shortest_size,
    .restore = shortest_restore,
    .enter = shortest_enter,
    .leave = shortest_leave,
    .backlog = shortest_nothing,
    .head = shortest_nothing,
    .take = shortest_take,
    .drained = shortest_nothing,
    .check = shortest_check,
};
