/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sim_standing.c - more is asked for than the server has: classes with a bound on delay.
 *
 * 16 workers of 20 ms: 800 requests a second.  Three classes of 6, 3 and 1 ask by their weights; from STEP on each for
 * `load` times its due.  Waits are those of people, of all seeds, in bins of 20 ms.
 */
#include "test_sim.h"

#define STEP     5.0
#define UNTIL    15.0
#define BIN      0.02
#define BINS     750
#define WAITS    1024
#define CAPACITY 800.0
#define LOOKED   0.006 /* rs_overdue looks every 5 ms, where something happens every ms */

struct bin {
    uint32_t n;
    float wait[WAITS];
};

struct seen {
    struct bin *bins;           /* people that were released */
    uint64_t released, refused; /* since the step */
    double refused_least, refused_most;
    double bound, late_from, late_to; /* when they went who had waited for longer, in this run */
    double late_longest, late_last;   /* of all runs */
};

static void see(const struct sim *sim, uint32_t class, double waited, bool refused, void *arg) {
    struct seen *seen = arg;
    uint32_t at = (uint32_t)(sim_now(sim) / BIN);
    if (class != 0 || at >= BINS) return;
    if (sim_now(sim) >= STEP) refused ? seen->refused++ : seen->released++;
    if (refused) {
        seen->refused_least = fmin(seen->refused_least, waited);
        seen->refused_most = fmax(seen->refused_most, waited);
        return;
    }
    if (waited > seen->bound + LOOKED) {
        if (seen->late_from == 0) seen->late_from = sim_now(sim);
        seen->late_to = sim_now(sim);
    }
    struct bin *b = &seen->bins[at];
    ck_assert_uint_lt(b->n, WAITS);
    b->wait[b->n++] = (float)waited;
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double percentile(struct bin *b, double part) {
    qsort(b->wait, b->n, sizeof *b->wait, by_size);
    return b->n ? (double)b->wait[(uint32_t)(part * (b->n - 1))] : 0;
}

static void run(struct seen *seen, double load, double before, uint32_t delay_ms, enum rs_order order, uint64_t seeds) {
    *seen = (struct seen){ .bins = calloc(BINS, sizeof *seen->bins), .refused_least = 1e9, .bound = delay_ms / 1e3 };
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct sim_class c[3];
        static const uint32_t weights[3] = { 6, 3, 1 };
        for (int i = 0; i < 3; i++)
            c[i] = (struct sim_class){ .weight = weights[i],
                                       .size = SIM_FIXED,
                                       .bytes = 10000,
                                       .estimate = SIM_EXACT,
                                       .order = order,
                                       .delay_ms = delay_ms ? delay_ms * 6 / weights[i] : 0,
                                       .arrivals = before * CAPACITY * weights[i] / 10,
                                       .step_at = STEP,
                                       .step_to = load * CAPACITY * weights[i] / 10 };
        struct sim_server *server =
            sim_workers_new(&(struct sim_workers){ .workers = 16, .seconds = 0.02, .jitter = 0.5, .seed = seed });
        struct sim_setup setup = { .classes = c,
                                   .nclasses = 3,
                                   .server = server,
                                   .seed = seed,
                                   .warm = 1,
                                   .until = UNTIL,
                                   .check_every = 0.5,
                                   .left_queue = see,
                                   .arg = seen };
        rs_settings_default(&setup.settings);
        setup.settings.window = 16;
        struct sim_result r = sim_run(&setup);
        sim_result_free(&r);
        sim_server_free(&server);
        seen->late_longest = fmax(seen->late_longest, seen->late_to - seen->late_from);
        seen->late_last = fmax(seen->late_last, seen->late_to - STEP);
        seen->late_from = seen->late_to = 0;
    }
}

/*
 * A step to 1.4 times of what there is: in order of arrival people's waits would grow by 0.29 s a second.  In each run
 * the first who has waited for longer than the bound and the last one are no further apart than what makes a queue
 * stand (0.1 s) and two looks; from then on everybody is within the bound, and the middle one within half of it.
 */
START_TEST(a_step_of_demand_is_over_in_a_tenth_of_a_second) {
    struct seen seen;
    const double bound = 0.1;
    double middle = 0, late = 0;
    run(&seen, 1.4, 0.7, 100, RS_ORDER_FIFO, TEST_SEEDS);
    for (uint32_t i = (uint32_t)((STEP + 1) / BIN); i < BINS; i++) {
        middle = fmax(middle, percentile(&seen.bins[i], 0.5));
        late = fmax(late, percentile(&seen.bins[i], 0.99));
    }
    printf(
        "1.4 x: above the bound for %.0f ms at most, the last %.0f ms after the step; from 1 s on the middle one waits "
        "%.1f ms at most, of 100 one %.0f ms; refused %.1f %%, after %.0f to %.0f ms\n",
        seen.late_longest * 1e3, seen.late_last * 1e3, middle * 1e3, late * 1e3,
        100.0 * (double)seen.refused / (double)(seen.refused + seen.released), seen.refused_least * 1e3,
        seen.refused_most * 1e3);
    AT_MOST("seconds above the bound", seen.late_longest, 0.1 + 2 * LOOKED);
    AT_MOST("the middle one's wait", middle, bound / 2);
    AT_MOST("the 99th of 100", late, bound + LOOKED);
    /* 0.4 of 1.4 are too many, less what waited when the step came; Poisson arrivals, 10 s, 20 seeds: 0.3 %. */
    WITHIN("refused", (double)seen.refused / (double)(seen.refused + seen.released), 0.4 / 1.4, 0.02);
    AT_LEAST("the soonest refusal", seen.refused_least, bound);
    free(seen.bins);
}
END_TEST

/* Ten times as much, shortest first and in order: who is not answered knows soon, and those who are have not waited. */
START_TEST(ten_times_as_much) {
    for (int order = RS_ORDER_FIFO; order <= RS_ORDER_SHORTEST; order++) {
        struct seen seen;
        run(&seen, 10, 0.7, 100, (enum rs_order)order, 3);
        double late = 0, middle = 0, refused_most = seen.refused_most;
        for (uint32_t i = (uint32_t)((STEP + 0.5) / BIN); i < BINS; i++) {
            middle = fmax(middle, percentile(&seen.bins[i], 0.5));
            late = fmax(late, percentile(&seen.bins[i], 1));
        }
        printf(
            "10 x, order %d: the middle one waits %.1f ms at most, nobody longer than %.0f ms, refused after %.0f ms "
            "at most\n",
            order, middle * 1e3, late * 1e3, refused_most * 1e3);
        AT_MOST("the longest wait", late, 0.1 + 0.006);
        if (order == RS_ORDER_FIFO) AT_MOST("the middle one's wait", middle, 0.01);
        /* Until it stands (0.1 s of growth to the bound in a ninth of that, and the quiet) nobody is refused. */
        AT_MOST("the latest refusal", refused_most, 0.1 + 0.1 + 0.02);
        free(seen.bins);
    }
}
END_TEST

/* What fits is not refused: bursts of Poisson arrivals at 0.9 of what there is are no standing queue. */
START_TEST(what_fits_is_not_refused) {
    struct seen seen;
    run(&seen, 0.9, 0.9, 200, RS_ORDER_FIFO, 5);
    printf("0.9 x: refused %.4f %%\n", 100.0 * (double)seen.refused / (double)(seen.refused + seen.released));
    AT_MOST("refused", (double)seen.refused / (double)(seen.refused + seen.released), 0.0001);
    free(seen.bins);
}
END_TEST

int main(void) {
    const TTest *tests[] = { a_step_of_demand_is_over_in_a_tenth_of_a_second, ten_times_as_much,
                             what_fits_is_not_refused };
    return test_sim_run("standing", tests, sizeof tests / sizeof *tests, 1);
}
