/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_levels.c - the lowest level first, in order of arrival inside a level.
 *
 * Source: IDSRS, "interest-differentiated service request scheduling" (ccn-idsrs-apdsfc paper): subsequent Interests, whose page is made
 * already, before first ones, which cost a service thread.  The paper has two levels; here a class has one of 65,536.
 * A level that always has somebody starves those above it, as in the paper; the gate and the bounds of the queues are what limits it.
 *
 * The heap is that of first come, first served with the level in the upper 16 bits of the key; 2^48 arrivals fit below it.
 */
#include "sched.h"
#include "base_arena.h"
#include "base_heap.h"

static uint64_t layout(uint32_t classes, struct rs_heap *h) {
    uint64_t used = sizeof *h;
    h->capacity = classes;
    h->node_at = rs_carve(&used, classes, sizeof(struct rs_heap_node));
    h->place_at = rs_carve(&used, classes, sizeof(uint32_t));
    return used;
}

static uint64_t size(uint32_t classes) {
    struct rs_heap h;
    return layout(classes, &h);
}

static uint64_t key_of(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) {
    const struct rs_flow *f = rs_flow(e, o, c);
    return (uint64_t)f->level << 48 | (rs_row(e, f->best)->seq & (((uint64_t)1 << 48) - 1));
}

static void backlog(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_push(rs_sched_state(e, o), c, key_of(e, o, c)); }

static void head(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_rekey(rs_sched_state(e, o), c, key_of(e, o, c)); }

static void drained(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_remove(rs_sched_state(e, o), c); }

static struct rs_choice take(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    (void)now;
    const struct rs_heap *h = rs_sched_state(e, o);
    if (!h->count) return (struct rs_choice){ RS_NIL, 0 };
    uint32_t c = rs_heap_top(h).id;
    const struct rs_flow *f = rs_flow(e, o, c);
    if (f->queued == 1) drained(e, o, c);
    return (struct rs_choice){ f->best, 0 };
}

static void restore(rs_engine_t *e, struct rs_outlet *o, int keep) {
    (void)keep;
    struct rs_heap *h = rs_sched_state(e, o);
    layout(e->capacity.classes, h);
    rs_heap_clear(h);
    for (uint32_t c = 0; c < e->classes; c++)
        if (rs_flow(e, o, c)->queued) backlog(e, o, c);
}

static const char *check(const rs_engine_t *e, const struct rs_outlet *o) {
    const struct rs_heap *h = rs_sched_state(e, o);
    const char *why = rs_heap_check(h);
    for (uint32_t c = 0; c < e->classes && !why; c++) {
        if ((rs_flow(e, o, c)->queued != 0) != rs_heap_has(h, c)) why = "levels: the waiting classes and the heap differ";
        else if (rs_heap_has(h, c) && rs_heap_nodes(h)[rs_heap_places(h)[c]].key != key_of(e, o, c)) why = "levels: a class has an old key";
    }
    return why;
}

const struct rs_sched_ops rs_sched_levels = {
    .name = "levels", .size = size, .restore = restore, .backlog = backlog, .head = head, .take = take,
    .taken = head, .drained = drained, .check = check,
};
