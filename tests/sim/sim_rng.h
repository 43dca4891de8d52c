/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_rng.h - random numbers that are the same on every machine for the same seed.
 *
 * One generator per use, owned by the caller.  splitmix64: 64 bits of state, every seed is a good one, and two seeds
 * give unrelated runs.
 */
#ifndef FAIRGATE_SIM_RNG_H
#define FAIRGATE_SIM_RNG_H

#include <stdint.h>

struct sim_rng { uint64_t state; };

/* The page sizes of both gateway papers: ln(bytes) is normal with this mean and deviation. */
#define SIM_PAGE_MU    9.357
#define SIM_PAGE_SIGMA 1.318
#define SIM_PAGE_MOST  5000000.0    /* the tail is cut here, so that a run of minutes has a mean: 27.4 KB */

void     sim_rng_seed(struct sim_rng *r, uint64_t seed);
uint64_t sim_rng_bits(struct sim_rng *r);
uint32_t sim_rng_below(struct sim_rng *r, uint32_t n);             /* 0 .. n-1; n > 0 */
double   sim_rng_uniform(struct sim_rng *r, double from, double to);
double   sim_rng_exponential(struct sim_rng *r, double mean);
double   sim_rng_normal(struct sim_rng *r, double mean, double deviation);
/* The means of so many slices of equal probability of these sizes, ascending; without the cut: 27.7 KB in the mean. */
#define SIM_DECK_SIZES 256u
void     sim_rng_deck(uint32_t sizes[SIM_DECK_SIZES]);
double   sim_rng_page(struct sim_rng *r);                          /* bytes of a page: lognormal, 1 .. SIM_PAGE_MOST */

#endif
