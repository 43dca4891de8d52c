/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_seen.h - signed Interests that were seen: none is obeyed twice (NDN packet format 0.3, "Signed Interest").
 *
 * A signed Interest says when it was made, and counts from CCN_SEEN_AHEAD_MS before that time to CCN_SEEN_MS after it.
 * Its digest is kept for as long, in sets of CCN_SEEN_WAYS rows; where a set is full of digests that count still, a new
 * one is refused.  No attacker can aim at a set: digests are SHA-256 of what a signer says.
 *
 * FLOOR.  An Interest that was made at or before `floor` is refused.  A fresh table knows nothing of what an earlier
 * server obeyed, whose signers' clocks may have been ahead: its floor is its own beginning and CCN_SEEN_AHEAD_MS.  If a
 * row is reused, the floor rises to the row's time, so that no clock that is set back makes an Interest count again.
 * The floor is not on disk: if the clock is set back between a stop and a start, what was obeyed before the stop counts
 * again.
 *
 * In shared memory, without a lock: a row is two atomic words.  Of two processes that get the same Interest at the same
 * moment one obeys at most, and perhaps none.  TRUST: a child that writes here can have signed Interests refused until
 * httpd is restarted, or one obeyed twice; no more.
 */
#ifndef FAIRGATE_CCN_SEEN_H
#define FAIRGATE_CCN_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define CCN_SEEN_MS       60000u
#define CCN_SEEN_AHEAD_MS 5000u /* that a signer's clock may be ahead of ours */
#define CCN_SEEN_SETS     8192u
#define CCN_SEEN_WAYS     8u

struct ccn_seen {
    _Atomic uint64_t floor; /* milliseconds since 1970 */
    struct {
        _Atomic uint64_t digest, time;
    } row[CCN_SEEN_SETS][CCN_SEEN_WAYS];
};

enum ccn_fresh {
    CCN_FRESH,
    CCN_REPLAYED,
    CCN_STALE,
    CCN_SEEN_FULL,
    CCN_TOO_EARLY /* made at or before the floor */
};

/* Of a table of zeroes; `now`: milliseconds since 1970. */
void ccn_seen_begin(struct ccn_seen *s, uint64_t now);

/* `digest`: 32 bytes of SHA-256; `made`, `now`: milliseconds since 1970.  From CCN_FRESH on it counts as seen. */
enum ccn_fresh ccn_seen_add(struct ccn_seen *s, const uint8_t *digest, uint64_t made, uint64_t now);

#endif
