/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_shared.h - the one segment that all children of all generations share.
 *
 * The parent makes it at start, keeps it over graceful restarts, and every child inherits it at the same address; nothing in it is a
 * pointer all the same, so that no generation depends on another's layout of memory.
 *
 *     struct qos_shared | children[] | rows[] | blocked[] | class_mean[] | pages | engine
 *
 * LOCKING.  `lock` is a robust process-shared mutex.  It covers the engine, children[] (all but `wake`), blocked[] and rows[],
 * except what is atomic there and says who reads it without the lock.  Nobody makes a system call or allocates while holding it:
 * the wake-ups that a release needs are collected under the lock and sent after it (struct qos_wakes).  It does not cover what is learnt and
 * known of page sizes: pages, `known` and `share` say how they are read and written, hash_key is the parent's, set while there are no children
 * or by a change of QosShare (an estimate or two are off then).  If its holder dies, the
 * next one to take it has the engine rebuilt before anything else is done (qos_lock).
 *
 * WAKING.  A held request waits on an eventfd.  There is a stock of QOS_WAKE_FDS, made before the children and inherited, so that
 * any process wakes its waiter directly.  When a crowd has used it up, a wait gets a descriptor that only its owner knows, and
 * another process's release goes through the owner's dispatcher.  A wait that blocks its thread waits on its row's `go` as a
 * futex.  A wake-up without a reason is harmless: who waits looks for itself.
 *
 * OWNERS.  A child takes a row of children[] when it starts; the row's number plus one is the owner of its tickets.  When the parent
 * learns of a child's end, it gives back what the child held (qos_child_ended).
 */
#ifndef FAIRGATE_QOS_SHARED_H
#define FAIRGATE_QOS_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/rs.h"
#include "qos_known.h"
#include "qos_ring.h"

#define QOS_NO_ROW       UINT32_MAX
#define QOS_TICK_US      100000u        /* how often waiters look at deadlines, clients that left and slow writers */
#define QOS_WAKE_FDS     512u
#define QOS_SLOW_US      200000u        /* who waits for its client for longer gives its slot back */
#define QOS_ASIDE        UINT32_MAX     /* rows[].blocks of a wait in a thread that no other request could have had */

struct qos_child {
    pid_t            pid;               /* 0 = free row */
    uint32_t         released;          /* chain through rows[].next of tickets that the dispatcher must wake; QOS_NO_ROW ends it */
    uint32_t         held;              /* requests that wait without a thread here, for the status page */
    _Atomic uint32_t wake;              /* futex word of the dispatcher, counted up when `released` grew */
};

struct qos_row {                        /* beside the engine's ticket of the same index */
    _Atomic uint64_t ticket;            /* the live ticket, or RS_NO_TICKET.  Dispatchers read it, client_fd and deadline to find whom to look at */
    _Atomic uint32_t owner;
    _Atomic uint32_t go;                /* 0 while it waits, 1 when it is released; read by who waits, futex word of a blocked wait */
    _Atomic int32_t  client_fd;         /* the client's socket in the owner's process; -1 = none to look at */
    int32_t          wake_fd;           /* what to write to when the wait is held; -1 = nobody waits on one (yet) */
    uint32_t         stock;             /* 1 + place in the stock if wake_fd is from there, else 0: only its owner can write to it */
    _Atomic uint64_t deadline;
    uint32_t         next;
    uint32_t         chained;           /* 1 + the child in whose `released` chain it is, else 0 */
    uint32_t         blocks;            /* 1 + class number if this wait blocks a thread (counted in blocked[]), QOS_ASIDE, else 0 */
    uint32_t         pooled;            /* 1 if that thread is one of the pool that classes share */
    _Atomic uint32_t running;           /* 1 when who waited has seen `go` */
    _Atomic uint32_t parked;            /* 1 while the ticket is parked for a slow client; read by who writes to it or reads its body */
    _Atomic uint64_t client_since;      /* since when its thread waits for the client, who takes the answer or sends the body; 0 = it does not */
};

struct qos_share {
    struct qos_ring  news, wanted;      /* keys of sizes that changed, and of some that were looked for in vain */
    _Atomic uint64_t stored, found, failed, rejected;
};

struct qos_shared {
    uint32_t         magic, version;
    uint64_t         size;
    uint32_t         children, classes, tickets, pages;
    uint64_t         children_at, rows_at, blocked_at, means_at, pages_at, engine_at;
    pthread_mutex_t  lock;
    uint64_t         hash_key[2];       /* of the page-size table: URLs come from outside */
    _Atomic uint64_t next_sweep;        /* when somebody should look for slow writers again */
    _Atomic uint64_t timed_out, gone, lost_children;
    _Atomic uint64_t no_thread, no_descriptor;  /* refused because there was none to wait with */
    _Atomic uint64_t started_us;
    struct qos_known known;             /* the prober's table */
    struct qos_share share;             /* qos_share.h */
    _Atomic uint32_t generation;        /* of the configuration; counted by the parent */
    _Atomic uint64_t keeper;            /* whose background threads are at work: generation << 32 | 1 + child; 0 = nobody's */
    uint32_t         pooled;            /* rows[] with pooled */
    uint32_t         nstock;            /* descriptors of the stock that are free: their places */
    uint16_t         stock[QOS_WAKE_FDS];
};

/* Where the parts of a segment are in this process. */
struct qos_view {
    struct qos_shared *sh;
    struct qos_child  *children;
    struct qos_row    *rows;
    uint32_t          *blocked;         /* per class: threads that wait */
    _Atomic uint64_t  *class_mean;      /* per class: running mean of response bytes; 0 = none yet */
    void              *pages;           /* qos_pages.h */
    struct qos_known_area known;
    rs_engine_t       *engine;
    const int         *stock;           /* of wake-up descriptors; the same numbers in all processes */
    uint32_t           nstock;
};

/* Releases collected under the lock, to be woken after it. */
#define QOS_WAKES_MAX 64
struct qos_wakes {
    uint32_t n, others;
    struct { uint32_t row; int fd; } wake[QOS_WAKES_MAX];   /* fd < 0: the row's `go` is a futex */
    uint32_t other[QOS_WAKES_MAX];                          /* children whose dispatchers have something to do */
};

struct qos_size { uint32_t children, classes, tickets, pages; };

uint64_t qos_now(void);                 /* microseconds, monotonic, the same clock in all processes */
uint64_t qos_now_coarse(void);          /* the same clock at a few milliseconds' grain, for almost nothing */

/* A fresh segment, or NULL with errno.  It stays until the process ends, or qos_shared_free. */
struct qos_shared *qos_shared_make(const struct qos_size *size, const struct rs_settings *s, const struct rs_class_settings *classes,
                                   uint32_t nclasses, const char **why);
void               qos_shared_free(struct qos_shared **sh);
/* 1 if a segment kept from before is of this build and at least as large as `size` asks. */
int                qos_shared_fits(const struct qos_shared *sh, const struct qos_size *size);
int                qos_shared_view(struct qos_shared *sh, struct qos_view *v);  /* 0, or -1 if the engine in it is not ours */

void qos_lock(const struct qos_view *v);
void qos_unlock(const struct qos_view *v);
int  qos_lock_is_ours(void);            /* this thread holds it: true only in a signal handler that interrupted us */

/*
 * Release what may go now, into `w`; stops when `w` is full, and returns 1 then: wake and call again.  `own`: the caller's row of
 * children[], or QOS_NO_ROW. `self`: a ticket of the caller's that needs no waking.
 */
int  qos_pump_locked(const struct qos_view *v, uint64_t now, uint32_t own, rs_ticket_t self, struct qos_wakes *w);
void qos_wake(const struct qos_view *v, const struct qos_wakes *w);     /* without the lock */
/* A row's request waits from now on: gives it a descriptor of the stock, if there is one left. */
void qos_row_wait_locked(const struct qos_view *v, struct qos_row *row);
/*
 * A row's request is to wait in its thread.  A class always may block `own` threads, and of `pool` more those that no class has
 * taken.  0: it may not.
 */
int  qos_row_block_locked(const struct qos_view *v, struct qos_row *row, uint32_t class, uint32_t own, uint32_t pool);
void qos_row_block_aside_locked(struct qos_row *row);   /* the same in a thread that no other request could have had: no bound, no count */
void qos_row_unblock_locked(const struct qos_view *v, struct qos_row *row);     /* it waits in its thread no longer */
/* A row's request is over. */
void qos_row_free_locked(const struct qos_view *v, struct qos_row *row);
/* Lock, release whatever may go, unlock, wake. */
void qos_pump(const struct qos_view *v, uint32_t own);
/* Who waits takes its request out of its queue.  0 if it has been released meanwhile. */
int  qos_end_wait(const struct qos_view *v, rs_ticket_t t);

uint32_t qos_child_started(const struct qos_view *v, pid_t pid);    /* its row, or QOS_NO_ROW if all are taken */
/* Everything that child `pid` held is given back and others are woken; returns how many requests were lost with it. */
uint32_t qos_child_ended(const struct qos_view *v, pid_t pid);

/* Park tickets that have waited for their client too long, for those who wait for their slots.  Does nothing if it is not time yet. */
void qos_sweep(const struct qos_view *v, uint64_t now);

void qos_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_us);
void qos_futex_wake(_Atomic uint32_t *word);

#endif
