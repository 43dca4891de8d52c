/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crawlers_seen.h - who was asked for by name (crawlers_dns.h), what came of it, and who is still to be asked for: in
 * memory that processes share, of a fixed size.
 *
 * A row is one number, so that it is never half of one and half of another:
 *
 *     40 bits  of the hash of address and crawler, under a key that strangers don't have: who is not that one has its
 *              row with a chance of four in 2^40
 *      3 bits  what is known
 *     21 bits  until when, in steps of four seconds
 *
 *     absent ─ asked for ─→ asked ─ told ─→ denied (10 min), no answer (1 min), confirmed (1 h)
 *                             │                       confirmed ─ in its last 10 min ─→ confirmed, asked again
 *                             └ 1 min ─→ absent       each ends when its time is over
 *
 * Sets of four.  Who is new takes the place of one that is over, else of one that is not confirmed, of these the one
 * that ends first; among four that are confirmed there is no place for one who is not.  So a crowd of liars can't put
 * out those who are confirmed.
 *
 * Who is to be asked for stands in one of CRAWLERS_ASKS places, each free, being written, or ready; where there is none
 * he is asked for another time.  One who died while writing keeps a place for ten seconds; should one who was only slow
 * write into a place that is another's by then, somebody is asked for who is neither, and nobody is taken for another.
 *
 * WHO WRITES HERE.  Children of httpd, as its user.  Nothing that stands here is an index or a length.
 */
#ifndef FAIRGATE_CRAWLERS_SEEN_H
#define FAIRGATE_CRAWLERS_SEEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "crawlers_dns.h"
#include "crawlers_table.h"

#define CRAWLERS_ROWS 16384u
#define CRAWLERS_ASKS 256u

struct crawlers_ask {
    _Atomic uint32_t state;
    _Atomic uint64_t since;                 /* microseconds, of the writing */
    uint8_t          address[16];
    char             name[CRAWLERS_NAME_ROOM];
};

struct crawlers_seen {                      /* zeros at first */
    _Atomic uint64_t    row[CRAWLERS_ROWS];
    struct crawlers_ask ask[CRAWLERS_ASKS];
    _Atomic uint64_t    asked, dropped;     /* look-ups that were made; claims for which there was no place */
};

/*
 * Is it confirmed that this address is this crawler's?  If that is not known he will be asked for.  No lock, no system
 * call.  key: of the hash; now: microseconds.
 */
bool     crawlers_seen_confirmed(struct crawlers_seen *s, const uint64_t key[2], const uint8_t address[16],
                                 const char *name, uint64_t now);
/* In the background: one who is to be asked for; false: nobody. */
bool     crawlers_seen_take(struct crawlers_seen *s, uint64_t now, uint8_t address[16], char name[CRAWLERS_NAME_ROOM]);
/* What came of it. */
void     crawlers_seen_tell(struct crawlers_seen *s, const uint64_t key[2], const uint8_t address[16],
                            const char *name, enum crawlers_said said, uint64_t now);
uint32_t crawlers_seen_waiting(const struct crawlers_seen *s);

#endif
