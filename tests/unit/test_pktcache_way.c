/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pktcache_way.c - whether packets get there: connections that go on or stand still after trains, over a link that
 * is simulated; connections that don't come about; what the rules of a filter say.
 */
#include "pktcache/pk_advance.h"
#include "pktcache/pk_begun.h"
#include "pktcache/pk_filter.h"
#include "pktcache/pk_way.h"
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
    bool gone;   /* clients say nothing more */
    bool serial; /* one connection after another, of one client */
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

static void begin_flow(struct pk_advance *a, const struct link *l, unsigned i, uint64_t now) {
    static uint16_t port = 1000;
    flow[i] = (struct flow){ .una = dice(UINT32_MAX), .next = now + dice(200) * MS, .begun_at = now };
    flow[i].end = flow[i].got = flow[i].seen = flow[i].una;
    flow[i].tuple.from[15] = 1;
    flow[i].tuple.to[15] = (uint8_t)(i % l->clients);
    flow[i].tuple.from_port = htons(80);
    flow[i].tuple.to_port = htons(port++);
    pk_advance_asks(a, &flow[i].tuple, now);
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
    if (train) pk_advance_train(a, &f->tuple, f->end, now);
    if (lost(l)) return;
    f->got = f->end;
    if (!train) f->seen = f->end;
    answer(l, f, now);
}

static void again(struct pk_advance *a, const struct link *l, struct flow *f, uint64_t now) {
    pk_advance_again(a, &f->tuple, f->una, now);
    f->sent_at = now;
    f->rto *= 2;
    if (lost(l)) return;
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
                    if (!l->gone && !dice(4)) begin_flow(a, l, i, now);
                    else if (!l->gone) pk_advance_asks(a, &f->tuple, now);
                }
            }
            if (f->waits && now >= f->sent_at + f->rto) again(a, l, f, now);
            else if (!f->waits && now >= f->next) respond(a, l, f, now);
            /* Who waits for long tries again, by a connection of its own. */
            if (l->stateful && f->waits && now >= f->begun_at + 5 * SECOND) begin_flow(a, l, i, now);
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
    for (unsigned i = 0; i < l->flows; i++) begin_flow(a, l, i, SECOND);
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
    run(&a, &l, now, now + 100 * SECOND);
    ck_assert_uint_eq(a.stops, 0);
    unsigned flows;
    pk_advance_still(&a, &flows, now + 10 * SECOND);
    ck_assert_uint_gt(flows, 2);
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
        for (unsigned i = 0; i < l.flows; i++) begin_flow(&a, &l, i, now);
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
            /* One connection is hurt by that, not more. */
            now = run(&a, &l, now, now + 60 * (uint64_t)SECOND);
            ck_assert_uint_eq(a.stops, (unsigned)tries + 2);
            for (unsigned i = 0; i < l.flows; i++) broken += flow[i].waits && now > flow[i].sent_at + 2 * SECOND;
            ck_assert_uint_le(broken, 1);
        }
        /* The device is taken away: the next try is a proof. */
        l.stateful = false;
        for (unsigned i = 0; i < l.flows; i++) begin_flow(&a, &l, i, now);
        now = run(&a, &l, now, a.until + 10 * SECOND);
        ck_assert_int_eq(a.state, PK_GO);
    }
}
END_TEST

/* ---- connections that don't come about --------------------------------------------------------------------------- */

static uint64_t look_for(struct pk_way *w, const struct pk_way_news *n, const struct pk_sights *s, uint64_t now,
                         uint64_t most) {
    for (uint64_t end = now + most; now < end; now += 100 * MS)
        if (pk_way_look(w, n, s, now)) return now;
    return now;
}

START_TEST(test_nothing_comes_to_the_device) {
    struct pk_way w = { .why = PK_WHY_NOTHING };
    struct pk_way_news none = { .came = false }, came = { .came = true }, goes_on = { .came = true, .goes_on = true };
    uint64_t now = 100 * SECOND;
    struct pk_sights s = { .due = 1, .due_first = now, .due_last = now };
    ck_assert(!pk_way_look(&w, &none, &s, now));
    /* one packet, on several devices of the machine */
    s = (struct pk_sights){ .due = 9, .due_first = now, .due_last = now + 50 * MS };
    ck_assert_uint_eq(look_for(&w, &none, &s, now, 5 * SECOND), now + 5 * SECOND);
    s = (struct pk_sights){ .due = 3, .due_first = now, .due_last = now + 2 * SECOND };
    ck_assert(!pk_way_look(&w, &came, &s, now + 3 * SECOND));
    for (uint64_t wait = 30 * SECOND, tries = 0; tries < 9; tries++) {
        now += 3 * SECOND;
        s.due_first = now - 2 * SECOND;
        s.due_last = now;
        ck_assert(pk_way_look(&w, &none, &s, now));
        ck_assert_int_eq(w.why, PK_WHY_FILTERED);
        uint64_t again = look_for(&w, &none, &s, now + 100 * MS, 4000 * (uint64_t)SECOND);
        ck_assert_uint_eq(again - now, wait);
        ck_assert_int_eq(w.why, PK_WHY_NOTHING);
        now = again;
        wait = 2 * wait < 1800 * (uint64_t)SECOND ? 2 * wait : 1800 * (uint64_t)SECOND;
    }
    ck_assert(!pk_way_look(&w, &goes_on, &s, now));
    ck_assert_uint_eq(w.wait, 0);
}
END_TEST

START_TEST(test_nobody_answers) {
    struct pk_way w = { .why = PK_WHY_NOTHING };
    struct pk_way_news one = { .came = true, .alone = 1, .again = 4 }, two = { .came = true, .alone = 2, .again = 2 },
                       five = { .came = true, .again = 5 }, none = { .came = false };
    struct pk_sights s = { .due = 0 };
    uint64_t now = 100 * SECOND;
    ck_assert(!pk_way_look(&w, &one, &s, now));
    /* The servers are dead: a new connection is not answered without the device, either. */
    ck_assert(pk_way_look(&w, &two, &s, now));
    ck_assert_int_eq(w.why, PK_WHY_LOOKS);
    s = (struct pk_sights){ .begun = 1, .begun_at = now + SECOND };
    now = look_for(&w, &none, &s, now, 60 * SECOND);
    ck_assert_uint_eq(now, 104 * SECOND);
    ck_assert_int_eq(w.why, PK_WHY_NOTHING);
    uint64_t again = look_for(&w, &two, &(struct pk_sights){ .due = 0 }, now, 60 * SECOND);
    ck_assert_uint_eq(again - now, 10 * SECOND); /* not at once */
    /* Nobody tries: not for ever, either. */
    now = look_for(&w, &none, &(struct pk_sights){ .due = 0 }, again, 60 * SECOND);
    ck_assert_uint_eq(now - again, 10 * SECOND);
    again = look_for(&w, &five, &(struct pk_sights){ .due = 0 }, now, 60 * SECOND);
    ck_assert_uint_eq(again - now, 20 * SECOND);
    s = (struct pk_sights){ .begun = 2, .begun_at = again + SECOND, .done = 1, .done_at = again + SECOND };
    now = look_for(&w, &none, &s, again + SECOND, 60 * SECOND);
    ck_assert_uint_eq(now, again + 2 * SECOND);
    ck_assert_int_eq(w.why, PK_WHY_UNANSWERED);
    ck_assert_uint_eq(look_for(&w, &none, &s, now, 60 * SECOND) - now, 30 * SECOND);
}
END_TEST

/*
 * What is in the way at one end must not be taken for something at the other, too, when connections come about as soon
 * as the one stands aside.
 */
START_TEST(test_the_other_end_is_to_blame) {
    struct pk_way w = { .why = PK_WHY_NOTHING };
    struct pk_way_news five = { .came = true, .again = 5 }, other = { .came = true, .again = 7, .other = true },
                       ours = { .came = true, .alone = 2, .other = true };
    struct pk_sights s = { .due = 0 };
    uint64_t now = 100 * SECOND;
    ck_assert(!pk_way_look(&w, &other, &s, now));
    ck_assert(pk_way_look(&w, &five, &s, now));
    s = (struct pk_sights){ .begun = 2, .begun_at = now, .done = 1, .done_at = now };
    ck_assert(!pk_way_look(&w, &five, &s, now + 900 * MS));
    ck_assert(pk_way_look(&w, &other, &s, now + SECOND));
    ck_assert_int_eq(w.why, PK_WHY_NOTHING);
    /* But a SYN that no server answers has passed the other end. */
    ck_assert(pk_way_look(&w, &ours, &s, now + 2 * SECOND));
    ck_assert(pk_way_look(&w, &ours, &s, now + 3 * SECOND));
    ck_assert_int_eq(w.why, PK_WHY_UNANSWERED);
}
END_TEST

/* A daemon that is stopped answers nothing, and connections come about without this end's device, too. */
START_TEST(test_the_other_end_was_stopped) {
    struct pk_way w = { .why = PK_WHY_NOTHING };
    struct pk_way_news five = { .came = true, .again = 5, .unheard = true }, heard = { .came = true },
                       ours = { .came = true, .alone = 2, .unheard = true };
    struct pk_sights s = { .due = 0 };
    uint64_t now = 100 * SECOND;
    ck_assert(pk_way_look(&w, &five, &s, now));
    s = (struct pk_sights){ .begun = 2, .begun_at = now, .done = 1, .done_at = now };
    ck_assert(pk_way_look(&w, &five, &s, now + SECOND));
    ck_assert_int_eq(w.why, PK_WHY_UNANSWERED);
    ck_assert(!pk_way_look(&w, &five, &s, now + 5 * SECOND));
    ck_assert(pk_way_look(&w, &heard, &s, now + 6 * SECOND));
    ck_assert_int_eq(w.state, PK_LED);
    ck_assert_int_eq(w.why, PK_WHY_NOTHING);
    /*
     * A SYN that no server answers has passed the other end; and who was heard when it was judged changes nothing by
     * being heard.
     */
    ck_assert(pk_way_look(&w, &ours, &s, now + 7 * SECOND));
    ck_assert(pk_way_look(&w, &ours, &s, now + 8 * SECOND));
    ck_assert_uint_eq(look_for(&w, &heard, &s, now + 8 * SECOND, 100 * SECOND), now + 68 * SECOND);
}
END_TEST

/* Ten looks a second, each after `each` has happened to these sides; what the last one tells. */
static unsigned tell(struct pk_vain *v, struct pk_tries *sum, const struct pk_tries *each, unsigned looks,
                     uint64_t *now, bool alone) {
    for (; looks; looks--, *now += 100 * MS) {
        pk_tries_add(sum, each);
        pk_vain_look(v, sum, *now);
    }
    return alone ? pk_vain_alone(v, *now) : pk_vain_again(v, *now);
}

/*
 * Three packets of one client turned the cache off for half a minute: SYNs of a thousand a second are nothing as long
 * as servers answer others, by whatever queue; and what was in vain by one way is nothing against the next.
 */
START_TEST(test_what_is_in_vain_while_others_are_answered) {
    const struct pk_tries flood = { .asked = 100, .answers = 1 }, late = { .asked = 100, .unheard = 100, .news = 1 },
                          silence = { .asked = 0 }, one = { .asked = 1 }, heard = { .unheard = 2, .answers = 2 };
    struct pk_vain v = { .alone = 0 };
    struct pk_tries sum = { .asked = 0 };
    uint64_t now = 100 * SECOND;
    ck_assert_uint_eq(tell(&v, &sum, &flood, 600, &now, true), 0);
    v = (struct pk_vain){ .before = sum };
    ck_assert_uint_eq(tell(&v, &sum, &late, 600, &now, false), 0);
    ck_assert_uint_eq(tell(&v, &sum, &late, 600, &now, true), 0);
    /* A burst in a moment without an answer. */
    tell(&v, &sum, &(struct pk_tries){ .asked = 1000, .unheard = 1000 }, 1, &now, true);
    ck_assert_uint_eq(tell(&v, &sum, &silence, 3, &now, true) + tell(&v, &sum, &silence, 0, &now, false), 0);
    tell(&v, &sum, &(struct pk_tries){ .answers = 1, .news = 1 }, 1, &now, true);
    ck_assert_uint_eq(tell(&v, &sum, &silence, 100, &now, true) + tell(&v, &sum, &silence, 0, &now, false), 0);
    /* One connection whose SYN comes again after one second, and after two. */
    ck_assert_uint_lt(tell(&v, &sum, &one, 1, &now, true), 2);
    ck_assert_uint_lt(tell(&v, &sum, &silence, 9, &now, true), 2);
    ck_assert_uint_eq(tell(&v, &sum, &one, 1, &now, true), 2);
    /* Servers answer, and are not heard. */
    ck_assert_uint_eq(tell(&v, &sum, &heard, 1, &now, true), 0);
    ck_assert_uint_eq(tell(&v, &sum, &heard, 6, &now, false), 2 + 7 * 2);
    pk_vain_forget(&v);
    ck_assert_uint_eq(tell(&v, &sum, &silence, 100, &now, false), 0);
}
END_TEST

START_TEST(test_rules_that_let_nothing_pass) {
    struct pk_way w = { .why = PK_WHY_NOTHING };
    struct pk_way_news closed = { .closed = true }, open = { .closed = false };
    struct pk_sights s = { .due = 0 };
    uint64_t now = 100 * SECOND;
    ck_assert(pk_way_look(&w, &closed, &s, now));
    ck_assert_uint_eq(look_for(&w, &closed, &s, now, 1000 * (uint64_t)SECOND) - now, 1000 * (uint64_t)SECOND);
    ck_assert_int_eq(w.why, PK_WHY_FILTERED);
    now += 1000 * (uint64_t)SECOND;
    ck_assert_uint_le(look_for(&w, &open, &s, now, 60 * SECOND) - now, 10 * SECOND);
    ck_assert_int_eq(w.why, PK_WHY_NOTHING);
}
END_TEST

/* ---- rules ------------------------------------------------------------------------------------------------------- */

#define FILTER(policy, rules)                                                                                          \
    "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD " policy " [12:3456]\n:OUTPUT ACCEPT [0:0]\n" rules "COMMIT\n"
#define BOTH "-A FORWARD -i in0 -o link0 -j ACCEPT\n-A FORWARD -i link0 -o in0 -j ACCEPT\n"

#define LONG                                                                                                           \
    "a long comment, as some put it before their rules, so that nobody has to ask whose this one is or what it is "    \
    "for, even in some years; it was made when the link was, by those who "
#define SAYS(words) " -m comment --comment \"" words "\""

static const struct {
    const char *rules;
    bool closed;
} filters[] = {
    { "", false },
    { "nonsense", false },
    { FILTER("ACCEPT", ""), false },
    { FILTER("DROP", ""), true },
    { FILTER("DROP", BOTH), true },
    { FILTER("ACCEPT", BOTH), false },
    { FILTER("ACCEPT", BOTH "-A FORWARD -j DROP\n"), true },
    { FILTER("ACCEPT", BOTH "-A FORWARD -j REJECT --reject-with icmp-port-unreachable\n"), true },
    { FILTER("ACCEPT", "-A FORWARD -i in0 -j DROP\n"), false },
    { FILTER("ACCEPT", "-A FORWARD -j ACCEPT\n-A FORWARD -j DROP\n"), false },
    { FILTER("DROP", "-A INPUT -j ACCEPT\n"), true },
    { "*nat\n:FORWARD DROP [0:0]\nCOMMIT\n", false },
    { FILTER("DROP", BOTH "-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n"), false },
    { FILTER("DROP", BOTH "-A FORWARD -i fgpktcache0 -j ACCEPT\n"), false },
    { FILTER("DROP", "-A FORWARD -i fgpktcache0 -o in0 -j ACCEPT\n"), true },
    { FILTER("DROP", "-A FORWARD -i fgpk+ -o in0 -j ACCEPT\n-A FORWARD -o fgpk+ -i in0 -j ACCEPT\n"), false },
    { FILTER("DROP", "-A FORWARD ! -i in0 -j ACCEPT\n"), false },
    { FILTER("DROP",
             "-A FORWARD -i in0 -o link0 -j DOCKER\n-A FORWARD -i x0 -j LOG\n-A FORWARD -j LOG --log-prefix \"-o \"\n"),
      true },
    { FILTER("DROP", "-A FORWARD -j DOCKER\n"), false },
    { FILTER("DROP", "-A FORWARD -o fgpktcache -j ACCEPT\n-A FORWARD -i fgpktcache01 -j ACCEPT\n"), false },
    /* What is not known may let something pass: the end of a rule, the rest of the rules. */
    { FILTER("DROP", "-A FORWARD -i fgpktcache0" SAYS(LONG LONG) " -j ACCEPT\n-A FORWARD -o fgpktcache0" SAYS(
                         LONG LONG) " -j ACCEPT\n"),
      false },
    { FILTER("DROP", "-A FORWARD -i in0 -o link0" SAYS(LONG LONG) " -j ACCEPT\n"), true },
    { "*filter\n:FORWARD DROP [1:2]\n" BOTH "-A FORWARD -i fgpktc", false },
    { FILTER("DROP", "-A FORWARD -i fgpktcache0" SAYS(
                         "not -j DROP any more, \\\" see -j LOG") " -j ACCEPT\n-A FORWARD -o "
                                                                  "fgpktcache0" SAYS(" -j DROP ") " -j ACCEPT\n"),
      false }
};

START_TEST(test_what_rules_let_pass) {
    ck_assert_msg(pk_filter_closed(filters[_i].rules, "fgpktcache0") == filters[_i].closed, "%s", filters[_i].rules);
}
END_TEST

#define NAT(rules) "*nat\n:POSTROUTING ACCEPT [0:0]\n" rules "COMMIT\n"

static const struct {
    const char *rules, *rule;
} translations[] = { { NAT(""), NULL },
                     { NAT("-A POSTROUTING -o in0 -j MASQUERADE\n"), "-A POSTROUTING -o in0 -j MASQUERADE" },
                     { "*filter\n-A POSTROUTING -j MASQUERADE\nCOMMIT\n", NULL },
                     { NAT("-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE\n"), NULL },
                     { NAT("-A POSTROUTING -s 10.0.0.0/8 -j SNAT --to-source 1.2.3.4\n"), "10.0.0.0/8" },
                     { NAT("-A PREROUTING -d 10.8.1.9/32 -p tcp -j DNAT --to-destination 10.8.1.2\n"), "10.8.1.9" },
                     { NAT("-A PREROUTING -d 10.9.1.9/32 -p tcp -j DNAT --to-destination 10.8.1.2\n"), NULL },
                     { NAT("-A POSTROUTING ! -s 172.17.0.0/16 -j MASQUERADE\n"), "172.17" },
                     { NAT("-A POSTROUTING -s fd08:1::/32 -j MASQUERADE\n"), "fd08" },
                     { NAT("-A POSTROUTING -s fd09::/32 -j MASQUERADE\n"), NULL },
                     { NAT("-A POSTROUTING -j ACCEPT\n"), NULL } };

START_TEST(test_which_rule_translates) {
    static const struct pk_config c = {
        .server = { { { { [10] = 0xff, [11] = 0xff, 10, 8, 1 }, 120 }, { { 0xfd, 8, 0, 1 }, 64 } }, 2 },
        .client = { { { { [10] = 0xff, [11] = 0xff, 10, 8, 3 }, 120 }, { { 0xfd, 8, 0, 3 }, 64 } }, 2 }
    };
    char rule[PK_RULE_MAX];
    bool found = pk_filter_translates(translations[_i].rules, &c, rule);
    ck_assert_msg(found == !!translations[_i].rule, "%s", translations[_i].rules);
    if (found) ck_assert_ptr_nonnull(strstr(rule, translations[_i].rule));
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: whether packets get there");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 0);
    tcase_add_loop_test(t, test_a_link_that_loses_things_is_no_reason, 0, sizeof good / sizeof *good);
    tcase_add_test(t, test_clients_that_have_gone_are_no_reason);
    tcase_add_loop_test(t, test_a_device_that_follows_tcp, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, test_nothing_comes_to_the_device);
    tcase_add_test(t, test_nobody_answers);
    tcase_add_test(t, test_the_other_end_is_to_blame);
    tcase_add_test(t, test_the_other_end_was_stopped);
    tcase_add_test(t, test_what_is_in_vain_while_others_are_answered);
    tcase_add_test(t, test_rules_that_let_nothing_pass);
    tcase_add_loop_test(t, test_what_rules_let_pass, 0, sizeof filters / sizeof *filters);
    tcase_add_loop_test(t, test_which_rule_translates, 0, sizeof translations / sizeof *translations);
    suite_add_tcase(s, t);
    return run_suite(s);
}
