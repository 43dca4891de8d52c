/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_ages.h - waiting tickets by age: a heap in which the one on top was asked for first.
 *
 * A pairing heap (base_pairing.h) through the tickets' own rows: `child`, bucket_next and bucket_prev.  Adding is O(1);
 * removing, whoever it is, O(log members) on average.  The links are those of the size buckets, too: a ticket is in one
 * or the other.
 *
 * Of those of one age the smallest is above, and of those of one size who came first: no two are alike.
 */
#ifndef FAIRGATE_BASE_AGES_H
#define FAIRGATE_BASE_AGES_H

#include "base_block.h"

/* The new top. */
uint32_t rs_ages_add(const rs_engine_t *e, uint32_t top, uint32_t t);
uint32_t rs_ages_remove(const rs_engine_t *e, uint32_t top, uint32_t t);    /* t is in it */

/* Whether a goes above b. */
static inline bool rs_is_older(const struct rs_ticket_row *a, const struct rs_ticket_row *b) {
    if (a->since != b->since) return a->since < b->since;
    if (a->estimate != b->estimate) return a->estimate < b->estimate;
    return a->seq < b->seq;
}

/* Whom a walk from the top shows after t, each before those below it; RS_NIL after the last. */
uint32_t rs_ages_walk(const rs_engine_t *e, uint32_t top, uint32_t t);

/*
 * NULL, or what is wrong.  Its members must wait at this outlet; *members: how many there may be, which becomes how
 * many more there may be.
 */
const char *rs_ages_check(const rs_engine_t *e, uint32_t top, uint32_t outlet, uint32_t *members);

#endif
