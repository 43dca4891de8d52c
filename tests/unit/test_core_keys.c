/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys that share a class: who is next among them, what they pay, which row they have. */
#include "test_core.h"

#include "base_block.h"
#include "class_keys.h"

#define MEAN 1000u

/* One class that `within` levels of keys share; window responses at one time. */
static void open_keyed(struct world *w, enum rs_sched sched, uint32_t within, uint32_t window, uint32_t tickets,
                       uint32_t keys) {
    const char *why = "";
    open_world(w, sched, window ? RS_GATE_WINDOW : RS_GATE_NONE, window, NULL, 1, tickets);
    free(w->memory);
    w->cap.keys = keys;
    w->classes[0].within = within;
    w->size = rs_size(&w->cap);
    w->memory = aligned_alloc(64, w->size);
    memset(w->memory, 0xa5, w->size);
    w->e = rs_create(w->memory, w->size, &w->cap, &w->settings, w->classes, 1, 0, &why);
    ck_assert_msg(w->e != NULL, "%s", why);
}

/* Of network a, address b; the tag says which. */
static rs_ticket_t ask_as(struct world *w, uint32_t a, uint32_t b, uint64_t bytes) {
    uint64_t key[RS_KEY_LEVELS] = { a * UINT64_C(0x9e3779b97f4a7c15), b * UINT64_C(0xd1b54a32d192ed03) };
    rs_ticket_t t = RS_NO_TICKET;
    ck_assert_int_eq(rs_submit_keyed(w->e, w->now, 0, 0, bytes, key, 1, (uint64_t)a << 32 | b, &t), RS_OK);
    return t;
}

static uint32_t a_of(const struct world *w, rs_ticket_t t) { return (uint32_t)(rs_tag(w->e, t) >> 32); }
static uint32_t b_of(const struct world *w, rs_ticket_t t) { return (uint32_t)rs_tag(w->e, t); }

/* So that the class's mean is known, by a key that does not come again. */
static void know_the_mean(struct world *w) {
    for (int i = 0; i < 200; i++) {
        ask_as(w, 1u << 20, 0, MEAN);
        serve(w, next(w), MEAN);
    }
}

/* ---- shares ------------------------------------------------------------------------------------------------------ */

/*
 * A key with 500 requests waiting beside 20 with three each: all have the same part, to the one response that a round
 * may be in, under every discipline that knows keys.
 */
START_TEST(many_requests_are_one_key) {
    struct world w;
    uint32_t had[21] = { 0 };
    if (_i == RS_SCHED_SHORTEST) return;
    open_keyed(&w, (enum rs_sched)_i, 1, 1, 1200, 64);
    for (uint32_t i = 0; i < 500; i++) ask_as(&w, 0, 0, MEAN);
    for (uint32_t i = 0; i < 60; i++) ask_as(&w, 1 + i % 20, 0, MEAN);
    ck_assert_uint_eq(class_stats(&w, 0).keys, 21);
    for (uint32_t i = 0; i < 21 * 50; i++) {
        rs_ticket_t t = next(&w);
        uint32_t a = a_of(&w, t);
        had[a]++;
        serve(&w, t, MEAN);
        ask_as(&w, a, 0, MEAN);
        if (i % 50 == 0) sound(&w);
    }
    for (uint32_t a = 0; a < 21; a++) {
        ck_assert_uint_ge(had[a], 49);
        ck_assert_uint_le(had[a], 51);
    }
    close_world(&w);
}
END_TEST

/* It is cost that is shared: whose responses are three times as large has a third as many. */
START_TEST(keys_share_bytes) {
    struct world w;
    uint64_t bytes[3] = { 0 };
    open_keyed(&w, RS_SCHED_DRR, 1, 1, 64, 64);
    for (uint32_t i = 0; i < 30; i++) ask_as(&w, i % 3, 0, MEAN * (1 + i % 3));
    for (uint32_t i = 0; i < 3000; i++) {
        rs_ticket_t t = next(&w);
        uint32_t a = a_of(&w, t);
        bytes[a] += MEAN * (1 + a);
        serve(&w, t, MEAN * (1 + a));
        ask_as(&w, a, 0, MEAN * (1 + a));
    }
    for (uint32_t a = 1; a < 3; a++) ck_assert_int_le(labs((long)bytes[a] - (long)bytes[0]), 3 * MEAN);
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * One network of 300 addresses with three requests each beside 20 networks with one address: a part for each network,
 * and inside it one for each address.
 */
START_TEST(networks_share_and_addresses_in_them) {
    struct world w;
    uint32_t had[21] = { 0 }, inside[300] = { 0 };
    open_keyed(&w, RS_SCHED_DRR, 2, 1, 3000, 2048);
    for (uint32_t i = 0; i < 900; i++) ask_as(&w, 0, i % 300, MEAN);
    for (uint32_t i = 0; i < 60; i++) ask_as(&w, 1 + i % 20, 7, MEAN);
    sound(&w);
    ck_assert_uint_eq(class_stats(&w, 0).keys, 21);
    for (uint32_t i = 0; i < 21 * 600; i++) {
        rs_ticket_t t = next(&w);
        uint32_t a = a_of(&w, t), b = b_of(&w, t);
        had[a]++;
        if (a == 0) inside[b]++;
        serve(&w, t, MEAN);
        ask_as(&w, a, b, MEAN);
        if (i % 500 == 0) sound(&w);
    }
    for (uint32_t a = 0; a < 21; a++) ck_assert_int_le(labs((long)had[a] - 600), 1);
    for (uint32_t b = 0; b < 300; b++) ck_assert_int_le(labs((long)inside[b] - 2), 1);
    close_world(&w);
}
END_TEST

/* The same address in two networks is two keys. */
START_TEST(an_address_is_of_its_network) {
    struct world w;
    open_keyed(&w, RS_SCHED_DRR, 2, 1, 64, 64);
    rs_ticket_t t[2] = { ask_as(&w, 1, 5, MEAN), ask_as(&w, 2, 5, MEAN) };
    ck_assert_uint_ne(rs_key_ticket(w.e, rs_ticket_index(t[0]))->row, rs_key_ticket(w.e, rs_ticket_index(t[1]))->row);
    ck_assert_uint_eq(class_stats(&w, 0).keys, 2);
    sound(&w);
    close_world(&w);
}
END_TEST

/* Inside one key in order of arrival; without keys all are one. */
START_TEST(one_key_is_served_in_order) {
    struct world w;
    rs_ticket_t t[30];
    open_keyed(&w, RS_SCHED_DRR, (uint32_t)_i + 1, 1, 128, 64);
    for (uint32_t i = 0; i < 30; i++) t[i] = i < 20 ? ask(&w, 0, MEAN) : ask_as(&w, 0, 0, MEAN);
    ck_assert_uint_eq(class_stats(&w, 0).keys, 1); /* key 0 is that of those without */
    ck_assert(rs_cancel(w.e, 0, t[0]) && rs_cancel(w.e, 0, t[13]) && rs_cancel(w.e, 0, t[29]));
    sound(&w);
    for (uint32_t i = 1; i < 29; i++) {
        if (i == 13) continue;
        rs_ticket_t u = next(&w);
        ck_assert(u == t[i]);
        serve(&w, u, MEAN);
    }
    ck_assert(next(&w) == RS_NO_TICKET);
    sound(&w);
    close_world(&w);
}
END_TEST

/* ---- who comes --------------------------------------------------------------------------------------------------- */

/* Behind a thousand requests of one key a new one goes next, or, if others came just before it, next but one. */
START_TEST(a_new_key_goes_before_one_that_had_much) {
    struct world w;
    open_keyed(&w, RS_SCHED_DRR, 1, 1, 2200, 64);
    for (uint32_t i = 0; i < 1000; i++) ask_as(&w, 0, 0, MEAN);
    for (uint32_t i = 0; i < 100; i++) serve(&w, next(&w), MEAN);
    for (uint32_t a = 1; a < 20; a++) {
        rs_ticket_t t = ask_as(&w, a, 0, MEAN), u = next(&w);
        if (a > 1 && u != t) {
            serve(&w, u, MEAN);
            u = next(&w);
        }
        ck_assert(u == t);
        serve(&w, t, MEAN);
    }
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * Beside 20 keys that always have something waiting a new one joins half a mean response behind who was served last, at
 * the latest: each of them is before it once at most.
 */
START_TEST(a_new_key_waits_for_a_round_at_most) {
    struct world w;
    open_keyed(&w, RS_SCHED_DRR, 1, 1, 200, 64);
    know_the_mean(&w);
    for (uint32_t i = 0; i < 60; i++) ask_as(&w, i % 20, 0, MEAN);
    for (uint32_t come = 100; come < 150; come++) {
        for (uint32_t i = 0; i < 33; i++) {
            rs_ticket_t t = next(&w);
            uint32_t a = a_of(&w, t);
            serve(&w, t, MEAN);
            if (a < 100) ask_as(&w, a, 0, MEAN);
        }
        rs_ticket_t t = ask_as(&w, come, 0, MEAN), u;
        uint32_t before = 0;
        for (; (u = next(&w)) != t; before++) {
            uint32_t a = a_of(&w, u);
            serve(&w, u, MEAN);
            ask_as(&w, a, 0, MEAN);
        }
        serve(&w, t, MEAN);
        ck_assert_uint_le(before, 20);
    }
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * A new key with each release, 50 of them waiting at any time: the clock goes on by half a mean response in a round of
 * 51 at least, so who asks again and again has his turn in three rounds.  By the time of who is served it would stand
 * still for ever.
 */
START_TEST(new_keys_without_end_silence_nobody) {
    struct world w;
    uint32_t fresh = 1, gap = 0, longest = 0, turns = 0;
    open_keyed(&w, RS_SCHED_DRR, 1, 1, 200, 512);
    know_the_mean(&w);
    for (; fresh <= 50; fresh++) ask_as(&w, fresh, 0, MEAN);
    ask_as(&w, 0, 0, MEAN);
    for (uint32_t i = 0; i < 10000; i++) {
        rs_ticket_t t = next(&w);
        uint32_t a = a_of(&w, t);
        serve(&w, t, MEAN);
        ask_as(&w, a ? fresh++ : 0, 0, MEAN);
        gap++;
        if (a) continue;
        if (gap > longest) longest = gap;
        gap = 0;
        turns++;
    }
    ck_assert_uint_gt(turns, 0);
    ck_assert_uint_le(longest, 3 * 51);
    sound(&w);
    close_world(&w);
}
END_TEST

/* Away for a hundred rounds, back with a hundred requests: no more than two mean responses and a round ahead. */
START_TEST(being_away_earns_nothing) {
    struct world w;
    uint32_t had = 0;
    open_keyed(&w, RS_SCHED_DRR, 1, 1, 600, 64);
    know_the_mean(&w);
    for (uint32_t i = 0; i < 60; i++) ask_as(&w, i % 20, 0, MEAN);
    ask_as(&w, 100, 0, MEAN);
    for (uint32_t i = 0; i < 2000 + 420; i++) {
        if (i == 2000)
            for (uint32_t k = 0; k < 100; k++) ask_as(&w, 100, 0, MEAN);
        rs_ticket_t t = next(&w);
        uint32_t a = a_of(&w, t);
        if (i >= 2000) had += a == 100;
        serve(&w, t, MEAN);
        if (a != 100) ask_as(&w, a, 0, MEAN);
    }
    ck_assert_uint_ge(had, 19);
    ck_assert_uint_le(had, 23);
    close_world(&w);
}
END_TEST

/* ---- places ------------------------------------------------------------------------------------------------------ */

/*
 * Of a hundred places a key that asks without end has fifty, and each of 25 others finds the two that he wants.  Of
 * those left a second one without end takes as many as it leaves: half.
 */
START_TEST(a_key_leaves_places_to_others) {
    struct world w;
    const char *why = "";
    uint32_t took[2] = { 0 };
    open_keyed(&w, RS_SCHED_DRR, (uint32_t)_i + 1, 1, 400, 1600);
    w.classes[0].queue_max = 100;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    for (uint32_t a = 0; a < 2; a++)
        for (uint32_t i = 0; i < 200; i++) {
            uint64_t key[RS_KEY_LEVELS] = { 500 + a, i };
            rs_ticket_t t;
            enum rs_refusal refusal = rs_submit_keyed(w.e, 0, 0, 0, MEAN, key, 1, 0, &t);
            ck_assert(refusal == RS_OK || refusal == RS_SHARE_FULL);
            took[a] += refusal == RS_OK;
        }
    ck_assert_uint_eq(took[0], 50);
    ck_assert_uint_eq(took[1], 25);
    for (uint32_t i = 0; i < 25; i++) ask_as(&w, i, 0, MEAN);
    ck_assert_uint_eq(class_stats(&w, 0).counts.refused_share, 150 + 175);
    sound(&w);
    close_world(&w);
}
END_TEST

/* In a network one address that asks without end has half of what the network might have, and others find a place. */
START_TEST(an_address_leaves_places_to_its_network) {
    struct world w;
    const char *why = "";
    uint32_t took = 0;
    open_keyed(&w, RS_SCHED_DRR, 2, 1, 400, 1600);
    w.classes[0].queue_max = 90;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t key[RS_KEY_LEVELS] = { 5, 6 };
        rs_ticket_t t;
        took += rs_submit_keyed(w.e, 0, 0, 0, MEAN, key, 1, 0, &t) == RS_OK;
    }
    ck_assert_uint_eq(took, 30);
    for (uint32_t b = 0; b < 15; b++) {
        uint64_t key[RS_KEY_LEVELS] = { 5, 100 + b };
        rs_ticket_t t;
        ck_assert_int_eq(rs_submit_keyed(w.e, 0, 0, 0, MEAN, key, 1, 0, &t), RS_OK);
    }
    for (uint32_t i = 0; i < 45; i++) ask_as(&w, 1 + i, 0, MEAN);
    sound(&w);
    close_world(&w);
}
END_TEST

/* What is under way takes no place: a key with as many released as there are places may wait all the same. */
START_TEST(what_is_released_takes_no_place) {
    struct world w;
    const char *why = "";
    open_keyed(&w, RS_SCHED_DRR, 1, 0, 100, 400);
    w.classes[0].queue_max = 10;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    for (uint32_t i = 0; i < 40; i++) {
        ask_as(&w, 0, 0, MEAN);
        ck_assert(next(&w) != RS_NO_TICKET);
    }
    sound(&w);
    close_world(&w);
}
END_TEST

/* ---- what comes late --------------------------------------------------------------------------------------------- */

enum late { BY_PROGRESS, BY_HEADER, BY_HAND_OVER, ABORTED, LATE_WAYS };

/* A response of key `a` comes; 100 KB of key 0 that nobody expected. */
static void come(struct world *w, rs_ticket_t t, uint32_t a, enum late way) {
    static const uint64_t key0[RS_KEY_LEVELS];
    const uint64_t bytes = 100000;
    if (a) {
        serve(w, t, MEAN);
        return;
    }
    switch (way) {
    case BY_HEADER: ck_assert(rs_header(w->e, w->now, t, bytes)); /* fall through */
    case BY_PROGRESS:
        for (int i = 0; i < 100; i++) ck_assert(rs_progress(w->e, w->now, t, bytes / 100));
        ck_assert(rs_finish(w->e, w->now, t));
        break;
    case BY_HAND_OVER: {
        uint64_t paid = rs_hand_over(w->e, w->now, t, bytes);
        if (paid < bytes) rs_charge_keyed(w->e, w->now, 0, 0, key0, bytes - paid);
        break;
    }
    default: ck_assert(rs_progress(w->e, w->now, t, bytes)); ck_assert(rs_abort(w->e, w->now, t));
    }
}

/* Whatever way bytes come that were not expected, their key pays for them: in the end both had as much. */
START_TEST(what_comes_late_is_paid) {
    struct world w;
    uint64_t had[2] = { 0 };
    open_keyed(&w, RS_SCHED_DRR, 1, 1, 64, 64);
    for (uint32_t i = 0; i < 20; i++) ask_as(&w, i % 2, 0, MEAN);
    for (uint32_t i = 0; i < 4000; i++) {
        rs_ticket_t t = next(&w);
        uint32_t a = a_of(&w, t);
        had[a] += a ? MEAN : 100000;
        come(&w, t, a, (enum late)_i);
        ask_as(&w, a, 0, MEAN);
        if (i % 100 == 0) sound(&w);
    }
    ck_assert_int_le(labs((long)had[0] - (long)had[1]), 100000 + MEAN);
    close_world(&w);
}
END_TEST

/* Who was charged for much and brought little has the rest back: 100 KB expected, 1 KB comes, all the same. */
START_TEST(what_does_not_come_is_given_back) {
    struct world w;
    uint32_t had[2] = { 0 };
    open_keyed(&w, RS_SCHED_DRR, 1, 1, 64, 64);
    for (uint32_t i = 0; i < 20; i++) ask_as(&w, i % 2, 0, i % 2 ? MEAN : 100000);
    for (uint32_t i = 0; i < 2000; i++) {
        rs_ticket_t t = next(&w);
        uint32_t a = a_of(&w, t);
        had[a]++;
        if (_i == 0 && !a) ck_assert(rs_header(w.e, w.now, t, MEAN));
        if (_i == 2 && !a) ck_assert(rs_park(w.e, w.now, t));
        serve(&w, t, MEAN);
        ask_as(&w, a, 0, a ? MEAN : 100000);
    }
    ck_assert_int_le(labs((long)had[0] - (long)had[1]), 2);
    sound(&w);
    close_world(&w);
}
END_TEST

/* What comes late while the key has others waiting moves these behind those of who had less. */
START_TEST(who_has_much_by_now_goes_later) {
    struct world w;
    open_keyed(&w, RS_SCHED_DRR, 1, 0, 64, 64);
    ask_as(&w, 0, 0, MEAN);
    rs_ticket_t t = next(&w), second = ask_as(&w, 0, 0, MEAN), other = ask_as(&w, 1, 0, 20 * MEAN);
    ck_assert(rs_progress(w.e, 0, t, 50 * MEAN));
    ck_assert(next(&w) == other);
    ck_assert(next(&w) == second);
    sound(&w);
    close_world(&w);
}
END_TEST

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void owe_much(struct world *w, uint32_t a) {
    rs_ticket_t t = ask_as(w, a, 0, MEAN), u;
    while ((u = next(w)) != t) serve(w, u, MEAN);
    serve(w, t, 5000 * MEAN);
}

/* Who had five thousand means too much and has nothing under way: for a minute he goes after others, then as if new. */
START_TEST(an_account_is_forgotten_after_a_minute) {
    struct world w;
    open_keyed(&w, RS_SCHED_DRR, 1, 1, 400, 64);
    know_the_mean(&w);
    for (uint32_t i = 0; i < 150; i++) ask_as(&w, 1, 0, MEAN);
    owe_much(&w, 0);
    w.now += _i ? 62000000 : 59000000;
    rs_ticket_t t = ask_as(&w, 0, 0, MEAN), u;
    uint32_t before = 0;
    for (; before < 100 && (u = next(&w)) != t; before++) serve(&w, u, MEAN);
    if (_i) ck_assert_uint_le(before, 1);
    else ck_assert_uint_eq(before, 100);
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * Eight rows, a thousand keys one after the other beside one that always waits: each has a row of its own, and whose
 * account says most keeps his.
 */
START_TEST(idle_rows_are_used_again) {
    struct world w;
    open_keyed(&w, RS_SCHED_DRR, 1, 1, 2400, 8);
    know_the_mean(&w);
    for (uint32_t i = 0; i < 1100; i++) ask_as(&w, 1, 0, MEAN);
    owe_much(&w, 0);
    for (uint32_t a = 2; a < 1000; a++) {
        rs_ticket_t t = ask_as(&w, a, 0, MEAN), u;
        ck_assert_uint_lt(rs_key_ticket(w.e, rs_ticket_index(t))->row, 8);
        ck_assert_uint_eq(class_stats(&w, 0).keys, 2);
        while ((u = next(&w)) != t) serve(&w, u, MEAN);
        serve(&w, t, MEAN);
    }
    rs_ticket_t t = ask_as(&w, 0, 0, MEAN), u;
    for (uint32_t i = 0; i < 20; i++) {
        u = next(&w);
        ck_assert(u != t && u != RS_NO_TICKET);
        serve(&w, u, MEAN);
    }
    sound(&w);
    close_world(&w);
}
END_TEST

/* More keys wait than there are rows: those without share one, nobody is lost, and later ones have rows again. */
START_TEST(a_full_table_refuses_nobody) {
    struct world w;
    uint32_t out = 0;
    open_keyed(&w, RS_SCHED_DRR, (uint32_t)_i + 1, 1, 400, 8);
    for (uint32_t i = 0; i < 400; i++) {
        ask_as(&w, i, i, MEAN);
        if (i % 40 == 0) sound(&w);
    }
    ck_assert_uint_le(class_stats(&w, 0).keys, 9);
    for (rs_ticket_t t; (t = next(&w)) != RS_NO_TICKET; out++) {
        serve(&w, t, MEAN);
        if (out % 40 == 0) sound(&w);
    }
    ck_assert_uint_eq(out, 400);
    for (uint32_t i = 0; i < 4; i++) ask_as(&w, 1000 + i, 0, MEAN);
    ck_assert_uint_eq(class_stats(&w, 0).keys, 4);
    sound(&w);
    close_world(&w);
}
END_TEST

/* ---- made anew --------------------------------------------------------------------------------------------------- */

/*
 * Whose a ticket is survives, waiting, released or parked: after a rebuild in the middle each of the keys has its turn
 * in a round, and what is under way is charged to its key.
 */
START_TEST(keys_survive_a_rebuild) {
    struct world w;
    uint32_t had[21] = { 0 };
    open_keyed(&w, RS_SCHED_DRR, (uint32_t)_i + 1, 0, 1200, 256);
    for (uint32_t i = 0; i < 300; i++) ask_as(&w, 0, 0, MEAN);
    for (uint32_t i = 0; i < 200; i++) ask_as(&w, 1 + i % 20, i / 100, MEAN);
    rs_ticket_t out[22];
    for (uint32_t i = 0; i < 22; i++) out[i] = next(&w);
    ck_assert(rs_park(w.e, 0, out[3]) && rs_park(w.e, 0, out[4]));
    for (uint32_t i = 0; i < w.e->key_rows; i++) memset(rs_key_row(w.e, i), 0xc3, sizeof(struct rs_key_row));
    for (uint32_t t = 0; t < 1200; t++) rs_key_ticket(w.e, t)->row = 0xc3c3c3c3;
    ck_assert_ptr_null(rs_rebuild(w.e, 0));
    sound(&w);
    ck_assert_uint_eq(class_stats(&w, 0).keys, 21);
    for (uint32_t i = 0; i < 21; i++) had[a_of(&w, next(&w))]++;
    for (uint32_t a = 0; a < 21; a++) ck_assert_uint_eq(had[a], 1);
    /* of key 5 much comes late: it is the last from now on */
    for (uint32_t i = 0; i < 22; i++)
        if (a_of(&w, out[i]) == 5) ck_assert(rs_progress(w.e, 0, out[i], 100 * MEAN));
    for (uint32_t i = 0; i < 60; i++) ck_assert_uint_ne(a_of(&w, next(&w)), 5);
    for (uint32_t i = 0; i < 22; i++) ck_assert(rs_finish(w.e, 0, out[i]));
    sound(&w);
    close_world(&w);
}
END_TEST

/* Levels come and go while requests are in every state; tickets of before have the keys that were told. */
START_TEST(levels_change_in_flight) {
    struct world w;
    const char *why = "";
    open_keyed(&w, (enum rs_sched)_i, 0, 4, 100, 64);
    for (uint32_t i = 0; i < 30; i++) ask_as(&w, i % 3, i % 5, MEAN);
    for (uint32_t step = 0; step < 9; step++) {
        w.classes[0].within = step % 3;
        ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
        sound(&w);
        for (uint32_t i = 0; i < 7; i++) ask_as(&w, i % 3, i % 5, MEAN);
        for (uint32_t i = 0; i < 7; i++) {
            rs_ticket_t t = next(&w);
            if (i == 3) ck_assert(rs_park(w.e, 0, t));
            else serve(&w, t, i * 2 * MEAN);
        }
        sound(&w);
    }
    w.settings.sched = (uint32_t)(_i + 1) % RS_SCHED_COUNT;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    sound(&w);
    ck_assert_uint_eq(rs_reclaim(w.e, 0, 1), 30 + 9);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(what_can_not_be_is_refused) {
    static const struct {
        uint32_t within, keys;
        enum rs_order order;
        const char *word;
    } bad[] = {
        { 1, 64, RS_ORDER_SHORTEST, "fifo" },
        { 3, 64, RS_ORDER_FIFO, "levels" },
        { 1, 0, RS_ORDER_FIFO, "no places for keys" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct world w;
        const char *why = "";
        open_keyed(&w, RS_SCHED_DRR, 0, 1, 8, bad[i].keys);
        w.classes[0].within = bad[i].within;
        w.classes[0].order = bad[i].order;
        ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), -1);
        ck_assert_msg(strstr(why, bad[i].word), "%s", why);
        sound(&w);
        close_world(&w);
    }
}
END_TEST

/* Each of these by itself, and the check has a word for it. */
START_TEST(damage_is_seen) {
    struct world w;
    open_keyed(&w, RS_SCHED_DRR, 2, 1, 64, 64);
    for (uint32_t i = 0; i < 40; i++) ask_as(&w, i % 4, i % 3, MEAN);
    rs_ticket_t t = next(&w);
    uint32_t leaf = rs_key_ticket(w.e, rs_ticket_index(t))->row, above = rs_key_row(w.e, leaf)->holder;
    struct rs_key_row *l = rs_key_row(w.e, leaf), *a = rs_key_row(w.e, above), *root = rs_key_row(w.e, a->holder);
    struct rs_flow *f = rs_flow(w.e, rs_outlet(w.e, 0), 0);
    sound(&w);
#define SEEN(what, change, word)                                                                                       \
    do {                                                                                                               \
        __typeof__(what) was = what;                                                                                   \
        what change;                                                                                                   \
        ck_assert_msg(rs_check(w.e) && strstr(rs_check(w.e), word), "%s", rs_check(w.e) ? rs_check(w.e) : "unseen");   \
        what = was;                                                                                                    \
        sound(&w);                                                                                                     \
    } while (0)
    SEEN(root->waiting, ++, "heap of keys has lost");
    SEEN(root->waiting, --, "more than wait");
    SEEN(root->head, = 1000000, "unknown row");
    SEEN(root->head, = RS_NIL, "lost");
    SEEN(l->users, ++, "users");
    SEEN(l->queued, ++, "count of waiting");
    SEEN(a->queued, --, "count of waiting");
    SEEN(l->flow, ++, "key is");
    SEEN(l->holder, = a->holder, "key");
    SEEN(l->last, = 63, "last");
    SEEN(rs_row(w.e, l->last)->bucket_prev, = 1, "links disagree");
    SEEN(rs_key_row(w.e, root->head)->at, = UINT64_MAX, "out of order");
    SEEN(rs_key_ticket(w.e, rs_ticket_index(t))->row, = 1000000, "flow");
    SEEN(f->best, = rs_row(w.e, f->best)->next, "not the next");
    SEEN(f->within, = 1, "levels");
    SEEN(a->occupying, ++, "occupy");
    SEEN(f->keys_occupying[RS_OCCUPIED_PART - 1], ++, "occupy");
#undef SEEN
    close_world(&w);
}
END_TEST

/* ---- requests that occupy their backend -------------------------------------------------------------------------- */

/* Visitors by their keys, weight 1, beside members, weight 4 and active: of 16 slots the visitors' share is 3.2. */
static void open_visitors(struct world *w, uint32_t within) {
    const char *why = "";
    struct rs_class_settings classes[2];
    open_keyed(w, RS_SCHED_DRR, within, 16, 256, 1024);
    free(w->memory);
    w->cap.classes = 2;
    classes[0] = classes[1] = w->classes[0];
    snprintf(classes[1].name, sizeof classes[1].name, "members");
    classes[1].weight = 4;
    classes[1].within = 0;
    w->size = rs_size(&w->cap);
    w->memory = aligned_alloc(64, w->size);
    memset(w->memory, 0xa5, w->size);
    w->e = rs_create(w->memory, w->size, &w->cap, &w->settings, classes, 2, 0, &why);
    ck_assert_msg(w->e != NULL, "%s", why);
    w->now = 1000000;
    ask(w, 1, MEAN);
    serve(w, next(w), MEAN);
}

/* All that are released now are parked while they occupy their backend; returns how many. */
static uint32_t occupy_all(struct world *w) {
    rs_ticket_t t[64];
    uint32_t n = 0;
    while ((t[n] = next(w)) != RS_NO_TICKET) n++;
    for (uint32_t i = 0; i < n; i++) {
        ck_assert(rs_park_occupying(w->e, w->now, t[i]));
        sound(w);
    }
    return n;
}

/* Pages of other visitors that are released within a second; each asks for one at a time, 50 ms long. */
static uint32_t pages_of_others(struct world *w, uint32_t visitors) {
    uint32_t pages = 0;
    rs_ticket_t out[64];
    for (uint32_t v = 1; v <= visitors; v++) ask_as(w, v, 0, MEAN);
    for (uint32_t step = 0; step < 20; step++, w->now += 50000) {
        uint32_t n = 0;
        rs_ticket_t member = ask(w, 1, MEAN), t;
        while ((t = next(w)) != RS_NO_TICKET) out[n++] = t;
        sound(w);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t a = a_of(w, out[i]);
            serve(w, out[i], MEAN);
            if (out[i] == member) continue;
            ck_assert_uint_ne(a, 100);
            pages++;
            ask_as(w, a, 0, MEAN);
        }
        sound(w);
    }
    return pages;
}

/* Six POSTs from one address, each with one byte of its body, stopped the pages of all other visitors. */
START_TEST(test_slow_posts_of_one_client_leave_their_class_to_its_other_visitors) {
    struct world w;
    open_visitors(&w, (uint32_t)_i % 2 + 1);
    for (uint32_t i = 0; i < 6; i++) ask_as(&w, 100, i, MEAN);
    ck_assert_uint_eq(occupy_all(&w), 6);
    for (uint32_t i = 0; i < 4; i++) ask_as(&w, 100, i, MEAN);
    /* the client itself waits */
    ck_assert(next(&w) == RS_NO_TICKET);
    if (_i > 1) ck_assert(!rs_rebuild(w.e, w.now));
    /* two at one time: of half its bound, which counts, and two running is all that the class may have */
    ck_assert_uint_eq(pages_of_others(&w, 5), 40);
    close_world(&w);
}
END_TEST

/* Slow POSTs one after another, and no other visitor waits: one client occupied all of its class's bound. */
START_TEST(test_slow_posts_one_by_one_occupy_half_of_their_class_s_bound) {
    struct world w;
    uint32_t n = 0;
    open_visitors(&w, 1);
    for (uint32_t i = 0; i < 6; i++, w.now += 1000) {
        ask_as(&w, 100, 0, MEAN);
        n += occupy_all(&w);
    }
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(pages_of_others(&w, 5), 40);
    /* without another active class there is no bound */
    w.now += 2 * RS_WINDOW_QUIET;
    for (rs_ticket_t t; (t = next(&w)) != RS_NO_TICKET;) serve(&w, t, MEAN);
    sound(&w);
    ck_assert_uint_eq(stats(&w).queued, 0);
    close_world(&w);
}
END_TEST

/* Slow POSTs of many clients occupy what those of one class may, and no more: members keep their share. */
START_TEST(test_slow_posts_of_many_clients_occupy_their_class_s_bound) {
    struct world w;
    uint32_t n = 0;
    open_visitors(&w, 1);
    for (uint32_t i = 0; i < 30; i++, w.now += 1000) {
        ask_as(&w, 100 + i, 0, MEAN);
        n += occupy_all(&w);
    }
    ck_assert_uint_eq(n, 4);
    close_world(&w);
}
END_TEST

/* A client is served again when the backend is done with its POSTs.  A cancelled page bars nothing. */
START_TEST(test_client_is_served_again_when_its_slow_post_has_ended) {
    struct world w;
    rs_ticket_t post[2];
    open_visitors(&w, 1);
    for (uint32_t i = 0; i < 2; i++) {
        post[i] = ask_as(&w, 100, 0, MEAN);
        ck_assert(next(&w) == post[i] && rs_park_occupying(w.e, w.now, post[i]));
    }
    rs_ticket_t page = ask_as(&w, 100, 0, MEAN), other = ask_as(&w, 1, 0, MEAN);
    sound(&w);
    ck_assert(rs_cancel(w.e, w.now, other));
    sound(&w);
    ck_assert(next(&w) == RS_NO_TICKET);
    if (_i == 0) ck_assert(rs_occupies_no_more(w.e, w.now, post[0]));
    else if (_i == 1) ck_assert(rs_abort(w.e, w.now, post[0]));
    else ck_assert(rs_resume(w.e, w.now, post[0]));
    sound(&w);
    ck_assert(next(&w) == page);
    close_world(&w);
}
END_TEST

/*
 * The size to plan for: 140,000 addresses of 2,000 networks ask in turn, 100,000 wait at any time, and it is sound.
 * The shared row is used by one in some thousand at most.
 */
START_TEST(a_swarm_has_room) {
    struct world w;
    uint64_t seed = 4711;
    uint32_t shared = 0;
    open_keyed(&w, RS_SCHED_DRR, 2, 8, 110000, 440000);
    for (uint32_t i = 0; i < 300000; i++) {
        uint32_t who = (uint32_t)(draw(&seed) % 140000);
        if (i >= 100000) {
            rs_ticket_t t = next(&w);
            serve(&w, t, MEAN);
        }
        rs_ticket_t t = ask_as(&w, who % 2000, who, MEAN);
        shared += rs_key_ticket(w.e, rs_ticket_index(t))->row >= w.cap.keys;
    }
    sound(&w);
    ck_assert_uint_ge(class_stats(&w, 0).keys, 1900);
    ck_assert_uint_le(shared, 300);
    close_world(&w);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: keys");
    TCase *c = tcase_create("keys");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, many_requests_are_one_key, 0, RS_SCHED_COUNT);
    tcase_add_test(c, keys_share_bytes);
    tcase_add_test(c, networks_share_and_addresses_in_them);
    tcase_add_test(c, an_address_is_of_its_network);
    tcase_add_loop_test(c, one_key_is_served_in_order, 0, 2);
    tcase_add_test(c, a_new_key_goes_before_one_that_had_much);
    tcase_add_test(c, a_new_key_waits_for_a_round_at_most);
    tcase_add_test(c, new_keys_without_end_silence_nobody);
    tcase_add_test(c, being_away_earns_nothing);
    tcase_add_loop_test(c, a_key_leaves_places_to_others, 0, 2);
    tcase_add_test(c, an_address_leaves_places_to_its_network);
    tcase_add_test(c, what_is_released_takes_no_place);
    tcase_add_loop_test(c, what_comes_late_is_paid, 0, LATE_WAYS);
    tcase_add_loop_test(c, what_does_not_come_is_given_back, 0, 3);
    tcase_add_test(c, who_has_much_by_now_goes_later);
    tcase_add_loop_test(c, an_account_is_forgotten_after_a_minute, 0, 2);
    tcase_add_test(c, idle_rows_are_used_again);
    tcase_add_loop_test(c, a_full_table_refuses_nobody, 0, 2);
    tcase_add_loop_test(c, keys_survive_a_rebuild, 0, 2);
    tcase_add_loop_test(c, levels_change_in_flight, 0, RS_SCHED_COUNT);
    tcase_add_test(c, what_can_not_be_is_refused);
    tcase_add_test(c, damage_is_seen);
    tcase_add_loop_test(c, test_slow_posts_of_one_client_leave_their_class_to_its_other_visitors, 0, 4);
    tcase_add_test(c, test_slow_posts_one_by_one_occupy_half_of_their_class_s_bound);
    tcase_add_test(c, test_slow_posts_of_many_clients_occupy_their_class_s_bound);
    tcase_add_loop_test(c, test_client_is_served_again_when_its_slow_post_has_ended, 0, 3);
    tcase_add_test(c, a_swarm_has_room);
    suite_add_tcase(s, c);
    return run_suite(s);
}
