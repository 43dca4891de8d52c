/* SPDX-License-Identifier: BSD-2-Clause */
#include "class_queue.h"
#include "base_buckets.h"

void rs_queue_clear(struct rs_flow *f) {
    f->first = f->last = f->best = RS_NIL;
    f->queued = 0;
    f->bucket_map = 0;
    f->stands = 0;
    f->newest = 0;
}

void rs_queue_push_sized(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t) {
    struct rs_bucket *buckets = rs_flow_buckets(e, o, rs_row(e, t)->class);
    rs_bucket_add(e, buckets, &f->bucket_map, t);
    f->best = rs_bucket_smallest(buckets, f->bucket_map);
}

void rs_queue_remove_sized(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t) {
    struct rs_bucket *buckets = rs_flow_buckets(e, o, rs_row(e, t)->class);
    rs_bucket_remove(e, buckets, &f->bucket_map, t);
    f->best = f->bucket_map ? rs_bucket_smallest(buckets, f->bucket_map) : RS_NIL;
}

const char *rs_queue_check(const rs_engine_t *e, const struct rs_outlet *o, uint32_t class) {
    const struct rs_flow *f = rs_flow(e, o, class);
    uint32_t seen = 0, prev = RS_NIL;
    for (uint32_t t = f->first; t != RS_NIL; t = rs_row(e, t)->next) {
        if (t >= e->capacity.tickets) return "a queue holds an unknown ticket";
        const struct rs_ticket_row *r = rs_row(e, t);
        if (++seen > f->queued) return "a queue is longer than its count";
        if (rs_row_state(r) != RS_QUEUED || r->class != class || r->outlet != o->number)
            return "a queue holds a ticket that does not wait in it";
        if (r->prev != prev) return "a queue's links disagree";
        if (prev != RS_NIL && rs_row(e, prev)->seq >= r->seq) return "a queue is out of order";
        prev = t;
    }
    if (seen != f->queued) return "a queue is shorter than its count";
    if (f->last != prev) return "a queue's last is not its last";
    if (f->queued && f->stands && !f->delay) return "a queue stands that has no bound";
    if (f->queued && f->newest != (f->stands && !f->shortest && !f->within)) return "a queue does not go as it stands";
    if (f->within) return NULL; /* class_keys.h has its next */
    if (!f->shortest)
        return f->best == (f->newest ? f->last : f->first) ? NULL : "the first of a queue is not the next";
    if (f->queued && !f->bucket_map) return "a queue has no size buckets";
    if (f->queued && f->best != rs_bucket_smallest(rs_flow_buckets(e, o, class), f->bucket_map))
        return "the shortest of a queue is not the next";
    return rs_buckets_check(e, rs_flow_buckets(e, o, class), f->bucket_map, f->queued, o->number, class);
}
