/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pktcache_trains.c - connections whose packets go in trains: what is lost, sent again, or out of order. */
#include "pktcache_world.h"

#include "run_suite.h"

/* Stream 0 of a pair at work, over HTTP; nothing of it was sent yet. */
static struct stream *first_stream(struct scenario *s, int number) {
    s->keep = PK_KEEP_HTTP;
    setup(s, number);
    go_on(1000000);
    trust(s);
    return asked_stream(0, NULL);
}

/* It went by once, so that all of another one with its bytes is known. */
static struct stream *first_that_came(struct scenario *s, int number) {
    struct stream *first = first_stream(s, number);

    from_server(first, 0, first->n, s->mss);
    go_on(5000);
    ck_assert_uint_eq(first->acked, first->n);
    return first;
}

/* Stream i, of bytes that are known: its trains are lost, and so its client can have none of it. */
static struct stream *stream_that_is_lost(const struct scenario *s, int i, const struct stream *as) {
    struct stream *t = asked_stream(i, as);

    from_server(t, 0, t->n, s->mss);
    for (int turn = 0; turn < 10; turn++, w.now += ROUND) {
        while (lose_one(&w.down, PK_TRAIN)) {}
        run_down();
        run_up();
    }
    ck_assert_uint_eq(t->acked, 0);
    return t;
}

/* A server sends again what was lost together with what is new: the connection was not followed any more. */
START_TEST(test_what_is_half_new_is_followed) {
    struct scenario s = quiet("half new");
    struct stream *first = first_stream(&s, 21);
    for (uint32_t at = 0, n; at < first->n; at += n) {
        uint32_t back = at ? 1 + dice(at < 3000 ? at : 3000) : 0; /* not at the end of a segment, either */
        n = first->n - at < 5000 ? first->n - at : 5000;
        from_server(first, at - back, n + back, s.mss);
        go_on(2000);
    }
    ck_assert_uint_eq(first->acked, first->n);
    ck_assert_uint_eq(w.parent.side->counters.lost, 0);
    uint64_t saved = w.parent.side->counters.saved;
    struct stream *second = asked_stream(1, first);
    for (uint32_t at = 0, n; at < second->n; at += n) {
        n = second->n - at < 20000 ? second->n - at : 20000;
        from_server(second, at, n, s.mss);
        go_on(2000);
    }
    ck_assert_uint_eq(second->acked, second->n);
    ck_assert_uint_ge(w.parent.side->counters.saved - saved, second->n * 9 / 10);
    teardown();
}
END_TEST

/* A train is lost; its first segment, which the server sends again, brings all of it. */
START_TEST(test_a_lost_train_goes_once_more) {
    struct scenario s = quiet("lost train");
    struct stream *second = stream_that_is_lost(&s, 1, first_that_came(&s, 22));
    from_server(second, 0, s.mss, s.mss);
    go_on(5000);
    ck_assert_uint_eq(second->acked, second->n);
    /* Only once. */
    uint64_t before = w.parent.side->counters.datagrams_out;
    from_server(second, s.mss, s.mss, s.mss);
    ck_assert_uint_eq(w.parent.side->counters.datagrams_out, before);
    teardown();
}
END_TEST

/*
 * What the server sends again of it does not cross as packets as well; what it sends once more does, and so does what
 * its timer may have made it send, which should not have to run twice.
 */
START_TEST(test_what_a_lost_train_stands_for_does_not_cross) {
    struct scenario s = quiet("lost train, all of it again");
    struct stream *first = first_that_came(&s, 24), *second;
    for (int late = 0; late < 2; late++) {
        struct pk_counters *c = &w.parent.side->counters;
        second = stream_that_is_lost(&s, late ? 4 : 1, first);
        if (late) go_on(300000);
        uint64_t packets = c->native_bytes, again = c->again;
        for (uint32_t at = 0, n; at < second->n; at += n) {
            n = second->n - at < 4 * s.mss ? second->n - at : 4 * s.mss;
            from_server(second, at, n, s.mss);
            go_on(1000);
        }
        ck_assert_uint_eq(second->acked, second->n);
        ck_assert_uint_eq(c->again - again, (second->n + s.mss - 1) / s.mss);
        if (late) ck_assert_uint_ge(c->native_bytes - packets, second->n);
        else ck_assert_uint_le(c->native_bytes - packets, 5 * s.mss); /* the answer's header, and what is at two ends */
        packets = c->native_bytes;
        from_server(second, 4 * s.mss, 2 * s.mss, s.mss);
        ck_assert_uint_ge(c->native_bytes - packets, 2 * s.mss);
    }
    teardown();
}
END_TEST

/* Another connection of the same two ports and numbers, with bytes of its own, gets no train of the old one. */
START_TEST(test_an_old_train_is_no_other_connections) {
    struct scenario s = quiet("the same ports again");
    struct stream *old = asked_stream(1, first_that_came(&s, 26)), *fresh;
    from_server(old, 0, old->n, s.mss);
    go_on(5000);
    ck_assert_uint_eq(old->acked, old->n);
    fresh = w.stream + 4;
    begin_stream(fresh);
    fresh->client = old->client;
    fresh->port = old->port;
    fresh->first = old->first;
    for (uint32_t i = 0; i < fresh->n; i++) fresh->data[i] = (uint8_t)dice(256);
    old->used = false;
    ask(fresh);
    from_server(fresh, 0, 10 * s.mss, s.mss);
    lose(&w.down);
    from_server(fresh, 2 * s.mss, 2 * s.mss, s.mss);
    from_server(fresh, 0, 10 * s.mss, s.mss);
    go_on(5000);
    ck_assert_uint_eq(fresh->acked, 10 * s.mss);
    teardown();
}
END_TEST

/* Numbers come again after 4 GB, which pass in seven seconds: by then no train is what a server sends again. */
START_TEST(test_an_old_train_does_not_go_again) {
    struct scenario s = quiet("long ago");
    struct stream *first = first_that_came(&s, 27), *second;
    for (int late = 0; late < 2; late++) {
        second = asked_stream(4 + late, first);
        from_server(second, 0, second->n, s.mss);
        go_on(late ? 6000000 : 3000000);
        ck_assert_uint_eq(second->acked, second->n);
        uint64_t before = w.parent.side->counters.datagrams_out;
        from_server(second, 2 * s.mss, s.mss, s.mss);
        ck_assert_uint_eq(w.parent.side->counters.datagrams_out - before, !late);
    }
    teardown();
}
END_TEST

/* What the link has carried of a stream so far. */
static uint64_t carried(void) {
    const struct pk_counters *c = &w.parent.side->counters;
    return c->native_bytes + c->datagram_bytes_out;
}

/* Half of a file is new, and of each third piece all is lost, with what tells the child which blocks it belongs to. */
START_TEST(test_blocks_of_what_is_lost_are_told_again) {
    struct scenario s = quiet("half a file is new");
    struct stream *second = asked_stream(1, first_that_came(&s, 28));
    for (uint32_t at = 1000; at + 3000 < second->n; at += 6000)
        for (uint32_t i = 0; i < 3000; i++) second->data[at + i] = (uint8_t)dice(256);
    for (uint32_t at = 0, n, i = 0; at < second->n; at += n, i++) {
        n = second->n - at < 5 * s.mss ? second->n - at : 5 * s.mss;
        from_server(second, at, n, s.mss);
        if (i % 3 == 1) lose(&w.down);
        go_on(2000);
    }
    while (second->acked < second->n) {
        uint32_t left = second->n - second->acked;
        from_server(second, second->acked, left < s.mss ? left : s.mss, s.mss);
        go_on(2000);
    }
    uint64_t before = carried(), wanted = w.parent.side->counters.wanted;
    struct stream *third = asked_stream(6, second);
    from_server(third, 0, third->n, s.mss);
    go_on(1000000);
    ck_assert_uint_eq(third->acked, third->n);
    ck_assert_uint_le(carried() - before, third->n / 10);
    ck_assert_uint_le(w.parent.side->counters.wanted - wanted, 2);
    teardown();
}
END_TEST

/* Stream 0, that went by once in a session in which no train was proven yet. */
static struct stream *first_of_a_session(struct scenario *s, int number) {
    s->keep = PK_KEEP_HTTP;
    setup(s, number);
    go_on(1000000);
    struct stream *first = asked_stream(0, NULL);
    from_server(first, 0, first->n, s->mss);
    go_on(5000);
    ck_assert_uint_eq(first->acked, first->n);
    return first;
}

/*
 * What is tried shows nothing when packets have passed: it goes as packets itself, what waited behind it goes, and its
 * acknowledgement is no proof.
 */
START_TEST(test_packets_that_pass_leave_no_trial) {
    struct scenario s = quiet("passed");
    const struct pk_counters *c;
    struct stream *first = first_of_a_session(&s, 29), *second;
    c = &w.parent.side->counters;
    for (int passes = 1; passes >= 0; passes--) {
        second = asked_stream(1 + passes, first);
        uint64_t packets = c->native_bytes;
        from_server(second, 0, 4 * s.mss, s.mss);
        from_server(second, 4 * s.mss, 4 * s.mss, s.mss);
        ck_assert_uint_eq(c->native_bytes, packets);
        if (passes) {
            pk_side_passed(w.parent.side, w.now);
            pk_side_tick(w.parent.side, w.now);
            ck_assert_uint_ge(c->native_bytes - packets, 8 * s.mss);
        }
        go_on(5000);
        ck_assert_uint_ge(second->acked, 4 * s.mss);
        acknowledge(second);
        pk_side_tick(w.parent.side, w.now);
        ck_assert_uint_eq(c->advanced, !passes);
    }
    teardown();
}
END_TEST

/* Something was lost before what is tried: its server sends that again, and what was tried is a proof. */
START_TEST(test_a_loss_before_a_trial_is_no_failure) {
    struct scenario s = quiet("lost before it");
    const struct pk_counters *c;
    struct stream *first = first_of_a_session(&s, 30), *second;
    c = &w.parent.side->counters;
    second = asked_stream(1, first);
    for (uint32_t i = 1000; i < 6 * s.mss; i++) second->data[i] = (uint8_t)dice(256);
    from_server(second, 0, 6 * s.mss, s.mss);
    lose(&w.down);
    uint64_t packets = c->native_bytes;
    from_server(second, 6 * s.mss, 4 * s.mss, s.mss);
    ck_assert_uint_lt(c->native_bytes - packets, 2 * s.mss); /* the end of a block that is new */
    packets = c->native_bytes;
    from_server(second, 0, 6 * s.mss, s.mss);
    go_on(5000);
    ck_assert_uint_lt(c->native_bytes - packets, 7 * s.mss);
    ck_assert_uint_eq(second->acked, 10 * s.mss);
    acknowledge(second);
    pk_side_tick(w.parent.side, w.now);
    ck_assert_uint_eq(c->advanced, 1);
    teardown();
}
END_TEST

/* The link loses the train of a trial: it has gone twice. */
START_TEST(test_a_trial_outlives_a_loss) {
    struct scenario s = quiet("one of two");
    struct stream *first = first_of_a_session(&s, 32), *second;
    second = asked_stream(1, first);
    from_server(second, 0, 4 * s.mss, s.mss);
    ck_assert(lose_one(&w.down, PK_TRAIN));
    go_on(5000);
    ck_assert_uint_eq(second->acked, 4 * s.mss);
    acknowledge(second);
    pk_side_tick(w.parent.side, w.now);
    ck_assert_uint_eq(w.parent.side->counters.advanced, 1);
    teardown();
}
END_TEST

/* What was tried is sent again: it goes as packets, and the connection is left alone for two seconds. */
START_TEST(test_a_trial_that_failed_is_not_repeated_soon) {
    struct scenario s = quiet("not soon");
    const struct pk_counters *c;
    struct stream *first = first_of_a_session(&s, 31), *second;
    c = &w.parent.side->counters;
    second = asked_stream(1, first);
    from_server(second, 0, 4 * s.mss, s.mss);
    lose(&w.down);
    go_on(200000);
    from_server(second, 0, s.mss, s.mss);
    go_on(5000);
    ck_assert_uint_eq(second->acked, 4 * s.mss);
    for (uint32_t at = 4, late = 0; late < 3; at += 4, late++) {
        uint64_t packets = c->native_bytes;
        from_server(second, at * s.mss, 4 * s.mss, s.mss);
        if (late < 2) ck_assert_uint_ge(c->native_bytes - packets, 4 * s.mss);
        else ck_assert_uint_eq(c->native_bytes, packets);
        go_on(5000);
        acknowledge(second);
        go_on(1100000);
    }
    pk_side_tick(w.parent.side, w.now);
    ck_assert_uint_eq(c->advanced, 1);
    teardown();
}
END_TEST

/*
 * Something that a train names is not there: the trains behind it wait, too, so that the client gets all in its order,
 * and what they lack is asked for at the same time.
 */
START_TEST(test_trains_wait_in_their_order) {
    struct scenario s = quiet("order");
    s.way = 20000;
    struct stream *first = first_stream(&s, 23);
    from_server(first, 0, first->n, s.mss);
    for (int i = 0; i < 10; i++, w.now += ROUND) { /* the child is told nothing */
        while (lose_one(&w.down, PK_TRAIN)) {}
        run_down();
    }
    go_on(100000);
    /* The end went in a train. */
    if (first->acked < first->n) from_server(first, first->acked, first->n - first->acked, s.mss);
    go_on(100000);
    ck_assert_uint_eq(first->acked, first->n);
    struct stream *second = asked_stream(1, first);
    uint64_t began = w.now;
    for (uint32_t at = 0, n, behind = 0; at < second->n; at += n) {
        n = second->n - at < 10000 ? second->n - at : 10000;
        from_server(second, at, n, s.mss);
        for (int i = 0; i < 10; i++) {
            go_on(ROUND);
            behind += memchr(second->got + second->acked, 1, second->n - second->acked) != NULL;
        }
        ck_assert_uint_eq(behind, 0);
    }
    while (second->acked < second->n && w.now < began + 1000000) {
        go_on(ROUND);
        ck_assert_ptr_null(memchr(second->got + second->acked, 1, second->n - second->acked));
    }
    ck_assert_uint_eq(second->acked, second->n);
    ck_assert_uint_ge(w.child.side->counters.recovered, 20);
    ck_assert_uint_le(w.now - began, 200000);
    teardown();
}
END_TEST

/*
 * A connection of which something was missing is followed again from its next request; what was said before is not
 * known then.
 */
START_TEST(test_a_joined_connection_may_have_been_authorized) {
    static const char answer[] = "HTTP/1.1 200 OK\r\nLast-Modified: x\r\nContent-Length: 900\r\n\r\n";
    char body[900] = "";
    const struct wire up = { .client = 7, .port = 777, .up = true, .flags = PK_ACK },
                      down = { .client = 7, .port = 777, .ack = 555, .flags = PK_ACK };
    struct wire h;
    uint32_t seq = 1000, ask = 555;

    setup(&(struct scenario){ .name = "joined",
                              .version = 4,
                              .mode = PK_MODE_TRAIN,
                              .keep = PK_KEEP_HTTP,
                              .mss = 1448,
                              .mtu = 1500,
                              .cache = 1 << 20 },
          99);
    for (int i = 0; i < 100; i++, w.now += ROUND) {
        run_down();
        run_up();
    }
    ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING);
    to_parent((h = up, h.flags = PK_SYN, h.seq = ask - 1, h), NULL, 0);
    to_parent((h = down, h.flags |= PK_SYN, h.seq = seq - 1, h), NULL, 0);
    for (int request = 0; request < 4; request++) {
        static const char *const requests[] = { "GET / HTTP/1.1\r\n\r\n",
                                                "GET / HTTP/1.1\r\nAuthorization: NTLM x\r\n\r\n" };
        const char *r = requests[request == 1];
        to_parent((h = up, h.seq = ask, h.ack = seq, h), r, (uint32_t)strlen(r));
        ask += (uint32_t)strlen(r);
        to_parent((h = down, h.seq = seq, h.ack = ask, h), answer, sizeof answer - 1);
        seq += sizeof answer - 1;
        if (request == 2) seq += 100; /* lost on its way to the parent */
        to_parent((h = down, h.seq = seq, h.ack = ask, h), body, sizeof body - (request == 2 ? 100 : 0));
        seq += sizeof body - (request == 2 ? 100 : 0);
        for (int i = 0; i < 100; i++, w.now += ROUND) {
            run_down();
            run_up();
        }
        ck_assert_msg(w.parent.side->counters.kept == 1, "after request %d: %lu", request,
                      (unsigned long)w.parent.side->counters.kept);
    }
    teardown();
}
END_TEST

/* ---- DSCP and ECN ------------------------------------------------------------------------------------------------ */

enum { EXPEDITED = 46 << 2, LOW = 8 << 2 };

/* Stream 1, all of which is known. */
static struct stream *known_stream(struct scenario *s, int version, int number) {
    s->version = version;
    return asked_stream(1, first_that_came(s, number));
}

/* The trains that are on their way; all of them with this DSCP and ECN. */
static unsigned trains_with(uint8_t tos) {
    unsigned n = 0;
    for (unsigned i = 0; i < w.down.n; i++) {
        if (!w.down.thing[i]->datagram || *w.down.thing[i]->bytes != PK_TRAIN) continue;
        ck_assert_uint_eq(w.down.thing[i]->tos, tos);
        n++;
    }
    return n;
}

static void all_came_with(const struct stream *s, uint32_t from, uint32_t to, uint8_t tos) {
    for (uint32_t i = from; i < to; i++)
        ck_assert_msg(s->got[i] && s->tos[i] == tos, "byte %u: %02x, not %02x", i, s->tos[i], tos);
}

static void mark_trains(uint8_t tos) {
    for (unsigned i = 0; i < w.down.n; i++)
        if (w.down.thing[i]->datagram && *w.down.thing[i]->bytes == PK_TRAIN) w.down.thing[i]->tos |= tos;
}

/* What changes within a connection, and what a queue of the link marks, as trains and as packets. */
START_TEST(test_packets_keep_dscp_and_ecn) {
    static const uint8_t kinds[] = { 0, PK_ECT_0, EXPEDITED | PK_ECT_0, LOW | PK_ECT_1, LOW, EXPEDITED, LOW | PK_CE };
    struct scenario s = quiet("dscp");
    struct stream *t = known_stream(&s, _i, 24);
    uint32_t part = 4 * s.mss;

    for (uint32_t i = 0; i < sizeof kinds; i++) {
        w.tos = kinds[i];
        from_server(t, i * part, part, s.mss);
        pk_side_tick(w.parent.side, w.now + 1000); /* its train does not wait for more */
        if (i) ck_assert_uint_ge(trains_with(kinds[i]), 1);
        go_on(1000);
        all_came_with(t, i * part, (i + 1) * part, kinds[i]);
    }
    w.tos = LOW | PK_ECT_0; /* new bytes: as they are */
    struct stream *other = asked_stream(4, NULL);
    from_server(other, 0, 20 * s.mss, s.mss);
    go_on(1000);
    all_came_with(other, 0, 20 * s.mss, LOW | PK_ECT_0);
    teardown();
}
END_TEST

/* Without a moment between them: a train is of one DSCP, and may be marked only if each packet of it may be. */
START_TEST(test_a_train_is_what_its_packets_are) {
    struct scenario s = quiet("mixed");
    struct stream *t = known_stream(&s, _i, 25);
    uint32_t part = 2 * s.mss;

    w.tos = LOW | PK_ECT_0;
    from_server(t, 0, part, s.mss);
    go_on(2000);
    from_server(t, part, part, s.mss);
    w.tos = LOW;
    from_server(t, 2 * part, part, s.mss);
    pk_side_tick(w.parent.side, w.now + 1000);
    ck_assert_uint_eq(trains_with(LOW), 1);
    go_on(1000);
    w.tos = LOW | PK_ECT_0;
    from_server(t, 3 * part, part, s.mss);
    w.tos = LOW | PK_CE;
    from_server(t, 4 * part, part, s.mss);
    pk_side_tick(w.parent.side, w.now + 1000);
    ck_assert_uint_eq(trains_with(LOW | PK_ECT_0), 1);
    go_on(1000);
    w.tos = LOW;
    from_server(t, 5 * part, part, s.mss);
    w.tos = EXPEDITED;
    from_server(t, 6 * part, part, s.mss);
    ck_assert_uint_eq(trains_with(LOW), 1); /* it has left before the other one */
    go_on(2000);
    all_came_with(t, part, 2 * part, LOW | PK_ECT_0);
    all_came_with(t, 2 * part, 3 * part, LOW);
    all_came_with(t, 3 * part, 4 * part, LOW | PK_ECT_0);
    all_came_with(t, 4 * part, 5 * part, LOW | PK_CE);
    all_came_with(t, 5 * part, 6 * part, LOW);
    all_came_with(t, 6 * part, 7 * part, EXPEDITED);
    teardown();
}
END_TEST

/* RFC 6040, 4.2. */
START_TEST(test_a_mark_of_the_link_is_passed_on) {
    struct scenario s = quiet("marks");
    struct stream *t = known_stream(&s, _i, 26);
    uint32_t part = 4 * s.mss;

    w.tos = LOW | PK_ECT_0;
    from_server(t, 0, part, s.mss);
    go_on(2000);
    from_server(t, part, part, s.mss);
    pk_side_tick(w.parent.side, w.now + 1000);
    mark_trains(PK_CE);
    go_on(1000);
    all_came_with(t, part, 2 * part, LOW | PK_CE);
    from_server(t, 2 * part, part, s.mss);
    pk_side_tick(w.parent.side, w.now + 1000);
    mark_trains(EXPEDITED); /* another DSCP on the way is the way's own */
    go_on(1000);
    all_came_with(t, 2 * part, 3 * part, LOW | PK_ECT_0);
    /* Nobody may mark what can't be told: that is lost, and comes when the server sends it again. */
    w.tos = LOW;
    from_server(t, 3 * part, part, s.mss);
    pk_side_tick(w.parent.side, w.now + 1000);
    mark_trains(PK_CE);
    go_on(1000);
    ck_assert_uint_eq(t->acked, 3 * part);
    from_server(t, 3 * part, part, s.mss);
    go_on(1000);
    all_came_with(t, 3 * part, 4 * part, LOW);
    teardown();
}
END_TEST

/* The same for what has to wait: for another train, and for a payload. */
START_TEST(test_a_mark_waits_with_its_train) {
    struct scenario s = quiet("marks wait");
    struct stream *t = known_stream(&s, _i, 27);
    uint32_t part = 4 * s.mss;

    w.tos = PK_ECT_0;
    from_server(t, 0, part, s.mss);
    go_on(2000);
    from_server(t, part, part, s.mss);
    pk_side_tick(w.parent.side, w.now + 1000);
    struct thing *late = NULL;
    for (unsigned i = 0; i < w.down.n && !late; i++)
        if (w.down.thing[i]->datagram && *w.down.thing[i]->bytes == PK_TRAIN) {
            late = w.down.thing[i];
            w.down.thing[i] = w.down.thing[--w.down.n];
        }
    ck_assert_ptr_nonnull(late);
    from_server(t, 2 * part, part, s.mss);
    pk_side_tick(w.parent.side, w.now + 1000);
    mark_trains(PK_CE);
    run_down();
    ck_assert_uint_eq(t->acked, part);
    w.down.thing[w.down.n++] = late;
    run_down();
    all_came_with(t, part, 2 * part, PK_ECT_0);
    all_came_with(t, 2 * part, 3 * part, PK_CE);
    pk_store_limit(w.child.store, 0); /* the child has nothing */
    from_server(t, 3 * part, part, s.mss);
    pk_side_tick(w.parent.side, w.now + 1000);
    mark_trains(PK_CE);
    run_down();
    ck_assert_uint_eq(t->acked, 3 * part);
    pk_store_limit(w.child.store, s.cache);
    go_on(100000);
    all_came_with(t, 3 * part, 4 * part, PK_CE);
    teardown();
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: trains of a pair");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, test_what_is_half_new_is_followed);
    tcase_add_test(t, test_a_lost_train_goes_once_more);
    tcase_add_test(t, test_what_a_lost_train_stands_for_does_not_cross);
    tcase_add_test(t, test_an_old_train_is_no_other_connections);
    tcase_add_test(t, test_an_old_train_does_not_go_again);
    tcase_add_test(t, test_blocks_of_what_is_lost_are_told_again);
    tcase_add_test(t, test_packets_that_pass_leave_no_trial);
    tcase_add_test(t, test_a_loss_before_a_trial_is_no_failure);
    tcase_add_test(t, test_a_trial_outlives_a_loss);
    tcase_add_test(t, test_a_trial_that_failed_is_not_repeated_soon);
    tcase_add_test(t, test_trains_wait_in_their_order);
    tcase_add_test(t, test_a_joined_connection_may_have_been_authorized);
    for (int i = 4; i <= 6; i += 2) {
        tcase_add_loop_test(t, test_packets_keep_dscp_and_ecn, i, i + 1);
        tcase_add_loop_test(t, test_a_train_is_what_its_packets_are, i, i + 1);
        tcase_add_loop_test(t, test_a_mark_of_the_link_is_passed_on, i, i + 1);
        tcase_add_loop_test(t, test_a_mark_waits_with_its_train, i, i + 1);
    }
    suite_add_tcase(s, t);
    return run_suite(s);
}
