/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_room.h - who gives up a place when the queue is full: the one who holds most of it.
 *
 * A full queue that refuses each new Interest refuses the few of a visitor like the many of a flood.  So room is made.
 * Some waiting Interests of the newcomer's class are drawn.  Each, and the newcomer, has as weight how many of them
 * share its client address, and how many its pages' pattern or directory (pages/pages_keys.h).  The heaviest goes; of
 * equals the one that came last.  If none is heavier than the newcomer, the newcomer is refused.
 *
 * Drawing costs the same however long the queue is, and needs no counts that a death could leave wrong.
 *
 * TRUST.  Any child writes in what is drawn from: a row names a ticket of its own place that the engine has, or is
 * passed over; what is not so costs somebody a place, and no more.
 */
#ifndef FAIRGATE_CCN_ROOM_H
#define FAIRGATE_CCN_ROOM_H

#include "shm/shm.h"

/* The tag of a ticket: whose it is. */
static inline uint64_t ccn_room_tag(uint32_t client, uint64_t where) {
    return (uint64_t)client << 32 | (uint32_t)where;
}

/* Under the segment's lock: one that waits and is to make room for one of that tag; RS_NO_TICKET: none is. */
rs_ticket_t ccn_room_locked(const struct shm_view *v, uint32_t class, uint64_t tag);

#endif
