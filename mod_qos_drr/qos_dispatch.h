/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_dispatch.h - the dispatcher: the thread of a child that looks after requests held without one.
 *
 * Ten times a second, or once while nothing is held, it looks for waits that are over (503, before the server's TimeOut
 * would close the connection without a word) and clients that left, and wakes those requests to see for themselves; and
 * for responses whose client is too slow to take them (shm_sweep), gives back what children that ended have left behind
 * (shm_reclaim), and ends heads of requests that did not come in time (qos_heads.h).  In between it wakes what another
 * child released but can't wake (shm/shm.h).
 */
#ifndef FAIRGATE_QOS_DISPATCH_H
#define FAIRGATE_QOS_DISPATCH_H

#include <apr_pools.h>

/* Until pchild goes.  Returns 0 or the error of pthread_create. */
int  qos_dispatch_start(apr_pool_t *pchild);
void qos_dispatch_wake(void);       /* the first request of this child is held: from now on it looks often */

#endif
