/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_store_parts.h - what the files of the store share (ccn_store.h is what others see): what stands in its memory,
 * lists, buckets and blocks, and making all of them anew.
 *
 * Whoever calls holds the store's lock.  What stands in this memory another process may have written: a number is
 * judged before it leads anywhere, and read ONCE, so that what was judged is what is used.
 */
#ifndef FAIRGATE_CCN_STORE_PARTS_H
#define FAIRGATE_CCN_STORE_PARTS_H

#include "ccn_store.h"

#define CCN_NIL     UINT32_MAX
#define CCN_FETCHED 0x80000000u         /* in an index: its packet was fetched */

#ifndef ONCE        /* a test may want to write between two reads */
#define ONCE(x) (*(volatile __typeof__(x) *)&(x))
#endif

enum ccn_row_state { CCN_FREE, CCN_FILLING, CCN_KEPT, CCN_DONE, CCN_STATES };
/* pages that are kept, pages that are done: by the time when somebody came last */
enum { CCN_LIVE, CCN_OVER, CCN_LISTS };
/* Where a row is linked: in the list of its state; if it is kept, also in its holder's, in the same order. */
enum { CCN_BY_STATE, CCN_BY_HOLDER, CCN_LINKS };

struct ccn_link { uint32_t older, newer; };

struct ccn_row {
    struct ccn_store_id id;
    uint64_t            touched;
    uint32_t            state;          /* enum ccn_row_state */
    int32_t             maker;
    uint32_t            n, left;        /* packets; of them, not fetched yet */
    uint32_t            first;          /* its packet, or its first index block */
    uint32_t            next;           /* in its bucket, or among the free rows */
    struct ccn_link     link[CCN_LINKS];
};

struct ccn_list { uint32_t oldest, newest, n; };

struct ccn_store_area {
    struct base_mutex       lock;
    _Atomic uint32_t        turns;      /* how often it was taken (shm/shm_patience.h) */
    uint32_t                made;       /* 0: zeroes took its place (shm/shm.h, DAMAGE) */
    uint32_t                free_row, free_block, nfree;
    _Atomic uint32_t        live;       /* kept, of more than one packet */
    struct ccn_list         list[CCN_LISTS];
    struct ccn_store_counts counts;
    /*
     * Blocks of each holder, whatever their pages' state.  An estimate where children are hostile: it says from whom
     * room is taken, and nothing is found by it.
     */
    uint32_t                held[CCN_HOLDERS];
    struct ccn_list         kept[CCN_HOLDERS];  /* pages of each holder */
};

/* An index block holds the numbers of so many packets, and that of the next index block. */
static inline uint32_t ccn_per_index(const struct ccn_store *s) { return s->block / 4 - 1; }
/* Index blocks of a page of n packets. */
static inline uint32_t ccn_indexes(const struct ccn_store *s, uint32_t n) {
    return n > 1 ? (n + ccn_per_index(s) - 1) / ccn_per_index(s) : 0;
}
static inline uint32_t *ccn_index_block(const struct ccn_store *s, uint32_t b) {
    return (uint32_t *)(void *)(s->blocks + (uint64_t)b * s->block);
}

/* Blocks of a page of n packets. */
static inline uint64_t ccn_blocks(const struct ccn_store *s, uint32_t n) { return (uint64_t)n + ccn_indexes(s, n); }

static inline uint32_t ccn_holder(const struct ccn_store_id *id) { return ONCE(id->holder) % CCN_HOLDERS; }

/* Where all parts are; the bytes that they take, 0: more blocks than can be numbered. */
uint64_t ccn_store_lay_out(struct ccn_store *s, void *area, uint64_t bytes, uint32_t segment);

/* The list of its state, and its holder's. */
void ccn_list_add(const struct ccn_store *s, struct ccn_row *r);
void ccn_list_remove(const struct ccn_store *s, struct ccn_row *r);

void            ccn_bucket_add(const struct ccn_store *s, struct ccn_row *r);
void            ccn_bucket_remove(const struct ccn_store *s, struct ccn_row *r);
struct ccn_row *ccn_bucket_find(const struct ccn_store *s, const struct ccn_store_id *id);     /* NULL: none */

void     ccn_row_free(const struct ccn_store *s, uint32_t i);
void     ccn_block_free(const struct ccn_store *s, uint32_t b);
uint32_t ccn_block_take(const struct ccn_store *s);     /* CCN_NIL: none */

/* Index blocks and blocks for n packets; false: links go where nothing is. */
bool     ccn_blocks_take(const struct ccn_store *s, struct ccn_row *r, uint32_t n);
/* Those of a page that had n, the first of them `b`; what can't be empties the store. */
void     ccn_blocks_free(const struct ccn_store *s, uint32_t n, uint32_t b);
/* Packet `at` of a page: its block, and where its number stands (NULL for a page of one). */
uint32_t ccn_block_of(const struct ccn_store *s, const struct ccn_row *r, uint32_t at, uint32_t **entry);

/* ---- ccn_store_take.c -------------------------------------------------------------------------------------------- */

/* Its row and its blocks are free. */
void ccn_page_free(const struct ccn_store *s, struct ccn_row *r);
/* The page of a list that nobody came for since `before`, or NULL. */
struct ccn_row *ccn_stale(const struct ccn_store *s, int list, uint64_t before);
/* It is over, or nobody came for it. */
void ccn_let_go(const struct ccn_store *s, struct ccn_row *r);
/* A row and so many blocks are free; false: there is no room, and all that was kept is. */
bool ccn_make_room(const struct ccn_store *s, uint64_t now, const struct ccn_store_id *id, uint64_t blocks);

/* ---- ccn_store_rebuild.c ----------------------------------------------------------------------------------------- */

void ccn_store_fill_empty(const struct ccn_store *s);
/* What can't be was found: everything goes.  Whoever fills a page finds that it is no longer there. */
void ccn_store_empty(const struct ccn_store *s);
/* A holder died: lists and chains from the rows. */
void ccn_store_rebuild(const struct ccn_store *s);
const char *ccn_store_check_locked(const struct ccn_store *s);

#endif
