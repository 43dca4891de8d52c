/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ccn_store.h - stores for tests: small ones, in memory that processes share, with nothing before it and nothing
 * behind it as far as a 32-bit number of a block leads; and pages whose bytes say whose they are.
 */
#ifndef FAIRGATE_TEST_CCN_STORE_H
#define FAIRGATE_TEST_CCN_STORE_H

#include "mod_ccn/ccn_store_parts.h"
#include "test_ndn.h"

#include <sys/mman.h>

#define SEGMENT   512u
#define BLOCK     1536u /* of such segments */
#define PER_INDEX (BLOCK / 4 - 1)
#define KEEP      5000000u
#define SECOND    1000000u
#define MAKER     4711
#define PAGE_SIZE 4096u
#define BEYOND    (UINT64_C(1) << 43) /* 2^32 blocks, and more */

struct place {
    uint8_t *reserved;
    uint64_t bytes;
    struct ccn_store s;
};

/* The area's last byte is the last one that is there. */
static inline void place_make(struct place *p, uint32_t blocks, uint64_t keep) {
    uint64_t used = ccn_store_bytes((uint64_t)blocks * BLOCK, SEGMENT), pages;
    const char *why = NULL;

    ck_assert_uint_ne(used, 0);
    pages = (used + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
    p->bytes = used;
    p->reserved = mmap(NULL, BEYOND, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(p->reserved, MAP_FAILED);
    ck_assert_ptr_ne(
        mmap(p->reserved + PAGE_SIZE, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
        MAP_FAILED);
    ck_assert_msg(
        !ccn_store_make(&p->s, p->reserved + PAGE_SIZE + pages - used, (uint64_t)blocks * BLOCK, SEGMENT, keep, &why),
        "%s", why);
    ck_assert_uint_eq(p->s.nblocks, blocks);
    ck_assert_uint_eq(p->s.block, BLOCK);
}

static inline void place_free(struct place *p) { munmap(p->reserved, BEYOND); }

static inline void expect_sound(const struct ccn_store *s) {
    const char *wrong = ccn_store_check(s);
    ck_assert_msg(!wrong, "%s", wrong);
}

static inline struct ccn_store_counts counts_of(const struct ccn_store *s) {
    struct ccn_store_counts c;
    ccn_store_counts(s, &c);
    return c;
}

/* Of a page of n packets, index blocks included. */
static inline uint64_t blocks_of(uint64_t n) { return n == 1 ? 1 : n + (n + PER_INDEX - 1) / PER_INDEX; }

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static inline struct ccn_store_id id_of(const struct ccn_store *s, uint64_t page) {
    return ccn_store_id(s, &page, sizeof page);
}

static inline uint64_t mixed(uint64_t page, uint32_t i) {
    uint64_t z = (page << 20 ^ i) * UINT64_C(0x9e3779b97f4a7c15);
    return z ^ z >> 29;
}

/* From none to all that a block holds. */
static inline size_t packet_length(uint64_t page, uint32_t i) {
    return mixed(page, i) % 7 ? mixed(page, i) % (BLOCK + 1) : BLOCK;
}

static inline void packet_fill(uint64_t page, uint32_t i, uint8_t *at, size_t n) {
    for (size_t k = 0; k < n; k++) at[k] = (uint8_t)((mixed(page, i) >> k % 56) + k);
}

static inline bool packet_is(uint64_t page, uint32_t i, const uint8_t *at, size_t n) {
    uint8_t right[BLOCK];

    if (n != packet_length(page, i)) return false;
    packet_fill(page, i, right, n);
    return !memcmp(at, right, n);
}

static inline void put_packet(const struct ccn_store *s, struct ccn_draft *d, uint64_t page, uint32_t i) {
    uint8_t *room = ccn_store_room(s, d, i);

    ck_assert_ptr_nonnull(room);
    packet_fill(page, i, room, packet_length(page, i));
    ccn_store_put(s, d, packet_length(page, i));
}

static inline bool begin_page(const struct ccn_store *s, uint64_t now, uint64_t page, uint32_t n, struct ccn_draft *d) {
    struct ccn_store_id id = id_of(s, page);
    return ccn_store_begin(s, now, MAKER, &id, n, d);
}

/* False: there is no room for it. */
static inline bool put_page(const struct ccn_store *s, uint64_t now, uint64_t page, uint32_t n) {
    struct ccn_draft d;

    if (!begin_page(s, now, page, n, &d)) return false;
    for (uint32_t i = 0; i < n; i++) put_packet(s, &d, page, i);
    ck_assert(ccn_store_publish(s, now, &d));
    return true;
}

/* What is got is right; *left of a page that is not there is not touched. */
static inline enum ccn_got get_packet(const struct ccn_store *s, uint64_t now, uint64_t page, uint64_t i,
                                      uint32_t *left) {
    struct ccn_store_id id = id_of(s, page);
    uint8_t out[BLOCK];
    size_t n = SIZE_MAX;
    enum ccn_got got = ccn_store_get(s, now, &id, i, out, sizeof out, &n, left);

    if (got == CCN_GOT) ck_assert(packet_is(page, (uint32_t)i, out, n));
    return got;
}

static inline bool has_page(const struct ccn_store *s, uint64_t page) {
    struct ccn_store_id id = id_of(s, page);
    uint32_t left;
    return ccn_store_look(s, &id, 0, &left) == CCN_GOT;
}

/* All of it, in order. */
static inline void get_page(const struct ccn_store *s, uint64_t now, uint64_t page, uint32_t n) {
    uint32_t left;
    for (uint32_t i = 0; i < n; i++) ck_assert_int_eq(get_packet(s, now, page, i, &left), CCN_GOT);
}

#endif
