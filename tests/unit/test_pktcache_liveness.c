/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_liveness over a link that is simulated: what the parent sends at a time, the child speaks of `rtt` later, unless
 * something is lost or held.
 */
#include "pktcache/pk_liveness.h"
#include "run_suite.h"

#include <stdlib.h>

enum { MS = 1000, STEP = 10 * MS, LINE = 4096 };

static struct line {
    uint64_t rtt, hold_from, hold_to; /* what is sent in between goes at hold_to */
    uint64_t grows, most;             /* rtt, by so much a STEP, up to there */
    bool lose_large, lose_all;
    struct {
        uint64_t at, newest, probe;
    } word[LINE]; /* of the child, as they come to the parent */
    unsigned words, taken;
    uint64_t newest, newest_probe; /* at the child, once all on its way has come */
    uint64_t number, probes, spoken;
    unsigned gone, back;
} line;

static void word(uint64_t sent) {
    uint64_t at = (sent >= line.hold_from && sent < line.hold_to ? line.hold_to : sent) + line.rtt;
    if (line.words == LINE) return;
    line.word[line.words].at = at;
    line.word[line.words].newest = line.newest;
    line.word[line.words++].probe = line.newest_probe;
}

static void send_one(struct pk_liveness *l, bool large, uint64_t now) {
    line.number++;
    if (large) {
        line.probes++;
        pk_liveness_probe(l, line.number, now);
    } else {
        pk_liveness_train(l, line.number, now);
    }
    if (line.lose_all || (large && line.lose_large)) return;
    line.newest = line.number;
    if (large) line.newest_probe = line.number;
    word(now);
}

/*
 * As a parent does, for so long; a train every 20 ms while it may, if there is traffic.  The child speaks every 0.5 s
 * besides.
 */
static uint64_t run(struct pk_liveness *l, uint64_t now, uint64_t seconds, bool traffic) {
    for (uint64_t end = now + seconds * 1000 * MS; now < end; now += STEP) {
        if (line.rtt < line.most) line.rtt += line.grows;
        while (line.taken < line.words && line.word[line.taken].at <= now) {
            line.back +=
                pk_liveness_status(l, line.word[line.taken].newest, line.word[line.taken].probe, now) == PK_NOW_HERE;
            line.taken++;
        }
        if (line.taken == line.words) line.taken = line.words = 0;
        line.gone += pk_liveness_tick(l, now) == PK_NOW_GONE;
        if (pk_liveness_asks(l, now)) send_one(l, true, now);
        ck_assert_msg(pk_liveness_due(l) > now, "due at once, for ever");
        if (traffic && l->here && now % (2 * STEP) == 0) send_one(l, false, now);
        if (now - line.spoken >= 500 * MS) {
            line.spoken = now;
            if (!line.lose_all) word(now);
        }
    }
    return now;
}

static struct pk_liveness begin(uint64_t rtt) {
    struct pk_liveness l = { .here = false };
    line = (struct line){ .rtt = rtt };
    pk_liveness_begin(&l, 1000 * MS);
    return l;
}

static const unsigned rtts[] = { 1, 40, 200, 340, 400, 600, 800, 1500 }; /* ms */

START_TEST(test_any_round_trip) {
    struct pk_liveness l = begin(rtts[_i] * MS);
    uint64_t now = run(&l, 1000 * MS, 5, true);
    ck_assert_uint_le(line.gone, 2);
    line.gone = 0;
    run(&l, now, 60, true);
    ck_assert_msg(l.here && !line.gone, "%u ms: gone %u times", rtts[_i], line.gone);
    ck_assert_uint_le(line.probes, 12);
}
END_TEST

/* Probes must not lead to probes: once everything that was held comes, the child's answers are all old. */
START_TEST(test_a_queue_that_was_full_for_a_while) {
    struct pk_liveness l = begin(40 * MS);
    uint64_t now = run(&l, 1000 * MS, 5, true);
    line.hold_from = now;
    line.hold_to = now + 1500 * MS;
    now = run(&l, now, 2, true);
    ck_assert_uint_eq(line.gone, 1);
    now = run(&l, now, 5, true);
    ck_assert(l.here);
    ck_assert_uint_le(line.probes, 10);
    line.probes = 0;
    run(&l, now, 60, false);
    ck_assert_uint_eq(line.probes, 0);
}
END_TEST

/*
 * A queue of 1.2 s that a server fills, quickly or slowly: what comes is later each time, but comes.  One who is lost
 * then is missed as soon as what was in the queue has come, and when it is empty again, as soon as ever.
 */
START_TEST(test_a_queue_that_fills) {
    static const uint64_t grows[] = { 1, 3, 6, 9 }; /* ms for each 10 */
    struct pk_liveness l = begin(20 * MS);
    uint64_t now = run(&l, 1000 * MS, 5, true);
    ck_assert_uint_eq(line.gone, 0);
    line.grows = grows[_i] * MS;
    line.most = 1200 * MS;
    now = run(&l, now, 20, true);
    ck_assert_msg(l.here && !line.gone, "gone %u times", line.gone);
    line.lose_all = true;
    now = run(&l, now, 3, true);
    ck_assert(!l.here);
    line.lose_all = false;
    now = run(&l, now, 5, true);
    ck_assert(l.here);
    line.grows = 0;
    line.rtt = 20 * MS;
    line.gone = 0;
    now = run(&l, now, 20, true);
    ck_assert_uint_eq(line.gone, 0);
    line.lose_all = true;
    run(&l, now, 1, true);
    ck_assert(!l.here);
}
END_TEST

/* What one of the hosts slept through is not the link's; who is lost then must be missed as soon as ever. */
START_TEST(test_a_host_that_slept) {
    static const uint64_t seconds[] = { 1, 2, 3, 30, 300 };
    struct pk_liveness l = begin(40 * MS);
    uint64_t now = run(&l, 1000 * MS, 5, true);
    line.hold_from = now; /* the child */
    line.hold_to = now + seconds[_i] * 1000 * MS;
    now = run(&l, now, seconds[_i] + 5, true);
    ck_assert(l.here);
    line.lose_all = true;
    now = run(&l, now, 1, true);
    ck_assert_msg(!l.here, "after a child that slept for %u s", (unsigned)seconds[_i]);
    line.lose_all = false;
    now = run(&l, now, 5, true);
    ck_assert(l.here);
    now += seconds[_i] * 1000 * MS; /* the parent */
    now = run(&l, now, 5, true);
    ck_assert(l.here);
    line.lose_all = true;
    run(&l, now, 1, true);
    ck_assert_msg(!l.here, "after a parent that slept for %u s", (unsigned)seconds[_i]);
}
END_TEST

START_TEST(test_a_train_that_leaves_late) {
    struct pk_liveness l = begin(40 * MS);
    uint64_t now = run(&l, 1000 * MS, 5, true);
    line.lose_all = true;
    now = run(&l, now, 2, true);
    ck_assert(!l.here);
    send_one(&l, false, now);
    now = run(&l, now, 60, true);
    line.lose_all = false;
    now = run(&l, now, 5, true);
    ck_assert(l.here);
    line.lose_all = true;
    run(&l, now, 1, true);
    ck_assert(!l.here);
}
END_TEST

START_TEST(test_nobody_there) {
    struct pk_liveness l = begin(40 * MS);
    uint64_t now = run(&l, 1000 * MS, 5, true), before = line.probes;
    line.lose_all = true;
    now = run(&l, now, 1, true);
    ck_assert(!l.here);
    now = run(&l, now, 60, true);
    ck_assert_uint_le(line.probes - before, 2);
    line.lose_all = false;
    run(&l, now, 2, true);
    ck_assert(l.here);
}
END_TEST

START_TEST(test_only_large_ones_are_lost) {
    struct pk_liveness l = begin(40 * MS);
    line.lose_large = true;
    uint64_t now = run(&l, 1000 * MS, 60, true);
    ck_assert_msg(!l.here && line.gone == 1, "from the beginning");
    ck_assert_uint_le(line.probes, 35);
    line.lose_large = false;
    now = run(&l, now, 3, true);
    ck_assert(l.here);
    line.lose_large = true;
    run(&l, now, 20, true);
    ck_assert_msg(!l.here, "later");
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: liveness");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_any_round_trip, 0, sizeof rtts / sizeof *rtts);
    tcase_add_test(t, test_a_queue_that_was_full_for_a_while);
    tcase_add_loop_test(t, test_a_queue_that_fills, 0, 4);
    tcase_add_loop_test(t, test_a_host_that_slept, 0, 5);
    tcase_add_test(t, test_a_train_that_leaves_late);
    tcase_add_test(t, test_nobody_there);
    tcase_add_test(t, test_only_large_ones_are_lost);
    suite_add_tcase(s, t);
    return run_suite(s);
}
