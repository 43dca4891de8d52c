/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a ticket: every move and no other, refusals, accounts, owners, time. */
#include "test_core.h"

enum move { HEADER, PROGRESS, PARK, RESUME, FINISH, ABORT, CANCEL, MOVES };

static int make(struct world *w, enum move m, rs_ticket_t t) {
    switch (m) {
    case HEADER: return rs_header(w->e, w->now, t, 500);
    case PROGRESS: return rs_progress(w->e, w->now, t, 10);
    case PARK: return rs_park(w->e, w->now, t);
    case RESUME: return rs_resume(w->e, w->now, t);
    case FINISH: return rs_finish(w->e, w->now, t);
    case ABORT: return rs_abort(w->e, w->now, t);
    case CANCEL: return rs_cancel(w->e, w->now, t);
    case MOVES: break;
    }
    return -1;
}

/* The whole table: state x move → may it, and the state after. */
static const struct {
    enum rs_state from;
    int may[MOVES];
    enum rs_state to[MOVES];
} table[] = {
    { RS_FREE, { 0, 0, 0, 0, 0, 0, 0 }, { RS_FREE, RS_FREE, RS_FREE, RS_FREE, RS_FREE, RS_FREE, RS_FREE } },
    { RS_QUEUED,
      { 0, 0, 0, 0, 0, 0, 1 },
      { RS_QUEUED, RS_QUEUED, RS_QUEUED, RS_QUEUED, RS_QUEUED, RS_QUEUED, RS_FREE } },
    { RS_RELEASED,
      { 1, 1, 1, 0, 1, 1, 0 },
      { RS_RELEASED, RS_RELEASED, RS_PARKED, RS_RELEASED, RS_FREE, RS_FREE, RS_RELEASED } },
    { RS_PARKED,
      { 1, 1, 0, 1, 1, 1, 0 },
      { RS_PARKED, RS_PARKED, RS_PARKED, RS_RELEASED, RS_FREE, RS_FREE, RS_PARKED } },
    { RS_REFUSED,
      { 0, 0, 0, 0, 0, 0, 1 },
      { RS_REFUSED, RS_REFUSED, RS_REFUSED, RS_REFUSED, RS_REFUSED, RS_REFUSED, RS_FREE } },
};

START_TEST(every_move_and_no_other) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int m = 0; m < MOVES; m++) {
            struct world w;
            const char *why = "";
            open_world(&w, (enum rs_sched)_i, RS_GATE_WINDOW, 4, NULL, 2, 8);
            w.classes[1].delay_ms = 1;
            ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &why), 0);
            rs_ticket_t t = ask(&w, 1, 1000);
            if (table[i].from == RS_REFUSED) ck_assert(rs_overdue(w.e, w.now = 200000) == t);
            if (table[i].from == RS_FREE) ck_assert(rs_cancel(w.e, 0, t));
            if (table[i].from == RS_RELEASED || table[i].from == RS_PARKED) ck_assert(next(&w) == t);
            if (table[i].from == RS_PARKED) ck_assert(rs_park(w.e, 0, t));
            ck_assert_int_eq(rs_state(w.e, t), table[i].from);
            ck_assert_msg(make(&w, (enum move)m, t) == table[i].may[m], "state %d, move %d", table[i].from, m);
            ck_assert_msg(rs_state(w.e, t) == table[i].to[m], "state %d, move %d ends in %d", table[i].from, m,
                          rs_state(w.e, t));
            sound(&w);
            close_world(&w);
        }
}
END_TEST

START_TEST(a_late_call_does_nothing) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 4, NULL, 1, 1);
    rs_ticket_t first = ask(&w, 0, 100);
    ck_assert(next(&w) == first);
    ck_assert(rs_finish(w.e, 0, first));
    rs_ticket_t second = ask(&w, 0, 100);
    ck_assert_uint_eq(rs_ticket_index(first), rs_ticket_index(second));
    ck_assert(first != second);
    ck_assert(next(&w) == second);
    for (int m = 0; m < MOVES; m++) ck_assert_int_eq(make(&w, (enum move)m, first), 0);
    ck_assert_int_eq(rs_state(w.e, second), RS_RELEASED);
    ck_assert_uint_eq(rs_class(w.e, first), RS_NO_CLASS);
    ck_assert_uint_eq(rs_tag(w.e, first), 0);
    const rs_ticket_t nonsense[] = { RS_NO_TICKET, 1,          UINT32_MAX,
                                     UINT64_MAX,   second + 1, second + ((rs_ticket_t)1 << 32) };
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        for (int m = 0; m < MOVES; m++) ck_assert_int_eq(make(&w, (enum move)m, nonsense[i]), 0);
    ck_assert_uint_eq(stats(&w).outstanding, 1);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(refusals_say_why_and_are_counted) {
    struct world w;
    rs_ticket_t t;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, NULL, 3, 6);
    w.classes[0].queue_max = 2;
    w.settings.queue_max = 4;
    const char *why = "";
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, 0, &why), 0);
    ask(&w, 0, 10);
    ask(&w, 0, 10);
    t = 77;
    ck_assert_int_eq(rs_submit(w.e, 0, 0, 0, 10, 1, 0, &t), RS_CLASS_FULL);
    ck_assert_uint_eq(t, 77);
    ask(&w, 1, 10);
    ask(&w, 1, 10);
    ck_assert_int_eq(rs_submit(w.e, 0, 1, 0, 10, 1, 0, &t), RS_TOTAL_FULL);
    ck_assert_int_eq(rs_submit(w.e, 0, 3, 0, 10, 1, 0, &t), RS_NO_SUCH_CLASS);
    ck_assert_int_eq(rs_submit(w.e, 0, UINT32_MAX, 0, 10, 1, 0, &t), RS_NO_SUCH_CLASS);
    /* Who waits counts, not who is served: a release makes room in both bounds. */
    ck_assert(next(&w) != RS_NO_TICKET);
    ask(&w, 2, 10);
    struct rs_stats s = stats(&w);
    ck_assert_uint_eq(s.counts.refused_class, 1);
    ck_assert_uint_eq(s.counts.refused_total, 1);
    ck_assert_uint_eq(class_stats(&w, 0).counts.refused_class, 1);
    /* Without a bound of its own the number of tickets is the bound, served ones included. */
    w.settings.queue_max = 0;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, 0, &why), 0);
    ask(&w, 1, 10);
    ck_assert_int_eq(rs_submit(w.e, 0, 1, 0, 10, 1, 0, &t), RS_TOTAL_FULL);
    sound(&w);
    for (int r = RS_OK; r <= RS_NO_SUCH_CLASS; r++) ck_assert_uint_gt(strlen(rs_refusal_text((enum rs_refusal)r)), 5);
    ck_assert_str_eq(rs_refusal_text((enum rs_refusal)(RS_NO_SUCH_CLASS + 1)), "unknown refusal");
    close_world(&w);
}
END_TEST

/* How many of a class are taken until one is refused, and why. */
static uint32_t crowd(struct world *w, uint32_t class, enum rs_refusal *why) {
    rs_ticket_t t;
    uint32_t n = 0;
    while ((*why = rs_submit(w->e, w->now, class, 0, 1000, 1, 0, &t)) == RS_OK) n++;
    sound(w);
    return n;
}

/*
 * A crowd of one class, people not there: half of 100 places is kept by weight, 30, 15 and 5; the crowd takes its 5 and
 * the 50 that are for whoever comes.  Then people come, and have theirs.
 */
START_TEST(one_class_cannot_fill_the_queue) {
    struct world w;
    enum rs_refusal why;
    const char *text = "";
    open_world(&w, (enum rs_sched)_i, RS_GATE_WINDOW, 1, (const uint32_t[]){ 6, 3, 1 }, 3, 200);
    w.settings.queue_max = 100;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, 0, &text), 0);
    ck_assert_uint_eq(crowd(&w, 2, &why), 55);
    ck_assert_int_eq(why, RS_SHARE_FULL);
    ck_assert_uint_eq(class_stats(&w, 2).counts.refused_share, 1);
    rs_rebuild(w.e, w.now);
    sound(&w);
    ck_assert_uint_eq(crowd(&w, 0, &why), 30);
    ck_assert_int_eq(why, RS_SHARE_FULL);
    ck_assert_uint_eq(crowd(&w, 1, &why), 15);
    ck_assert_int_eq(why, RS_TOTAL_FULL);
    /* Who is released leaves a place: to all, if it was a shared one. */
    for (int i = 0; i < 40; i++) ck_assert(rs_finish(w.e, w.now, next(&w)));
    uint32_t left = 0;
    for (uint32_t c = 0; c < 3; c++) left += crowd(&w, c, &why);
    ck_assert_uint_eq(left, 40);
    struct rs_stats s = stats(&w);
    ck_assert_uint_eq(s.queued, 100);
    ck_assert_uint_eq(s.counts.refused_share + s.counts.refused_total, 6);
    close_world(&w);
}
END_TEST

/* Alone in a configuration, a class has all places, and a class's own bound comes first. */
START_TEST(places_of_one_class_and_bounded_ones) {
    struct world w;
    enum rs_refusal why;
    const char *text = "";
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, NULL, 1, 101);
    ck_assert_uint_eq(crowd(&w, 0, &why), 101);
    ck_assert_int_eq(why, RS_TOTAL_FULL);
    close_world(&w);
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, NULL, 2, 150);
    w.settings.queue_max = 100;
    w.classes[0].queue_max = 10; /* the 15 that it does not need of its own are for whoever comes */
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &text), 0);
    ck_assert_uint_eq(crowd(&w, 1, &why), 90);
    ck_assert_int_eq(why, RS_SHARE_FULL);
    ck_assert_uint_eq(crowd(&w, 0, &why), 10);
    ck_assert_int_eq(why, RS_CLASS_FULL);
    close_world(&w);
}
END_TEST

/*
 * 10,000 classes and as many places: half a place is kept for each.  A crowd of one takes what is for whoever comes,
 * and one; then each of 4,999 others finds a first place; when those leave theirs, the rest do.
 */
START_TEST(less_than_a_place_for_each) {
    enum { N = 10000 };
    struct world w;
    enum rs_refusal why;
    rs_ticket_t t, first[N];
    uint32_t taken = 0;
    open_world(&w, RS_SCHED_RFQ, RS_GATE_WINDOW, 1, NULL, N, N);
    ck_assert_uint_eq(crowd(&w, 7, &why), N / 2 + 1);
    ck_assert_int_eq(why, RS_SHARE_FULL);
    for (uint32_t c = 0; c < N; c++)
        if (c != 7 && rs_submit(w.e, 0, c, 0, 1000, 1, 0, &t) == RS_OK) first[taken++] = t;
    ck_assert_uint_eq(taken, N / 2 - 1);
    sound(&w);
    while (taken) ck_assert(rs_cancel(w.e, 0, first[--taken]));
    sound(&w);
    for (uint32_t c = N; c-- > 0;)
        if (c != 7 && rs_submit(w.e, 0, c, 0, 1000, 1, 0, &t) == RS_OK) taken++;
    ck_assert_uint_eq(taken, N / 2 - 1);
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * Fewer places than before: nobody is thrown out, who has its own still gets it, and the crowd gets nothing until it is
 * within its part.
 */
START_TEST(fewer_places_than_wait) {
    struct world w;
    enum rs_refusal why;
    const char *text = "";
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, NULL, 2, 200);
    ck_assert_uint_eq(crowd(&w, 0, &why), 150);
    w.settings.queue_max = 20;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &text), 0);
    sound(&w);
    ck_assert_uint_eq(crowd(&w, 0, &why), 0);
    ck_assert_uint_eq(crowd(&w, 1, &why), 5);
    for (int i = 0; i < 200; i++) {
        rs_ticket_t t = next(&w);
        if (t != RS_NO_TICKET) ck_assert(rs_finish(w.e, 0, t));
    }
    ck_assert_uint_eq(crowd(&w, 0, &why), 15);
    ck_assert_uint_eq(crowd(&w, 1, &why), 5);
    close_world(&w);
}
END_TEST

/*
 * Eight light classes beside a heavy one, and fewer places than before: three are lent, two are the heavy one's, one is
 * for whoever comes, and two wait there.  A place that comes back is for a class of which nobody waits: were it lent to
 * one that waits among the others, more would be taken than there are.
 */
START_TEST(a_place_is_lent_to_who_has_none) {
    struct world w;
    const char *text = "";
    rs_ticket_t t, first;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, (const uint32_t[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1000 }, 9, 40);
    first = ask(&w, 0, 1000);
    for (uint32_t c = 1; c < 5; c++) ask(&w, c, 1000);
    w.settings.queue_max = 6;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 9, NULL, 0, &text), 0);
    sound(&w);
    ck_assert_int_eq(rs_submit(w.e, 0, 5, 0, 1000, 1, 0, &t), RS_SHARE_FULL);
    ck_assert(rs_cancel(w.e, 0, first));
    ck_assert_int_eq(rs_submit(w.e, 0, 4, 0, 1000, 1, 0, &t), RS_SHARE_FULL);
    ck_assert_int_eq(rs_submit(w.e, 0, 1, 0, 1000, 1, 0, &t), RS_SHARE_FULL);
    ck_assert_int_eq(rs_submit(w.e, 0, 5, 0, 1000, 1, 0, &t), RS_OK);
    ck_assert_int_eq(rs_submit(w.e, 0, 6, 0, 1000, 1, 0, &t), RS_SHARE_FULL);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(parking_gives_the_slot_and_keeps_the_account) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, NULL, 1, 4);
    rs_ticket_t a = ask(&w, 0, 1000), b = ask(&w, 0, 1000);
    ck_assert_uint_eq(rs_live(w.e), 0);
    ck_assert(next(&w) == a);
    ck_assert(next(&w) == RS_NO_TICKET);
    ck_assert_uint_eq(class_stats(&w, 0).expected, 1000);
    ck_assert(rs_park(w.e, 0, a));
    ck_assert_uint_eq(class_stats(&w, 0).expected, 0);
    ck_assert_uint_eq(class_stats(&w, 0).parked, 1);
    ck_assert_uint_eq(rs_live(w.e), 1);
    ck_assert(next(&w) == b);
    ck_assert_uint_eq(rs_live(w.e), 2);
    ck_assert(rs_progress(w.e, 0, a, 300));
    ck_assert(rs_resume(w.e, 0, a)); /* one too many */
    ck_assert_uint_eq(stats(&w).outstanding, 2);
    ck_assert_uint_eq(class_stats(&w, 0).expected, 1700);
    rs_ticket_t c = ask(&w, 0, 1000);
    ck_assert(next(&w) == RS_NO_TICKET);
    ck_assert(rs_finish(w.e, 0, a));
    ck_assert(next(&w) == RS_NO_TICKET);
    ck_assert(rs_finish(w.e, 0, b));
    ck_assert(next(&w) == c);
    sound(&w);
    struct rs_counts n = stats(&w).counts;
    ck_assert_uint_eq(n.parked, 1);
    ck_assert_uint_eq(n.resumed, 1);
    ck_assert_uint_eq(n.bytes, 300);
    close_world(&w);
}
END_TEST

START_TEST(a_dead_owner_leaves_nothing) {
    struct world w;
    rs_ticket_t t[9];
    open_world(&w, (enum rs_sched)_i, RS_GATE_WINDOW, 6, NULL, 3, 9);
    for (uint32_t i = 0; i < 9; i++)
        ck_assert_int_eq(rs_submit(w.e, 0, i % 3, 0, 100 * (i + 1), i % 2 ? 7 : 8, i + 100, &t[i]), RS_OK);
    while (next(&w) != RS_NO_TICKET) {}
    for (uint32_t i = 0; i < 9; i += 4)
        if (rs_state(w.e, t[i]) == RS_RELEASED) ck_assert(rs_park(w.e, 0, t[i]));
    ck_assert_uint_eq(rs_reclaim(w.e, 0, 8), 5);
    for (uint32_t i = 0; i < 9; i++) ck_assert_int_eq(rs_state(w.e, t[i]) == RS_FREE, i % 2 == 0);
    ck_assert_uint_eq(rs_reclaim(w.e, 0, 8), 0);
    ck_assert_uint_eq(rs_owner(w.e, t[1]), 7);
    ck_assert_uint_eq(rs_tag(w.e, t[1]), 101);
    struct rs_stats s = stats(&w);
    ck_assert_uint_eq(s.queued + s.outstanding, 4);
    ck_assert_uint_eq(s.counts.reclaimed, 5);
    ck_assert_uint_eq(s.counts.cancelled + s.counts.aborted, 5);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(time_never_goes_back) {
    struct world w;
    rs_time_t again;
    open_world(&w, RS_SCHED_FIFO, RS_GATE_WINDOW, 2, NULL, 1, 4);
    w.now = 1000;
    rs_ticket_t a = ask(&w, 0, 10);
    ck_assert(rs_pick(w.e, 400, &again) == a); /* a clock that was set back */
    ck_assert_uint_eq(rs_waited(w.e, a), 0);
    w.now = 900;
    rs_ticket_t b = ask(&w, 0, 10);
    ck_assert(rs_pick(w.e, 5000, &again) == b);
    ck_assert_uint_eq(rs_waited(w.e, b), 4000);
    ck_assert(rs_finish(w.e, 0, b));
    ck_assert_uint_eq(stats(&w).counts.service_us, 0);
    ck_assert_uint_eq(class_stats(&w, 0).wait_max, 4000);
    sound(&w);
    close_world(&w);
}
END_TEST

/* Every count of the whole is the sum of its classes', those that are gone included. */
START_TEST(the_whole_is_the_sum_of_its_classes) {
    enum { COUNTS = sizeof(struct rs_counts) / sizeof(uint64_t) };
    struct world w;
    const char *why = "";
    uint64_t whole[COUNTS], sum[COUNTS] = { 0 };
    rs_ticket_t t;
    open_world(&w, RS_SCHED_FIFO, RS_GATE_NONE, 0, NULL, 3, 8);
    for (uint32_t c = 0; c < 3; c++) {
        w.classes[c].queue_max = 5;
        w.classes[c].delay_ms = 1;
    }
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, 0, &why), 0);
    for (uint32_t i = 0; i < 3; i++) {
        t = ask(&w, i, 1000);
        w.now += 200000;
        ck_assert(rs_overdue(w.e, w.now) == t);
        rs_cancel(w.e, w.now, t);
        for (uint32_t n = 0; n < 4 + i; n++) rs_submit(w.e, w.now, i, 0, 1000, 1, 0, &t);
        rs_cancel(w.e, w.now, t);
        w.now += 1000 + i;
        rs_ticket_t done = next(&w), aborted = next(&w);
        w.now += 100 + i;
        rs_park(w.e, w.now, done);
        rs_resume(w.e, w.now, done);
        serve(&w, done, 500 + i);
        rs_abort(w.e, w.now, aborted);
        rs_reclaim(w.e, w.now, 1);
        for (uint32_t n = 0; n < 12; n++) rs_submit(w.e, w.now, (i + n) % 3, 0, 1000, 2, 0, &t);
        rs_reclaim(w.e, w.now, 2);
    }
    for (uint32_t c = 0; c < 3; c++) {
        struct rs_counts of = class_stats(&w, c).counts;
        for (int i = 0; i < COUNTS; i++) sum[i] += ((uint64_t *)&of)[i];
    }
    for (int gone = 0; gone < 2; gone++) {
        struct rs_counts all = stats(&w).counts;
        memcpy(whole, &all, sizeof whole);
        for (int i = 0; i < COUNTS; i++) {
            ck_assert_msg(whole[i] == sum[i], "count %d is %llu of %llu", i, (unsigned long long)whole[i],
                          (unsigned long long)sum[i]);
            if (&((uint64_t *)&all)[i] != &all.refused_share) ck_assert_uint_gt(sum[i], 0);
        }
        for (uint32_t c = 0; c < 3; c++) w.classes[c].name[0] = 'x';
        ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, 0, &why), 0);
    }
    close_world(&w);
}
END_TEST

/* Whatever a host calls with a later time, nobody comes before that time from then on. */
START_TEST(every_call_brings_the_time_on) {
    enum { CHARGE = MOVES, ALLOWANCE, RECLAIM, HAND_OVER, REBUILD, SET_RATE, CONFIGURE, CALLS };
    for (int call = 0; call < CALLS; call++) {
        struct world w;
        const char *why = "";
        rs_time_t again;
        open_world(&w, RS_SCHED_RFQ_PAPER, RS_GATE_WRC, 4, NULL, 2, 8);
        rs_ticket_t t = ask(&w, 1, 1000), other = RS_NO_TICKET;
        if (call != CANCEL) ck_assert(next(&w) == t);
        if (call == RESUME) ck_assert(rs_park(w.e, 0, t));
        w.now = 5000;
        if (call < MOVES) ck_assert_int_eq(make(&w, (enum move)call, t), 1);
        else if (call == CHARGE) rs_charge(w.e, w.now, 0, 0, 10);
        else if (call == ALLOWANCE) rs_allowance(w.e, w.now, t);
        else if (call == RECLAIM) rs_reclaim(w.e, w.now, 1);
        else if (call == HAND_OVER) rs_hand_over(w.e, w.now, t, 10);
        else if (call == REBUILD) ck_assert_ptr_null(rs_rebuild(w.e, w.now));
        else if (call == SET_RATE) ck_assert(!rs_set_rate(w.e, w.now, 1000, 0)); /* it has none */
        else ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, w.now, &why), 0);
        ck_assert_int_eq(rs_submit(w.e, 1, 0, 0, 10, 1, 0, &other), RS_OK);
        ck_assert(rs_pick(w.e, 7000, &again) == other);
        ck_assert_msg(rs_waited(w.e, other) == 2000, "call %d: it waited %d us", call, (int)rs_waited(w.e, other));
        close_world(&w);
    }
}
END_TEST

/*
 * The account of a DRR class, seen as its balance: estimate at release, length at the header, growth beyond, what came
 * at the end.
 */
START_TEST(the_account_follows_what_is_known) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_NONE, 0, NULL, 1, 4);
    rs_ticket_t a = ask(&w, 0, 10000);
    ck_assert(next(&w) == a);
    int64_t released = class_stats(&w, 0).balance;
    ck_assert(rs_header(w.e, 0, a, 4000));
    ck_assert_int_eq(class_stats(&w, 0).balance - released, 6000);
    ck_assert_uint_eq(class_stats(&w, 0).expected, 4000);
    ck_assert(rs_progress(w.e, 0, a, 3000));
    ck_assert_int_eq(class_stats(&w, 0).balance - released, 6000);
    ck_assert(rs_progress(w.e, 0, a, 3000)); /* the header lied */
    ck_assert_int_eq(class_stats(&w, 0).balance - released, 4000);
    ck_assert_uint_eq(class_stats(&w, 0).expected, 0);
    ck_assert(rs_header(w.e, 0, a, 8000));
    ck_assert_int_eq(class_stats(&w, 0).balance - released, 2000);
    rs_ticket_t keep = ask(&w, 0, 1); /* or the class would go idle and lose its credit */
    ck_assert(rs_finish(w.e, 0, a));
    ck_assert_int_eq(class_stats(&w, 0).balance - released, 4000);
    ck_assert_uint_eq(class_stats(&w, 0).mean, 6000);
    ck_assert(rs_cancel(w.e, 0, keep));
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * All of a gigabyte is made, and stands in buffers: the class pays as for a release, and what goes beyond as it goes.
 */
START_TEST(what_is_handed_over_is_charged_as_it_goes) {
    struct world w;
    open_world(&w, (enum rs_sched)_i, RS_GATE_WINDOW, 2, NULL, 2, 8);
    for (int i = 0; i < 100; i++) ask(&w, 0, 1000), serve(&w, next(&w), 1000);
    rs_ticket_t t = ask(&w, 0, 1000);
    ck_assert(next(&w) == t);
    ck_assert(rs_progress(w.e, 0, t, 500));
    uint64_t paid = 500 + rs_hand_over(w.e, 0, t, (1 << 30) - 500);
    ck_assert_uint_eq(paid, 65535 + 8 * 1000);
    ck_assert_uint_eq(class_stats(&w, 0).owed, paid - 1000);
    ck_assert_uint_eq(class_stats(&w, 0).mean, 2000);
    ck_assert_uint_eq(class_stats(&w, 0).expected, 0);
    ck_assert_uint_eq(stats(&w).outstanding, 0);
    ck_assert_int_eq(rs_state(w.e, t), RS_FREE);
    ck_assert_uint_eq(rs_hand_over(w.e, 0, t, 77), 77);
    sound(&w);
    rs_charge(w.e, 0, 0, 0, 5000);
    ck_assert_uint_eq(class_stats(&w, 0).owed, paid - 1000 + 5000);
    /* A small one is as if it had been finished; a waiting one can't be handed over. */
    rs_ticket_t small = ask(&w, 1, 1000);
    ck_assert_uint_eq(rs_hand_over(w.e, 0, small, 77), 77);
    ck_assert_int_eq(rs_state(w.e, small), RS_QUEUED);
    ck_assert(next(&w) == small);
    ck_assert(rs_park(w.e, 0, small));
    ck_assert_uint_eq(rs_hand_over(w.e, 0, small, 900), 900);
    ck_assert_uint_eq(class_stats(&w, 1).counts.bytes, 900);
    ck_assert_uint_eq(class_stats(&w, 1).mean, 900);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(an_unknown_size_is_the_mean_of_the_class) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_NONE, 0, NULL, 2, 4);
    for (int i = 0; i < 3; i++) {
        rs_ticket_t t = ask(&w, 0, 10);
        ck_assert(next(&w) == t);
        serve(&w, t, 5000);
    }
    rs_ticket_t t = ask(&w, 0, 0);
    ck_assert(next(&w) == t);
    ck_assert_uint_eq(class_stats(&w, 0).expected, 5000);
    rs_ticket_t u = ask(&w, 1, 0); /* of this class nothing is known yet */
    ck_assert(next(&w) == u);
    ck_assert_uint_eq(class_stats(&w, 1).expected, 5000);
    ck_assert(rs_abort(w.e, 0, u));
    ck_assert_uint_eq(class_stats(&w, 1).mean, 0); /* what ended early teaches nothing */
    close_world(&w);
}
END_TEST

START_TEST(huge_sizes_do_not_overflow) {
    struct world w;
    open_world(&w, (enum rs_sched)_i, RS_GATE_BYTES, 4, (const uint32_t[]){ 1, 1000000 }, 2, 16);
    for (int i = 0; i < 200; i++) {
        for (uint32_t c = 0; c < 2; c++) {
            rs_ticket_t t;
            if (rs_submit(w.e, w.now, c, 0, UINT64_MAX, 1, 0, &t) != RS_OK) break;
        }
        w.now += UINT32_MAX;
        rs_ticket_t t = next(&w);
        if (t == RS_NO_TICKET) continue;
        rs_header(w.e, w.now, t, i % 3 ? UINT64_MAX : 1);
        rs_progress(w.e, w.now, t, (uint64_t)1 << 41);
        if (i % 5 == 0) rs_charge(w.e, w.now, (uint32_t)i % 2, 0, UINT64_MAX >> 20);
        rs_finish(w.e, w.now, t);
        sound(&w);
    }
    close_world(&w);
}
END_TEST

START_TEST(charge_counts_for_a_class_without_a_ticket) {
    struct world w;
    open_world(&w, RS_SCHED_RFQ, RS_GATE_WINDOW, 1, NULL, 2, 8);
    for (int i = 0; i < 3; i++) ask(&w, 0, 1000), ask(&w, 1, 1000);
    rs_charge(w.e, 0, 0, 0, 5000);
    rs_charge(w.e, 0, 9, 0, 5000); /* no such class: nothing happens */
    uint32_t of_0 = 0;
    for (int i = 0; i < 4; i++) { /* its first request pays for three more */
        rs_ticket_t t = next(&w);
        of_0 += rs_class(w.e, t) == 0;
        serve(&w, t, 1000);
    }
    ck_assert_uint_eq(of_0, 1);
    ck_assert_uint_eq(class_stats(&w, 0).owed, 2000);
    ck_assert_uint_eq(class_stats(&w, 0).counts.bytes, 6000);
    ck_assert_uint_eq(stats(&w).counts.bytes, 9000);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(the_block_may_move) {
    struct world w;
    const char *why = "";
    open_world(&w, (enum rs_sched)_i, RS_GATE_AUTO, 3, NULL, 5, 40);
    for (uint32_t i = 0; i < 30; i++) ask(&w, i % 5, 100 + i);
    for (int i = 0; i < 2; i++) ck_assert(next(&w) != RS_NO_TICKET);
    void *elsewhere = aligned_alloc(64, w.size);
    memcpy(elsewhere, w.memory, w.size);
    memset(w.memory, 0xff, w.size);
    free(w.memory);
    w.memory = elsewhere;
    w.e = rs_attach(elsewhere, w.size, &w.cap, &why);
    ck_assert_msg(w.e != NULL, "%s", why);
    sound(&w);
    uint32_t out = 2;
    for (rs_ticket_t t; (t = next(&w)) != RS_NO_TICKET; out++) serve(&w, t, 100);
    ck_assert_uint_eq(out, 30);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(attach_and_create_say_what_is_wrong) {
    struct world w;
    const char *why = "";
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 3, NULL, 2, 8);
    ck_assert_ptr_eq(rs_attach(w.memory, w.size, &w.cap, &why), w.e);
    ck_assert_ptr_null(rs_attach(w.memory, w.size - 64, &w.cap, &why));
    ck_assert_ptr_nonnull(strstr(why, "size"));
    ck_assert_ptr_null(rs_attach(w.memory, 16, &w.cap, &why));
    ck_assert_ptr_nonnull(strstr(why, "too small"));
    ck_assert_ptr_null(rs_attach((char *)w.memory + 8, w.size - 8, &w.cap, &why));
    ck_assert_ptr_nonnull(strstr(why, "aligned"));
    ((uint32_t *)w.memory)[1]++;
    ck_assert_ptr_null(rs_attach(w.memory, w.size, &w.cap, &why));
    ck_assert_ptr_nonnull(strstr(why, "version"));
    ((uint32_t *)w.memory)[0]++;
    ck_assert_ptr_null(rs_attach(w.memory, w.size, &w.cap, &why));
    ck_assert_ptr_nonnull(strstr(why, "magic"));

    static const struct rs_capacity bad[] = {
        { 0, 1, 1, 0 }, { 65537, 1, 1, 0 }, { 1, 0, 1, 0 }, { 1, 16777217, 1, 0 },
        { 1, 1, 0, 0 }, { 1, 1, 65, 0 },    { 1, 1, 1, 7 }, { 1, 1, 1, 2097160 }
    };
    static const struct rs_capacity largest = { 65536, 16777216, 64, 2097152 };
    ck_assert_uint_gt(rs_size(&largest), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_uint_eq(rs_size(&bad[i]), 0);
        ck_assert_ptr_null(rs_create(w.memory, w.size, &bad[i], &w.settings, w.classes, 1, 0, &why));
        ck_assert_ptr_nonnull(strstr(why, "capacity"));
    }
    ck_assert_ptr_null(rs_create(w.memory, w.size - 1, &w.cap, &w.settings, w.classes, 2, 0, &why));
    ck_assert_ptr_nonnull(strstr(why, "too small"));
    w.settings.horizon_ms = 0;
    ck_assert_ptr_null(rs_create(w.memory, w.size, &w.cap, &w.settings, w.classes, 2, 0, &why));
    ck_assert_ptr_nonnull(strstr(why, "horizon_ms"));
    close_world(&w);
}
END_TEST

START_TEST(large_capacities_fit) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 8, NULL, 10000, 100008);
    for (uint32_t i = 0; i < 100000; i++) ask(&w, i % 10000, 1000);
    for (int i = 0; i < 100; i++) {
        rs_ticket_t t = next(&w);
        ck_assert(t != RS_NO_TICKET);
        serve(&w, t, 1000);
    }
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(outlets_take_turns_and_have_gates_of_their_own) {
    struct world w;
    const char *why = "";
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 2, NULL, 1, 64);
    free(w.memory);
    w.cap.outlets = 64;
    w.size = rs_size(&w.cap);
    w.memory = aligned_alloc(64, w.size);
    w.e = rs_create(w.memory, w.size, &w.cap, &w.settings, w.classes, 1, 0, &why);
    ck_assert_msg(w.e != NULL, "%s", why);
    static const uint32_t used[] = { 0, 5, 63 };
    for (uint32_t i = 0; i < 12; i++) {
        rs_ticket_t t;
        ck_assert_int_eq(rs_submit(w.e, 0, 0, used[i % 3], 100, 1, used[i % 3], &t), RS_OK);
    }
    for (uint32_t i = 0; i < 6; i++) ck_assert_uint_eq(rs_tag(w.e, next(&w)), used[i % 3]);
    ck_assert(next(&w) == RS_NO_TICKET);
    ck_assert_uint_eq(stats(&w).outstanding, 6);
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * Quick answers, and some that take long and are given up: those cost their class as much, so the next one must not
 * count as a quick one.  One that is given up at once says nothing.
 */
START_TEST(what_is_given_up_counts_as_what_it_cost) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_NONE, 0, NULL, 1, 8);
    for (int i = 0; i < 100; i++) {
        ask(&w, 0, 1000);
        serve(&w, next(&w), 1000);
    }
    ck_assert_uint_eq(class_stats(&w, 0).mean, 1000);
    for (int i = 0; i < 200; i++) {
        ask(&w, 0, 0);
        rs_ticket_t t = next(&w);
        rs_progress(w.e, w.now, t, 1000000);
        rs_abort(w.e, w.now, t);
    }
    ck_assert_uint_gt(class_stats(&w, 0).mean, 900000);
    for (int i = 0; i < 200; i++) {
        ask(&w, 0, 0);
        rs_abort(w.e, w.now, next(&w));
    }
    ck_assert_uint_gt(class_stats(&w, 0).mean, 900000);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(settings_are_a_table) {
    struct rs_settings s;
    rs_settings_default(&s);
    ck_assert_uint_eq(rs_settings_count, 11);
    for (size_t i = 0; i < rs_settings_count; i++) {
        const struct rs_setting_info *row = &rs_settings_table[i];
        ck_assert_uint_le(row->least, row->normal);
        ck_assert_uint_le(row->normal, row->most);
        ck_assert(row->width == 4 || row->width == 8);
        ck_assert_uint_gt(strlen(row->text), 20);
        ck_assert_int_eq(row->text[strlen(row->text) - 1], '.');
        uint64_t value = 0;
        memcpy(&value, (const char *)&s + row->offset, row->width);
        ck_assert_uint_eq(value, row->normal);
    }
    static const char *const scheds[] = { "fifo", "drr", "rfq", "rfq-paper", "levels", "shortest" };
    static const char *const gates[] = { "none", "window", "auto", "bytes", "wrc", "threads" };
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(rs_sched_by_name(scheds[i]), i);
        ck_assert_int_eq(rs_gate_by_name(gates[i]), i);
        ck_assert_str_eq(rs_sched_name(i), scheds[i]);
        ck_assert_str_eq(rs_gate_name(i), gates[i]);
    }
    ck_assert_int_eq(rs_sched_by_name("DRR"), -1);
    ck_assert_int_eq(rs_gate_by_name(""), -1);
    ck_assert_str_eq(rs_sched_name(RS_SCHED_COUNT), "unknown");
    ck_assert_str_eq(rs_gate_name(-1), "unknown");
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: life");
    TCase *c = tcase_create("life");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, every_move_and_no_other, 0, RS_SCHED_COUNT);
    tcase_add_test(c, a_late_call_does_nothing);
    tcase_add_test(c, what_is_given_up_counts_as_what_it_cost);
    tcase_add_test(c, refusals_say_why_and_are_counted);
    tcase_add_loop_test(c, one_class_cannot_fill_the_queue, 0, RS_SCHED_COUNT);
    tcase_add_test(c, places_of_one_class_and_bounded_ones);
    tcase_add_test(c, less_than_a_place_for_each);
    tcase_add_test(c, fewer_places_than_wait);
    tcase_add_test(c, a_place_is_lent_to_who_has_none);
    tcase_add_test(c, parking_gives_the_slot_and_keeps_the_account);
    tcase_add_loop_test(c, a_dead_owner_leaves_nothing, 0, RS_SCHED_COUNT);
    tcase_add_test(c, time_never_goes_back);
    tcase_add_test(c, the_whole_is_the_sum_of_its_classes);
    tcase_add_test(c, every_call_brings_the_time_on);
    tcase_add_test(c, the_account_follows_what_is_known);
    tcase_add_loop_test(c, what_is_handed_over_is_charged_as_it_goes, RS_SCHED_DRR, RS_SCHED_RFQ + 1);
    tcase_add_test(c, an_unknown_size_is_the_mean_of_the_class);
    tcase_add_loop_test(c, huge_sizes_do_not_overflow, 0, RS_SCHED_COUNT);
    tcase_add_test(c, charge_counts_for_a_class_without_a_ticket);
    tcase_add_loop_test(c, the_block_may_move, 0, RS_SCHED_COUNT);
    tcase_add_test(c, attach_and_create_say_what_is_wrong);
    tcase_add_test(c, large_capacities_fit);
    tcase_add_test(c, outlets_take_turns_and_have_gates_of_their_own);
    tcase_add_test(c, settings_are_a_table);
    suite_add_tcase(s, c);
    return run_suite(s);
}
