/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_mutex.h - a lock between processes, in memory that any of them may have written over.
 *
 * A word, and nothing else: what stands in it decides whether and for how long somebody waits, never where anything is
 * written.  (A mutex of the C library that survives its holder is a member of a list that goes through shared memory:
 * to lock and unlock it is to follow and write what another process says.)
 *
 * The word is a futex as the kernel has them: 0 free, else the thread that holds it, a bit for "somebody waits" and one
 * for "its holder died".  While a thread takes, holds and gives it, its "pending" place of the list that the kernel
 * looks through when a thread ends names the word, so that a death passes the lock on at once.  That place is the C
 * library's, for the moments in which it locks such a mutex of its own: no thread may do that while it holds one of
 * these, and none may hold two.
 */
#ifndef FAIRGATE_BASE_MUTEX_H
#define FAIRGATE_BASE_MUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct base_mutex { _Atomic uint32_t word; };

enum base_taken {
    BASE_TAKEN,
    BASE_TAKEN_DIED,         /* from one who died with it: what it covers may be half changed */
    BASE_NOT_TAKEN           /* held all the time, by whatever; or by this thread already */
};

/* Waits at most so long. */
enum base_taken base_mutex_take(struct base_mutex *l, uint64_t most_us);
enum base_taken base_mutex_try(struct base_mutex *l);
/* 0: it was no longer ours. */
int            base_mutex_give(struct base_mutex *l);
/* By this thread, as the word has it: exact at each instruction, also for a signal handler that interrupted us. */
bool base_mutex_is_held(const struct base_mutex *l);
/* By anybody who is there, stopped or not: who takes one that is not kept waits for nobody. */
bool base_mutex_is_kept(const struct base_mutex *l);
/* A lock that nobody else sees yet, as if taken by this thread, which has taken another in its place. */
void           base_mutex_hand_over(struct base_mutex *l);
/* In a process that was forked, before anything else: it has another thread. */
void           base_mutex_forked(void);

/* A word to wait on: until it is not `seen` any more, is woken, or so much time has passed. */
void base_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_us);
void base_futex_wake(_Atomic uint32_t *word);

#endif
