/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_core_outlets.c - outlets with windows of their own, and classes with a bound of slots: who hangs keeps nobody
 * else from the server, and nothing is idle for it.
 */
#include "test_core.h"

#include "base_block.h"

#define OUTLETS 4u
#define TICKETS 400u

static void open_outlets(struct world *w, enum rs_sched sched, const uint32_t *weights, uint32_t n) {
    const char *why = "";
    open_world(w, sched, RS_GATE_WINDOW, 4, weights, n, TICKETS);
    free(w->memory);
    w->cap.outlets = OUTLETS;
    w->size = rs_size(&w->cap);
    w->memory = aligned_alloc(64, w->size);
    memset(w->memory, 0xa5, w->size);
    w->e = rs_create(w->memory, w->size, &w->cap, &w->settings, w->classes, n, 0, &why);
    ck_assert_msg(w->e != NULL, "%s", why);
}

static struct rs_outlet_settings outlet(const char *name, enum rs_gate gate, uint32_t window) {
    struct rs_outlet_settings o = { .gate = gate, .window = window, .window_max = 64 };
    snprintf(o.name, sizeof o.name, "%s", name);
    return o;
}

static void give(struct world *w, const struct rs_outlet_settings *outlets, uint32_t n) {
    const char *why = "";
    ck_assert_msg(rs_outlets(w->e, outlets, n, w->now, &why) == 0, "%s", why);
    sound(w);
}

static struct rs_outlet_stats outlet_stats(const struct world *w, uint32_t n) {
    struct rs_outlet_stats s;
    ck_assert(rs_outlet_stats(w->e, n, &s));
    return s;
}

static enum rs_refusal ask_at(struct world *w, uint32_t class, uint32_t at) {
    rs_ticket_t t;
    return rs_submit(w->e, w->now, class, at, 1000, 1, at, &t);
}

/* How many of a class wait at an outlet when no more are taken. */
static uint32_t flood(struct world *w, uint32_t class, uint32_t at, enum rs_refusal *why) {
    uint32_t n = 0;
    while ((*why = ask_at(w, class, at)) == RS_OK) n++;
    return n;
}

START_TEST(each_has_its_window) {
    const struct rs_outlet_settings two[2] = { outlet("app", RS_GATE_WINDOW, 2), outlet("shop", RS_GATE_AUTO, 9) };
    struct world w;
    uint32_t released[OUTLETS] = { 0 };
    rs_ticket_t t;

    open_outlets(&w, (enum rs_sched)_i, NULL, 1);
    give(&w, two, 2);
    ck_assert_uint_eq(rs_outlet_named(w.e, "app"), 1);
    ck_assert_uint_eq(rs_outlet_named(w.e, "shop"), 2);
    ck_assert_uint_eq(rs_outlet_named(w.e, "nobody"), 0);
    for (uint32_t i = 0; i < 60; i++) ck_assert_int_eq(ask_at(&w, 0, i % 3), RS_OK);
    while ((t = next(&w)) != RS_NO_TICKET) {
        ck_assert_uint_eq(rs_outlet_of(w.e, t), rs_tag(w.e, t));
        ck_assert(rs_has_slot(w.e, t) ==
                  (outlet_stats(&w, rs_outlet_of(w.e, t)).outstanding < outlet_stats(&w, rs_outlet_of(w.e, t)).window));
        released[rs_outlet_of(w.e, t)]++;
    }
    ck_assert_uint_eq(released[0], 4);
    ck_assert_uint_eq(released[1], 2);
    ck_assert_uint_eq(released[2], 9);
    ck_assert_uint_eq(rs_window(w.e), 4);
    ck_assert_uint_eq(rs_window_at(w.e, 2), 9);
    ck_assert_uint_eq(rs_window_at(w.e, 3), 0);
    ck_assert_uint_eq(rs_windows(w.e), 15);
    ck_assert_uint_eq(outlet_stats(&w, 1).outstanding, 2);
    ck_assert_uint_eq(outlet_stats(&w, 1).queued, 18);
    ck_assert_str_eq(outlet_stats(&w, 2).settings.name, "shop");
    struct rs_outlet_stats none;
    ck_assert(!rs_outlet_stats(w.e, 3, &none) && !rs_outlet_stats(w.e, 4, &none));
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * 400 places, classes 6:3:1: 120, 60 and 20 are kept, 200 shared.  What hangs is flooded by one class, then by all;
 * others find places of each class there, and the flood's own class, too.
 */
START_TEST(who_hangs_leaves_places) {
    static const uint32_t weights[3] = { 6, 3, 1 };
    const struct rs_outlet_settings app = outlet("app", RS_GATE_WINDOW, 2);
    struct world w;
    enum rs_refusal why;

    open_outlets(&w, RS_SCHED_DRR, weights, 3);
    give(&w, &app, 1);
    uint32_t crowd = flood(&w, 2, 1, &why);
    ck_assert_int_eq(why, RS_SHARE_FULL);
    ck_assert_uint_eq(crowd, 110); /* half of 20 + 200 */
    ck_assert_uint_eq(outlet_stats(&w, 1).refused, 1);
    ck_assert_uint_eq(class_stats(&w, 2).counts.refused_share, 1);
    for (uint32_t c = 0; c < 2; c++) {
        flood(&w, c, 1, &why);
        ck_assert_int_eq(why, RS_SHARE_FULL);
    }
    sound(&w);
    /* At least a quarter of what each class has for itself is left, whoever was there before. */
    for (uint32_t c = 0; c < 3; c++) {
        uint32_t n = 0;
        while (ask_at(&w, c, 0) == RS_OK) n++;
        ck_assert_uint_ge(n, 20 * weights[c] / 4);
    }
    /* It works on: whoever waits is served, and places come back. */
    w.now += 1000000;
    for (rs_ticket_t t; (t = next(&w)) != RS_NO_TICKET;) serve(&w, t, 1000);
    ck_assert_uint_eq(stats(&w).queued, 0);
    sound(&w);
    close_world(&w);
}
END_TEST

/* One place is enough to wait at, and a class's own bound is halved likewise. */
START_TEST(small_bounds) {
    const struct rs_outlet_settings app = outlet("app", RS_GATE_WINDOW, 1);
    struct world w;
    enum rs_refusal why;
    const char *reason = "";

    open_outlets(&w, RS_SCHED_DRR, NULL, 2);
    w.classes[0].queue_max = 1;
    w.classes[1].queue_max = 10;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &reason), 0);
    give(&w, &app, 1);
    ck_assert_uint_eq(flood(&w, 0, 1, &why), 1);
    ck_assert_int_eq(why, RS_CLASS_FULL);
    ck_assert_uint_eq(flood(&w, 1, 1, &why), 5);
    ck_assert_int_eq(why, RS_SHARE_FULL);
    ck_assert_uint_eq(flood(&w, 1, 0, &why), 3);
    ck_assert_int_eq(why, RS_SHARE_FULL);
    sound(&w);
    close_world(&w);
}
END_TEST

/* Without windows of their own outlets keep nothing from each other: nobody asked for it. */
START_TEST(without_windows_of_their_own_nothing_is_kept) {
    struct world w;
    enum rs_refusal why;

    open_outlets(&w, RS_SCHED_DRR, NULL, 1);
    ck_assert_uint_eq(flood(&w, 0, 1, &why), TICKETS);
    ck_assert_int_eq(why, RS_TOTAL_FULL);
    close_world(&w);
}
END_TEST

START_TEST(new_windows_lose_nobody) {
    const struct rs_outlet_settings before[3] = { outlet("a", RS_GATE_WINDOW, 2), outlet("b", RS_GATE_WINDOW, 1),
                                                  outlet("c", RS_GATE_WINDOW, 1) },
                                    after[2] = { outlet("c", RS_GATE_WINDOW, 3), outlet("d", RS_GATE_WINDOW, 5) };
    struct world w;
    uint32_t served = 0;
    rs_ticket_t t, at_a;

    open_outlets(&w, RS_SCHED_DRR, NULL, 2);
    give(&w, before, 3);
    for (uint32_t i = 0; i < 40; i++) ck_assert_int_eq(ask_at(&w, i % 2, i % 4), RS_OK);
    for (at_a = RS_NO_TICKET; (t = next(&w)) != RS_NO_TICKET;) {
        if (rs_outlet_of(w.e, t) == 1) at_a = t;
    }
    /* All three places are taken by who is busy: d has none, and shares the first one's window. */
    give(&w, after, 2);
    ck_assert_uint_eq(rs_outlet_named(w.e, "a"), 0);
    ck_assert_uint_eq(rs_outlet_named(w.e, "c"), 3);
    ck_assert_uint_eq(rs_outlet_named(w.e, "d"), 0);
    ck_assert_uint_eq(rs_window_at(w.e, 3), 3);
    ck_assert_uint_eq(outlet_stats(&w, 1).retired, 1);
    ck_assert_uint_eq(outlet_stats(&w, 1).window, 2);
    ck_assert_uint_eq(stats(&w).queued + stats(&w).outstanding, 40);
    ck_assert_int_eq(ask_at(&w, 0, 1), RS_OK); /* a child of before still sends some there */
    serve(&w, at_a, 1000);
    /* Those that wait at who is gone come out as well. */
    for (uint32_t i = 0; i < TICKETS; i++) {
        struct rs_ticket_row *r = rs_row(w.e, i);
        if (rs_row_state(r) == RS_RELEASED) serve(&w, rs_row_ticket(r), 1000), served++;
        while (next(&w) != RS_NO_TICKET) i = UINT32_MAX;
    }
    ck_assert_uint_eq(served, 40);
    ck_assert_uint_eq(stats(&w).queued + stats(&w).outstanding, 0);
    give(&w, after, 2);
    ck_assert_uint_eq(rs_outlet_named(w.e, "d"), 1);
    ck_assert_uint_eq(outlet_stats(&w, 1).window, 5);
    /* One that comes back before its place is another's has it again. */
    give(&w, before + 1, 1);
    ck_assert_uint_eq(rs_outlet_named(w.e, "b"), 2);
    give(&w, NULL, 0);
    ck_assert_uint_eq(rs_outlet_named(w.e, "b"), 0);
    ck_assert_uint_eq(flood(&w, 0, 0, &(enum rs_refusal){ RS_OK }), 300); /* 100 are kept for the other class */
    close_world(&w);
}
END_TEST

/* A slot of one outlet that stays free for a moment, for who gave it back, keeps nobody else's (await_us). */
START_TEST(who_waits_for_somebody_keeps_nobody_else) {
    static const uint32_t weights[2] = { 9, 1 };
    const struct rs_outlet_settings app = outlet("app", RS_GATE_WINDOW, 1);
    const char *why = "";
    struct world w;
    rs_time_t again, until;
    rs_ticket_t t;

    open_outlets(&w, RS_SCHED_DRR, weights, 2);
    w.settings.await_us = 50000;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &why), 0);
    give(&w, &app, 1);
    ck_assert_int_eq(rs_submit(w.e, 0, 0, 1, 1000000, 1, 1, &t), RS_OK);
    rs_ticket_t first = next(&w);
    ck_assert(first == t);
    ck_assert_int_eq(rs_submit(w.e, 0, 1, 1, 1000000, 1, 1, &t), RS_OK);
    w.now = 1000000;
    serve(&w, first, 1000000);
    ck_assert(rs_pick(w.e, w.now, &until) == RS_NO_TICKET);
    ck_assert(until > w.now && until < w.now + 50000);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(ask_at(&w, 1, 0), RS_OK);
    for (int i = 0; i < 3; i++) ck_assert_uint_eq(rs_outlet_of(w.e, next(&w)), 0);
    ck_assert(rs_pick(w.e, w.now, &again) == RS_NO_TICKET);
    ck_assert_uint_eq(again, until);
    sound(&w);
    w.now = until;
    ck_assert(next(&w) == t);
    close_world(&w);
}
END_TEST

/* What an outlet had belongs to it: another one in its place begins at nothing. */
START_TEST(accounts_stay_with_their_outlet) {
    const struct rs_outlet_settings a = outlet("a", RS_GATE_WINDOW, 2), b = outlet("b", RS_GATE_WINDOW, 2);
    struct world w;

    open_outlets(&w, RS_SCHED_DRR, NULL, 1);
    give(&w, &a, 1);
    ck_assert_int_eq(ask_at(&w, 0, 1), RS_OK);
    rs_ticket_t t = next(&w);
    ck_assert(rs_progress(w.e, 0, t, 900000));
    ck_assert(rs_finish(w.e, 0, t));
    uint64_t owed = rs_flow(w.e, rs_outlet(w.e, 1), 0)->owed;
    ck_assert_uint_gt(owed, 800000);
    give(&w, &a, 1);
    ck_assert_uint_eq(rs_flow(w.e, rs_outlet(w.e, 1), 0)->owed, owed);
    give(&w, &b, 1);
    ck_assert_uint_eq(rs_outlet_named(w.e, "b"), 2); /* places never used come first */
    const struct rs_outlet_settings three[3] = { b, outlet("c", RS_GATE_WINDOW, 1), outlet("d", RS_GATE_WINDOW, 1) };
    give(&w, three, 3);
    ck_assert_uint_eq(rs_outlet_named(w.e, "c"), 1);
    ck_assert_uint_eq(rs_flow(w.e, rs_outlet(w.e, 1), 0)->owed, 0);
    close_world(&w);
}
END_TEST

START_TEST(what_can_not_be_is_said) {
    struct rs_outlet_settings o = outlet("a", RS_GATE_WINDOW, 1), twice[2] = { o, o };
    const char *why = "";
    struct world w;

    open_outlets(&w, RS_SCHED_DRR, NULL, 1);
    ck_assert_int_eq(rs_outlets(w.e, twice, 2, 0, &why), -1);
    ck_assert_str_eq(why, "two outlets have the same name");
    o.gate = RS_GATE_BYTES;
    ck_assert_int_eq(rs_outlets(w.e, &o, 1, 0, &why), -1);
    ck_assert(strstr(why, "window or auto"));
    o = outlet("", RS_GATE_WINDOW, 1);
    ck_assert_int_eq(rs_outlets(w.e, &o, 1, 0, &why), -1);
    o = outlet("a", RS_GATE_WINDOW, 0);
    ck_assert_int_eq(rs_outlets(w.e, &o, 1, 0, &why), -1);
    o = outlet("a", RS_GATE_AUTO, 1);
    o.window_max = 1;
    ck_assert_int_eq(rs_outlets(w.e, &o, 1, 0, &why), -1);
    memset(o.name, 'x', sizeof o.name);
    ck_assert_int_eq(rs_outlets(w.e, &o, 1, 0, &why), -1);
    ck_assert(!rs_outlet_stats(w.e, 1, &(struct rs_outlet_stats){ .queued = 0 }));
    w.classes[0].slots = 1000001;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), -1);
    ck_assert(strstr(why, "slots"));
    sound(&w);
    close_world(&w);
}
END_TEST

/* A process that dies in rs_outlets leaves what it wanted; the next one does it. */
START_TEST(what_was_under_way_is_done_again) {
    const struct rs_outlet_settings before[2] = { outlet("a", RS_GATE_WINDOW, 2), outlet("b", RS_GATE_AUTO, 3) },
                                    after[2] = { outlet("b", RS_GATE_WINDOW, 7), outlet("c", RS_GATE_WINDOW, 1) };
    size_t rows = 2 * OUTLETS * sizeof(struct rs_outlet_row);
    struct world w;

    open_outlets(&w, RS_SCHED_DRR, NULL, 2);
    give(&w, before, 2);
    for (uint32_t i = 0; i < 30; i++) ck_assert_int_eq(ask_at(&w, i % 2, i % 3), RS_OK);
    for (int i = 0; i < 5; i++) next(&w);
    void *was = malloc(w.size), *is = malloc(rows);
    memcpy(was, w.memory, w.size);
    give(&w, after, 2);
    memcpy(is, rs_outlet_row(w.e, 0), rows);
    memcpy(w.memory, was, w.size);
    memcpy(rs_outlet_wanted(w.e, 0), (char *)is + rows / 2, rows / 2);
    w.e->journal_valid = RS_JOURNAL_OUTLETS;
    ck_assert_ptr_null(rs_rebuild(w.e, w.now));
    sound(&w);
    ck_assert_uint_eq(rs_window_at(w.e, rs_outlet_named(w.e, "b")), 7);
    ck_assert_uint_eq(rs_outlet_named(w.e, "c"), 3);
    ck_assert_uint_eq(rs_outlet_named(w.e, "a"), 0);
    ck_assert_uint_eq(stats(&w).queued + stats(&w).outstanding, 30);
    /* what nobody can want */
    rs_outlet_wanted(w.e, 1)->act = RS_ACT_KEEP;
    rs_outlet_wanted(w.e, 1)->settings.gate = RS_GATE_COUNT;
    w.e->journal_valid = RS_JOURNAL_OUTLETS;
    ck_assert_ptr_nonnull(rs_rebuild(w.e, w.now));
    w.e->journal_valid = RS_JOURNAL_OUTLETS + 1;
    ck_assert_ptr_nonnull(rs_rebuild(w.e, w.now));
    w.e->journal_valid = RS_JOURNAL_NONE;
    ck_assert_ptr_null(rs_rebuild(w.e, w.now));
    rs_outlet_row(w.e, 2)->settings.window = 0;
    ck_assert_ptr_nonnull(rs_rebuild(w.e, w.now));
    free(was);
    free(is);
    close_world(&w);
}
END_TEST

/* Lists, sums and gates of all outlets are made anew from the tickets; windows stay with them, bounds too. */
START_TEST(all_outlets_are_made_anew) {
    const struct rs_outlet_settings two[2] = { outlet("a", RS_GATE_WINDOW, 2), outlet("b", RS_GATE_AUTO, 5) };
    const char *why = "";
    uint64_t seed = 77;
    struct world w;

    open_outlets(&w, RS_SCHED_DRR, NULL, 3);
    w.classes[1].slots = 2;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, 0, &why), 0);
    give(&w, two, 2);
    for (uint32_t i = 0; i < 90; i++) ck_assert_int_eq(ask_at(&w, i % 3, i / 3 % 3), RS_OK);
    while (next(&w) != RS_NO_TICKET) continue;
    struct rs_outlet_stats before[3];
    for (uint32_t n = 0; n < 3; n++) before[n] = outlet_stats(&w, n);
    for (uint32_t n = 0; n < OUTLETS; n++)
        for (size_t i = 0; i < sizeof(struct rs_outlet); i++)
            ((unsigned char *)rs_outlet(w.e, n))[i] = (unsigned char)draw(&seed);
    w.e->backlog_map = draw(&seed);
    w.e->bulkheads = 0;
    ck_assert_ptr_null(rs_rebuild(w.e, w.now));
    sound(&w);
    for (uint32_t n = 0; n < 3; n++) {
        struct rs_outlet_stats now = outlet_stats(&w, n);
        ck_assert_uint_eq(now.queued, before[n].queued);
        ck_assert_uint_eq(now.outstanding, before[n].outstanding);
        if (now.settings.gate == RS_GATE_WINDOW) ck_assert_uint_eq(now.window, before[n].window);
    }
    close_world(&w);
}
END_TEST

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static uint32_t take_all(struct world *w, rs_ticket_t *out, uint32_t *of_class) {
    uint32_t n = 0;
    for (rs_ticket_t t; (t = next(w)) != RS_NO_TICKET; out[n++] = t) of_class[rs_class(w->e, t)]++;
    return n;
}

/* Class 0 may have two slots: it has two, others all the rest, and it has them again when they are free. */
START_TEST(no_more_than_its_slots) {
    static const uint32_t weights[2] = { 9, 1 };
    rs_ticket_t out[64];
    const char *why = "";
    struct world w;

    open_world(&w, (enum rs_sched)_i, RS_GATE_WINDOW, 6, weights, 2, TICKETS);
    w.classes[0].slots = 2;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &why), 0);
    for (int i = 0; i < 50; i++) ask(&w, 0, 1000), ask(&w, 1, 1000);
    uint32_t has[2] = { 0 }, n = take_all(&w, out, has);
    ck_assert_uint_eq(has[0], 2);
    ck_assert_uint_eq(has[1], 4);
    sound(&w);
    for (int turn = 0; turn < 20; turn++) {
        /* One of its own ends: nobody else is as heavy.  One of the others': it may not. */
        for (uint32_t i = 0; i < n; i++) {
            uint32_t class = rs_class(w.e, out[i]);
            if (class != (uint32_t)turn % 2) continue;
            w.now += 1000;
            serve(&w, out[i], 1000);
            sound(&w);
            out[i] = next(&w);
            ck_assert(out[i] != RS_NO_TICKET);
            ck_assert_uint_le(class_stats(&w, 0).outstanding, 2);
            ck_assert_uint_eq(stats(&w).outstanding, 6);
            sound(&w);
            break;
        }
    }
    /* Alone it has two, however many slots there are, and nothing waits in vain. */
    for (uint32_t i = 0; i < n; i++) serve(&w, out[i], 1000);
    while (class_stats(&w, 1).queued) {
        n = take_all(&w, out, has);
        for (uint32_t i = 0; i < n; i++) serve(&w, out[i], 1000);
    }
    for (int i = 0; i < 10; i++) ask(&w, 0, 1000);
    while (class_stats(&w, 0).queued) {
        has[0] = 0;
        n = take_all(&w, out, has);
        ck_assert_uint_le(has[0], 2);
        ck_assert_uint_gt(has[0], 0);
        sound(&w);
        for (uint32_t i = 0; i < n; i++) serve(&w, out[i], 1000);
    }
    close_world(&w);
}
END_TEST

/* A slow reader whose backend works on, or an upload, counts against its class's slots until the backend is done. */
START_TEST(test_parked_request_occupying_its_backend_counts_against_slots) {
    const char *why = "";
    struct world w;

    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 6, NULL, 1, TICKETS);
    w.classes[0].slots = 2;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    for (int i = 0; i < 6; i++) ask(&w, 0, 1000);
    rs_ticket_t a = next(&w), b = next(&w);
    ck_assert(rs_park_occupying(w.e, 0, a) && !rs_park_occupying(w.e, 0, a));
    ck_assert_int_eq(rs_state(w.e, a), RS_PARKED);
    sound(&w);
    ck_assert(next(&w) == RS_NO_TICKET);
    ck_assert(rs_has_slot(w.e, a)); /* it takes a slot of the window, and none of its class */
    ck_assert(rs_resume(w.e, 0, a) && rs_park_occupying(w.e, 0, a));
    ck_assert(next(&w) == RS_NO_TICKET);
    ck_assert(rs_occupies_no_more(w.e, 0, a) && !rs_occupies_no_more(w.e, 0, a));
    sound(&w);
    rs_ticket_t c = next(&w);
    ck_assert(c != RS_NO_TICKET && next(&w) == RS_NO_TICKET);
    ck_assert(rs_park_occupying(w.e, 0, b));
    ck_assert(!rs_rebuild(w.e, 0));
    sound(&w);
    ck_assert(next(&w) == RS_NO_TICKET);
    ck_assert(rs_abort(w.e, 0, b));
    sound(&w);
    ck_assert(next(&w) != RS_NO_TICKET);
    close_world(&w);
}
END_TEST

/* Parks what is released, as slow readers of a backend's answers; returns how many were. */
static uint32_t park_all(struct world *w, uint32_t class) {
    uint32_t n = 0;
    for (rs_ticket_t t; (t = next(w)) != RS_NO_TICKET; w->now += 1000) {
        ck_assert_uint_eq(rs_class(w->e, t), class);
        ck_assert(rs_park_occupying(w->e, w->now, t));
        sound(w);
        n++;
    }
    return n;
}

/* Slow readers of one class occupied all workers of a backend; beside an active class they have their share. */
START_TEST(test_slow_readers_occupy_their_share_of_the_window_while_another_class_is_active) {
    static const uint32_t weights[] = { 6, 1 };
    struct world w;

    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 14, weights, 2, TICKETS);
    w.now = 1000000;
    rs_ticket_t person = ask(&w, 0, 1000);
    ck_assert_uint_eq(next(&w), person);
    serve(&w, person, 1000);
    for (int i = 0; i < 40; i++) ask(&w, 1, 1000);
    /* two of fourteen slots are its share, and half as many again */
    ck_assert_uint_eq(park_all(&w, 1), 3);
    /* the other class is not held back */
    for (int i = 0; i < 10; i++) {
        rs_ticket_t t = ask(&w, 0, 1000);
        ck_assert_uint_eq(next(&w), t);
        serve(&w, t, 1000);
    }
    w.now += RS_WINDOW_QUIET / 2;
    ck_assert_uint_eq(park_all(&w, 1), 0);
    /* the class has been alone for a while: nothing is kept for others */
    w.now += RS_WINDOW_QUIET;
    ck_assert_uint_eq(park_all(&w, 1), 37);
    close_world(&w);
}
END_TEST

/* Of a share of 2.9 slots two are 0.7: a class of slow readers had that little for as long as others were active. */
START_TEST(test_slow_readers_with_a_share_of_2_9_slots_have_three) {
    static const uint32_t weights[] = { 25, 10 };
    struct world w;

    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 10, weights, 2, TICKETS);
    w.now = 1000000;
    ask(&w, 0, 1000);
    ck_assert_uint_eq(next_class(&w), 0);
    for (int i = 0; i < 20; i++) ask(&w, 1, 1000);
    ck_assert(rs_park_occupying(w.e, w.now, next(&w)));
    while (next(&w) != RS_NO_TICKET) sound(&w);
    /* a quarter more than its share: it waits for slots between requests */
    ck_assert_uint_eq(class_stats(&w, 1).outstanding + class_stats(&w, 1).parked, 4);
    close_world(&w);
}
END_TEST

/* A parked one has given its slot back; one that takes it again, even one too many, holds its class back. */
START_TEST(parked_ones_are_not_counted) {
    const char *why = "";
    struct world w;

    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 6, NULL, 1, TICKETS);
    w.classes[0].slots = 1;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    for (int i = 0; i < 5; i++) ask(&w, 0, 1000);
    rs_ticket_t a = next(&w);
    ck_assert(a != RS_NO_TICKET && next(&w) == RS_NO_TICKET && !rs_has_slot(w.e, a));
    ck_assert(rs_park(w.e, 0, a));
    sound(&w);
    ck_assert(rs_has_slot(w.e, a));
    rs_ticket_t b = next(&w);
    ck_assert(b != RS_NO_TICKET && next(&w) == RS_NO_TICKET);
    ck_assert(rs_resume(w.e, 0, a));
    sound(&w);
    serve(&w, b, 1000);
    ck_assert(next(&w) == RS_NO_TICKET);
    sound(&w);
    ck_assert(rs_park(w.e, 0, a));
    ck_assert(rs_cancel(w.e, 0, ask(&w, 0, 10)));
    sound(&w);
    ck_assert(next(&w) != RS_NO_TICKET);
    ck_assert(rs_abort(w.e, 0, a));
    sound(&w);
    close_world(&w);
}
END_TEST

/* Held back for seconds, it goes at once when its slot is free, and has not saved up more than a few requests. */
START_TEST(what_it_earned_is_bounded) {
    static const uint32_t weights[2] = { 4, 1 };
    const char *why = "";
    struct world w;

    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 4, weights, 2, TICKETS);
    w.classes[0].slots = 1;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &why), 0);
    for (int i = 0; i < 90; i++) ask(&w, 0, 20000);
    for (int i = 0; i < 200; i++) ask(&w, 1, 1000);
    rs_ticket_t slow = RS_NO_TICKET, t;
    /* What it had of the first round, which was made for 20,000 each, is used up by then. */
    for (int i = 0; i < 150; i++) {
        t = next(&w);
        ck_assert(t != RS_NO_TICKET);
        w.now += 20000;
        if (rs_class(w.e, t) == 0 && i > 40) {
            ck_assert(slow == RS_NO_TICKET);
            slow = t;
        } else {
            serve(&w, t, rs_class(w.e, t) ? 1000 : 20000);
        }
    }
    ck_assert(slow != RS_NO_TICKET);
    serve(&w, slow, 20000);
    t = next(&w);
    ck_assert_uint_eq(rs_class(w.e, t), 0);
    serve(&w, t, 20000);
    /* By weight it has 80 of 100 bytes from then on, and what it saved up is not more than a few requests beside it. */
    int64_t had[2] = { 20000, 0 };
    for (int i = 0; i < 40; i++) {
        t = next(&w);
        uint32_t c = rs_class(w.e, t);
        had[c] += c ? 1000 : 20000;
        serve(&w, t, c ? 1000 : 20000);
    }
    ck_assert_int_ge(had[1], 5000);
    ck_assert_int_le(had[0] - 4 * (had[0] + had[1]) / 5, 4 * 20000);
    sound(&w);
    close_world(&w);
}
END_TEST

/* A new bound holds for those who wait already, and its end lets them go. */
START_TEST(bounds_change_while_requests_wait) {
    rs_ticket_t out[64];
    const char *why = "";
    struct world w;

    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 6, NULL, 1, TICKETS);
    for (int i = 0; i < 20; i++) ask(&w, 0, 1000);
    uint32_t has[1] = { 0 }, n = take_all(&w, out, has);
    ck_assert_uint_eq(n, 6);
    w.classes[0].slots = 3;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    sound(&w);
    for (int i = 0; i < 4; i++) {
        ck_assert(next(&w) == RS_NO_TICKET);
        serve(&w, out[i], 1000);
        sound(&w);
    }
    ck_assert(next(&w) != RS_NO_TICKET);
    ck_assert(next(&w) == RS_NO_TICKET);
    ck_assert_uint_eq(class_stats(&w, 0).outstanding, 3);
    w.classes[0].slots = 0;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    sound(&w);
    ck_assert_uint_eq(take_all(&w, out, has), 3);
    close_world(&w);
}
END_TEST

/* At each outlet for itself: what hangs at one does not keep the class from another. */
START_TEST(slots_are_each_outlets_own) {
    const struct rs_outlet_settings app = outlet("app", RS_GATE_WINDOW, 8);
    const char *why = "";
    struct world w;

    open_outlets(&w, RS_SCHED_DRR, NULL, 1);
    w.classes[0].slots = 3;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    give(&w, &app, 1);
    for (int i = 0; i < 20; i++) ck_assert_int_eq(ask_at(&w, 0, 1), RS_OK);
    while (next(&w) != RS_NO_TICKET) continue;
    ck_assert_uint_eq(outlet_stats(&w, 1).outstanding, 3);
    for (int i = 0; i < 20; i++) ck_assert_int_eq(ask_at(&w, 0, 0), RS_OK);
    while (next(&w) != RS_NO_TICKET) continue;
    ck_assert_uint_eq(outlet_stats(&w, 0).outstanding, 3);
    sound(&w);
    close_world(&w);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: outlets");
    TCase *c = tcase_create("outlets");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, each_has_its_window, 0, RS_SCHED_COUNT);
    tcase_add_test(c, who_hangs_leaves_places);
    tcase_add_test(c, small_bounds);
    tcase_add_test(c, without_windows_of_their_own_nothing_is_kept);
    tcase_add_test(c, new_windows_lose_nobody);
    tcase_add_test(c, who_waits_for_somebody_keeps_nobody_else);
    tcase_add_test(c, accounts_stay_with_their_outlet);
    tcase_add_test(c, what_can_not_be_is_said);
    tcase_add_test(c, what_was_under_way_is_done_again);
    tcase_add_test(c, all_outlets_are_made_anew);
    tcase_add_loop_test(c, no_more_than_its_slots, RS_SCHED_FIFO, RS_SCHED_SHORTEST);
    tcase_add_test(c, parked_ones_are_not_counted);
    tcase_add_test(c, test_parked_request_occupying_its_backend_counts_against_slots);
    tcase_add_test(c, test_slow_readers_with_a_share_of_2_9_slots_have_three);
    tcase_add_test(c, test_slow_readers_occupy_their_share_of_the_window_while_another_class_is_active);
    tcase_add_test(c, what_it_earned_is_bounded);
    tcase_add_test(c, bounds_change_while_requests_wait);
    tcase_add_test(c, slots_are_each_outlets_own);
    suite_add_tcase(s, c);
    return run_suite(s);
}
