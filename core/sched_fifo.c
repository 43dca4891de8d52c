/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_fifo.c - first come, first served, over all classes: what servers do by themselves.
 *
 * A heap of the classes that wait, by the arrival of each one's next request; a class may still order its own requests.
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

static uint64_t key_of(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) { return rs_row(e, rs_flow(e, o, c)->best)->seq; }

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
        if ((rs_flow(e, o, c)->queued != 0) != rs_heap_has(h, c)) why = "fifo: the waiting classes and the heap differ";
        else if (rs_heap_has(h, c) && rs_heap_nodes(h)[rs_heap_places(h)[c]].key != key_of(e, o, c)) why = "fifo: a class has an old key";
    }
    return why;
}

const struct rs_sched_ops rs_sched_fifo = {
    .name = "fifo", .size = size, .restore = restore, .backlog = backlog, .head = head, .take = take,
    .taken = head, .drained = drained, .check = check,
};
