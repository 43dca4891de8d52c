/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate_bytes.c - at most so many bytes outstanding as the link carries in `horizon_ms`.
 *
 * Ours, beside WRC: a window counts a 1 MB response like one of 1 KB; what keeps a link busy is bytes.  One response is
 * always allowed, however large.  Without a rate there is nothing to multiply, and the gate is a plain window.
 */
#include "gate.h"

static void init(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, int again) {
    (void)now, (void)again;
    o->open_below = s->rate ? 1 : rs_window_or(s, RS_WINDOW_NORMAL);
}

static uint32_t limit(const struct rs_outlet *o, const struct rs_settings *s) {
    (void)o;
    return s->rate ? 0 : rs_window_or(s, RS_WINDOW_NORMAL);
}

static int may(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, rs_time_t *again) {
    (void)now, (void)again;
    return s->rate && o->expected < s->rate * s->horizon_ms / 1000;
}

const struct rs_gate_ops rs_gate_bytes = { .name = "bytes", .expected = 1, .init = init, .may = may, .limit = limit };
