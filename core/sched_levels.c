/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_levels.c - the lowest level first, in order of arrival inside a level; and all in order of arrival.
 *
 * Source:  IDSRS, "interest-differentiated service request scheduling" (ccn-idsrs-apdsfc paper): subsequent Interests,
 * whose page is made already, before first ones, which cost a service thread.  The paper has two levels; here a class
 * has one of 65,536.  A level that always has somebody starves those above it, as in the paper; the gate and the bounds
 * of the queues are what limits it.
 *
 * First come, first served over all classes, what servers do by themselves, is the same with everybody on level 0; a
 * class may still order its own requests.
 *
 * A heap of the classes that wait, by the level and the arrival of each one's next request: 16 bits above 48, which
 * hold 2^48 arrivals.
 */
#include "sched_heads.h"

static uint64_t level(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) {
    const struct rs_flow *f = rs_flow(e, o, c);
    uint64_t arrival = rs_row(e, f->best)->seq & (((uint64_t)1 << 48) - 1);
    return e->sched == RS_SCHED_LEVELS ? (uint64_t)f->level << 48 | arrival : arrival;
}

static uint64_t levels_size(uint32_t classes) {
    struct rs_heap h;
    return rs_heads_layout(classes, &h);
}

static void levels_backlog(rs_engine_t *e, struct rs_outlet *o, uint32_t c) {
    rs_heap_push(rs_sched_state(e, o), c, level(e, o, c));
}

static void levels_head(rs_engine_t *e, struct rs_outlet *o, uint32_t c) {
    rs_heap_rekey(rs_sched_state(e, o), c, level(e, o, c));
}

static void levels_drained(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_remove(rs_sched_state(e, o), c); }

static uint32_t levels_take(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    (void)now;
    return rs_heads_take(e, o);
}

static void levels_restore(rs_engine_t *e, struct rs_outlet *o, int keep) {
    (void)keep;
    rs_heads_restore(e, o, level);
}

static const char *levels_check(const rs_engine_t *e, const struct rs_outlet *o) { return rs_heads_check(e, o, level); }

#define BODY                                                                                                           \
    .size = levels_size, .restore = levels_restore, .backlog = levels_backlog, .head = levels_head,                    \
    .take = levels_take, .taken = levels_head, .drained = levels_drained, .check = levels_check

const struct rs_sched_ops rs_sched_levels = { .name = "levels", BODY };
const struct rs_sched_ops rs_sched_fifo = { .name = "fifo", BODY };
