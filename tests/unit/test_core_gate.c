/* SPDX-License-Identifier: BSD-2-Clause */
/* When a request may go: each gate by itself. */
#include "test_core.h"

#include "base_block.h"

static uint32_t fill(struct world *w) {
    uint32_t n = 0;
    while (next(w) != RS_NO_TICKET) n++;
    return n;
}

/* The released one that came first. */
static rs_ticket_t oldest(const struct world *w) {
    const struct rs_ticket_row *found = NULL;
    for (uint32_t t = 0; t < w->e->capacity.tickets; t++) {
        const struct rs_ticket_row *r = rs_row(w->e, t);
        if (rs_row_state(r) == RS_RELEASED && (!found || r->seq < found->seq)) found = r;
    }
    return found ? rs_row_ticket(found) : RS_NO_TICKET;
}

static void set(struct world *w) {
    const char *why = "";
    ck_assert_msg(rs_configure(w->e, &w->settings, w->classes, w->n, NULL, w->now, &why) == 0, "%s", why);
}

START_TEST(none_lets_all_through) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_NONE, 1, NULL, 2, 1000);
    for (uint32_t i = 0; i < 1000; i++) ask(&w, i % 2, 1 << 20);
    ck_assert_uint_eq(fill(&w), 1000);
    ck_assert_uint_eq(stats(&w).window, 0);
    close_world(&w);
}
END_TEST

START_TEST(window_counts_responses) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 0, NULL, 2, 100);
    for (uint32_t i = 0; i < 90; i++) ask(&w, i % 2, 1000);
    ck_assert_uint_eq(fill(&w), 8); /* the gate's own */
    w.settings.window = 20;
    set(&w);
    ck_assert_uint_eq(fill(&w), 12);
    w.settings.window = 5; /* who is out stays out, nobody follows */
    set(&w);
    ck_assert_uint_eq(fill(&w), 0);
    ck_assert_uint_eq(stats(&w).window, 5);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(a_parked_response_blocks_a_thread_and_no_window) {
    for (int gate = RS_GATE_WINDOW; gate <= RS_GATE_THREADS; gate += RS_GATE_THREADS - RS_GATE_WINDOW) {
        struct world w;
        open_world(&w, RS_SCHED_FIFO, (enum rs_gate)gate, 2, NULL, 1, 10);
        for (int i = 0; i < 6; i++) ask(&w, 0, 1000);
        rs_ticket_t a = next(&w), b = next(&w);
        ck_assert(next(&w) == RS_NO_TICKET);
        ck_assert(rs_park(w.e, 0, a));
        ck_assert_uint_eq(fill(&w), gate == RS_GATE_WINDOW ? 1 : 0);
        ck_assert(rs_finish(w.e, 0, b));
        ck_assert_uint_eq(fill(&w), 1);
        sound(&w);
        close_world(&w);
    }
}
END_TEST

START_TEST(bytes_counts_what_is_expected) {
    struct world w;
    open_world(&w, RS_SCHED_FIFO, RS_GATE_BYTES, 3, NULL, 1, 100);
    for (int i = 0; i < 40; i++) ask(&w, 0, 30000);
    ck_assert_uint_eq(fill(&w), 3); /* no rate: a window */
    w.settings.rate = 1000000;
    /* 200,000 bytes, of each of them an eighth: 25,000, and a byte for rounding */
    w.settings.horizon_ms = 200;
    set(&w);
    ck_assert_uint_eq(fill(&w), 5);
    rs_ticket_t t = next(&w);
    ck_assert(t == RS_NO_TICKET);
    close_world(&w);

    open_world(&w, RS_SCHED_FIFO, RS_GATE_BYTES, 0, NULL, 1, 100);
    w.settings.rate = 1000;
    w.settings.horizon_ms = 200;
    set(&w);
    for (int i = 0; i < 40; i++) ask(&w, 0, 1 << 30);
    t = next(&w); /* 200 bytes, of each of them 26: seven are less */
    ck_assert_uint_eq(fill(&w), 7);
    ck_assert(rs_progress(w.e, 0, t, (1 << 30) - 24));
    ck_assert_uint_eq(fill(&w), 0); /* 206 of 208 left */
    ck_assert(rs_progress(w.e, 0, t, 20));
    ck_assert_uint_eq(fill(&w), 1); /* 4 bytes are left: the next begins before this one has ended */
    sound(&w);
    ck_assert(rs_finish(w.e, 0, t));
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(the_allowance_is_shared_by_weight) {
    struct world w;
    open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, (uint32_t[]){ 4, 2, 1 }, 3, 100);
    w.settings.rate = 1000000;
    w.settings.horizon_ms = 700;
    set(&w);
    rs_ticket_t a = ask(&w, 0, 50000), b = ask(&w, 1, 50000), c = ask(&w, 2, 50000), d = ask(&w, 2, 50000);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), RS_UNLIMITED); /* still waiting */
    ck_assert_uint_eq(fill(&w), 4);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 400000);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 200000);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, c), 50000);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, d), 50000);
    /* what a class does not use, the others have by weight */
    ck_assert(rs_finish(w.e, 0, a));
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), RS_UNLIMITED);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 466666);
    ck_assert(rs_park(w.e, 0, c));
    ck_assert_uint_eq(rs_allowance(w.e, w.now, c), RS_UNLIMITED);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, d), 233333);
    w.settings.gate = RS_GATE_WINDOW;
    set(&w);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, d), RS_UNLIMITED);
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * Half of the link is somebody else's for some seconds: half as much may be outstanding; and all of it when that has
 * ended.
 */
START_TEST(bytes_leaves_room_for_what_is_nobodys) {
    struct world w;
    open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, NULL, 1, 100);
    w.settings.rate = 1000000;
    w.settings.horizon_ms = 800;
    set(&w);
    rs_ticket_t t = ask(&w, 0, 50000);
    ck_assert_uint_eq(fill(&w), 1);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, t), 800000);
    for (int i = 0; i < 100; i++, w.now += 100000) rs_charge(w.e, w.now, RS_NO_CLASS, 0, 50000);
    uint64_t half = rs_allowance(w.e, w.now, t);
    ck_assert_uint_ge(half, 390000);
    ck_assert_uint_le(half, 410000);
    for (int i = 0; i < 40; i++) ask(&w, 0, 99000);
    ck_assert_uint_eq(fill(&w), 4); /* 50,000 and four of 99,000 reach 400,000 */
    for (int i = 0; i < 100; i++, w.now += 100000) rs_charge(w.e, w.now, RS_NO_CLASS, 0, 200000);
    /* an eighth of the rate stays: 100,000 for five */
    ck_assert_uint_eq(rs_allowance(w.e, w.now, t), 20000);
    w.now += 10000000;
    ck_assert_uint_eq(fill(&w), 4);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(bytes_of_nobody_reach_the_gate_alone) {
    struct world w;
    struct rs_class_stats c;
    open_world(&w, RS_SCHED_RFQ, RS_GATE_WRC, 1, NULL, 1, 10);
    rs_charge(w.e, 0, RS_NO_CLASS, 0, 1000);
    ck_assert(rs_class_stats(w.e, 0, &c));
    ck_assert_uint_eq(c.counts.bytes, 0);
    ck_assert_int_eq(c.balance, 0);
    rs_charge(w.e, 0, 0, 0, 1000);
    ck_assert(rs_class_stats(w.e, 0, &c));
    ck_assert_uint_eq(c.counts.bytes, 1000);
    rs_charge(w.e, 0, 7, 0, 1000); /* no such class */
    sound(&w);
    close_world(&w);
}
END_TEST

/* One interval of WRC: `ends` responses of `bytes` each end within `us`, others take their place. */
static uint32_t interval(struct world *w, uint32_t ends, uint64_t bytes, rs_time_t us) {
    for (uint32_t i = 0; i < ends; i++) {
        fill(w);
        ask(w, 0, bytes);
        w->now += us / ends;
        serve(w, oldest(w), bytes);
    }
    return stats(w).window;
}

/* Access-gateway paper 3.3: 1 MB/s, F = 4, Umax = 0.95. */
START_TEST(wrc_follows_the_utilisation) {
    struct world w;
    open_world(&w, RS_SCHED_FIFO, RS_GATE_WRC, 0, NULL, 1, 1000);
    w.settings.rate = 1000000;
    w.settings.wrc_f = 4;
    set(&w);
    for (int i = 0; i < 500; i++) ask(&w, 0, 1000);
    ck_assert_uint_eq(stats(&w).window, 1);
    ck_assert_uint_eq(interval(&w, 4, 1000, 20000), 2); /* U = 0.2: fast start doubles */
    ck_assert_uint_eq(interval(&w, 8, 1000, 40000), 4);
    ck_assert_uint_eq(interval(&w, 16, 1000, 20000), 5);  /* U = 0.8: past Umax / 2, one by one */
    ck_assert_uint_eq(interval(&w, 20, 1000, 100000), 6); /* U = 0.2 again: fast start is over */
    ck_assert_uint_eq(interval(&w, 24, 1000, 24000), 5);  /* U = 1.0 */
    ck_assert_uint_eq(interval(&w, 20, 950, 20000), 5);   /* U = Umax: stays */
    rs_charge(w.e, w.now, 0, 0, 10000);                   /* what no ticket explains uses the link too */
    ck_assert_uint_eq(interval(&w, 20, 500, 20000), 4);   /* U = 0.5 + 0.5 */
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(wrc_waits_for_a_full_window) {
    struct world w;
    open_world(&w, RS_SCHED_FIFO, RS_GATE_WRC, 3, NULL, 1, 100);
    w.settings.rate = 1000000;
    set(&w);
    /* one at a time, nothing waits, the link is hardly used: a larger window changes nothing */
    for (int i = 0; i < 200; i++) {
        w.now += 1000;
        rs_ticket_t t = ask(&w, 0, 10);
        ck_assert(next(&w) == t);
        serve(&w, t, 10);
    }
    ck_assert_uint_eq(stats(&w).window, 3);
    for (int i = 0; i < 3; i++) ask(&w, 0, 10);
    interval(&w, 12, 10, 12000); /* the end of the interval that was begun idle */
    ck_assert_uint_eq(interval(&w, 12, 10, 12000), 6);
    close_world(&w);
}
END_TEST

/* `workers` workers of `us` each, 30 clients in each of three classes who ask again at once: responses in `seconds`. */
struct server {
    rs_ticket_t job[128];
    rs_time_t end[128];
    rs_ticket_t line[256];
    uint32_t waiting;
};

static uint32_t run(struct world *w, struct server *s, uint32_t workers, rs_time_t us, uint32_t seconds,
                    uint64_t *seed) {
    uint32_t done = 0;
    for (rs_time_t until = w->now + (rs_time_t)seconds * 1000000; w->now < until;) {
        for (rs_ticket_t t; (t = next(w)) != RS_NO_TICKET;) s->line[s->waiting++] = t;
        uint32_t soonest = 128, busy = 0;
        for (uint32_t i = 0; i < 128; i++) {
            if (s->job[i] == RS_NO_TICKET && i < workers && s->waiting) {
                s->job[i] = s->line[0];
                memmove(s->line, s->line + 1, --s->waiting * sizeof *s->line);
                s->end[i] = w->now + us * (90 + draw(seed) % 20) / 100;
            }
            if (s->job[i] == RS_NO_TICKET) continue;
            busy++;
            if (soonest == 128 || s->end[i] < s->end[soonest]) soonest = i;
        }
        ck_assert_uint_gt(busy, 0);
        uint32_t class = rs_class(w->e, s->job[soonest]);
        w->now = s->end[soonest];
        serve(w, s->job[soonest], 2000);
        s->job[soonest] = RS_NO_TICKET;
        ask(w, class, 2000);
        done++;
    }
    return done;
}

START_TEST(auto_finds_the_window) {
    static const uint32_t workers[] = { 4, 16, 32 };
    struct world w;
    struct server s = { .waiting = 0 };
    uint64_t seed = 5;
    open_world(&w, RS_SCHED_DRR, RS_GATE_AUTO, 0, (const uint32_t[]){ 6, 3, 1 }, 3, 100);
    for (uint32_t i = 0; i < 90; i++) ask(&w, i % 3, 2000);
    ck_assert_uint_eq(stats(&w).window, 16);
    run(&w, &s, workers[_i], 50000, 3, &seed);
    uint32_t done = run(&w, &s, workers[_i], 50000, 20, &seed);
    ck_assert_double_ge(done, 0.95 * 20 * 20 * workers[_i]);
    ck_assert_uint_eq(rs_window(w.e), stats(&w).window);
    ck_assert_uint_le(stats(&w).window, 40); /* not beyond what the shares allow: 30 / 0.6, with room */
    sound(&w);

    /* The server becomes another one: from a few fast hands to many slow ones, and back. */
    run(&w, &s, 2, 1000, 20, &seed);
    run(&w, &s, workers[_i], 50000, 3, &seed);
    done = run(&w, &s, workers[_i], 50000, 10, &seed);
    ck_assert_double_ge(done, 0.95 * 10 * 20 * workers[_i]);
    run(&w, &s, 2, 1000, 1, &seed);
    done = run(&w, &s, 2, 1000, 10, &seed);
    ck_assert_double_ge(done, 0.95 * 10 * 2000);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(auto_without_a_backlog_stays) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_AUTO, 12, NULL, 1, 8);
    for (int i = 0; i < 5000; i++) {
        rs_ticket_t t = ask(&w, 0, 1000);
        ck_assert(next(&w) == t);
        w.now += 1000;
        serve(&w, t, 1000);
    }
    ck_assert_uint_eq(stats(&w).window, 12);
    sound(&w);
    close_world(&w);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: gates");
    TCase *c = tcase_create("gates");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, none_lets_all_through);
    tcase_add_test(c, window_counts_responses);
    tcase_add_test(c, a_parked_response_blocks_a_thread_and_no_window);
    tcase_add_test(c, bytes_counts_what_is_expected);
    tcase_add_test(c, the_allowance_is_shared_by_weight);
    tcase_add_test(c, bytes_leaves_room_for_what_is_nobodys);
    tcase_add_test(c, bytes_of_nobody_reach_the_gate_alone);
    tcase_add_test(c, wrc_follows_the_utilisation);
    tcase_add_test(c, wrc_waits_for_a_full_window);
    tcase_add_loop_test(c, auto_finds_the_window, 0, 3);
    tcase_add_test(c, auto_without_a_backlog_stays);
    suite_add_tcase(s, c);
    return run_suite(s);
}
