/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_internal.h - what the files of shm/ share; hosts see shm.h.
 */
#ifndef FAIRGATE_SHM_INTERNAL_H
#define FAIRGATE_SHM_INTERNAL_H

#include <stdbool.h>

#include "shm.h"

/* Read once: what was judged is what is used, whoever writes meanwhile. */
#define ONCE(x) (*(volatile __typeof__(x) *)&(x))

/*
 * The segment can't be used: this process goes on with memory of its own (shm.h, DAMAGE).  HELD: this thread holds the
 * lock, and does so in the new memory, too.  AWAY: it does not get it, and who comes back goes for a while only.
 * `own`: what it complains of, or began to wait for, was this process's own memory already.
 */
enum shm_leaves { SHM_LEAVES, SHM_LEAVES_HELD, SHM_LEAVES_AWAY };
void shm_leave_as(const struct shm_view *v, const char *why, enum shm_leaves how, int own);
void shm_leave(const struct shm_view *v, const char *why);      /* found while it holds the lock */

bool shm_is_own_fd(int fd);
/* A row's request is over. */
void shm_free_row_locked(const struct shm_view *v, struct shm_row *row);
/* One more thread that waits, or with more = UINT32_MAX one fewer; `pooled`: it is of the pool. */
void shm_count_blocked_locked(const struct shm_view *v, uint32_t class, uint32_t outlet, uint32_t pooled,
                              uint32_t more);
/* A released row is for its owner to wake. */
void shm_chain_locked(const struct shm_view *v, uint32_t owner, uint32_t row);

#endif
