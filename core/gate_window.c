/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate_window.c - at most `window` responses outstanding.
 *
 * Source: website-gateway paper 3.3.  Departure: a parked response has given its slot back, since nobody works on it.
 */
#include "gate.h"

static void window_gate_init(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, int again) {
    (void)now, (void)again;
    o->open_below = rs_window_or(s, RS_WINDOW_NORMAL);
}

static uint32_t window_gate_limit(const struct rs_outlet *o, const struct rs_settings *s) {
    (void)s;
    return o->open_below;
}

const struct rs_gate_ops rs_gate_window = { .name = "window", .init = window_gate_init, .limit = window_gate_limit };
