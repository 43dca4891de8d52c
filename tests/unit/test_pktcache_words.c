/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pktcache_words.c - what parent and child say to each other: sessions, and whether the other end is there. */
#include "pktcache_world.h"

#include "pktcache/pk_parent.h"
#include "run_suite.h"

static struct {
    pk_session_t *child;
    unsigned probes;
    uint8_t first[PK_DATAGRAM_MAX];
    size_t n;
} listens;

static void open_probe(void *context, const void *bytes, size_t n, uint8_t tos) {
    static uint8_t copy[PK_DATAGRAM_MAX];
    struct pk_opened o;
    unsigned zeros = 0;
    (void)context;
    (void)tos;
    memcpy(copy, bytes, n);
    if (pk_open(listens.child, copy, n, &o) != PK_PROBE) return;
    ck_assert_uint_eq(n + 28, w.s->mtu);
    for (size_t i = 0; i < o.n; i++) zeros += !o.inside[i];
    ck_assert_msg(zeros < o.n / 16, "%u of %zu bytes of a probe are zero", zeros, o.n);
    if (listens.probes++) ck_assert_msg(memcmp(listens.first, o.inside, o.n), "a probe as the one before");
    memcpy(listens.first, o.inside, o.n);
}

static void no_packet(void *context, const struct iovec *part, int parts) {
    (void)context;
    (void)part;
    (void)parts;
}

/* Nobody knows a byte of what is sealed in any datagram. */
START_TEST(test_what_a_probe_holds_cannot_be_known) {
    struct pk_out out = { NULL, no_packet, open_probe, say, NULL };
    struct pk_ready ready = { .bytes = 1 << 20 };
    uint8_t hello[PK_CONTROL_MAX], welcome[PK_CONTROL_MAX], go[PK_CONTROL_MAX];
    size_t n, m;

    setup(&(struct scenario){ .name = "probes",
                              .version = 4,
                              .mode = PK_MODE_TRAIN,
                              .keep = PK_KEEP_ALL,
                              .mss = 1448,
                              .mtu = 1500,
                              .cache = 1 << 20 },
          1);
    memset(&listens, 0, sizeof listens);
    listens.child = pk_session_make(&w.secret, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    pk_session_t *session = pk_session_make(&w.secret, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY);
    pk_side_t *parent = pk_parent_make(&w.config, w.parent.store, session, &out);
    for (int i = 0; i < 3; i++) {
        n = pk_session_begin(listens.child, hello);
        ck_assert_int_eq(pk_session_step(session, hello, n, &ready, welcome, &m), PK_ANSWER);
        ck_assert_int_eq(pk_session_step(listens.child, welcome, m, &ready, go, &n), PK_ESTABLISHED);
        pk_side_datagram(parent, go, n, 0, w.now);
        pk_side_tick(parent, w.now += ROUND);
    }
    ck_assert_uint_eq(listens.probes, 3);
    pk_side_free(&parent);
    pk_session_free(&session);
    pk_session_free(&listens.child);
    teardown();
}
END_TEST

/* A new session every two minutes, and nothing begins anew by it: nothing is said, what stands aside does. */
START_TEST(test_a_session_is_renewed_without_a_pause) {
    struct scenario s = quiet("renewed");
    uint64_t began;

    setup(&s, 11);
    go_on(1000000);
    began = said;
    for (unsigned sessions = 1; sessions < 5; sessions++) {
        ck_assert_uint_eq(w.parent.side->counters.sessions, sessions);
        ck_assert_uint_eq(w.child.side->counters.sessions, sessions);
        for (uint64_t end = w.now + PK_RENEW_US; w.now < end;) {
            go_on(1000000);
            ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING && pk_side_why(w.child.side) == PK_WHY_NOTHING);
        }
    }
    ck_assert_uint_eq(w.parent.side->counters.outages, 0);
    ck_assert_uint_eq(said, began);
    pk_side_aside(w.child.side, PK_WHY_DOWN, w.now);
    pk_side_aside(w.parent.side, PK_WHY_DOWN, w.now);
    go_on(1000000);
    began = said;
    for (int i = 0; i < 250; i++) {
        go_on(1000000);
        ck_assert(pk_side_why(w.parent.side) == PK_WHY_DOWN && pk_side_why(w.child.side) == PK_WHY_DOWN);
    }
    ck_assert_uint_eq(said, began);
    ck_assert_uint_eq(w.parent.side->counters.sessions, 7);
    teardown();
}
END_TEST

/* READY is lost: the child says it again, and the two are at one well before anybody would take the other for dead. */
START_TEST(test_a_lost_ready_is_said_again) {
    struct scenario s = quiet("ready");
    uint64_t end, from = 0;

    s.way = 20000;
    setup(&s, 14);
    go_on(1000000);
    for (unsigned sessions = 2; sessions < 6; sessions++) {
        unsigned lost = 0;
        for (end = w.now + PK_RENEW_US + 1000000; w.now < end && w.parent.side->counters.sessions < sessions;
             w.now += ROUND) {
            if (lost < 2 && lose_one(&w.up, PK_READY) && !lost++) from = w.now;
            run_down();
            run_up();
        }
        ck_assert_uint_eq(w.parent.side->counters.sessions, sessions);
        ck_assert_uint_eq(lost, 2);
        ck_assert_uint_le(w.now - from, 300000);
    }
    ck_assert_uint_eq(w.parent.side->counters.outages, 0);
    uint64_t refused = w.parent.side->counters.refused;
    go_on(5000000);
    ck_assert_uint_le(w.parent.side->counters.refused, refused + 1); /* nor for ever */
    teardown();
}
END_TEST

/* A WHO that was once said comes again and again: of a session that works it makes a new one each second at most. */
START_TEST(test_an_old_who_makes_few_sessions) {
    struct scenario s = quiet("who");
    uint8_t who[PK_CONTROL_MAX], copy[PK_CONTROL_MAX];
    size_t n;

    setup(&s, 15);
    n = pk_session_begin(w.parent.session, who);
    go_on(2000000);
    for (int i = 0; i < 1000; i++) { /* ten seconds */
        memcpy(copy, who, n);
        pk_side_datagram(w.child.side, copy, n, 0, w.now);
        go_on(10000);
        ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_NOTHING);
    }
    ck_assert_uint_le(w.parent.side->counters.sessions, 1 + 10);
    teardown();
}
END_TEST

/* Who stands aside says so and nothing else; what can't be opened is no reason for another session. */
START_TEST(test_a_child_that_stands_aside_is_heard) {
    struct scenario s = quiet("heard");
    uint8_t junk[64] = { PK_STATUS };

    setup(&s, 16);
    go_on(1000000);
    pk_side_aside(w.child.side, PK_WHY_DOWN, w.now);
    for (int i = 0; i < 1000; i++) {
        uint8_t copy[sizeof junk];
        memcpy(copy, junk, sizeof junk);
        pk_side_datagram(w.parent.side, copy, sizeof copy, 0, w.now);
        go_on(20000);
    }
    ck_assert_uint_eq(w.parent.side->counters.sessions, 1);
    teardown();
}
END_TEST

/* Neither end ran for so long that the session was over when it went on. */
START_TEST(test_after_a_long_pause_the_child_begins) {
    struct scenario s = quiet("pause");

    setup(&s, 17);
    go_on(1000000);
    w.now += PK_REJECT_US;
    lose(&w.up);
    lose(&w.down);
    pk_side_aside(w.child.side, PK_WHY_DOWN, w.now); /* it finds out as something else happens */
    ck_assert_uint_le(pk_side_due(w.child.side), w.now);
    go_on(10000);
    ck_assert(pk_session_established(w.child.session) && pk_session_established(w.parent.session));
    ck_assert_uint_eq(w.parent.side->counters.sessions, 2);
    teardown();
}
END_TEST

/* Somebody lets only the handshake not pass: both know that there is no session after three minutes. */
START_TEST(test_without_a_handshake_a_session_ends) {
    struct scenario s = quiet("kept");
    uint64_t end;

    setup(&s, 12);
    go_on(1000000);
    for (end = w.now + PK_REJECT_US; w.now < end; w.now += ROUND) {
        for (struct queue *q = &w.up; q; q = q == &w.up ? &w.down : NULL) {
            unsigned left = 0;
            for (unsigned i = 0; i < q->n; i++) {
                if (pk_wire_is_handshake(q->thing[i]->bytes, q->thing[i]->n)) free(q->thing[i]);
                else q->thing[left++] = q->thing[i];
            }
            q->n = left;
        }
        run_down();
        run_up();
    }
    ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_SESSION);
    ck_assert_int_eq(pk_side_why(w.child.side), PK_WHY_SESSION);
    go_on(4000000);
    ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING && pk_side_why(w.child.side) == PK_WHY_NOTHING);
    teardown();
}
END_TEST

/*
 * A machine that goes back to a snapshot: the child has seen more than the parent says to have sent; or nothing new is
 * heard of the child but what had come before.
 */
START_TEST(test_who_went_back_begins_anew) {
    struct scenario s = quiet("back");
    uint8_t bytes[PK_SEAL_MORE + sizeof(struct pk_wire_status)];
    struct pk_wire_status *word = (void *)(bytes + PK_SEAL_HEAD);
    size_t n;

    setup(&s, 13);
    go_on(1000000);
    pk_put64(word->newest, pk_session_sent(w.parent.session));
    pk_put64(word->newest_probe, 0);
    n = pk_seal(w.child.session, PK_STATUS, bytes, sizeof *word);
    pk_side_datagram(w.parent.side, bytes, n, 0, w.now);
    ck_assert(pk_session_established(w.parent.session));
    pk_put64(word->newest, pk_session_sent(w.parent.session) + 1);
    pk_put64(word->newest_probe, 0);
    n = pk_seal(w.child.session, PK_STATUS, bytes, sizeof *word);
    pk_side_datagram(w.parent.side, bytes, n, 0, w.now);
    ck_assert(!pk_session_established(w.parent.session));
    go_on(2000000);
    ck_assert_uint_eq(w.parent.side->counters.sessions, 2);
    ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_NOTHING);
    pk_put64(word->newest, 0);
    pk_put64(word->newest_probe, 0);
    n = pk_seal(w.child.session, PK_STATUS, bytes, sizeof *word);
    for (int i = 0; i < 40; i++) { /* two seconds of what was said before */
        uint8_t copy[sizeof bytes];
        memcpy(copy, bytes, n);
        pk_side_datagram(w.parent.side, copy, n, 0, w.now);
        for (uint64_t end = w.now + 50000; w.now < end; w.now += ROUND) {
            run_down();
            for (unsigned k = 0; k < w.up.n; k++) { /* but the handshake */
                if (!pk_wire_is_handshake(w.up.thing[k]->bytes, w.up.thing[k]->n)) w.up.thing[k]->bytes[5] ^= 1;
            }
            run_up();
        }
    }
    go_on(1000000);
    ck_assert_uint_ge(w.parent.side->counters.sessions, 3);
    ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_NOTHING);
    teardown();
}
END_TEST

/* One datagram lost, and for the rest of the session the other end took this one to stand aside. */
START_TEST(test_a_lost_word_is_no_standing_aside) {
    struct scenario s = quiet("aside");

    setup(&s, 5);
    go_on(20000);
    ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING && pk_side_why(w.child.side) == PK_WHY_NOTHING);
    for (int lost = 0; lost < 2; lost++) {
        pk_side_aside(w.child.side, PK_WHY_DOWN, w.now);
        if (lost) lose(&w.up);
        go_on(1000000);
        ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_DOWN);
        pk_side_aside(w.child.side, PK_WHY_NOTHING, w.now);
        if (lost) lose(&w.up);
        go_on(1000000);
        ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_NOTHING);
        pk_side_aside(w.parent.side, PK_WHY_DOWN, w.now);
        if (lost) lose(&w.down);
        go_on(1500000);
        ck_assert_int_eq(pk_side_why(w.child.side), PK_WHY_DOWN);
        pk_side_aside(w.parent.side, PK_WHY_NOTHING, w.now);
        if (lost) lose(&w.down);
        go_on(1500000);
        ck_assert_int_eq(pk_side_why(w.child.side), PK_WHY_NOTHING);
    }
    ck_assert_uint_eq(w.parent.side->counters.sessions, 1);
    teardown();
}
END_TEST

/*
 * A link that is cut, one way or both, while nobody asks for anything: each end knows within 2 s, the child from the
 * parent where it can't see that by itself.  It had said that it was at work while nothing went in trains.
 */
START_TEST(test_an_idle_link_that_is_cut) {
    struct scenario s = quiet("cut");
    bool down = _i & 1, up = _i & 2;

    setup(&s, 18);
    go_on(5000000);
    for (int times = 0; times < 3; times++) {
        ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING && pk_side_why(w.child.side) == PK_WHY_NOTHING);
        for (uint64_t end = w.now + 2000000; w.now < end; w.now += ROUND) {
            run_down();
            if (up) lose(&w.up);
            run_up();
            if (down) lose(&w.down);
        }
        ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_SILENT);
        ck_assert_int_eq(pk_side_why(w.child.side), down ? PK_WHY_UNHEARD : PK_WHY_SILENT);
        go_on(2000000);
    }
    ck_assert_uint_eq(w.parent.side->counters.sessions, 1);
    teardown();
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: words of a pair");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, test_what_a_probe_holds_cannot_be_known);
    tcase_add_test(t, test_a_session_is_renewed_without_a_pause);
    tcase_add_test(t, test_a_lost_ready_is_said_again);
    tcase_add_test(t, test_an_old_who_makes_few_sessions);
    tcase_add_test(t, test_a_child_that_stands_aside_is_heard);
    tcase_add_test(t, test_after_a_long_pause_the_child_begins);
    tcase_add_test(t, test_without_a_handshake_a_session_ends);
    tcase_add_test(t, test_who_went_back_begins_anew);
    tcase_add_test(t, test_a_lost_word_is_no_standing_aside);
    tcase_add_loop_test(t, test_an_idle_link_that_is_cut, 1, 4);
    suite_add_tcase(s, t);
    return run_suite(s);
}
