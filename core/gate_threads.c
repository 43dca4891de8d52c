/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate_threads.c - `window` service threads, each of which has one response from release to end.
 *
 * Source: the service model of the IDSRS paper (m threads).  A parked response counts: its thread is blocked, not free.
 */
#include "gate.h"

static void threads_gate_init(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, int again) {
    (void)s, (void)now, (void)again;
    o->open_below = 0;
}

static uint32_t threads_gate_limit(const struct rs_outlet *o, const struct rs_settings *s) {
    (void)o;
    return rs_window_or(s, RS_WINDOW_NORMAL);
}

static int threads_gate_may(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, rs_time_t *again) {
    (void)now, (void)again;
    return o->outstanding + o->parked < threads_gate_limit(o, s);
}

const struct rs_gate_ops rs_gate_threads = {
    .name = "threads", .init = threads_gate_init, .may = threads_gate_may, .limit = threads_gate_limit
};
