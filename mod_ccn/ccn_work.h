/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_work.h - pages that are wanted: who waits for them, whose turn it is, and the threads that make them.
 *
 * A page is asked for by a first Interest; equal ones that come while it waits or is being made join it.  It waits in
 * the engine that all processes share (shm/shm.h) for one of CcnThreads slots; its work is counted in microseconds that
 * its making and sending is expected to take, which its URL, pattern and directory taught.
 *
 *     ask ─→ queued ── released ──→ ready ── a thread takes it ──→ running ── cut into segments, replies ──→ over
 *      │       │ all who wait for it have given up (lifetimes) ─→ over          └─ none left who waits ─→ over
 *      │       └─ refused ─→ an answer that says so
 *      └─ joined
 *
 * LOCKS.  `works` covers the table of what is wanted and each one's list of those who wait; the segment's lock (never
 * taken while `works` is held, nor the other way round) covers tickets; `ready` the list of those released.
 *
 * With CcnScheduler fifo, the paper's server, an Interest for a segment takes its turn and a thread like any other.
 */
#ifndef FAIRGATE_CCN_WORK_H
#define FAIRGATE_CCN_WORK_H

#include "ccn_face.h"
#include "ccn_map.h"

/* An Interest for a page, or for its metadata, came: it is answered in any case but that nobody waits any more. */
void ccn_work_page(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_wanted *w,
                   const struct ccn_token *t);
/* CcnScheduler fifo: one for a segment that is kept. */
void ccn_work_segment(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_store_id *id,
                      uint32_t segment, const struct ccn_token *t);
/* One of a call's result that is not kept under its name, or no longer: it is signed, or refused. */
void ccn_work_result_segment(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_wanted *w,
                             const struct ccn_token *t);

/* In a child: threads begin when the first face does. 0 or an error number. */
int  ccn_work_start(void);
void ccn_work_child_init(apr_pool_t *pchild);

#endif
