/* SPDX-License-Identifier: BSD-2-Clause */
/* What a receiver learns of its downlink (rs_link.h), with round trips and bytes made up. */
#include "test_core.h"

#include "rs_link.h"

#define MBIT    125000u
#define SECOND  UINT64_C(1000000)
#define TICK    UINT64_C(100000)
#define HORIZON 600u
#define BASE    50000u

struct lab {
    struct rs_link l;
    rs_time_t now;
};

static const struct rs_link_settings any = { 1000, UINT64_C(1000000000000), HORIZON };

static void open_lab(struct lab *t, uint64_t rate) {
    memset(&t->l, 0xa5, sizeof t->l); /* it may not count on zeros */
    t->now = 77 * SECOND;
    rs_link_init(&t->l, t->now, &any, rate);
    rs_link_round_trip(&t->l, t->now, 1, BASE, BASE);
}

/* So many ticks in which so many bytes a second come, and round trips have that much of a queue in them. */
static void live(struct lab *t, unsigned ticks, uint64_t rate, uint32_t queue, bool limited) {
    for (unsigned i = 0; i < ticks; i++) {
        t->now += TICK;
        rs_link_came(&t->l, rate / 10);
        rs_link_round_trip(&t->l, t->now, 1, BASE + queue, 0);
        rs_link_look(&t->l, t->now, limited, 0);
    }
}

static void near(uint64_t is, uint64_t want, uint64_t by) {
    ck_assert_msg(is + by >= want && is <= want + by, "%llu is not %llu +- %llu", (unsigned long long)is,
                  (unsigned long long)want, (unsigned long long)by);
}

START_TEST(a_queue_tells_the_rate) {
    struct lab t;
    open_lab(&t, 8 * MBIT);
    live(&t, 100, 2 * MBIT, 200000, true);
    near(t.l.rate, 2 * MBIT, MBIT / 10);
    near(t.l.delay, 200000, 1);
    ck_assert_uint_eq(t.l.base, BASE);
    live(&t, 100, 6 * MBIT, 200000, true); /* up as well */
    near(t.l.rate, 6 * MBIT, MBIT / 5);
}
END_TEST

START_TEST(it_begins_with_little_and_finds_much) {
    struct lab t;
    open_lab(&t, 0);
    near(t.l.rate, MBIT, 0);
    /* What comes is twice what is believed, until a link of 100 Mbit/s is full. */
    unsigned ticks = 0;
    for (; ticks < 300 && t.l.standing < 8; ticks++) {
        uint64_t asked = 2 * t.l.rate, link = 100 * MBIT;
        live(&t, 1, asked < link ? asked : link, asked < link ? 0 : 100000, true);
    }
    ck_assert_uint_lt(ticks, 150);
    near(t.l.rate, 100 * MBIT, 10 * MBIT);
}
END_TEST

/* With a round trip of two horizons half of what is believed can come.  It tries more, but no more than twice that. */
START_TEST(without_a_queue_more_is_tried) {
    struct lab t;
    open_lab(&t, 2 * MBIT);
    live(&t, 300, MBIT, 0, true);
    near(t.l.rate, 2 * MBIT, 10);
    live(&t, 300, 15 * MBIT / 10, 0, true);
    near(t.l.rate, 17 * MBIT / 10, 13 * MBIT / 10);
    ck_assert_uint_le(t.l.rate, 3 * MBIT);
    ck_assert_uint_ge(t.l.rate, 2 * MBIT);
}
END_TEST

START_TEST(while_nobody_is_held_back_nothing_is_lowered) {
    struct lab t;
    open_lab(&t, 8 * MBIT);
    live(&t, 600, MBIT / 10, 0, false);
    live(&t, 600, MBIT / 10, 300000, false);
    near(t.l.rate, 8 * MBIT, 0);
    live(&t, 200, 10 * MBIT, 0, false);
    near(t.l.rate, 10 * MBIT, MBIT / 5);
}
END_TEST

/* On a thin link a full segment takes longer than the answer to a handshake, by which the shortest was measured. */
START_TEST(a_segment_is_no_queue) {
    struct lab t;
    open_lab(&t, MBIT / 2);
    live(&t, 300, MBIT / 5, 40000, true);
    ck_assert_uint_eq(t.l.standing, 0);
    ck_assert_uint_ge(t.l.rate, MBIT / 2);
    live(&t, 300, MBIT / 2, 90000, true);
    near(t.l.rate, MBIT / 2, MBIT / 50);
    ck_assert_uint_gt(t.l.standing, 0);
}
END_TEST

/* One who is not held back for a moment of an interval takes its word. */
START_TEST(an_interval_counts_as_a_whole) {
    struct lab t;
    open_lab(&t, 8 * MBIT);
    for (int i = 0; i < 30; i++) {
        live(&t, 5, MBIT, 200000, true);
        live(&t, 1, MBIT, 200000, false);
        live(&t, 4, MBIT, 200000, true);
    }
    near(t.l.rate, 8 * MBIT, 0);
    ck_assert_uint_eq(t.l.standing, 0);
}
END_TEST

START_TEST(a_rate_that_is_known_stays) {
    struct lab t;
    const struct rs_link_settings known = { 2 * MBIT, 2 * MBIT, HORIZON };
    open_lab(&t, 2 * MBIT);
    rs_link_configure(&t.l, t.now, &known);
    live(&t, 100, MBIT, 200000, true);
    live(&t, 100, 5 * MBIT, 0, true);
    near(t.l.rate, 2 * MBIT, 0);
    const struct rs_link_settings least = { 3 * MBIT, 9 * MBIT, HORIZON };
    rs_link_configure(&t.l, t.now, &least); /* what was learnt goes to the bounds */
    near(t.l.rate, 3 * MBIT, 0);
    ck_assert_uint_eq(t.l.since, t.now);
}
END_TEST

/* A server that comes while a queue stands: what others see of it is not its own. */
START_TEST(who_comes_late_sees_the_same_queue) {
    struct lab t;
    open_lab(&t, 2 * MBIT);
    live(&t, 50, 2 * MBIT, 100000, true);
    rs_link_round_trip(&t.l, t.now, 2, 300000, 300000);
    /* 200 ms of its own, and 50 ms: of what is allowed for 600 ms */
    near(rs_link_window(&t.l, t.now, 2, 0, 600000), 250000, 1);
    rs_link_round_trip(&t.l, t.now, 3, 150000, 150000); /* no less than half of what it was seen with */
    near(rs_link_window(&t.l, t.now, 3, 0, 600000), 75000 + 50000, 1);
}
END_TEST

START_TEST(windows_are_for_the_round_trip) {
    struct lab t;
    open_lab(&t, 2 * MBIT);
    near(rs_link_window(&t.l, t.now, 1, 0, 600000), 100000, 1);
    near(rs_link_window(&t.l, t.now, 9, 100000, 600000), 150000, 1); /* not remembered: as its connection says */
    near(rs_link_window(&t.l, t.now, 9, 900000, 600000), 600000, 0); /* never more than is allowed */
    near(rs_link_window(&t.l, t.now, 1, 0, UINT64_C(1) << 62), ((UINT64_C(1) << 62) / 600000) * 100000, 600000);
    ck_assert_uint_eq(rs_link_window(&t.l, t.now, 1, 0, RS_UNLIMITED), RS_UNLIMITED);
}
END_TEST

/* Windows are a quarter for a second of each 20 or so in which the queue did not drain, and for none otherwise. */
START_TEST(a_queue_that_stands_is_drained) {
    struct lab t;
    unsigned slow[2] = { 0, 0 };
    for (int drains = 0; drains < 2; drains++) {
        open_lab(&t, 2 * MBIT);
        for (int i = 0; i < 1000; i++) {
            live(&t, 1, 2 * MBIT, drains && i % 5 == 0 ? 0 : 100000, true);
            if (rs_link_window(&t.l, t.now, 1, 0, 600000) < 80000) slow[drains]++;
        }
    }
    ck_assert_uint_ge(slow[0], 30);
    ck_assert_uint_le(slow[0], 60);
    ck_assert_uint_eq(slow[1], 0);
}
END_TEST

/* What came in a slowdown is no rate. */
START_TEST(a_slowdown_teaches_nothing) {
    struct lab t;
    open_lab(&t, 2 * MBIT);
    for (int i = 0; i < 1000; i++) {
        bool slow = rs_link_window(&t.l, t.now, 1, 0, 600000) < 80000;
        live(&t, 1, slow ? MBIT / 2 : 2 * MBIT, slow ? 0 : 100000, true);
    }
    near(t.l.rate, 2 * MBIT, MBIT / 50);
}
END_TEST

/* A way that became longer looks like a queue, for two to four minutes; the figure of the shortest is older. */
START_TEST(a_short_round_trip_is_forgotten) {
    struct lab t;
    open_lab(&t, 2 * MBIT);
    live(&t, 100, 2 * MBIT, 0, true);
    live(&t, 100, 2 * MBIT, 150000, true);
    near(t.l.delay, 150000, 1);
    live(&t, 4000, 2 * MBIT, 150000, true);
    near(t.l.delay, 0, 1);
    near(t.l.base, BASE + 150000, 1);
}
END_TEST

/* Others take three quarters, and more, of a queue that does not drain, whatever is believed. */
START_TEST(others_leave_a_quarter_of_the_belief) {
    struct lab t;
    open_lab(&t, 8 * MBIT);
    live(&t, 50, 8 * MBIT, 100000, true);
    for (int i = 0; i < 900; i++) live(&t, 1, t.l.rate / 2, 700000, true);
    near(t.l.rate, 2 * MBIT, MBIT / 10);
    open_lab(&t, 8 * MBIT); /* a link that became slower drains the queue, and is believed */
    live(&t, 50, 8 * MBIT, 100000, true);
    live(&t, 50, MBIT, 700000, true);
    live(&t, 200, MBIT, 100000, true);
    near(t.l.rate, MBIT, MBIT / 10);
}
END_TEST

/*
 * One server, with twenty connections, sees a queue where others see none, and what comes is little, for other reasons:
 * that is no slow link.  Nor is there no queue where one alone sees none.
 */
START_TEST(a_server_has_one_voice) {
    struct lab t;
    open_lab(&t, 8 * MBIT);
    rs_link_round_trip(&t.l, t.now, 2, BASE, BASE);
    for (int i = 0; i < 600; i++) {
        for (int k = 0; k < 20; k++) rs_link_round_trip(&t.l, t.now, 2, BASE + 200000, 0);
        live(&t, 1, MBIT, 0, true);
    }
    near(t.l.rate, 8 * MBIT, 0);
    ck_assert_uint_eq(t.l.standing, 0);
    ck_assert_uint_gt(t.l.empty, 0);
    open_lab(&t, 8 * MBIT);
    for (uint64_t n = 2; n <= 6; n++) rs_link_round_trip(&t.l, t.now, n, BASE, BASE);
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 20; k++) rs_link_round_trip(&t.l, t.now, 2, BASE, 0);
        for (uint64_t n = 3; n <= 6; n++) rs_link_round_trip(&t.l, t.now, n, BASE + 100000, 0);
        live(&t, 1, MBIT, 100000, true);
    }
    near(t.l.rate, MBIT, MBIT / 10);
    ck_assert_uint_eq(t.l.empty, 0);
    ck_assert_uint_gt(t.l.standing, 0);
}
END_TEST

/* However slow the link seems, and however often: one that is so much slower is believed in after some minutes. */
START_TEST(a_belief_falls_by_and_by) {
    struct lab t;
    open_lab(&t, 16 * MBIT);
    live(&t, 50, 16 * MBIT, 250000, true);
    for (int i = 0; i < 1100; i++) live(&t, 1, t.l.rate / 2, i % 20 ? 250000 : 0, true);
    near(t.l.rate, MBIT, MBIT / 100);
    for (int i = 0; i < 3000; i++) live(&t, 1, t.l.rate / 2, i % 20 ? 250000 : 0, true);
    ck_assert_uint_lt(t.l.rate, MBIT / 4);
    ck_assert_uint_ge(t.l.rate, MBIT / 16);
}
END_TEST

/* What is remembered of a server, or what it would be of one that is not. */
static bool remembers(const struct lab *t, uint64_t name, uint32_t trip) {
    uint64_t own = trip + RS_LINK_QUEUE, other = 7000 + RS_LINK_QUEUE;
    uint64_t is = rs_link_window(&t->l, t->now, name, 7000, HORIZON * 1000);
    ck_assert_msg(is == own || is == other, "%llu is of another server", (unsigned long long)is);
    return is == own;
}

/* More servers than places: those that are remembered stay so for two minutes. */
START_TEST(many_servers_share_the_places) {
    struct lab t;
    open_lab(&t, 2 * MBIT);
    uint64_t late = 0;
    uint32_t known = 0, n = 10 * RS_LINK_SERVERS;
    for (uint32_t i = 2; i <= n; i++) rs_link_round_trip(&t.l, t.now, i, 20000 + i, 0);
    for (uint32_t i = 2; i <= n; i++)
        if (remembers(&t, i, 20000 + i)) known++;
        else late = i;
    ck_assert_uint_ge(known, RS_LINK_SERVERS - RS_LINK_SERVERS / 100); /* of 1,024 places 1 in e^10 is nobody's */
    ck_assert_uint_lt(known, RS_LINK_SERVERS);
    rs_link_round_trip(&t.l, t.now, late, 30000, 0);
    ck_assert(!remembers(&t, late, 30000));
    t.now += 121 * SECOND;
    rs_link_round_trip(&t.l, t.now, late, 30000, 0);
    ck_assert(remembers(&t, late, 30000));
}
END_TEST

/*
 * Addresses of one network differ in a few bits, be it the highest.  Of twelve in 1,024 places more than two meet
 * others in one of 10,000 cases, and these are always the same.
 */
START_TEST(neighbours_have_places_of_their_own) {
    for (unsigned shift = 0; shift <= 60; shift += 4) {
        struct lab t;
        uint32_t known = 0;
        open_lab(&t, 2 * MBIT);
        for (uint64_t i = 2; i < 14; i++)
            rs_link_round_trip(&t.l, t.now, (i << shift) + 0x10000, 20000 + (uint32_t)i, 0);
        for (uint64_t i = 2; i < 14; i++)
            if (remembers(&t, (i << shift) + 0x10000, 20000 + (uint32_t)i)) known++;
        ck_assert_msg(known >= 10, "of twelve that differ from bit %u on %u have places", shift, known);
    }
}
END_TEST

/* Whatever it is told, in whatever order, the belief stays within its bounds. */
START_TEST(what_is_none_is_seen) {
    struct lab t;
    open_lab(&t, 2 * MBIT);
    ck_assert(rs_link_sound(&t.l));
    static const struct rs_link zeroes;
    ck_assert(!rs_link_sound(&zeroes));
    struct rs_link l = t.l;
    l.rate = 0;
    ck_assert(!rs_link_sound(&l));
    l.rate = any.rate_max + 1;
    ck_assert(!rs_link_sound(&l));
    l = t.l;
    l.settings.rate_min = 0;
    ck_assert(!rs_link_sound(&l));
    memset(&l, 0xff, sizeof l);
    ck_assert(!rs_link_sound(&l));
}
END_TEST

START_TEST(nonsense_does_no_harm) {
    struct lab t;
    const struct rs_link_settings narrow = { MBIT, 4 * MBIT, HORIZON };
    uint64_t x = 88172645463325252u;
    open_lab(&t, 2 * MBIT);
    rs_link_configure(&t.l, t.now, &narrow);
    for (int i = 0; i < 200000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        rs_time_t now = x % 11 ? t.now += x % 300000 : t.now - x % t.now;
        switch (x >> 60) {
        case 0: rs_link_came(&t.l, x); break;
        case 1: rs_link_restart(&t.l, now); break;
        default:
            rs_link_round_trip(&t.l, now, x % 3000 + 1, (uint32_t)(x >> 20), (uint32_t)(x >> 30));
            rs_link_came(&t.l, x % 100000);
            rs_link_look(&t.l, now, x % 17 != 0, x % 100000);
        }
        ck_assert(t.l.rate >= MBIT && t.l.rate <= 4 * MBIT);
        ck_assert_uint_le(rs_link_window(&t.l, now, x % 3000 + 1, (uint32_t)x, x), x);
    }
    ck_assert_uint_gt(t.l.standing + t.l.empty, 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core link");
    TCase *c = tcase_create("link");
    const TTest *tests[] = { a_queue_tells_the_rate,
                             it_begins_with_little_and_finds_much,
                             without_a_queue_more_is_tried,
                             while_nobody_is_held_back_nothing_is_lowered,
                             a_segment_is_no_queue,
                             an_interval_counts_as_a_whole,
                             a_rate_that_is_known_stays,
                             who_comes_late_sees_the_same_queue,
                             windows_are_for_the_round_trip,
                             a_queue_that_stands_is_drained,
                             a_slowdown_teaches_nothing,
                             a_short_round_trip_is_forgotten,
                             others_leave_a_quarter_of_the_belief,
                             a_server_has_one_voice,
                             a_belief_falls_by_and_by,
                             many_servers_share_the_places,
                             neighbours_have_places_of_their_own,
                             what_is_none_is_seen,
                             nonsense_does_no_harm };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) tcase_add_test(c, tests[i]);
    suite_add_tcase(s, c);
    return run_suite(s);
}
