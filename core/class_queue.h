/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_queue.h - the requests of one class that wait at one outlet, and who of them goes next.
 *
 * Always a list in order of arrival; for RS_ORDER_SHORTEST size buckets beside it.  flow->best is who goes next by the class's order; with a
 * waiting bound rs_queue_next may name the oldest instead, which schedulers that looked at best's size make good through the account.
 */
#ifndef FAIRGATE_CLASS_QUEUE_H
#define FAIRGATE_CLASS_QUEUE_H

#include "base_block.h"

void        rs_queue_clear(struct rs_flow *f);
const char *rs_queue_check(const rs_engine_t *e, const struct rs_outlet *o, uint32_t class);

/* The part of a class that goes shortest first; also sets f->best. */
void rs_queue_push_sized(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t);
void rs_queue_remove_sized(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t);

/* t is the newest by seq. */
static inline void rs_queue_push(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t) {
    struct rs_ticket_row *r = rs_row(e, t);
    r->next = RS_NIL;
    r->prev = f->last;
    if (f->last == RS_NIL) f->first = f->best = t;
    else rs_row(e, f->last)->next = t;
    f->last = t;
    f->queued++;
    if (f->shortest) rs_queue_push_sized(e, o, f, t);
}

static inline void rs_queue_remove(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t) {
    const struct rs_ticket_row *r = rs_row(e, t);
    if (r->prev == RS_NIL) f->first = f->best = r->next;
    else rs_row(e, r->prev)->next = r->next;
    if (r->next == RS_NIL) f->last = r->prev;
    else rs_row(e, r->next)->prev = r->prev;
    f->queued--;
    if (f->shortest) rs_queue_remove_sized(e, o, f, t);
}

static inline uint32_t rs_queue_next(const rs_engine_t *e, const struct rs_flow *f, uint32_t wait_bound_ms, rs_time_t now) {
    if (f->shortest && wait_bound_ms && now - rs_row(e, f->first)->submitted > (rs_time_t)wait_bound_ms * 1000) return f->first;
    return f->best;
}

#endif
