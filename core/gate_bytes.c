/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate_bytes.c - at most so many bytes outstanding as the link carries in `horizon_ms`.
 *
 * Ours, beside WRC: a window counts a 1 MB response like one of 1 KB; what keeps a link busy, and stands in the queue
 * in front of it, is bytes on their way.  Of one response no more than an eighth of the bound counts:  TCP has no more
 * of it on its way either (rs_allowance), and a class must not have the link for itself because it asked for something
 * large.  In a class that goes shortest first it is what a large one has on its way while smaller ones come; and of one
 * that has shown to be slow what it brings and a quarter more (rs_row_expected).  One response is always allowed.
 * What comes through the link and belongs to no ticket (access-gateway paper 3.5) takes its part of the rate, down to
 * an eighth of it.  Without a rate there is nothing to multiply, and the gate is a plain window.
 *
 * Eight long responses that came first hold all of the bound for as long as they last.  So once the gate has been shut
 * for a while (SHUT_FOR), a class that has less outstanding than its part may have more (rs_below_its_part), until
 * twice as much is expected as may be; one with nothing outstanding, until four times as much is.  The windows of the
 * others become smaller then (rs_allowance).
 */
#include "gate.h"

#define SLICES   8
/* microseconds over which bytes are counted; the rate of those of no ticket is a mean over about four of them */
#define INTERVAL 500000u
/* microseconds for which the gate has been shut: longer than between two responses */
#define SHUT_FOR 100000u
/* times what may be outstanding can be expected of all, then */
#define SPARE    4

/* rate: of bytes of no ticket.  shut: since then it has been, 0 = it is open; asked: `may`, last. */
struct aside {
    rs_time_t since;
    uint64_t bytes, rate;
    rs_time_t shut, asked;
};

static struct aside *bytes_gate_state(const struct rs_outlet *o) { return (struct aside *)(uintptr_t)o->gate_state; }

static void bytes_gate_init(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, int again) {
    _Static_assert(sizeof(struct aside) <= sizeof o->gate_state, "the gate's state has no room");
    struct aside *a = bytes_gate_state(o);
    o->open_below = s->rate ? 1 : rs_window_or(s, RS_WINDOW_NORMAL);
    if (!again || a->since > now || a->rate > RS_BYTES_MAX || a->bytes > RS_BYTES_MAX || a->shut > now)
        *a = (struct aside){ .since = now };
}

static uint32_t bytes_gate_limit(const struct rs_outlet *o, const struct rs_settings *s) {
    (void)o;
    return s->rate ? 0 : rs_window_or(s, RS_WINDOW_NORMAL);
}

/* The interval that is over joins the mean; long without any, the mean is nothing. */
static void roll(struct aside *a, rs_time_t now) {
    rs_time_t elapsed = now - a->since;
    if (elapsed < INTERVAL) return;
    uint64_t rate = (uint64_t)((unsigned __int128)a->bytes * 1000000u / elapsed);
    a->rate = elapsed >= 8 * INTERVAL ? rate : (3 * a->rate + rate) / 4;
    a->bytes = 0;
    a->since = now;
}

static uint64_t bytes_gate_sum(uint64_t a, uint64_t b) { return b < RS_BYTES_MAX - a ? a + b : RS_BYTES_MAX; }

static void bytes_gate_aside(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, uint64_t bytes) {
    (void)s;
    struct aside *a = bytes_gate_state(o);
    roll(a, now);
    a->bytes = bytes_gate_sum(a->bytes, bytes);
}

static uint64_t bound(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now) {
    struct aside *a = bytes_gate_state(o);
    if (!s->rate) return RS_UNLIMITED;
    roll(a, now);
    uint64_t least = s->rate / 8 + 1, rate = a->rate < s->rate && s->rate - a->rate > least ? s->rate - a->rate : least;
    return rate * s->horizon_ms / 1000;
}

static uint64_t slice(const struct rs_settings *s) {
    return s->rate ? s->rate * s->horizon_ms / 1000 / SLICES + 1 : UINT64_MAX;
}

static int bytes_gate_may(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now, rs_time_t *again) {
    struct aside *a = bytes_gate_state(o);
    bool open = s->rate && o->expected < bound(o, s, now);
    if (open) a->shut = 0;
    else if (!a->shut || now - a->asked >= SHUT_FOR) a->shut = now; /* not asked for so long: it may have been open */
    a->asked = now;
    if (!open && s->rate && a->shut + SHUT_FOR > now && a->shut + SHUT_FOR < *again) *again = a->shut + SHUT_FOR;
    return open;
}

static bool bytes_gate_spare(struct rs_outlet *o, const struct rs_settings *s, rs_time_t now) {
    const struct aside *a = bytes_gate_state(o);
    return s->rate && a->shut && now - a->shut >= SHUT_FOR && o->expected / SPARE < bound(o, s, now);
}

static const char *bytes_gate_check(const struct rs_outlet *o, const struct rs_settings *s) {
    (void)s;
    return bytes_gate_state(o)->rate > RS_BYTES_MAX || bytes_gate_state(o)->bytes > RS_BYTES_MAX
               ? "bytes: a rate is out of bounds"
               : NULL;
}

const struct rs_gate_ops rs_gate_bytes = {
    .name = "bytes",
    .slice = slice,
    .init = bytes_gate_init,
    .may = bytes_gate_may,
    .spare = bytes_gate_spare,
    .aside = bytes_gate_aside,
    .bound = bound,
    .limit = bytes_gate_limit,
    .check = bytes_gate_check,
};
