/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_ring.h - keys that requests leave for the keeper: many write, one reads, nobody waits.  A full ring forgets its oldest.
 */
#ifndef FAIRGATE_QOS_RING_H
#define FAIRGATE_QOS_RING_H

#include <stdatomic.h>
#include <stdint.h>

#define QOS_RING 2048u

struct qos_ring {
    _Atomic uint64_t head;              /* keys ever put */
    _Atomic uint64_t tail;              /* keys ever taken; the reader's alone */
    _Atomic uint64_t key[QOS_RING];
};

void     qos_ring_put(struct qos_ring *r, uint64_t key);        /* not 0 */
uint64_t qos_ring_take(struct qos_ring *r);                     /* the oldest that is still there; 0 if there is none */

#endif
