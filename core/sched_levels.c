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

struct levels {
    uint32_t count;
    uint32_t pad;
    uint64_t node_at, place_at;
};

static uint64_t layout(uint32_t classes, struct levels *f) {
    uint64_t used = sizeof *f;
    f->node_at = rs_carve(&used, classes, sizeof(struct rs_heap_node));
    f->place_at = rs_carve(&used, classes, sizeof(uint32_t));
    return used;
}

static uint64_t size(uint32_t classes) {
    struct levels f;
    return layout(classes, &f);
}

static struct rs_heap heap_of(const rs_engine_t *e, const struct rs_outlet *o) {
    struct levels *f = rs_sched_state(e, o);
    return (struct rs_heap){ &f->count, (void *)((uintptr_t)f + f->node_at), (void *)((uintptr_t)f + f->place_at) };
}

static uint64_t key_of(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) {
    const struct rs_flow *f = rs_flow(e, o, c);
    return (uint64_t)f->level << 48 | (rs_row(e, f->best)->seq & (((uint64_t)1 << 48) - 1));
}

static void backlog(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_push(heap_of(e, o), c, key_of(e, o, c)); }

static void head(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_rekey(heap_of(e, o), c, key_of(e, o, c)); }

static void drained(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rs_heap_remove(heap_of(e, o), c); }

static struct rs_choice pick(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    (void)now;
    struct rs_heap h = heap_of(e, o);
    return (struct rs_choice){ *h.count ? h.node[0].id : RS_NIL, RS_NIL };
}

static void restore(rs_engine_t *e, struct rs_outlet *o, int keep) {
    (void)keep;
    struct levels *f = rs_sched_state(e, o);
    layout(e->capacity.classes, f);
    f->count = 0;
    struct rs_heap h = heap_of(e, o);
    for (uint32_t c = 0; c < e->capacity.classes; c++) h.place[c] = RS_NIL;
    for (uint32_t c = 0; c < e->classes; c++)
        if (rs_flow(e, o, c)->queued) backlog(e, o, c);
}

static const char *check(const rs_engine_t *e, const struct rs_outlet *o) {
    struct rs_heap h = heap_of(e, o);
    for (uint32_t c = 0; c < e->classes; c++) {
        if ((rs_flow(e, o, c)->queued != 0) != (h.place[c] != RS_NIL)) return "levels: the waiting classes and the heap differ";
        if (h.place[c] != RS_NIL && h.place[c] < *h.count && h.node[h.place[c]].key != key_of(e, o, c)) return "levels: a class has an old key";
    }
    return rs_heap_check(h, e->capacity.classes);
}

const struct rs_sched_ops rs_sched_levels = {
    .name = "levels", .size = size, .restore = restore, .backlog = backlog, .head = head, .pick = pick, .drained = drained, .check = check,
};
