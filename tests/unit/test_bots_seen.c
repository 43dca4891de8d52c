/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "bots/bots_seen.h"
#include "test_bots.h"

static struct bots_seen *seen_table(int64_t now) {
    struct bots_seen *t = calloc(1, sizeof *t);

    ck_assert_ptr_nonnull(t);
    bots_seen_begin_locked(t, now);
    return t;
}

static struct bots_sight sight(uint64_t id, uint64_t whose, int64_t created, bool once) {
    return (struct bots_sight){ { id, ~id }, whose, created, created + 3600, once };
}

START_TEST(one_with_a_nonce_counts_once) {
    struct bots_seen *t = seen_table(1000);
    struct bots_sight s = sight(7, 1, 1000, true);

    ck_assert_int_eq(bots_seen_look_locked(t, &s, 1000), BOTS_SEEN_NEVER);
    ck_assert_int_eq(bots_seen_look_locked(t, &s, 1000), BOTS_SEEN_NEVER);
    ck_assert_int_eq(bots_seen_note_locked(t, &s, 1000), BOTS_SEEN_RIGHT);
    ck_assert_int_eq(bots_seen_note_locked(t, &s, 1000), BOTS_SEEN_REPLAYED);
    ck_assert_int_eq(bots_seen_look_locked(t, &s, 1000), BOTS_SEEN_REPLAYED);
    ck_assert_int_eq(bots_seen_look_locked(t, &s, 4600), BOTS_SEEN_REPLAYED);
    free(t);
}
END_TEST

START_TEST(one_without_counts_for_the_first_address) {
    struct bots_seen *t = seen_table(1000);
    struct bots_sight mine = sight(7, 1, 1000, false), theirs = sight(7, 2, 1000, false);

    ck_assert_int_eq(bots_seen_note_locked(t, &mine, 1000), BOTS_SEEN_RIGHT);
    ck_assert_int_eq(bots_seen_look_locked(t, &mine, 2000), BOTS_SEEN_RIGHT);
    ck_assert_int_eq(bots_seen_look_locked(t, &theirs, 2000), BOTS_SEEN_REPLAYED);
    ck_assert_int_eq(bots_seen_note_locked(t, &theirs, 2000), BOTS_SEEN_REPLAYED);
    ck_assert_int_eq(bots_seen_look_locked(t, &mine, 4500), BOTS_SEEN_RIGHT);
    /* both halves of the id count */
    mine.id[1]++;
    ck_assert_int_eq(bots_seen_look_locked(t, &mine, 2000), BOTS_SEEN_NEVER);
    free(t);
}
END_TEST

/* Ten times as many as there are places: of those that counted once none counts again, the forgotten ones included. */
START_TEST(what_is_forgotten_does_not_count_again) {
    struct bots_seen *t = seen_table(1);
    uint64_t many = 10ull * BOTS_SEEN_SETS * BOTS_SEEN_WAYS;
    int64_t now = 1000;

    for (uint64_t i = 0; i < many; i++) {
        struct bots_sight s = sight(i * 0x9e3779b97f4a7c15u, 1, now, true);
        /* 1,000 a second: all of them are still in their time. */
        if (i % 1000 == 0) now++;
        s.created = now;
        s.until = now + 3600;
        ck_assert_int_eq(bots_seen_note_locked(t, &s, now), BOTS_SEEN_RIGHT);
    }
    now = 1000;
    for (uint64_t i = 0; i < many; i++) {
        struct bots_sight s = sight(i * 0x9e3779b97f4a7c15u, 1, now, true);
        if (i % 1000 == 0) now++;
        s.created = now;
        s.until = now + 3600;
        ck_assert_int_eq(bots_seen_note_locked(t, &s, 1000 + (int64_t)many / 1000), BOTS_SEEN_REPLAYED);
    }
    free(t);
}
END_TEST

/* What is over makes room for others, and keeps nobody out. */
START_TEST(what_is_over_leaves_its_place) {
    struct bots_seen *t = seen_table(1);

    for (int64_t now = 1000; now < 1000 + 100 * 3601; now += 3601)
        for (uint64_t i = 0; i < BOTS_SEEN_WAYS; i++) {
            struct bots_sight s = sight((i + 1) * BOTS_SEEN_SETS + (uint64_t)now * BOTS_SEEN_SETS * 100, 1, now, true);
            ck_assert_int_eq(bots_seen_note_locked(t, &s, now), BOTS_SEEN_RIGHT);
        }
    ck_assert_int_eq(t->forgotten[0], 0);
    free(t);
}
END_TEST

START_TEST(what_was_made_before_does_not_count) {
    struct bots_seen *t = seen_table(10000);
    struct bots_sight old = sight(1, 1, 9999, true), same = sight(2, 1, 10000, true), plain = sight(3, 1, 9999, false);

    ck_assert_int_eq(bots_seen_note_locked(t, &old, 10001), BOTS_SEEN_REPLAYED);
    ck_assert_int_eq(bots_seen_note_locked(t, &same, 10001), BOTS_SEEN_RIGHT);
    ck_assert_int_eq(bots_seen_note_locked(t, &plain, 10001), BOTS_SEEN_REPLAYED);
    bots_seen_begin_locked(t, 50000); /* another process starts */
    ck_assert_int_eq(t->since, 10000);
    bots_seen_forget_locked(t, 20000);
    /* Of a clock that is a minute ahead it counted just now. */
    same.created = 20060;
    ck_assert_int_eq(bots_seen_note_locked(t, &same, 20000), BOTS_SEEN_REPLAYED);
    same.created = 20061;
    ck_assert_int_eq(bots_seen_note_locked(t, &same, 20061), BOTS_SEEN_RIGHT);
    free(t);
}
END_TEST

/* Minutes go by, and sometimes the clock is set by an hour: whichever of those that counted comes again, none does. */
START_TEST(a_clock_that_is_set_makes_none_count_again) {
    enum { MANY = 4000, SETS = 8 };
    struct bots_seen *t = seen_table(100000);
    static struct bots_sight all[MANY];
    int64_t now = 100000;
    uint64_t draw = 1;
    unsigned counted = 0, again = 0;

    for (unsigned n = 0; n < MANY; n++) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        now += draw >> 40 & 15;
        if ((draw >> 50) % 100 == 0) now += draw >> 60 & 1 ? 3600 : -3600;
        all[n] = sight((n + 1) * BOTS_SEEN_SETS + n % SETS, 1, now, true);
        all[n].until = now + 300;
        counted += bots_seen_note_locked(t, &all[n], now) == BOTS_SEEN_RIGHT;
        for (unsigned i = 0; i < n; i++) {
            if (now + 60 < all[i].created || now > all[i].until) continue;
            again++;
            ck_assert_int_ne(bots_seen_look_locked(t, &all[i], now), BOTS_SEEN_RIGHT);
            ck_assert_int_ne(bots_seen_note_locked(t, &all[i], now), BOTS_SEEN_RIGHT);
        }
    }
    /* There was something to find, and they were not all refused. */
    ck_assert_uint_gt(counted, MANY / 4);
    ck_assert_uint_gt(again, 10u * MANY);
    free(t);
}
END_TEST

/* Behind the beginning none counts that may have been used before; a day behind, the clock was wrong then. */
START_TEST(a_clock_behind_the_beginning) {
    struct bots_seen *t = seen_table(200000);
    struct bots_sight s = sight(1, 1, 200000 - 3600, true), later = sight(2, 1, 200001, true);

    ck_assert_int_eq(bots_seen_note_locked(t, &s, s.created), BOTS_SEEN_REPLAYED);
    ck_assert_int_eq(bots_seen_note_locked(t, &later, 200001), BOTS_SEEN_RIGHT);
    s.created = 200000 - 86401;
    ck_assert_int_eq(bots_seen_note_locked(t, &s, s.created), BOTS_SEEN_RIGHT);
    free(t);
}
END_TEST

TCase *bots_seen_case(void) {
    TCase *t = tcase_create("seen");

    tcase_add_test(t, one_with_a_nonce_counts_once);
    tcase_add_test(t, one_without_counts_for_the_first_address);
    tcase_add_test(t, what_is_forgotten_does_not_count_again);
    tcase_add_test(t, what_is_over_leaves_its_place);
    tcase_add_test(t, what_was_made_before_does_not_count);
    tcase_add_test(t, a_clock_that_is_set_makes_none_count_again);
    tcase_add_test(t, a_clock_behind_the_beginning);
    return t;
}
