/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched.h - what a discipline is: which class at an outlet goes next.
 *
 * A discipline is one file with one table.  It keeps a private state per outlet (rs_sched_state, `size` bytes), reads
 * flows and tickets, and changes neither.  c is a class number; flows are up to date when a hook is called.
 *
 *     flow:  idle ─backlog→ waiting ─drained→ (released ones outstanding) ─idle→ idle
 *
 * HOOKS
 *     enter/leave   a ticket joined, left the queue (NULL for disciplines that look at flows only)
 *     backlog       the flow has its first queued request
 *     head          flow->best changed without a release, the flow still waits; or is no longer shut out
 *     may           somebody who waits may go (NULL: all may)
 *     take          who goes next, its ticket's index, RS_NIL if a slot had better stay free until outlet->ask_at: its
 *                   request leaves the queue after this
 *                   (flow->queued still counts it), and rs_flow_cost is on the account, of which the engine takes what
 *                   pays debts off flow->owed
 *     taken         (NULL: not interested) that request has left, and the flow still waits
 *     drained       the last queued request was cancelled, or the flow is held back since it has as many slots as it
 *                   may; backlog comes when it may go on (flow->held is still set then)
 *     charge        bytes (<= RS_BYTES_MAX) that came, for a discipline that charges on receipt; NULL for others
 *     refund        bytes given back, never more than were taken, or flow->owed has become less, for a discipline that
 *                   charges at release; NULL for others
 *     find_below    a class that waits and is below its part, as far as there is one that it finds at once, else RS_NIL
 *                   (NULL: never).  One that is starved comes before others
 *     take_of       take, of that class
 *     only          the class that waits when no other does, else RS_NIL (NULL: nobody knows)
 *     idle          nothing waits and nothing is outstanding (NULL: nothing to forget)
 *
 * Those that wait are rs_flow_waits: a flow that is held back does not.
 *
 * restore makes the whole state anew from the flows (after create, configure and a rebuild).  With `keep`, accounts
 * that were there are kept as far as they can be right; those of fresh classes, and all without it, become neutral.
 */
#ifndef FAIRGATE_SCHED_H
#define FAIRGATE_SCHED_H

#include "base_block.h"

/* How much a class has outstanding, and receives, compared with its part. */
enum rs_below { RS_NOT_BELOW, RS_BELOW, RS_STARVED };
typedef enum rs_below rs_below_t(const rs_engine_t *e, struct rs_outlet *o, uint32_t class);

struct rs_sched_ops {
    const char *name;
    uint64_t    (*size)(uint32_t classes);
    void        (*restore)(rs_engine_t *e, struct rs_outlet *o, int keep);
    void        (*enter)(rs_engine_t *e, struct rs_outlet *o, uint32_t t);
    void        (*leave)(rs_engine_t *e, struct rs_outlet *o, uint32_t t);
    void        (*backlog)(rs_engine_t *e, struct rs_outlet *o, uint32_t c);
    void        (*head)(rs_engine_t *e, struct rs_outlet *o, uint32_t c);
    bool        (*may)(const rs_engine_t *e, const struct rs_outlet *o);
    uint32_t    (*take)(rs_engine_t *e, struct rs_outlet *o, rs_time_t now);
    void        (*taken)(rs_engine_t *e, struct rs_outlet *o, uint32_t c);
    void        (*drained)(rs_engine_t *e, struct rs_outlet *o, uint32_t c);
    void        (*charge)(rs_engine_t *e, struct rs_outlet *o, uint32_t c, uint64_t bytes);
    void        (*refund)(rs_engine_t *e, struct rs_outlet *o, uint32_t c, uint64_t bytes);
    uint32_t    (*find_below)(rs_engine_t *e, struct rs_outlet *o, rs_below_t *below);
    uint32_t    (*take_of)(rs_engine_t *e, struct rs_outlet *o, uint32_t class);
    uint32_t    (*only)(const rs_engine_t *e, const struct rs_outlet *o);
    void        (*idle)(rs_engine_t *e, struct rs_outlet *o, uint32_t c);
    bool        reserves;           /* it passes over a flow whose best is shut out (rs_reserve.h) */
    bool        earns;              /* it pays off debts out of what a class earns, not with what its requests cost */
    int64_t     (*balance)(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c);        /* NULL: 0 */
    const char *(*check)(const rs_engine_t *e, const struct rs_outlet *o);                      /* NULL or a sentence */
};

extern const struct rs_sched_ops rs_sched_fifo, rs_sched_drr, rs_sched_drr_paper, rs_sched_rfq, rs_sched_rfq_paper,
    rs_sched_levels, rs_sched_shortest;

#endif
