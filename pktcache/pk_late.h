/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_late.h - what came before what it should come behind, and waits for that for a moment.
 *
 * Packets of a connection overtake each other where several processors or ways carry them.  What is ahead of its flow's next sequence number waits for at most
 * PK_LATE_MOST; after that what is missing is taken for lost.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_LATE_H
#define FAIRGATE_PK_LATE_H

#include "pk_flows.h"

#define PK_LATE_MOST 500u           /* microseconds */

struct pk_waiting {
    struct pk_tuple tuple;          /* from the server */
    uint32_t        seq;
    bool            train;          /* what a datagram held, not a piece of the device */
    uint64_t        until;
    uint32_t        n;
    uint8_t         bytes[PK_PIECE_MAX];
};

typedef struct pk_late pk_late_t;

pk_late_t *pk_late_make(void);      /* NULL: no memory */
void       pk_late_free(pk_late_t **l);

/* false: there is no room. */
bool       pk_late_add(pk_late_t *l, const struct pk_tuple *tuple, uint32_t seq, bool train, const void *bytes, size_t n, uint64_t now);
/*
 * The first, as they came, whose time is over or which is not ahead of its flow any more; NULL: none.  It stays good until the next call with l, and is
 * not in l any more.  Whoever takes one asks again: it may have been what another one waits for.
 */
struct pk_waiting *pk_late_take(pk_late_t *l, uint64_t now, pk_flows_t *flows);
uint64_t   pk_late_due(const pk_late_t *l);

#endif
