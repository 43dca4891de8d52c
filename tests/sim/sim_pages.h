/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_pages.h - a server whose pages go out in segments, each asked for by an Interest of its own (IDSRS).
 *
 * A page's first Interest costs the making of the page and one segment; each later one a segment.  The client sends the
 * first, and when its answer is back all the others.  m service threads; every Interest is a request to the engine
 * (gate: threads).  Class "subsequent" has level 0, class "first" level 1: that is IDSRS with the levels discipline.
 *
 * Estimates, in microseconds of work where others say bytes: a first Interest counts as its kind's mean page, a
 * subsequent one as what is left of its page.
 *
 * Source: the IDSRS paper, 5.2.1: its three sites' page lengths; response time is first Interest sent to last segment
 * received.
 */
#ifndef FAIRGATE_SIM_PAGES_H
#define FAIRGATE_SIM_PAGES_H

#include <stdint.h>

enum sim_site {
    SIM_TICKETS,    /* 12306: about 15 segments */
    SIM_SHOP,       /* Taobao: 70 % about 15, 30 % about 120 */
    SIM_SEARCH      /* Baidu: 5 to 90, the popular ones larger */
};

struct sim_pages {
    int           sched;            /* enum rs_sched */
    int           one_class;        /* all Interests in one class, shortest first inside it */
    uint32_t      wait_bound_ms;    /* of that class */
    enum sim_site site;
    uint32_t      pages;            /* that are asked for in all */
    /* they come within so much of the time that all the work takes: 0.05 is a spike, 1.25 a load of 0.8 */
    double        spread;
    uint32_t      threads;
    double        segment, making;  /* seconds, of one segment and of making a page (exponential) */
    double        rtt;
    uint64_t      seed;
};

struct sim_pages_result { double mean, longest, mean_small, mean_large; };      /* seconds; small: below 50 segments */

struct sim_pages_result sim_pages_run(const struct sim_pages *p);

#endif
