/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_sizes.h - where the sizes of pages stand: the gateway's own area of the segment (shm/shm.h), and the memory of
 * the prober's table.
 *
 *     struct qos_area | what answers taught (pages/pages_learnt.h)
 *
 * Children write there what they like, and believe what they read no further than an estimate goes.
 */
#ifndef FAIRGATE_QOS_SIZES_H
#define FAIRGATE_QOS_SIZES_H

#include "crawlers/crawlers_seen.h"
#include "pages/pages_known.h"
#include "pages/pages_learnt.h"
#include "pages/pages_ring.h"
#include "qos_console.h"
#include "qos_cost.h"
#include "qos_exempt.h"
#include "qos_inner.h"
#include "qos_page.h"
#include "qos_stall.h"
#include "qos_told.h"
#include "qos_visitor.h"
#include "qos_signers.h"

struct qos_share {                          /* qos_share.h */
    struct pages_ring news;                 /* keys of sizes and times that changed */
    struct pages_ring wanted, wanted_times; /* of some that were looked for in vain */
    _Atomic uint64_t  stored, found, failed, rejected;
};

struct qos_crawlers {                       /* qos_crawler.h */
    struct crawlers_seen seen;              /* by name */
    _Atomic uint64_t     by_list, by_name, claims;
};

struct qos_found {                          /* where the sizes and times of requests were found */
    _Atomic uint64_t page, pattern, directory, class, time, no_time;
};

struct qos_area {
    struct pages_known        known;        /* the prober's table */
    struct qos_share          share;
    struct qos_rate           rate[QOS_OUTLETS];
    struct qos_exempt_places  exempt;
    struct qos_inner_area     inner;
    struct qos_stalls         stalls;
    struct qos_visitor_counts visitors;
    struct qos_told           told;
    struct qos_pages          pages;
    struct qos_crawlers       crawlers;
    struct qos_signed_area    signatures;
    struct qos_found          found;
    struct qos_console        console;
    _Atomic uint32_t          busy;         /* of 1,000 parts of the CPUs' time, of late (qos_park.h) */
};

/* Of a process; the parent's is inherited. */
struct qos_sizes {
    struct qos_area        *area;
    void                   *learnt;
    uint32_t                pages;          /* rows of it */
    struct pages_known_area file;           /* the prober's table's memory */
    int                     bots;           /* the last good table of crawlers (crawlers/crawlers_kept.h); -1: none */
    uint64_t                hash_key[2];    /* URLs come from outside */
    uint64_t                outer_key[2];   /* of the segment alone: qos_outer.h */
};

uint64_t qos_sizes_bytes(uint32_t pages);                                   /* of an area with so many rows */
/* In the parent, of a fresh area.  0, or -1 and *why. */
int      qos_sizes_make(struct qos_sizes *z, void *area, uint32_t pages, const char **why);

#endif
