/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_call.h - calls of services in work: who waits for one, what its parameters wait for, its turn, its result
 * (nextserve paper 3.2, the "service publishing layer").
 *
 *     call ─ read, bound ─┬─ its result is kept, and fresh ─→ done
 *                         ├─ an equal one is in work: joined
 *                         └─ gathering: each parameter that says where it is, all at one time (ccn_content.h)
 *                                └─ queued (ccn_threads.h) ─ running: httpd's handlers ─→ kept, done for all who wait
 *
 * Equal are calls that mean the same (service_bind.h, `key`), however they were written and whichever way they came.
 * Whoever demands a fresh run joins one that is in work, since that has begun to be made by then, and takes none that
 * is kept.
 *
 * A service is asked as this host asks itself, without anything of its callers but their parameters: what one gets is
 * what all may have.  A result that says otherwise (private, no-store, Set-Cookie) goes to the first who asked over
 * HTTP, is neither kept nor given to those who joined, and each of those has a run of its own.
 *
 * As many are in work as CcnQueue says.  No service has more than twice as many as there are places left (Choudhury and
 * Hahne, "Dynamic queue length thresholds", 1998): one alone has two thirds of them, and with several whose calls hang,
 * or wait for what does not come, the next one finds a place.  No caller has more than sixteen times as many: who calls
 * many services, or is many callers behind one address, leaves some to others.
 *
 * LOCKS.  `calls` covers the table, who waits for each, and how much of it is gathered; no other lock is taken while it
 * is held, and no callback is called.
 */
#ifndef FAIRGATE_CCN_CALL_H
#define FAIRGATE_CCN_CALL_H

#include "ccn_results.h"
#include "service/service_bind.h"

struct ccn_caller {
    uint32_t class;                     /* position in ccn_config()->classes; inner calls have it, too */
    enum service_over over;             /* how it came; inner calls come so, too */
    bool     fresh;                     /* no result that is kept */
    bool     alone;                     /* over HTTP: it may have a private result */
    unsigned deep;                      /* of the call that it stands in; 0: in none */
    uint32_t whose;                     /* for ccn_room_tag */
    /*
     * NULL, or: a result is kept, under that key; without its content.  True: the caller does the rest, and `done` is
     * not called.
     */
    bool   (*kept)(void *of, const char *key, uint64_t at_us, uint64_t fresh_us);
};

/* There is a result, or a problem's object in its place; NULL: no memory.  The callee releases it.  Without locks. */
typedef void ccn_call_done(void *of, struct ccn_result *r);

/* Such a text is called; `done` may be called before it returns. */
void ccn_call(const struct ccn_caller *who, const char *text, size_t n, ccn_call_done *done, void *of);
/* The same of a call that was read; it stays the caller's. */
void ccn_call_read(const struct ccn_caller *who, const struct service_call *call, ccn_call_done *done, void *of);

/* What equal calls have in common (service_bind.h, `key`): malloc'ed; NULL: the text is no call of a service here. */
char *ccn_call_key(const char *text, size_t n, enum service_over over);

/* In the thread that does chores, now and then and when it was woken: calls that wait for another process. */
void ccn_call_look_after(void);
/* This process ends, and that thread has ended: calls that wait for another process, or for their service, are told. */
void ccn_call_end_all(void);

/* The object of a problem as a result; NULL: no memory. */
struct ccn_result *ccn_result_problem(struct service_problem *problem);

#endif
