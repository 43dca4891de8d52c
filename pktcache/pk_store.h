/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_store.h - payloads by their fingerprint, in as many bytes as it was made with: the oldest go first.
 *
 *     ring    bytes of payloads, one behind the other as they came; a position only grows, its place is its remainder
 *     index   sets of entries: fingerprint, position, length.  An entry counts while its bytes are in the ring.
 *
 * The parent's blocks (pk_wire.h) have behind them in the ring the fingerprint of the block that followed last.
 *
 * All threads of a process share one.  Its lock is held while bytes are copied or compared, never over I/O.  All memory
 * is taken and touched when it is made; a call allocates nothing.
 */
#ifndef FAIRGATE_PK_STORE_H
#define FAIRGATE_PK_STORE_H

#include "pk_fingerprint.h"

#include <stdbool.h>

#define PK_STORE_LEAST (UINT64_C(1) << 20)      /* bytes */
#define PK_STORE_MOST  (UINT64_C(1) << 40)
/*
 * Ways of a set of the index.  The child has more than the parent, and a larger ring: what a fingerprint means must not
 * be displaced there by payloads that overtake its train.
 */
#define PK_STORE_PARENT 4u
#define PK_STORE_CHILD  8u
#define PK_PAYLOAD_MAX 65535u                   /* bytes of a payload */

typedef struct pk_store pk_store_t;

enum pk_met { PK_NEW, PK_SAME, PK_CLASH };

/* NULL: no memory. */
pk_store_t *pk_store_make(uint64_t bytes, unsigned ways);
void        pk_store_free(pk_store_t **s);

/*
 * PK_SAME: these very bytes are there.  PK_NEW: they were not and are now.  PK_CLASH: others have their fingerprint,
 * and stay.
 */
enum pk_met pk_store_meet(pk_store_t *s, const struct pk_fingerprint *fp, const void *bytes, uint32_t n);

/*
 * The same for a block.  again: as the newest even if it is there, since the child does so, too, which is told to store
 * it.
 */
enum pk_met pk_store_meet_block(pk_store_t *s, const struct pk_fingerprint *fp, const void *bytes, uint32_t n,
                                bool again);
/* Whether what has the fingerprint has these bytes at this place. */
bool        pk_store_has(pk_store_t *s, const struct pk_fingerprint *fp, uint32_t at, const void *bytes, uint32_t n);
/* Which block follows another one; next NULL: it is not known any more. */
void        pk_store_link(pk_store_t *s, const struct pk_fingerprint *fp, const struct pk_fingerprint *next);
bool        pk_store_next(pk_store_t *s, const struct pk_fingerprint *fp, struct pk_fingerprint *next);

/*
 * Puts them in as the newest, even if they are there: the parent has done so, and here they must not go sooner.
 * Whether they are new.
 */
bool        pk_store_put(pk_store_t *s, const struct pk_fingerprint *fp, const void *bytes, uint32_t n);

/*
 * Copies what has the fingerprint to `out`, which has room for as many bytes.  Its length, or 0: it is not there, or
 * longer.
 */
uint32_t    pk_store_get(pk_store_t *s, const struct pk_fingerprint *fp, void *out, uint32_t room);

/* Only the newest so many bytes count from now on: the other side keeps no more. */
void        pk_store_limit(pk_store_t *s, uint64_t bytes);
/* The name of the other side's cache.  If it is a new one, what has been here so far does not count any more. */
void        pk_store_mirrors(pk_store_t *s, const uint8_t cache[16]);

/* room; bytes that count; payloads put in; fingerprints met with other bytes */
struct pk_store_stats { uint64_t bytes, kept, put, clashes; };
void        pk_store_stats(pk_store_t *s, struct pk_store_stats *stats);

#endif
