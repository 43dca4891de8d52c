/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_buckets.h - tickets by the size of their responses: 64 lists, two to a doubling, each in order of arrival, and a
 * map of those that are not empty.  Insert, remove and "smallest" are O(1).  Sizes up to 95 bytes share the first list,
 * from 192 GiB on the last.
 */
#ifndef FAIRGATE_BASE_BUCKETS_H
#define FAIRGATE_BASE_BUCKETS_H

#include "base_block.h"

static inline uint32_t rs_bucket_of(uint64_t bytes) {
    if (bytes < 96) return 0;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes);
    uint32_t b = 2 * log + (uint32_t)(bytes >> (log - 1) & 1) - 12;
    return b < RS_BUCKETS ? b : RS_BUCKETS - 1;
}

static inline void rs_bucket_add(const rs_engine_t *e, struct rs_bucket *buckets, uint64_t *map, uint32_t t) {
    struct rs_ticket_row *r = rs_row(e, t);
    uint32_t b = rs_bucket_of(r->estimate);
    r->bucket_next = RS_NIL;
    if (*map >> b & 1) {
        r->bucket_prev = buckets[b].last;
        rs_row(e, r->bucket_prev)->bucket_next = t;
    } else {
        r->bucket_prev = RS_NIL;
        buckets[b].first = t;
        *map |= (uint64_t)1 << b;
    }
    buckets[b].last = t;
}

static inline void rs_bucket_remove(const rs_engine_t *e, struct rs_bucket *buckets, uint64_t *map, uint32_t t) {
    struct rs_ticket_row *r = rs_row(e, t);
    uint32_t b = rs_bucket_of(r->estimate);
    if (r->bucket_prev == RS_NIL) buckets[b].first = r->bucket_next;
    else rs_row(e, r->bucket_prev)->bucket_next = r->bucket_next;
    if (r->bucket_next == RS_NIL) buckets[b].last = r->bucket_prev;
    else rs_row(e, r->bucket_next)->bucket_prev = r->bucket_prev;
    if (buckets[b].first == RS_NIL) *map &= ~((uint64_t)1 << b);
}

/* The oldest of the smallest; the map is not empty. */
static inline uint32_t rs_bucket_smallest(const struct rs_bucket *buckets, uint64_t map) {
    return buckets[__builtin_ctzll(map)].first;
}

/* NULL, or what is wrong; `members` tickets of this outlet and class must be there and queued. */
const char *rs_buckets_check(const rs_engine_t *e, const struct rs_bucket *buckets, uint64_t map, uint32_t members,
                             uint32_t outlet, uint32_t class);

#endif
