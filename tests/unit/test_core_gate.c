/* SPDX-License-Identifier: BSD-2-Clause */
/* When a request may go: each gate by itself. */
#include "test_core.h"

#include "class_keys.h"
#include "class_rests.h"
#include "gate.h"

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

/* None of the gates opens by itself: nobody is told to ask again. */
START_TEST(who_finds_it_closed_need_not_ask_again) {
    struct world w;
    rs_time_t again = 77;
    open_world(&w, RS_SCHED_DRR, (enum rs_gate)_i, 1, NULL, 1, 10);
    ck_assert(rs_pick(w.e, 0, &again) == RS_NO_TICKET);
    ck_assert_uint_eq(again, RS_NEVER);
    for (int i = 0; i < 9; i++) ask(&w, 0, 1000);
    fill(&w);
    again = 77;
    ck_assert(rs_pick(w.e, 0, &again) == RS_NO_TICKET);
    ck_assert_uint_eq(again, RS_NEVER);
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
    w.settings.rate = 0;
    set(&w);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, d), RS_UNLIMITED);
    w.settings.rate = 1000000;
    w.settings.gate = RS_GATE_WINDOW;
    set(&w);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, d), RS_UNLIMITED);
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * In a class that goes shortest first who has least to come has all that it can use, and the others three segments or
 * what that leaves; those of about one size have the same.  Of 700 KB the class has 600, and who has more than a
 * quarter of 700 to come seven eighths of that.  What is needed in 150 ms counts 14 thirds, as 700 are looked ahead.
 */
START_TEST(the_allowance_goes_to_who_has_least_to_come) {
    struct world w;
    open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, (uint32_t[]){ 6, 1 }, 2, 100);
    w.classes[0].order = RS_ORDER_SHORTEST;
    w.settings.rate = 1000000;
    w.settings.horizon_ms = 700;
    set(&w);
    rs_ticket_t a = ask(&w, 0, 1000000), b = ask(&w, 0, 100000), c = ask(&w, 0, 5000), d = ask(&w, 1, 50000);
    ck_assert_uint_eq(fill(&w), 4);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, c), 600000 - 2 * 4380);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 600000 - 5000 * 14 / 3 - 4380);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 525000 - 19600 * 14 / 3); /* a new one begins with ten segments */
    ck_assert_uint_eq(rs_allowance(w.e, w.now, d), 100000);
    ck_assert(rs_progress(w.e, 0, b, 50000)); /* it could bring 100,000 at a time by now, and 50,000 are to come */
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 525000 - 55000 * 14 / 3);
    sound(&w);
    ck_assert(rs_header(w.e, 0, c, 2000000)); /* the smallest turns out to be the largest */
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 525000 - 50000 * 14 / 3 - 4380);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, c), 525000 - 64600 * 14 / 3);
    ck_assert(rs_park(w.e, 0, b));
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), RS_UNLIMITED);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 525000 - 4380);
    ck_assert(rs_progress(w.e, 0, b, 1000) && rs_resume(w.e, 0, b));
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 525000 - 49000 * 14 / 3 - 4380);
    sound(&w);
    ck_assert(rs_header(w.e, 0, c, 3000000));
    ck_assert_uint_eq(rs_allowance(w.e, w.now, c), 525000 - 63600 * 14 / 3);
    ck_assert(rs_finish(w.e, 0, b));
    rs_ticket_t twin = ask(&w, 0, 999000);
    ck_assert_uint_eq(fill(&w), 1);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), (525000 - 4380) / 2);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, twin), (525000 - 4380) / 2);
    w.settings.horizon_ms = 7; /* the class has 6,000: nobody has less than three segments */
    set(&w);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 4380);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, c), 4380);
    w.classes[0].order = RS_ORDER_FIFO;
    w.settings.horizon_ms = 700;
    set(&w);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, c), 200000);
    sound(&w);
    close_world(&w);
}
END_TEST

static rs_ticket_t ask_keyed_for(struct world *w, uint64_t a, uint64_t b, uint64_t estimate) {
    rs_ticket_t t = RS_NO_TICKET;
    ck_assert_int_eq(rs_submit_keyed(w->e, w->now, 0, 0, estimate, (uint64_t[]){ a, b }, 1, 0, &t), RS_OK);
    return t;
}

static rs_ticket_t ask_keyed(struct world *w, uint64_t a, uint64_t b) { return ask_keyed_for(w, a, b, 20000); }

/* One class that so many levels of keys share; 120,000 may be outstanding. */
static void open_keyed(struct world *w, uint32_t within) {
    const char *why = "";
    open_world(w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, NULL, 1, 100);
    free(w->memory);
    w->cap.keys = 64;
    w->classes[0].within = within;
    w->settings.rate = 1000000;
    w->settings.horizon_ms = 120;
    w->size = rs_size(&w->cap);
    w->memory = aligned_alloc(64, w->size);
    memset(w->memory, 0xa5, w->size);
    w->e = rs_create(w->memory, w->size, &w->cap, &w->settings, w->classes, 1, 0, &why);
    ck_assert_msg(w->e != NULL, "%s", why);
}

/*
 * Whose server is slow has the largest part, but what it can't use others have: of 75,000, of which those that last
 * have seven eighths, a response that brings 6,000 in 300 ms needs ten segments in 150 ms, and one that brings
 * 60,000 the 60,000 that are to come of it.
 */
START_TEST(who_is_slow_leaves_the_rest_to_others) {
    for (uint64_t brings = 20; brings <= 200; brings += 180) {
        struct world w;
        open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, NULL, 1, 100);
        w.classes[0].order = RS_ORDER_SHORTEST;
        w.settings.rate = 250000;
        w.settings.horizon_ms = 300;
        set(&w);
        rs_ticket_t a = ask(&w, 0, 200000), b = ask(&w, 0, 290000);
        ck_assert_uint_eq(fill(&w), 2);
        ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 65625 - 2 * 14600);
        for (int ms = 0; ms < 700; ms++) {
            w.now += 1000;
            ck_assert(rs_progress(w.e, w.now, a, brings));
        }
        sound(&w);
        ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 65625 - 4380);
        ck_assert_uint_eq(rs_allowance(w.e, w.now, b), brings == 20 ? 65625 - 2 * 14600 : 4380);
        close_world(&w);
    }
}
END_TEST

/* In a class that keys share it is the keys that have equal parts, on both levels. */
START_TEST(the_allowance_is_shared_by_keys) {
    for (uint32_t within = 1; within <= 2; within++) {
        struct world w;
        open_keyed(&w, within);
        rs_ticket_t one = ask_keyed(&w, 1, 1),
                    many[3] = { ask_keyed(&w, 2, 1), ask_keyed(&w, 2, 2), ask_keyed(&w, 2, 2) };
        ck_assert_uint_eq(fill(&w), 4);
        sound(&w);
        ck_assert_uint_eq(rs_allowance(w.e, 0, one), 60000);
        ck_assert_uint_eq(rs_allowance(w.e, 0, many[0]), within == 1 ? 20000 : 30000);
        ck_assert_uint_eq(rs_allowance(w.e, 0, many[1]), within == 1 ? 20000 : 15000);
        ck_assert(rs_park(w.e, 0, many[0]));
        ck_assert_uint_eq(rs_allowance(w.e, 0, many[1]), 30000);
        set(&w); /* made anew it is the same */
        sound(&w);
        ck_assert_uint_eq(rs_allowance(w.e, 0, many[2]), 30000);
        ck_assert(rs_resume(w.e, 0, many[0]));
        ck_assert_uint_eq(rs_allowance(w.e, 0, many[2]), within == 1 ? 20000 : 15000);
        ck_assert(rs_finish(w.e, 0, one));
        ck_assert_uint_eq(rs_allowance(w.e, 0, many[0]), within == 1 ? 40000 : 60000);
        for (int i = 0; i < 3; i++) ck_assert(rs_finish(w.e, 0, many[i]));
        sound(&w);
        close_world(&w);
    }
}
END_TEST

#define SAYS(what, change, sentence)                                                                                   \
    do {                                                                                                               \
        __typeof__(what) was = (what);                                                                                 \
        what change;                                                                                                   \
        const char *says = rs_check(w.e) ? rs_check(w.e) : "nothing";                                                  \
        ck_assert_msg(strstr(says, sentence) != NULL, #what " " #change ": %s", says);                                 \
        what = was;                                                                                                    \
        sound(&w);                                                                                                     \
    } while (0)

/*
 * Of the last one all bytes come, of eight other keys and of another response of its own key one a millisecond: each of
 * these can bring three segments, which are 5 KB begun.  What is left of 120,000 is the last one's.
 */
START_TEST(a_key_that_is_slow_leaves_the_rest_to_others) {
    for (uint32_t within = 1; within <= 2; within++) {
        struct world w;
        rs_ticket_t slow[9], all;
        open_keyed(&w, within);
        for (uint64_t i = 0; i < 9; i++) slow[i] = ask_keyed_for(&w, i + 1, 1, 100000);
        all = ask_keyed_for(&w, 9, 2, 10000000);
        for (int ms = 0; ms < 700; ms++) {
            w.now += 1000;
            fill(&w);
            for (int i = 0; i < 9; i++) rs_progress(w.e, w.now, slow[i], 1);
            rs_progress(w.e, w.now, all, 1000);
            if (ms % 50 == 0) sound(&w);
        }
        for (int again = 0; again < 2; again++) {
            ck_assert_uint_eq(rs_allowance(w.e, w.now, all), 120000 - 9 * 5120);
            ck_assert_uint_eq(rs_allowance(w.e, w.now, slow[0]), 120000 / 9);
            ck_assert_uint_eq(rs_allowance(w.e, w.now, slow[8]), (120000 - 8 * 5120) / 2);
            set(&w); /* made anew it is the same */
            sound(&w);
        }
        struct rs_rests *rests = rs_rests(w.e, 0);
        uint32_t k = rs_key_ticket(w.e, rs_ticket_index(slow[0]))->row, b = rs_bucket_of(5120);
        if (within == 2) k = rs_key_row(w.e, k)->holder;
        SAYS(rests->of[b].count, ++, "a class's keys");
        SAYS(rests->of[b].needs, ++, "a class's keys");
        SAYS(rs_key_can(w.e, k)[0], += 1, "a key's responses");
        ck_assert(rs_finish(w.e, w.now, all));
        sound(&w);
        for (int i = 0; i < 9; i++) ck_assert(rs_park(w.e, w.now, slow[i]));
        sound(&w);
        ck_assert_uint_eq(rests->map, 0);
        close_world(&w);
    }
}
END_TEST

/* Of two classes, in one of which there is what the other has not. */
START_TEST(check_sees_what_is_wrong_with_rests) {
    struct world w;
    open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, NULL, 2, 100);
    for (int c = 0; c < 2; c++) w.classes[c].order = RS_ORDER_SHORTEST;
    w.settings.rate = 1000000;
    set(&w);
    for (uint32_t i = 0; i < 6; i++) ask(&w, i % 3 == 0, 1000 << i);
    ck_assert_uint_eq(fill(&w), 6);
    struct rs_rests *rests = rs_rests(w.e, 0), *others = rs_rests(w.e, 1);
    uint32_t small = rs_bucket_of(2000), large = rs_bucket_of(32000);
    struct rs_flow *f = rs_flow(w.e, rs_outlet(w.e, 0), 0);
    ck_assert(rests->of[small].count == 1 && rests->of[large].count == 1 && !(others->map >> small & 1));
    SAYS(rests->of[small].count, = 0, "the map of what is to come");
    SAYS(rests->of[small].count, = 2, "does not add up");
    SAYS(rests->of[small].needs, += 1, "does not add up");
    SAYS(rests->map, &= ~((uint64_t)1 << large), "does not add up");
    SAYS(rests->map, |= (uint64_t)1 << 63, "to come");
    SAYS(rs_class_row(w.e, 0)->can, += 1, "what classes can bring does not add up");
    SAYS(w.e->busy_map, |= (uint64_t)1 << 63, "what classes can bring does not add up");
    SAYS(w.e->busy[rs_busy_bucket(rs_class_row(w.e, 0))].can, += 1, "the sums of what classes");
    f->by_rest = 0;
    ck_assert_ptr_nonnull(rs_check(w.e));
    f->by_rest = 1;
    sound(&w);
    struct rs_rest was = rests->of[small];
    rests->of[small] = rests->of[large]; /* the same in all, in each other's place */
    rests->of[large] = was;
    ck_assert_ptr_nonnull(rs_check(w.e));
    rests->of[small] = rests->of[large];
    rests->of[large] = (struct rs_rest){ .count = 1, .needs = w.e->capacity.tickets };
    ck_assert_ptr_nonnull(rs_check(w.e));
    ck_assert_ptr_null(rs_rebuild(w.e, w.now));
    sound(&w);
    others->of[small] = rests->of[small]; /* one of another class */
    others->map |= (uint64_t)1 << small;
    rests->map &= ~((uint64_t)1 << small);
    ck_assert_ptr_nonnull(rs_check(w.e));
    close_world(&w);
}
END_TEST

/* Each of them brings so many bytes a millisecond, for so long. */
static void bring(struct world *w, const rs_ticket_t *t, uint32_t n, uint64_t bytes, uint32_t ms) {
    while (ms--) {
        w->now += 1000;
        for (uint32_t i = 0; i < n; i++) ck_assert(rs_progress(w->e, w->now, t[i], bytes));
    }
}

static void released(struct world *w, rs_ticket_t *t, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) ck_assert((t[i] = next(w)) != RS_NO_TICKET);
}

/*
 * Eight that are as slow as a client who takes 5 KB a second would shut the gate: of 150,000 each counts an eighth.
 * After a horizon, in which it brings 3,000, each counts three segments, and there is room for seven more.  Of
 * eight that bring all that the link carries each counts an eighth as before.
 */
START_TEST(bytes_counts_what_is_slow_as_what_it_brings) {
    for (int fast = 0; fast <= 1; fast++) {
        struct world w;
        rs_ticket_t t[8];
        open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, NULL, 1, 100);
        w.settings.rate = 250000;
        w.settings.horizon_ms = 600;
        set(&w);
        for (int i = 0; i < 40; i++) ask(&w, 0, 1000000);
        released(&w, t, 8);
        ck_assert_uint_eq(fill(&w), 0);
        bring(&w, t, 8, fast ? 30 : 5, 590);
        ck_assert_uint_eq(fill(&w), 0); /* nobody knows yet */
        bring(&w, t, 8, fast ? 30 : 5, 700);
        sound(&w);
        ck_assert_uint_eq(rs_outlet(w.e, 0)->expected, fast ? 8 * 18751 : 8 * 4380);
        ck_assert_uint_eq(fill(&w), fast ? 0 : 7);
        sound(&w);
        ck_assert_ptr_null(rs_rebuild(w.e, w.now));
        sound(&w);
        for (int i = 0; i < 8; i++) ck_assert(rs_finish(w.e, w.now, t[i]));
        sound(&w);
        close_world(&w);
    }
}
END_TEST

/* Two classes; 150,000 bytes may be outstanding. */
static void open_two(struct world *w) {
    open_world(w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, NULL, 2, 100);
    w->settings.rate = 250000;
    w->settings.horizon_ms = 600;
    set(w);
    w->now = 1000;
}

/*
 * Eight long responses hold all that may be outstanding, and fill the link.  A class that comes later has its half all
 * the same, as soon as the gate has been shut for a tenth of a second: as many as it has least windows, which are three
 * segments in 150 ms.
 */
START_TEST(bytes_gives_a_class_its_part_beside_long_responses_that_came_first) {
    struct world w;
    rs_ticket_t t[8];
    open_two(&w);
    for (int i = 0; i < 40; i++) ask(&w, 0, 1000000);
    released(&w, t, 8);
    ck_assert_uint_eq(fill(&w), 0);
    for (int i = 0; i < 12; i++) ask(&w, 1, 10000);
    ck_assert_uint_eq(fill(&w), 0);
    bring(&w, t, 8, 30, 90);
    ck_assert_uint_eq(fill(&w), 0);
    bring(&w, t, 8, 30, 10);
    for (int i = 0; i < 4; i++) ck_assert_uint_eq(next_class(&w), 1);
    ck_assert_uint_eq(fill(&w), 0);
    sound(&w);
    close_world(&w);
}
END_TEST

/* In a class with keys a key with nothing outstanding gets a response, though other keys fill the link. */
START_TEST(bytes_gives_a_client_its_part_beside_long_responses_of_another_that_came_first) {
    struct world w;
    rs_ticket_t t[8], late;
    open_keyed(&w, 1);
    w.now = 1000;
    for (int i = 0; i < 40; i++) ask_keyed_for(&w, 1, 0, 1000000);
    released(&w, t, 8);
    ck_assert_uint_eq(fill(&w), 0);
    late = ask_keyed_for(&w, 2, 0, 1000000);
    ask_keyed_for(&w, 2, 0, 1000000);
    ck_assert_uint_eq(fill(&w), 0);
    bring(&w, t, 8, 125, 50);
    ck_assert_uint_eq(fill(&w), 0);
    bring(&w, t, 8, 125, 50);
    ck_assert(next(&w) == late);
    ck_assert_uint_eq(fill(&w), 0);
    sound(&w);
    close_world(&w);
}
END_TEST

/* A client with a stream requests a page and is next.  A client that comes later does not wait behind it. */
START_TEST(bytes_gives_a_client_its_part_behind_one_that_has_something_outstanding) {
    struct world w;
    rs_ticket_t t[9], late;
    open_keyed(&w, 1);
    w.now = 1000;
    t[8] = ask_keyed_for(&w, 2, 0, 1000000);
    ck_assert(next(&w) == t[8]);
    for (int i = 0; i < 40; i++) ask_keyed_for(&w, 1, 0, 1000000);
    released(&w, t, 7);
    ck_assert_uint_eq(fill(&w), 0);
    ask_keyed_for(&w, 2, 0, 1000);
    late = ask_keyed_for(&w, 3, 0, 1000);
    bring(&w, t, 7, 125, 50);
    ck_assert_uint_eq(fill(&w), 0);
    bring(&w, t, 7, 125, 50);
    ck_assert(next(&w) == late);
    sound(&w);
    close_world(&w);
}
END_TEST

/* A class's own long response counts an eighth of the bound, as every other one does. */
START_TEST(bytes_gives_a_class_its_part_beside_a_long_response_of_its_own) {
    struct world w;
    rs_ticket_t t[8];
    open_two(&w);
    t[0] = ask(&w, 1, 20000000);
    ck_assert(next(&w) == t[0]);
    for (int i = 0; i < 40; i++) ask(&w, 0, 1000000);
    released(&w, t + 1, 7);
    ck_assert_uint_eq(fill(&w), 0);
    ask(&w, 1, 10000);
    bring(&w, t, 8, 30, 50);
    ck_assert_uint_eq(fill(&w), 0);
    bring(&w, t, 8, 30, 50);
    ck_assert_uint_eq(next_class(&w), 1);
    ck_assert_uint_eq(fill(&w), 0);
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * Of 150,000 a class has four fifths, which answers 200 bytes at a time; what it can't use the other class has, as soon
 * as something of it comes.
 */
START_TEST(who_is_silent_leaves_the_link_to_others) {
    struct world w;
    open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, (uint32_t[]){ 4, 1 }, 2, 100);
    w.settings.rate = 250000;
    w.settings.horizon_ms = 600;
    set(&w);
    rs_ticket_t a = ask(&w, 0, 200), b = ask(&w, 1, 10000000);
    ck_assert_uint_eq(fill(&w), 2);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 120000);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 30000);
    ck_assert(rs_progress(w.e, w.now, b, 1000));
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 120000);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 150000 - 200);
    sound(&w);
    ck_assert(rs_header(w.e, w.now, a, 5000000)); /* its server thinks on */
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 150000 - 4380);
    ck_assert(rs_progress(w.e, w.now, a, 1000)); /* now it begins */
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 120000);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 30000);
    sound(&w);
    bring(&w, &a, 1, 10, 1250); /* 6,000 in a horizon, and it might bring twice that */
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 150000 - 12000);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, a), 120000);
    ck_assert(rs_park(w.e, w.now, a));
    ck_assert_uint_eq(rs_allowance(w.e, w.now, b), 150000);
    sound(&w);
    close_world(&w);

    /* inside a class: ten, of which three have begun */
    open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, NULL, 1, 100);
    w.settings.rate = 250000;
    w.settings.horizon_ms = 600;
    set(&w);
    rs_ticket_t t[10];
    for (int i = 0; i < 10; i++) ask(&w, 0, 18751);
    for (int i = 0; i < 2; i++) ck_assert((t[i] = next(&w)) != RS_NO_TICKET);
    for (int i = 0; i < 2; i++) ck_assert(rs_progress(w.e, w.now, t[i], 15000)); /* room for all */
    for (int i = 2; i < 10; i++) {
        t[i] = next(&w);
        if (t[i] == RS_NO_TICKET) break;
    }
    uint32_t n = stats(&w).outstanding;
    ck_assert_uint_ge(n, 9);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, t[3]), 150000 / n);
    /* two have 3,751 to come, less than anybody's part; of the third all is to come, and the rest bring nothing */
    ck_assert(rs_progress(w.e, w.now, t[2], 1));
    ck_assert_uint_eq(rs_allowance(w.e, w.now, t[2]), 150000 - 2 * 3751 - (n - 3) * 4380);
    ck_assert_uint_eq(rs_allowance(w.e, w.now, t[3]), 150000 / n);
    sound(&w);
    ck_assert_ptr_null(rs_rebuild(w.e, w.now));
    ck_assert_uint_eq(rs_allowance(w.e, w.now, t[2]), 150000 - 2 * 3751 - (n - 3) * 4380);
    sound(&w);
    close_world(&w);
}
END_TEST

/* Large ones let small ones pass, and so count as what they have on their way then: three segments. */
START_TEST(bytes_leaves_room_for_what_is_short) {
    for (int order = RS_ORDER_FIFO; order <= RS_ORDER_SHORTEST; order++) {
        struct world w;
        open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, NULL, 1, 100);
        w.classes[0].order = (enum rs_order)order;
        w.settings.rate = 250000;
        w.settings.horizon_ms = 300;
        set(&w);
        for (int i = 0; i < 40; i++) ask(&w, 0, 1000000);
        /* of 75,000 an eighth and a byte each, or 4,380 */
        ck_assert_uint_eq(fill(&w), order == RS_ORDER_SHORTEST ? 18 : 8);
        sound(&w);
        close_world(&w);
    }
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

/* An eighth of the link stays, however little of it somebody else leaves. */
START_TEST(bytes_leaves_an_eighth) {
    static const struct {
        uint32_t others;
        uint64_t left;
    } rows[] = { { 80000, 160000 }, { 87000, 104000 }, { 90000, 100000 }, { 99000, 100000 }, { 100000, 100000 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world w;
        open_world(&w, RS_SCHED_RFQ, RS_GATE_BYTES, 0, NULL, 1, 10);
        w.settings.rate = 1000000;
        w.settings.horizon_ms = 800;
        set(&w);
        rs_ticket_t t = ask(&w, 0, 1 << 20);
        ck_assert_uint_eq(fill(&w), 1);
        for (int k = 0; k < 400; k++, w.now += 100000) rs_charge(w.e, w.now, RS_NO_CLASS, 0, rows[i].others);
        uint64_t left = rs_allowance(w.e, w.now, t);
        ck_assert_msg(left >= rows[i].left && left <= rows[i].left + 2, "%u: %llu", rows[i].others,
                      (unsigned long long)left);
        /* Of each the 100,001 bytes of an eighth count: one always goes, another if there is room. */
        ask(&w, 0, 1 << 20);
        ask(&w, 0, 1 << 20);
        ck_assert_uint_eq(fill(&w), left > 100001);
        w.now += 3999999; /* the mean of four intervals falls by a quarter with each */
        ck_assert_uint_lt(rs_allowance(w.e, w.now, t), 799000 / stats(&w).outstanding);
        w.now += 4000000; /* long without any: nothing */
        ck_assert_uint_eq(rs_allowance(w.e, w.now, t), 800000 / stats(&w).outstanding);
        close_world(&w);
    }
}
END_TEST

/* What the gate counts, allows and lets go after rs_set_rate is what a configuration would have made of it. */
START_TEST(a_rate_is_set_at_work) {
    static const uint32_t weights[] = { 3, 1 };
    static const uint64_t rates[] = { 4000000, 1000000, 30000, 2000000, 1 };
    struct world w[2];
    for (int k = 0; k < 2; k++) {
        open_world(&w[k], RS_SCHED_RFQ, RS_GATE_BYTES, 0, weights, 2, 400);
        w[k].settings.rate = 1000000;
        set(&w[k]);
        for (uint32_t i = 0; i < 300; i++) ask(&w[k], i % 2, 1000 + 4000 * i);
        fill(&w[k]);
    }
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        uint64_t debt = i % 2 ? rates[i] * 6 : 0;
        w[0].settings.rate = rates[i];
        w[0].settings.debt_max = debt;
        set(&w[0]);
        ck_assert(rs_set_rate(w[1].e, w[1].now, rates[i], debt));
        for (int k = 0; k < 2; k++) {
            ck_assert_uint_eq(stats(&w[k]).settings.rate, rates[i]);
            ck_assert_uint_eq(stats(&w[k]).settings.debt_max, debt);
            sound(&w[k]);
        }
        ck_assert_uint_eq(rs_outlet(w[0].e, 0)->expected, rs_outlet(w[1].e, 0)->expected);
        ck_assert_uint_eq(rs_allowance(w[0].e, w[0].now, oldest(&w[0])), rs_allowance(w[1].e, w[1].now, oldest(&w[1])));
        ck_assert_uint_eq(fill(&w[0]), fill(&w[1]));
        for (int k = 0; k < 2; k++) {
            ck_assert(rs_progress(w[k].e, w[k].now, oldest(&w[k]), 700));
            sound(&w[k]);
        }
    }
    ck_assert(!rs_set_rate(w[1].e, 0, 0, 0)); /* no rate; none that a setting could be */
    ck_assert(!rs_set_rate(w[1].e, 0, UINT64_MAX, 0));
    ck_assert(!rs_set_rate(w[1].e, 0, 1000, UINT64_MAX));
    ck_assert_uint_eq(stats(&w[1]).settings.rate, 1);
    w[1].settings.rate = 0;
    set(&w[1]);
    ck_assert(!rs_set_rate(w[1].e, 0, 1000, 0)); /* a plain window stays one */
    for (int k = 0; k < 2; k++) close_world(&w[k]);
}
END_TEST

/* Who needs to hear of nothing pays for nothing: what a response's bytes and end reach (base_block.h). */
START_TEST(the_engine_watches_what_is_asked_for) {
    enum { BYTES = RS_WATCH_BYTES, ENDS = RS_WATCH_ENDS, SLOTS = RS_WATCH_SLOTS, QUEUES = RS_WATCH_QUEUES };
    static const uint32_t of_gate[RS_GATE_COUNT] = { 0, 0, ENDS, BYTES | SLOTS, BYTES | ENDS, 0 };
    static const uint32_t of_sched[RS_SCHED_COUNT] = { QUEUES, 0, 0, BYTES, QUEUES, QUEUES };
    for (int i = 0; i < RS_SCHED_COUNT * RS_GATE_COUNT; i++) {
        struct world w;
        open_world(&w, (enum rs_sched)(i / RS_GATE_COUNT), (enum rs_gate)(i % RS_GATE_COUNT), 2, NULL, 2, 8);
        uint32_t watch = of_sched[i / RS_GATE_COUNT] | of_gate[i % RS_GATE_COUNT];
        ck_assert_msg(w.e->watch == watch, "%s, %s: %u", rs_sched_name(i / RS_GATE_COUNT),
                      rs_gate_name(i % RS_GATE_COUNT), w.e->watch);
        w.classes[1].order = RS_ORDER_SHORTEST;
        set(&w);
        ck_assert_uint_eq(w.e->watch, watch | QUEUES);
        close_world(&w);
    }
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
    ck_assert_uint_eq(rs_queued(w.e), stats(&w).queued);
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

/* ---- the window that finds itself, by itself --------------------------------------------------------------------- */

/*
 * `fixed` + `each` x (those at the server) us for a response, with more than `hands` of them longer in proportion, or
 * in its square; +-`noise` %.
 */
struct speeds {
    rs_time_t fixed, each;
    uint32_t hands, worse, noise;
    uint32_t clients, share_cap;
    uint64_t bytes, bytes_of_all;
};

/* The gate alone, told of one end after the other.  Returns after how many the window is another one, or `most`. */
static uint32_t ends_until_it_moves(struct rs_outlet *o, const struct rs_settings *s, const struct speeds *p,
                                    rs_time_t *now, uint64_t *seed, uint32_t most) {
    uint32_t window = rs_gate_auto.limit(o, s), ends = 0;
    while (ends < most && rs_gate_auto.limit(o, s) == window) {
        uint32_t present = p->clients && p->clients < window ? p->clients : window;
        rs_time_t time = p->fixed + p->each * present;
        if (p->hands && present > p->hands)
            time = time * present / p->hands * (p->worse ? present : 1) / (p->worse ? p->hands : 1);
        if (p->noise) time = time * (100 - p->noise + draw(seed) % (2 * p->noise + 1)) / 100;
        if (o->cap_wanted) o->share_cap = p->share_cap ? p->share_cap : RS_NIL;
        o->cap_wanted = 0;
        *now += time / present;
        /* Every eleventh has been parked: how long it took says nothing. */
        struct rs_ticket_row r = { .released = *now - time,
                                   .received = p->bytes_of_all ? p->bytes_of_all / present : p->bytes };
        if (ends % 11 == 10) r = (struct rs_ticket_row){ .released = 1, .received = 1 << 30, .was_parked = 1 };
        o->queued = present == window;
        o->outstanding = present - 1;
        rs_gate_auto.ended(o, s, *now, &r);
        const char *broken = rs_gate_auto.check(o, s);
        ck_assert_msg(!broken, "%s", broken ? broken : "");
        ck_assert_uint_eq(o->open_below, rs_gate_auto.limit(o, s));
        ends++;
    }
    return ends;
}

/*
 * Windows and how many ends each is in force for; a server and then, from a certain step on, another.  What is to be
 * seen, in the words of gate_auto.c: an epoch is 32 ends, or twice the window, or 0.1 s, after those that began before
 * it; a row that changes here is to change for a reason given there.
 */
struct walk {
    struct speeds server, then;
    int from;
    uint32_t window, most;
    struct {
        uint32_t window, ends;
    } steps[32];
};

static const struct walk
    walks[] = {
        /*
     * Idle hands without end: up by two fifths, then by doubling, to the bound; there it looks downwards again, rarely;
     * then the server is full at all times.
     */
        { { .fixed = 50000, .bytes = 2000 },
          { .each = 500, .bytes = 2000 },
          16,
          16,
          200,
          { { 16, 32 },   { 23, 70 },   { 16, 55 },   { 23, 70 },   { 16, 55 },   { 23, 70 },   { 46, 139 },
            { 92, 277 },  { 184, 554 }, { 200, 600 }, { 184, 570 }, { 200, 600 }, { 184, 570 }, { 200, 600 },
            { 140, 481 }, { 200, 600 }, { 140, 480 }, { 200, 600 }, { 140, 480 }, { 200, 600 }, { 140, 480 },
            { 200, 600 }, { 140, 480 }, { 98, 340 },  { 140, 420 }, { 98, 340 },  { 140, 420 }, { 98, 340 },
            { 68, 298 },  { 98, 298 },  { 68, 298 },  { 98, 298 } } },
        /*
     * Full at all times: as much is done by fewer, so down it goes, slowly, as noise would hide a little; then hands
     * without end.
     */
        { { .each = 500, .bytes = 2000 },
          { .fixed = 50000, .bytes = 2000 },
          26,
          16,
          200,
          { { 16, 200 }, { 23, 223 }, { 16, 223 }, { 23, 223 }, { 16, 223 }, { 23, 223 }, { 16, 223 }, { 11, 216 },
            { 16, 216 }, { 11, 216 }, { 16, 216 }, { 11, 216 }, { 16, 216 }, { 11, 216 }, { 16, 216 }, { 11, 216 },
            { 16, 216 }, { 11, 216 }, { 16, 216 }, { 11, 216 }, { 16, 216 }, { 11, 216 }, { 7, 211 },  { 11, 211 },
            { 7, 211 },  { 11, 211 }, { 7, 43 },   { 11, 43 },  { 16, 48 },  { 32, 97 },  { 64, 193 }, { 128, 385 } } },
        /* 16 hands: 16 it stays, and rests for 1, 2, 4 epochs between looks. */
        { { .fixed = 50000, .hands = 16, .bytes = 2000 },
          { .fixed = 50000, .hands = 16, .bytes = 2000 },
          32,
          16,
          200,
          { { 16, 32 }, { 23, 69 }, { 16, 55 }, { 23, 69 }, { 16, 55 },  { 23, 69 }, { 16, 55 }, { 11, 48 },
            { 16, 48 }, { 11, 48 }, { 16, 48 }, { 11, 48 }, { 16, 80 },  { 32, 96 }, { 16, 64 }, { 32, 96 },
            { 16, 64 }, { 32, 96 }, { 16, 64 }, { 11, 48 }, { 16, 112 }, { 32, 96 }, { 16, 64 }, { 32, 96 },
            { 16, 64 }, { 32, 96 }, { 16, 64 }, { 11, 48 }, { 16, 176 }, { 32, 96 }, { 16, 64 }, { 32, 96 } } },
        /* 32 hands, and shares that end at 24: from half of it in eighths, as long as hands are idle. */
        { { .fixed = 50000, .hands = 32, .share_cap = 24, .bytes = 2000 },
          { .fixed = 50000, .hands = 32, .bytes = 2000 },
          22,
          16,
          200,
          { { 16, 32 }, { 11, 48 }, { 16, 48 }, { 11, 48 },  { 16, 48 },  { 11, 48 },  { 16, 48 },  { 19, 58 },
            { 16, 51 }, { 19, 58 }, { 16, 51 }, { 19, 58 },  { 22, 67 },  { 19, 61 },  { 22, 67 },  { 19, 61 },
            { 22, 67 }, { 25, 75 }, { 22, 70 }, { 25, 75 },  { 22, 70 },  { 25, 75 },  { 29, 88 },  { 25, 79 },
            { 29, 88 }, { 25, 79 }, { 29, 88 }, { 58, 174 }, { 29, 117 }, { 58, 174 }, { 29, 117 }, { 58, 174 } } },
        /* 5 clients of idle hands: no client is kept waiting for long; then many. */
        { { .fixed = 20000, .clients = 5, .bytes = 2000 },
          { .fixed = 20000, .bytes = 2000 },
          20,
          16,
          200,
          { { 16, 128 },   { 4, 48 },     { 16, 48 },    { 4, 48 },    { 16, 80 },  { 4, 48 },   { 16, 48 },
            { 4, 48 },     { 16, 112 },   { 4, 48 },     { 16, 48 },   { 4, 48 },   { 16, 176 }, { 4, 48 },
            { 16, 48 },    { 4, 48 },     { 16, 304 },   { 4, 48 },    { 16, 48 },  { 4, 48 },   { 16, 96 },
            { 23, 139 },   { 16, 103 },   { 23, 139 },   { 16, 103 },  { 23, 139 }, { 46, 277 }, { 92, 553 },
            { 184, 1110 }, { 200, 1200 }, { 184, 1126 }, { 200, 1200 } } },
        /* 8 clients of a full server: below them, where weights say something. */
        { { .each = 2000, .clients = 8, .bytes = 2000 },
          { .each = 2000, .bytes = 2000 },
          20,
          16,
          200,
          { { 16, 200 }, { 5, 66 }, { 16, 66 }, { 5, 66 }, { 16, 66 }, { 5, 66 }, { 16, 66 }, { 5, 66 },
            { 16, 66 },  { 5, 66 }, { 16, 66 }, { 5, 66 }, { 16, 66 }, { 5, 66 }, { 16, 66 }, { 5, 66 },
            { 4, 55 },   { 5, 55 }, { 4, 55 },  { 5, 55 }, { 4, 55 },  { 5, 55 }, { 4, 55 },  { 5, 55 },
            { 4, 55 },   { 5, 55 }, { 4, 55 },  { 5, 55 }, { 4, 55 },  { 5, 55 }, { 4, 55 },  { 2, 54 } } },
        /* Noise. */
        { { .fixed = 50000, .hands = 16, .noise = 20, .bytes = 2000 },
          { .each = 500, .noise = 20, .bytes = 2000 },
          20,
          16,
          200,
          { { 16, 34 },  { 23, 69 },  { 16, 57 },  { 23, 69 },  { 16, 55 },  { 23, 69 },  { 16, 55 },  { 23, 69 },
            { 16, 56 },  { 23, 69 },  { 16, 56 },  { 23, 69 },  { 16, 56 },  { 23, 69 },  { 16, 55 },  { 23, 69 },
            { 16, 55 },  { 11, 48 },  { 16, 81 },  { 32, 96 },  { 16, 232 }, { 23, 223 }, { 16, 225 }, { 23, 225 },
            { 16, 226 }, { 23, 225 }, { 16, 226 }, { 11, 216 }, { 16, 216 }, { 11, 218 }, { 16, 219 }, { 11, 215 } } },
        /* Noise, and shares that end below. */
        {
            { .each = 500, .noise = 40, .share_cap = 20, .bytes = 2000 },
            { .fixed = 9000, .noise = 40, .bytes = 2000 },
            20,
            16,
            200,
            { { 16, 201 }, { 11, 219 },   { 16, 211 },   { 11, 212 },  { 16, 215 }, { 11, 219 }, { 7, 214 },
              { 11, 210 }, { 7, 212 },    { 11, 207 },   { 7, 209 },   { 4, 205 },  { 7, 207 },  { 4, 200 },
              { 7, 209 },  { 4, 212 },    { 7, 204 },    { 4, 209 },   { 7, 207 },  { 4, 206 },  { 7, 88 },
              { 10, 120 }, { 7, 87 },     { 10, 118 },   { 7, 93 },    { 10, 121 }, { 20, 242 }, { 40, 482 },
              { 80, 969 }, { 160, 1949 }, { 200, 2457 }, { 160, 1996 } } },
        /* Ten hands, which get in each other's way. */
        { { .fixed = 10000, .hands = 10, .worse = 1, .bytes = 2000 },
          { .fixed = 10000, .hands = 40, .worse = 1, .bytes = 2000 },
          20,
          64,
          200,
          { { 64, 128 }, { 90, 202 }, { 64, 218 }, { 90, 202 }, { 64, 218 }, { 90, 202 }, { 64, 218 },  { 44, 152 },
            { 64, 192 }, { 44, 152 }, { 64, 192 }, { 44, 152 }, { 30, 104 }, { 21, 78 },  { 30, 90 },   { 21, 78 },
            { 30, 90 },  { 21, 78 },  { 14, 93 },  { 9, 105 },  { 14, 155 }, { 20, 220 }, { 40, 440 },  { 80, 280 },
            { 40, 480 }, { 28, 321 }, { 40, 840 }, { 80, 280 }, { 40, 480 }, { 28, 321 }, { 40, 1240 }, { 80, 280 } } },
        /* More responses, no more bytes: not clear at once. */
        { { .fixed = 5000, .bytes_of_all = 1 << 20 },
          { .each = 5000, .bytes = 1 << 20 },
          16,
          4,
          64,
          { { 4, 80 },   { 6, 127 }, { 4, 86 },   { 6, 127 },  { 4, 86 },   { 6, 127 },  { 12, 253 }, { 6, 133 },
            { 12, 253 }, { 6, 133 }, { 12, 253 }, { 24, 505 }, { 12, 265 }, { 24, 505 }, { 12, 265 }, { 24, 505 },
            { 48, 144 }, { 24, 96 }, { 48, 144 }, { 24, 96 },  { 48, 144 }, { 24, 96 },  { 16, 56 },  { 24, 72 },
            { 16, 56 },  { 24, 72 }, { 16, 56 },  { 11, 48 },  { 16, 48 },  { 11, 48 },  { 16, 48 },  { 11, 48 } } },
        /* So slow that an epoch has to end before it has enough. */
        { { .fixed = 3000000, .bytes = 2000 },
          { .fixed = 30000000, .hands = 4, .bytes = 2000 },
          8,
          0,
          40,
          { { 16, 16 }, { 23, 46 }, { 16, 39 }, { 23, 46 }, { 16, 39 }, { 23, 46 }, { 40, 80 }, { 28, 68 },
            { 40, 42 }, { 28, 42 }, { 40, 42 }, { 28, 42 }, { 40, 42 }, { 28, 42 }, { 19, 30 }, { 28, 30 },
            { 19, 30 }, { 28, 30 }, { 19, 30 }, { 13, 21 }, { 19, 21 }, { 13, 21 }, { 19, 21 }, { 13, 21 },
            { 9, 15 },  { 13, 15 }, { 9, 15 },  { 13, 15 }, { 9, 15 },  { 6, 11 },  { 9, 11 },  { 6, 11 } } },
        /* 18 clients: a larger window that they do not fill is not tried for ever. */
        { { .fixed = 50000, .hands = 16, .clients = 18, .bytes = 2000 },
          { .each = 3000, .clients = 18, .bytes = 2000 },
          16,
          16,
          200,
          { { 16, 32 }, { 23, 69 }, { 16, 55 }, { 11, 48 }, { 16, 48 }, { 11, 48 }, { 16, 48 }, { 11, 48 },
            { 16, 48 }, { 32, 96 }, { 16, 64 }, { 11, 48 }, { 16, 48 }, { 11, 48 }, { 16, 48 }, { 11, 48 },
            { 16, 84 }, { 32, 96 }, { 16, 66 }, { 11, 50 }, { 16, 50 }, { 11, 50 }, { 16, 50 }, { 11, 50 },
            { 7, 45 },  { 11, 45 }, { 7, 45 },  { 11, 45 }, { 7, 45 },  { 4, 41 },  { 7, 41 },  { 4, 41 } } },
        /* Shares that end beyond the bound. */
        { { .fixed = 50000, .share_cap = 82, .bytes = 2000 },
          { .fixed = 50000, .share_cap = 79, .bytes = 2000 },
          9,
          16,
          40,
          { { 16, 32 },  { 23, 70 }, { 16, 55 },  { 23, 70 }, { 16, 55 },  { 23, 70 }, { 40, 120 }, { 28, 97 },
            { 40, 120 }, { 28, 97 }, { 40, 120 }, { 28, 97 }, { 40, 120 }, { 28, 97 }, { 40, 120 }, { 28, 97 },
            { 40, 120 }, { 28, 97 }, { 40, 200 }, { 28, 97 }, { 40, 120 }, { 28, 97 }, { 40, 280 }, { 28, 97 },
            { 40, 120 }, { 28, 97 }, { 40, 440 }, { 28, 97 }, { 40, 120 }, { 28, 97 }, { 40, 760 }, { 28, 97 } } },
        /* The bound is the floor: there it stays. */
        { { .fixed = 50000, .share_cap = 1, .bytes = 2000 },
          { .each = 50000, .bytes = 2000 },
          1,
          2,
          2,
          { { 2, 3000 } } },
        /* At the floor. */
        { { .fixed = 100, .each = 100, .share_cap = 1, .bytes = 9 },
          { .fixed = 9000, .share_cap = 300, .bytes = 9 },
          10,
          2,
          9,
          { { 2, 667 }, { 3, 755 }, { 2, 670 }, { 3, 755 }, { 2, 670 }, { 3, 755 }, { 2, 670 }, { 3, 755 },
            { 2, 670 }, { 3, 755 }, { 2, 35 },  { 3, 37 },  { 6, 73 },  { 9, 109 }, { 6, 76 },  { 9, 109 },
            { 6, 76 },  { 9, 209 }, { 6, 76 },  { 9, 109 }, { 6, 76 },  { 9, 309 }, { 6, 76 },  { 9, 109 },
            { 6, 76 },  { 9, 509 }, { 6, 76 },  { 9, 109 }, { 6, 76 },  { 9, 909 }, { 6, 76 },  { 9, 109 } } },
    };

START_TEST(auto_goes_step_by_step) {
    struct rs_outlet o = { .magic = RS_OUTLET_MAGIC };
    struct rs_settings s;
    rs_time_t now = 1000000;
    uint64_t seed = 7;
    rs_settings_default(&s);
    s.window = walks[_i].window;
    s.window_max = walks[_i].most;
    rs_gate_auto.init(&o, &s, now, 0);
    for (int i = 0; i < 32 && walks[_i].steps[i].ends; i++) {
        uint32_t window = rs_gate_auto.limit(&o, &s);
        uint32_t ends =
            ends_until_it_moves(&o, &s, i < walks[_i].from ? &walks[_i].server : &walks[_i].then, &now, &seed, 3000);
        ck_assert_msg(window == walks[_i].steps[i].window && ends == walks[_i].steps[i].ends,
                      "step %d: a window of %u for %u ends", i, window, ends);
    }
}
END_TEST

/* A response that took `took`, 10 ms after the one before, with ten long requests at the server. */
static void auto_ended(struct rs_outlet *o, const struct rs_settings *s, rs_time_t *now, bool brief, rs_time_t took) {
    *now += 10000;
    o->longs = 10;
    o->queued = 1;
    o->outstanding = rs_gate_auto.limit(o, s) - 1;
    o->cap_wanted = 0;
    rs_gate_auto.ended(o, s, *now, &(struct rs_ticket_row){ .released = *now - took, .began_brief = brief });
    ck_assert_ptr_null(rs_gate_auto.check(o, s));
}

/* A larger window at once would let long requests hold every worker for seconds. */
START_TEST(auto_grows_in_steps_beside_long_requests_while_brief_ones_are_on_time) {
    enum { BASE = 16, STEP = BASE / 8, MS = 1000 };
    struct rs_outlet o = { .magic = RS_OUTLET_MAGIC };
    struct rs_settings s;
    rs_time_t now = 100000 * MS;
    int ends;
    rs_settings_default(&s);
    s.window = BASE;
    s.await_us = 50 * MS;
    rs_gate_auto.init(&o, &s, now, 0);
    for (ends = 0; ends < 100 && o.open_below == BASE; ends++) auto_ended(&o, &s, &now, true, 100 * MS);
    ck_assert_uint_eq(o.open_below, BASE + STEP);
    ck_assert_uint_eq(o.open_base, BASE);
    /* Those that were released before say nothing. */
    for (ends = 0; ends < 9; ends++) auto_ended(&o, &s, &now, true, 100 * MS);
    ck_assert_uint_eq(o.open_below, BASE + STEP);
    for (ends = 0; ends < 100 && o.open_below == BASE + STEP; ends++) auto_ended(&o, &s, &now, true, 50 * MS);
    ck_assert_int_eq(ends, 6);
    ck_assert_uint_eq(o.open_below, BASE + 2 * STEP);
    /* The server is saturated. */
    now += 1000 * MS;
    for (ends = 0; ends < 100 && o.open_below == BASE + 2 * STEP; ends++) auto_ended(&o, &s, &now, true, 900 * MS);
    ck_assert_int_eq(ends, 3);
    ck_assert_uint_eq(o.open_below, BASE);
    /* There is no room for a smaller test: not again for long. */
    for (ends = 0; ends < 1000; ends++) {
        auto_ended(&o, &s, &now, true, 100 * MS);
        ck_assert_uint_eq(o.open_below, BASE);
    }
}
END_TEST

/* No brief request comes any more: after one window's worth of ends the window is the probe's. */
START_TEST(auto_does_not_wait_for_brief_requests_that_no_longer_come) {
    enum { BASE = 16, MS = 1000 };
    struct rs_outlet o = { .magic = RS_OUTLET_MAGIC };
    struct rs_settings s;
    rs_time_t now = 100000 * MS;
    int ends;
    rs_settings_default(&s);
    s.window = BASE;
    s.await_us = 50 * MS;
    rs_gate_auto.init(&o, &s, now, 0);
    for (ends = 0; ends < 100 && o.open_below == BASE; ends++) auto_ended(&o, &s, &now, true, 100 * MS);
    ck_assert_uint_eq(o.open_below, BASE + 2);
    for (ends = 0; ends < 100 && o.open_below == BASE + 2; ends++) auto_ended(&o, &s, &now, false, 4000 * MS);
    ck_assert_int_eq(ends, BASE + 2);
    ck_assert_uint_eq(o.open_below, BASE * 7 / 5 + 1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: gates");
    TCase *c = tcase_create("gates");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, none_lets_all_through);
    tcase_add_loop_test(c, who_finds_it_closed_need_not_ask_again, 0, RS_GATE_COUNT);
    tcase_add_test(c, window_counts_responses);
    tcase_add_test(c, a_parked_response_blocks_a_thread_and_no_window);
    tcase_add_test(c, bytes_counts_what_is_expected);
    tcase_add_test(c, the_allowance_is_shared_by_weight);
    tcase_add_test(c, the_allowance_goes_to_who_has_least_to_come);
    tcase_add_test(c, who_is_slow_leaves_the_rest_to_others);
    tcase_add_test(c, the_allowance_is_shared_by_keys);
    tcase_add_test(c, a_key_that_is_slow_leaves_the_rest_to_others);
    tcase_add_test(c, check_sees_what_is_wrong_with_rests);
    tcase_add_test(c, bytes_leaves_room_for_what_is_short);
    tcase_add_test(c, bytes_counts_what_is_slow_as_what_it_brings);
    tcase_add_test(c, bytes_gives_a_class_its_part_beside_long_responses_that_came_first);
    tcase_add_test(c, bytes_gives_a_client_its_part_beside_long_responses_of_another_that_came_first);
    tcase_add_test(c, bytes_gives_a_client_its_part_behind_one_that_has_something_outstanding);
    tcase_add_test(c, bytes_gives_a_class_its_part_beside_a_long_response_of_its_own);
    tcase_add_test(c, who_is_silent_leaves_the_link_to_others);
    tcase_add_test(c, bytes_leaves_room_for_what_is_nobodys);
    tcase_add_test(c, bytes_leaves_an_eighth);
    tcase_add_test(c, a_rate_is_set_at_work);
    tcase_add_test(c, the_engine_watches_what_is_asked_for);
    tcase_add_test(c, bytes_of_nobody_reach_the_gate_alone);
    tcase_add_test(c, wrc_follows_the_utilisation);
    tcase_add_test(c, wrc_waits_for_a_full_window);
    tcase_add_loop_test(c, auto_finds_the_window, 0, 3);
    tcase_add_test(c, auto_without_a_backlog_stays);
    tcase_add_test(c, auto_grows_in_steps_beside_long_requests_while_brief_ones_are_on_time);
    tcase_add_test(c, auto_does_not_wait_for_brief_requests_that_no_longer_come);
    tcase_add_loop_test(c, auto_goes_step_by_step, 0, sizeof walks / sizeof *walks);
    suite_add_tcase(s, c);
    return run_suite(s);
}
