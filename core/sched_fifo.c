/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_fifo.c - first come, first served, over all classes: what servers do by themselves.
 *
 * A heap of the classes that wait, by the arrival of each one's next request; a class may still order its own requests.
 */
#include "sched_heads.h"

static uint64_t arrival(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) { return rs_row(e, rs_flow(e, o, c)->best)->seq; }

static uint64_t size(uint32_t classes) {
    struct rs_heap h;
    return rs_heads_layout(classes, &h);
}

static void backlog(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_push(rs_sched_state(e, o), c, arrival(e, o, c)); }

static void head(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_rekey(rs_sched_state(e, o), c, arrival(e, o, c)); }

static void drained(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_remove(rs_sched_state(e, o), c); }

static uint32_t take(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    (void)now;
    return rs_heads_take(e, o);
}

static void restore(rs_engine_t *e, struct rs_outlet *o, int keep) {
    (void)keep;
    rs_heads_restore(e, o, arrival);
}

static const char *check(const rs_engine_t *e, const struct rs_outlet *o) { return rs_heads_check(e, o, arrival); }

const struct rs_sched_ops rs_sched_fifo = {
    .name = "fifo", .size = size, .restore = restore, .backlog = backlog, .head = head, .take = take,
    .taken = head, .drained = drained, .check = check,
};
