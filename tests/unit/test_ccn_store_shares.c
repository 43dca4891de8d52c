/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ccn_store_shares.c - pages that are kept, and a store that is full of pages that somebody is at: who holds most
 * gives room to who holds less, and nobody gives any in vain.
 */
#include "run_suite.h"
#include "test_ccn_store.h"

static struct place store; /* of 1,200 blocks */

static void make_store(void) { place_make(&store, 1200, KEEP); }
static void free_store(void) { place_free(&store); }

/* All at one moment, so that nothing is idle. */
static bool put_for(uint64_t holder, uint64_t page, uint32_t n) {
    struct ccn_store_id id = id_of(&store.s, page);
    struct ccn_draft d;

    id.holder = holder;
    if (!ccn_store_begin(&store.s, 0, MAKER, &id, n, &d)) return false;
    for (uint32_t i = 0; i < n; i++) put_packet(&store.s, &d, page, i);
    ck_assert(ccn_store_publish(&store.s, 0, &d));
    return true;
}

/* Twelve pages of 99 packets and an index block each fill it. */
static void fill_for(uint64_t holder) {
    for (uint64_t page = 1; page <= 12; page++) ck_assert(put_for(holder, page, 99));
    ck_assert_uint_eq(counts_of(&store.s).blocks_free, 0);
    ck_assert(!put_for(holder, 13, 1)); /* nobody takes room from himself */
}

START_TEST(who_holds_most_gives_room) {
    uint32_t left;

    fill_for(1);
    ck_assert_int_eq(get_packet(&store.s, 0, 1, 0, &left), CCN_GOT); /* somebody is at the first: the second goes */
    ck_assert(put_for(2, 101, 99));
    ck_assert(has_page(&store.s, 1) && !has_page(&store.s, 2) && has_page(&store.s, 3));
    for (uint64_t page = 102; page <= 106; page++) ck_assert(put_for(2, page, 99));
    ck_assert(has_page(&store.s, 1) && !has_page(&store.s, 7) && has_page(&store.s, 8));
    ck_assert(!put_for(2, 107, 1)); /* who holds as much keeps it */
    ck_assert(!put_for(1, 107, 1));
    ck_assert(!put_for(3, 201, 598)); /* it would hold as much as they do, all at once */
    for (uint64_t page = 101; page <= 106; page++) ck_assert(has_page(&store.s, page));
    ck_assert_uint_eq(counts_of(&store.s).evicted, 6);
    /* Of two who hold as much each gives a part, and neither becomes less than who takes it. */
    ck_assert(put_for(3, 201, 398));
    ck_assert(!has_page(&store.s, 8) && !has_page(&store.s, 9) && has_page(&store.s, 10) && has_page(&store.s, 1));
    ck_assert(!has_page(&store.s, 101) && !has_page(&store.s, 102) && has_page(&store.s, 103));
    ck_assert(!put_for(4, 301, 398));
    ck_assert(put_for(4, 301, 99)); /* of three it is one that gives */
    ck_assert_uint_eq(counts_of(&store.s).evicted, 11);
    expect_sound(&store.s);
    get_page(&store.s, 0, 201, 398);
    ck_assert(put_for(1, 14, 1)); /* what is done goes, whoever asks */
    ck_assert(!has_page(&store.s, 201));
    expect_sound(&store.s);
}
END_TEST

/* However they divide it: who comes with little finds room for as much as each of them has. */
START_TEST(some_who_hold_it_all_give_room) {
    uint32_t holders = (uint32_t)_i, each = 1200 / holders, had = 0, pages = 0;

    for (uint64_t h = 1; h <= holders; h++)
        ck_assert(put_for(h, h, each - (uint32_t)(each > 383 ? each / 384 + 1 : 1)));
    while (put_for(100, 1000 + pages, 7)) had += 8, pages++;
    ck_assert_uint_le(had, each);
    ck_assert_uint_gt(had + 8, each - 8);
    for (uint64_t page = 0; page < pages; page++) ck_assert(has_page(&store.s, 1000 + page));
    ck_assert_uint_le(counts_of(&store.s).evicted, 1);
    ck_assert_uint_ge(counts_of(&store.s).kept, pages + holders - 1);
    expect_sound(&store.s);
}
END_TEST

START_TEST(a_share_is_given_back) {
    fill_for(1);
    for (uint64_t page = 1; page <= 12; page++) get_page(&store.s, 0, page, 99);
    ccn_store_sweep(&store.s, UINT64_C(100) * SECOND);
    ck_assert_uint_eq(counts_of(&store.s).blocks_free, 1200);
    for (unsigned i = 0; i < CCN_HOLDERS; i++) ck_assert_uint_eq(store.s.area->held[i], 0);
    expect_sound(&store.s);
}
END_TEST

/* A holder may die while it changes what is counted: it is counted anew. */
START_TEST(shares_are_counted_anew) {
    fill_for(1);
    store.s.area->held[1] = 7;
    store.s.area->held[2] = 1000;
    ccn_store_rebuild(&store.s);
    ck_assert(store.s.area->held[1] == 1200 && store.s.area->held[2] == 0);
    expect_sound(&store.s);
    ck_assert(put_for(2, 101, 99));
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccn_store_shares");
    TCase *t = tcase_create("holders");

    tcase_add_checked_fixture(t, make_store, free_store);
    tcase_add_test(t, who_holds_most_gives_room);
    tcase_add_loop_test(t, some_who_hold_it_all_give_room, 1, 9);
    tcase_add_test(t, a_share_is_given_back);
    tcase_add_test(t, shares_are_counted_anew);
    suite_add_tcase(s, t);
    return run_suite(s);
}
