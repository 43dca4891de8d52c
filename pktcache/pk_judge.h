/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_judge.h - what becomes of each segment of a response's piece, at the parent (pk_parent.h has the table).  Nothing
 * allocates.
 */
#ifndef FAIRGATE_PK_JUDGE_H
#define FAIRGATE_PK_JUDGE_H

#include "pk_config.h"
#include "pk_cut.h"
#include "pk_out.h"

enum pk_verdict {
    PK_AS_IT_IS,
    PK_IS_LITERAL,
    PK_IS_TOKEN,        /* may be kept, is in the store */
    PK_IS_NEW,          /* may be kept, is in the store now */
    PK_IN_PARTS,        /* slices of known blocks, and what else is in it */
    PK_TO_GATHER        /* has bytes of new blocks */
};

struct pk_judge {
    const struct pk_config          *c;
    const struct pk_fingerprint_key *key;
    pk_store_t                      *store;
    struct pk_counters              *counters;  /* `kept`, `stored` */
    struct pk_cutter                 cutter;
    struct pk_spans                  spans;     /* of the present piece, and its parts */
    struct pk_parts                  parts;
};

static inline bool pk_goes_in_train(enum pk_verdict v) {
    return v == PK_IS_TOKEN || v == PK_IS_LITERAL || v == PK_IN_PARTS;
}

/*
 * First: of each segment by itself.  keep: it may be kept.  fp: of those that may.  Cuts the piece's spans into
 * `parts`.
 */
void pk_judge_segments(struct pk_judge *j, struct pk_cut *cut, const struct pk_packet *k, const bool *keep,
                       enum pk_verdict *verdict, struct pk_fingerprint *fp);
/* Whether something of the n segments is known. */
bool pk_judge_known(const struct pk_judge *j, const enum pk_verdict *verdict, uint32_t n);
/*
 * Then: of segments that have bytes of blocks; and of all of them, whether what they have may go in a train.
 *
 * may: what is known may go in trains.  tries: as a trial, and behind its train nothing is to go that has not waited
 * for its end; so only the end of the piece may.
 */
void pk_judge_trains(struct pk_judge *j, const struct pk_packet *k, bool may, bool tries, enum pk_verdict *verdict);

#endif
