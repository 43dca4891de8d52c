/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_queue.h - the requests of one class that wait at one outlet, and who of them goes next.
 *
 * Always a list in order of arrival; for RS_ORDER_SHORTEST size buckets beside it, for a class that keys share their
 * heaps (class_keys.h).  flow->best is who goes next by the class's order, or the newest while a queue in order of
 * arrival stands; with a waiting bound rs_queue_next may name the oldest instead, which schedulers that looked at
 * best's size make good through the account.
 */
#ifndef FAIRGATE_CLASS_QUEUE_H
#define FAIRGATE_CLASS_QUEUE_H

#include "base_block.h"

void        rs_queue_clear(struct rs_flow *f);
const char *rs_queue_check(const rs_engine_t *e, const struct rs_outlet *o, uint32_t class);

/* What follows for a class that goes shortest first; sets f->best. */
void rs_queue_push_sized(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t);
void rs_queue_remove_sized(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t);

/* t is the newest by seq. */
static inline void rs_queue_append(const rs_engine_t *e, struct rs_flow *f, uint32_t t, struct rs_ticket_row *r) {
    uint32_t last = f->last;
    r->next = RS_NIL;
    r->prev = last;
    if (last == RS_NIL) f->first = t;
    else rs_row(e, last)->next = t;
    f->last = t;
    if (last == RS_NIL || f->newest) f->best = t;
    f->queued++;
}

static inline void rs_queue_remove(const rs_engine_t *e, struct rs_flow *f, const struct rs_ticket_row *r) {
    uint32_t next = r->next, prev = r->prev;
    if (prev == RS_NIL) f->first = next;
    else rs_row(e, prev)->next = next;
    if (next == RS_NIL) f->last = prev;
    else rs_row(e, next)->prev = prev;
    f->best = f->newest ? f->last : f->first;
    f->queued--;
}

static inline uint32_t rs_queue_next(const rs_engine_t *e, const struct rs_flow *f, uint32_t wait_bound_ms,
                                     rs_time_t now) {
    if (f->shortest && wait_bound_ms && now - rs_row(e, f->first)->submitted > (rs_time_t)wait_bound_ms * 1000)
        return f->first;
    return f->best;
}

#endif
