/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues that stand: when they do, who goes then, who is refused, and when it is over. */
#include "test_core.h"

#define MS UINT64_C(1000)

/* One slot, taken; class 0 with a bound of 50 ms, class 1 without. */
static rs_ticket_t open_standing(struct world *w, enum rs_sched sched, enum rs_order order) {
    const char *why = "";
    open_world(w, sched, RS_GATE_WINDOW, 1, (const uint32_t[]){ 3, 1 }, 2, 64);
    w->classes[0].delay_ms = 50;
    w->classes[0].order = order;
    ck_assert_int_eq(rs_configure(w->e, &w->settings, w->classes, 2, NULL, 0, &why), 0);
    w->now = 1000 * MS;
    ask(w, 0, 1000);
    rs_ticket_t t = next(w);
    ck_assert(t != RS_NO_TICKET);
    return t;
}

static rs_ticket_t overdue(struct world *w) {
    rs_ticket_t t = rs_overdue(w->e, w->now);
    sound(w);
    return t;
}

/* So many ask, one a millisecond. */
static void ask_each_ms(struct world *w, rs_ticket_t *t, uint32_t n) {
    for (uint32_t i = 0; i < n; i++, w->now += MS) t[i] = ask(w, 0, 1000);
}

/* The slot comes free, and goes on to whom? */
static rs_ticket_t turn(struct world *w, rs_ticket_t *running) {
    serve(w, *running, 1000);
    *running = next(w);
    sound(w);
    return *running;
}

/* The server hangs: nobody is released, and whoever has waited for longer than 50 ms is refused, the oldest first. */
START_TEST(nobody_is_released) {
    struct world w;
    rs_ticket_t t[4];
    open_standing(&w, (enum rs_sched)_i, RS_ORDER_FIFO);
    ask_each_ms(&w, t, 4);
    w.now += 51 * MS; /* late, but only for a moment */
    ck_assert(overdue(&w) == RS_NO_TICKET);
    ck_assert(!class_stats(&w, 0).stands);
    w.now += 50 * MS;
    for (int i = 0; i < 4; i++) {
        ck_assert(overdue(&w) == t[i]);
        ck_assert_int_eq(rs_state(w.e, t[i]), RS_REFUSED);
    }
    ck_assert(overdue(&w) == RS_NO_TICKET);
    struct rs_class_stats s = class_stats(&w, 0);
    ck_assert_uint_eq(s.queued, 0);
    ck_assert_uint_eq(s.counts.refused_standing, 4);
    ck_assert_uint_eq(s.counts.cancelled, 4);
    ck_assert_uint_eq(s.behind, 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(rs_waited(w.e, t[i]), 0);
        ck_assert_int_eq(rs_progress(w.e, w.now, t[i], 10), 0);
        ck_assert_int_eq(rs_cancel(w.e, w.now, t[i]), 1);
        ck_assert_int_eq(rs_cancel(w.e, w.now, t[i]), 0);
    }
    sound(&w);
    close_world(&w);
}
END_TEST

/* In order of arrival until it stands, then the newest; those that are refused leave places at once. */
START_TEST(newest_first_while_it_stands) {
    struct world w;
    rs_ticket_t t[40], running = open_standing(&w, (enum rs_sched)_i, RS_ORDER_FIFO);
    ask_each_ms(&w, t, 40);
    w.now += 40 * MS;
    ck_assert(turn(&w, &running) == t[0]); /* 80 ms: too long, the first one */
    w.now += 40 * MS;
    ck_assert(turn(&w, &running) == t[1]); /* 119 ms, but 0.1 s have not passed since the queue began */
    ck_assert(class_stats(&w, 0).stands);  /* now they have */
    ck_assert(turn(&w, &running) == t[39]);
    for (int i = 2; i < 39; i++) {
        ck_assert(overdue(&w) == t[i]);
        ck_assert_uint_eq(class_stats(&w, 0).queued, (uint32_t)(38 - i));
    }
    ck_assert(overdue(&w) == RS_NO_TICKET);
    /* The queue is empty: who comes now is in order again. */
    ask_each_ms(&w, t, 3);
    ck_assert(turn(&w, &running) == t[0]);
    ck_assert(turn(&w, &running) == t[1]);
    ck_assert(!class_stats(&w, 0).stands);
    close_world(&w);
}
END_TEST

/* Whoever is left has waited for less than half of the bound: in order again.  Soon after it stands again at once. */
START_TEST(it_is_over_when_the_young_are_left) {
    struct world w;
    rs_ticket_t t[8], running = open_standing(&w, RS_SCHED_DRR, RS_ORDER_FIFO);
    ask_each_ms(&w, t, 4);
    w.now += 150 * MS;
    for (int i = 0; i < 3; i++) ck_assert(overdue(&w) == t[i]);
    rs_ticket_t old = t[3];
    ask_each_ms(&w, t, 8);
    ck_assert(overdue(&w) == old);
    ck_assert(overdue(&w) == RS_NO_TICKET);
    ck_assert(!class_stats(&w, 0).stands);
    ck_assert(turn(&w, &running) == t[0]);
    w.now += 51 * MS;
    ck_assert(overdue(&w) == t[1]); /* no new 0.1 s for it */
    ck_assert(class_stats(&w, 0).stands);
    w.now += 10 * MS;
    ck_assert_uint_eq(rs_behind(w.e, 0), 0); /* by the time of the last call */
    ck_assert(overdue(&w) == t[2]);
    ck_assert_uint_eq(rs_behind(w.e, 0), 10 * MS);
    for (int i = 3; i < 8; i++) ck_assert(overdue(&w) == t[i]);
    /* More than a second after it stood, it is given its time again. */
    w.now += 1100 * MS;
    ask_each_ms(&w, t, 2);
    w.now += 60 * MS;
    ck_assert(overdue(&w) == RS_NO_TICKET);
    close_world(&w);
}
END_TEST

/* One of them in 0.1 s who has not waited for too long, and the queue does not stand. */
START_TEST(one_in_time_is_enough) {
    struct world w;
    rs_ticket_t old, young, running = open_standing(&w, RS_SCHED_DRR, RS_ORDER_SHORTEST);
    old = ask(&w, 0, 50000);
    for (int i = 0; i < 10; i++) {
        w.now += 60 * MS;
        young = ask(&w, 0, 1000);
        w.now += 20 * MS;
        ck_assert(turn(&w, &running) == young);
        ck_assert(overdue(&w) == RS_NO_TICKET);
    }
    w.now += 110 * MS;
    ck_assert(overdue(&w) == old);
    close_world(&w);
}
END_TEST

/* A class that goes shortest first does so while its queue stands, too. */
START_TEST(shortest_first_stays_so) {
    struct world w;
    rs_ticket_t t[8], running = open_standing(&w, RS_SCHED_DRR, RS_ORDER_SHORTEST);
    for (uint32_t i = 0; i < 8; i++) t[i] = ask(&w, 0, i < 4 ? 4000 : 1000);
    w.now += 101 * MS;
    ck_assert(overdue(&w) == t[0]);
    ck_assert(turn(&w, &running) == t[4]);
    ck_assert(overdue(&w) == t[1]);
    ck_assert(turn(&w, &running) == t[5]);
    close_world(&w);
}
END_TEST

/* Classes without a bound are as they were; looking costs nothing until 5 ms are over. */
START_TEST(others_are_left_alone) {
    struct world w;
    open_standing(&w, RS_SCHED_DRR, RS_ORDER_FIFO);
    rs_ticket_t first = ask(&w, 1, 1000);
    ask(&w, 1, 1000);
    w.now += 10000 * MS;
    ck_assert(overdue(&w) == RS_NO_TICKET);
    ck_assert_uint_eq(class_stats(&w, 1).queued, 2);
    ck_assert_uint_eq(rs_behind(w.e, 1), 10000 * MS);
    ck_assert_uint_eq(rs_behind(w.e, 7), 0);
    rs_ticket_t t = ask(&w, 0, 1000);
    w.now += 101 * MS;
    ck_assert(overdue(&w) == t);
    ck_assert(overdue(&w) == RS_NO_TICKET);
    t = ask(&w, 0, 1000);
    w.now += 51 * MS;
    ck_assert(overdue(&w) == t);
    t = ask(&w, 0, 1000);
    w.now += 2 * MS;
    rs_ticket_t later = ask(&w, 0, 1000);
    w.now += 49 * MS;
    ck_assert(overdue(&w) == t);
    ck_assert(overdue(&w) == RS_NO_TICKET);
    w.now += 4 * MS;
    ck_assert(overdue(&w) == RS_NO_TICKET);
    w.now += MS;
    ck_assert(overdue(&w) == later);
    ck_assert_int_eq(rs_state(w.e, first), RS_QUEUED);
    close_world(&w);
}
END_TEST

/* The holder of the lock died, or settings changed: who was refused stays so; who waits is in order, for 0.1 s. */
START_TEST(rebuilt_and_configured) {
    struct world w;
    rs_ticket_t t[6];
    const char *why = "";
    open_standing(&w, (enum rs_sched)_i, RS_ORDER_FIFO);
    ask_each_ms(&w, t, 6);
    w.now += 100 * MS;
    ck_assert(overdue(&w) == t[0]);
    ck_assert(rs_rebuild(w.e, w.now) == NULL);
    sound(&w);
    ck_assert_int_eq(rs_state(w.e, t[0]), RS_REFUSED);
    ck_assert(overdue(&w) == RS_NO_TICKET);
    w.now += 101 * MS;
    ck_assert(overdue(&w) == t[1]);
    w.classes[0].delay_ms = 0;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, w.now, &why), 0);
    sound(&w);
    w.now += 1000 * MS;
    ck_assert(overdue(&w) == RS_NO_TICKET);
    ck_assert_uint_eq(rs_reclaim(w.e, w.now, 1), 7);
    sound(&w);
    w.classes[0].delay_ms = RS_DELAY_MAX + 1;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, w.now, &why), -1);
    ck_assert_msg(strstr(why, "delay"), "%s", why);
    close_world(&w);
}
END_TEST

/* Anything in any order, at two outlets: every invariant holds, and whoever is refused had waited for too long. */
START_TEST(any_moves) {
    enum { LIVE = 48 };
    struct world w;
    rs_ticket_t live[LIVE] = { 0 };
    rs_time_t asked[LIVE] = { 0 };
    uint64_t seed = 88172645463325252u + (uint64_t)_i, refused = 0;
    uint32_t n = 0;
    const char *why = "";
    memset(&w, 0, sizeof w);
    w.n = 4;
    w.cap = (struct rs_capacity){ .classes = 4, .tickets = LIVE, .outlets = 2, .keys = rs_keys_for(LIVE) };
    rs_settings_default(&w.settings);
    w.settings.sched = (uint32_t)_i;
    w.settings.window = 2;
    w.classes = classes_of((const uint32_t[]){ 5, 3, 2, 1 }, 4);
    for (uint32_t i = 0; i < 3; i++) w.classes[i].delay_ms = 20 * (i + 1);
    w.classes[1].order = RS_ORDER_SHORTEST;
    w.classes[2].within = 1;
    w.size = rs_size(&w.cap);
    w.memory = aligned_alloc(64, w.size);
    w.e = rs_create(w.memory, w.size, &w.cap, &w.settings, w.classes, 4, 0, &why);
    ck_assert_msg(w.e != NULL, "%s", why);
    for (int step = 0; step < 20000; step++) {
        uint32_t what = (uint32_t)(draw(&seed) % 16), i = n ? (uint32_t)(draw(&seed) % n) : 0;
        rs_ticket_t t;
        w.now += draw(&seed) % (6 * MS);
        if (what < 7 && n < LIVE) {
            const uint64_t key[RS_KEY_LEVELS] = { draw(&seed) % 5, 0 };
            if (rs_submit_keyed(w.e, w.now, (uint32_t)(draw(&seed) % 4), (uint32_t)(draw(&seed) % 2),
                                draw(&seed) % 9000, key, 1, n, &live[n]) == RS_OK)
                asked[n++] = w.now;
        } else if (what < 10) {
            next(&w);
        } else if (what < 12) {
            while ((t = rs_overdue(w.e, w.now)) != RS_NO_TICKET) {
                uint32_t of = rs_class(w.e, t), at = 0;
                while (at < n && live[at] != t) at++;
                ck_assert_uint_lt(at, n);
                ck_assert_uint_lt(of, 3);
                ck_assert_uint_gt(w.now - asked[at], w.classes[of].delay_ms * MS);
                refused++;
            }
        } else if (what < 15 && n) {
            rs_finish(w.e, w.now, live[i]);
            if (rs_state(w.e, live[i]) == RS_REFUSED || what == 14) rs_cancel(w.e, w.now, live[i]);
        } else if (step % 64 == 0) {
            ck_assert(rs_rebuild(w.e, w.now) == NULL);
        }
        for (uint32_t k = n; k-- > 0;)
            if (rs_state(w.e, live[k]) == RS_FREE) {
                n--;
                live[k] = live[n];
                asked[k] = asked[n];
            }
        if (step % 8 == 0) sound(&w);
    }
    ck_assert_uint_gt(refused, 100);
    close_world(&w);
}
END_TEST

/* Clients that wait for each response make a queue of a few windows: slow pages are no overload. */
START_TEST(queue_of_delay_turns_windows_does_not_stand) {
    struct world w;
    rs_ticket_t t[4], running = open_standing(&w, (enum rs_sched)_i, RS_ORDER_FIFO);
    const char *why = "";
    w.classes[0].delay_turns = 3;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &why), 0);
    ask_each_ms(&w, t, 3);
    for (int i = 0; i < 20; i++) {
        w.now += 40 * MS;
        ck_assert(overdue(&w) == RS_NO_TICKET);
    }
    ck_assert(!class_stats(&w, 0).stands);
    t[3] = ask(&w, 0, 1000);
    for (int i = 0; i < 4; i++) {
        w.now += 40 * MS;
        if (overdue(&w) == t[0]) break;
        ck_assert_int_lt(i, 3);
    }
    /* Three are left, and wait. */
    ck_assert(overdue(&w) == RS_NO_TICKET);
    ck_assert(!class_stats(&w, 0).stands);
    ck_assert(turn(&w, &running) == t[1]);
    close_world(&w);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: standing queues");
    TCase *c = tcase_create("standing");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, nobody_is_released, 0, RS_SCHED_COUNT);
    tcase_add_loop_test(c, newest_first_while_it_stands, 0, RS_SCHED_LEVELS + 1);
    tcase_add_loop_test(c, queue_of_delay_turns_windows_does_not_stand, 0, RS_SCHED_LEVELS + 1);
    tcase_add_test(c, it_is_over_when_the_young_are_left);
    tcase_add_test(c, one_in_time_is_enough);
    tcase_add_test(c, shortest_first_stays_so);
    tcase_add_test(c, others_are_left_alone);
    tcase_add_loop_test(c, rebuilt_and_configured, 0, RS_SCHED_COUNT);
    tcase_add_loop_test(c, any_moves, 0, RS_SCHED_COUNT);
    suite_add_tcase(s, c);
    return run_suite(s);
}
