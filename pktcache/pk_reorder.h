/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_reorder.h - packets and trains that came ahead of their flow's next sequence number, and wait for what is missing.
 *
 * Packets of a connection overtake each other where several processors or ways carry them.  Each waits for at most
 * PK_REORDER_MOST; what is missing then counts as lost.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_REORDER_H
#define FAIRGATE_PK_REORDER_H

#include "pk_flows.h"

#define PK_REORDER_MOST 500u        /* microseconds */

struct pk_waiting {
    struct pk_tuple tuple;          /* from the server */
    uint32_t        seq;
    bool            train;          /* what a datagram held, not a piece of the device */
    uint8_t         tos;            /* of that datagram */
    uint64_t        until;
    uint32_t        n;
    uint8_t         bytes[PK_PIECE_MAX];
};

typedef struct pk_reorder pk_reorder_t;

pk_reorder_t *pk_reorder_make(void);        /* NULL: no memory */
void          pk_reorder_free(pk_reorder_t **r);

/* Whose `train` and `tos` may be set; NULL: there is no room. */
struct pk_waiting *pk_reorder_add(pk_reorder_t *r, const struct pk_tuple *tuple, uint32_t seq, const void *bytes,
                                  size_t n, uint64_t now);
/*
 * Takes out the first that came whose time is over or which is not ahead of its flow any more; NULL: none.  It stays
 * good until the next call.  Whoever takes one asks again: another may have waited for it.
 */
struct pk_waiting *pk_reorder_take(pk_reorder_t *r, uint64_t now, pk_flows_t *flows);
uint64_t      pk_reorder_due(const pk_reorder_t *r);

#endif
