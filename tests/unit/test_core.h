/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_core.h - what the tests of core/ share: an engine in memory of its own, classes by weights, short ways to say
 * things.
 */
#ifndef FAIRGATE_TEST_CORE_H
#define FAIRGATE_TEST_CORE_H

#include "rs.h"
#include "run_suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
    void                     *memory;
    size_t                    size;
    rs_engine_t              *e;
    struct rs_capacity        cap;
    struct rs_settings        settings;
    struct rs_class_settings *classes;
    uint32_t                  n;
    rs_time_t                 now;
};

/* Classes "c0", "c1", ... with these weights; NULL: all 1. */
static inline struct rs_class_settings *classes_of(const uint32_t *weights, uint32_t n) {
    struct rs_class_settings *c = calloc(n, sizeof *c);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(c[i].name, sizeof c[i].name, "c%u", i);
        c[i].weight = weights ? weights[i] : 1;
        c[i].level = i;
    }
    return c;
}

static inline void open_world(struct world *w, enum rs_sched sched, enum rs_gate gate, uint32_t window,
                              const uint32_t *weights, uint32_t n, uint32_t tickets) {
    const char *why = NULL;
    memset(w, 0, sizeof *w);
    w->n = n;
    w->cap = (struct rs_capacity){ .classes = n, .tickets = tickets, .outlets = 1 };
    rs_settings_default(&w->settings);
    w->settings.sched = sched;
    w->settings.gate = gate;
    w->settings.window = window;
    w->classes = classes_of(weights, n);
    w->size = rs_size(&w->cap);
    w->memory = aligned_alloc(64, w->size);
    memset(w->memory, 0xa5, w->size);   /* the engine may not count on zeros */
    w->e = rs_create(w->memory, w->size, &w->cap, &w->settings, w->classes, n, 0, &why);
    ck_assert_msg(w->e != NULL, "%s", why ? why : "no reason");
}

static inline void close_world(struct world *w) {
    free(w->memory);
    free(w->classes);
    memset(w, 0, sizeof *w);
}

static inline void sound(const struct world *w) {
    const char *broken = rs_check(w->e);
    ck_assert_msg(broken == NULL, "%s", broken ? broken : "");
}

/* A request that must be taken. */
static inline rs_ticket_t ask(struct world *w, uint32_t class, uint64_t bytes) {
    rs_ticket_t t = RS_NO_TICKET;
    ck_assert_int_eq(rs_submit(w->e, w->now, class, 0, bytes, 1, 0, &t), RS_OK);
    ck_assert(t != RS_NO_TICKET);
    return t;
}

static inline rs_ticket_t next(struct world *w) {
    rs_time_t again;
    return rs_pick(w->e, w->now, &again);
}

/* The class of the next release, RS_NO_CLASS if there is none. */
static inline uint32_t next_class(struct world *w) {
    rs_ticket_t t = next(w);
    return t == RS_NO_TICKET ? RS_NO_CLASS : rs_class(w->e, t);
}

static inline void serve(struct world *w, rs_ticket_t t, uint64_t bytes) {
    ck_assert_int_eq(rs_progress(w->e, w->now, t, bytes), 1);
    ck_assert_int_eq(rs_finish(w->e, w->now, t), 1);
}

static inline struct rs_class_stats class_stats(const struct world *w, uint32_t class) {
    struct rs_class_stats s;
    ck_assert_int_eq(rs_class_stats(w->e, class, &s), 1);
    return s;
}

static inline struct rs_stats stats(const struct world *w) {
    struct rs_stats s;
    rs_stats(w->e, &s);
    return s;
}

/* xorshift: the same numbers everywhere, from a seed that is not 0. */
static inline uint64_t draw(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

#endif
