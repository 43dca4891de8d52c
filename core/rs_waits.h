/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_waits.h - how long requests waited, counted in buckets: none, below 16 microseconds, then four to a doubling.  So
 * a quantile is told at most a quarter too high.
 */
#ifndef FAIRGATE_RS_WAITS_H
#define FAIRGATE_RS_WAITS_H

#include <stdint.h>

#define RS_WAITS 112u

static inline uint32_t rs_waits_bucket(uint64_t us) {
    uint32_t top, b;

    if (us < 16) return us ? 1 : 0;
    top = 63u - (uint32_t)__builtin_clzll(us);
    b = 2 + (top - 4) * 4 + (uint32_t)(us >> (top - 2) & 3);
    return b < RS_WAITS ? b : RS_WAITS - 1;
}

/* The longest wait that falls into it, in microseconds. */
static inline uint64_t rs_waits_most(uint32_t bucket) {
    if (bucket < 2) return bucket ? 15 : 0;
    return ((uint64_t)(5 + (bucket - 2) % 4) << ((bucket - 2) / 4 + 2)) - 1;
}

#endif
