/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bots/bots_seen.h - signatures that were found right, until they are too old to count: so none is verified twice, and
 * none counts for who has it from another's request.
 *
 * One with a nonce counts once.  One without counts for the address that came with it first, as often as it comes: it
 * covers no more than its signer made it cover, and from anywhere else it is a copy.
 *
 * A place is found by 128 bits of a keyed hash, in one of BOTS_SEEN_SETS sets of BOTS_SEEN_WAYS.  Only who has a key
 * that counts gets a place.  In a full set the one that was made first is forgotten, and the set keeps in mind when
 * that was: what was made then or before, and is not there, may be one of those and does not count any more.  The same
 * is so for what was made before the table was.  So none is ever taken twice, and who signs what he asks for, when he
 * asks for it, notices none of this.
 *
 * The wall clock may be set while this stands, and what was over may not be over any more.  So it is kept in mind until
 * when that counted whose places others got, and what is not there and counts no longer than that does not count.  A
 * clock that is behind the table's own beginning does not move that: what was made and used before counts for nothing,
 * and signers whose clocks are right, whom a wrong one takes to be of a time to come, lose nothing by it.  Behind by
 * more than a day it was wrong when the table began, and that begins anew.
 *
 * In memory that processes share: all of it is zeroes at first, and functions ending in _locked are called under one
 * lock.  WHO WRITES HERE: processes that trust each other (shm/shm.h); what stands here is compared and counted, and is
 * never an index.
 */
#ifndef FAIRGATE_BOTS_SEEN_H
#define FAIRGATE_BOTS_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define BOTS_SEEN_SETS 8192u
#define BOTS_SEEN_WAYS 8u

struct bots_seen_place {
    uint64_t id[2];
    uint64_t whose;                     /* a hash of the address that came with it */
    int64_t  created, until;            /* seconds since 1970; until 0: nothing stands here */
};

struct bots_seen {
    int64_t                since;       /* seconds since 1970; what was made before does not count */
    int64_t                over;        /* the latest `until` of those that were over and are not there any more */
    int64_t                forgotten[BOTS_SEEN_SETS];   /* `created` of the newest that was; 0: none */
    struct bots_seen_place place[BOTS_SEEN_SETS][BOTS_SEEN_WAYS];
};

struct bots_sight {                     /* one signature, now */
    uint64_t id[2];                     /* of all that it is, or of its nonce */
    uint64_t whose;
    int64_t  created, until;
    bool     once;                      /* it has a nonce */
};

enum bots_seen_as {
    BOTS_SEEN_NEVER,                    /* it is to be verified */
    BOTS_SEEN_RIGHT,                    /* it was verified, and counts */
    BOTS_SEEN_REPLAYED                  /* it does not count */
};

/* By each process, as it starts. */
void              bots_seen_begin_locked(struct bots_seen *t, int64_t now);
enum bots_seen_as bots_seen_look_locked(struct bots_seen *t, const struct bots_sight *s, int64_t now);
/* It was verified: BOTS_SEEN_RIGHT, or BOTS_SEEN_REPLAYED because another was quicker with the same. */
enum bots_seen_as bots_seen_note_locked(struct bots_seen *t, const struct bots_sight *s, int64_t now);
/*
 * Whoever changed it died in between: nothing is known any more, and none counts that may have been seen, nor one of a
 * signer whose clock is ahead.
 */
void              bots_seen_forget_locked(struct bots_seen *t, int64_t now);

#endif
