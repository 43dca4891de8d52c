/* SPDX-License-Identifier: BSD-2-Clause */
/* The threads that connections hold: who finds a seat, and who gets up for whom. */
#include "mod_ccn/ccn_seats.h"
#include "run_suite.h"

enum { SEATS = 16, OF_ONE = 4, OF_ALL = 8 };
static const struct ccn_seat_bounds bounds = { OF_ONE, OF_ALL };
static uint64_t dead; /* the holder that lives no more */

static bool lives(uint64_t holder) { return holder != dead; }

static struct ccn_seat seats[SEATS];
static _Atomic uint8_t mine[SEATS];
static const struct ccn_seats room = { seats, SEATS, lives, mine };

static void empty_room(void) {
    memset(seats, 0, sizeof seats);
    memset(mine, 0, sizeof mine);
    dead = 0;
}

static struct ccn_seat *sits(uint64_t holder, uint64_t address, uint64_t now) {
    struct ccn_seat *s = ccn_seat_take(&room, &bounds, holder, address, now);
    ck_assert_ptr_nonnull(s);
    ck_assert(!ccn_seat_is_asked(s));
    return s;
}

static void finds_none(uint64_t address, uint64_t now) {
    ck_assert_ptr_null(ccn_seat_take(&room, &bounds, 1, address, now));
}

static unsigned asked(void) {
    unsigned n = 0;
    for (unsigned i = 0; i < SEATS; i++) n += seats[i].holder && ccn_seat_is_asked(&seats[i]);
    return n;
}

/* All of an address's connections are at work: one more finds no seat, and nobody gets up. */
START_TEST(an_address_has_so_many) {
    empty_room();
    for (uint64_t i = 0; i < OF_ONE; i++) sits(1, 7, i);
    finds_none(7, CCN_SEAT_QUIET - 1);
    ck_assert_uint_eq(asked(), 0);
    sits(1, 8, CCN_SEAT_QUIET - 1);
    ccn_seat_give(&room, &seats[0]);
    sits(1, 7, CCN_SEAT_QUIET - 1);
    finds_none(7, CCN_SEAT_QUIET - 1);
}
END_TEST

/* A forwarder that comes back while its former connections seem to be there still is not shut out. */
START_TEST(its_own_silent_one_gets_up) {
    struct ccn_seat *s[OF_ONE];
    uint64_t now = CCN_SEAT_QUIET;
    empty_room();
    sits(1, 8, 0); /* silent for longer, and another's */
    for (int i = 0; i < OF_ONE; i++) s[i] = sits(1, 7, 1);
    for (int i = 0; i < OF_ONE; i++)
        if (i != 2) ccn_seat_heard(s[i], now);
    sits(1, 7, now + 1);
    ck_assert(ccn_seat_is_asked(s[2]));
    ck_assert_uint_eq(asked(), 1);
    finds_none(7, now + 1);
}
END_TEST

/* When all seats are taken, the address that has most of them makes room, not who has been silent longest. */
START_TEST(who_has_most_makes_room) {
    struct ccn_seat *s[OF_ONE];
    empty_room();
    sits(1, 1, 0);
    for (int i = 0; i < OF_ONE; i++) s[i] = sits(1, 7, 100);
    for (uint64_t a = 2; a < 2 + OF_ALL - OF_ONE - 1; a++) sits(1, a, 0);
    ccn_seat_heard(s[0], 200);
    sits(1, 9, 201); /* however lately they spoke */
    ck_assert_uint_eq(asked(), 1);
    ck_assert(!ccn_seat_is_asked(s[0]));
    for (unsigned i = 0; i < SEATS; i++) ck_assert(!ccn_seat_is_asked(&seats[i]) || seats[i].address == 7);
}
END_TEST

/* Who would then have as many as those that have most shuts nobody out who is at work; who has fewer finds a seat. */
START_TEST(no_more_than_an_equal_part_is_made_room_for) {
    empty_room();
    for (uint64_t a = 0; a < OF_ALL - 1; a++) sits(1, a, 100);
    sits(1, 0, 100);
    finds_none(1, CCN_SEAT_QUIET + 99);
    ck_assert_uint_eq(asked(), 0);
    sits(1, 9, 101);
    ck_assert_uint_eq(asked(), 1);
    finds_none(10, 102); /* all have one */
    sits(1, 10, CCN_SEAT_QUIET + 100);
}
END_TEST

/* Addresses are counted by a number made of theirs, but one alone is not taken for two. */
START_TEST(two_that_share_a_number_are_two) {
    empty_room();
    sits(1, 5, 100);
    sits(1, 5 + 1024, 100);
    for (uint64_t a = 10; a < 10 + OF_ALL - 2; a++) sits(1, a, 100);
    finds_none(99, 101);
    ck_assert_uint_eq(asked(), 0);
}
END_TEST

/* A child died: its seats are free, also when they were all that there were. */
START_TEST(the_dead_sit_nowhere) {
    empty_room();
    for (uint64_t i = 0; i < OF_ALL; i++) sits(5, i, 1);
    finds_none(9, 1);
    dead = 5;
    for (uint64_t i = 0; i < OF_ALL; i++) sits(6, i, 1);
    finds_none(9, 1);
}
END_TEST

/* The table itself may be full of those who are about to go. */
START_TEST(no_seat_is_taken_twice) {
    empty_room();
    for (unsigned i = 0; i < SEATS; i++) sits(1, i, i * CCN_SEAT_QUIET);
    ck_assert_uint_eq(asked(), SEATS - OF_ALL);
    finds_none(99, (SEATS + 1) * CCN_SEAT_QUIET);
}
END_TEST

/* A liar had all seats taken by one who lives, until long after now: those go that this one never took. */
START_TEST(lies_end_when_the_named_one_sweeps) {
    struct ccn_seat *s;
    empty_room();
    s = sits(1, 7, 100);
    for (unsigned i = 0; i < SEATS; i++)
        if (&seats[i] != s) seats[i] = (struct ccn_seat){ .holder = 1, .address = i, .heard = UINT64_MAX };
    finds_none(9, 101);
    ccn_seats_sweep(&room, 2);
    ccn_seats_sweep(&room, 2);
    finds_none(9, 101);
    ccn_seats_sweep(&room, 1);
    finds_none(9, 101);
    ccn_seats_sweep(&room, 1);
    sits(1, 9, 102);
    ck_assert_uint_eq(s->holder, 1);
}
END_TEST

/* Who says that it spoke later than now was silent longest. */
START_TEST(nobody_spoke_tomorrow) {
    empty_room();
    for (uint64_t a = 0; a < OF_ALL; a++) sits(1, a, 100);
    ccn_seat_heard(&seats[3], 2 * CCN_SEAT_QUIET);
    sits(1, 99, CCN_SEAT_QUIET);
    ck_assert(ccn_seat_is_asked(&seats[3]));
}
END_TEST

/* What another process wrote there: no address, time or holder leads anywhere. */
START_TEST(garbage_leads_nowhere) {
    memset(seats, 0xff, sizeof seats);
    for (unsigned i = 0; i < SEATS; i++) seats[i].asked = i % 2;
    dead = UINT64_MAX;
    sits(1, UINT64_MAX, 5);
    dead = 0;
    memset(seats, 0xff, sizeof seats);
    for (unsigned i = 0; i < SEATS; i++) seats[i].asked = false;
    finds_none(3, 5);
}
END_TEST

int main(void) {
    Suite *s = suite_create("mod_ccn: seats");
    TCase *c = tcase_create("seats");
    tcase_add_test(c, an_address_has_so_many);
    tcase_add_test(c, its_own_silent_one_gets_up);
    tcase_add_test(c, who_has_most_makes_room);
    tcase_add_test(c, no_more_than_an_equal_part_is_made_room_for);
    tcase_add_test(c, two_that_share_a_number_are_two);
    tcase_add_test(c, the_dead_sit_nowhere);
    tcase_add_test(c, no_seat_is_taken_twice);
    tcase_add_test(c, lies_end_when_the_named_one_sweeps);
    tcase_add_test(c, nobody_spoke_tomorrow);
    tcase_add_test(c, garbage_leads_nowhere);
    suite_add_tcase(s, c);
    return run_suite(s);
}
