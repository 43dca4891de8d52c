/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_cut.h - bodies cut into blocks by their place in them, at the parent: which of them the child has.
 *
 * A block is PK_BLOCK bytes of a body, counted from its beginning, however the server cuts what it writes.  The store
 * remembers of each which one followed it.  So the next block can be guessed, and what has come of it be compared with
 * the guess: a part of a known block is named before all of it is there.  Without a guess a block is looked up that is
 * whole in its piece.  What is neither goes as it is, and is gathered until the block is whole and can be stored:
 *
 *     GUESSED     what came of the block is as the guess has it, and was named
 *     GATHERED    the child is told to store what came of it; so do we, when it is whole
 *     LEFT        another one than the guess after all, or something was not looked at: nothing more of it is named or
 *                 stored.  The next time there is no guess at its place, and it is gathered
 *
 * A block that is not as guessed may have the same one behind it: an edit in the middle of a file costs its own blocks.
 *
 * Nothing allocates.
 */
#ifndef FAIRGATE_PK_CUT_H
#define FAIRGATE_PK_CUT_H

#include "pk_blocks.h"
#include "pk_http.h"
#include "pk_parts.h"
#include "pk_store.h"

enum pk_cut_state { PK_CUT_LEFT, PK_CUT_GUESSED, PK_CUT_GATHERED };

/* Of a connection.  All zero: nothing yet. */
struct pk_cut {
    uint64_t              id;           /* in pk_blocks.h; 0: none yet */
    uint32_t              place;        /* of the byte that follows (pk_wire.h) */
    enum pk_cut_state     state;        /* of its block, if that has begun */
    bool                  guesses, follows;
    struct pk_fingerprint guess;        /* guesses: of its block */
    struct pk_fingerprint before;       /* follows: of the block before */
};

struct pk_cutter {
    const struct pk_fingerprint_key *key;
    pk_store_t                      *store;
    pk_blocks_t                     *blocks;
    uint32_t                         least;     /* bytes of a block that is whole in its piece; fewer are not kept */
    uint64_t                         ids, stored;
};

/* The parts of a piece's payload of n bytes, with these spans in it. */
void pk_cut_piece(struct pk_cutter *c, struct pk_cut *cut, const uint8_t *payload, uint32_t n,
                  const struct pk_spans *spans, struct pk_parts *parts);

/* The same for a piece that goes as it is: nothing of it is stored. */
void pk_cut_pass(struct pk_cut *cut, const struct pk_spans *spans);

#endif
