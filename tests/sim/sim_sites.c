/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim_sites.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define WORDS      200
#define POPULARITY 0.35 /* of words, falls with this power of their rank */
#define SPIKES     6
#define BETWEEN    6 /* spikes begin so many times their work's length apart */
#define LOW        0.2
#define TURNS      3
#define TURN_HIGH  1.5
#define TURN_LOW   0.3

static uint32_t about(struct sim_rng *rng, double mean, double deviation) {
    double n = floor(sim_rng_normal(rng, mean, deviation) + 0.5);
    return n < 1 ? 1 : (uint32_t)n;
}

static double word_segments(double rank) { return 90 - 85 * rank / WORDS; }

void sim_site_draw(enum sim_site site, struct sim_rng *rng, struct sim_page *out) {
    double mean;
    switch (site) {
    case SIM_TICKETS:
        out->url = 0;
        out->large = false;
        out->segments = about(rng, 15, 2.25);
        break;
    case SIM_SHOP:
        out->url = sim_rng_uniform(rng, 0, 1) < 0.3;
        out->large = out->url;
        out->segments = out->large ? about(rng, 120, 10) : about(rng, 15, 3);
        break;
    case SIM_SEARCH:
        /* by inversion of the density */
        out->url = (uint16_t)(WORDS * pow(sim_rng_uniform(rng, 0, 1), 1 / (1 - POPULARITY)));
        if (out->url >= WORDS) out->url = WORDS - 1;
        mean = word_segments(out->url + 0.5);
        out->large = mean >= 50;
        out->segments = about(rng, mean, mean * 0.15);
        break;
    case SIM_STREAM:
        out->url = 0;
        out->large = false;
        out->segments = 1;
        break;
    case SIM_SITES: assert(!"a site that there is not");
    }
}

double sim_site_mean(enum sim_site site) {
    switch (site) {
    case SIM_TICKETS: return 15;
    case SIM_SHOP: return 0.7 * 15 + 0.3 * 120;
    case SIM_SEARCH: return word_segments(WORDS * (1 - POPULARITY) / (2 - POPULARITY));
    default: return 1;
    }
}

struct pages {
    struct sim_page *page;
    uint32_t n, room;
};

static void add(struct pages *l, const struct sim_asking *a, struct sim_rng *rng, double asked) {
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->page = realloc(l->page, l->room * sizeof *l->page);
        assert(l->page);
    }
    struct sim_page *p = &l->page[l->n++];
    *p = (struct sim_page){ .asked = asked };
    sim_site_draw(a->site, rng, p);
}

static void spike(struct pages *l, const struct sim_asking *a, struct sim_rng *rng, double from) {
    double within = a->spread * a->clients * a->page;
    for (uint32_t i = 0; i < a->clients; i++) add(l, a, rng, from + sim_rng_uniform(rng, 0, within));
}

/* Poisson arrivals of so much of what the server can do. */
static void some(struct pages *l, const struct sim_asking *a, struct sim_rng *rng, double load, double from,
                 double to) {
    for (double t = from; (t += sim_rng_exponential(rng, a->page / load)) < to;) add(l, a, rng, t);
}

static int by_time(const void *a, const void *b) {
    double x = ((const struct sim_page *)a)->asked, y = ((const struct sim_page *)b)->asked;
    return (x > y) - (x < y);
}

struct sim_page *sim_asking_draw(const struct sim_asking *a, struct sim_rng *rng, uint32_t *npages) {
    struct pages l = { 0 };
    double length = a->clients * a->page;
    switch (a->load) {
    case SIM_SPIKE: spike(&l, a, rng, 0); break;
    case SIM_INTERMITTENT:
        for (int i = 0; i < SPIKES; i++) spike(&l, a, rng, i * BETWEEN * length);
        some(&l, a, rng, LOW, 0, SPIKES * BETWEEN * length);
        break;
    case SIM_ALTERNATING:
        for (int i = 0; i < 2 * TURNS; i++)
            some(&l, a, rng, i % 2 ? TURN_LOW : TURN_HIGH, i * length, (i + 1) * length);
        break;
    case SIM_LOADS: assert(!"a load that there is not");
    }
    qsort(l.page, l.n, sizeof *l.page, by_time);
    if (a->site == SIM_STREAM && l.n) {
        l.page[0].segments = 120;
        l.page[0].url = 1;
        l.page[0].large = true;
    }
    *npages = l.n;
    return l.page;
}
