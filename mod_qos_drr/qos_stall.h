/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_stall.h - windows in which requests wait and none is released: what holds the slots may wait for what waits.  All
 * slots may be taken, or those that one class may have (`slots=`).
 *
 * Inner requests that are known take no slot (qos_inner.h).  What remains looks alike from here: a request that comes
 * back by way of a host or program that shows no sign, a lock that a waiting request has, a backend that hangs.  Twice
 * a second one child of the newest generation looks at each window:
 *
 *     open ─ requests wait, some have slots, no release for QOS_STALL_US ─→ stalled ─ a release ─→ open
 *
 * The time begins with the first request that waits.  It goes on if that one is refused or leaves.
 *
 * The child logs a stalled window once and shows for how many seconds it has been stalled.  Each second it parks the
 * request there that was submitted first (shm_park_soon), and one that waits is released.  So a cycle ends before its
 * requests wait too long.  It parks no more of them than an eighth of the server's threads, or than the window has
 * slots: a backend that hangs keeps no more threads than that beside its window.  The releases that this causes are
 * `lent`, and end no stall.
 *
 * That child alone writes here, but for `released`; status pages read.
 */
#ifndef FAIRGATE_QOS_STALL_H
#define FAIRGATE_QOS_STALL_H

#include <stdatomic.h>
#include <stdint.h>

#include <httpd.h>

#include "qos_cost.h"

#define QOS_STALL_US 3500000u /* seen within 4.5 s */

struct qos_stall {
    _Atomic uint32_t released; /* requests; wraps */
    _Atomic uint32_t seen;     /* of them, at the last look */
    _Atomic uint32_t lent;     /* releases to come that a slot given back early causes */
    _Atomic uint64_t since;    /* when requests began to wait, or the last one was released; 0: none has waited since */
    _Atomic uint64_t lend_at;  /* of a stalled window: when the next slot is given back early; 0: it is open */
};

struct qos_stalls {
    struct qos_stall of[QOS_OUTLETS];
    _Atomic uint64_t total;     /* windows that stalled, ever */
    _Atomic uint32_t host_told; /* nearly all requests come from this host: it was logged */
};

void qos_stall_released(uint32_t outlet);
/* In the background, of the one child that keeps. */
void qos_stall_look(server_rec *s, apr_pool_t *p);
uint32_t qos_stall_seconds(uint32_t outlet); /* 0: it is not stalled */

#endif
