/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_parts.h - the parts of a piece's payload, as a train has them (pk_wire.h): one behind the other, all of it.
 *
 * A part of PK_PART_SLICES touches one block only, here.
 */
#ifndef FAIRGATE_PK_PARTS_H
#define FAIRGATE_PK_PARTS_H

#include "pk_fingerprint.h"

#define PK_PARTS_MAX 640u

struct pk_part {
    enum pk_part_kind     kind;
    bool                  ends;         /* KEPT: a block, with its last byte */
    uint32_t              at, n;        /* of the payload; KEPT may have no bytes */
    uint32_t              place;        /* KEPT, SLICES: of its first byte */
    struct pk_fingerprint fp;           /* SLICES */
};

struct pk_parts {
    uint32_t       n;
    struct pk_part part[PK_PARTS_MAX];
};

static inline uint32_t pk_block_offset(uint32_t place) { return place % PK_BLOCK; }

/* What of a part lies in [from, to): whether it does, as *clipped. */
static inline bool pk_part_clip(const struct pk_part *p, uint32_t from, uint32_t to, struct pk_part *clipped) {
    uint32_t begin = p->at > from ? p->at : from, end = p->at + p->n < to ? p->at + p->n : to;

    if (p->n ? begin >= end : p->at < from || p->at >= to) return false;
    *clipped = *p;
    clipped->at = begin;
    clipped->n = end - begin;
    clipped->place = p->place + (begin - p->at);
    clipped->ends = p->ends && end == p->at + p->n;
    return true;
}

#endif
