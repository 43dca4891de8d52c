/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_pages.h - a server whose pages go out in segments, each asked for by an Interest of its own (IDSRS).
 *
 * A page's first Interest costs the making of the page and one segment; each later one a segment.  The client sends the
 * first, and when its answer is back as many of the others as its window allows, one more for each segment that comes.
 * m service threads; every Interest is a request to the engine (gate: threads).  Class "subsequent" has level 0, class
 * "first" level 1: that is IDSRS with the levels discipline.
 *
 * Estimates, in microseconds of work where others say bytes: a first Interest counts as the mean page of its URL as the
 * server has learnt it, a subsequent one as what is left of its page; its age is its page's.  A page that turns out
 * larger than was expected still counts as it was expected, in proportion of what is left: else it would be put aside,
 * made and paid for, until all that are expected to be as large as it was have been made.
 *
 * Source: the IDSRS paper, 4 and 5.2.1; response time is first Interest sent to last segment received.
 */
#ifndef FAIRGATE_SIM_PAGES_H
#define FAIRGATE_SIM_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim_sites.h"

enum sim_known {
    SIM_URLS,       /* a running mean for each URL; of one never seen that of all; of the first page nothing */
    SIM_ONE_MEAN,   /* a running mean of all pages */
    SIM_ORACLE      /* each page as it will be */
};

struct sim_pages {
    int               sched;            /* enum rs_sched */
    bool              one_class;        /* all Interests in one class, shortest first inside it */
    uint32_t          wait_bound_ms;    /* of that class */
    struct sim_asking asking;           /* but for .page, which follows from what stands here */
    uint32_t          threads;
    double            segment, making;  /* seconds, of one segment, and of making a page: mean, exponential */
    bool              making_fixed;     /* the same for all pages */
    double            rtt;
    uint32_t          hint;             /* q: a window of n/q Interests, n segments left; 0: one at a time */
    enum sim_known    known;
    uint32_t          history;          /* pages that the server has made, and learnt from, before the first of these */
    bool              again;            /* clients ask again until the first page of all is there */
    double            crawling;         /* this part of the pages is asked for by crawlers, of a class of their own */
    uint32_t          weights[2];       /* then: of people, of crawlers */
    bool              own_age;          /* an Interest is as old as itself, not as its page */
    bool              as_found;         /* a page that is larger than was expected counts as it is */
    uint64_t          seed;
};

struct sim_pages_result {
    struct sim_page *pages;     /* npages, in the order in which they were asked for; freed by sim_pages_free */
    uint32_t npages;
    double   mean, longest, mean_small, mean_large;     /* seconds; 0 where there are none */
    uint64_t interests;
    uint64_t kept_most;         /* segments that were made and not fetched yet, at one time */
};

struct sim_pages_result sim_pages_run(const struct sim_pages *p);
void                    sim_pages_free(struct sim_pages_result *r);

#endif
