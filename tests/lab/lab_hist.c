/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab_hist.h"

#include <math.h>

/*
 * Values below 2^BITS have a bucket each; above, the top BITS bits after the leading one choose among 2^BITS of their
 * doubling.
 */
static uint32_t bucket_of(uint64_t us) {
    if (us < (1u << LAB_HIST_BITS)) return (uint32_t)us;
    unsigned top = 63 - (unsigned)__builtin_clzll(us);
    unsigned shift = top - LAB_HIST_BITS;
    uint64_t i = ((uint64_t)(shift + 1) << LAB_HIST_BITS) + ((us >> shift) & ((1u << LAB_HIST_BITS) - 1));
    return i < LAB_HIST_BUCKETS ? (uint32_t)i : LAB_HIST_BUCKETS - 1;
}

static uint64_t middle_of(uint32_t i) {
    if (i < (1u << LAB_HIST_BITS)) return i;
    unsigned shift = (i >> LAB_HIST_BITS) - 1;
    uint64_t low = ((1ull << LAB_HIST_BITS) + (i & ((1u << LAB_HIST_BITS) - 1))) << shift;
    return low + (1ull << shift) / 2;
}

void lab_hist_add(struct lab_hist *h, uint64_t us) {
    h->count++;
    h->sum += us;
    if (us > h->max) h->max = us;
    h->bucket[bucket_of(us)]++;
}

void lab_hist_merge(struct lab_hist *into, const struct lab_hist *from) {
    into->count += from->count;
    into->sum += from->sum;
    if (from->max > into->max) into->max = from->max;
    for (uint32_t i = 0; i < LAB_HIST_BUCKETS; i++) into->bucket[i] += from->bucket[i];
}

uint64_t lab_hist_quantile(const struct lab_hist *h, double fraction) {
    uint64_t rank = (uint64_t)ceil(fraction * (double)h->count);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < LAB_HIST_BUCKETS; i++) {
        seen += h->bucket[i];
        if (seen >= rank && seen > 0) {
            uint64_t m = middle_of(i);
            return m < h->max ? m : h->max;
        }
    }
    return h->max;
}

double lab_hist_mean(const struct lab_hist *h) { return h->count ? (double)h->sum / (double)h->count : 0.0; }
