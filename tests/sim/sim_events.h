/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_events.h - what happens next: a heap of events by key.
 *
 * The key is a time in seconds, or any other number that only grows (a server's virtual time).  Equal keys come out in
 * the order they went in, so a run is the same every time.  An event that no longer holds stays in the heap; whoever
 * takes it out sees that its serial is not the present one.  The caller owns the struct; sim_events_free gives its
 * memory back.
 */
#ifndef FAIRGATE_SIM_EVENTS_H
#define FAIRGATE_SIM_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#define SIM_NEVER 1e300

struct sim_event {
    double   key;
    uint64_t order;             /* set by sim_events_add */
    uint32_t kind, index, serial;
};

struct sim_events {
    struct sim_event *heap;
    size_t            count, room;
    uint64_t          added;
};

void   sim_events_add(struct sim_events *q, double key, uint32_t kind, uint32_t index, uint32_t serial);
double sim_events_next(const struct sim_events *q);                     /* its key; SIM_NEVER when empty */
/* the first with key <= until; 0 if none */
int    sim_events_take(struct sim_events *q, double until, struct sim_event *out);
void   sim_events_free(struct sim_events *q);

#endif
