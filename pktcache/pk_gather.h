/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_gather.h - what the child stores: segments and blocks of which the parent has said so (pk_wire.h), when they come,
 * which may be before that was said, or later, and again.  Nothing allocates.
 */
#ifndef FAIRGATE_PK_GATHER_H
#define FAIRGATE_PK_GATHER_H

#include "pk_blocks.h"
#include "pk_missing.h"
#include "pk_out.h"
#include "pk_ranges.h"
#include "pk_store.h"
#include "pk_told.h"
#include "pk_train.h"

struct pk_gather {
    const struct pk_fingerprint_key *key;
    pk_store_t                      *store;
    pk_missing_t                    *missing;
    pk_blocks_t                     *blocks;
    pk_told_t                       *told;
    struct pk_counters              *counters;  /* `stored` */
    uint64_t                         ids;
    bool                             found;     /* something was stored that was missing; the caller's to take back */
};

/* Of a connection.  All zero: nothing was said. */
struct pk_gather_flow {
    uint32_t            next;       /* as far as the flow has come */
    struct pk_ranges    store;      /* segments that are to be stored */
    struct pk_told_flow told;       /* bytes of blocks; its id in pk_blocks.h, too, 0: none yet */
};

/* Another connection begins at that sequence number. */
void pk_gather_begin(struct pk_gather_flow *f, uint32_t seq);
/* The flow has come to `next`. */
void pk_gather_pass(struct pk_gather *g, struct pk_gather_flow *f, uint32_t next);
/*
 * Remembers what a train says is to be stored, even if the train itself has to wait: those packets may be here already.
 * Whether the train holds anything else.
 */
bool pk_gather_orders(struct pk_gather *g, struct pk_gather_flow *f, struct pk_reader r);
/* What of a packet is to be stored; of a record of PARTS. */
void pk_gather_packet(struct pk_gather *g, struct pk_gather_flow *f, const struct pk_packet *k);
void pk_gather_parts(struct pk_gather *g, struct pk_gather_flow *f, const struct pk_record *record);

#endif
