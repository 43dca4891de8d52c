/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots that long requests leave to brief ones (rs_reserve.h): costs are microseconds, a slot of eight each. */
#include "test_core.h"

#include "base_block.h"

#define WINDOW 8u
#define BRIEF  100000u
#define LONG   4000000u

/* Class 1 is shared by `within` levels of keys. */
static void open_classes(struct world *w, enum rs_gate gate, const uint32_t *weights, uint32_t n, uint32_t within) {
    const char *why = "";
    open_world(w, RS_SCHED_DRR, gate, WINDOW, weights, n, 200);
    free(w->memory);
    w->settings.await_us = 50000;
    w->settings.debt_max = 0;
    w->cap.keys = 800;
    w->classes[1].within = within;
    w->size = rs_size(&w->cap);
    w->memory = aligned_alloc(64, w->size);
    memset(w->memory, 0xa5, w->size);
    w->e = rs_create(w->memory, w->size, &w->cap, &w->settings, w->classes, n, 0, &why);
    ck_assert_msg(w->e != NULL, "%s", why);
}

/* Class 0 has four times the weight of class 1. */
static void open_gated(struct world *w, enum rs_gate gate, uint32_t within) {
    open_classes(w, gate, (const uint32_t[]){ 4, 1 }, 2, within);
}
static void open_timed(struct world *w, uint32_t within) { open_gated(w, RS_GATE_WINDOW, within); }

static rs_ticket_t ask_by(struct world *w, uint32_t class, uint32_t key, uint64_t cost) {
    uint64_t keys[RS_KEY_LEVELS] = { (key + 1) * UINT64_C(0x9e3779b97f4a7c15), 0 };
    rs_ticket_t t = RS_NO_TICKET;
    ck_assert_int_eq(rs_submit_keyed(w->e, w->now, class, 0, cost, keys, 1, 0, &t), RS_OK);
    return t;
}

/* Two brief requests of a class at a time, for ten seconds. */
static void serve_brief_ones(struct world *w, uint32_t class) {
    for (int i = 0; i < 100; i++) {
        rs_ticket_t a = ask_by(w, class, 0, BRIEF), b = ask_by(w, class, 0, BRIEF);
        ck_assert(next(w) != RS_NO_TICKET && next(w) != RS_NO_TICKET);
        w->now += BRIEF;
        serve(w, a, BRIEF);
        serve(w, b, BRIEF);
    }
}

static uint32_t release_all(struct world *w) {
    uint32_t n = 0;
    while (next(w) != RS_NO_TICKET) n++;
    sound(w);
    return n;
}

/* Requests of this estimate leave two slots to brief ones of another class, until there was none for five seconds. */
static void leave_two_slots(uint64_t estimate) {
    struct world w;
    open_timed(&w, 0);
    serve_brief_ones(&w, 0);
    for (uint32_t i = 0; i < 20; i++) ask_by(&w, 1, i, estimate);
    ck_assert_uint_eq(release_all(&w), WINDOW - 2);
    rs_ticket_t brief = ask_by(&w, 0, 0, BRIEF);
    ck_assert(next(&w) == brief);
    sound(&w);
    /* Five seconds without a brief request: the others have all slots. */
    serve(&w, brief, BRIEF);
    w.now += 5100000;
    uint32_t released = release_all(&w);
    w.now += 100000; /* one waits for the class that released its slot last (await_us) */
    ck_assert_uint_eq(released + release_all(&w), 2);
    close_world(&w);
}

START_TEST(long_requests_leave_the_slots_that_brief_ones_of_another_class_used) { leave_two_slots(LONG); }
END_TEST

START_TEST(long_requests_without_brief_ones_have_the_whole_window) {
    struct world w;
    open_timed(&w, 0);
    for (uint32_t i = 0; i < 20; i++) ask_by(&w, i % 2, i, LONG);
    ck_assert_uint_eq(release_all(&w), WINDOW);
    close_world(&w);
}
END_TEST

/* In order of arrival a brief request waits behind the long ones of its class: slots kept for it would be idle. */
START_TEST(long_requests_of_a_class_in_order_of_arrival_leave_nothing_to_its_own_brief_ones) {
    struct world w;
    open_timed(&w, 0);
    serve_brief_ones(&w, 1);
    for (uint32_t i = 0; i < 20; i++) ask_by(&w, 1, i, LONG);
    ck_assert_uint_eq(release_all(&w), WINDOW);
    close_world(&w);
}
END_TEST

START_TEST(brief_request_of_a_key_behind_long_ones_of_others_takes_the_slot_kept_for_it) {
    struct world w;
    open_timed(&w, 1);
    serve_brief_ones(&w, 1);
    for (uint32_t i = 1; i < 20; i++) ask_by(&w, 1, i, LONG);
    ck_assert_uint_eq(release_all(&w), WINDOW - 2);
    rs_ticket_t brief = ask_by(&w, 1, 0, BRIEF);
    ck_assert(next(&w) == brief);
    ck_assert(next(&w) == RS_NO_TICKET);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(request_that_outlasts_what_was_expected_counts_as_long) {
    struct world w;
    open_timed(&w, 0);
    serve_brief_ones(&w, 0);
    rs_ticket_t t[WINDOW];
    for (uint32_t i = 0; i < WINDOW - 2; i++) {
        t[i] = ask_by(&w, 1, i, BRIEF);
        ck_assert(next(&w) == t[i]);
    }
    for (uint32_t i = 0; i < WINDOW - 2; i++) ck_assert(rs_progress(w.e, w.now, t[i], 5 * BRIEF));
    sound(&w);
    ask_by(&w, 1, 50, LONG);
    ck_assert(next(&w) == RS_NO_TICKET);
    /* Parked, it leaves its slot to another long one. */
    ck_assert(rs_park(w.e, w.now, t[0]));
    ck_assert(next(&w) != RS_NO_TICKET);
    sound(&w);
    ck_assert(rs_resume(w.e, w.now, t[0]));
    sound(&w);
    close_world(&w);
}
END_TEST

struct running {
    rs_ticket_t brief[WINDOW], t[WINDOW];
    uint32_t briefs, n, served[4];
};

static void release_them(struct world *w, struct running *r) {
    for (rs_ticket_t t; (t = next(w)) != RS_NO_TICKET;) {
        r->served[rs_class(w->e, t)]++;
        if (rs_class(w->e, t) == 0) r->brief[r->briefs++] = t;
        else r->t[r->n++] = t;
    }
    sound(w);
}

/* So often two brief requests of class 0 run, end, and leave their slots free until these wait for class 0 no more. */
static void serve_long_ones_beside_brief_ones(struct world *w, struct running *r, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        ask(w, 0, BRIEF);
        ask(w, 0, BRIEF);
        release_them(w, r);
        w->now += LONG / WINDOW;
        while (r->briefs) serve(w, r->brief[--r->briefs], BRIEF);
        release_them(w, r);
        w->now += 2 * w->settings.await_us;
        release_them(w, r);
        serve(w, r->t[0], LONG);
        memmove(r->t, r->t + 1, --r->n * sizeof *r->t);
    }
}

/*
 * Class 2 is light and owes much: it sleeps for long.  While the outlet is shut, no round may be as long as it needs:
 * class 1 would earn that, and class 3, which comes later, would wait until class 1 has spent all of it.
 */
START_TEST(class_that_comes_while_another_with_a_deep_debt_waits_shut_out_is_not_starved) {
    struct world w;
    struct running r = { 0 };
    open_classes(&w, RS_GATE_WINDOW, (const uint32_t[]){ 8, 8, 1, 8 }, 4, 0);
    rs_ticket_t dear = ask(&w, 2, 4 * LONG);
    ck_assert(next(&w) == dear);
    serve(&w, dear, 50 * LONG);
    serve_brief_ones(&w, 0);
    for (uint32_t i = 0; i < 40; i++) ask(&w, 1, LONG);
    for (uint32_t i = 0; i < 20; i++) ask(&w, 2, 4 * LONG);
    serve_long_ones_beside_brief_ones(&w, &r, 2);
    for (uint32_t i = 0; i < 20; i++) ask(&w, 3, LONG);
    memset(r.served, 0, sizeof r.served);
    serve_long_ones_beside_brief_ones(&w, &r, 12);
    ck_assert_msg(r.served[3] >= 5, "%u of class 1, %u of class 3", r.served[1], r.served[3]);
    close_world(&w);
}
END_TEST

START_TEST(rebuild_of_an_outlet_that_is_shut_is_sound_and_opens_it) {
    struct world w;
    open_timed(&w, 1);
    serve_brief_ones(&w, 1);
    for (uint32_t i = 1; i < 20; i++) ask_by(&w, 1, i, LONG);
    ck_assert_uint_eq(release_all(&w), WINDOW - 2);
    ck_assert_uint_eq(rs_outlet(w.e, 0)->shut, 1);
    ck_assert_ptr_null(rs_rebuild(w.e, w.now));
    ck_assert_uint_eq(rs_outlet(w.e, 0)->shut, 0);
    ck_assert_uint_eq(rs_outlet(w.e, 0)->longs, WINDOW - 2);
    sound(&w);
    ck_assert_uint_eq(release_all(&w), 2);
    close_world(&w);
}
END_TEST

/* A burst of requests of which only the kind is known: each may turn out to last for minutes. */
START_TEST(unsure_requests_leave_the_slots_that_another_class_used) { leave_two_slots(BRIEF | RS_UNSURE); }
END_TEST

START_TEST(unsure_requests_leave_the_slots_that_known_ones_of_other_keys_used) {
    struct world w;
    open_timed(&w, 1);
    serve_brief_ones(&w, 1);
    for (uint32_t i = 1; i < 20; i++) ask_by(&w, 1, i, BRIEF | RS_UNSURE);
    ck_assert_uint_eq(release_all(&w), WINDOW - 2);
    rs_ticket_t brief = ask_by(&w, 1, 0, BRIEF);
    ck_assert(next(&w) == brief);
    ck_assert(next(&w) == RS_NO_TICKET);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(unsure_requests_of_all_have_the_whole_window) {
    struct world w;
    open_timed(&w, 0);
    for (uint32_t i = 0; i < 20; i++) ask_by(&w, 1, i, BRIEF | RS_UNSURE);
    ck_assert_uint_eq(release_all(&w), WINDOW);
    close_world(&w);
    open_timed(&w, 1);
    for (uint32_t i = 0; i < 40; i++) ask_by(&w, i % 2, i, BRIEF | RS_UNSURE);
    ck_assert_uint_eq(release_all(&w), WINDOW);
    close_world(&w);
}
END_TEST

/* A parked request that keeps a worker of its backend leaves no slot to another long one. */
START_TEST(parked_requests_that_keep_workers_count_among_the_long_ones) {
    struct world w;
    for (int slow = 0; slow < 2; slow++) {
        rs_ticket_t t, first = RS_NO_TICKET;
        uint32_t parked = 0;
        open_timed(&w, 1);
        serve_brief_ones(&w, 1);
        for (uint32_t i = 1; i < 20; i++) ask_by(&w, 1, i, slow ? LONG : 1000 | RS_LONG);
        for (; (t = next(&w)) != RS_NO_TICKET; parked++) {
            ck_assert(rs_park_working(w.e, w.now, t, slow));
            sound(&w);
            if (!parked) first = t;
        }
        ck_assert(parked > 0 && parked <= WINDOW - 2);
        rs_ticket_t brief = ask_by(&w, 1, 0, BRIEF);
        ck_assert(next(&w) == brief);
        /* One worker is free, the client of its request still reads: the next long one has it. */
        ck_assert(rs_occupies_no_more(w.e, w.now, first) && !rs_occupies_no_more(w.e, w.now, first));
        ck_assert(next(&w) != RS_NO_TICKET && next(&w) == RS_NO_TICKET);
        sound(&w);
        ck_assert_ptr_null(rs_rebuild(w.e, w.now));
        ck_assert_uint_eq(rs_outlet(w.e, 0)->working, parked - 1);
        sound(&w);
        close_world(&w);
    }
}
END_TEST

/* A window that finds its own size: long polls of which nothing was known hold all of it. */
START_TEST(brief_request_goes_beside_long_ones_that_hold_all_of_an_automatic_window) {
    struct world w;
    rs_ticket_t t[WINDOW];
    open_gated(&w, RS_GATE_AUTO, 0);
    for (uint32_t i = 0; i < WINDOW; i++) {
        t[i] = ask_by(&w, 1, i, BRIEF | RS_UNSURE);
        ck_assert(next(&w) == t[i]);
    }
    rs_ticket_t brief = ask_by(&w, 0, 0, BRIEF);
    for (uint32_t i = WINDOW; i < 2 * WINDOW; i++) ask_by(&w, 1, i, BRIEF | RS_UNSURE);
    ck_assert(next(&w) == RS_NO_TICKET);
    for (uint32_t i = 0; i < WINDOW; i++) ck_assert(rs_progress(w.e, w.now, t[i], 5 * BRIEF));
    w.now += 100000;
    ck_assert(next(&w) == brief);
    ck_assert(next(&w) == RS_NO_TICKET);
    ck_assert(rs_crowded(w.e, brief));
    ck_assert(!rs_crowded(w.e, t[0]));
    sound(&w);
    /* If brief ones turn out to be long as well, there are no more than a quarter of the window beside it. */
    ck_assert(rs_progress(w.e, w.now, brief, 5 * BRIEF));
    for (int i = 0; i < 100; i++) {
        ask_by(&w, 0, 0, BRIEF);
        w.now += 100000;
        while ((brief = next(&w)) != RS_NO_TICKET) ck_assert(rs_progress(w.e, w.now, brief, 5 * BRIEF));
        sound(&w);
    }
    ck_assert_uint_eq(stats(&w).outstanding, WINDOW + WINDOW / 4 + 1);
    close_world(&w);
}
END_TEST

/* Long requests left two slots.  More brief requests than these wait here: at the backend they would take longer. */
START_TEST(brief_requests_do_not_go_beside_long_ones_that_left_them_slots) {
    struct world w;
    open_gated(&w, RS_GATE_AUTO, 0);
    serve_brief_ones(&w, 0);
    uint32_t window = stats(&w).window;
    for (uint32_t i = 0; i < 40; i++) ask_by(&w, 1, i, LONG);
    uint32_t longs = release_all(&w);
    ck_assert_uint_lt(longs, window);
    for (uint32_t i = 0; i < 40; i++) ask_by(&w, 0, 0, BRIEF);
    ck_assert_uint_eq(longs + release_all(&w), window);
    for (int i = 0; i < 20; i++) {
        w.now += 100000;
        ck_assert_uint_eq(release_all(&w), 0);
    }
    close_world(&w);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {
        long_requests_leave_the_slots_that_brief_ones_of_another_class_used,
        long_requests_without_brief_ones_have_the_whole_window,
        long_requests_of_a_class_in_order_of_arrival_leave_nothing_to_its_own_brief_ones,
        brief_request_of_a_key_behind_long_ones_of_others_takes_the_slot_kept_for_it,
        request_that_outlasts_what_was_expected_counts_as_long,
        class_that_comes_while_another_with_a_deep_debt_waits_shut_out_is_not_starved,
        rebuild_of_an_outlet_that_is_shut_is_sound_and_opens_it,
        unsure_requests_leave_the_slots_that_another_class_used,
        unsure_requests_leave_the_slots_that_known_ones_of_other_keys_used,
        unsure_requests_of_all_have_the_whole_window,
        parked_requests_that_keep_workers_count_among_the_long_ones,
        brief_request_goes_beside_long_ones_that_hold_all_of_an_automatic_window,
        brief_requests_do_not_go_beside_long_ones_that_left_them_slots,
    };
    Suite *s = suite_create("core: reserve");
    TCase *c = tcase_create("reserve");
    suite_add_tcase(s, c);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) tcase_add_test(c, tests[i]);
    return run_suite(s);
}
