/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab_timer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void put(struct lab_timers *ts, uint32_t i, struct lab_timer *t) {
    ts->heap[i] = t;
    t->place = i + 1;
}

static void up(struct lab_timers *ts, uint32_t i) {
    struct lab_timer *t = ts->heap[i];
    while (i > 0 && ts->heap[(i - 1) / 2]->when > t->when) {
        put(ts, i, ts->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(ts, i, t);
}

static void down(struct lab_timers *ts, uint32_t i) {
    struct lab_timer *t = ts->heap[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= ts->count) break;
        if (child + 1 < ts->count && ts->heap[child + 1]->when < ts->heap[child]->when) child++;
        if (ts->heap[child]->when >= t->when) break;
        put(ts, i, ts->heap[child]);
        i = child;
    }
    put(ts, i, t);
}

void lab_timers_init(struct lab_timers *ts) { *ts = (struct lab_timers){ .magic = LAB_TIMERS_MAGIC }; }

void lab_timers_free(struct lab_timers *ts) {
    assert(ts->magic == LAB_TIMERS_MAGIC);
    free(ts->heap);
    *ts = (struct lab_timers){ 0 };
}

void lab_timer_clear(struct lab_timers *ts, struct lab_timer *t) {
    assert(ts->magic == LAB_TIMERS_MAGIC);
    if (t->place == 0) return;
    uint32_t i = t->place - 1;
    assert(i < ts->count && ts->heap[i] == t);
    t->place = 0;
    struct lab_timer *last = ts->heap[--ts->count];
    if (last == t) return;
    put(ts, i, last);
    down(ts, i);
    up(ts, last->place - 1);
}

void lab_timer_set(struct lab_timers *ts, struct lab_timer *t, uint64_t when) {
    assert(ts->magic == LAB_TIMERS_MAGIC);
    lab_timer_clear(ts, t);
    if (ts->count == ts->room) {
        ts->room = ts->room ? 2 * ts->room : 64;
        ts->heap = realloc(ts->heap, ts->room * sizeof ts->heap[0]);
        if (!ts->heap) {
            fprintf(stderr, "out of memory for %u timers\n", ts->room);
            exit(1);
        }
    }
    t->when = when;
    put(ts, ts->count++, t);
    up(ts, ts->count - 1);
}

struct lab_timer *lab_timers_due(struct lab_timers *ts, uint64_t now) {
    assert(ts->magic == LAB_TIMERS_MAGIC);
    if (ts->count == 0 || ts->heap[0]->when > now) return NULL;
    struct lab_timer *t = ts->heap[0];
    lab_timer_clear(ts, t);
    return t;
}

uint64_t lab_timers_next(const struct lab_timers *ts) {
    assert(ts->magic == LAB_TIMERS_MAGIC);
    return ts->count ? ts->heap[0]->when : LAB_NEVER;
}

uint64_t lab_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
