/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ccn_store.c - pages that are kept, in one process: bytes come back as they were put, who is over goes, and room
 * is made of nothing that somebody is at.
 */
#include "run_suite.h"
#include "test_ccn_store.h"

static struct place large, small; /* of 1,200 blocks and of 16, which is the least */

static void make_stores(void) {
    place_make(&large, 1200, KEEP);
    place_make(&small, 16, KEEP);
}

static void free_stores(void) {
    place_free(&large);
    place_free(&small);
}

/* ---- where it stands --------------------------------------------------------------------------------------------- */

static const struct {
    uint64_t bytes;
    uint32_t segment, blocks, block; /* blocks = 0: refused */
} layouts[] = {
    { 0, 512, 16, 1536 },
    { 16 * 1536, 512, 16, 1536 },
    { 17 * 1536 - 1, 512, 16, 1536 },
    { 17 * 1536, 512, 17, 1536 },
    { 64 << 20, 4096, 13107, 5120 },
    { 64 << 20, 4097, 12945, 5184 },
    { 1 << 20, 7168, 128, 8192 },
    { (UINT64_C(1) << 30) * 1536 - 1, 512, (1 << 30) - 1, 1536 },
    { (UINT64_C(1) << 30) * 1536, 512, 0, 0 },
    { UINT64_C(1) << 60, 512, 0, 0 },
};

START_TEST(a_layout) {
    uint64_t bytes = ccn_store_bytes(layouts[_i].bytes, layouts[_i].segment);
    struct ccn_store s;

    ck_assert_uint_eq(ccn_store_lay_out(&s, (void *)64, layouts[_i].bytes, layouts[_i].segment), bytes);
    ck_assert_int_eq(bytes == 0, layouts[_i].blocks == 0);
    if (!bytes) return;
    ck_assert_uint_eq(s.nblocks, layouts[_i].blocks);
    ck_assert_uint_eq(s.block, layouts[_i].block);
    ck_assert_uint_gt(s.mask, s.nblocks / 2);
    ck_assert_uint_eq(s.mask & (s.mask + 1), 0);
    /* One behind the other, each in lines of the cache of its own; the last of them ends where all does. */
    ck_assert_uint_ge((uintptr_t)s.buckets, (uintptr_t)(s.area + 1));
    ck_assert_uint_ge((uintptr_t)s.rows, (uintptr_t)(s.buckets + s.mask + 1));
    ck_assert_uint_ge((uintptr_t)s.links, (uintptr_t)(s.rows + s.nblocks));
    ck_assert_uint_ge((uintptr_t)s.lengths, (uintptr_t)(s.links + s.nblocks));
    ck_assert_uint_ge((uintptr_t)s.blocks, (uintptr_t)(s.lengths + s.nblocks));
    ck_assert_uint_eq((uintptr_t)s.blocks + (uint64_t)s.nblocks * s.block, 64 + bytes);
    ck_assert_uint_eq(
        ((uintptr_t)s.buckets | (uintptr_t)s.rows | (uintptr_t)s.links | (uintptr_t)s.lengths | (uintptr_t)s.blocks) %
            64,
        0);
}
END_TEST

START_TEST(more_than_can_be_numbered) {
    struct ccn_store s;
    const char *why = NULL;

    ck_assert_int_eq(ccn_store_make(&s, (void *)64, UINT64_C(1) << 60, 512, KEEP, &why), -1);
    ck_assert_str_eq(why, "more pages than can be kept");
}
END_TEST

/* ---- ids --------------------------------------------------------------------------------------------------------- */

/* Nobody who does not know the store's keys foresees one; a name has one in all processes, whatever it is read from. */
START_TEST(an_id_is_of_a_name_and_a_store) {
    struct ccn_store copy = large.s;
    struct ccn_store_id a = ccn_store_id(&large.s, "a name", 6), b = ccn_store_id(&copy, "a name and more", 6),
                        other = ccn_store_id(&large.s, "a name", 5), theirs = ccn_store_id(&small.s, "a name", 6);

    ck_assert_mem_eq(&a, &b, sizeof a);
    ck_assert_uint_ne(a.half[0], a.half[1]);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_ne(a.half[i], other.half[i]);
        ck_assert_uint_ne(a.half[i], theirs.half[i]);
    }
    ck_assert_uint_eq(put_page(&large.s, 0, 1, 2), 1);
    ck_assert(has_page(&copy, 1));
}
END_TEST

/* One half that agrees is no page. */
START_TEST(both_halves_count) {
    struct ccn_store_id id = id_of(&large.s, 1), half;
    uint32_t left;

    put_page(&large.s, 0, 1, 1);
    for (int i = 0; i < 2; i++) {
        half = id;
        half.half[i] ^= (uint64_t)large.s.mask + 1; /* in the same bucket */
        ck_assert_int_eq(ccn_store_look(&large.s, &half, 0, &left), CCN_NO_PAGE);
    }
    ck_assert_int_eq(ccn_store_look(&large.s, &id, 0, &left), CCN_GOT);
}
END_TEST

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static const uint32_t sizes[] = {
    1, 2, 3, PER_INDEX - 1, PER_INDEX, PER_INDEX + 1, 2 * PER_INDEX, 2 * PER_INDEX + 1, 3 * PER_INDEX + 1, 1200 - 4
};

/* What this server reads for itself is not fetched, and keeps its page as a new one is kept. */
START_TEST(a_packet_that_is_read_stays_and_is_not_fetched) {
    struct ccn_store_id id = id_of(&large.s, 5);
    uint8_t bytes[BLOCK];
    size_t n;

    for (uint32_t packets = 1; packets < 3; packets++) {
        ck_assert(put_page(&large.s, 0, 5, packets));
        for (uint64_t now = 0; now < 4 * KEEP; now += KEEP - 1) {
            ck_assert_int_eq(ccn_store_read(&large.s, now, &id, packets - 1, bytes, sizeof bytes, &n), CCN_GOT);
            ck_assert_uint_eq(n, packet_length(5, packets - 1));
            ccn_store_sweep(&large.s, now + KEEP - 1);
            expect_sound(&large.s);
        }
        ck_assert_int_eq(ccn_store_read(&large.s, 0, &id, packets, bytes, sizeof bytes, &n), CCN_NO_SEGMENT);
        ck_assert_uint_eq(counts_of(&large.s).fetched + counts_of(&large.s).done, 0);
        ck_assert_uint_eq(counts_of(&large.s).kept, 1);
        ccn_store_sweep(&large.s, 10 * KEEP);
        ck_assert_int_eq(ccn_store_read(&large.s, 0, &id, 0, bytes, sizeof bytes, &n), CCN_NO_PAGE);
    }
}
END_TEST

START_TEST(what_was_put_comes_back) {
    uint32_t n = sizes[_i], left = 77;

    for (int backwards = 0; backwards < 2; backwards++) {
        ck_assert(put_page(&large.s, 0, 7, n));
        expect_sound(&large.s);
        ck_assert_uint_eq(counts_of(&large.s).blocks_free, 1200 - blocks_of(n));
        for (uint32_t i = 0; i < n; i++) {
            ck_assert_int_eq(get_packet(&large.s, 0, 7, backwards ? n - 1 - i : i, &left), CCN_GOT);
            ck_assert_uint_eq(left, n - 1 - i);
        }
        expect_sound(&large.s);
        ck_assert_uint_eq(counts_of(&large.s).done, 1);
        ck_assert_int_eq(get_packet(&large.s, 0, 7, n - 1, &left), CCN_GOT);
        ck_assert_uint_eq(left, 0);
        left = 77;
        ck_assert_int_eq(get_packet(&large.s, 0, 7, n, &left), CCN_NO_SEGMENT);
        ck_assert_int_eq(get_packet(&large.s, 0, 7, UINT64_C(1) << 32, &left), CCN_NO_SEGMENT);
        ck_assert_int_eq(get_packet(&large.s, 0, 8, 0, &left), CCN_NO_PAGE);
        ck_assert_uint_eq(left, 77);
        ccn_store_sweep(&large.s, CCN_STORE_LINGER + 1);
        ck_assert_int_eq(get_packet(&large.s, 0, 7, 0, &left), CCN_NO_PAGE);
        ck_assert_uint_eq(counts_of(&large.s).blocks_free, 1200);
        expect_sound(&large.s);
    }
}
END_TEST

/* The largest page that there is; one more segment, or none, is no page. */
START_TEST(the_largest_page) {
    struct place p;
    struct ccn_draft d;
    uint8_t out[16];
    uint32_t left = 0;
    size_t n;

    place_make(&p, (uint32_t)blocks_of(CCN_SEGMENTS_MAX) + 200, KEEP);
    ck_assert(!begin_page(&p.s, 0, 1, CCN_SEGMENTS_MAX + 1, &d));
    ck_assert(!begin_page(&p.s, 0, 1, 0, &d));
    ck_assert(!begin_page(&p.s, 0, 1, UINT32_MAX, &d));
    ck_assert(begin_page(&p.s, 0, 1, CCN_SEGMENTS_MAX, &d));
    for (uint32_t i = 0; i < CCN_SEGMENTS_MAX; i++) {
        uint8_t *room = ccn_store_room(&p.s, &d, i);
        ck_assert_ptr_nonnull(room);
        memcpy(room, &i, sizeof i);
        ccn_store_put(&p.s, &d, sizeof i);
    }
    ck_assert(ccn_store_publish(&p.s, 0, &d));
    for (uint32_t i = 0; i < CCN_SEGMENTS_MAX; i++) {
        ck_assert_int_eq(ccn_store_get(&p.s, 0, &d.id, i, out, sizeof out, &n, &left), CCN_GOT);
        ck_assert_uint_eq(n, sizeof i);
        ck_assert_mem_eq(out, &i, sizeof i);
        ck_assert_uint_eq(left, CCN_SEGMENTS_MAX - 1 - i);
    }
    p.s.area->lock.word = 0x40000000; /* somebody died: it is made anew from what stands there */
    expect_sound(&p.s);
    ck_assert_uint_eq(counts_of(&p.s).done, 1);
    ccn_store_sweep(&p.s, 100 * SECOND);
    ck_assert_uint_eq(counts_of(&p.s).emptied, 0);
    ck_assert_uint_eq(counts_of(&p.s).blocks_free, p.s.nblocks);
    place_free(&p);
}
END_TEST

START_TEST(a_page_as_large_as_the_store_and_one_larger) {
    struct ccn_draft d;

    ck_assert(!begin_page(&small.s, 0, 1, 16, &d));
    ck_assert(put_page(&small.s, 0, 1, 15));
    ck_assert_uint_eq(counts_of(&small.s).blocks_free, 0);
    get_page(&small.s, 0, 1, 15);
    for (uint64_t i = 0; i < 16; i++) ck_assert(put_page(&small.s, 0, 100 + i, 1));
    ck_assert_uint_eq(counts_of(&small.s).kept, 16);
    ck_assert(!put_page(&small.s, 0, 200, 1));
    for (uint64_t i = 0; i < 16; i++) get_page(&small.s, 0, 100 + i, 1);
    expect_sound(&small.s);
}
END_TEST

START_TEST(lengths_of_packets) {
    struct ccn_draft d;
    uint8_t out[BLOCK + 1];
    uint32_t left;
    size_t n;

    ck_assert(begin_page(&small.s, 0, 1, 3, &d));
    memset(ccn_store_room(&small.s, &d, 0), 'a', BLOCK);
    ccn_store_put(&small.s, &d, BLOCK);
    memset(ccn_store_room(&small.s, &d, 1), 'b', BLOCK);
    ccn_store_put(&small.s, &d, BLOCK + 1); /* nothing is that long */
    memset(ccn_store_room(&small.s, &d, 2), 'c', BLOCK);
    ccn_store_put(&small.s, &d, SIZE_MAX - 65535);
    ck_assert(ccn_store_publish(&small.s, 0, &d));
    ck_assert_int_eq(ccn_store_get(&small.s, 0, &d.id, 0, out, BLOCK, &n, &left), CCN_GOT);
    ck_assert_uint_eq(n, BLOCK);
    ck_assert_uint_eq(out[0] & out[BLOCK - 1], 'a');
    ck_assert_int_eq(ccn_store_get(&small.s, 0, &d.id, 1, out, BLOCK, &n, &left), CCN_GOT);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(ccn_store_get(&small.s, 0, &d.id, 2, out, BLOCK, &n, &left), CCN_GOT);
    ck_assert_uint_eq(n, 0);
}
END_TEST

/* A packet of a page that nobody put has no bytes, whatever stood in its block before. */
START_TEST(nothing_of_before_is_left) {
    struct ccn_draft d;
    uint8_t out[BLOCK];
    uint32_t left;
    size_t n;

    for (uint32_t packets = 1; packets < 3; packets++) {
        for (uint64_t i = 0; i < 16; i++) put_page(&small.s, 0, i, 1);
        for (uint64_t i = 0; i < 16; i++) get_page(&small.s, 0, i, 1);
        ccn_store_sweep(&small.s, UINT64_C(100) * SECOND);
        ck_assert(begin_page(&small.s, 0, 99, packets, &d));
        ck_assert(ccn_store_publish(&small.s, 0, &d));
        for (uint32_t i = 0; i < packets; i++) {
            ck_assert_int_eq(ccn_store_get(&small.s, 0, &d.id, i, out, sizeof out, &n, &left), CCN_GOT);
            ck_assert_uint_eq(n, 0);
        }
        ccn_store_sweep(&small.s, UINT64_C(200) * SECOND);
    }
}
END_TEST

START_TEST(too_little_room_to_copy_into) {
    struct ccn_store_id id = id_of(&small.s, 1);
    struct ccn_draft d;
    uint8_t out[100];
    uint32_t left = 9;
    size_t n;

    ck_assert(begin_page(&small.s, 0, 1, 2, &d));
    for (uint32_t i = 0; i < 2; i++) {
        memset(ccn_store_room(&small.s, &d, i), 'x', 100);
        ccn_store_put(&small.s, &d, 100);
    }
    ck_assert(ccn_store_publish(&small.s, 0, &d));
    memset(out, 'y', sizeof out);
    ck_assert_int_eq(ccn_store_get(&small.s, 0, &id, 0, out, 99, &n, &left), CCN_NO_ROOM);
    ck_assert_uint_eq(out[0], 'y');
    ck_assert_uint_eq(left, 9);
    ck_assert_int_eq(ccn_store_look(&small.s, &id, 0, &left), CCN_GOT);
    ck_assert_uint_eq(left, 2);
    ck_assert_int_eq(ccn_store_get(&small.s, 0, &id, 0, out, 100, &n, &left), CCN_GOT);
    ck_assert_uint_eq(left, 1);
}
END_TEST

/* ---- a page that is being filled --------------------------------------------------------------------------------- */

START_TEST(nobody_sees_it_before_it_is_whole) {
    struct ccn_draft d;
    struct ccn_store_counts c;
    uint32_t left;

    ck_assert(begin_page(&large.s, 0, 1, 500, &d));
    ck_assert_int_eq(get_packet(&large.s, 0, 1, 0, &left), CCN_NO_PAGE);
    ck_assert(!has_page(&large.s, 1));
    expect_sound(&large.s);
    c = counts_of(&large.s);
    ck_assert(c.kept == 0 && c.stored == 0 && c.blocks_free == 1200 - 502);
    for (uint32_t i = 0; i < 500; i++) put_packet(&large.s, &d, 1, i);
    ccn_store_sweep(&large.s, UINT64_C(100) * SECOND);
    ck_assert(ccn_store_publish(&large.s, UINT64_C(100) * SECOND, &d));
    get_page(&large.s, UINT64_C(100) * SECOND, 1, 500);
    ck_assert(!ccn_store_publish(&large.s, 0, &d));
    ck_assert_uint_eq(counts_of(&large.s).stored, 1);
    expect_sound(&large.s);
}
END_TEST

START_TEST(packets_have_their_places) {
    struct ccn_draft d;
    uint8_t *at[3];

    ck_assert(begin_page(&small.s, 0, 1, 3, &d));
    for (uint32_t i = 0; i < 3; i++) {
        at[i] = ccn_store_room(&small.s, &d, i);
        ck_assert_ptr_nonnull(at[i]);
        ck_assert_ptr_eq(at[i], ccn_store_room(&small.s, &d, i));
        for (uint32_t k = 0; k < i; k++) ck_assert_ptr_ne(at[i], at[k]);
    }
    ck_assert_ptr_null(ccn_store_room(&small.s, &d, 3));
    ck_assert_ptr_null(ccn_store_room(&small.s, &d, UINT32_MAX));
    ccn_store_drop(&small.s, &d);
    ck_assert(begin_page(&small.s, 0, 1, 1, &d));
    ck_assert_ptr_nonnull(ccn_store_room(&small.s, &d, 0));
    ck_assert_ptr_null(ccn_store_room(&small.s, &d, 1));
    ck_assert(begin_page(&large.s, 0, 1, PER_INDEX + 1, &d));
    ck_assert_ptr_nonnull(ccn_store_room(&large.s, &d, PER_INDEX));
    ck_assert_ptr_null(ccn_store_room(&large.s, &d, 0)); /* there is no way back */
}
END_TEST

START_TEST(a_page_that_is_dropped) {
    struct ccn_draft d, again;

    ck_assert(begin_page(&small.s, 0, 1, 15, &d));
    ccn_store_drop(&small.s, &d);
    ck_assert_uint_eq(counts_of(&small.s).blocks_free, 16);
    expect_sound(&small.s);
    ck_assert(!ccn_store_publish(&small.s, 0, &d));
    ck_assert(begin_page(&small.s, 0, 2, 15, &again));
    ccn_store_drop(&small.s, &d); /* in whose row another page is now */
    ck_assert(!ccn_store_publish(&small.s, 0, &d));
    ck_assert(ccn_store_publish(&small.s, 0, &again));
    ccn_store_drop(&small.s, &again); /* it is not its maker's any more */
    ck_assert(has_page(&small.s, 2));
    ck_assert(!has_page(&small.s, 1));
    expect_sound(&small.s);
}
END_TEST

START_TEST(a_maker_dies) {
    struct ccn_store_id id[4];
    struct ccn_draft d[4];

    for (int i = 0; i < 4; i++) {
        id[i] = id_of(&small.s, (uint64_t)i);
        ck_assert(ccn_store_begin(&small.s, 0, i % 2 ? MAKER : -MAKER, &id[i], 3, &d[i]));
    }
    ck_assert(ccn_store_publish(&small.s, 0, &d[1]));
    ccn_store_forget(&small.s, MAKER);
    expect_sound(&small.s);
    ck_assert_uint_eq(counts_of(&small.s).blocks_free, 4);
    ck_assert(has_page(&small.s, 1));
    ck_assert(!ccn_store_publish(&small.s, 0, &d[3]));
    ck_assert(ccn_store_publish(&small.s, 0, &d[0]));
    ck_assert(ccn_store_publish(&small.s, 0, &d[2]));
    ccn_store_forget(&small.s, -MAKER);
    ck_assert_uint_eq(counts_of(&small.s).kept, 3);
    expect_sound(&small.s);
}
END_TEST

/* Two makers of the same: whoever comes gets the later one, and the other when that is gone. */
START_TEST(a_page_twice) {
    struct ccn_store_id id = id_of(&small.s, 1);
    struct ccn_draft d[2];
    uint32_t left;

    ck_assert(begin_page(&small.s, 0, 1, 2, &d[0]));
    ck_assert(begin_page(&small.s, 0, 1, 3, &d[1]));
    ck_assert(ccn_store_publish(&small.s, 0, &d[0]));
    ck_assert(ccn_store_publish(&small.s, SECOND, &d[1]));
    ck_assert_int_eq(ccn_store_look(&small.s, &id, 2, &left), CCN_GOT);
    ccn_store_sweep(&small.s, KEEP + 1);
    ck_assert_int_eq(ccn_store_look(&small.s, &id, 2, &left), CCN_GOT);
    ck_assert_uint_eq(counts_of(&small.s).kept, 1);
    expect_sound(&small.s);
    ccn_store_sweep(&small.s, KEEP + SECOND + 1);
    ck_assert_int_eq(ccn_store_look(&small.s, &id, 0, &left), CCN_NO_PAGE);
}
END_TEST

/* ---- who goes ---------------------------------------------------------------------------------------------------- */

START_TEST(what_is_done_lingers) {
    uint32_t left;

    put_page(&small.s, SECOND, 1, 2);
    get_page(&small.s, 2 * SECOND, 1, 2);
    ccn_store_sweep(&small.s, 2 * SECOND + CCN_STORE_LINGER);
    ck_assert_int_eq(get_packet(&small.s, 3 * SECOND, 1, 0, &left), CCN_GOT); /* and begins to linger anew */
    ck_assert_uint_eq(left, 0);
    ccn_store_sweep(&small.s, 3 * SECOND + CCN_STORE_LINGER);
    ck_assert(has_page(&small.s, 1)); /* who only looks does not come for it */
    ccn_store_sweep(&small.s, 3 * SECOND + CCN_STORE_LINGER + 1);
    ck_assert(!has_page(&small.s, 1));
    ck_assert_uint_eq(counts_of(&small.s).evicted, 0);
    expect_sound(&small.s);
}
END_TEST

START_TEST(what_nobody_comes_for_is_kept_for_a_while) {
    uint32_t left;

    put_page(&small.s, SECOND, 1, 2);
    put_page(&small.s, SECOND, 2, 1);
    ccn_store_sweep(&small.s, SECOND + KEEP);
    ck_assert(has_page(&small.s, 1) && has_page(&small.s, 2));
    ck_assert_int_eq(get_packet(&small.s, 2 * SECOND, 1, 0, &left), CCN_GOT);
    ccn_store_sweep(&small.s, SECOND + KEEP + 1);
    ck_assert(has_page(&small.s, 1) && !has_page(&small.s, 2));
    ccn_store_sweep(&small.s, 2 * SECOND + KEEP);
    ck_assert(has_page(&small.s, 1));
    ccn_store_sweep(&small.s, 2 * SECOND + KEEP + 1);
    ck_assert(!has_page(&small.s, 1));
    ck_assert_uint_eq(counts_of(&small.s).evicted, 2);
    ck_assert_uint_eq(counts_of(&small.s).blocks_free, 16);
    expect_sound(&small.s);
}
END_TEST

/* A clock that begins at 0, and one that a process reads a little late. */
START_TEST(times_before_the_beginning) {
    put_page(&small.s, 0, 1, 1);
    ccn_store_sweep(&small.s, 0);
    ccn_store_sweep(&small.s, 1);
    ck_assert(has_page(&small.s, 1));
    get_page(&small.s, SECOND, 1, 1);
    ccn_store_sweep(&small.s, 1);
    ck_assert(has_page(&small.s, 1));
}
END_TEST

/* What is done goes first, the oldest of it, and no more than must. */
START_TEST(room_is_made_of_what_is_done) {
    for (uint64_t i = 0; i < 4; i++) put_page(&small.s, i, i, 3);
    get_page(&small.s, 10, 2, 3);
    get_page(&small.s, 11, 0, 3);
    get_page(&small.s, 12, 3, 3);
    ck_assert(put_page(&small.s, 13, 4, 3));
    ck_assert(!has_page(&small.s, 2));
    ck_assert(has_page(&small.s, 0) && has_page(&small.s, 1) && has_page(&small.s, 3));
    ck_assert(put_page(&small.s, 14, 5, 5));
    ck_assert(!has_page(&small.s, 0) && !has_page(&small.s, 3));
    ck_assert(has_page(&small.s, 1) && has_page(&small.s, 4) && has_page(&small.s, 5));
    ck_assert_uint_eq(counts_of(&small.s).evicted, 0);
    ck_assert_uint_eq(counts_of(&small.s).full, 0);
    expect_sound(&small.s);
}
END_TEST

/* Then what nobody came for within a second, the oldest first; never what somebody is at. */
START_TEST(room_is_made_of_what_is_idle) {
    uint32_t left;

    for (uint64_t i = 0; i < 4; i++) put_page(&small.s, i, i, 3);
    ck_assert_int_eq(get_packet(&small.s, 100, 0, 0, &left), CCN_GOT); /* 1, 2, 3, 0 is their order now */
    ck_assert(!put_page(&small.s, CCN_STORE_IDLE + 1, 4, 1));          /* just a second since somebody came for 1 */
    ck_assert_uint_eq(counts_of(&small.s).full, 1);
    ck_assert_uint_eq(counts_of(&small.s).evicted, 0);
    ck_assert(put_page(&small.s, CCN_STORE_IDLE + 2, 4, 1));
    ck_assert(!has_page(&small.s, 1));
    ck_assert(has_page(&small.s, 0) && has_page(&small.s, 2) && has_page(&small.s, 3));
    ck_assert(put_page(&small.s, CCN_STORE_IDLE + 100, 5, 7));
    ck_assert(!has_page(&small.s, 2) && !has_page(&small.s, 3));
    ck_assert(has_page(&small.s, 0) && has_page(&small.s, 4) && has_page(&small.s, 5));
    ck_assert_uint_eq(counts_of(&small.s).evicted, 3);
    expect_sound(&small.s);
}
END_TEST

/* Where all that may go would not do, nothing goes for it. */
START_TEST(room_that_can_not_be_made_is_not_made) {
    uint32_t left;

    for (uint64_t i = 0; i < 4; i++) put_page(&small.s, i, i, 3);
    get_page(&small.s, 10, 3, 3);
    ck_assert_int_eq(get_packet(&small.s, SECOND, 0, 0, &left), CCN_GOT);
    ck_assert(!put_page(&small.s, 2 * SECOND, 4, 12));
    for (uint64_t i = 0; i < 4; i++) ck_assert(has_page(&small.s, i));
    ck_assert_uint_eq(counts_of(&small.s).full, 1);
    ck_assert_uint_eq(counts_of(&small.s).evicted, 0);
    ck_assert(put_page(&small.s, 2 * SECOND, 4, 11));
    ck_assert(has_page(&small.s, 0) && has_page(&small.s, 4));
    ck_assert_uint_eq(counts_of(&small.s).kept, 2);
    expect_sound(&small.s);
}
END_TEST

/* Whose page is being filled is in nobody's way for long, and is never taken from its maker. */
START_TEST(drafts_are_no_room) {
    struct ccn_draft d;

    ck_assert(begin_page(&small.s, 0, 1, 8, &d));
    ck_assert(put_page(&small.s, 0, 2, 5));
    ck_assert(!put_page(&small.s, UINT64_C(1000) * SECOND, 3, 7));
    ck_assert(has_page(&small.s, 2));
    ck_assert(put_page(&small.s, UINT64_C(1000) * SECOND, 3, 6));
    for (uint32_t i = 0; i < 8; i++) put_packet(&small.s, &d, 1, i);
    ck_assert(ccn_store_publish(&small.s, 0, &d));
    get_page(&small.s, 0, 1, 8);
    expect_sound(&small.s);
}
END_TEST

/* ---- figures ----------------------------------------------------------------------------------------------------- */

START_TEST(what_is_counted) {
    struct ccn_store_counts c;
    uint32_t left;

    put_page(&large.s, 0, 1, 3);
    put_page(&large.s, 0, 2, 1);
    put_page(&large.s, 0, 3, 2);
    ck_assert_uint_eq(ccn_store_live(&large.s), 2);
    get_packet(&large.s, 0, 1, 1, &left);
    get_packet(&large.s, 0, 1, 1, &left);
    ck_assert_uint_eq(left, 2);
    get_packet(&large.s, 0, 2, 0, &left);
    get_packet(&large.s, 0, 2, 0, &left);
    get_page(&large.s, 0, 3, 2);
    get_page(&large.s, 0, 3, 2);
    get_packet(&large.s, 0, 9, 0, &left);
    get_packet(&large.s, 0, 1, 3, &left);
    ck_assert_uint_eq(ccn_store_live(&large.s), 1);
    c = counts_of(&large.s);
    ck_assert_uint_eq(c.kept, 1);
    ck_assert_uint_eq(c.done, 2);
    ck_assert_uint_eq(c.stored, 3);
    ck_assert_uint_eq(c.fetched, 8);
    ck_assert_uint_eq(c.refetched, 4);
    ck_assert_uint_eq(c.blocks_free, 1200 - 8);
    ck_assert_uint_eq(c.evicted + c.full + c.emptied, 0);
    large.s.area->live = UINT32_MAX;
    ck_assert_uint_eq(ccn_store_live(&large.s), 1200);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccn_store");
    TCase *t = tcase_create("one process");
    tcase_set_timeout(t, 120);

    tcase_add_checked_fixture(t, make_stores, free_stores);
    tcase_add_loop_test(t, a_layout, 0, ROWS(layouts));
    tcase_add_test(t, more_than_can_be_numbered);
    tcase_add_test(t, an_id_is_of_a_name_and_a_store);
    tcase_add_test(t, both_halves_count);
    tcase_add_loop_test(t, what_was_put_comes_back, 0, ROWS(sizes));
    tcase_add_test(t, a_packet_that_is_read_stays_and_is_not_fetched);
    tcase_add_test(t, the_largest_page);
    tcase_add_test(t, a_page_as_large_as_the_store_and_one_larger);
    tcase_add_test(t, lengths_of_packets);
    tcase_add_test(t, nothing_of_before_is_left);
    tcase_add_test(t, too_little_room_to_copy_into);
    tcase_add_test(t, nobody_sees_it_before_it_is_whole);
    tcase_add_test(t, packets_have_their_places);
    tcase_add_test(t, a_page_that_is_dropped);
    tcase_add_test(t, a_maker_dies);
    tcase_add_test(t, a_page_twice);
    tcase_add_test(t, what_is_done_lingers);
    tcase_add_test(t, what_nobody_comes_for_is_kept_for_a_while);
    tcase_add_test(t, times_before_the_beginning);
    tcase_add_test(t, room_is_made_of_what_is_done);
    tcase_add_test(t, room_is_made_of_what_is_idle);
    tcase_add_test(t, room_that_can_not_be_made_is_not_made);
    tcase_add_test(t, drafts_are_no_room);
    tcase_add_test(t, what_is_counted);
    suite_add_tcase(s, t);
    return run_suite(s);
}
