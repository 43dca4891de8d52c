/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate_bytes.c - at most so many bytes outstanding as the link carries in `horizon_ms`.
 *
 * Ours, beside WRC: a window counts a 1 MB response like one of 1 KB; what keeps a link busy, and stands in the queue in front of it, is bytes
 * on their way.  Of one response no more than an eighth of the bound counts: TCP has no more of it on its way either (rs_allowance), and a
 * class must not have the link for itself because it asked for something large.  One response is always allowed.  Without a rate
 * there is nothing to multiply, and the gate is a plain window.
 */
#include "gate.h"

#define SLICES 8

static void init(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, int again) {
    (void)now, (void)again;
    o->open_below = s->rate ? 1 : rs_window_or(s, RS_WINDOW_NORMAL);
}

static uint32_t limit(const struct rs_outlet *o, const struct rs_settings *s) {
    (void)o;
    return s->rate ? 0 : rs_window_or(s, RS_WINDOW_NORMAL);
}

static uint64_t bound(const struct rs_settings *s) { return s->rate * s->horizon_ms / 1000; }

static uint64_t slice(const struct rs_settings *s) { return s->rate ? bound(s) / SLICES + 1 : UINT64_MAX; }

static int may(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, rs_time_t *again) {
    (void)now, (void)again;
    return s->rate && o->expected < bound(s);
}

const struct rs_gate_ops rs_gate_bytes = { .name = "bytes", .slice = slice, .init = init, .may = may, .limit = limit };
