/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a host may let come of a response: by reading no more than it is credited, or by a receive window that allows no more.
 *
 * Read pacing: one bucket of tokens per class, shared by its responses.
 *
 * Ours.  Requests decide shares only in the mean of many responses; a long one takes its time at the link's full speed.  A host that
 * reads no faster than it is credited lets TCP slow the sender down.  The classes that have responses outstanding share `rate` by weight;
 * a bucket holds `burst` bytes, and reading more than was credited is owed.
 */
#include "rs_engine.h"

/* Microseconds in which the class is given so many bytes. */
static uint64_t time_for(const rs_engine_t *e, const struct rs_class_row *row, uint64_t weights, uint64_t bytes) {
    unsigned __int128 t = (unsigned __int128)bytes * weights * 1000000u / ((unsigned __int128)e->settings.rate * row->settings.weight) + 1;
    return t > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)t;
}

static uint64_t weights_with(const rs_engine_t *e, const struct rs_class_row *row) {
    return e->weight_busy + (row->outstanding ? 0 : row->settings.weight);
}

static void refill(rs_engine_t *e, struct rs_class_row *row) {
    rs_time_t elapsed = e->now - row->credit_at;
    unsigned __int128 given = (unsigned __int128)e->settings.rate * row->settings.weight * elapsed;
    unsigned __int128 bytes = given / ((unsigned __int128)weights_with(e, row) * 1000000u);
    if (bytes == 0) return;     /* keep the time: many short steps must not lose what one long one gives */
    row->credit_at = e->now;
    int64_t most = (int64_t)e->settings.burst;
    if (bytes >= (unsigned __int128)(most - row->credit)) row->credit = most;
    else row->credit += (int64_t)bytes;
}

uint64_t rs_credit(rs_engine_t *e, rs_time_t now, rs_ticket_t t, rs_time_t *again) {
    rs_enter(e);
    rs_clamp_now(e, now);
    *again = RS_NEVER;
    const struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) == RS_QUEUED || !e->settings.pace || !e->settings.rate) return RS_UNLIMITED;
    struct rs_class_row *row = rs_class_row(e, r->class);
    refill(e, row);
    /* A quarter of the bucket at least: a byte at a time would cost more than it shares. */
    int64_t worth = (int64_t)e->settings.burst / 4;
    if (row->credit >= worth) return (uint64_t)row->credit;
    *again = row->credit_at + time_for(e, row, weights_with(e, row), (uint64_t)(worth - row->credit));
    return 0;
}

void rs_credit_used(rs_engine_t *e, struct rs_class_row *row, uint64_t bytes) {
    if (e->settings.rate) refill(e, row);
    if (bytes > RS_BYTES_MAX) bytes = RS_BYTES_MAX;
    row->credit -= (int64_t)bytes;
    if (row->credit < -(int64_t)RS_BYTES_MAX) row->credit = -(int64_t)RS_BYTES_MAX;
}

uint64_t rs_allowance(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    now = rs_clamp_now(e, now);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    const struct rs_gate_ops *gate = rs_gate_ops(e);
    if (!r || rs_row_state(r) != RS_RELEASED || !gate->bound) return RS_UNLIMITED;
    const struct rs_class_row *row = rs_row_class(e, r);
    uint64_t bound = gate->bound(rs_outlet(e, r->outlet), &e->settings, now);
    return bound == RS_UNLIMITED ? bound : (uint64_t)((unsigned __int128)bound * row->settings.weight / e->weight_busy / row->outstanding);
}
