/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sim_link.c - request scheduling behind a thin downlink: the setting of the access-gateway paper, chapter 4.
 *
 * 2 Mbit/s, three classes 4 : 2 : 1 with 30 requests always waiting each, lognormal pages, round trips of 30 to 250 ms.
 * The sizes are unknown until the header comes.
 */
#include "test_sim.h"

#define LINK 250000.0 /* bytes a second */

static const struct sim_class like = { .clients = 30, .size = SIM_PAGES, .estimate = SIM_MEAN };

static void three(struct sim_class c[3]) {
    static const uint32_t weights[3] = { 4, 2, 1 };
    for (int i = 0; i < 3; i++) {
        c[i] = like;
        c[i].weight = weights[i];
    }
}

static struct sim_setup office(struct sim_class classes[3], int sched, int gate, uint32_t window, uint64_t seed) {
    struct sim_setup setup = { .classes = classes, .nclasses = 3, .seed = seed, .warm = 30, .until = 630, .bin = 5 };
    rs_settings_default(&setup.settings);
    setup.settings.sched = (uint32_t)sched;
    setup.settings.gate = (uint32_t)gate;
    setup.settings.window = window;
    setup.settings.window_max = 64;
    setup.settings.rate = (uint64_t)LINK;
    setup.settings.debt_max = 0;
    three(classes);
    setup.server = sim_link_new(
        &(struct sim_link){ .rate = LINK, .rtt_from = 0.03, .rtt_to = 0.25, .buffer = 16384, .seed = seed + 1000 });
    return setup;
}

struct figures {
    double jain, use, share[3], gap, window, outstanding;
};

/* Runs and frees. */
static struct figures run(struct sim_setup *setup) {
    struct sim_result r = sim_run(setup);
    struct figures f = { .jain = sim_jain(&r, setup->classes),
                         .use = r.rate / LINK,
                         .gap = r.classes[2].gap_max,
                         .window = r.window_mean,
                         .outstanding = r.outstanding_mean };
    for (int i = 0; i < 3; i++) f.share[i] = r.classes[i].share;
    sim_result_free(&r);
    sim_server_free(&setup->server);
    return f;
}

static void say(const char *name, const struct figures *f) {
    printf(
        "%-34s jain %.4f, use of the link %.4f, shares %.1f / %.1f / %.1f %%, longest gap of the light class %.1f s, "
        "window %.1f, outstanding %.1f\n",
        name, f->jain, f->use, 100 * f->share[0], 100 * f->share[1], 100 * f->share[2], f->gap, f->window,
        f->outstanding);
}

/*
 * Jain's index over bins of 5 s, mean over seeds.  Equal split at 4:2:1 is (7/3)^2... of x = 1/4, 1/2, 1 that is
 * (1.75)^2 / (3 x 1.3125) = 0.78.  A bin has 1.25 MB, 45 pages; what a discipline leaves to chance in it is what it
 * knows too late: paper RFQ counts a page when its bytes come, so each slot is a gamble of one page (27 KB, deviation
 * 60 KB); the amended order knows it one round trip after the release.  The bounds: the means of the rough trials that
 * led to this design (0.78, 0.90, 0.965, 0.99), less two hundredths for the slow start that those left out; for the
 * equal split on both sides.
 */
struct link_row {
    const char *name;
    int sched, gate;
    uint32_t window;
    double jain_least, jain_most, use_least;
};

static const struct link_row link_rows[] = {
    { "no scheduler", RS_SCHED_FIFO, RS_GATE_NONE, 0, 0.73, 0.81, 0.99 },
    { "paper RFQ, WRC", RS_SCHED_RFQ_PAPER, RS_GATE_WRC, 1, 0.86, 0.97, 0.88 },
    { "paper RFQ, window 8", RS_SCHED_RFQ_PAPER, RS_GATE_WINDOW, 8, 0.93, 0.985, 0.97 },
    { "amended RFQ, window 8", RS_SCHED_RFQ, RS_GATE_WINDOW, 8, 0.97, 1.00, 0.97 },
};

START_TEST(the_amended_order_is_fairer_than_the_paper) {
    enum { ROWS = sizeof link_rows / sizeof *link_rows };
    double mean[ROWS] = { 0 };
    for (int k = 0; k < ROWS; k++) {
        struct figures sum = { 0 };
        for (uint64_t seed = 1; seed <= TEST_SEEDS; seed++) {
            struct sim_class classes[3];
            struct sim_setup setup = office(classes, link_rows[k].sched, link_rows[k].gate, link_rows[k].window, seed);
            struct figures f = run(&setup);
            sum.jain += f.jain / TEST_SEEDS;
            sum.use += f.use / TEST_SEEDS;
            sum.gap = fmax(sum.gap, f.gap);
            sum.window += f.window / TEST_SEEDS;
            sum.outstanding += f.outstanding / TEST_SEEDS;
            for (int i = 0; i < 3; i++) sum.share[i] += f.share[i] / TEST_SEEDS;
        }
        say(link_rows[k].name, &sum);
        AT_LEAST(link_rows[k].name, sum.jain, link_rows[k].jain_least);
        AT_MOST(link_rows[k].name, sum.jain, link_rows[k].jain_most);
        AT_LEAST(link_rows[k].name, sum.use, link_rows[k].use_least);
        mean[k] = sum.jain;
    }
    AT_LEAST("amended less paper RFQ, both with window 8", mean[3] - mean[2], 0.01);
}
END_TEST

/*
 * Over ten minutes every class has its share: 150 MB, and the light class's 21 MB are 780 pages; a page known late is
 * put right by the next.  What remains is the boundary: at most 8 pages outstanding, whose sizes are known; 1 point is
 * 1.5 MB, 55 mean pages.
 */
START_TEST(shares_on_the_link_over_many_seeds) {
    for (uint64_t seed = 1; seed <= TEST_SEEDS; seed++) {
        struct sim_class classes[3];
        struct sim_setup setup = office(classes, RS_SCHED_RFQ, RS_GATE_WINDOW, 8, seed);
        struct figures f = run(&setup);
        WITHIN("class of weight 4", 100 * f.share[0], 400.0 / 7, 1);
        WITHIN("class of weight 2", 100 * f.share[1], 200.0 / 7, 1);
        WITHIN("class of weight 1", 100 * f.share[2], 100.0 / 7, 1);
    }
}
END_TEST

/*
 * The longest time without a byte for the class of weight 1, window 4.  In the paper's order a page of 1 MB (the
 * largest of 780 is about that) comes at a quarter of the link, 16 s, and has to be earned at a seventh, 28 s: 12 s
 * without a byte; more for the largest of all seeds.  In the amended one the class in debt asks for a page as soon as
 * it has earned four, 3 s, or 6 s while its mean is twice what it is (a giant doubles it).  With debt_max D the class
 * of 3/7 of the mean weight owes at most 3/7 D: at 64 KB 28 KB, 0.8 s of its share.  Beside that it waits for a slot (a
 * large page of another class leaves three that turn over in about a second) and for a round trip: 10 s and 4 s in all.
 */
START_TEST(a_debt_leaves_no_long_gap) {
    static const struct {
        const char *name;
        int sched;
        uint64_t debt_max;
        double least, most;
    } rows[] = {
        { "paper RFQ", RS_SCHED_RFQ_PAPER, 0, 12, 1e9 },
        { "amended, without a bound", RS_SCHED_RFQ, 0, 0, 10 },
        { "amended, debt_max 64 KB", RS_SCHED_RFQ, 65536, 0, 4 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double longest = 0;
        for (uint64_t seed = 1; seed <= TEST_SEEDS; seed++) {
            struct sim_class classes[3];
            struct sim_setup setup = office(classes, rows[i].sched, RS_GATE_WINDOW, 4, seed);
            setup.settings.debt_max = rows[i].debt_max;
            struct figures f = run(&setup);
            longest = fmax(longest, f.gap);
        }
        printf("longest gap of the light class over %d seeds: %.1f s, %s\n", TEST_SEEDS, longest, rows[i].name);
        AT_LEAST("the longest gap", longest, rows[i].least);
        AT_MOST("the longest gap", longest, rows[i].most);
    }
}
END_TEST

/*
 * Class 0 stops at 200 s and comes back at 400 s.  Meanwhile the others have 2/3 and 1/3; afterwards 4 : 2 : 1 from the
 * first 10 s bin, because the reviving class begins at the least of the others and not at what it had before.  A bin of
 * 10 s has 90 pages: the light class has 13 of them, one page more or less is 1.1 points, a large one 5; 8 points for
 * the bin, 1.5 for the phases (1,500 pages).
 */
START_TEST(a_reviving_class_takes_no_more_than_its_share) {
    static const int scheds[] = { RS_SCHED_RFQ, RS_SCHED_RFQ_PAPER };
    for (int k = 0; k < 2; k++) {
        struct sim_class classes[3];
        struct sim_setup setup = office(classes, scheds[k], RS_GATE_WINDOW, 8, 9);
        classes[0].pause_from = 200;
        classes[0].pause_to = 400;
        setup.warm = 0;
        setup.until = 600;
        setup.bin = 10;
        struct sim_result r = sim_run(&setup);
        double phase[3][3] = { { 0 } };
        for (uint32_t b = 0; b < r.bins; b++)
            for (int i = 0; i < 3; i++)
                if (b != 0 && b != 20 && b != 40) phase[b / 20][i] += (double)r.bin_bytes[b * 3 + (uint32_t)i];
        for (int p = 0; p < 3; p++) {
            double all = phase[p][0] + phase[p][1] + phase[p][2];
            for (int i = 0; i < 3; i++) phase[p][i] *= 100 / all;
            printf("%s, phase %d: %.1f / %.1f / %.1f %%\n", rs_sched_name(scheds[k]), p, phase[p][0], phase[p][1],
                   phase[p][2]);
            WITHIN("class 0 in this phase", phase[p][0], p == 1 ? 0 : 400.0 / 7, 1.5);
            WITHIN("class 1 in this phase", phase[p][1], p == 1 ? 200.0 / 3 : 200.0 / 7, 1.5);
            WITHIN("class 2 in this phase", phase[p][2], p == 1 ? 100.0 / 3 : 100.0 / 7, 1.5);
        }
        const uint64_t *first = &r.bin_bytes[41 * 3];
        double share = 100.0 * (double)first[0] / (double)(first[0] + first[1] + first[2]);
        printf("%s, class 0 in 410 .. 420 s: %.1f %%\n", rs_sched_name(scheds[k]), share);
        WITHIN("class 0 just after its return", share, 400.0 / 7, 8);
        sim_result_free(&r);
        sim_server_free(&setup.server);
    }
}
END_TEST

/* ---- when: WRC, bytes -------------------------------------------------------------------------------------------- */

/*
 * WRC moves by one around Umax, so the link's use is Umax within the change that one response makes: with 3 to 6
 * outstanding and use near Umax, another one adds about a tenth.  The paper, 4.5, has 95 % of Umax for F from 1 to 16.
 */
START_TEST(wrc_reaches_umax) {
    static const uint32_t fs[] = { 1, 4, 8, 16 };
    static const uint32_t umax[] = { 800, 900, 950 };
    for (size_t i = 0; i < sizeof fs / sizeof *fs; i++)
        for (size_t k = 0; k < sizeof umax / sizeof *umax; k++) {
            struct sim_class classes[3];
            struct sim_setup setup = office(classes, RS_SCHED_RFQ, RS_GATE_WRC, 1, 3);
            setup.settings.wrc_f = fs[i];
            setup.settings.wrc_umax_permille = umax[k];
            struct figures f = run(&setup);
            char name[64];
            snprintf(name, sizeof name, "WRC, F %u, Umax %.2f", fs[i], umax[k] / 1000.0);
            say(name, &f);
            AT_LEAST(name, f.use, 0.9 * umax[k] / 1000.0);
            AT_MOST(name, f.use, umax[k] / 1000.0 + 0.06);
        }
}
END_TEST

/*
 * The byte gate keeps so many milliseconds of the link outstanding, whatever number of responses that is; of one
 * response an eighth of it counts.  0.6 s is more than twice the longest round trip: the link never runs dry but while
 * a slow start fills, so its use is within three hundredths of window 16's.  A slice is 19 KB, a mean page 27 KB, most
 * pages less: 8 to 12 outstanding.
 */
START_TEST(the_byte_gate_keeps_the_link_busy_with_less_outstanding) {
    struct figures mean[2];
    memset(mean, 0, sizeof mean);
    for (int k = 0; k < 2; k++) {
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct sim_class classes[3];
            struct sim_setup setup = office(classes, RS_SCHED_RFQ, k ? RS_GATE_BYTES : RS_GATE_WINDOW, 16, seed);
            setup.settings.horizon_ms = 600;
            struct figures f = run(&setup);
            mean[k].use += f.use / 5;
            mean[k].jain += f.jain / 5;
            mean[k].outstanding += f.outstanding / 5;
            for (int i = 0; i < 3; i++) mean[k].share[i] += f.share[i] / 5;
        }
        say(k ? "byte gate, 0.6 s" : "window 16", &mean[k]);
    }
    AT_LEAST("use of the link with the byte gate, of that with window 16", mean[1].use / mean[0].use, 0.97);
    AT_MOST("outstanding with the byte gate, of that with window 16", mean[1].outstanding / mean[0].outstanding, 0.75);
}
END_TEST

int main(void) {
    const TTest *tests[] = { the_amended_order_is_fairer_than_the_paper,
                             shares_on_the_link_over_many_seeds,
                             a_debt_leaves_no_long_gap,
                             a_reviving_class_takes_no_more_than_its_share,
                             wrc_reaches_umax,
                             the_byte_gate_keeps_the_link_busy_with_less_outstanding };
    return test_sim_run("link", tests, sizeof tests / sizeof *tests, 1);
}
