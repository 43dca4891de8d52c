/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_account.h - what a class is charged, owes and gets back, and what its responses teach; for rs_life.c alone.
 *
 * Of a response `covered` bytes have been told to the account, and `charged` of them it took: at release up to
 * rs_upfront_max by the discipline (rs_flow_cost), from then on as a debt, flow->owed, up to rs_flow_owed_max.
 */
#ifndef FAIRGATE_RS_ACCOUNT_H
#define FAIRGATE_RS_ACCOUNT_H

#include "rs_engine.h"

#define MEAN_UNKNOWN 16384u     /* bytes of a response of which nobody knows anything */
/*
 * A running mean over about 64 responses: over 16, of pages of which one in twenty is large none would be left of that
 * one when the next comes, and each would count as twice the small ones.
 */
#define MEAN_SHIFT   6
/* so that who does not need it does not save registers for it */
#define APART        __attribute__((noinline, unused))
#define RARELY       __attribute__((noinline, cold, unused))

static inline uint64_t at_most_max(uint64_t bytes) { return bytes < RS_BYTES_MAX ? bytes : RS_BYTES_MAX; }

static RARELY uint64_t guess(const rs_engine_t *e, const struct rs_class_row *row, uint64_t estimate) {
    if (estimate) return at_most_max(estimate);
    if (row->mean) return row->mean;
    return e->mean ? e->mean : MEAN_UNKNOWN;
}

/* The first response of a class is measured by what is known of others. */
static RARELY uint64_t learn_first(const rs_engine_t *e, uint64_t bytes) {
    uint64_t most = (e->mean ? e->mean : MEAN_UNKNOWN) << 4;
    return bytes < most ? bytes : most;
}

/*
 * A giant doubles the mean and no more.  A class of which nothing is known yet takes the mean of the one that ended a
 * response last.
 */
static inline void learn(rs_engine_t *e, struct rs_class_row *row, uint64_t bytes) {
    int64_t mean = (int64_t)row->mean, step = ((int64_t)bytes - mean) >> MEAN_SHIFT;
    if (step > mean) step = mean;
    row->mean = e->mean = mean ? (uint64_t)(mean + step) : learn_first(e, bytes);
}

static APART uint64_t owe_much(const rs_engine_t *e, struct rs_flow *f, uint64_t bytes) {
    uint64_t most = rs_flow_owed_max(e, f), room = f->owed < most ? most - f->owed : 0;
    if (bytes > room) bytes = room;
    f->owed += bytes;
    return bytes;
}

/* Bytes that nobody paid before they came: a debt.  How much of them was taken; the rest is forgiven. */
static inline uint64_t owe(const rs_engine_t *e, struct rs_flow *f, uint64_t bytes) {
    uint64_t owed = f->owed + bytes;
    if (owed > e->owed_least) return owe_much(e, f, bytes);
    f->owed = owed;
    return bytes;
}

/* The account took so much too much: debts first. */
static inline void give_back(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f, uint64_t bytes) {
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    uint64_t paid = bytes < f->owed ? bytes : f->owed;
    if (!ops->refund) return;
    f->owed -= paid;
    ops->refund(e, o, f->class, bytes - paid);
}

/* The response turned out to be `is` bytes long. */
static RARELY void refund(rs_engine_t *e, struct rs_outlet *o, struct rs_ticket_row *r, uint64_t is) {
    uint64_t back = r->charged - is;
    r->charged = is;
    give_back(e, o, rs_row_flow(e, r), back);
}

/* What the account hears of a response from now on. */
static inline uint64_t covered_at_first(const struct rs_class_row *row, uint64_t estimate) {
    uint64_t most = rs_upfront_max(row);
    return estimate < most ? estimate : most;
}

#endif
