/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim_rng.h"

#include <math.h>

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The state goes up by a constant: seeds that are near each other must not begin a few steps apart on one sequence. */
void sim_rng_seed(struct sim_rng *r, uint64_t seed) { r->state = mix(mix(seed + 1) + 1); }

uint64_t sim_rng_bits(struct sim_rng *r) { return mix(r->state += 0x9e3779b97f4a7c15u); }

uint32_t sim_rng_below(struct sim_rng *r, uint32_t n) { return (uint32_t)(((sim_rng_bits(r) >> 32) * n) >> 32); }

/* 53 bits, never 0: a logarithm may be taken of it. */
static double unit(struct sim_rng *r) { return ((double)(sim_rng_bits(r) >> 11) + 0.5) / 9007199254740992.0; }

double sim_rng_uniform(struct sim_rng *r, double from, double to) { return from + (to - from) * unit(r); }

double sim_rng_exponential(struct sim_rng *r, double mean) { return -mean * log(unit(r)); }

double sim_rng_normal(struct sim_rng *r, double mean, double deviation) {
    double radius = sqrt(-2.0 * log(unit(r)));
    return mean + deviation * radius * cos(2.0 * M_PI * unit(r));
}

double sim_rng_page(struct sim_rng *r) {
    double bytes = floor(exp(sim_rng_normal(r, SIM_PAGE_MU, SIM_PAGE_SIGMA)));
    return bytes < 1.0 ? 1.0 : bytes > SIM_PAGE_MOST ? SIM_PAGE_MOST : bytes;
}

static double normal_below(double z) { return erfc(-z / sqrt(2)) / 2; }

/* Where a normal number is below with this probability. */
static double normal_at(double probability) {
    double low = -10, high = 10;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (normal_below(middle) < probability) low = middle;
        else high = middle;
    }
    return low;
}

void sim_rng_deck(uint32_t sizes[SIM_DECK_SIZES]) {
    double mean = exp(SIM_PAGE_MU + SIM_PAGE_SIGMA * SIM_PAGE_SIGMA / 2), below = 0;
    for (uint32_t i = 0; i < SIM_DECK_SIZES; i++) {
        double upto = i + 1 < SIM_DECK_SIZES ? normal_below(normal_at((i + 1.0) / SIM_DECK_SIZES) - SIM_PAGE_SIGMA) : 1;
        sizes[i] = (uint32_t)(mean * (upto - below) * SIM_DECK_SIZES + 0.5);
        below = upto;
    }
}
