/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_shared.h - the one segment that all children of all generations share.
 *
 * The parent makes it at start, keeps it over graceful restarts, and every child inherits it at the same address; nothing in it is a
 * pointer or a distance all the same: where its parts are follows from struct qos_size, which each process has in memory of its own.
 *
 *     struct qos_shared | children[] | rows[] | blocked[] | class_mean[] | numbers[] | ended[] | pages | engine | no memory (RS_REACH)
 *
 * WHO WRITES HERE, WITH WHICH POWER.  Children do, as httpd's user; who has taken one of them over may write anything, anywhere, at any time.  The
 * parent is root.  So from the first fork on the parent reads nothing here, follows nothing and locks nothing: it stores two numbers, that of
 * the configuration in force and that of the children that ended, whose pids it puts into a ring by an index of its own (qos_tell_*).
 * Children give back what a dead one held, and put new settings in force.
 * Children trust each other with requests (any of them may take all slots, or lie about bytes), but not with memory: what one reads
 * here is an index that is judged, a number, or the engine's affair (rs.h), and behind the segment lie addresses without memory, so that
 * whatever passes for an index faults.  Descriptors to write to are chosen from tables in memory of the process's own.
 *
 * DAMAGE.  Who takes the lock compares the constant parts with a copy, and whoever finds what can't be LEAVES: it puts memory of its own,
 * with a fresh engine without a window, in the place of the segment, wakes all who wait in this process, and goes on, unscheduled; it says so to its
 * host and to the parent (a byte in the pipe `alarm`), and marks the segment so that other children do the same.  The parent makes a fresh one for
 * a new generation of children.  A process that dies of what it found (a fault, an assertion) had the lock: the next one rebuilds everything,
 * judges it, and leaves if it is not sound, or if its predecessor died in rebuilding.
 *
 * LOCKING.  `lock` survives its holder (qos_mutex.h).  It covers the engine, children[] (all but `wake`), blocked[], numbers[] and rows[],
 * except what is atomic there and says who reads it without the lock.  Nobody makes a system call or allocates while holding it:
 * the wake-ups that a release needs are collected under the lock and sent after it (struct qos_wakes).  It does not cover what is learnt and
 * known of page sizes: pages, `known` and `share` say how they are read and written.  If its holder dies, the
 * next one to take it has the engine rebuilt before anything else is done (qos_lock).
 *
 * WAKING.  A held request waits on an eventfd.  There is a stock of QOS_WAKE_FDS, made before the children and inherited, so that
 * any process wakes its waiter directly.  When a crowd has used it up, a wait gets a descriptor that only its owner knows, and
 * another process's release goes through the owner's dispatcher.  A wait that blocks its thread waits on its row's `go` as a
 * futex.  A wake-up without a reason is harmless: who waits looks for itself.
 *
 * OWNERS.  A child takes a row of children[] when it starts; the row's number plus one is the owner of its tickets.  The parent notes
 * whose end it has learnt of; what that one held is given back by whoever comes to look next (qos_reclaim): a child that starts, a
 * request that is submitted, one that waits, ten times a second.
 */
#ifndef FAIRGATE_QOS_SHARED_H
#define FAIRGATE_QOS_SHARED_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/rs.h"
#include "qos_known.h"
#include "qos_mutex.h"
#include "qos_ring.h"

#define QOS_NO_ROW       UINT32_MAX
#define QOS_TICK_US      100000u        /* how often waiters look at deadlines, clients that left and slow writers */
#define QOS_WAKE_FDS     512u
#define QOS_SLOW_US      200000u        /* who waits for its client for longer gives its slot back */
#ifndef QOS_LOCK_US
#define QOS_LOCK_US      700000u        /* whoever keeps the lock for so long does it by mistake, or malice */
#define QOS_OWN_FDS      (1u << 20)     /* descriptors below this may be a process's own to wait on */
#endif
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
    _Atomic uint64_t seal;              /* what the view has, or it is given up */
    _Atomic uint32_t generation;        /* of the configuration; the parent's to write */
    _Atomic uint32_t ended;             /* children that ended, ever; the parent's to write, after ended[] */
    _Atomic uint32_t reclaimed;         /* of these, those whose requests were given back; changed under the lock */
    uint32_t         configured;        /* the generation whose settings are in force */
    struct qos_mutex lock;
    uint32_t         rebuilding;        /* who died with the lock did it while it rebuilt */
    _Atomic uint64_t next_sweep;        /* when somebody should look for slow writers again */
    _Atomic uint64_t timed_out, gone, lost_children;
    _Atomic uint64_t no_thread, no_descriptor;  /* refused because there was none to wait with */
    _Atomic uint64_t started_us;
    struct qos_known known;             /* the prober's table */
    struct qos_share share;             /* qos_share.h */
    _Atomic uint64_t keeper;            /* whose background threads are at work: generation << 32 | 1 + child; 0 = nobody's */
    uint32_t         pooled;            /* rows[] with pooled */
    uint32_t         nstock;            /* descriptors of the stock that are free: their places */
    uint16_t         stock[QOS_WAKE_FDS];
};

struct qos_size { uint32_t children, classes, tickets, pages; };

/* What a host wants to hear of; called without the lock. */
struct qos_host {
    void (*lost)(pid_t child, uint32_t requests);       /* a child ended with so many, and their slots are free again */
    void (*left)(const char *why);                      /* this process uses the segment no longer */
};

/* Where the parts of a segment are in this process, and all else that is believed without looking there.  A plain copy is as good. */
struct qos_view {
    struct qos_shared *sh;              /* NULL: none */
    struct qos_size    size;
    uint64_t           bytes, reserved; /* of it; and with the addresses behind it */
    struct qos_child  *children;
    struct qos_row    *rows;
    uint32_t          *blocked;         /* per class: threads that wait */
    _Atomic uint64_t  *class_mean;      /* per class: running mean of response bytes; 0 = none yet */
    uint32_t          *numbers;         /* per class of the configuration: its number in the engine */
    _Atomic int32_t   *ended;           /* a ring of pids */
    uint32_t           ended_mask;
    void              *pages;           /* qos_pages.h */
    rs_engine_t       *engine;
    uint64_t           seal;
    unsigned char      constant[RS_CONSTANT];   /* of the engine */
    uint64_t           hash_key[2];     /* of page sizes: URLs come from outside */
    struct qos_known_area known;
    const int         *stock;           /* of wake-up descriptors; the same numbers in all processes */
    uint32_t           nstock;
    int                alarm;           /* where a child tells the parent that it has left; -1 = nowhere */
    const struct qos_host *host;        /* or NULL */
    uint32_t           told_ended;      /* the parent's: what it stored last */
};

/* Releases collected under the lock, to be woken after it. */
#define QOS_WAKES_MAX 64
struct qos_wakes {
    uint32_t n, others;
    struct { uint32_t row; int fd; } wake[QOS_WAKES_MAX];   /* fd < 0: the row's `go` is a futex */
    uint32_t other[QOS_WAKES_MAX];                          /* children whose dispatchers have something to do */
};

uint64_t qos_now(void);                 /* microseconds, monotonic, the same clock in all processes */
uint64_t qos_now_coarse(void);          /* the same clock at a few milliseconds' grain, for almost nothing */

/*
 * In the parent.  A fresh segment for `v`, whose stock, known, alarm and host the caller sets; 0, or -1 and *why.  It stays until the process ends, or
 * qos_shared_free.
 */
int  qos_shared_make(struct qos_view *v, const struct qos_size *size, const struct rs_settings *s, const struct rs_class_settings *classes,
                     uint32_t nclasses, const char **why);
void qos_shared_free(struct qos_view *v);
/* Before there are children: the stock's descriptors are free. */
void qos_shared_stock(struct qos_view *v, const int *stock, uint32_t n);
/* 1 if a segment is at least as large as `size` asks. */
int  qos_shared_fits(const struct qos_view *v, const struct qos_size *size);
/* These store, and read nothing. */
void qos_tell_generation(const struct qos_view *v, uint32_t generation);
void qos_tell_ended(struct qos_view *v, pid_t pid);

/*
 * In a child: classes and settings of a generation, put in force by the first of its children that comes here, which is told so; number[] receives
 * the classes' numbers in the engine in any case.  A child of a generation before the one in force, slow to start, changes nothing.
 * QOS_NOT_CONFIGURED: the engine refused them (*why), what was before stays in force.  Classes that are not among those in force have the number of
 * `otherwise`, a position in classes[].
 */
enum qos_configured { QOS_CONFIGURED_BEFORE, QOS_CONFIGURED, QOS_NOT_CONFIGURED };
enum qos_configured qos_configure(const struct qos_view *v, uint32_t generation, const struct rs_settings *s,
                                  const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise, uint32_t *number,
                                  const char **why);

void qos_lock(const struct qos_view *v);
void qos_unlock(const struct qos_view *v);
int  qos_lock_is_ours(const struct qos_view *v);        /* this thread holds it: true only in a signal handler that interrupted us */
int  qos_has_left(const struct qos_view *v);            /* this process goes on without the others */

/* A descriptor of this process that its waits may wait on: nothing else is ever written to but these and the stock.  0: its number is too large. */
int  qos_own_fd(int fd);
/* What to write to, to wake who waits in this process by this row; -1: nobody, or nobody whom we could. */
int  qos_row_fd(const struct qos_view *v, const struct qos_row *row);

/*
 * Release what may go now, into `w`; stops when `w` is full, and returns 1 then: wake and call again.  `own`: the caller's row of
 * children[], or QOS_NO_ROW. `self`: a ticket of the caller's that needs no waking.
 */
int  qos_pump_locked(const struct qos_view *v, uint64_t now, uint32_t own, rs_ticket_t self, struct qos_wakes *w);
void qos_wake(const struct qos_view *v, const struct qos_wakes *w);     /* without the lock */
/* A row's request waits from now on: a descriptor of the stock, or -1 if there is none left. */
int  qos_row_wait_locked(const struct qos_view *v, struct qos_row *row);
/*
 * A row's request is to wait in its thread.  A class always may block `own` threads, and of `pool` more those that no class has
 * taken.  0: it may not.
 */
int  qos_row_block_locked(const struct qos_view *v, struct qos_row *row, uint32_t class, uint32_t own, uint32_t pool);
void qos_row_block_aside_locked(struct qos_row *row);   /* the same in a thread that no other request could have had: no bound, no count */
void qos_row_unblock_locked(const struct qos_view *v, struct qos_row *row);     /* it waits in its thread no longer */
/* One of those that were released for this child to wake, no longer among them; NULL: there is none. */
struct qos_row *qos_next_released_locked(const struct qos_view *v, uint32_t child);
/* A row's request is over. */
void qos_row_free_locked(const struct qos_view *v, struct qos_row *row);
/* Lock, release whatever may go, unlock, wake. */
void qos_pump(const struct qos_view *v, uint32_t own);
/* Who waits takes its request out of its queue.  0 if it has been released meanwhile. */
int  qos_end_wait(const struct qos_view *v, rs_ticket_t t);

uint32_t qos_child_started(const struct qos_view *v, pid_t pid);    /* in it, before all else: its row, or QOS_NO_ROW if all are taken */
/* Everything that those held whose ends the parent has noted is given back, and others are woken.  Almost free if there is nothing to do. */
void     qos_reclaim(const struct qos_view *v);

/* Park tickets that have waited for their client too long, for those who wait for their slots.  Does nothing if it is not time yet. */
void qos_sweep(const struct qos_view *v, uint64_t now);

#endif
