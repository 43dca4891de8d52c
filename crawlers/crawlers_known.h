/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crawlers_known.h - a table of crawlers (crawlers_table.h) as a process asks it: whose address is that, and whom does
 * this user agent claim to be?
 *
 * The networks are cut into disjoint intervals in order, each with a bit for each crawler that has it, and found by
 * binary search.  All of it stands in memory of its own that nobody may write any more, so that a stray write ends the
 * process and believes nobody.
 *
 * LIVE.  One thread reads a file again when it changed; others ask meanwhile, without a lock: who asks is counted as
 * inside, and a table that was replaced goes when nobody has been inside since.  Each process has its own: what is
 * asked is never half of one table and half of another.
 */
#ifndef FAIRGATE_CRAWLERS_KNOWN_H
#define FAIRGATE_CRAWLERS_KNOWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crawlers_table.h"

#define CRAWLERS_AGENT_SEEN 512u        /* bytes of a user agent that are looked at */

struct crawlers_known;

/* NULL: no memory. */
struct crawlers_known *crawlers_known_new(const struct crawlers_table *t);
void                   crawlers_known_free(struct crawlers_known **k);

/* A bit for each crawler in whose lists the address stands: 4 or 16 bytes in network order. */
uint64_t    crawlers_known_of(const struct crawlers_known *k, const void *address, unsigned len);
/* A bit for each that this user agent names. */
uint64_t    crawlers_known_claims(const struct crawlers_known *k, const char *agent);
/* Which of those it is: one that it claims to be, else the first of the table; -1: none. */
int         crawlers_known_which(uint64_t crawlers, uint64_t claims);
uint32_t    crawlers_known_count(const struct crawlers_known *k);       /* crawlers */
uint32_t    crawlers_known_networks(const struct crawlers_known *k);    /* of all lists */
int64_t     crawlers_known_made(const struct crawlers_known *k);
const char *crawlers_known_name(const struct crawlers_known *k, uint32_t crawler);
/* How names of its addresses end; *n of them. */
const char *const *crawlers_known_suffixes(const struct crawlers_known *k, uint32_t crawler, uint32_t *n);
/* -1: there is none of that name. */
int         crawlers_known_find(const struct crawlers_known *k, const char *name);

/* ---- live -------------------------------------------------------------------------------------------------------- */

struct crawlers_live {                          /* zeros at first */
    struct crawlers_known *_Atomic now;         /* NULL: nothing was read yet */
    _Atomic uint32_t       inside;
    _Atomic bool           refused;             /* the file that stands there now can't be read, or is damaged */
    struct crawlers_known *before;              /* that somebody may still look at; this and the rest: of who reads */
    uint64_t               source[3];           /* of the file that was judged last: device and inode, size, time */
    int                    trouble;             /* errno of the last time that it could not be judged */
};

enum crawlers_looked {
    CRAWLERS_SAME,          /* nothing has changed, or nothing new is to be said */
    CRAWLERS_READ,          /* what stands there is in force */
    CRAWLERS_REFUSED        /* *error says why (malloc'ed); what was in force stays */
};

/*
 * One thread, now and again.  kept: crawlers_kept.h's, or -1; where nothing is in force and the file is not to be had,
 * what is kept comes in force.  keeps: this process is the one that keeps what it reads.
 */
enum crawlers_looked crawlers_live_look(struct crawlers_live *l, const char *path, int kept, bool keeps, char **error);
/* What is in force, to be looked at until `leave`; NULL: nothing.  Leave it in either case. */
const struct crawlers_known *crawlers_live_enter(struct crawlers_live *l);
void                 crawlers_live_leave(struct crawlers_live *l);

#endif
