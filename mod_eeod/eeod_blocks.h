/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_blocks.h - where the blocks of a page begin (EEOD paper II-D): what is between an opening and a closing mark is
 * unique to a visitor, the rest is cacheable.
 *
 * The page is fed in pieces.  What becomes of it is told in steps, in the order of its bytes and without gaps: so many
 * bytes go on, so many are taken out, a block begins here, a segment ends here.  A step may concern bytes of earlier
 * pieces: whoever feeds keeps what no step has taken yet, which is never more than EEOD_MARK_MAX + `least` bytes once a
 * piece is fed.
 *
 * RULES
 * - Kept marks of an outermost pair are the first bytes of their blocks: the opening one of a unique block, the
 *   closing one of a cacheable block. (Not the page's first one, when less than `least` bytes stand before it.)
 * - A closing mark that begins no block, because it is nested, does not count or its block is too small, is cut in
 *   two (EEOD_CUT: a segment ends here, the block goes on): who goes by the first bytes of segments must not take what
 *   follows it for cacheable.
 * - Which marks count is marks/eeod_pairs.h's: only the closing mark of the outermost pair ends a unique block.
 *   Whatever is wrong with marks, what stands between two that belong together is never taken for cacheable.
 * - A closing mark that closes nothing, or stands where it doesn't count, is text: also a page without marks has it.
 *   From one that closes nothing on, behind its first byte, all is one unique block.  An opening one without a closing
 *   one makes all that follows unique.
 * - A cacheable block of fewer than `least` bytes, its closing mark included, is not worth a segment: it goes with
 *   the unique one beside it. Departure from the paper, which warns of small blocks of either kind: a small unique one
 *   stays a block, or what is a visitor's own would lie in what caches keep.
 */
#ifndef FAIRGATE_EEOD_BLOCKS_H
#define FAIRGATE_EEOD_BLOCKS_H

#include "marks/eeod_pairs.h"

#include <stdbool.h>

enum eeod_step { EEOD_PASS, EEOD_DROP, EEOD_CUT, EEOD_BEGIN_CACHEABLE, EEOD_BEGIN_UNIQUE };

/* n: bytes, of EEOD_PASS and EEOD_DROP. */
typedef void eeod_take(void *context, enum eeod_step step, size_t n);

enum eeod_block { EEOD_NOTHING, EEOD_CACHEABLE, EEOD_UNIQUE };

struct eeod_blocks {
    struct eeod_pairs pairs;
    bool             strip;
    size_t           least;
    eeod_take       *take;
    void            *context;
    enum eeod_block  block;         /* the last that has begun */
    size_t           mark, gap;     /* what may become a cacheable block: its closing mark, and what is behind that */
    /* counts */
    uint64_t         begun[3];      /* blocks, by enum eeod_block */
    uint64_t         joined;        /* cacheable ones that were too small */
    uint64_t         odd;           /* marks that were nested, closed nothing, or stood where they do not count */
};

void eeod_blocks_begin(struct eeod_blocks *b, const struct eeod_marks *m, bool strip, size_t least, eeod_take *take,
                       void *context);
void eeod_blocks_feed(struct eeod_blocks *b, const void *data, size_t len);
void eeod_blocks_end(struct eeod_blocks *b);    /* all is taken then */

#endif
