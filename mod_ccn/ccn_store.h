/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_store.h - pages that were made, cut into Data packets, for the Interests that fetch the rest of them (IDSRS paper
 * 5.1: CCNCache).
 *
 * It stands in the host's area of the segment (shm/shm.h), so that any process has what another one made, and what one
 * had made stays when that one dies:
 *
 *     struct ccn_store_area | buckets[] | rows[] | links[] | lengths[] | blocks
 *
 * A packet is a block.  A page of one packet has just that; of more it has index blocks, which hold the numbers of the
 * others, a bit for each that was fetched, and the number of the next.  links[] chains free blocks.
 *
 * A page: free ─ begin ─→ filling ─ publish ─→ kept ─ all of it fetched ─→ done ─ 2 s, or room lacks ─→ free
 *                            └── drop ──→ free      └─ nobody came for `keep`, or for a second when room lacks ─→ free
 *
 * SHARES.  Where room lacks, a newcomer takes it from whoever holds most, as long as that one holds more than the
 * newcomer will: the page that nobody came for longest, even if that is a moment ago.  Who holds as much or less keeps
 * its pages.  If all that may go does not suffice, nothing goes.  Holders are told apart by a small number made of
 * theirs: two may count as one.
 *
 * LOCK.  One of its own (base/base_mutex.h), for the copy of a packet, the blocks of a page and as many that go for it,
 * or a few thousand rows at most; not to be taken while the segment's is held.  A page that is being filled is only its
 * maker's, who writes blocks without the lock.  When a holder dies, the next one makes lists and chains anew from the
 * rows; the order in which pages were come for is forgotten then, and known again when each was come for, or is gone.
 * Who lives and keeps it for most of a second, or was stopped with it, is taken for damage of the memory: `stuck`.
 *
 * TRUST.  All children write here, as shm.h says of the segment: an index is judged before it is followed, a loop has a
 * bound, and what can't be empties the store.  What stands in a packet its client verifies.
 */
#ifndef FAIRGATE_CCN_STORE_H
#define FAIRGATE_CCN_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base_hash.h"
#include "base/base_mutex.h"

#define CCN_STORE_EXTRA  1024u          /* bytes of a block beyond a segment's: names, metadata, signature */
/* microseconds that a page stays that was fetched: what got lost is asked for again */
#define CCN_STORE_LINGER 2000000u
#define CCN_STORE_IDLE   1000000u       /* nobody who is at a page lets it wait for longer */
#define CCN_SEGMENTS_MAX 65536u         /* of a page */
#define CCN_HOLDERS      256u           /* that are told apart */

/* Of a page: its name up to the version, under the store's keys; and by whom it takes room (SHARES), any number. */
struct ccn_store_id { uint64_t half[2], holder; };

struct ccn_store_counts {
    uint64_t kept, done;                /* pages now */
    uint64_t blocks_free;
    /* ever: pages, segments, segments, pages, ... */
    uint64_t stored, fetched, refetched, evicted, full, emptied;
};

struct ccn_store_area;
struct ccn_row;

/* Where its parts are in this process: a plain copy is as good. */
struct ccn_store {
    struct ccn_store_area *area;
    uint32_t              *buckets, *links;
    struct ccn_row        *rows;
    uint16_t              *lengths;
    uint8_t               *blocks;
    uint32_t               nblocks, block;      /* how many; bytes of one */
    uint32_t               mask;                /* buckets - 1 */
    uint64_t               keep;                /* microseconds */
    uint64_t               key[2][2];
    /*
     * Puts other memory, of zeroes, in this one's place; called without the lock.  NULL: who can't take it goes without
     */
    void                 (*stuck)(const char *why);
};

/* Memory for so many bytes of packets with segments of that size; 0: more than can be numbered. */
uint64_t ccn_store_bytes(uint64_t bytes, uint32_t segment);
/* In the parent, of an area that is zeroed, before there are children.  0, or -1 and *why. */
int      ccn_store_make(struct ccn_store *s, void *area, uint64_t bytes, uint32_t segment, uint64_t keep,
                        const char **why);

struct ccn_store_id ccn_store_id(const struct ccn_store *s, const void *name, size_t n);

/* A page that is being filled: the caller's alone until it is published or dropped. */
struct ccn_draft {
    struct ccn_store_id id;
    uint32_t            row, n;
    uint32_t            block;              /* where ccn_store_room was last */
    uint32_t            index, index_at;    /* the index block that was used last, and the first packet that it has */
};
/* Room for `n` packets; false: there is none, even if all goes that may. */
bool     ccn_store_begin(const struct ccn_store *s, uint64_t now, int32_t maker, const struct ccn_store_id *id,
                         uint32_t n, struct ccn_draft *d);
/* Where packet i is to be written, s->block bytes of room, in order of i; and how long it is.  NULL: nowhere. */
uint8_t *ccn_store_room(const struct ccn_store *s, struct ccn_draft *d, uint32_t i);
void     ccn_store_put(const struct ccn_store *s, const struct ccn_draft *d, size_t bytes);
/* False: it is not there any more. */
bool     ccn_store_publish(const struct ccn_store *s, uint64_t now, struct ccn_draft *d);
void     ccn_store_drop(const struct ccn_store *s, struct ccn_draft *d);
/* That maker died. */
void     ccn_store_forget(const struct ccn_store *s, int32_t maker);

enum ccn_got { CCN_GOT, CCN_NO_PAGE, CCN_NO_SEGMENT, CCN_NO_ROOM };
/* A copy of that packet into `out`; *bytes of it, and *left: of its page's packets, those nobody has fetched yet. */
enum ccn_got ccn_store_get(const struct ccn_store *s, uint64_t now, const struct ccn_store_id *id, uint64_t segment,
                           void *out, size_t room, size_t *bytes, uint32_t *left);
/* The same for this server's own use: the packet does not count as fetched, but its page stays as if it were new. */
enum ccn_got ccn_store_read(const struct ccn_store *s, uint64_t now, const struct ccn_store_id *id, uint64_t segment,
                            void *out, size_t room, size_t *bytes);
/* The same without the copy: whether it is there, and *left. */
enum ccn_got ccn_store_look(const struct ccn_store *s, const struct ccn_store_id *id, uint64_t segment, uint32_t *left);

/* How many pages of more than one packet are being fetched: for an estimate, without the lock. */
uint32_t ccn_store_live(const struct ccn_store *s);
/* Lets go of what is over.  To be called now and then. */
void ccn_store_sweep(const struct ccn_store *s, uint64_t now);
void ccn_store_counts(const struct ccn_store *s, struct ccn_store_counts *c);
/* Every invariant: NULL, or a sentence about the first that does not hold.  For tests. */
const char *ccn_store_check(const struct ccn_store *s);

#endif
