/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages/pages_ring.h - keys that requests leave for the keeper: many write, one reads, nobody waits.  A full ring
 * forgets its oldest.
 */
#ifndef FAIRGATE_PAGES_RING_H
#define FAIRGATE_PAGES_RING_H

#include <stdatomic.h>
#include <stdint.h>

#define PAGES_RING 2048u

struct pages_ring {
    _Atomic uint64_t head;              /* keys ever put */
    _Atomic uint64_t tail;              /* keys ever taken; the reader's alone */
    _Atomic uint64_t key[PAGES_RING];
};

void     pages_ring_put(struct pages_ring *r, uint64_t key);        /* not 0 */
/* the oldest that is still there; 0 if there is none */
uint64_t pages_ring_take(struct pages_ring *r);

#endif
