/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.h - from the first URL to the table (website-gateway paper, 2.3 and 3.4).
 *
 * Links are followed breadth first inside the scope, robots.txt first, and each URL is asked for until its size is
 * known (visit.h).
 *
 * Departures from the paper:
 *   - it takes every page's size for fixed; here a page that may vary is fetched more than once and has a mean and a
 *     spread (its own first future work, dynamic pages);
 *   - it walks once; here a later walk asks with validators, so that what has not changed costs a header, and what is
 *     no longer linked but still answers stays in the table, since clients still ask for it;
 *   - sizes are told apart by content coding, since clients get what they accept.
 */
#ifndef FAIRGATE_WALK_H
#define FAIRGATE_WALK_H

#include <signal.h>

#include "report.h"
#include "scope.h"
#include "settings.h"

enum walk_end {
    WALK_DONE = 0,          /* the table is written */
    WALK_FAILED = 1,        /* the table is as it was */
    /* the table is written, and a bound or a site out of reach kept the walk from being whole */
    WALK_BOUNDED = 3,
    /* the table is as it was; what is known stands in TABLE.part, and the next walk goes on from there */
    WALK_INTERRUPTED = 4
};


/* start: n places of the scope, where the walk begins.  *stop is set from a signal handler. */
enum walk_end walk(const struct settings *s, const struct scope *scope, const struct scope_place *start, unsigned n,
                   struct report *r, const volatile sig_atomic_t *stop);

#endif
