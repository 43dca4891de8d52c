/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_patience.h - taking a lock that processes share (base/base_mutex.h), and when its holder is thought ill of.
 *
 * Time does not tell.  Who was stopped, with the machine or alone, finds that much has gone by in which nobody could do
 * anything; and where hundreds of threads want two processors, one of them comes, time and again, when another one has
 * the lock: waits of 4 s were seen where nobody had it for longer than 0.1 s.  So who waits looks at the lock again and
 * again, having slept for a short while each time, and what counts is looks: SHM_LOOKS in a row at one holder in one
 * turn, which it counts when it takes the lock.  A holder that is stopped, or keeps the lock for ever, is found out in
 * SHM_LOCK_US or a little more; a lock whose holder died is passed on (BASE_TAKEN_DIED).  Short sleeps are also what
 * lets a late one in: whoever gives the lock back wakes one other, which has to wait for a processor first.
 *
 * Lock and count stand in memory that strangers write.  Who changes them for show is found out by SHM_LOOKS_MOST.
 */
#ifndef FAIRGATE_SHM_PATIENCE_H
#define FAIRGATE_SHM_PATIENCE_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base_mutex.h"

#ifndef SHM_LOCK_US
#define SHM_LOCK_US    700000u          /* whoever keeps a lock for so long does it by mistake, or malice */
#define SHM_LOOKS      35u              /* in that time */
#endif
#define SHM_LOOKS_MOST 500u             /* 10 s: nobody is late so often */

struct shm_patience {
    uint32_t holder, turn;              /* as the last look saw them */
    uint32_t still, looks;              /* looks in a row that saw these; all looks */
};

/* One more look.  True: it is not given back. */
static inline bool shm_patience_ends(struct shm_patience *p, uint32_t holder, uint32_t turn) {
    if (holder != p->holder || turn != p->turn) p->still = 0;
    p->holder = holder;
    p->turn = turn;
    p->still++;
    p->looks++;
    return p->still >= SHM_LOOKS || p->looks >= SHM_LOOKS_MOST;
}

/* `turns` is changed under the lock only, here.  BASE_NOT_TAKEN: it is not given back, or is this thread's already. */
static inline enum base_taken shm_take(struct base_mutex *lock, _Atomic uint32_t *turns) {
    struct shm_patience p = { .looks = 0 };
    enum base_taken taken;

    do {
        taken = base_mutex_take(lock, SHM_LOCK_US / SHM_LOOKS);
        /* It sees when there is no such thread, which the other does for those who wait for longer. */
        if (taken == BASE_NOT_TAKEN) taken = base_mutex_try(lock);
    } while (taken == BASE_NOT_TAKEN &&
           !shm_patience_ends(&p, atomic_load_explicit(&lock->word, memory_order_relaxed) & FUTEX_TID_MASK,
                              atomic_load_explicit(turns, memory_order_relaxed)));
    if (taken != BASE_NOT_TAKEN) {
        uint32_t n = atomic_load_explicit(turns, memory_order_relaxed);
        atomic_store_explicit(turns, n + 1, memory_order_relaxed);
    }
    return taken;
}

#endif
