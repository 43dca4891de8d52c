/* SPDX-License-Identifier: BSD-2-Clause */
/* What a dead holder of the lock leaves behind is thrown away and made anew; new settings lose nobody. */
#include "test_core.h"

#include "base_buckets.h"
#include "class_keys.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLASSES 7
#define TICKETS 200

static void noise(void *at, size_t n, uint64_t *seed) {
    for (size_t i = 0; i < n; i++) ((unsigned char *)at)[i] = (unsigned char)draw(seed);
}

/* Everything that is not the truth (base_block.h), overwritten. */
static void wreck(rs_engine_t *e, uint64_t *seed) {
    uint32_t flows = e->capacity.classes * e->capacity.outlets;
    noise(rs_part(e, e->flows_at), flows * sizeof(struct rs_flow), seed);
    noise(rs_part(e, e->outlets_at), e->capacity.outlets * sizeof(struct rs_outlet), seed);
    noise(rs_part(e, e->scheds_at), e->capacity.outlets * e->sched_size, seed);
    noise(rs_place(e, e->buckets_at8), (size_t)flows * RS_BUCKETS * sizeof(struct rs_bucket), seed);
    noise(rs_part(e, e->hash_at), e->hash_size * sizeof(uint32_t), seed);
    noise(rs_key_row(e, 0), (size_t)e->key_rows * sizeof(struct rs_key_row), seed);
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        struct rs_ticket_row *r = rs_row(e, t);
        if (e->key_rows) noise(&rs_key_ticket(e, t)->row, sizeof(uint32_t), seed);
        noise(&r->next, sizeof r->next * 4, seed);
        noise(&r->class_at8, sizeof r->class_at8 * 2, seed);
    }
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        struct rs_class_row *row = rs_class_row(e, c);
        noise(&row->queued, sizeof row->queued * 3, seed);
        noise(&row->promised, sizeof row->promised, seed);
        noise(&row->own, sizeof row->own * 2, seed);
        noise(&row->mean, sizeof row->mean, seed);
        noise(&row->can, sizeof row->can, seed);
    }
    noise(&e->free_first, sizeof e->free_first, seed);
    noise(&e->shared, sizeof e->shared, seed);
    noise(&e->shared_max, sizeof e->shared_max, seed);
    noise(&e->firsts, sizeof e->firsts, seed);
    noise(&e->firsts_max, sizeof e->firsts_max, seed);
    noise(&e->queued_max, sizeof e->queued_max, seed);
    noise(&e->next_outlet, sizeof e->next_outlet, seed);
    noise(&e->backlog_map, sizeof e->backlog_map, seed);
    noise(&e->weight_busy, sizeof e->weight_busy, seed);
    noise(&e->busy_map, sizeof e->busy_map, seed);
    noise(e->busy, sizeof e->busy, seed);
    noise(&e->weight_max, sizeof e->weight_max, seed);
    noise(&e->watch, sizeof e->watch, seed);
    noise(&e->debt_fine, sizeof e->debt_fine, seed);
    noise(&e->owed_least, sizeof e->owed_least * 2, seed);
    e->seq = 1;
}

START_TEST(all_is_made_anew_from_the_tickets) {
    struct world w;
    uint64_t seed = 1000003 + (uint64_t)_i * 17;
    open_world(&w, (enum rs_sched)(_i / RS_GATE_COUNT), (enum rs_gate)(_i % RS_GATE_COUNT), 5, NULL, CLASSES, TICKETS);
    for (int round = 0; round < 20; round++) {
        rs_ticket_t waiting[CLASSES][TICKETS];
        uint32_t n[CLASSES] = { 0 }, out = 0;
        for (uint32_t moves = (uint32_t)(draw(&seed) % 150); moves--;) {
            rs_ticket_t t;
            uint32_t c = (uint32_t)(draw(&seed) % CLASSES);
            w.now += 1000;
            if (draw(&seed) % 3) rs_submit(w.e, w.now, c, 0, draw(&seed) % 100000, 1, c, &t);
            else if ((t = next(&w)) == RS_NO_TICKET) continue;
            else if (draw(&seed) % 4) rs_progress(w.e, w.now, t, 500), rs_finish(w.e, w.now, t);
            else if (draw(&seed) % 2) (draw(&seed) % 2 ? rs_park : rs_park_occupying)(w.e, w.now, t);
        }
        sound(&w);
        struct rs_stats before = stats(&w);
        wreck(w.e, &seed);
        rs_rebuild(w.e, w.now);
        sound(&w);
        struct rs_stats after = stats(&w);
        ck_assert_uint_eq(after.queued, before.queued);
        ck_assert_uint_eq(after.outstanding, before.outstanding);
        ck_assert_uint_eq(after.parked, before.parked);
        ck_assert_uint_eq(after.rebuilds, before.rebuilds + 1);
        ck_assert_int_eq(memcmp(&after.counts, &before.counts, sizeof after.counts), 0);

        /* In order: the tickets of a class come out as they went in, by seq. */
        for (uint32_t c = 0; c < CLASSES; c++)
            for (uint32_t t = rs_flow(w.e, rs_outlet(w.e, 0), c)->first; t != RS_NIL; t = rs_row(w.e, t)->next) {
                waiting[c][n[c]++] = rs_row_ticket(rs_row(w.e, t));
                ck_assert(rs_row(w.e, t)->prev == RS_NIL ||
                          rs_row(w.e, rs_row(w.e, t)->prev)->seq < rs_row(w.e, t)->seq);
            }
        for (uint32_t c = 0; c < CLASSES; c++)
            for (uint32_t i = 0; i < n[c]; i++) {
                ck_assert_int_eq(rs_state(w.e, waiting[c][i]), RS_QUEUED);
                ck_assert_uint_eq(rs_tag(w.e, waiting[c][i]), c);
                out++;
            }
        ck_assert_uint_eq(out, before.queued);
        if (round % 3 == 0) rs_reclaim(w.e, w.now, 1);
    }
    close_world(&w);
}
END_TEST

/* An account that is plain wrong does not come back; one that is right does. */
START_TEST(right_accounts_survive_a_rebuild) {
    struct world w;
    open_world(&w, (enum rs_sched)_i, RS_GATE_WINDOW, 1, NULL, 2, 64);
    rs_ticket_t t = ask(&w, 0, 1000);
    ck_assert(next(&w) == t);
    for (int i = 0; i < 30; i++) ask(&w, 1, 1000);
    serve(&w, t, 20000);
    t = ask(&w, 0, 1000);
    int64_t balance = class_stats(&w, 0).balance;
    ck_assert_uint_eq(class_stats(&w, 0).owed, 19000);
    rs_rebuild(w.e, 0);
    sound(&w);
    ck_assert_uint_eq(class_stats(&w, 0).owed, 19000);
    ck_assert_int_eq(class_stats(&w, 0).balance, balance);
    int lead = 0;
    for (int i = 0; i < 10; i++) ask(&w, 0, 1000);
    for (int i = 0; i < 200; i++) {
        rs_ticket_t u = next(&w);
        uint32_t c = rs_class(w.e, u);
        lead += c ? 1 : -1;
        serve(&w, u, 1000);
        ask(&w, c, 1000);
    }
    ck_assert_int_ge(lead, 15); /* 19, and a round is 4 of each */
    ck_assert_int_le(lead, 23);
    close_world(&w);
}
END_TEST

/* Who comes into the place of a class that has gone neither owes what that one did nor has what it had saved. */
START_TEST(a_new_class_has_no_account) {
    struct world w;
    const char *why = "";
    open_world(&w, (enum rs_sched)_i, RS_GATE_WINDOW, 1, NULL, 2, 16);
    serve(&w, (ask(&w, 1, 1000), next(&w)), 1000000);
    ask(&w, 0, 1000);
    if (_i == RS_SCHED_RFQ_PAPER) ck_assert_int_lt(class_stats(&w, 1).balance, 0);
    else ck_assert_uint_gt(class_stats(&w, 1).owed, 0);
    snprintf(w.classes[1].name, sizeof w.classes[1].name, "new");
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &why), 0);
    ck_assert_str_eq(class_stats(&w, 1).settings.name, "new");
    ck_assert_int_eq(class_stats(&w, 1).balance, 0);
    ck_assert_uint_eq(class_stats(&w, 1).owed, 0);
    sound(&w);
    close_world(&w);
}
END_TEST

/*
 * What a class has saved is its own as long as it waits or has something outstanding, over a rebuild, too; else
 * nothing.
 */
START_TEST(saved_accounts_survive_a_rebuild) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_NONE, 0, NULL, 1, 8);
    rs_ticket_t t = ask(&w, 0, 10000);
    ck_assert(next(&w) == t);
    ck_assert(rs_header(w.e, 0, t, 4000));
    int64_t balance = class_stats(&w, 0).balance;
    ck_assert_int_ge(balance, 6000);
    ck_assert_ptr_null(rs_rebuild(w.e, 0)); /* one is outstanding, none waits */
    ck_assert_int_eq(class_stats(&w, 0).balance, balance);
    ask(&w, 0, 100000);
    ck_assert(rs_progress(w.e, 0, t, 4000) && rs_finish(w.e, 0, t));
    ck_assert_ptr_null(rs_rebuild(w.e, 0)); /* one waits, none is outstanding */
    ck_assert_int_eq(class_stats(&w, 0).balance, balance);
    ck_assert(rs_park(w.e, 0, next(&w)));
    balance = class_stats(&w, 0).balance;
    ck_assert_ptr_null(rs_rebuild(w.e, 0));
    ck_assert_int_eq(class_stats(&w, 0).balance, balance);
    sound(&w);
    close_world(&w);
}
END_TEST

/* Of a long response the account has heard of no more after a rebuild than before: what comes is still a debt. */
START_TEST(what_was_charged_stays_over_a_rebuild) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_NONE, 0, NULL, 1, 8);
    rs_ticket_t t = ask(&w, 0, 1 << 20);
    ck_assert(next(&w) == t);
    ck_assert_ptr_null(rs_rebuild(w.e, 0));
    ck_assert(rs_progress(w.e, 0, t, 65535));
    ck_assert_uint_eq(class_stats(&w, 0).owed, 0);
    ck_assert(rs_progress(w.e, 0, t, 1000));
    ck_assert_uint_eq(class_stats(&w, 0).owed, 1000);
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(classes_come_go_and_change) {
    struct world w;
    const char *why = "";
    uint32_t number[4];
    rs_ticket_t t;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, NULL, 4, 32);
    struct rs_class_settings one[2] = { w.classes[0], w.classes[1] };
    ck_assert_int_eq(rs_configure(w.e, &w.settings, one, 2, number, 0, &why), 0);
    ck_assert_uint_eq(number[0], 0);
    ck_assert_uint_eq(number[1], 1);
    rs_ticket_t a = ask(&w, 0, 100), b = ask(&w, 1, 100), c = ask(&w, 1, 100);
    ck_assert_uint_eq(rs_class_named(w.e, "c1"), 1);
    ck_assert_uint_eq(rs_class_named(w.e, "c2"), 2); /* retired, and there */
    ck_assert_uint_eq(rs_class_named(w.e, "new"), RS_NO_CLASS);
    ck_assert_uint_eq(class_stats(&w, 2).retired, 1); /* it was there before, and is empty */

    /* c0 goes, c1 changes its weight, two new ones come; c0 still has somebody and keeps its place. */
    struct rs_class_settings two[3] = { one[1], one[1], one[1] };
    two[0].weight = 50;
    snprintf(two[1].name, sizeof two[1].name, "new");
    snprintf(two[2].name, sizeof two[2].name, "newer");
    ck_assert_int_eq(rs_configure(w.e, &w.settings, two, 3, number, 0, &why), 0);
    ck_assert_uint_eq(number[0], 1);
    ck_assert_uint_eq(number[1], 2);
    ck_assert_uint_eq(number[2], 3);
    ck_assert_uint_eq(rs_class_named(w.e, "new"), 2);
    ck_assert_uint_eq(rs_class_named(w.e, "newer"), 3);
    ck_assert_uint_eq(rs_class_named(w.e, "c0"), 0);
    ck_assert_uint_eq(rs_class_named(w.e, "c2"), RS_NO_CLASS); /* its place is another one's */
    ck_assert_uint_eq(class_stats(&w, 1).settings.weight, 50);
    ck_assert_uint_eq(class_stats(&w, 0).retired, 1);
    ck_assert_uint_eq(class_stats(&w, 2).counts.submitted, 0);
    ck_assert_int_eq(rs_submit(w.e, 0, 0, 0, 100, 1, 0, &t), RS_OK); /* a retired class goes on */
    sound(&w);

    /* No place for one more as long as c0 has requests. */
    struct rs_class_settings three[4] = { two[0], two[1], two[2], two[2] };
    snprintf(three[3].name, sizeof three[3].name, "newest");
    ck_assert_int_eq(rs_configure(w.e, &w.settings, three, 4, number, 0, &why), -1);
    ck_assert_ptr_nonnull(strstr(why, "place"));
    ck_assert_uint_eq(class_stats(&w, 0).retired, 1);
    ck_assert_uint_eq(rs_class_named(w.e, "newest"), RS_NO_CLASS);
    ck_assert_uint_eq(rs_class_named(w.e, "newer"), 3);
    ck_assert_uint_eq(rs_class_named(w.e, "c0"), 0);
    sound(&w);
    for (int i = 0; i < 4; i++) {
        rs_ticket_t u = next(&w);
        ck_assert(u == a || u == b || u == c || u == t);
        serve(&w, u, 100);
    }
    ck_assert_int_eq(rs_configure(w.e, &w.settings, three, 4, number, 0, &why), 0);
    ck_assert_uint_eq(number[3], 0);
    ck_assert_uint_eq(rs_class_named(w.e, "newest"), 0);
    ck_assert_uint_eq(rs_class_named(w.e, "c0"), RS_NO_CLASS);
    ck_assert_str_eq(class_stats(&w, 0).settings.name, "newest");
    ck_assert_uint_eq(class_stats(&w, 0).counts.done, 0);
    ck_assert_uint_eq(stats(&w).counts.done, 4); /* what the old c0 did still counts in the whole */
    sound(&w);
    close_world(&w);
}
END_TEST

/* Whatever stands in the hash, a name is looked for in it once round, and no number comes out that is no class's. */
START_TEST(a_name_is_looked_for_in_garbage) {
    struct world w;
    uint64_t seed = 4711;
    open_world(&w, RS_SCHED_DRR, RS_GATE_NONE, 0, NULL, CLASSES, 8);
    uint32_t *hash = rs_hash(w.e);
    for (int i = 0; i < 1000; i++) {
        uint32_t is = (uint32_t)draw(&seed);
        for (uint32_t k = 0; k < w.e->hash_size; k++) hash[k] = i % 2 ? is % CLASSES : (uint32_t)draw(&seed);
        for (uint32_t c = 0; c < CLASSES; c++) {
            uint32_t found = rs_class_named(w.e, w.classes[c].name);
            ck_assert(found == c || found == RS_NO_CLASS);
        }
        ck_assert_uint_eq(rs_class_named(w.e, "nobody"), RS_NO_CLASS);
        const char *broken = rs_check(w.e);
        ck_assert_msg(broken && strstr(broken, "by its name"), "%s", broken ? broken : "sound");
    }
    ck_assert_ptr_null(rs_rebuild(w.e, 0));
    sound(&w);
    close_world(&w);
}
END_TEST

START_TEST(bad_configurations_change_nothing) {
    struct world w;
    const char *why;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, NULL, 3, 8);
    void *before = malloc(w.size);
    static const struct {
        const char *word;
        int n;
        uint32_t weight, level;
        const char *name;
        int order;
    } bad[] = {
        { "at least one", 0, 1, 0, "x", 0 }, { "weight", 2, 0, 0, "x", 0 },       { "weight", 2, 1000001, 0, "x", 0 },
        { "level", 2, 1, 65536, "x", 0 },    { "same name", 2, 1, 0, "c0", 0 },   { "no name", 2, 1, 0, "", 0 },
        { "order", 2, 1, 0, "x", 2 },        { "more classes", 4, 1, 0, "x", 0 },
    };
    struct rs_stats was = stats(&w);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rs_class_settings c[4] = { w.classes[0], w.classes[1], w.classes[2], w.classes[1] };
        c[1].weight = bad[i].weight;
        c[1].level = bad[i].level;
        c[1].order = (enum rs_order)bad[i].order;
        snprintf(c[1].name, sizeof c[1].name, "%s", bad[i].name);
        why = "";
        ck_assert_int_eq(rs_configure(w.e, &w.settings, c, (uint32_t)bad[i].n, NULL, 0, &why), -1);
        ck_assert_msg(strstr(why, bad[i].word), "%s, not: %s", bad[i].word, why);
        struct rs_stats is = stats(&w);
        ck_assert_int_eq(memcmp(&is, &was, sizeof is), 0);
        ck_assert_uint_eq(class_stats(&w, 1).settings.weight, 1);
        sound(&w);
    }
    struct rs_class_settings twins[2] = { w.classes[0], w.classes[1] };
    for (int i = 0; i < 2; i++) strcpy(twins[i].name, "both new");
    ck_assert_int_eq(rs_configure(w.e, &w.settings, twins, 2, NULL, 0, &why), -1);
    ck_assert_msg(strstr(why, "same name"), "%s", why);
    for (size_t i = 0; i < rs_settings_count; i++) {
        const struct rs_setting_info *row = &rs_settings_table[i];
        struct rs_settings s = w.settings;
        uint64_t value = row->most + 1;
        if (row->most == UINT32_MAX) continue; /* any value of the field is good */
        memcpy((char *)&s + row->offset, &value, row->width);
        ck_assert_int_eq(rs_configure(w.e, &s, w.classes, 3, NULL, 0, &why), -1);
        ck_assert_msg(strstr(why, row->name), "%s, not: %s", row->name, why);
    }
    free(before);
    close_world(&w);
}
END_TEST

/* Any discipline and gate to any other, with all states about: nobody is lost, all comes out. */
START_TEST(disciplines_and_gates_change_in_flight) {
    struct world w;
    const char *why = "";
    uint64_t seed = 31 + (uint64_t)_i;
    open_world(&w, (enum rs_sched)(_i % RS_SCHED_COUNT), RS_GATE_WINDOW, 4, NULL, 3, 60);
    for (uint32_t i = 0; i < 50; i++) ask(&w, i % 3, 1 + draw(&seed) % 100000);
    rs_ticket_t a = next(&w), b = next(&w), c = next(&w);
    ck_assert(rs_progress(w.e, 0, a, 10) && rs_park(w.e, 0, b) && rs_header(w.e, 0, c, 50));
    for (uint32_t sched = 0; sched < RS_SCHED_COUNT; sched++)
        for (uint32_t gate = 0; gate < RS_GATE_COUNT; gate++) {
            w.settings.sched = sched;
            w.settings.gate = gate;
            w.settings.rate = gate * 1000;
            w.classes[gate % 3].order = w.classes[gate % 3].order == RS_ORDER_FIFO ? RS_ORDER_SHORTEST : RS_ORDER_FIFO;
            ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, 0, &why), 0);
            sound(&w);
        }
    ck_assert_uint_eq(stats(&w).queued, 47);
    ck_assert(rs_finish(w.e, 0, a) && rs_finish(w.e, 0, b) && rs_abort(w.e, 0, c));
    sound(&w);
    w.settings.gate = RS_GATE_NONE;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 3, NULL, 0, &why), 0);
    uint32_t out = 0;
    for (rs_ticket_t t; (t = next(&w)) != RS_NO_TICKET; out++) serve(&w, t, 5);
    ck_assert_uint_eq(out, 47);
    sound(&w);
    close_world(&w);
}
END_TEST

/* Who died while a configuration was applied: rs_rebuild applies it to the end. */
START_TEST(a_half_applied_configuration_is_finished) {
    struct world w;
    const char *why = "";
    uint64_t seed = 77;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 2, NULL, 3, 30);
    for (uint32_t i = 0; i < 20; i++) ask(&w, i % 3, 1000);
    struct rs_class_settings c[2] = { w.classes[2], w.classes[0] };
    c[0].weight = 9;
    struct rs_settings s = w.settings;
    s.sched = RS_SCHED_RFQ;
    void *old = aligned_alloc(64, w.size);
    memcpy(old, w.memory, w.size);
    ck_assert_int_eq(rs_configure(w.e, &s, c, 2, NULL, 0, &why), 0);
    /* The journal of the new one over the state of the old one, torn: as if it had died in the middle. */
    rs_engine_t *torn = old;
    memcpy(rs_part(torn, torn->journal_at), rs_part(w.e, w.e->journal_at), 3 * sizeof(struct rs_journal_row));
    torn->journal_settings = w.e->journal_settings;
    torn->journal_classes = w.e->journal_classes;
    torn->journal_valid = 1;
    rs_class_row(torn, 2)->settings.weight = 9;
    torn->settings.sched = RS_SCHED_RFQ;
    ck_assert_ptr_nonnull(rs_check(torn));
    wreck(torn, &seed);
    rs_rebuild(torn, 0);
    ck_assert_msg(rs_check(torn) == NULL, "%s", rs_check(torn));
    struct rs_class_stats cs;
    ck_assert(rs_class_stats(torn, 1, &cs) && cs.retired && cs.queued == 7);
    ck_assert(rs_class_stats(torn, 2, &cs) && !cs.retired && cs.settings.weight == 9);
    free(old);
    close_world(&w);
}
END_TEST

/* What all is made from is damaged by no death, only by somebody who wrote over it: nothing is made from that. */
START_TEST(what_was_written_over_is_not_rebuilt_from) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 2, NULL, 3, 30);
    for (uint32_t i = 0; i < 20; i++) ask(&w, i % 3, 1000);
    struct rs_engine was = *w.e;
    struct rs_journal_row row = { .settings = w.classes[0], .act = RS_ACT_KEEP };
    ck_assert_ptr_null(rs_rebuild(w.e, 0));

#define REFUSED(change, word)                                                                                          \
    do {                                                                                                               \
        change;                                                                                                        \
        const char *why = rs_rebuild(w.e, 0);                                                                          \
        ck_assert_msg(why &&strstr(why, word), "%s", why ? why : "taken");                                             \
        *w.e = was;                                                                                                    \
    } while (0)
    REFUSED(w.e->capacity.tickets = 0, "capacity");
    REFUSED(w.e->capacity.tickets++, "parts");
    REFUSED(w.e->flows_at += 64, "parts");
    REFUSED(w.e->magic++, "parts");
    REFUSED(w.e->classes = 4, "more classes");
    REFUSED(w.e->settings.sched = 99, "sched");
    REFUSED(w.e->settings.horizon_ms = 0, "horizon_ms");
    REFUSED(w.e->seq = UINT64_C(1) << 61, "more requests came"); /* sound for now, and not for long */
    REFUSED(w.e->seq = UINT64_MAX, "more requests came");
    struct rs_ticket_row ticket = *rs_row(w.e, 5);
    rs_row(w.e, 5)->seq = UINT64_MAX;
    REFUSED((void)0, "more requests came");
    *rs_row(w.e, 5) = ticket;
    was.journal_valid = 1;
    was.journal_settings = was.settings;
    was.journal_classes = 3;
    for (uint32_t c = 0; c < 3; c++) *rs_journal(w.e, c) = row;
    *w.e = was;
    REFUSED(w.e->journal_classes = 4, "journal");
    REFUSED(w.e->journal_settings.gate = 99, "gate");
    REFUSED(rs_journal(w.e, 1)->act = 99, "act");
    rs_journal(w.e, 1)->act = RS_ACT_FRESH;
    REFUSED(rs_journal(w.e, 1)->settings.weight = 0, "weight");
    rs_journal(w.e, 1)->settings.weight = 1;
    REFUSED(memset(rs_journal(w.e, 1)->settings.name, 'x', RS_NAME_MAX), "name");
#undef REFUSED
    *rs_journal(w.e, 1) = row;
    w.e->classes = 2;
    rs_class_row(w.e, 2)->settings.level = UINT32_MAX; /* of no class in force, but of one of the journal's */
    ck_assert_ptr_nonnull(strstr(rs_rebuild(w.e, 0), "level"));
    rs_class_row(w.e, 2)->settings.level = 0;
    *w.e = was;
    ck_assert_ptr_null(rs_rebuild(w.e, 0));
    rs_class_row(w.e, 2)->settings.weight = 0;
    ck_assert_ptr_nonnull(strstr(rs_rebuild(w.e, 0), "weight"));
    close_world(&w);
}
END_TEST

static void live_for_ever(struct world *w, uint64_t seed) {
    const char *why = "";
    rs_time_t again;
    for (;;) {
        rs_ticket_t t = RS_NO_TICKET;
        w->now += draw(&seed) % 1000;
        switch (draw(&seed) % 12) {
        default: {
            uint64_t key[RS_KEY_LEVELS] = { draw(&seed) % 9, draw(&seed) % 50 };
            rs_submit_keyed(w->e, w->now, (uint32_t)(draw(&seed) % CLASSES), 0, draw(&seed) % 100000, key, 1, 0, &t);
            break;
        }
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
            t = rs_pick(w->e, w->now, &again);
            rs_progress(w->e, w->now, t, draw(&seed) % 100000);
            if (draw(&seed) % 4) rs_finish(w->e, w->now, t);
            else if (draw(&seed) % 2) rs_park(w->e, w->now, t);
            break;
        case 5:
            if (draw(&seed) % 50 == 0) rs_reclaim(w->e, w->now, 1);
            rs_set_rate(w->e, w->now, 1 + draw(&seed) % 3000000, 0);
            break;
        case 6:
            if (draw(&seed) % 50) break;
            w->settings.sched = (uint32_t)(draw(&seed) % RS_SCHED_COUNT);
            w->settings.gate = (uint32_t)(draw(&seed) % RS_GATE_COUNT);
            w->settings.rate = draw(&seed) % 2 * 1000000;
            for (uint32_t c = 0; c < CLASSES; c++) {
                w->classes[c].order = draw(&seed) % 2 ? RS_ORDER_SHORTEST : RS_ORDER_FIFO;
                w->classes[c].within = w->classes[c].order == RS_ORDER_FIFO ? (uint32_t)(draw(&seed) % 3) : 0;
            }
            rs_configure(w->e, &w->settings, w->classes, w->n, NULL, w->now, &why);
            break;
        }
    }
}

/*
 * A process that works on shared memory is killed wherever it is.  How far it came is chance; what must hold afterwards
 * is not.
 */
START_TEST(killed_anywhere_the_block_can_be_made_whole) {
    struct world w;
    const char *why = "";
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 5, NULL, CLASSES, TICKETS);
    w.cap.keys = 64;
    w.size = rs_size(&w.cap);
    for (uint32_t c = 0; c < CLASSES; c++) w.classes[c].within = c % 3;
    void *shared = mmap(NULL, w.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    w.e = rs_create(shared, w.size, &w.cap, &w.settings, w.classes, CLASSES, 0, &why);
    ck_assert_msg(w.e != NULL, "%s", why);
    uint64_t seed = 20260101, submitted = 0;
    for (int i = 0; i < 300; i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) live_for_ever(&w, seed + (uint64_t)i * 101);
        uint64_t before = submitted;
        int status = 0, ended = 0;
        while (submitted < before + 50 + draw(&seed) % 2000 && !ended) { /* let it work a little */
            submitted = stats(&w).counts.submitted;
            ended = waitpid(child, &status, WNOHANG) == child;
        }
        if (!ended) {
            kill(child, SIGKILL);
            ck_assert_int_eq(waitpid(child, &status, 0), child);
        }
        ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ended by itself, with status %x", status);
        rs_rebuild(w.e, w.now);
        sound(&w);
        w.settings = stats(&w).settings;
        rs_reclaim(w.e, w.now, 1);
        sound(&w);
        submitted = stats(&w).counts.submitted;
        struct rs_stats s = stats(&w);
        ck_assert_uint_eq(s.queued + s.outstanding + s.parked, 0);
    }
    ck_assert_uint_gt(submitted, 300 * 50);
    munmap(shared, w.size);
    close_world(&w);
}
END_TEST

START_TEST(check_names_what_is_wrong) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 4, NULL, 3, 30);
    for (uint32_t i = 0; i < 20; i++) ask(&w, i % 3, 1000);
    for (int i = 0; i < 4; i++) next(&w);
    sound(&w);
#define DAMAGE(what, to)                                                                                               \
    do {                                                                                                               \
        __typeof__(what) was = (what);                                                                                 \
        what = to;                                                                                                     \
        ck_assert_msg(rs_check(w.e) != NULL, "not seen: " #what " = " #to);                                            \
        what = was;                                                                                                    \
        sound(&w);                                                                                                     \
    } while (0)
    struct rs_outlet *o = rs_outlet(w.e, 0);
    struct rs_flow *f = rs_flow(w.e, o, 1);
    DAMAGE(w.e->magic, 1);
    DAMAGE(w.e->shared, 3);
    DAMAGE(w.e->firsts, 3);
    DAMAGE(w.e->shared_max, 3);
    DAMAGE(w.e->classes, 9);
    DAMAGE(w.e->backlog_map, 0);
    DAMAGE(w.e->weight_busy, 1);
    DAMAGE(w.e->free_first, RS_NIL);
    DAMAGE(w.e->seq, 2);
    DAMAGE(w.e->settings.window, 2000000);
    DAMAGE(w.e->journal_valid, 1);
    DAMAGE(o->magic, 0);
    DAMAGE(o->outstanding, 3);
    DAMAGE(o->expected, 5);
    DAMAGE(f->first, RS_NIL);
    DAMAGE(f->first, 12345);
    DAMAGE(f->best, f->last);
    DAMAGE(f->queued, 2);
    DAMAGE(f->live, 9);
    DAMAGE(f->owed, UINT64_MAX);
    DAMAGE(rs_row(w.e, f->last)->covered, 1001);
    DAMAGE(rs_row(w.e, f->last)->charged, 1001);
    DAMAGE(rs_class_row(w.e, 1)->own, 7);
    DAMAGE(rs_class_row(w.e, 1)->first, 1);
    DAMAGE(f->weight, 9);
    DAMAGE(rs_row(w.e, f->last)->next, f->first);
    DAMAGE(rs_row(w.e, f->last)->class, 2);
    DAMAGE(rs_row(w.e, f->last)->life, 99);
    DAMAGE(rs_row(w.e, f->last)->seq, 0);
    DAMAGE(rs_class_row(w.e, 1)->queued, 1);
    DAMAGE(rs_class_row(w.e, 1)->promised, 1);
    DAMAGE(rs_class_row(w.e, 2)->counts.submitted, 1);
    close_world(&w);
}
END_TEST

/* A word of a discipline's or a gate's own state, whose struct nobody sees outside of its file: by its number there. */
static uint32_t *word(void *state, uint32_t at) { return (uint32_t *)state + at; }
static uint64_t *wide(void *state, uint32_t at) { return (uint64_t *)(void *)word(state, at); }

#define SAYS(what, to, sentence)                                                                                       \
    do {                                                                                                               \
        __typeof__(what) was = (what);                                                                                 \
        what = to;                                                                                                     \
        const char *says = rs_check(w.e);                                                                              \
        ck_assert_msg(says &&strstr(says, sentence), #what " = " #to ": %s", says ? says : "nothing");                 \
        what = was;                                                                                                    \
        sound(&w);                                                                                                     \
    } while (0)

/* A queue, and its size buckets. */
START_TEST(check_names_what_is_wrong_with_a_queue) {
    struct world w;
    const char *why = "";
    open_world(&w, RS_SCHED_RFQ, RS_GATE_WINDOW, 1, NULL, 2, 30);
    w.classes[1].order = RS_ORDER_SHORTEST;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 2, NULL, 0, &why), 0);
    for (uint32_t i = 0; i < 8; i++) ask(&w, i % 2, i < 2 ? 100000 : 1000);
    struct rs_outlet *o = rs_outlet(w.e, 0);
    struct rs_flow *f = rs_flow(w.e, o, 0), *sized = rs_flow(w.e, o, 1);
    uint32_t second = rs_row(w.e, f->first)->next, third = rs_row(w.e, second)->next, small = sized->best;
    struct rs_bucket *buckets = rs_flow_buckets(w.e, o, 1), *full = &buckets[rs_bucket_of(1000)];
    sound(&w);
    SAYS(rs_row(w.e, second)->next, 30, "queue holds an unknown ticket");
    SAYS(rs_row(w.e, f->last)->next, f->first, "queue is longer");
    SAYS(f->first, sized->first, "does not wait in it");
    SAYS(rs_row(w.e, second)->prev, third, "queue's links");
    SAYS(rs_row(w.e, second)->seq, rs_row(w.e, third)->seq, "queue is out of order");
    SAYS(rs_row(w.e, third)->next, RS_NIL, "queue is shorter");
    SAYS(f->last, third, "queue's last");
    SAYS(f->best, second, "the first of a queue");
    SAYS(sized->bucket_map, 0, "no size buckets");
    SAYS(sized->best, sized->first, "the shortest of a queue");
    SAYS(rs_row(w.e, small)->bucket_next, 30, "bucket holds an unknown ticket");
    SAYS(rs_row(w.e, full->last)->bucket_next, small, "bucket's links");
    SAYS(rs_row(w.e, small)->bucket_next, second, "does not wait here");
    SAYS(rs_row(w.e, small)->bucket_next, sized->first, "wrong size bucket");
    SAYS(rs_row(w.e, rs_row(w.e, small)->bucket_next)->bucket_prev, RS_NIL, "bucket's links");
    SAYS(rs_row(w.e, small)->bucket_next, full->last, "bucket's links");
    SAYS(full->last, small, "bucket's last");
    SAYS(rs_row(w.e, small)->bucket_next, RS_NIL, "bucket's last");
    SAYS(buckets[rs_bucket_of(100000)].first, RS_NIL, "marked full");
    SAYS(sized->bucket_map, (uint64_t)1 << rs_bucket_of(1000), "lost a ticket");
    close_world(&w);
}
END_TEST

/* struct drr, and struct drr_row at 16: two words each of deficit, earned and left, then weight, where, next, prev. */
START_TEST(check_names_what_is_wrong_with_rounds) {
    struct world w;
    open_world(&w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, NULL, 5, 60);
    serve(&w, (ask(&w, 0, 1000), next(&w)), 1000);
    w.now += 1000000; /* no short pause */
    for (uint32_t i = 0; i < 12; i++) ask(&w, i % 3, 1000);
    ask(&w, 3, 60000);
    ck_assert_uint_eq(next_class(&w), 0);
    struct rs_outlet *o = rs_outlet(w.e, 0);
    uint32_t *d = rs_sched_state(w.e, o);
    uint32_t *row[5], list = *word(d, 6), first = *word(d, 2 * list), last = *word(d, 2 * list + 1);
    for (uint32_t c = 0; c < 5; c++) row[c] = word((char *)d + *word(d, 16), c * 16);
    ck_assert(first != last && *word(row[3], 7) == 3 && *word(row[4], 7) == 4);
    sound(&w);
    SAYS(*word(d, 2 * list), 5, "unknown class");
    SAYS(*word(row[last], 8), first, "links disagree");
    SAYS(*word(row[first], 7), list ^ 1, "links disagree");
    SAYS(*word(row[last], 9), 4, "links disagree");
    SAYS(*word(d, 2 * list + 1), first, "last is not its last");
    SAYS(*word(row[last], 8), 4, "links disagree");
    SAYS(*wide(d, 12), 0, "gives nothing");
    SAYS(*word(d, 6), 2, "gives nothing");
    SAYS(*wide(d, 14), RS_BYTES_MAX + 1, "mean estimate");
    SAYS(*word(row[3], 7), 4, "sleepers and the heap");
    SAYS(*word(row[4], 7), 3, "sleepers and the heap");
    SAYS(*word(row[4], 7), 0, "waits in no round");
    SAYS(*wide(row[0], 0), ((uint64_t)1 << 61) + 1, "deficit is out of bounds");
    SAYS(*wide(row[0], 0), (uint64_t)-1, "deficit is out of bounds");
    SAYS(*word(row[0], 6), 2, "old weight");
    SAYS(*wide(row[0], 2), *wide(d, 10) + 1, "ahead of the rounds");
    rs_row(w.e, rs_flow(w.e, o, 3)->best)->charged = 0;
    SAYS(rs_row(w.e, rs_flow(w.e, o, 3)->best)->covered, 1000, "sleeps too long");
    close_world(&w);
}
END_TEST

/* struct rfq, and struct rfq_row at 2: two words of counter, and the rest. */
START_TEST(check_names_what_is_wrong_with_counters) {
    struct world w;
    open_world(&w, (enum rs_sched)_i, RS_GATE_WINDOW, 1, (const uint32_t[]){ 3, 3, 3 }, 3, 60);
    for (uint32_t i = 0; i < 12; i++) ask(&w, i % 2, 1000);
    uint32_t *q = rs_sched_state(w.e, rs_outlet(w.e, 0)), *row[3];
    for (uint32_t c = 0; c < 3; c++) row[c] = word((char *)q + *word(q, 2), c * 4);
    sound(&w);
    SAYS(*wide(row[0], 0), 77, "old key");
    SAYS(*wide(row[2], 0), ((uint64_t)1 << 62) + 1, "counter is out of bounds");
    SAYS(*word(row[0], 2), 3, "rest of a division");
    *word(row[0], 2) = 2;
    *wide(row[2], 0) = (uint64_t)1 << 62;
    sound(&w);
    SAYS(rs_flow(w.e, rs_outlet(w.e, 0), 0)->weight, 2, "weight");
    close_world(&w);
}
END_TEST

/*
 * A heap of the classes that wait, and nothing else: its count, capacity, distances, and the nodes of key, id and
 * padding.
 */
START_TEST(check_names_what_is_wrong_with_heads) {
    struct world w;
    open_world(&w, RS_SCHED_LEVELS, RS_GATE_WINDOW, 1, NULL, 3, 60);
    for (uint32_t i = 0; i < 12; i++) ask(&w, i % 2, 1000);
    uint32_t *h = rs_sched_state(w.e, rs_outlet(w.e, 0)), *place = word((char *)h + *word(h, 3), 0);
    sound(&w);
    SAYS(*wide((char *)h + *word(h, 2), 0), 0, "heads: a class has an old key");
    SAYS(place[0], RS_NIL, "not where it says");
    *word(h, 0) = 1;
    place[1] = RS_NIL;
    const char *says = rs_check(w.e);
    ck_assert_msg(says && strstr(says, "heads: the waiting classes"), "%s", says ? says : "nothing");
    close_world(&w);
}
END_TEST

/* struct wrc is the window, the ends, two flags; struct aside has a rate behind the bytes. */
START_TEST(check_names_what_is_wrong_with_a_gate) {
    struct world w;
    const char *why = "";
    open_world(&w, RS_SCHED_FIFO, RS_GATE_WRC, 3, NULL, 1, 60);
    struct rs_outlet *o = rs_outlet(w.e, 0);
    void *state = o->gate_state;
    SAYS(o->open_below, 4, "wrc: the window");
    SAYS(*word(state, 2), 2, "wrc: a flag");
    SAYS(*word(state, 3), 2, "wrc: a flag");
    *word(state, 2) = *word(state, 3) = 1;
    sound(&w);
    *word(state, 0) = o->open_below = 0;
    ck_assert_ptr_nonnull(rs_check(w.e));
    *word(state, 0) = o->open_below = w.settings.window_max + 1;
    ck_assert_ptr_nonnull(rs_check(w.e));
    *word(state, 0) = o->open_below = w.settings.window_max;
    sound(&w);
    w.settings.gate = RS_GATE_BYTES;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    SAYS(*wide(state, 2), RS_BYTES_MAX + 1, "bytes: a rate");
    SAYS(*wide(state, 4), RS_BYTES_MAX + 1, "bytes: a rate");
    *wide(state, 2) = *wide(state, 4) = RS_BYTES_MAX;
    sound(&w);
    w.settings.gate = RS_GATE_AUTO;
    ck_assert_int_eq(rs_configure(w.e, &w.settings, w.classes, 1, NULL, 0, &why), 0);
    SAYS(o->open_below, 4, "auto: the gate and its window");
    SAYS(o->open_base, 4, "auto: the gate and its base");
    SAYS(*word(state, 0), 1, "auto: the window is out of bounds");
    SAYS(*word(state, 1), 1, "auto: the window is out of bounds");
    SAYS(*word(state, 1), (uint32_t)w.settings.window_max + 1, "auto: the window is out of bounds");
    SAYS(*word(state, 1), 4, "auto: the window is not that");
    SAYS(*word(state, 3), 4, "auto: an epoch");
    SAYS(*word(state, 4), 2, "auto: an epoch");
    close_world(&w);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: rebuild");
    TCase *c = tcase_create("rebuild");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, all_is_made_anew_from_the_tickets, 0, RS_SCHED_COUNT * RS_GATE_COUNT);
    tcase_add_loop_test(c, right_accounts_survive_a_rebuild, RS_SCHED_DRR, RS_SCHED_RFQ + 1);
    tcase_add_loop_test(c, a_new_class_has_no_account, RS_SCHED_DRR, RS_SCHED_RFQ_PAPER + 1);
    tcase_add_test(c, saved_accounts_survive_a_rebuild);
    tcase_add_test(c, what_was_charged_stays_over_a_rebuild);
    tcase_add_test(c, classes_come_go_and_change);
    tcase_add_test(c, a_name_is_looked_for_in_garbage);
    tcase_add_test(c, bad_configurations_change_nothing);
    tcase_add_loop_test(c, disciplines_and_gates_change_in_flight, 0, RS_SCHED_COUNT);
    tcase_add_test(c, a_half_applied_configuration_is_finished);
    tcase_add_test(c, what_was_written_over_is_not_rebuilt_from);
    tcase_add_test(c, killed_anywhere_the_block_can_be_made_whole);
    tcase_add_test(c, check_names_what_is_wrong);
    tcase_add_test(c, check_names_what_is_wrong_with_a_queue);
    tcase_add_test(c, check_names_what_is_wrong_with_rounds);
    tcase_add_loop_test(c, check_names_what_is_wrong_with_counters, RS_SCHED_RFQ, RS_SCHED_RFQ_PAPER + 1);
    tcase_add_test(c, check_names_what_is_wrong_with_heads);
    tcase_add_test(c, check_names_what_is_wrong_with_a_gate);
    suite_add_tcase(s, c);
    return run_suite(s);
}
