/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate_none.c - whoever asks may go: what a plain server or proxy does.  Shares by weight don't come about, since
 * nothing ever waits.
 */
#include "gate.h"

static void none_gate_init(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, int again) {
    (void)s, (void)now, (void)again;
    o->open_below = UINT32_MAX;
}

static uint32_t none_gate_limit(const struct rs_outlet *o, const struct rs_settings *s) {
    (void)o, (void)s;
    return 0;
}

const struct rs_gate_ops rs_gate_none = { .name = "none", .init = none_gate_init, .limit = none_gate_limit };
