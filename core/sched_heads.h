/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_heads.h - the waiting classes in a heap by a key of each one's next request: what disciplines without accounts
 * are made of.
 *
 * The whole private state of such a discipline is the heap.  Inline with the key as an argument, so that each gets a
 * copy made for its key.
 */
#ifndef FAIRGATE_SCHED_HEADS_H
#define FAIRGATE_SCHED_HEADS_H

#include "sched.h"
#include "base_arena.h"
#include "base_heap.h"

/* Smallest goes first.  Class c waits at outlet o. */
typedef uint64_t rs_heads_key(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c);

static inline uint64_t rs_heads_layout(uint32_t classes, struct rs_heap *h) {
    uint64_t used = sizeof *h;
    h->capacity = classes;
    h->node_at = (uint32_t)rs_carve(&used, classes, sizeof(struct rs_heap_node));
    h->place_at = (uint32_t)rs_carve(&used, classes, sizeof(uint32_t));
    return used;
}

static inline uint32_t rs_heads_take(rs_engine_t *e, struct rs_outlet *o) {
    struct rs_heap *h = rs_sched_state(e, o);
    if (!h->count) return RS_NIL;
    uint32_t c = rs_heap_top(h).id;
    const struct rs_flow *f = rs_flow(e, o, c);
    if (f->queued == 1) rs_heap_remove(h, c);
    return f->best;
}

static inline void rs_heads_restore(rs_engine_t *e, struct rs_outlet *o, rs_heads_key *key) {
    struct rs_heap *h = rs_sched_state(e, o);
    rs_heads_layout(e->capacity.classes, h);
    rs_heap_clear(h);
    for (uint32_t c = 0; c < e->classes; c++)
        if (rs_flow_waits(rs_flow(e, o, c))) rs_heap_push(h, c, key(e, o, c));
}

static inline const char *rs_heads_check(const rs_engine_t *e, const struct rs_outlet *o, rs_heads_key *key) {
    const struct rs_heap *h = rs_sched_state(e, o);
    const char *why = rs_heap_check(h);
    for (uint32_t c = 0; c < e->classes && !why; c++) {
        if (rs_flow_waits(rs_flow(e, o, c)) != rs_heap_has(h, c))
            why = "heads: the waiting classes and the heap differ";
        else if (rs_heap_has(h, c) && rs_heap_nodes(h)[rs_heap_places(h)[c]].key != key(e, o, c))
            why = "heads: a class has an old key";
    }
    return why;
}

#endif
