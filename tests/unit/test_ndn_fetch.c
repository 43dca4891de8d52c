/* SPDX-License-Identifier: BSD-2-Clause */
/* Which segment is to be asked for next, when one is lost, and how each window moves. */
#include "test_ndn_path.h"

#include <math.h>

#define MS 1000u

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static struct ndn_window window_of(const struct ndn_window_ops *ops, uint32_t most) {
    struct ndn_window w = { .most = most };
    ops->begin(&w);
    return w;
}

/* Moves: + an answer, ! a sign, * so many answers as fit into the window, one round trip. */
START_TEST(each_window_moves_as_its_table_says) {
    static const struct {
        const struct ndn_window_ops *ops;
        uint32_t most;
        uint64_t told;
        const char *moves;
        double size;
    } rows[] = {
        { &ndn_window_aimd, 100, 0, "", 2 },           { &ndn_window_aimd, 100, 0, "+", 3 },
        { &ndn_window_aimd, 100, 0, "***", 16 },       { &ndn_window_aimd, 100, 0, "********", 100 },
        { &ndn_window_aimd, 100, 0, "***!", 8 },       { &ndn_window_aimd, 100, 0, "***!*", 9 },
        { &ndn_window_aimd, 100, 0, "***!***!", 5.5 }, { &ndn_window_aimd, 100, 0, "!", 2 },
        { &ndn_window_aimd, 100, 0, "!!", 2 },         { &ndn_window_aimd, 1, 0, "+!+", 1 },
        { &ndn_window_cubic, 100, 0, "***", 16 },      { &ndn_window_cubic, 100, 0, "***!", 11.2 },
        { &ndn_window_cubic, 100, 0, "***!!", 7.84 },  { &ndn_window_cubic, 100, 0, "!!!!", 2 },
        { &ndn_window_cubic, 1, 0, "+!+", 1 },         { &ndn_window_hint, 100, 12, "", 12 },
        { &ndn_window_hint, 100, 12, "**", 48 },       { &ndn_window_hint, 100, 12, "!", 8.4 },
        { &ndn_window_hint, 100, 12, "*!", 16.8 },     { &ndn_window_hint, 100, 12, "!!!!", 2.8812 },
        { &ndn_window_hint, 100, 1000, "*", 100 },     { &ndn_window_hint, 100, UINT64_MAX - 1, "", 100 },
        { &ndn_window_hint, 100, 1, "*", 2 },          { &ndn_window_hint, 100, 0, "***!", 11.2 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ndn_window w = window_of(rows[i].ops, rows[i].most);
        if (rows[i].told) rows[i].ops->told(&w, rows[i].told);
        for (const char *m = rows[i].moves; *m; m++) {
            if (*m == '!') rows[i].ops->sign(&w, 0);
            if (*m == '+') rows[i].ops->answer(&w, 0, 0);
            for (int n = *m == '*' ? (int)w.size : 0; n; n--) rows[i].ops->answer(&w, 0, 0);
        }
        /* A round trip of additive growth adds a little less than one: the size that it divides by grows meanwhile. */
        ck_assert_msg(w.size <= rows[i].size + 1e-9 && w.size > rows[i].size - 0.4, "row %zu, %s: %g", i, rows[i].moves,
                      w.size);
    }
}
END_TEST

START_TEST(a_fixed_window_stays) {
    struct ndn_window w = window_of(&ndn_window_fixed, 7);
    ck_assert(w.size == 7 && !ndn_window_fixed.sign && !ndn_window_fixed.answer && !ndn_window_fixed.told);
}
END_TEST

/* From `from` to `to` in steps of a round trip over the size, as answers come. */
static void answers(struct ndn_window *w, uint64_t from, uint64_t to, double rtt) {
    for (double t = (double)from; t < (double)to; t += rtt / w->size) ndn_window_cubic.answer(w, (uint64_t)t, rtt);
}

/* RFC 9438 figure 1: from 0.7 of the peak back to it in K = cbrt(0.3 x peak / 0.4) seconds, flat there, then beyond. */
START_TEST(cubic_follows_its_curve) {
    struct ndn_window w = window_of(&ndn_window_cubic, 1000);
    const double k = cbrt(0.3 * 200 / 0.4), rtt = 100 * MS;
    static const double at[] = { 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2 };
    uint64_t t = 50000000;

    w.size = 200;
    ndn_window_cubic.sign(&w, t);
    ck_assert(fabs(w.size - 140) < 1e-9);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        uint64_t to = 50000000 + (uint64_t)(at[i] * k * 1e6);
        double x = at[i] * k - k, curve = 0.4 * x * x * x + 200;
        answers(&w, t, to, rtt);
        t = to;
        /* The target is the curve a round trip ahead, and is reached within one: between those two. */
        double slope = 3 * 0.4 * x * x * rtt / 1e6;
        ck_assert_msg(w.size > curve - slope - 1 && w.size < curve + slope + 2, "at %g K: %g, the curve has %g", at[i],
                      w.size, curve);
    }
}
END_TEST

/* Where round trips are short Reno would be faster than the curve: 0.53 more in each up to the peak, then one (4.3). */
START_TEST(cubic_is_no_slower_than_reno) {
    struct ndn_window w = window_of(&ndn_window_cubic, 1000);
    w.size = 20;
    ndn_window_cubic.sign(&w, 0);
    answers(&w, 0, 50 * MS, 10 * MS);
    ck_assert_msg(fabs(w.size - (14 + 5 * 0.529)) < 0.4, "%g", w.size);
    answers(&w, 50 * MS, 300 * MS, 10 * MS); /* 20 after 114 ms; 18.6 round trips with one more each */
    ck_assert_msg(fabs(w.size - 38.6) < 1.5, "%g", w.size);
}
END_TEST

START_TEST(cubic_converges_fast) {
    struct ndn_window w = window_of(&ndn_window_cubic, 1000);
    w.size = 100;
    ndn_window_cubic.sign(&w, 0);
    ck_assert(fabs(w.peak - 100) < 1e-9);
    ndn_window_cubic.sign(&w, 0); /* at 70, below the peak of 100 */
    ck_assert(fabs(w.peak - 70 * 0.85) < 1e-9);
    ck_assert(fabs(w.size - 49) < 1e-9);
}
END_TEST

/* ---- the state machine ------------------------------------------------------------------------------------------- */

struct fetching {
    struct ndn_fetch f;
    struct ndn_asked place[NDN_PLACES_MAX];
    uint64_t again;
};

static struct fetching *fetching(enum ndn_window_kind kind, uint32_t window, uint32_t tries, uint64_t first) {
    static struct fetching x;
    struct ndn_fetch_settings s = { kind, window, tries, 3000 * MS };
    memset(&x, 0xa5, sizeof x); /* it may not count on zeros */
    ck_assert(ndn_fetch_begin(&x.f, &s, x.place, first, 1000));
    return &x;
}

static uint64_t next(struct fetching *x, uint64_t now) {
    uint64_t segment = ndn_fetch_next(&x->f, now, &x->again);
    const char *wrong = fetch_unsound(&x->f);
    ck_assert_msg(!wrong, "%s", wrong);
    ck_assert(segment != NDN_NO_NUMBER || x->again > now);
    return segment;
}

/* All that may be asked for now; how many. */
static uint32_t all(struct fetching *x, uint64_t now) {
    uint32_t n = 0;
    while (next(x, now) != NDN_NO_NUMBER) n++;
    return n;
}

static enum ndn_came came(struct fetching *x, uint64_t now, uint64_t segment, uint64_t last) {
    enum ndn_came c = ndn_fetch_data(&x->f, now, segment, last, NDN_NO_NUMBER, false);
    const char *wrong = fetch_unsound(&x->f);
    ck_assert_msg(!wrong, "%s", wrong);
    return c;
}

START_TEST(settings_have_bounds) {
    static const struct {
        struct ndn_fetch_settings s;
        uint64_t first;
        bool right;
    } rows[] = {
        { { NDN_WINDOW_FIXED, 1, 1, 1 }, 0, true },
        { { NDN_WINDOW_CUBIC, NDN_WINDOW_MAX, NDN_TRIES_MAX, NDN_FIRST_WAIT_MAX }, NDN_NO_NUMBER - 1, true },
        { { NDN_WINDOW_FIXED, 0, 1, 1 }, 0, false },
        { { NDN_WINDOW_FIXED, NDN_WINDOW_MAX + 1, 1, 1 }, 0, false },
        { { NDN_WINDOW_FIXED, 1, 0, 1 }, 0, false },
        { { NDN_WINDOW_FIXED, 1, NDN_TRIES_MAX + 1, 1 }, 0, false },
        { { NDN_WINDOW_FIXED, 1, 1, 0 }, 0, false },
        { { NDN_WINDOW_FIXED, 1, 1, NDN_FIRST_WAIT_MAX + UINT64_C(1) }, 0, false },
        { { NDN_WINDOW_KINDS, 1, 1, 1 }, 0, false },
        { { (enum ndn_window_kind) - 1, 1, 1, 1 }, 0, false },
        { { NDN_WINDOW_FIXED, 1, 1, 1 }, NDN_NO_NUMBER, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ndn_asked place[NDN_PLACES_MAX];
        struct ndn_fetch f;
        ck_assert_msg(ndn_fetch_begin(&f, &rows[i].s, place, rows[i].first, 0) == rows[i].right, "row %zu", i);
    }
    ck_assert_uint_eq(ndn_fetch_places(1), 4);
    ck_assert_uint_eq(ndn_fetch_places(3), 16);
    ck_assert_uint_eq(ndn_fetch_places(NDN_WINDOW_MAX), NDN_PLACES_MAX);
    ck_assert_uint_eq(sizeof(struct ndn_asked), 16);
}
END_TEST

START_TEST(the_first_is_asked_for_alone) {
    struct fetching *x = fetching(NDN_WINDOW_FIXED, 10, 3, 0);
    ck_assert_uint_eq(next(x, 1000), 0);
    ck_assert_uint_eq(next(x, 1000), NDN_NO_NUMBER);
    ck_assert_uint_eq(x->again, 1000 + 3000 * MS);
    ck_assert_int_eq(came(x, 2000, 0, 5), NDN_CAME_NEW);
    for (uint64_t s = 1; s <= 5; s++) ck_assert_uint_eq(next(x, 2000), s);
    ck_assert_uint_eq(next(x, 2000), NDN_NO_NUMBER);
    ck_assert_uint_eq(x->again, 2000 + 1000 * MS); /* nothing is measured: the first answer's page was made */
    for (uint64_t s = 5; s >= 1; s--) ck_assert_int_eq(came(x, 22000, s, 5), NDN_CAME_NEW);
    ck_assert(ndn_fetch_whole(&x->f) && !ndn_fetch_failed(&x->f));
    ck_assert_uint_eq(next(x, 22000), NDN_NO_NUMBER);
    ck_assert_uint_eq(x->again, UINT64_MAX);
    ck_assert_uint_eq(x->f.interests, 6);
}
END_TEST

/* Each try of one waits twice as long, 200 ms at least and 4 s at most; and then it is over. */
START_TEST(a_lost_one_is_asked_for_again) {
    struct fetching *x = fetching(NDN_WINDOW_FIXED, 1, 8, 0);
    static const uint64_t waits[] = { 200, 400, 800, 1600, 3200, 4000, 4000, 4000 };
    uint64_t now = 100000;

    next(x, now);
    came(x, now, 0, 1000);
    for (uint64_t s = 1; s < 50; s++) { /* 20 ms each: the estimate comes down to its least */
        ck_assert_uint_eq(next(x, now), s);
        now += 20 * MS;
        came(x, now, s, 1000);
    }
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        ck_assert_uint_eq(next(x, now), 50);
        ck_assert_uint_eq(next(x, now + waits[i] * MS - 1), NDN_NO_NUMBER);
        ck_assert_uint_eq(x->again, now + waits[i] * MS);
        ck_assert(!ndn_fetch_failed(&x->f));
        now = x->again;
    }
    ck_assert_uint_eq(next(x, now), NDN_NO_NUMBER);
    ck_assert(ndn_fetch_failed(&x->f));
    ck_assert_uint_eq(x->again, UINT64_MAX);
    ck_assert_uint_eq(x->f.interests, 58);
    ck_assert_uint_eq(x->f.retransmissions, 7);
}
END_TEST

/* Others are answered in 20 ms again and again: that makes the wait for the next try of one that is lost no shorter. */
START_TEST(each_try_waits_longer_whatever_others_do) {
    struct fetching *x = fetching(NDN_WINDOW_FIXED, 2, 4, 0);
    uint64_t now = 1000, last = 0;

    next(x, now);
    came(x, now, 0, 9999);
    for (uint32_t seen = 0, tries = 0; !ndn_fetch_failed(&x->f); now += 20 * MS) {
        all(x, now);
        for (uint64_t s = 2; s < x->f.next; s++) came(x, now + 20 * MS - 1, s, 9999);
        tries = x->f.place[1].tries;
        if (tries == seen) continue;
        if (seen > 1) ck_assert_uint_eq((now - last) / (180 * MS), 1u << (seen - 1)); /* 200 ms, 400, in steps of 20 */
        seen = tries;
        last = now;
    }
    ck_assert_uint_eq(x->f.place[1].tries, 4);
    ck_assert_uint_eq(x->f.losses, 4);
}
END_TEST

START_TEST(nobody_answers) {
    struct fetching *x = fetching(NDN_WINDOW_CUBIC, 10, 3, 7);
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(next(x, 1000 + i * 3000 * MS), 7);
        ck_assert_uint_eq(next(x, 1000 + (i + 1) * 3000 * MS - 1), NDN_NO_NUMBER);
        ck_assert_uint_eq(x->again, 1000 + (i + 1) * 3000 * MS);
        ck_assert(!ndn_fetch_failed(&x->f));
    }
    ck_assert_uint_eq(next(x, 1000 + 9000 * MS), NDN_NO_NUMBER);
    ck_assert(ndn_fetch_failed(&x->f) && !ndn_fetch_whole(&x->f));
    ck_assert_uint_eq(x->f.interests, 3);
    ck_assert_uint_eq(x->f.losses, 3);
    ck_assert_uint_eq(x->f.signs, 0); /* nothing is there that could be made smaller */
    ck_assert_int_eq(came(x, 1000 + 9001 * MS, 7, 7), NDN_CAME_STRANGE);
}
END_TEST

START_TEST(a_refused_one_waits_its_time) {
    struct fetching *x = fetching(NDN_WINDOW_AIMD, 64, 2, 0);
    next(x, 1000);
    ndn_fetch_nack(&x->f, 2000, 0, true);
    ck_assert_uint_eq(next(x, 2000), NDN_NO_NUMBER);
    ck_assert_uint_eq(x->again, 2000 + 1000 * MS);
    ck_assert_uint_eq(x->f.signs, 0);
    ck_assert_uint_eq(next(x, x->again), 0);
    came(x, x->again + 1000, 0, 99);
    for (int i = 0; i < 5; i++) { /* two of a window of three are refused, one for congestion */
        uint64_t now = 5000 * MS + (uint64_t)i;
        if (i == 0) ck_assert_uint_eq(all(x, now), 3);
        else ndn_fetch_nack(&x->f, now, i < 4 ? (uint64_t)i : 77, i == 2); /* 77 was never asked for */
        ck_assert_ptr_null(fetch_unsound(&x->f));
    }
    ck_assert_uint_eq(x->f.losses, 4);
    ck_assert_uint_eq(x->f.signs, 1);
    ck_assert_uint_eq(x->f.outstanding, 0);
    ck_assert_uint_eq(ndn_fetch_window(&x->f), 2);
    ck_assert_int_eq(came(x, 5001 * MS, 3, 99), NDN_CAME_NEW); /* the answer comes after all */
    ck_assert_uint_eq(all(x, 5001 * MS), 2);                   /* new ones: the refused wait */
    came(x, 5002 * MS, 4, 99);
    came(x, 5002 * MS, 5, 99);
    ck_assert_uint_eq(next(x, 5000 * MS + 2 + 1000 * MS), 1); /* and now it is their turn */
    ndn_fetch_nack(&x->f, 6500 * MS, 1, false);
    ck_assert(ndn_fetch_failed(&x->f)); /* its second try of two */
}
END_TEST

START_TEST(signs_count_once_in_a_round_trip) {
    struct fetching *x = fetching(NDN_WINDOW_FIXED, 8, 3, 0);
    uint64_t now = 1000;
    next(x, now);
    came(x, now, 0, 999);
    for (uint64_t turn = 0, s = 1; turn < 3; turn++) {
        ck_assert_uint_eq(all(x, now), 8);
        now += 50 * MS;
        for (int i = 0; i < 8; i++, s++) ndn_fetch_data(&x->f, now + (uint64_t)i, s, 999, NDN_NO_NUMBER, true);
        ck_assert_uint_eq(x->f.signs, turn + 1);
        ck_assert_uint_eq(x->f.marks, 8 * (turn + 1));
        now += 8;
    }
    all(x, now); /* all eight are lost: one sign; and those that follow are another round trip */
    all(x, now + 1000 * MS);
    ck_assert_uint_eq(x->f.losses, 8);
    ck_assert_uint_eq(x->f.signs, 4);
    ck_assert_uint_eq(x->f.retransmissions, 8);
    all(x, now + 9000 * MS);
    ck_assert_uint_eq(x->f.signs, 5);
}
END_TEST

START_TEST(an_answer_that_comes_late_is_one) {
    struct fetching *x = fetching(NDN_WINDOW_FIXED, 1, 3, 0);
    next(x, 1000);
    came(x, 1000, 0, 9);
    ck_assert_uint_eq(next(x, 1000), 1);
    ck_assert_uint_eq(next(x, 1000 + 1500 * MS), 1);
    ck_assert_int_eq(came(x, 1000 + 1600 * MS, 1, 9), NDN_CAME_NEW);
    ck_assert(x->f.srtt == 0); /* of two tries: nobody knows which was answered */
    ck_assert_int_eq(came(x, 1000 + 1700 * MS, 1, 9), NDN_CAME_AGAIN);
    ck_assert_uint_eq(next(x, 1000 + 1700 * MS), 2);
    ck_assert_uint_eq(x->f.place[2].wait, 2000 * MS); /* twice as long, until one is measured */
    ck_assert_int_eq(came(x, 1000 + 3200 * MS, 2, 9), NDN_CAME_NEW);
    ck_assert(fabs(x->f.srtt - 1500 * MS) < 1);
    ck_assert_uint_eq(x->f.rto, 4000 * MS); /* 1500 + 4 x 750, and 4 s is the most */
}
END_TEST

START_TEST(answers_agree_about_the_last) {
    struct fetching *x = fetching(NDN_WINDOW_FIXED, 8, 3, 0);
    next(x, 1000);
    ck_assert_int_eq(came(x, 1000, 0, NDN_NO_NUMBER), NDN_CAME_NEW);
    ck_assert_uint_eq(all(x, 1000), 8);
    ck_assert_int_eq(came(x, 2000, 5, NDN_NO_NUMBER), NDN_CAME_NEW);
    ck_assert_int_eq(came(x, 2000, 3, 2), NDN_CAME_STRANGE); /* behind the last that it names */
    ck_assert_int_eq(came(x, 2000, 3, 4), NDN_CAME_STRANGE); /* the fifth has come */
    ck_assert_int_eq(came(x, 2000, 9, 9), NDN_CAME_STRANGE); /* never asked for */
    ck_assert_int_eq(came(x, 2000, 6, 6), NDN_CAME_NEW);
    ck_assert_uint_eq(x->f.outstanding, 4); /* 7 and 8 are forgotten */
    ck_assert_int_eq(came(x, 2000, 7, 7), NDN_CAME_STRANGE);
    ck_assert_int_eq(came(x, 2000, 1, 7), NDN_CAME_STRANGE);
    ck_assert_int_eq(came(x, 2000, 1, NDN_NO_NUMBER), NDN_CAME_NEW);
    for (uint64_t s = 2; s < 5; s++) ck_assert_int_eq(came(x, 2000, s, 6), NDN_CAME_NEW);
    ck_assert(ndn_fetch_whole(&x->f));
    ck_assert_uint_eq(x->f.interests, 9);
}
END_TEST

START_TEST(one_that_is_missing_stops_the_run) {
    struct fetching *x = fetching(NDN_WINDOW_FIXED, 4, 3, 0);
    next(x, 1000);
    came(x, 1000, 0, 999);
    for (uint64_t s = 2; all(x, 1000); s++)
        if (s < x->f.next) came(x, 1000, s, 999);
    ck_assert_uint_eq(x->f.next, 1 + x->f.places);
    ck_assert_uint_eq(x->f.places, 16);
    for (uint64_t s = 2; s < x->f.next; s++) came(x, 1000, s, 999);
    ck_assert_uint_eq(all(x, 1000), 0);
    came(x, 1000, 1, 999);
    ck_assert_uint_eq(x->f.low, 17);
    ck_assert_uint_eq(all(x, 1000), 4);
}
END_TEST

START_TEST(time_does_not_go_back_or_over) {
    struct fetching *x = fetching(NDN_WINDOW_FIXED, 4, 3, NDN_NO_NUMBER - 3);
    next(x, 5000);
    ck_assert_int_eq(came(x, 10, NDN_NO_NUMBER - 3, NDN_NO_NUMBER), NDN_CAME_NEW);
    ck_assert_uint_eq(all(x, 0), 2); /* there are no more numbers */
    ck_assert_uint_eq(x->f.now, 5000);
    ck_assert_int_eq(came(x, UINT64_MAX - 5, NDN_NO_NUMBER - 2, NDN_NO_NUMBER), NDN_CAME_NEW);
    all(x, UINT64_MAX - 5);
    ck_assert_int_eq(came(x, UINT64_MAX, NDN_NO_NUMBER - 1, NDN_NO_NUMBER - 1), NDN_CAME_NEW);
    ck_assert(ndn_fetch_whole(&x->f));
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_fetch");
    TCase *windows = tcase_create("windows"), *states = tcase_create("states");

    tcase_add_test(windows, each_window_moves_as_its_table_says);
    tcase_add_test(windows, a_fixed_window_stays);
    tcase_add_test(windows, cubic_follows_its_curve);
    tcase_add_test(windows, cubic_is_no_slower_than_reno);
    tcase_add_test(windows, cubic_converges_fast);
    suite_add_tcase(s, windows);
    tcase_add_test(states, settings_have_bounds);
    tcase_add_test(states, the_first_is_asked_for_alone);
    tcase_add_test(states, a_lost_one_is_asked_for_again);
    tcase_add_test(states, each_try_waits_longer_whatever_others_do);
    tcase_add_test(states, nobody_answers);
    tcase_add_test(states, a_refused_one_waits_its_time);
    tcase_add_test(states, signs_count_once_in_a_round_trip);
    tcase_add_test(states, an_answer_that_comes_late_is_one);
    tcase_add_test(states, answers_agree_about_the_last);
    tcase_add_test(states, one_that_is_missing_stops_the_run);
    tcase_add_test(states, time_does_not_go_back_or_over);
    suite_add_tcase(s, states);
    suite_add_tcase(s, path_case());
    return run_suite(s);
}
