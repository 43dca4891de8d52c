/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_rests.h - the outstanding responses of a class that goes shortest first, by what is still to come of them: what
 * rs_allowance asks.
 *
 * For each size of base_buckets.h how many there are and what they need, at the first outlet, under a gate that counts
 * bytes, and a map of where there are any.  A response is counted from its release to its end, but while it is
 * parked: whoever changes what is known of it takes it out before and puts it in again afterwards.
 *
 * What a response NEEDS is what it can have on its way at one time: no more than what is to come of it, and no more
 * than its sender lets go.  That begins with ten segments (RFC 6928), and is at most twice what came in as long as the
 * gate looks ahead: senders double with each round trip while they can.  So one that was just released, or whose server
 * is slow, leaves the link to those that can use it.
 */
#ifndef FAIRGATE_CLASS_RESTS_H
#define FAIRGATE_CLASS_RESTS_H

#include "base_buckets.h"

#define RS_FIRST_WINDOW 14600u

static inline uint64_t rs_row_need(const struct rs_ticket_row *r) {
    uint64_t rest = rs_row_rest(r), came = r->lately > r->before ? r->lately : r->before,
             can = 2 * came > RS_FIRST_WINDOW ? 2 * came : RS_FIRST_WINDOW;
    return rest < can ? rest : can;
}

/* Nothing of it has come, and it is about to be added. */
static inline void rs_rest_begin(const rs_engine_t *e, struct rs_ticket_row *r) {
    r->lately_ms = (uint32_t)(e->now / 1000);
    r->lately = r->before = 0;
}

/* So many bytes of it came; while it is taken out. */
static inline void rs_rest_came(const rs_engine_t *e, struct rs_ticket_row *r, uint64_t bytes) {
    uint32_t now = (uint32_t)(e->now / 1000), took = now - r->lately_ms;
    r->lately = bytes < UINT32_MAX - r->lately ? r->lately + (uint32_t)bytes : UINT32_MAX;
    if (!took || took < e->settings.horizon_ms) return;
    r->before = (uint32_t)((uint64_t)r->lately * e->settings.horizon_ms / took);
    r->lately = 0;
    r->lately_ms = now;
}

/* Of a flow with by_rest; a response that is released. */
static inline void rs_rest_add(const rs_engine_t *e, const struct rs_ticket_row *r) {
    uint32_t b = rs_bucket_of(rs_row_rest(r));
    struct rs_rests *rests = rs_rests(e, r->class);
    if (!(rests->map >> b & 1)) rests->of[b] = (struct rs_rest){ 0 };
    rests->map |= (uint64_t)1 << b;
    rests->of[b].needs += rs_row_need(r);
    rests->of[b].count++;
}

static inline void rs_rest_remove(const rs_engine_t *e, const struct rs_ticket_row *r) {
    uint32_t b = rs_bucket_of(rs_row_rest(r));
    struct rs_rests *rests = rs_rests(e, r->class);
    rests->of[b].needs -= rs_row_need(r);
    if (--rests->of[b].count == 0) rests->map &= ~((uint64_t)1 << b);
}

#endif
