/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_rests.h - what outstanding responses can use of the link, under a gate that counts bytes: what rs_allowance
 * asks.
 *
 * A response is counted from its release to its end, but while it is parked: whoever changes what is known of it takes
 * it out before and puts it in again afterwards.  What is known are the bytes that came since lately_ms, and, once they
 * have come for as long as the gate looks ahead, how many came in such a time before: rs_row_came.
 *
 * What a response CAN bring in a horizon: next to nothing while its server has not sent anything; then whatever is to
 * come, as senders double with each round trip; and after a horizon no more than twice what came in it.  What a class
 * can bring is the sum of that over its responses, or twice what came in a horizon to all of them: a tunnel that has a
 * turn after another, a client that fetches pages one after the other, are new at each time, and not slow.  Who can't
 * use his part leaves it to those who can.
 *
 * For each size of base_buckets.h there is how many responses of a class there are and what they bring, at the first
 * outlet, and a map of where there are any: by what each can bring; or, in a class that goes shortest first, by what is
 * still to come of each.  There the sums are of what a response NEEDS, which is what it can have on its way at one
 * time: no more than what is to come of it, and no more than its sender lets go.  That begins with ten segments
 * (RFC 6928), and is at most twice what came in as long as a usual round trip.  In a class that keys share it is keys
 * that are counted here, those of the first level, by what all outstanding responses of each can bring
 * (class_keys.h).
 *
 * Busy classes stand by what each can bring for its weight in buckets of the same kind, e->busy.
 */
#ifndef FAIRGATE_CLASS_RESTS_H
#define FAIRGATE_CLASS_RESTS_H

#include "base_buckets.h"

#define RS_FIRST_WINDOW 14600u
#define RS_USUAL_TRIP   150u    /* milliseconds, with what stands in the far queue (rs_link.h) */

static inline uint64_t rs_row_can(const struct rs_ticket_row *r) {
    uint64_t rest = rs_row_rest(r), came = rs_row_came(r), can = RS_LEAST_WINDOW;
    if (r->received && came == RS_CAME_UNKNOWN) return rest;
    if (r->received && 2 * came > can) can = 2 * came;
    return rest < can ? rest : can;
}

static inline uint64_t rs_row_need(const rs_engine_t *e, const struct rs_ticket_row *r) {
    uint64_t rest = rs_row_rest(r), came = rs_row_came(r), need = RS_FIRST_WINDOW;
    if (came == RS_CAME_UNKNOWN) came = r->lately;
    else if (e->settings.horizon_ms > RS_USUAL_TRIP) came = came * RS_USUAL_TRIP / e->settings.horizon_ms;
    if (2 * came > need) need = 2 * came;
    return rest < need ? rest : need;
}

/* Nothing of it has come, and it is about to be added. */
static inline void rs_rest_begin(const rs_engine_t *e, struct rs_ticket_row *r) {
    r->lately_ms = (uint32_t)(e->now / 1000);
    r->lately = 0;
    r->before = RS_NIL;
}

/* So many bytes of it came, which r->received counts already; while it is taken out. */
static inline void rs_rest_came(const rs_engine_t *e, struct rs_ticket_row *r, uint64_t bytes) {
    uint32_t now = (uint32_t)(e->now / 1000), horizon = e->settings.horizon_ms;
    if (r->received == bytes) r->lately_ms = now; /* the first ones */
    uint32_t took = now - r->lately_ms;
    r->lately = bytes < UINT32_MAX - r->lately ? r->lately + (uint32_t)bytes : UINT32_MAX;
    if (!took || took < horizon) return;
    uint64_t before = (uint64_t)r->lately * horizon / took;
    r->before = before < RS_NIL ? (uint32_t)before : RS_NIL - 1;
    r->lately = 0;
    r->lately_ms = now;
}

/* ---- of a flow with by_rest; a response that is released --------------------------------------------------------- */

static inline uint32_t rs_rest_bucket(const struct rs_flow *f, const struct rs_ticket_row *r) {
    return rs_bucket_of(f->shortest ? rs_row_rest(r) : rs_row_can(r));
}

static inline uint64_t rs_rest_brings(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r) {
    return f->shortest ? rs_row_need(e, r) : rs_row_can(r);
}

static inline void rs_rests_add(struct rs_rests *rests, uint32_t b, uint64_t needs) {
    if (!(rests->map >> b & 1)) rests->of[b] = (struct rs_rest){ 0 };
    rests->map |= (uint64_t)1 << b;
    rests->of[b].needs += needs;
    rests->of[b].count++;
}

static inline void rs_rests_remove(struct rs_rests *rests, uint32_t b, uint64_t needs) {
    rests->of[b].needs -= needs;
    if (--rests->of[b].count == 0) rests->map &= ~((uint64_t)1 << b);
}

/*
 * Of `part`, which n share, that of one who stands in bucket b: those before it who can't use theirs leave it to the
 * others.
 */
static inline uint64_t rs_rests_part(const struct rs_rests *rests, uint32_t b, uint64_t n, uint64_t part) {
    for (uint64_t map = rests->map & (((uint64_t)1 << b) - 1); map && n; map &= map - 1) {
        const struct rs_rest *those = &rests->of[__builtin_ctzll(map)];
        if (those->needs >= part / n * those->count) break;
        part -= those->needs;
        n -= those->count;
    }
    return n ? part / n : 0;
}

/* What marks a place, for checks: no sum of some marks is one of others. */
static inline uint64_t rs_mark(uint64_t place) {
    uint64_t x = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 29;
}
static inline uint64_t rs_rest_mark(uint32_t class, uint32_t bucket) {
    return rs_mark((uint64_t) class * RS_BUCKETS + bucket);
}

static inline void rs_rest_add(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r) {
    rs_rests_add(rs_rests(e, r->class), rs_rest_bucket(f, r), rs_rest_brings(e, f, r));
}

static inline void rs_rest_remove(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r) {
    rs_rests_remove(rs_rests(e, r->class), rs_rest_bucket(f, r), rs_rest_brings(e, f, r));
}

/* ---- of a class with responses outstanding; row->can changes while it is taken out ------------------------------- */

static inline uint64_t rs_class_can(const struct rs_class_row *row) {
    uint64_t came = row->lately > row->before ? row->lately : row->before;
    return row->can > 2 * came ? row->can : 2 * came;
}

static inline uint32_t rs_busy_bucket(const struct rs_class_row *row) {
    return rs_bucket_of(row->settings.weight ? rs_class_can(row) / row->settings.weight : rs_class_can(row));
}

/* So many bytes came, or none, and somebody looks; while it is taken out. */
static inline void rs_class_came(const rs_engine_t *e, struct rs_class_row *row, uint64_t bytes) {
    uint32_t now = (uint32_t)(e->now / 1000), horizon = e->settings.horizon_ms, took = now - row->lately_ms;
    row->lately = bytes < UINT32_MAX - row->lately ? row->lately + (uint32_t)bytes : UINT32_MAX;
    if (!took || took < horizon) return;
    row->before = (uint32_t)((uint64_t)row->lately * horizon / took);
    row->lately = 0;
    row->lately_ms = now;
}

static inline void rs_busy_add(rs_engine_t *e, const struct rs_class_row *row) {
    uint32_t b = rs_busy_bucket(row);
    if (!(e->busy_map >> b & 1)) e->busy[b] = (struct rs_busy){ 0 };
    e->busy_map |= (uint64_t)1 << b;
    e->busy[b].weight += row->settings.weight;
    e->busy[b].can += rs_class_can(row);
}

static inline void rs_busy_remove(rs_engine_t *e, const struct rs_class_row *row) {
    uint32_t b = rs_busy_bucket(row);
    e->busy[b].can -= rs_class_can(row);
    e->busy[b].weight -= row->settings.weight;
    if (!e->busy[b].weight) e->busy_map &= ~((uint64_t)1 << b);
}

#endif
