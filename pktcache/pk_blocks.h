/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_blocks.h - blocks (pk_wire.h) that are put together of the parts in which they come, in whatever order: what is
 * lost comes again, after what was behind it.
 *
 * The one that got nothing for the longest time gives its place, of some.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_BLOCKS_H
#define FAIRGATE_PK_BLOCKS_H

#include "pk_wire.h"

typedef struct pk_blocks pk_blocks_t;

pk_blocks_t   *pk_blocks_make(void);        /* NULL: no memory */
void           pk_blocks_free(pk_blocks_t **b);

/*
 * Adds n bytes to the block at `place`, of the connection `id` (not 0); all of them belong to it.  ends: it ends with
 * them, even if it is short.  If it is whole now: its bytes, *length of them, good until the next call; they may be
 * `bytes`.  NULL: not yet.
 */
const uint8_t *pk_blocks_add(pk_blocks_t *b, uint64_t id, uint32_t place, const uint8_t *bytes, uint32_t n, bool ends,
                             uint32_t *length);

#endif
