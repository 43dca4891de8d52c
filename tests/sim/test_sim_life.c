/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sim_life.c - what happens to a gateway while it shares: processes die, lists are rebuilt, settings change.
 *
 * Website of test_sim_shares.c, 8 KB pages: 1,389 responses a second.
 */
#include "test_sim.h"

#define RATE     12.5e6
#define OVERHEAD 1000.0

static const double want[3] = { 0.6, 0.3, 0.1 };

static struct sim_setup website(struct sim_class classes[3], int sched, int gate) {
    static const uint32_t weights[3] = { 6, 3, 1 };
    static const char *const names[3] = { "people", "engines", "crawlers" };
    for (int i = 0; i < 3; i++)
        classes[i] = (struct sim_class){ .name = names[i],
                                         .weight = weights[i],
                                         .clients = 40,
                                         .size = SIM_FIXED,
                                         .bytes = 8192,
                                         .estimate = SIM_EXACT };
    struct sim_setup setup = {
        .classes = classes, .nclasses = 3, .seed = 1, .warm = 1, .until = 31, .owners = 4, .check_every = 0.5
    };
    rs_settings_default(&setup.settings);
    setup.settings.sched = (uint32_t)sched;
    setup.settings.gate = (uint32_t)gate;
    setup.settings.window = 8;
    setup.settings.rate = (uint64_t)RATE;
    setup.settings.horizon_ms = 20;
    setup.server = sim_sharing_new(
        &(struct sim_sharing){ .rate = RATE, .cores = 2, .overhead = OVERHEAD, .latency = 0.0002, .jitter = 0.9 });
    return setup;
}

static void shares_hold(const char *name, const struct sim_result *r, double points) {
    printf("%-44s %.2f / %.2f / %.2f %%, %llu responses\n", name, 100 * r->classes[0].share, 100 * r->classes[1].share,
           100 * r->classes[2].share, (unsigned long long)r->responses);
    for (int i = 0; i < 3; i++) WITHIN(name, 100 * r->classes[i].share, 100 * want[i], points);
}

/* ---- a process dies ---------------------------------------------------------------------------------------------- */

struct deaths {
    uint32_t killed;
};

static void kill_next(struct sim *sim, void *arg) {
    struct deaths *d = arg;
    struct rs_stats before, after;
    rs_stats(sim_engine(sim), &before);
    sim_kill(sim, d->killed++ % 4);
    rs_stats(sim_engine(sim), &after);
    ck_assert_uint_le(after.outstanding, before.outstanding);
    ck_assert_uint_eq(after.counts.reclaimed - before.counts.reclaimed, before.queued + before.outstanding +
                                                                            before.parked - after.queued -
                                                                            after.outstanding - after.parked);
}

/*
 * A death every 0.7 s loses up to 8 responses of 960 in between, in whichever class; the bytes of half-received ones
 * are charged but not more: the shares stay within a point, the throughput within 2 %, and the window is whole:
 * outstanding stays at 8 but for the moment of the death.
 */
START_TEST(a_death_leaves_the_window_whole) {
    double rate[2];
    for (int killing = 0; killing < 2; killing++) {
        struct sim_class classes[3];
        struct deaths deaths = { 0 };
        struct sim_setup setup = website(classes, RS_SCHED_DRR, RS_GATE_WINDOW);
        if (killing) {
            setup.hook = kill_next;
            setup.hook_every = 0.7;
            setup.arg = &deaths;
        }
        struct sim_result r = sim_run(&setup);
        rate[killing] = r.rate;
        shares_hold(killing ? "a death every 0.7 s" : "no deaths", &r, 1);
        AT_LEAST("outstanding on average, window 8", r.outstanding_mean, 7.9);
        if (killing) ck_assert_uint_ge(r.counts.reclaimed, 42 * 10);
        sim_result_free(&r);
        sim_server_free(&setup.server);
    }
    WITHIN("throughput with deaths", rate[1] / rate[0], 1, 0.02);
}
END_TEST

/* ---- lists made anew --------------------------------------------------------------------------------------------- */

static void rebuild(struct sim *sim, void *arg) {
    struct rs_stats before, after;
    (void)arg;
    rs_stats(sim_engine(sim), &before);
    rs_rebuild(sim_engine(sim), (rs_time_t)(sim_now(sim) * 1e6));
    rs_stats(sim_engine(sim), &after);
    ck_assert_uint_eq(after.queued, before.queued);
    ck_assert_uint_eq(after.outstanding, before.outstanding);
    ck_assert_uint_eq(after.rebuilds, before.rebuilds + 1);
    ck_assert_ptr_null(rs_check(sim_engine(sim)));
}

/*
 * A rebuild sets accounts to neutral: each class may lose or win what it was owed at that moment, a page for every slot
 * at most.  One rebuild a second is 8 of 1,389 pages: 0.6 points, in either direction.  Without one every discipline is
 * exact here.
 */
START_TEST(a_rebuild_changes_no_share) {
    static const struct {
        int sched, gate;
        double points;
    } rows[] = { { RS_SCHED_DRR, RS_GATE_WINDOW, 1 },         { RS_SCHED_RFQ, RS_GATE_WINDOW, 1 },
                 { RS_SCHED_RFQ_PAPER, RS_GATE_WINDOW, 1.5 }, { RS_SCHED_DRR, RS_GATE_BYTES, 1 },
                 { RS_SCHED_DRR, RS_GATE_AUTO, 2 },           { RS_SCHED_DRR, RS_GATE_THREADS, 1 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int rebuilding = 0; rebuilding < 2; rebuilding++) {
            char name[80];
            struct sim_class classes[3];
            struct sim_setup setup = website(classes, rows[i].sched, rows[i].gate);
            if (rebuilding) {
                setup.hook = rebuild;
                setup.hook_every = 1;
            }
            struct sim_result r = sim_run(&setup);
            snprintf(name, sizeof name, "%s, %s%s", rs_sched_name(rows[i].sched), rs_gate_name(rows[i].gate),
                     rebuilding ? ", a rebuild every second" : "");
            shares_hold(name, &r, rows[i].points);
            sim_result_free(&r);
            sim_server_free(&setup.server);
        }
}
END_TEST

/* ---- new settings in the middle ---------------------------------------------------------------------------------- */

struct change {
    int done;
    struct rs_settings settings;
    const struct sim_class *classes;
    uint64_t bytes[3];
};

static void turn_round(struct sim *sim, void *arg) {
    struct change *c = arg;
    struct rs_class_settings classes[3];
    uint32_t number[3];
    const char *why = "";
    if (c->done++) return;
    memset(classes, 0, sizeof classes);
    for (int i = 0; i < 3; i++) { /* in another order too: a class is known by its name */
        snprintf(classes[i].name, sizeof classes[i].name, "%s", c->classes[2 - i].name);
        classes[i].weight = c->classes[i].weight;
        struct rs_class_stats stats;
        rs_class_stats(sim_engine(sim), (uint32_t)i, &stats);
        c->bytes[i] = stats.counts.bytes;
    }
    ck_assert_msg(
        rs_configure(sim_engine(sim), &c->settings, classes, 3, number, (rs_time_t)(sim_now(sim) * 1e6), &why) == 0,
        "%s", why);
    for (int i = 0; i < 3; i++) ck_assert_uint_eq(number[i], (uint32_t)(2 - i));
}

/* After 16 s, half of what is counted, the weights are 1 : 3 : 6: over the whole run both ends have (60 + 10) / 2 %. */
START_TEST(new_weights_hold_from_then_on) {
    struct sim_class classes[3];
    struct sim_setup setup = website(classes, RS_SCHED_DRR, RS_GATE_WINDOW);
    struct change change = { .settings = setup.settings, .classes = classes };
    setup.hook = turn_round;
    setup.hook_every = 16;
    setup.arg = &change;
    struct sim_result r = sim_run(&setup);
    static const double half[3] = { 35, 30, 35 };
    printf("weights turned round at half time: %.2f / %.2f / %.2f %%\n", 100 * r.classes[0].share,
           100 * r.classes[1].share, 100 * r.classes[2].share);
    for (int i = 0; i < 3; i++) WITHIN("share over both halves", 100 * r.classes[i].share, half[i], 1);
    sim_result_free(&r);
    sim_server_free(&setup.server);
}
END_TEST

int main(void) {
    const TTest *tests[] = { a_death_leaves_the_window_whole, a_rebuild_changes_no_share,
                             new_weights_hold_from_then_on };
    return test_sim_run("life", tests, sizeof tests / sizeof *tests, 1);
}
