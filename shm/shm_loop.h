/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_loop.h - the engine in memory that processes share (shm.h), for servers whose processes are one main loop each,
 * and may be written in C++.
 *
 * Every request that waits is its process's affair; who releases one tells the engine, and rings that process's bell,
 * an eventfd that its main loop watches.  The process then asks which of its requests have been let go.
 *
 * PROCESSES.  A parent makes the segment before it starts others, and hands a text to them, in their environment say:
 * numbers of descriptors that they inherit, and sizes.  They may be other programs, and attach where they like.  Who
 * has requests takes a place first (shm_loop_join); who only looks, for a status page, need not.  A server that is one
 * process alone has memory of its own.
 *
 * CALLS.  Those that end in _locked stand between shm_loop_lock and shm_loop_unlock, where nobody makes a system call
 * or allocates; what a release wakes is woken by shm_loop_unlock.  The engine's own calls (rs.h) stand there, too,
 * but not rs_submit, rs_pick, rs_cancel, rs_finish and rs_abort, for which there are others here.  A process has one of
 * these, and one thread that uses it.
 *
 * DEATH.  What a process held that ended is given back by whoever looks next (shm_loop_reclaim): one that has requests
 * of its own does so ten times a second.  The parent tells who ended (shm_loop_ended), and who looks sees it for
 * himself, too: a parent may be stopped, or have ended, and nobody else have waited for the process.
 *
 * DAMAGE.  See shm.h.  When the host hears `left`, the segment is no longer there for this process: none of its tickets
 * is known, and whoever waits is to go.  Tickets that are handed to these calls afterwards do nothing.  The place of a
 * ticket that these calls return (rs_ticket_index) is below shm_loop_size.tickets, whatever others write; that it is
 * one that the host knows, the host judges.
 *
 * AWAY.  Where nothing is damaged, but the lock is not given back, since its holder is stopped say, a process that was
 * started may leave for a while and come back (shm.h): the host promises to call shm_loop_return ten times a second or
 * so while it is away, and has forgotten its tickets by then.  When it is back it has its place and its bell as before,
 * and nothing else: what it held was given back, and another configuration may be in force.  Until then the host's area
 * is this process's own, too, and zeroes at first.
 */
#ifndef FAIRGATE_SHM_LOOP_H
#define FAIRGATE_SHM_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/rs.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SHM_LOOP_PROCESSES 256u         /* never more */
#define SHM_LOOP_TEXT      4096u        /* bytes that the text for programs takes, with its NUL */

typedef struct shm_loop shm_loop_t;

struct shm_loop_size {
    uint32_t processes, classes, tickets;
    uint32_t keys;                      /* rs_capacity.keys */
    uint64_t area;                      /* bytes of the host's own, zeroes at first, aligned to 64 */
};

struct shm_loop_host {
    /* Another process ended with so many requests, and they were given back; called without the lock. */
    void (*lost)(pid_t process, uint32_t requests);
    /* This process uses the segment no longer; called with the lock, perhaps: to be noted only. */
    void (*left)(const char *why);
};

/*
 * In the parent, before it starts others: NULL and *why if it can't be made.  *text has room for SHM_LOOP_TEXT bytes.
 */
shm_loop_t *shm_loop_make(const struct shm_loop_size *z, const struct rs_settings *s,
                          const struct rs_class_settings *classes, uint32_t nclasses, char *text, const char **why);
/* In a process that was started with this text.  NULL and *why: the segment is not there, or was given up. */
shm_loop_t *shm_loop_attach(const char *text, const struct shm_loop_host *host, const char **why);
/* In a process that is the only one. */
shm_loop_t *shm_loop_alone(const struct shm_loop_size *z, const struct shm_loop_host *host,
                           const struct rs_settings *s, const struct rs_class_settings *classes, uint32_t nclasses,
                           const char **why);
/* The descriptors, too, but not the other processes' use of it. */
void shm_loop_free(shm_loop_t **l);

/* The parent's: this one ended.  It stores two numbers, and reads nothing. */
void shm_loop_ended(shm_loop_t *l, pid_t process);

/* Takes one of the places for processes; false: all are taken, or it has left, and is not back. */
bool shm_loop_join(shm_loop_t *l);
/* Its place, below shm_loop_size.processes. */
uint32_t shm_loop_place(const shm_loop_t *l);
/* Becomes readable when another process has let a request of this one go; -1: there are no others. */
int shm_loop_bell(const shm_loop_t *l);
/* So that it is silent until it is rung again. */
void shm_loop_silence(const shm_loop_t *l);

uint32_t shm_loop_processes(const shm_loop_t *l);
void *shm_loop_area(const shm_loop_t *l);
bool shm_loop_has_left(const shm_loop_t *l);
/* From now on this process comes back. */
void shm_loop_comes_back(shm_loop_t *l);
/* It has left, and will come back. */
bool shm_loop_is_away(const shm_loop_t *l);
/* True: it is back, just now. */
bool shm_loop_return(shm_loop_t *l);

/*
 * Classes and settings, known by a digest of all of them, not 0 (shm_configure_as).  1: they are in force from now on,
 * 0: they were already, -1: the engine refused them (*why), what was before stays.  number[i]: of classes[i] in the
 * engine; that of classes[otherwise] for one that it has not.
 */
int shm_loop_configure(shm_loop_t *l, uint32_t digest, const struct rs_settings *s,
                       const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise,
                       uint32_t *number, const char **why);
/* The digest of what is in force: another process may have come with something newer. */
uint32_t shm_loop_configured(const shm_loop_t *l);
/* The numbers that classes of these names have in what is in force. */
void shm_loop_number(shm_loop_t *l, const struct rs_class_settings *classes, uint32_t nclasses, uint32_t otherwise,
                     uint32_t *number);

rs_engine_t *shm_loop_lock(shm_loop_t *l);
void shm_loop_unlock(shm_loop_t *l);

/* rs_submit_keyed; key: NULL for none. */
enum rs_refusal shm_loop_submit_locked(shm_loop_t *l, rs_time_t now, uint32_t in_class, uint64_t estimate,
                                       const uint64_t *key, uint64_t tag, rs_ticket_t *t);
/* It waits no longer.  False: it had been let go meanwhile, and was aborted: somebody else may go. */
bool shm_loop_cancel_locked(shm_loop_t *l, rs_time_t now, rs_ticket_t t);
/* Lets go whoever may, in whatever process; the time at which to ask again, RS_NEVER if none. */
rs_time_t shm_loop_pump_locked(shm_loop_t *l, rs_time_t now);
/* One of this process's that were let go, and are not handed out yet, the latest first; RS_NO_TICKET: there is none. */
rs_ticket_t shm_loop_next_locked(shm_loop_t *l);
/* One that was let go is over, whole or not. */
bool shm_loop_end_locked(shm_loop_t *l, rs_time_t now, rs_ticket_t t, bool whole);
/* Who has that place; 0: nobody. */
pid_t shm_loop_process_locked(const shm_loop_t *l, uint32_t place);
/* What these calls told can't be, as the host judges (DAMAGE): it hears `left`. */
void shm_loop_leave_locked(shm_loop_t *l, const char *why);

/*
 * What processes held that have ended is given back, and others are woken.  Not for each request: it asks the system.
 */
void shm_loop_reclaim(shm_loop_t *l);

#ifdef __cplusplus
}
#endif

#endif
