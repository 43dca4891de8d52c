/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_occupied.h - the share of the window that a class may have while parked requests of it occupy their backend.
 *
 * A parked request has released its slot, so that a slow client keeps no slot from others.  But the backend's worker
 * may still be busy with it: PHP-FPM has not written a download to its end, or has not read an upload to its end.  A
 * backend has a limited number of workers.  Slow clients of one class could occupy all of them, one after the other.
 *
 * Such requests (rs_park_occupying) go on counting against rs_class_settings.slots.  And while other classes are active
 * at the outlet, the class has its share of the window by weight: rs_has_its_share.  The bound is soft:
 *
 * - A few slow uploads must not stop their class.  So a quarter of the share goes on running until half as many again
 *   are occupied.
 * - A class that waits for slots between requests has less than its bound on average.  So it may have a quarter more
 *   than its share, running and occupying.  What that is too much, the discipline charges.
 *
 * If keys share the class (class_keys.h), the requests that one key occupies bound that key:
 *
 * - Of one key half the bound counts against its class, rs_key_part: so one client alone cannot stop the others.
 * - A key that occupies as many, and two at least, waits (rs_key_most) while requests of other keys are released.
 * - So a class occupies no more than its bound.  Where a burst of one key was released before it was parked, half of
 *   the bound comes on top.  Two keys can still reach the bound of their class.
 *
 * Shares are counted in quarters of a slot: of 2.9 slots, two are 0.7.  A class that has been alone for RS_WINDOW_QUIET
 * has no bound.
 *
 * Which classes are active changes with time alone.  So rs_pick recomputes the bounds every RS_OCCUPIED_EVERY while any
 * request occupies its backend.
 */
#ifndef FAIRGATE_RS_OCCUPIED_H
#define FAIRGATE_RS_OCCUPIED_H

#include "rs_engine.h"

#define RS_OCCUPIED_EVERY UINT64_C(100000) /* microseconds */

/* Requests of it wait, run, occupy the backend, or came a moment ago. */
static inline bool rs_flow_is_active(const rs_engine_t *e, const struct rs_flow *f) {
    return f->queued || f->live > f->parked || f->occupying || (f->came && e->now - f->came < RS_WINDOW_QUIET);
}

/* Sum of the weights of the classes that are active at this outlet. */
static inline uint64_t rs_active_weights(const rs_engine_t *e, const struct rs_outlet *o) {
    uint64_t weights = 0;
    for (uint32_t c = 0; c < e->classes; c++)
        if (rs_flow_is_active(e, rs_flow(e, o, c))) weights += rs_flow(e, o, c)->weight;
    return weights;
}

/* Its share of the window, of `weights` in all, in quarters of a slot; RS_NIL if it is alone, or there is no window. */
static inline uint32_t rs_occupied_share(const struct rs_outlet *o, const struct rs_flow *f, uint64_t weights) {
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    uint32_t window = gate->limit ? gate->limit(o, &o->settings) : 0;
    if (!window || weights <= f->weight) return RS_NIL;
    return (uint32_t)((uint64_t)window * RS_QUARTERS * f->weight / weights);
}

#endif
