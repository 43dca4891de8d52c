/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_standing.h - whether a class's queue stands (rs.h, STANDING QUEUES); for rs_life.c alone.
 *
 * Sources: CoDel (Nichols and Jacobson, RFC 8289), whose criterion it is, and adaptive LIFO with it before servers
 * (B. Maurer, "Fail at Scale", ACM Queue 2015).  Departures:
 *
 * - CoDel drops one packet at a time, more and more often, since a sender of TCP slows down by one.  A client that is
 *   refused does not come with half a request: all that have waited for longer than the bound are refused, at once.
 * - The bound is the operator's, and what is late is judged by it; CoDel's target is a twentieth of its interval.
 * - Where nobody is released in an interval, whoever has waited longest tells.
 * - In a class that keys share, a request of a light key waits briefly beside a persistent queue of the others.  There
 *   the oldest wait alone tells: the queue stands when that has been above the bound for RS_STANDING_QUIET.
 * - A queue that stood a moment ago is not let grow for another interval: as CoDel goes on dropping as often as it did.
 * - CoDel does not drop while less than one packet waits.  Here that is a number of windows of requests (delay_turns).
 */
#ifndef FAIRGATE_RS_STANDING_H
#define FAIRGATE_RS_STANDING_H

#include "gate.h"
#include "rs_account.h"

static inline rs_time_t oldest_wait(const rs_engine_t *e, const struct rs_flow *f) {
    return e->now - rs_row(e, f->first)->submitted;
}

/* From now on it does, or does no longer: another one goes next. */
static RARELY void set_stands(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f, rs_time_t since) {
    uint32_t best = f->best;
    if (!since) f->stood = e->now;
    f->stands = since;
    f->good = e->now;
    f->newest = since && !f->shortest && !f->within;
    if (!f->shortest && !f->within) f->best = since ? f->last : f->first;
    if (f->best != best && !f->held) rs_sched_ops(e)->head(e, o, f->class);
}

/* A gate that tries small windows for a moment does not shorten the queue with each trial. */
static inline uint64_t window_of_turns(const struct rs_outlet *o) {
    uint64_t least = rs_window_or(&o->settings, RS_WINDOW_NORMAL);
    if (o->settings.gate != RS_GATE_AUTO) return o->open_below;
    if (least > o->settings.window_max) least = o->settings.window_max;
    return o->open_below > least ? o->open_below : least;
}

static inline bool is_short(const rs_engine_t *e, const struct rs_outlet *o, const struct rs_flow *f) {
    return f->queued <= rs_class_row(e, f->class)->settings.delay_turns * window_of_turns(o);
}

static inline void look_whether_it_stands(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f) {
    rs_time_t oldest = oldest_wait(e, f);
    if (is_short(e, o, f)) {
        if (f->stands) set_stands(e, o, f, 0);
        f->good = e->now;
        return;
    }
    if (f->within && oldest <= f->delay) f->good = e->now;
    if (f->stands) {
        if (oldest < f->delay / 2) set_stands(e, o, f, 0);
    } else if (oldest > f->delay &&
               (e->now - f->good > RS_STANDING_QUIET || (f->stood && e->now - f->stood < RS_STANDING_MEMORY))) {
        set_stands(e, o, f, e->now);
    }
}

/* Somebody of a class with delay_ms goes. */
static RARELY void note_wait(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f, rs_time_t waited) {
    if (waited <= f->delay && !f->within) f->good = e->now;
    if (f->queued) look_whether_it_stands(e, o, f);
}

/* Somebody waits where nobody did. */
static inline void begin_queue(const rs_engine_t *e, struct rs_flow *f) {
    if (f->stands) f->stood = f->stands > f->good ? f->stands : f->good;
    f->good = e->now;
    f->stands = 0;
    f->newest = 0;
}

#endif
