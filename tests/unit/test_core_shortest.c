/* SPDX-License-Identifier: BSD-2-Clause */
/* Shortest first with ageing, and the heaps of ages that it stands on. */
#include "test_core.h"

#include "base_ages.h"
#include "base_block.h"
#include "base_buckets.h"

#define LINES(n) (sizeof(n) / sizeof *(n))

static rs_ticket_t ask_since(struct world *w, rs_time_t since, uint32_t class, uint64_t bytes) {
    rs_ticket_t t = RS_NO_TICKET;
    ck_assert_int_eq(rs_submit_since(w->e, w->now, since, class, 0, bytes, 1, 0, &t), RS_OK);
    ck_assert(t != RS_NO_TICKET);
    return t;
}

/* ---- heaps of ages ----------------------------------------------------------------------------------------------- */

#define TICKETS 300u

/* Against an array that is searched from end to end; with hardly any of one age, many of one age, all of one. */
START_TEST(the_oldest_is_on_top) {
    struct world w;
    uint32_t top = RS_NIL, in = 0;
    uint8_t is_in[TICKETS] = { 0 };
    uint64_t seed = 17 + (uint64_t)_i;
    open_world(&w, RS_SCHED_FIFO, RS_GATE_NONE, 0, NULL, 1, TICKETS);
    for (uint32_t t = 0; t < TICKETS; t++) {
        ask(&w, 0, 100);
        rs_row(w.e, t)->since = draw(&seed) % (_i == 0 ? 1000000 : _i == 1 ? 20 : 1);
        rs_row(w.e, t)->estimate = 1 + draw(&seed) % 5;
    }
    for (int step = 0; step < 20000; step++) {
        uint32_t t = (uint32_t)(draw(&seed) % TICKETS), members = in;
        if (step / 1000 % 2 && top != RS_NIL) t = top;
        if (is_in[t]) top = rs_ages_remove(w.e, top, t);
        else top = rs_ages_add(w.e, top, t);
        is_in[t] ^= 1;
        members = in += is_in[t] ? 1 : UINT32_MAX;
        if (step % 10 == 0 && in) {
            const char *broken = rs_ages_check(w.e, top, 0, &members);
            ck_assert_msg(!broken && members == 0, "%s, %u", broken ? broken : "members are missing", members);
        }
        uint32_t oldest = RS_NIL;
        for (t = 0; t < TICKETS; t++)
            if (is_in[t] && (oldest == RS_NIL || rs_is_older(rs_row(w.e, t), rs_row(w.e, oldest)))) oldest = t;
        ck_assert_uint_eq(top, oldest);
    }
    close_world(&w);
}
END_TEST

START_TEST(who_is_older) {
    static const struct {
        uint64_t since, estimate, seq;
    } order[] = { { 1, 9, 9 }, { 2, 1, 8 }, { 2, 3, 1 }, { 2, 3, 2 }, { 3, 1, 1 } };
    for (size_t i = 0; i < LINES(order); i++)
        for (size_t j = 0; j < LINES(order); j++) {
            struct rs_ticket_row a = { .since = order[i].since, .estimate = order[i].estimate, .seq = order[i].seq };
            struct rs_ticket_row b = { .since = order[j].since, .estimate = order[j].estimate, .seq = order[j].seq };
            ck_assert_int_eq(rs_is_older(&a, &b), i < j);
        }
}
END_TEST

/*
 * Many added and taken out in their order: of all times that one was made another's child there are no more than a few
 * to a doubling of how many there are for each; were brothers not joined in pairs, there would be as many as there are.
 */
START_TEST(taking_the_oldest_is_cheap) {
    enum { DOUBLINGS = 14, MANY = 1 << DOUBLINGS };
    struct world w;
    uint64_t children = 0;
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, NULL, 1, MANY);
    for (w.now = 0; w.now < MANY; w.now++) ask(&w, 0, 1000);
    const uint32_t *top = (const uint32_t *)rs_sched_state(w.e, rs_outlet(w.e, 0)) + 2 + rs_bucket_of(1000);
    for (uint32_t n = 0; n < MANY; n++) {
        for (uint32_t c = rs_row(w.e, *top)->child; c != RS_NIL; c = rs_row(w.e, c)->bucket_next) children++;
        ck_assert_uint_eq(rs_ticket_index(next(&w)), n);
    }
    ck_assert_uint_le(children, 2 * MANY * DOUBLINGS);
    close_world(&w);
}
END_TEST

/* ---- which one goes ---------------------------------------------------------------------------------------------- */

START_TEST(shortest_goes_by_size_and_age) {
    struct world w;
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, NULL, 2, 64);
    rs_ticket_t big = ask(&w, 0, 100000), mid = ask(&w, 1, 10000), small = ask(&w, 0, 1000);
    w.now = 1000;
    ck_assert(next(&w) == small);
    ck_assert(next(&w) == mid);
    /*
     * 1,000 bytes that waited 1 ms go before 100,000 that waited less than 100 times as long, and after them when it
     * was longer
     */
    w.now = 97000;
    small = ask(&w, 1, 1000);
    w.now = 98000;
    ck_assert(next(&w) == small);
    w.now = 110000;
    small = ask(&w, 1, 1000);
    w.now = 111000;
    ck_assert(next(&w) == big);
    ck_assert(next(&w) == small);
    /* as large a multiple: the smaller */
    w.now = 200000;
    big = ask(&w, 0, 2000);
    w.now = 201000;
    small = ask(&w, 0, 1000);
    w.now = 201999;
    ck_assert(next(&w) == small);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(of_one_instant_the_smallest_goes) {
    struct world w;
    static const uint64_t come[] = { 140, 5000000, 100, 100, 120, 100000 },
                          go[] = { 100, 100, 120, 140, 100000, 5000000 };
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, NULL, 1, 64);
    for (size_t i = 0; i < LINES(come); i++) ask(&w, 0, come[i]);
    for (size_t i = 0; i < LINES(go); i++) ck_assert_uint_eq(rs_row(w.e, rs_ticket_index(next(&w)))->estimate, go[i]);
    ck_assert(next(&w) == RS_NO_TICKET);
    close_world(&w);
}
END_TEST

START_TEST(one_of_each_size_is_looked_at) {
    struct world w;
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, NULL, 1, 300);
    for (uint32_t i = 0; i < 300; i++) ask(&w, 0, i % 3 == 0 ? 1000 : i % 3 == 1 ? 10000 : 100000);
    uint64_t before = rs_outlet(w.e, 0)->turns;
    next(&w);
    ck_assert_uint_eq(rs_outlet(w.e, 0)->turns - before, 3);
    close_world(&w);
}
END_TEST

/*
 * A page of 15 segments that has begun goes on before one of 15 that came later and has not, and one of 9 that came
 * later goes before it.  By the age of its own the segment would wait for both.
 */
START_TEST(a_part_is_as_old_as_its_whole) {
    struct world w;
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, NULL, 2, 64);
    w.now = 1000000;
    rs_ticket_t other = ask(&w, 0, 15000);
    w.now = 1900000;
    rs_ticket_t small = ask(&w, 0, 9000);
    w.now = 2000000;
    rs_ticket_t part = ask_since(&w, 990000, 1, 14000);
    ck_assert(next(&w) == part);
    ck_assert(next(&w) == other);
    ck_assert(next(&w) == small);
    /* its own wait is that of the ticket */
    ck_assert_uint_eq(rs_waited(w.e, part), 0);
    ck_assert_uint_eq(rs_waited(w.e, other), 1000000);
    sound(&w);
    close_world(&w);
}
END_TEST

/* What was asked for tomorrow has no age yet, and does not stand before what has. */
START_TEST(nothing_is_younger_than_now) {
    struct world w;
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, NULL, 1, 64);
    w.now = 1000;
    rs_ticket_t late = ask_since(&w, 5000, 0, 1000), at_once = ask_since(&w, 1000, 0, 999);
    sound(&w);
    ck_assert_uint_eq(rs_row(w.e, rs_ticket_index(late))->since, 1000);
    ck_assert(next(&w) == at_once);
    ck_assert(next(&w) == late);
    close_world(&w);
}
END_TEST

/* 60 and 10: of equal ones that came together people's goes first, unless a crawler's has waited six times as long. */
START_TEST(weights_divide_the_size) {
    struct world w;
    enum { PEOPLE, CRAWLERS };
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, (const uint32_t[]){ 60, 10 }, 2, 64);
    rs_ticket_t crawler = ask(&w, CRAWLERS, 10000), person = ask(&w, PEOPLE, 10000);
    ck_assert(next(&w) == person);
    ck_assert(next(&w) == crawler);
    ck_assert(next(&w) == RS_NO_TICKET);
    /* a sixth of the size makes up for a sixth of the weight; a little more or less decides */
    person = ask(&w, PEOPLE, 60000);
    crawler = ask(&w, CRAWLERS, 9000);
    ck_assert(next(&w) == crawler);
    crawler = ask(&w, CRAWLERS, 11000);
    ck_assert(next(&w) == person);
    ck_assert(next(&w) == crawler);
    for (int late = 0; late <= 1; late++) {
        crawler = ask(&w, CRAWLERS, 10000);
        w.now += late ? 5500 : 4500;
        person = ask(&w, PEOPLE, 10000);
        w.now += 1000;
        ck_assert(next(&w) == (late ? crawler : person));
        ck_assert(next(&w) == (late ? person : crawler));
    }
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * One large request beside n of one size that ask again as soon as they have been served, with one thread: each of them
 * waits for at most the n - 1 others and it, so the large one goes when it has waited as long as n of its own size
 * take.  Two instants more: of the one who is being served when it is its turn.
 */
START_TEST(nobody_waits_without_end) {
    enum { N = 20, LARGE = 100000 };
    static const uint64_t smalls[] = { 1, 96, 1000, 60000 };
    struct world w;
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_THREADS, 1, NULL, 1, 2 * N + 2);
    uint64_t small = smalls[_i];
    for (int i = 0; i < N; i++) ask(&w, 0, small);
    rs_ticket_t large = ask(&w, 0, LARGE), t = RS_NO_TICKET;
    while (w.now < 2 * N * LARGE) {
        t = next(&w);
        if (t == large) break;
        ck_assert_uint_le(rs_waited(w.e, t), N * small);
        w.now += small;
        serve(&w, t, small);
        ask(&w, 0, small);
    }
    ck_assert(t == large);
    ck_assert_uint_le(w.now, N * LARGE + 2 * small);
    /* and not at once either: it stood behind all that were smaller */
    ck_assert_uint_ge(w.now, (N - 2) * LARGE / (small > LARGE / 2 ? 2 : 1));
    close_world(&w);
}
END_TEST

/* The others ask for anything up to what the large one is: 2 n (its size + the largest), two threads. */
START_TEST(nobody_waits_without_end_beside_any) {
    enum { N = 40, LARGE = 100000, THREADS = 2 };
    struct world w;
    uint64_t seed = 7 + (uint64_t)_i, size[THREADS] = { 0 }, ends[THREADS] = { 0 };
    rs_ticket_t out[THREADS] = { RS_NO_TICKET, RS_NO_TICKET }, large = RS_NO_TICKET;
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_THREADS, THREADS, NULL, 1, 2 * N + 4);
    for (int i = 0; i < N; i++) ask(&w, 0, 1 + draw(&seed) % (_i ? LARGE : 100));
    large = ask(&w, 0, LARGE);
    while (rs_state(w.e, large) == RS_QUEUED) {
        int at = ends[0] <= ends[1] ? 0 : 1;
        w.now = ends[at];
        if (out[at] != RS_NO_TICKET) {
            serve(&w, out[at], size[at]);
            ask(&w, 0, 1 + draw(&seed) % (draw(&seed) % 4 ? 100 : LARGE));
        }
        out[at] = next(&w);
        size[at] = rs_row(w.e, rs_ticket_index(out[at]))->estimate;
        ends[at] += size[at];
    }
    ck_assert_uint_le(w.now, 2 * N * (LARGE + LARGE) / THREADS);
    close_world(&w);
}
END_TEST

/* ---- a class with a window of its own ---------------------------------------------------------------------------- */

/* What a class may not have is left to others only where there are some. */
START_TEST(a_window_of_its_own_leaves_nothing_idle) {
    enum { KNOWN, UNKNOWN };
    struct world w;
    const char *why = "";
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_THREADS, 4, NULL, 2, 32);
    w.classes[UNKNOWN].window = 1;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, w.now, &why), 0);
    w.now = 5;
    for (int i = 0; i < 6; i++) ask(&w, UNKNOWN, 1);
    ck_assert_uint_eq(next_class(&w), UNKNOWN);
    ck_assert_uint_eq(next_class(&w), UNKNOWN);
    ask(&w, KNOWN, 1);
    ck_assert_uint_eq(next_class(&w), KNOWN);
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS);
    w.now += RS_WINDOW_QUIET;
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS);
    w.now++;
    sound(&w);
    ck_assert_uint_eq(next_class(&w), UNKNOWN);
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS); /* four run */
    close_world(&w);
}
END_TEST

/* Of four threads one class has two, however small its requests are and however long they wait. */
START_TEST(a_window_of_its_own_leaves_the_rest) {
    enum { KNOWN, UNKNOWN };
    struct world w;
    const char *why = "";
    rs_ticket_t t, held[2];
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_THREADS, 4, NULL, 2, 32);
    w.classes[UNKNOWN].window = 2;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, w.now, &why), 0);
    w.now = 1000000;
    ask(&w, KNOWN, 1);
    for (int i = 0; i < 6; i++) ask(&w, UNKNOWN, 1);
    w.now = 2000000;
    serve(&w, next(&w), 1);
    for (int i = 0; i < 2; i++) {
        held[i] = next(&w);
        ck_assert_uint_eq(rs_class(w.e, held[i]), UNKNOWN);
    }
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS);
    ask(&w, KNOWN, 1000000);
    sound(&w);
    ck_assert_uint_eq(next_class(&w), KNOWN);
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS);
    /* A parked one is its still. */
    ck_assert(rs_park(w.e, w.now, held[0]));
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS);
    serve(&w, held[0], 1);
    t = next(&w);
    ck_assert_uint_eq(rs_class(w.e, t), UNKNOWN);
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS);
    /* A rebuild counts what is released anew. */
    ck_assert_ptr_null(rs_rebuild(w.e, w.now));
    sound(&w);
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS);
    serve(&w, t, 1);
    serve(&w, held[1], 1);
    ck_assert_uint_eq(next_class(&w), UNKNOWN);
    /* Without the window all may go. */
    w.classes[UNKNOWN].window = 0;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, w.now, &why), 0);
    ck_assert_uint_eq(next_class(&w), UNKNOWN);
    ck_assert_uint_eq(next_class(&w), UNKNOWN);
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS);
    sound(&w);
    close_world(&w);
}
END_TEST

/* Below its window it goes by size and age like the others, and whoever may go first is not hidden by who may not. */
START_TEST(a_window_of_its_own_changes_no_order) {
    static const uint64_t sizes[] = { 4000, 1000, 2000, 8000, 500, 16000 };
    struct world w;
    const char *why = "";
    uint64_t last = 0;
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, NULL, 3, 32);
    w.classes[0].window = w.classes[1].window = 100;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, w.now, &why), 0);
    for (uint32_t i = 0; i < 6; i++) ask(&w, i % 3, sizes[i]);
    for (uint32_t i = 0; i < 6; i++) {
        rs_ticket_t t = next(&w);
        uint64_t size = rs_row(w.e, rs_ticket_index(t))->estimate;
        ck_assert_uint_gt(size, last);
        last = size;
        sound(&w);
    }
    close_world(&w);
}
END_TEST

/* Of several such classes one that is at its bound hides the younger ones of others in its bucket, and nobody else. */
START_TEST(a_class_at_its_bound_hides_its_bucket_only) {
    enum { FREE, FULL, OTHER };
    struct world w;
    const char *why = "";
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, NULL, 3, 32);
    w.classes[FULL].window = 1;
    w.classes[OTHER].window = 10;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, w.now, &why), 0);
    w.now = 5;
    ask(&w, FREE, 1000);
    ck_assert_uint_eq(next_class(&w), FREE);
    ask(&w, FULL, 1000);
    ck_assert_uint_eq(next_class(&w), FULL);
    ask(&w, FULL, 1000);
    w.now++;
    ask(&w, OTHER, 1000); /* behind the one that may not go */
    ask(&w, OTHER, 4000);
    ask(&w, FREE, 1000);
    ck_assert_uint_eq(next_class(&w), FREE);
    ck_assert_uint_eq(next_class(&w), OTHER);
    ck_assert_uint_eq(next_class(&w), RS_NO_CLASS);
    sound(&w);
    w.now += RS_WINDOW_QUIET + 1;
    ck_assert_uint_eq(next_class(&w), FULL);
    ck_assert_uint_eq(next_class(&w), OTHER);
    close_world(&w);
}
END_TEST

/* ---- against a search from end to end ---------------------------------------------------------------------------- */

enum { CLASSES = 5, WAITING = 200 };
static const uint32_t weights[CLASSES] = { 60, 10, 7, 1000000, 1 };

static uint64_t per_weight(const struct world *w, const struct rs_ticket_row *r, uint64_t heaviest) {
    uint64_t size = r->estimate * heaviest / rs_flow(w->e, rs_outlet(w->e, r->outlet), r->class)->weight;
    return size > 0 ? size : 1;
}

/* Of each bucket who is oldest, of these who has waited for the largest multiple of its size; the smaller of equals. */
static uint32_t should_go(const struct world *w, uint64_t heaviest) {
    uint32_t oldest[RS_BUCKETS], best = RS_NIL;
    long double best_ratio = -1;
    for (uint32_t b = 0; b < RS_BUCKETS; b++) oldest[b] = RS_NIL;
    for (uint32_t t = 0; t < w->cap.tickets; t++) {
        const struct rs_ticket_row *r = rs_row(w->e, t);
        if (rs_row_state(r) != RS_QUEUED) continue;
        uint32_t b = rs_bucket_of(per_weight(w, r, heaviest));
        if (oldest[b] == RS_NIL || rs_is_older(r, rs_row(w->e, oldest[b]))) oldest[b] = t;
    }
    for (uint32_t b = 0; b < RS_BUCKETS; b++) {
        if (oldest[b] == RS_NIL) continue;
        const struct rs_ticket_row *r = rs_row(w->e, oldest[b]);
        long double ratio = (long double)(w->now - r->since + 1) / (long double)per_weight(w, r, heaviest);
        if (ratio <= best_ratio) continue;
        best_ratio = ratio;
        best = oldest[b];
    }
    return best;
}

static uint64_t any_size(uint64_t *seed) {
    uint64_t size = (uint64_t)1 << draw(seed) % (draw(seed) % 8 ? 22 : 40);
    return size + draw(seed) % size;
}

/* The same classes; without the heaviest, which goes on with what it has; with another weight. */
static uint64_t reconfigured(struct world *w, int step) {
    const char *why = "";
    uint32_t n = CLASSES;
    struct rs_class_settings classes[CLASSES];
    memcpy(classes, w->classes, sizeof classes);
    if (step == 1) classes[3] = classes[--n];
    if (step == 2) w->classes[1].weight = classes[1].weight = 90;
    ck_assert_int_eq(rs_configure(w->e, &w->settings, classes, n, NULL, w->now, &why), 0);
    uint64_t heaviest = 0;
    for (uint32_t i = 0; i < n; i++)
        if (classes[i].weight > heaviest) heaviest = classes[i].weight;
    return heaviest;
}

START_TEST(the_one_that_should_goes) {
    struct world w;
    uint64_t seed = 99 + (uint64_t)_i, heaviest = 1000000;
    rs_ticket_t waiting[WAITING];
    uint32_t n = 0;
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, weights, CLASSES, 4 * WAITING);
    w.now = 1000000;
    for (int step = 0; step < 12000; step++) {
        if (draw(&seed) % 3) w.now += draw(&seed) % 50000;
        if (step % 3000 == 1500) heaviest = reconfigured(&w, step / 3000);
        if (step % 1000 == 999) ck_assert_ptr_null(rs_rebuild(w.e, w.now));
        if (step % 100 == 0) sound(&w);
        uint64_t what = draw(&seed) % (n < WAITING / 2 ? 5 : 4);
        uint32_t class = (uint32_t)(draw(&seed) % CLASSES), at = n ? (uint32_t)(draw(&seed) % n) : 0;
        if (what >= 2 && n < WAITING) {
            uint64_t size = any_size(&seed);
            if (draw(&seed) % 2) waiting[n++] = ask(&w, class, size);
            else waiting[n++] = ask_since(&w, w.now - draw(&seed) % 1000000, class, size);
        } else if (what == 1 && n) {
            ck_assert(rs_cancel(w.e, w.now, waiting[at]));
            waiting[at] = waiting[--n];
        } else if (n) {
            uint32_t expected = should_go(&w, heaviest);
            rs_ticket_t t = next(&w);
            ck_assert_uint_eq(rs_ticket_index(t), expected);
            for (at = 0; waiting[at] != t;) at++;
            waiting[at] = waiting[--n];
            serve(&w, t, 1000);
        }
    }
    close_world(&w);
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------------------------ */

#define SAYS(what, to, sentence)                                                                                       \
    do {                                                                                                               \
        __typeof__(what) was = (what);                                                                                 \
        what = to;                                                                                                     \
        const char *says = rs_check(w.e);                                                                              \
        ck_assert_msg(says &&strstr(says, sentence), #what " = " #to ": %s", says ? says : "nothing");                 \
        what = was;                                                                                                    \
        sound(&w);                                                                                                     \
    } while (0)

/* struct shortest: the map, and the tops behind it. */
START_TEST(check_names_what_is_wrong_with_ages) {
    struct world w;
    enum { N = 30 };
    open_world(&w, RS_SCHED_SHORTEST, RS_GATE_NONE, 0, NULL, 1, N + 8);
    uint64_t seed = 5;
    w.now = 1000;
    for (uint32_t i = 0; i < N; i++) {
        w.now += 10;
        ask_since(&w, 1 + draw(&seed) % w.now, 0, 1000);
    }
    ask(&w, 0, 1000000);
    uint64_t *map = rs_sched_state(w.e, rs_outlet(w.e, 0));
    uint32_t *top = (uint32_t *)(map + 1), full = rs_bucket_of(1000), large = rs_bucket_of(1000000);
    rs_ticket_t gone = next(&w); /* and the heap has more than one floor */
    uint32_t first = rs_row(w.e, top[full])->child, free_one = N + 4, released = rs_ticket_index(gone);
    sound(&w);
    SAYS(*map, *map & ~((uint64_t)1 << full), "lost a ticket");
    SAYS(top[full], N + 8, "an unknown ticket");
    SAYS(top[full], first, "lost a ticket");
    SAYS(top[full], released, "does not wait here");
    SAYS(top[large], free_one, "does not wait here");
    SAYS(top[large], top[full], "more than wait");
    SAYS(rs_row(w.e, top[large])->child, top[full], "disagree");
    SAYS(rs_row(w.e, top[large])->estimate, 70000, "wrong heap");
    SAYS(rs_row(w.e, first)->estimate, 1000000, "wrong heap");
    SAYS(rs_row(w.e, first)->bucket_next, N + 8, "an unknown ticket");
    SAYS(rs_row(w.e, top[full])->child, RS_NIL, "lost a ticket");
    SAYS(rs_row(w.e, top[full])->since, w.now + 1, "out of order");
    for (uint32_t t = 0; t < N; t++) {
        if (t == top[full] || t == released) continue;
        SAYS(rs_row(w.e, t)->since, 0, "out of order");
        SAYS(rs_row(w.e, t)->bucket_prev, t, "disagree");
        SAYS(rs_row(w.e, t)->outlet, 1, "no known outlet");
    }
    close_world(&w);
}
END_TEST

/* Each outlet has heaps of its own. */
START_TEST(check_sees_who_waits_elsewhere) {
    struct world w;
    const char *why = "";
    open_world(&w, RS_SCHED_FIFO, RS_GATE_NONE, 0, NULL, 1, 8);
    struct rs_capacity cap = { .classes = 1, .tickets = 8, .outlets = 2 };
    size_t size = rs_size(&cap);
    void *memory = aligned_alloc(64, size), *before = w.memory;
    w.settings.sched = RS_SCHED_SHORTEST;
    w.e = rs_create(memory, size, &cap, &w.settings, w.classes, 1, 0, &why);
    ck_assert_msg(w.e != NULL, "%s", why);
    rs_ticket_t t[2];
    for (uint32_t o = 0; o < 2; o++) ck_assert_int_eq(rs_submit(w.e, 0, 0, o, 1000, 0, 0, &t[o]), RS_OK);
    sound(&w);
    uint32_t *top = (uint32_t *)rs_sched_state(w.e, rs_outlet(w.e, 0)) + 2 + rs_bucket_of(1000);
    SAYS(*top, rs_ticket_index(t[1]), "does not wait here");
    free(memory);
    w.memory = before;
    close_world(&w);
}
END_TEST

START_TEST(check_sees_a_part_older_than_its_whole) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_NONE, 0, NULL, 1, 8);
    w.now = 100;
    rs_ticket_t t = ask(&w, 0, 1000);
    ck_assert_uint_eq(rs_row(w.e, rs_ticket_index(t))->since, 100);
    SAYS(rs_row(w.e, rs_ticket_index(t))->since, 101, "times are out of order");
    close_world(&w);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: shortest first");
    TCase *c = tcase_create("shortest");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, the_oldest_is_on_top, 0, 3);
    tcase_add_test(c, who_is_older);
    tcase_add_test(c, taking_the_oldest_is_cheap);
    tcase_add_test(c, shortest_goes_by_size_and_age);
    tcase_add_test(c, of_one_instant_the_smallest_goes);
    tcase_add_test(c, one_of_each_size_is_looked_at);
    tcase_add_test(c, a_part_is_as_old_as_its_whole);
    tcase_add_test(c, nothing_is_younger_than_now);
    tcase_add_test(c, weights_divide_the_size);
    tcase_add_loop_test(c, nobody_waits_without_end, 0, 4);
    tcase_add_loop_test(c, nobody_waits_without_end_beside_any, 0, 10);
    tcase_add_loop_test(c, the_one_that_should_goes, 0, 5);
    tcase_add_test(c, a_window_of_its_own_leaves_nothing_idle);
    tcase_add_test(c, a_window_of_its_own_leaves_the_rest);
    tcase_add_test(c, a_class_at_its_bound_hides_its_bucket_only);
    tcase_add_test(c, a_window_of_its_own_changes_no_order);
    tcase_add_test(c, check_names_what_is_wrong_with_ages);
    tcase_add_test(c, check_sees_who_waits_elsewhere);
    tcase_add_test(c, check_sees_a_part_older_than_its_whole);
    suite_add_tcase(s, c);
    return run_suite(s);
}
