/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_threads.h - tasks that wait for their turn in the engine that all processes share, and the threads of this
 * process that run them.
 *
 * A task's states, and what covers them:
 *
 *     submitted ─→ waiting ── picked, by any process (the segment's lock) ─→ ready ── one takes it (`ready`) ─→ run
 *         ↑          ├── its deadline is over: cancelled (the segment's lock) ─→ dropped
 *       behind       └── another one's needs its place in a full queue (ccn_room.h), likewise ─→ dropped
 *
 * CcnThreads of them run at one time in all processes together; each has as many threads, so that whose task is picked
 * has one.  Where handlers can't run side by side (prefork), a process has one thread, and one task in the engine: a
 * second one's turn would be nobody's until the thread is free.  Others wait behind it (`ready`) in order of arrival.
 */
#ifndef FAIRGATE_CCN_THREADS_H
#define FAIRGATE_CCN_THREADS_H

#include <signal.h>

#include <apr_thread_proc.h>

#include "ccn_child.h"

struct ccn_task;

/* Of one that runs: nothing is to be done; others get its slot; its callers are told, too. */
enum ccn_slow { CCN_GOES_ON, CCN_SLOW, CCN_TOO_SLOW };

/* What a task is: each call is made without a lock, but for `slow` and `hold`. */
struct ccn_task_kind {
    /* In a service thread, `number` of them: ends with ccn_threads_end, and frees it. */
    void (*run)(struct ccn_task *t, apr_thread_t *thread, unsigned number);
    /* It waits no more, since its deadline is over, or its place has come (prefork): true if nothing waits for it. */
    bool (*late)(struct ccn_task *t, uint64_t now);
    /* It will not run: says so to who waits, and frees it. */
    void (*drop)(struct ccn_task *t);
    /* It has run for so many microseconds (ccn_turns.h); NULL: however long it takes. */
    enum ccn_slow (*slow)(struct ccn_task *t, uint64_t ran);
    /* It must stay until late_run, which may come when its run has ended; false: there is nothing to tell any more. */
    bool (*hold)(struct ccn_task *t);
    void (*late_run)(struct ccn_task *t);
};

struct ccn_task {
    const struct ccn_task_kind *kind;
    struct ccn_task *next;              /* among those that are ready */
    rs_ticket_t      ticket;
    bool             ready, displaced;
    unsigned         number;            /* the thread that runs it */
    uint32_t         class;             /* position in ccn_config()->classes */
    uint64_t         estimate;
    uint64_t         whose;             /* ccn_room_tag */
    _Atomic uint64_t deadline;          /* by shm_now: nobody waits for it any longer */
};

/* It waits from now on, and will be run or dropped; anything but RS_OK: it was not taken. */
enum rs_refusal ccn_threads_submit(struct ccn_task *t);
/* By who runs it, before it is freed: it was so much work; or it came to nothing. */
void ccn_threads_end(struct ccn_task *t, uint64_t work, bool whole);

/*
 * A prefork child ends in the handler of a signal, wherever that meets it: not while it may have a lock that a thread
 * needs which is waited for then.
 */
void ccn_threads_hold_signals(sigset_t *before);
/* Waits until no task of this process is left, where handlers must not run beside others (prefork). */
void ccn_threads_settle(void);
/* How many tasks wait or run, of all processes. */
uint32_t ccn_threads_busy(void);

/* Before the first task; threads begin here.  False: they could not. */
bool ccn_threads_start(void);
void ccn_threads_child_init(apr_pool_t *pchild, server_rec *s);

#endif
