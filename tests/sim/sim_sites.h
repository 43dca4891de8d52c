/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_sites.h - who asks a site for which pages, and when: the three sites and the loads of the IDSRS paper.
 *
 * Source: the paper's 5.2 and Fig. 9.  It says how many segments pages have (about 15 at 12306; 70 % about 15 and 30 %
 * about 120 at Taobao; the more popular a word the larger its page at Baidu), and that a load is a spike among little
 * (intermittent), or as long high as low (alternating).  Ours are the deviations, Baidu's figures (its Fig. 12 has no
 * numbers in the text), how long a spike's arrivals take, and the loads in numbers; they are below.
 */
#ifndef FAIRGATE_SIM_SITES_H
#define FAIRGATE_SIM_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim_rng.h"

enum sim_site {
    SIM_TICKETS,        /* 12306: one URL, 15 segments +- 2.25 */
    SIM_SHOP,           /* Taobao: an article, 15 +- 3; in 30 of 100 a search, 120 +- 10, with a URL of its own */
    /* Baidu: 200 words, each a URL, asked for as rank^-0.35; from 90 segments down to 5, +- 15 % */
    SIM_SEARCH,
    SIM_STREAM,         /* the first page that is asked for has 120 segments, all others one */
    SIM_SITES
};
#define SIM_URLS_MAX 200

enum sim_load {
    SIM_SPIKE,          /* everybody asks once */
    SIM_INTERMITTENT,   /* six spikes, from one to the next six times as long as their work takes; 0.2 all the time */
    SIM_ALTERNATING,    /* three times: 1.5 of what the server can do, then 0.3, each as long as such work takes */
    SIM_LOADS
};

struct sim_page {
    double   asked;             /* when the client sends its first Interest; seconds */
    double   took;              /* until it has the last segment */
    float    making;            /* seconds of a thread that making it takes */
    uint32_t segments;
    uint16_t url;
    bool     large;             /* pages of this URL have 50 segments or more in the mean */
    bool     crawler;           /* who asks */
};

/* Which page of the site it is: url, segments, large. */
void   sim_site_draw(enum sim_site site, struct sim_rng *rng, struct sim_page *out);
double sim_site_mean(enum sim_site site);       /* segments of its pages */

struct sim_asking {
    enum sim_site site;
    enum sim_load load;
    uint32_t      clients;      /* of one spike; of the others: pages that the server makes in one stretch of time */
    /* a spike's clients come within so much of the time that all its work takes: 0.05 is a spike, 1.25 a load of 0.8 */
    double        spread;
    double        page;         /* seconds that the server takes for a mean page: of all threads together */
};

/* Sorted by `asked`; to be freed by the caller. */
struct sim_page *sim_asking_draw(const struct sim_asking *a, struct sim_rng *rng, uint32_t *npages);

#endif
