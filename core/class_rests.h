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
 * than its sender lets go, which begins with ten segments (RFC 6928) and doubles with what has arrived.  So one that
 * was just released leaves the link to those that can use it.
 */
#ifndef FAIRGATE_CLASS_RESTS_H
#define FAIRGATE_CLASS_RESTS_H

#include "base_buckets.h"

#define RS_FIRST_WINDOW 14600u
#define RS_NEED_MAX     (UINT64_C(1) << 36)     /* so that sums stay sums */

static inline uint64_t rs_row_need(const struct rs_ticket_row *r) {
    uint64_t rest = rs_row_rest(r), can = r->received > RS_FIRST_WINDOW / 2 ? 2 * r->received : RS_FIRST_WINDOW,
             need = rest < can ? rest : can;
    return need < RS_NEED_MAX ? need : RS_NEED_MAX;
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
