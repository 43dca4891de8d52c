/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm.h - the engine in memory that processes share, whatever server they are of.
 *
 * A parent makes one segment, and every process that it forks inherits it at the same address, or every program that it
 * starts attaches to it at its own (shm_attach); nothing in it is a pointer or a distance: where its parts are follows
 * from struct shm_size, which each process has in memory of its own.
 *
 *     struct shm_segment | owners[] | rows[] | blocked[] | blocked_at[] | classes[] | leads[] | numbers[] | ended[] |
 *     the host's area | engine | no memory (RS_REACH)
 *
 * THE STATES OF A ROW, which stands beside the engine's ticket of the same index, and who moves it; all but the marked
 * moves under the lock.
 *
 * free ─ begin ─→ held ─────────── picked (shm_pump) ──────────→ go ─ the owner sees it * ─→ running ─ end ─→ free
 *                  │ ↑                                            ↑                          │    ↑
 *            block │ │ hold                                       │              sweep: its  │    │ shm_resume: takes
 *            aside ↓ │                                            │            client waits  ↓    │ a slot again
 *                blocked ───────── picked ────────────────────────┘                         parked
 *                  ├───── cancel, shm_end_wait: the owner gives up ─────→ free     (held likewise)
 *                  └───── overdue (shm_pump) ──→ refused ─ the owner is woken, cancel ─→ free     (held likewise)
 *
 * A running one that has had its slot for as long as it may (shm_request.park_us), or has brought as much as it may
 * (shm_park), is parked for good: shm_resume leaves it as it is.  One whose backend works on (shm_row.occupies) goes on
 * counting against its class's slots and share while it is parked for its client, and its time is told.
 *
 * Held: the owner has no thread for it and sleeps on a descriptor.  Blocked: a thread of the owner sleeps on the row's
 * `go`.  An owner that died leaves rows in any state, and whoever looks next frees them (shm_reclaim).
 *
 * WHO WRITES HERE, WITH WHICH POWER.  Owners do, as the server's user; who has taken one of them over may write
 * anything, anywhere, at any time.  The parent may be root.  So from the first fork on the parent reads nothing here,
 * follows nothing and locks nothing: it stores two numbers, that of the configuration in force and that of the
 * processes that ended, whose pids it puts into a ring by an index of its own (shm_tell_*).  Owners give back what a
 * dead one held, and put new settings in force.  They trust each other with requests (any of them may take all slots,
 * or lie about bytes), but not with memory: what one reads here is an index that is judged, a number, or the engine's
 * affair (rs.h), and behind the segment lie addresses without memory, so that whatever passes for an index faults.
 * Descriptors to write to are chosen from tables in memory of the process's own.
 *
 * DAMAGE.  Who takes the lock compares the constant parts with a copy, and whoever finds what can't be LEAVES: it puts
 * memory of its own, with a fresh engine without a window, in the place of the segment, wakes all who wait in this
 * process, and goes on, unscheduled; it says so to its host and to the parent (a byte in the pipe `alarm`), and marks
 * the segment so that others do the same.  The parent makes a fresh one for a new generation of processes.  A process
 * that dies of what it found (a fault, an assertion) had the lock, and has it until its core is written, if one is: the
 * next one to get it rebuilds everything, judges it, and leaves if it is not sound, or if its predecessor died in
 * rebuilding.
 *
 * AWAY.  A lock that is kept by a process which is there may be damage, or its holder is stopped, traced, writes its
 * core, or waits for memory that was swapped out.  Nobody waits for it for longer than SHM_LOCK_US or a little more
 * (shm_patience.h): a main loop that waits serves nobody.  Who has forked the segment leaves it then, and its parent
 * makes another.  Who has attached to it and can come back (shm_view.comes_back) leaves it for a while: the segment is
 * not marked, the others go on when they get the lock, and this one comes back to its place when the lock was given
 * back, or its holder is no longer there (shm_return), a second after it left at the earliest.  What it had there when
 * it left is given back then, and counts until then.  Who has to leave again within a minute stays away for twice as
 * long as before, up to 16 s, so that one who takes the lock and keeps it again and again stops the others for no more
 * than a part of the time.  From damage nobody comes back: such a segment is never used again, and processes that
 * attach to one need a parent that makes another.
 *
 * LOCKING.  `lock` survives its holder (base/base_mutex.h).  It covers the engine, owners[] (all but `wake`),
 * blocked[], numbers[] and rows[], except what is atomic there and says who reads it without the lock.  Nobody makes a
 * system call or allocates while holding it, but to leave: the wake-ups that a release needs are collected under the
 * lock and sent after it (struct shm_wakes).  It does not cover the host's area, which is the host's affair.  If its
 * holder dies, the next one to take it has the engine rebuilt before anything else is done (shm_lock).  That others
 * were quicker is no reason to leave, however long it lasts (shm_patience.h).
 *
 * WAKING.  A held request waits on an eventfd.  There is a stock of SHM_WAKE_FDS, made before the processes and
 * inherited, so that any process wakes its waiter directly.  When a crowd has used it up, a wait gets a descriptor that
 * only its owner knows, and another process's release goes through the owner's dispatcher.  A wait that blocks its
 * thread waits on its row's `go` as a futex.  A wake-up without a reason is harmless: who waits looks for itself.
 * A process that is one main loop has no dispatcher: it watches an eventfd of its own (shm_loop.h).
 *
 * OWNERS.  A process takes a row of owners[] when it starts; the row's number plus one is the owner of its tickets.
 * The parent notes whose end it has learnt of; what that one held is given back by whoever comes to look next
 * (shm_reclaim): a process that starts, a request that is submitted, one that waits, ten times a second.
 * A row keeps its pid until nothing is left to give back, and an end counts as noted until then: who dies while he
 * gives back is followed by the next.
 */
#ifndef FAIRGATE_SHM_H
#define FAIRGATE_SHM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base_mutex.h"
#include "core/rs.h"
#include "core/rs_waits.h"

#define SHM_NO_ROW       UINT32_MAX
#define SHM_TICK_US      100000u        /* how often waiters look at deadlines, clients that left and slow writers */
#define SHM_WAKE_FDS     512u
#define SHM_SLOW_US      200000u        /* who waits for its client for longer gives its slot back */
#ifndef SHM_OWN_FDS
#define SHM_OWN_FDS      (1u << 20)     /* descriptors below this may be a process's own to wait on */
#endif
#define SHM_ASIDE        UINT32_MAX     /* rows[].blocks of a wait in a thread that no other request could have had */

/* SHM_REFUSED: its owner ends the wait (shm_end_wait). */
enum shm_go { SHM_WAITS, SHM_GO, SHM_REFUSED };

struct shm_owner {
    pid_t            pid;               /* 0 = free row */
    /* chain through rows[].next of tickets that the dispatcher must wake; SHM_NO_ROW ends it */
    uint32_t         released;
    uint32_t         held;              /* requests that wait without a thread here, for the status page */
    _Atomic uint32_t wake;              /* futex word of the dispatcher, counted up when `released` grew */
};

struct shm_row {                        /* beside the engine's ticket of the same index */
    /* the live ticket, or RS_NO_TICKET.  Dispatchers read it, client_fd and deadline to find whom to look at */
    _Atomic uint64_t ticket;
    _Atomic uint32_t owner;
    _Atomic uint32_t go;                /* enum shm_go; read by who waits, futex word of a blocked wait */
    _Atomic int32_t  client_fd;         /* the client's socket in the owner's process; -1 = none to look at */
    int32_t          wake_fd;           /* what to write to when the wait is held; -1 = nobody waits on one (yet) */
    /* 1 + place in the stock if wake_fd is from there, else 0: only its owner can write to it */
    uint32_t         stock;
    _Atomic uint64_t deadline;
    uint32_t         next;
    uint32_t         chained;           /* 1 + the owner in whose `released` chain it is, else 0 */
    /* 1 + class number if this wait blocks a thread (counted in blocked[]), SHM_ASIDE, else 0 */
    uint32_t         blocks;
    uint32_t         pooled;            /* 1 if that thread is one of the pool that classes share */
    _Atomic uint32_t running;           /* 1 when who waited has seen `go` */
    _Atomic uint32_t parked;            /* enum shm_parked; read by who writes to its client or reads its body */
    _Atomic uint32_t occupies;          /* its backend works on while its thread waits for the client */
    _Atomic uint32_t slow;              /* it was parked for its client while it occupied its backend */
    _Atomic uint32_t inner;             /* the host's: requests that it has caused and that its slot is for, too */
    /* since when its thread waits for the client, who takes the answer or sends the body; 0 = it does not */
    _Atomic uint64_t client_since;
    _Atomic uint64_t slot_since;        /* since when it has had its slot, as far as not told; 0 = it has none */
    uint64_t         slot_us;           /* what that was told in all, but while it was `slow` and parked */
    /* how long it may have its slot, and until when, once it has it; 0 = as long as it likes */
    uint64_t         park_us;
    _Atomic uint64_t park_at;
    uint32_t         outlet;            /* whose blocked_at[] it is counted in, with `blocks` */
    uint32_t         begun;             /* its answer has (shm_begins) */
    uint32_t         waits, worker;     /* of shm_request */
};

/* For its client, who comes back; or for good: it had its slot for as long, or brought as much, as it may. */
enum shm_parked { SHM_NOT_PARKED, SHM_PARKED, SHM_PARKED_LONG, SHM_PARKED_LARGE };

/* The host's words about a class; zeroes when its number in the engine is another class's from now on. */
struct shm_class {
    _Atomic uint64_t mean;              /* running mean of response bytes; 0 = none yet */
    _Atomic uint64_t bytes, slot_us;    /* what it had, ever */
    _Atomic uint32_t waits[RS_WAITS];   /* released, ever, by how long they waited; changed under the lock */
};

struct shm_segment {
    _Atomic uint64_t seal;              /* what the view has, or it is given up */
    _Atomic uint32_t generation;        /* of the configuration; the parent's to write */
    _Atomic uint32_t ended;             /* processes that ended, ever; the parent's to write, after ended[] */
    _Atomic uint32_t reclaimed;         /* of these, those whose requests were given back; changed under the lock */
    uint32_t         configured;        /* the generation whose settings are in force */
    uint32_t         outlets_configured;
    struct base_mutex lock;
    _Atomic uint32_t turns;             /* how often it was taken; changed under the lock */
    uint32_t         rebuilding;        /* who died with the lock did it while it rebuilt */
    _Atomic uint64_t next_sweep;        /* when somebody should look for slow writers again */
    _Atomic uint64_t pump_at;           /* when a slot that waits for somebody waits no longer; 0 = none does */
    _Atomic uint64_t timed_out, gone, lost_owners;
    _Atomic uint64_t no_thread, no_descriptor;  /* refused because there was none to wait with */
    _Atomic uint64_t parked_long, parked_large; /* for good */
    _Atomic uint64_t started_us;
    /* whose background threads are at work: generation << 32 | 1 + owner; 0 = nobody's */
    _Atomic uint64_t keeper;
    uint32_t         pooled;            /* rows[] with pooled */
    uint32_t         blocked;           /* sum of blocked[] */
    uint32_t         nstock;            /* descriptors of the stock that are free: their places */
    uint16_t         stock[SHM_WAKE_FDS];
};

struct shm_size {
    uint32_t owners, classes, tickets;
    uint32_t outlets;                   /* of the engine; 0 = 1 */
    uint64_t area;                      /* bytes of the host's own, zeroes at first */
    uint32_t keys;                      /* rs_capacity.keys */
};

struct shm_view;

/* What a host wants to hear of; called without the lock, but for the last three. */
struct shm_host {
    /* a process ended with so many, and their slots are free again */
    void (*lost)(pid_t owner, uint32_t requests);
    void (*left)(const char *why);                      /* this process uses the segment no longer */
    /*
     * NULL, or with the lock: a request has had its slot for so long, or so much longer.  Told ten times a second, when
     * it gives its slot back for a while, and by shm_had_slot_locked.
     */
    void (*had_slot)(const struct shm_view *v, uint64_t now, rs_ticket_t t, uint64_t us);
    /*
     * NULL, or with the lock: a request is parked, since it has had its slot for so long in all.  Not one with `waits`,
     * nor one that was parked for its client before (shm_row.slow): its client may have made it last so long.
     */
    void (*parked_long)(const struct shm_view *v, rs_ticket_t t, uint64_t us);
    /* NULL, or with the lock: the time of one more request of this outlet may park it; it keeps its thread */
    bool (*may_park)(const struct shm_view *v, uint32_t outlet);
};

/*
 * Where the parts of a segment are in this process, and all else that is believed without looking there.  A plain copy
 * is as good.
 */
struct shm_view {
    struct shm_segment *sh;             /* NULL: none */
    struct shm_size    size;
    uint64_t           bytes, reserved; /* of it; and with the addresses behind it */
    struct shm_owner  *owners;
    struct shm_row    *rows;
    uint32_t          *blocked;         /* per class: threads that wait */
    uint32_t          *blocked_at;      /* the same per outlet */
    struct shm_class  *classes;         /* by its number in the engine */
    _Atomic int64_t   *leads;           /* the host's, of each class at each outlet; zeroes as shm_class is */
    uint32_t          *numbers;         /* per class of the configuration: its number in the engine */
    _Atomic int32_t   *ended;           /* a ring of pids */
    uint32_t           ended_mask;
    void              *area;            /* the host's */
    rs_engine_t       *engine;
    uint64_t           seal;
    unsigned char      constant[RS_CONSTANT];   /* of the engine */
    const int         *stock;           /* of wake-up descriptors; the same numbers in all processes */
    uint32_t           nstock;
    int                alarm;           /* where a process tells the parent that it has left; -1 = nowhere */
    /* it has attached to this descriptor, and its host calls shm_return while it is away */
    bool               comes_back;
    int                fd;
    /* by owner: an eventfd that its main loop watches; NULL: its dispatcher waits on `wake` */
    const int         *bells;
    const struct shm_host *host;        /* or NULL */
    uint32_t           told_ended;      /* the parent's: what it stored last */
};

/* Releases collected under the lock, to be woken after it. */
#define SHM_WAKES_MAX 64
struct shm_wakes {
    uint32_t n, others;
    struct { uint32_t row; int fd; } wake[SHM_WAKES_MAX];   /* fd < 0: the row's `go` is a futex */
    uint32_t other[SHM_WAKES_MAX];                          /* owners whose dispatchers have something to do */
};

uint64_t shm_now(void);                 /* microseconds, monotonic, the same clock in all processes */
uint64_t shm_now_coarse(void);          /* the same clock at a few milliseconds' grain, for almost nothing */

/*
 * In the parent.  A fresh segment for `v`, whose alarm and host the caller sets; 0, or -1 and *why.  It stays until the
 * process ends, or shm_free.
 */
int shm_make(struct shm_view *v, const struct shm_size *size, const struct rs_settings *s,
             const struct rs_class_settings *classes, uint32_t nclasses, const char **why);
/* The same of a process that shares it with nobody, and needs no addresses behind it. */
int shm_make_alone(struct shm_view *v, const struct shm_size *size, const struct rs_settings *s,
                   const struct rs_class_settings *classes, uint32_t nclasses, const char **why);
/*
 * The same for programs that the parent starts, each of which attaches to it at an address of its own: the descriptor
 * of the memory, which they inherit (it is not closed on exec), or -1 and *why.  Behind it are addresses without memory
 * for those who attach; the parent, which follows nothing there, does without.
 */
int shm_make_file(struct shm_view *v, const struct shm_size *size, const struct rs_settings *s,
                  const struct rs_class_settings *classes, uint32_t nclasses, const char **why);
/*
 * In such a program, which has all that is believed (descriptor, size, seal) from its parent and nothing from there.
 * 0; or -1 and *why: it is not that segment, was given up, or its constant parts are not what the size makes them.
 */
int shm_attach(struct shm_view *v, int fd, const struct shm_size *size, uint64_t seal, const char **why);
void shm_free(struct shm_view *v);
/* Before there are other processes: the stock's descriptors are free. */
void shm_stock(struct shm_view *v, const int *stock, uint32_t n);
/* 1 if a segment is at least as large as `size` asks. */
bool shm_fits(const struct shm_view *v, const struct shm_size *size);
/* These store, and read nothing. */
void shm_tell_generation(const struct shm_view *v, uint32_t generation);
void shm_tell_ended(struct shm_view *v, pid_t pid);

/*
 * In an owner: classes and settings of a generation, put in force by the first of its processes that comes here, which
 * is told so; number[] receives the classes' numbers in the engine in any case.  A process of a generation before the
 * one in force, slow to start, changes nothing.  SHM_NOT_CONFIGURED: the engine refused them (*why), what was before
 * stays in force.  Classes that are not among those in force have the number of `otherwise`, a position in classes[].
 */
enum shm_configured { SHM_CONFIGURED_BEFORE, SHM_CONFIGURED, SHM_NOT_CONFIGURED };
enum shm_configured shm_configure(const struct shm_view *v, uint32_t generation, const struct rs_settings *s,
                                  const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise,
                                  uint32_t *number, const char **why);

/*
 * The same for processes that read their configuration each at its own time, and know no number of it: what is in force
 * is known by a digest of all of it, not 0.  Whoever comes with another one puts his in force.
 */
enum shm_configured shm_configure_as(const struct shm_view *v, uint32_t digest, const struct rs_settings *s,
                                     const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise,
                                     uint32_t *number, const char **why);
/* What is in force; without the lock it may be another's a moment later. */
uint32_t shm_configured_as(const struct shm_view *v);
/* The numbers of these classes, by their names, while others are in force; that of `otherwise` where there is none. */
void shm_number(const struct shm_view *v, const struct rs_class_settings *classes, uint32_t nclasses,
                uint32_t otherwise, uint32_t *number);

/*
 * Behind shm_configure, likewise: outlets with windows of their own; *left_out: some of them have no place, and share
 * the first one's (rs_outlets).
 */
enum shm_configured shm_configure_outlets(const struct shm_view *v, uint32_t generation,
                                          const struct rs_outlet_settings *outlets, uint32_t n, uint32_t *number,
                                          bool *left_out, const char **why);

void shm_lock(const struct shm_view *v);
void shm_unlock(const struct shm_view *v);
/* this thread holds it: true only in a signal handler that interrupted us */
bool shm_lock_is_ours(const struct shm_view *v);
bool shm_has_left(const struct shm_view *v);            /* this process goes on without the others */
bool shm_is_away(const struct shm_view *v);             /* likewise, for a while (AWAY) */
/*
 * In a process of one thread that is away: is it time?  True: it is back, and what it held is to be given back before
 * all else (shm_owner_returned); none of its tickets is known.
 */
bool shm_return(const struct shm_view *v);

/* ---- one request: begin, then one of the ways to wait if it is not released at once, then end -------------------- */

struct shm_request {
    uint32_t owner, class;              /* its row of owners[]; its number in the engine */
    uint32_t outlet;                    /* its number in the engine */
    uint64_t estimate;                  /* bytes */
    uint64_t deadline;                  /* of its wait, by shm_now */
    int      client_fd;                 /* the client's socket in this process; -1 = none to look at */
    uint64_t park_us;                   /* how long it may have its slot; 0 = as long as it likes */
    /* it waits at the backend: it is parked as it is released; its time is counted to its end, had_slot not called */
    bool     waits;
    bool     worker;                    /* its backend has few workers, and one of them serves it (rs_park_working) */
    uint64_t tag;                       /* the host's own word, for rs_tag */
    uint64_t key[RS_KEY_LEVELS];        /* whose it is, for rs_submit_keyed */
};

/*
 * The host's area is damaged in a way that its owner can't mend, a lock that stands in it is never given back: this
 * process leaves the segment (DAMAGE); there is nothing but zeroes in the area then.  Without the lock, which is waited
 * for: other threads are at the engine.
 */
void shm_area_damaged(const struct shm_view *v, const char *why);

static inline struct shm_row *shm_row_of(const struct shm_view *v, rs_ticket_t t) {
    return &v->rows[rs_ticket_index(t)];
}

/* Submits it.  It counts as held until it is released (shm_pump_locked, next), blocked or cancelled. */
enum rs_refusal shm_begin_locked(const struct shm_view *v, uint64_t now, const struct shm_request *q, rs_ticket_t *t);
/* It waits without a thread from now on: a descriptor of the stock, or -1 if there is none left. */
int  shm_hold_locked(const struct shm_view *v, rs_ticket_t t);
/*
 * It is to wait in its thread.  A class always may block `own` threads, and of `pool` more as many as it leaves: one
 * alone takes half of them.  0: it may not, and is held still.
 */
int  shm_block_locked(const struct shm_view *v, rs_ticket_t t, uint32_t class, uint32_t own, uint32_t pool);
/* the same in a thread that no other request could have had: no bound, no count */
void shm_block_aside_locked(const struct shm_view *v, rs_ticket_t t);
/* It gives up waiting.  0 if it has been released meanwhile. */
bool shm_cancel_locked(const struct shm_view *v, uint64_t now, rs_ticket_t t);
bool shm_end_wait(const struct shm_view *v, rs_ticket_t t);             /* the same without the lock */
/* Tells the host the time until now (shm_host.had_slot).  Returns that of all its life. */
uint64_t shm_had_slot_locked(const struct shm_view *v, uint64_t now, rs_ticket_t t);
/* It is over: rs_finish, rs_abort or rs_hand_over has been called. */
void shm_end_locked(const struct shm_view *v, rs_ticket_t t);
/*
 * A parked one takes a slot again if one is free: those that were parked can be many, and with slots too many they
 * would keep all others from the server.
 */
void shm_resume(const struct shm_view *v, rs_ticket_t t);
/* It has brought as much as it may: it is parked for good, and others go.  Nothing the second time. */
void shm_park(const struct shm_view *v, uint32_t own, rs_ticket_t t);
/* Its backend's work is done: if it is parked, it costs its class nothing more. */
void shm_occupies_no_more(const struct shm_view *v, rs_ticket_t t);
/* Its answer begins: nobody works at it from now on but to send it. */
void shm_begins(const struct shm_view *v, rs_ticket_t t);
/*
 * The next sweep parks the request of this outlet that was submitted first, as if its park_us were over.  False: no
 * request with a park_us has a slot there, or `most` are parked so already.
 */
bool shm_park_soon(const struct shm_view *v, uint32_t outlet, uint32_t most);
/*
 * Park those that have waited for their client too long, and those that have had their slot for too long, for those who
 * wait for their slots; tell the host who has had one for how long.  The latter are told of as if they had theirs still
 * until their answers begin: somebody works at them.  Does nothing if it is not time yet.
 */
void shm_sweep(const struct shm_view *v, uint64_t now);

/* ---- waking ------------------------------------------------------------------------------------------------------ */

/*
 * A descriptor of this process that its waits may wait on: nothing else is ever written to but these and the stock.  0:
 * its number is too large.
 */
int  shm_own_fd(int fd);
/* What to write to, to wake who waits in this process by this row; -1: nobody, or nobody whom we could. */
int  shm_row_fd(const struct shm_view *v, const struct shm_row *row);
/*
 * Release what may go now, and refuse what is to be where a queue stands (rs_overdue), into `w`; stops when `w` is
 * full, and returns 1 then: wake and call again.  `own`: the caller's row of owners[], or SHM_NO_ROW. `self`: a ticket
 * of the caller's that needs no waking.
 */
int  shm_pump_locked(const struct shm_view *v, uint64_t now, uint32_t own, rs_ticket_t self, struct shm_wakes *w);
void shm_wake(const struct shm_view *v, const struct shm_wakes *w);     /* without the lock */
/* Lock, release whatever may go, unlock, wake. */
void shm_pump(const struct shm_view *v, uint32_t own);
/* One of those that were released for this owner to wake, no longer among them; NULL: there is none. */
struct shm_row *shm_next_released_locked(const struct shm_view *v, uint32_t owner);

/* ---- owners ------------------------------------------------------------------------------------------------------ */

/* in it, before all else: its row, or SHM_NO_ROW if all are taken */
uint32_t shm_owner_started(const struct shm_view *v, pid_t pid);
/* Behind shm_return: what this one held in its row when it left is given back.  False: it has left again. */
bool     shm_owner_returned(const struct shm_view *v, uint32_t owner, pid_t pid);
/*
 * Everything that those held whose ends the parent has noted is given back, and others are woken.  Almost free if there
 * is nothing to do.
 */
void     shm_reclaim(const struct shm_view *v);
/* The same of one place, by who has seen for himself that this process ended. */
void     shm_reclaim_owner(const struct shm_view *v, uint32_t owner, pid_t pid);
/*
 * Is it this process's threads that are to work in the background?  One process's are, of the newest generation; a
 * newer one takes over at once, and another when that one has ended.
 */
bool shm_keeps(const struct shm_view *v, uint32_t generation, uint32_t owner);
void     shm_keeps_no_longer(const struct shm_view *v, uint32_t generation, uint32_t owner);

#endif
