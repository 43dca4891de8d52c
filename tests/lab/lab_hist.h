/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_hist.h - a histogram of microseconds with logarithmic buckets: relative error below 1/64, constant size, any
 * value up to 2^41 us. Zeroed memory is an empty histogram.
 */
#ifndef FAIRGATE_LAB_HIST_H
#define FAIRGATE_LAB_HIST_H

#include <stdint.h>

#define LAB_HIST_BITS 6         /* 2^6 buckets for every doubling */
#define LAB_HIST_BUCKETS ((42 - LAB_HIST_BITS) << LAB_HIST_BITS)

struct lab_hist {
    uint64_t count;
    uint64_t sum;
    uint64_t max;
    uint32_t bucket[LAB_HIST_BUCKETS];
};

void lab_hist_add(struct lab_hist *h, uint64_t us);
void lab_hist_merge(struct lab_hist *into, const struct lab_hist *from);

/* The value that a fraction of all are not above (0.5 = median); the middle of its bucket; 0 when empty. */
uint64_t lab_hist_quantile(const struct lab_hist *h, double fraction);

double lab_hist_mean(const struct lab_hist *h);

#endif
