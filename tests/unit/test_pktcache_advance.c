/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pktcache_advance.c - whether connections go on after trains, over a link that is simulated.
 */
#include "pktcache/pk_advance.h"
#include "run_suite.h"

#include <stdlib.h>

#include <arpa/inet.h>

enum { MS = 1000, STEP = 5 * MS, SECOND = 1000 * MS, FLOWS = 16, TRAIN = 20000, SEGMENT = 1448 };

static uint64_t state;
static uint32_t dice(uint32_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* ---- a link, and connections over it ----------------------------------------------------------------------------- */

struct link {
    unsigned loss; /* per mille, each way */
    unsigned rtt;  /* ms */
    bool stateful; /* a device on it lets no acknowledgement pass of what has not passed as TCP */
    unsigned flows, clients;
    bool gone; /* clients say nothing more */
};

static struct flow {
    struct pk_tuple tuple;
    uint32_t una, end, got, seen;  /* of the server; of the client, in order; of the device */
    uint64_t sent_at, rto, ack_at; /* ack_at: one is on its way; 0: none */
    uint32_t ack;
    uint64_t next; /* the next response */
    uint64_t begun_at;
    bool waits;     /* for acknowledgements */
    unsigned works; /* responses that came to their end */
} flow[FLOWS];

static void begin_flow(const struct link *l, unsigned i, uint64_t now) {
    static uint16_t port = 1000;
    flow[i] = (struct flow){ .una = dice(UINT32_MAX), .next = now + dice(200) * MS, .begun_at = now };
    flow[i].end = flow[i].got = flow[i].seen = flow[i].una;
    flow[i].tuple.from[15] = 1;
    flow[i].tuple.to[15] = (uint8_t)(i % l->clients);
    flow[i].tuple.from_port = htons(80);
    flow[i].tuple.to_port = htons(port++);
}

static bool lost(const struct link *l) { return dice(1000) < l->loss; }

static void answer(const struct link *l, struct flow *f, uint64_t now) {
    if (l->gone || lost(l) || (l->stateful && (int32_t)(f->got - f->seen) > 0)) return;
    f->ack = f->got;
    f->ack_at = now + l->rtt * MS;
}

static void respond(struct pk_advance *a, const struct link *l, struct flow *f, uint64_t now) {
    bool train = pk_advance_may(a, &f->tuple, now);
    f->end = f->una + 1 + dice(TRAIN);
    f->waits = true;
    f->sent_at = now;
    f->rto = (200 + l->rtt) * MS;
    if (train) pk_advance_train(a, &f->tuple, f->una, f->end, now);
    if (lost(l)) return;
    f->got = f->end;
    if (!train) f->seen = f->end;
    answer(l, f, now);
}

static void again(struct pk_advance *a, const struct link *l, struct flow *f, uint64_t now) {
    bool replayed = pk_advance_again(a, &f->tuple, f->una, SEGMENT, now);
    f->sent_at = now;
    f->rto *= 2;
    if (lost(l)) return;
    if (replayed) f->seen = f->got = f->end;
    uint32_t to = (int32_t)(f->end - f->una) < SEGMENT ? f->end : f->una + SEGMENT;
    if ((int32_t)(to - f->seen) > 0) f->seen = to;
    /* what is lost of the rest its server sends at once; that is not what is looked at */
    if ((int32_t)(f->got - f->end) < 0) f->got = f->end;
    if (!l->stateful) f->seen = f->got;
    answer(l, f, now);
}

/* When something happens to a connection next. */
static uint64_t due(const struct link *l, const struct flow *f) {
    uint64_t at = f->waits ? f->sent_at + f->rto : f->next;
    if (f->ack_at && f->ack_at < at) at = f->ack_at;
    if (l->stateful && f->waits && f->begun_at + 5 * SECOND < at) at = f->begun_at + 5 * SECOND;
    return at;
}

/* Until `end`, or trains are stopped; steps in which nothing happens are left out. */
static uint64_t run(struct pk_advance *a, const struct link *l, uint64_t now, uint64_t end) {
    unsigned stops = (unsigned)a->stops;
    uint64_t at[FLOWS];
    for (unsigned i = 0; i < l->flows; i++) at[i] = due(l, flow + i);
    while (now < end && a->stops == stops) {
        uint64_t next = end;
        for (unsigned i = 0; i < l->flows; i++) {
            struct flow *f = flow + i;
            if (now < at[i]) {
                if (at[i] < next) next = at[i];
                continue;
            }
            if (f->ack_at && now >= f->ack_at) {
                f->ack_at = 0;
                pk_advance_acknowledged(a, &f->tuple, f->ack, now);
                f->una = f->ack;
                if (f->waits && f->una == f->end) {
                    f->waits = false;
                    f->works++;
                    f->next = now + (5 + dice(300)) * MS;
                    if (!l->gone && !dice(4)) begin_flow(l, i, now);
                }
            }
            if (f->waits && now >= f->sent_at + f->rto) again(a, l, f, now);
            else if (!f->waits && now >= f->next) respond(a, l, f, now);
            /* Who waits for long tries again, by a connection of its own. */
            if (l->stateful && f->waits && now >= f->begun_at + 5 * SECOND) begin_flow(l, i, now);
            at[i] = due(l, f);
            if (at[i] < next) next = at[i];
        }
        now += next > now + STEP && a->stops == stops ? (next - now + STEP - 1) / STEP * STEP : STEP;
    }
    return now;
}

static uint64_t begin_all(struct pk_advance *a, const struct link *l, uint64_t seed) {
    state = seed * 7919 + UINT64_C(88172645463325252);
    *a = (struct pk_advance){ .used = 0 };
    pk_advance_begin(a);
    for (unsigned i = 0; i < l->flows; i++) begin_flow(l, i, SECOND);
    return SECOND;
}

static const struct link good[] = { { .rtt = 4, .flows = 16, .clients = 8 },
                                    { .loss = 100, .rtt = 4, .flows = 16, .clients = 8 },
                                    { .loss = 100, .rtt = 100, .flows = 16, .clients = 1 },
                                    { .loss = 100, .rtt = 40, .flows = 1, .clients = 1 },
                                    { .loss = 100, .rtt = 40, .flows = 2, .clients = 1 },
                                    { .loss = 50, .rtt = 600, .flows = 4, .clients = 2 },
                                    { .loss = 200, .rtt = 40, .flows = 8, .clients = 2 } };

START_TEST(test_a_link_that_loses_things_is_no_reason) {
    struct pk_advance a;
    for (uint64_t seed = 0; seed < 10; seed++) {
        uint64_t now = begin_all(&a, good + _i, seed);
        run(&a, good + _i, now, now + 1800 * (uint64_t)SECOND);
        ck_assert_msg(!a.stops && a.proofs > 100, "link %d, seed %u: stopped %u times, %u proofs", _i, (unsigned)seed,
                      (unsigned)a.stops, (unsigned)a.proofs);
    }
}
END_TEST

START_TEST(test_clients_that_have_gone_are_no_reason) {
    struct link l = { .rtt = 4, .flows = 12, .clients = 2 };
    struct pk_advance a;
    uint64_t now = begin_all(&a, &l, 1);
    now = run(&a, &l, now, now + 10 * SECOND);
    l.gone = true;
    now = run(&a, &l, now, now + 100 * SECOND);
    ck_assert_uint_eq(a.stops, 0);
    ck_assert_int_eq(a.state, PK_TRIED);
    /* The next client's first train is acknowledged. */
    l.gone = false;
    begin_flow(&l, 0, now);
    l.flows = 1;
    run(&a, &l, now, now + 2 * SECOND);
    ck_assert_int_eq(a.state, PK_GO);
}
END_TEST

static const struct link bad[] = { { .stateful = true, .rtt = 4, .flows = 8, .clients = 2 },
                                   { .stateful = true, .rtt = 4, .flows = 1, .clients = 1 },
                                   { .stateful = true, .rtt = 300, .flows = 3, .clients = 3 },
                                   { .stateful = true, .loss = 50, .rtt = 20, .flows = 8, .clients = 1 } };

START_TEST(test_a_device_that_follows_tcp) {
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct link l = bad[_i];
        struct pk_advance a;
        uint64_t began = begin_all(&a, &l, seed), now = run(&a, &l, began, began + 60 * (uint64_t)SECOND),
                 found = now - began, waited = 0;
        ck_assert_msg(a.stops == 1, "link %d, seed %u: not found in a minute", _i, (unsigned)seed);
        ck_assert_msg(found <= 12 * SECOND, "link %d, seed %u: found after %.1f s", _i, (unsigned)seed,
                      (double)found / SECOND);
        /* From now on all that begins works, until the next try. */
        for (unsigned i = 0; i < l.flows; i++) begin_flow(&l, i, now);
        for (int tries = 0; tries < 8; tries++) {
            uint64_t until = a.until, wait = a.wait, broken = 0;
            ck_assert_msg(!waited || wait == 2 * waited || wait == 3600 * (uint64_t)SECOND, "waits %.0f s after %.0f",
                          (double)wait / SECOND, (double)waited / SECOND);
            waited = wait;
            now = run(&a, &l, now, until);
            for (unsigned i = 0; i < l.flows; i++) {
                ck_assert_uint_gt(flow[i].works + (unsigned)(now - flow[i].begun_at < 5 * SECOND), 0);
                flow[i].works = 0;
            }
            /* No connection is hurt by that. */
            now = run(&a, &l, now, now + 60 * (uint64_t)SECOND);
            ck_assert_uint_eq(a.stops, (unsigned)tries + 2);
            for (unsigned i = 0; i < l.flows; i++) broken += flow[i].waits && now > flow[i].sent_at + 2 * SECOND;
            ck_assert_uint_eq(broken, 0);
        }
        /* The device is taken away: the next try is a proof. */
        l.stateful = false;
        for (unsigned i = 0; i < l.flows; i++) begin_flow(&l, i, now);
        now = run(&a, &l, now, a.until + 10 * SECOND);
        ck_assert_int_eq(a.state, PK_GO);
    }
}
END_TEST

/*
 * Trains were proven for what is no proof any more: each one comes to its end only when its server sends its beginning
 * again as it is.  No connection stands still, and each gets one train for each timer of its server, for good.
 */
START_TEST(test_trains_that_all_have_to_be_sent_again) {
    struct pk_advance a = { 0 };
    struct pk_tuple tuple = { .from[15] = 1, .to[15] = 2, .from_port = htons(80), .to_port = htons(1000) };
    uint64_t now = SECOND;
    uint32_t seq = 7;
    unsigned trains = 0;

    pk_advance_begin(&a);
    ck_assert(pk_advance_may(&a, &tuple, now));
    pk_advance_train(&a, &tuple, seq, seq + TRAIN, now);
    pk_advance_acknowledged(&a, &tuple, seq += TRAIN, now);
    ck_assert_int_eq(a.state, PK_GO);
    for (; a.state != PK_STOPPED && trains < 100; trains++, seq += TRAIN) {
        now += 250 * MS;
        ck_assert(pk_advance_may(&a, &tuple, now));
        pk_advance_train(&a, &tuple, seq, seq + TRAIN, now);
        pk_advance_again(&a, &tuple, seq, SEGMENT, now + 200 * MS);
        pk_advance_acknowledged(&a, &tuple, seq + TRAIN, now + 240 * MS);
        if (trains == 10) { /* one that is proven: from here on again */
            now += 250 * MS;
            seq += TRAIN;
            pk_advance_train(&a, &tuple, seq, seq + TRAIN, now);
            pk_advance_acknowledged(&a, &tuple, seq + TRAIN, now);
        }
    }
    ck_assert_int_eq(a.state, PK_STOPPED);
    ck_assert_uint_eq(trains, 11 + PK_VAIN + PK_TRIALS);
    ck_assert_uint_eq(a.stops, 1);
}
END_TEST

/* ---- trials that show nothing ------------------------------------------------------------------------------------ */

static const struct pk_tuple tried = { .from[15] = 1, .to[15] = 2, .from_port = 80, .to_port = 1000 };
enum { TRIED_AT = 100000 };

/* A session, and the train of its first trial. */
static void begin_trial(struct pk_advance *a) {
    *a = (struct pk_advance){ .used = 0 };
    pk_advance_begin(a);
    ck_assert(pk_advance_may(a, &tried, SECOND));
    pk_advance_train(a, &tried, TRIED_AT, TRIED_AT + TRAIN, SECOND);
    ck_assert(pk_advance_waits(a, &tried, TRIED_AT + TRAIN));
}

/* Nothing waits, and what is acknowledged is no proof. */
static void trial_is_over(struct pk_advance *a, unsigned failed) {
    ck_assert(!pk_advance_waits(a, &tried, TRIED_AT + TRAIN));
    pk_advance_acknowledged(a, &tried, TRIED_AT + TRAIN, SECOND + 900 * MS);
    ck_assert_int_eq(a->state, PK_TRIED);
    ck_assert_uint_eq(a->proofs, 0);
    ck_assert_uint_eq(a->failed, failed);
}

/* The server sends again what was before the trial's train and, in the same piece, what was in it. */
START_TEST(test_what_is_sent_again_ends_in_the_train) {
    struct pk_advance a;
    begin_trial(&a);
    ck_assert(pk_advance_again(&a, &tried, TRIED_AT - 10000, 10001, SECOND + 50 * MS));
    trial_is_over(&a, 1);
}
END_TEST

/* What was before the train was lost, and its client says so: the server sends that again, and the train is a proof. */
START_TEST(test_what_was_before_the_train_is_lost) {
    struct pk_advance a;
    begin_trial(&a);
    ck_assert(!pk_advance_again(&a, &tried, TRIED_AT - 20000, SEGMENT, SECOND + 2 * MS));
    pk_advance_acknowledged(&a, &tried, TRIED_AT - 10000, SECOND + 600 * MS);
    ck_assert(!pk_advance_again(&a, &tried, TRIED_AT - 10000, 10000, SECOND + 640 * MS));
    ck_assert(pk_advance_waits(&a, &tried, TRIED_AT + TRAIN));
    pk_advance_acknowledged(&a, &tried, TRIED_AT + TRAIN, SECOND + 1200 * MS);
    ck_assert_int_eq(a.state, PK_GO);
    ck_assert_uint_eq(a.proofs, 1);
}
END_TEST

/* Its client can't say so, since it names the train beside it. */
START_TEST(test_nothing_is_heard_of_what_was_before_the_train) {
    struct pk_advance a;
    begin_trial(&a);
    pk_advance_acknowledged(&a, &tried, TRIED_AT - 10000, SECOND + 4 * MS);
    ck_assert(pk_advance_again(&a, &tried, TRIED_AT - 10000, SEGMENT, SECOND + 204 * MS));
    trial_is_over(&a, 1);
}
END_TEST

/* What is behind the train waits here; the client has it, so packets went by us, and what follows TCP has seen them. */
START_TEST(test_packets_that_went_by) {
    struct pk_advance a;
    begin_trial(&a);
    pk_advance_acknowledged(&a, &tried, TRIED_AT + TRAIN + SEGMENT, SECOND + 50 * MS);
    trial_is_over(&a, 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: whether connections go on");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 0);
    tcase_add_loop_test(t, test_a_link_that_loses_things_is_no_reason, 0, sizeof good / sizeof *good);
    tcase_add_test(t, test_clients_that_have_gone_are_no_reason);
    tcase_add_test(t, test_what_is_sent_again_ends_in_the_train);
    tcase_add_test(t, test_what_was_before_the_train_is_lost);
    tcase_add_test(t, test_nothing_is_heard_of_what_was_before_the_train);
    tcase_add_test(t, test_packets_that_went_by);
    tcase_add_test(t, test_trains_that_all_have_to_be_sent_again);
    tcase_add_loop_test(t, test_a_device_that_follows_tcp, 0, sizeof bad / sizeof *bad);
    suite_add_tcase(s, t);
    return run_suite(s);
}
