/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate_wrc.c - the window that the link's utilisation drives.
 *
 * Source: access-gateway paper 3.3.  An interval is F x Wmax ends of responses.  U = bytes received in it / (rate x its
 * length), those that no ticket explains included (3.5).  U < Umax:  Wmax + 1, U > Umax:  Wmax - 1; and doubled as long
 * as U has never reached Umax / 2.  The window moves only if it was full during the interval: when too little waits, a
 * larger one changes nothing.  "Full" is judged at each end: somebody waited for the slot that it freed.  Additions: a
 * first window other than 1 (`window`), and an upper bound (`window_max`), since Umax may be out of reach.  Without a
 * rate the window stays where it began.
 */
#include "gate.h"

struct wrc {
    uint32_t wmax, ends, slack; /* slack: a slot was freed that nobody waited for */
    uint32_t started;           /* U reached Umax / 2 once: no more doubling */
    uint64_t bytes;
    rs_time_t since;
};

static struct wrc *wrc_gate_state(const struct rs_outlet *o) { return (struct wrc *)(uintptr_t)o->gate_state; }

static void next_interval(struct wrc *w, rs_time_t now) {
    w->ends = w->slack = 0;
    w->bytes = 0;
    w->since = now;
}

static void wrc_gate_init(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, int again) {
    _Static_assert(sizeof(struct wrc) <= sizeof o->gate_state, "the gate's state has no room");
    struct wrc *w = wrc_gate_state(o);
    if (!again || w->wmax == 0 || w->wmax > s->window_max || w->started > 1) {
        w->wmax = rs_window_or(s, 1);
        w->started = 0;
    }
    if (w->wmax > s->window_max) w->wmax = s->window_max;
    o->open_below = w->wmax;
    next_interval(w, now);
}

static void arrived(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, uint64_t bytes) {
    (void)s, (void)now;
    wrc_gate_state(o)->bytes += bytes;
}

static void wrc_gate_ended(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now,
                           const struct rs_ticket_row *r) {
    (void)r;
    struct wrc *w = wrc_gate_state(o);
    w->ends++;
    if (rs_nobody_waits(o)) w->slack = 1;
    if (w->ends < (uint64_t)s->wrc_f * w->wmax || now == w->since) return;
    if (s->rate && !w->slack) {
        /* U in millionths, so that a rate of terabytes per second still fits */
        unsigned __int128 scaled = (unsigned __int128)w->bytes * 1000000u * 1000000u;
        uint64_t u = (uint64_t)(scaled / ((unsigned __int128)s->rate * (now - w->since)));
        uint64_t umax = (uint64_t)s->wrc_umax_permille * 1000;
        if (2 * u >= umax) w->started = 1;
        if (!w->started) w->wmax *= 2;
        else if (u < umax) w->wmax++;
        else if (u > umax && w->wmax > 1) w->wmax--;
        if (w->wmax > s->window_max) w->wmax = s->window_max;
        o->open_below = w->wmax;
    }
    next_interval(w, now);
}

static uint32_t wrc_gate_limit(const struct rs_outlet *o, const struct rs_settings *s) {
    (void)s;
    return wrc_gate_state(o)->wmax;
}

static const char *wrc_gate_check(const struct rs_outlet *o, const struct rs_settings *s) {
    const struct wrc *w = wrc_gate_state(o);
    if (w->wmax < 1 || w->wmax > s->window_max || o->open_below != w->wmax) return "wrc: the window is out of bounds";
    return w->started > 1 || w->slack > 1 ? "wrc: a flag is out of bounds" : NULL;
}

const struct rs_gate_ops rs_gate_wrc = {
    .name = "wrc",
    .init = wrc_gate_init,
    .arrived = arrived,
    .ended = wrc_gate_ended,
    .limit = wrc_gate_limit,
    .check = wrc_gate_check,
};
