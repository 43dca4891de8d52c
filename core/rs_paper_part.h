/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_paper_part.h - which part of the time is on paper (rs_paper.h), for a host that must not be slowed down by it.
 *
 *     ┌─ its time is over: how long and for how many is the next? ─┐
 *     └────────────────────── counts ←─────────────────────────────┘
 *                            ↑      │ its time is over, and it counts for w > 1
 *                            │      ↓
 *                        warms ←─ apart
 *
 * All requests that come in a stretch of time are told, and where they are many none of those between it and the next:
 * paper's clock stands meanwhile, and what it counts in a stretch counts for that time, too.
 *
 * How long a stretch is and for how many it counts is fixed when it begins, by what came in the one before.  So what
 * comes does not choose what is looked at, and what is counted is right in the mean.  It is bounded as well: by 9/8 of
 * RS_PAPER_MANY requests a second, but for the first second of a crowd, and but for gaps of 15 s at most.
 *
 * What is at the server where a stretch ends is cut there, and what is there where one begins is not on paper: its
 * clients are again when they ask next.  So a stretch is half a second, or as long as 32 such requests one behind the
 * other, 10 s at most; and for an eighth of that before it requests are on paper, and nothing is counted.
 *
 * Memory that others write: it is numbers, and none of them leads anywhere.
 */
#ifndef FAIRGATE_RS_PAPER_PART_H
#define FAIRGATE_RS_PAPER_PART_H

#include "rs_paper.h"

#define RS_PAPER_MANY 250u

enum rs_paper_state { RS_PAPER_COUNTS, RS_PAPER_APART, RS_PAPER_WARMS };

struct rs_paper_part {
    uint32_t  state;            /* what comes while it is RS_PAPER_APART is not told to paper */
    uint32_t  came;             /* requests that were since; the host counts */
    uint32_t  weight;           /* for so many a stretch counts */
    uint32_t  pad;
    rs_time_t began, length;    /* when it last was not apart; how long a stretch is */
    rs_time_t until;            /* it is as it is till then */
    rs_time_t behind, stood;    /* paper's clock is so far behind; what it shows while it is apart */
};

/* With a paper that is fresh. */
void      rs_paper_part_begin(struct rs_paper_part *k, rs_time_t now);
/* Takes what is next at `now`; what paper's clock shows then. */
rs_time_t rs_paper_part_clock(struct rs_paper_part *k, rs_paper_t *p, rs_time_t now);

#endif
