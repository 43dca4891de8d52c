/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traps.h - bounds that keep a walk out of sites without an end: paths that grow, the permutations of a query,
 * calendars, session ids.
 *
 * A site is not told from a trap by guessing what it means but by counting: how long, how deep, how often the same
 * again.  What a bound leaves out is still estimated by the gateway: by its pattern (pages/pages_keys.h) and its
 * directory.
 */
#ifndef FAIRGATE_TRAPS_H
#define FAIRGATE_TRAPS_H

#include <stddef.h>
#include <stdint.h>

struct traps_bounds {
    uint32_t segments;      /* of a path */
    uint32_t repeats;       /* of one segment in a path */
    uint32_t pattern;       /* URLs with the same path and the same names of parameters */
};

struct traps;

struct traps *traps_new(const struct traps_bounds *b);      /* NULL: out of memory */
void          traps_free(struct traps **t);

/* Takes session ids out of a target of n bytes (";jsessionid=...", "PHPSESSID=..."), in place; the new length. */
size_t        traps_drop_session(char *target, size_t n);

/* NULL: a new URL that may be asked for, and it is counted.  Else which bound it meets. */
const char   *traps_refuse(struct traps *t, const char *origin, const char *target, size_t n);

#endif
