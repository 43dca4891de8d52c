/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sim_schedules.c - a search over random schedules: which clients arrive when, and what the server does for them.
 *
 * Each seed draws a window of 4 to 32 slots, two to six classes, their weights (1 to 10), clients, think times, pages
 * of 1 ms to 10 s, late arrivals and early departures.  Clients of some classes give up.  Some read slowly: such a
 * response is parked, and occupies a worker until it is read, so there are three times as many workers as slots.
 * Self-requests take no slot and never reach the engine.  The worst seed of each rule is printed; SCHEDULES says how
 * many are tried (50).
 *
 * RULE 1.  A class whose queue is never empty during an interval has at least 0.85 of its due of slot time there:
 *
 *     due = integral of (slots that the classes without a queue leave) x weight / weight of the classes with a queue
 *
 * For RESERVE seconds after the last brief request of a class its share is due to no other class: slots are reserved
 * for its return (core/rs_reserve.h).  A class without a queue is due what it uses, and no more than its share.  What
 * parked requests occupy counts as slot time of their class, which is due no more than its share (core/rs_occupied.h).
 *
 * A slot is not taken back, so shares hold over intervals of many pages.  The interval is 10 s, or 20 of the longest
 * pages of the schedule if that is longer; and two longest pages are granted, one at either end: a class that is due a
 * fraction of a slot has it in one interval and not in the next.  What the class had beyond its due before the interval
 * counts in it: a class that filled the window with long pages a moment before others came pays for that.
 *
 * RULE 2.  A class that pauses between brief pages, and would have no more than half of its share of the window if it
 * were alone, has at least 0.85 of the pages that it has when alone.  Brief is what core/rs_reserve.h calls so.  Its
 * pauses are random, and not the same ones in both runs: three standard deviations of the ratio are granted.
 */
#include "test_sim.h"

#define CLASSES  6u
#define STEP     0.05
#define WARM     20.0
#define RUN      400.0
#define LEAST    0.85
#define AWAIT_US 50000u
#define BRIEF_US (5 * AWAIT_US)
#define RESERVE  5.0
#define SAMPLES  ((uint32_t)(RUN / STEP) + 8)

struct schedule {
    uint32_t n, window;
    double longest;       /* page, in seconds */
    double held[CLASSES]; /* longest time for which a request of the class has a worker */
    struct sim_class class[CLASSES];
};

/* Of each class at each sample: slot time and due until then, and samples in a row with a queue. */
struct seen {
    uint32_t samples;
    double *had[CLASSES], *due[CLASSES], last[CLASSES]; /* last: time of its last request, queued or outstanding */
    const struct sim_class *class;
    uint32_t *backlog[CLASSES], run[CLASSES];
};

static double log_uniform(struct sim_rng *r, double from, double to) {
    return exp(sim_rng_uniform(r, log(from), log(to)));
}

static void draw(struct schedule *s, uint64_t seed) {
    struct sim_rng r, habits; /* apart: habits change no arrival and no page */

    sim_rng_seed(&r, seed);
    sim_rng_seed(&habits, ~seed);
    memset(s, 0, sizeof *s);
    s->n = 2 + sim_rng_below(&r, CLASSES - 1);
    s->window = 4 + sim_rng_below(&r, 29);
    for (uint32_t i = 0; i < s->n; i++) {
        struct sim_class *c = &s->class[i];
        double page = log_uniform(&r, 0.001, 10);

        c->weight = 1 + sim_rng_below(&r, 10);
        c->clients = 1 + sim_rng_below(&r, 60);
        c->think = sim_rng_below(&r, 2) ? log_uniform(&r, 0.1, 3) : 0;
        c->bytes = floor(1e6 * page);
        c->size = SIM_FIXED;
        c->timed = 1;
        if (sim_rng_below(&r, 3) == 0) { /* silent in between: it leaves, and comes late */
            c->pause_from = sim_rng_uniform(&r, 0, RUN / 2);
            c->pause_to = c->pause_from + sim_rng_uniform(&r, 5, RUN / 2);
        }
        if (page > s->longest) s->longest = page;
        s->held[i] = page;
        switch (sim_rng_below(&habits, 6)) {
        case 0: c->patience = log_uniform(&habits, 0.05, 20); break;
        case 1:
            c->reading = log_uniform(&habits, 0.5, 10);
            c->bytes += floor(1e6 * c->reading);
            s->held[i] += c->reading;
            break;
        default: break;
        }
    }
}

static void look(struct sim *sim, void *arg) {
    struct seen *seen = arg;
    struct rs_class_stats stats[CLASSES];
    double now = sim_now(sim), left = 0, weights = 0, all = 0, active = 0;
    uint32_t n = 0, at = seen->samples;

    if (at == SAMPLES) return;
    for (; n < CLASSES && seen->had[n]; n++) rs_class_stats(sim_engine(sim), n, &stats[n]);
    for (uint32_t i = 0; i < n; i++) {
        if (stats[i].queued) weights += stats[i].settings.weight;
        if (stats[i].queued || stats[i].outstanding || stats[i].parked) seen->last[i] = now;
        if (now - seen->last[i] < RESERVE) all += stats[i].settings.weight;
        if (now - seen->last[i] < RS_WINDOW_QUIET / 1e6) active += stats[i].settings.weight;
    }
    left = rs_window(sim_engine(sim));
    for (uint32_t i = 0; i < n; i++) {
        double reserved = rs_window(sim_engine(sim)) * stats[i].settings.weight / all;

        if (stats[i].queued) continue;
        if (seen->class[i].bytes > BRIEF_US || now - seen->last[i] >= RESERVE) reserved = 0;
        left -= stats[i].outstanding > reserved ? stats[i].outstanding : reserved;
    }
    for (uint32_t i = 0; i < n; i++) {
        double share = rs_window(sim_engine(sim)) * stats[i].settings.weight / all;
        double has = stats[i].outstanding + stats[i].parked;
        double due = stats[i].queued ? left * stats[i].settings.weight / weights : fmin(has, share);

        if (stats[i].parked) due = fmin(due, share * all / active);
        seen->had[i][at] = (at ? seen->had[i][at - 1] : 0) + has * STEP;
        seen->due[i][at] = (at ? seen->due[i][at - 1] : 0) + due * STEP;
        seen->run[i] = stats[i].queued ? seen->run[i] + 1 : 0;
        seen->backlog[i][at] = seen->run[i];
    }
    seen->samples++;
}

/* alone: its number among the classes, or CLASSES for all of them.  Responses of each class. */
static void run(const struct schedule *s, uint64_t seed, uint32_t alone, struct seen *seen, double responses[CLASSES]) {
    struct sim_class c[CLASSES];
    struct sim_server *server =
        sim_workers_new(&(struct sim_workers){ .workers = 3 * s->window, .jitter = 0.2, .seed = seed });
    struct sim_setup setup = { .classes = c,
                               .nclasses = s->n,
                               .server = server,
                               .seed = seed,
                               .warm = WARM,
                               .until = RUN,
                               .check_every = 10,
                               .hook_every = seen ? STEP : 0,
                               .hook = seen ? look : NULL,
                               .arg = seen };

    memcpy(c, s->class, sizeof c);
    for (uint32_t i = 0; i < s->n; i++)
        if (alone < CLASSES && i != alone) c[i].clients = 0;
    rs_settings_default(&setup.settings);
    setup.settings.window = s->window;
    setup.settings.debt_max = 0;
    setup.settings.await_us = AWAIT_US;
    struct sim_result r = sim_run(&setup);
    for (uint32_t i = 0; i < s->n; i++) responses[i] = (double)r.classes[i].responses;
    sim_result_free(&r);
    sim_server_free(&server);
}

struct worst {
    double part;
    uint64_t seed;
    uint32_t class;
};

static void keep_worst(struct worst *w, double part, uint64_t seed, uint32_t class) {
    if (part < w->part) *w = (struct worst){ part, seed, class };
}

static void judge_shares(const struct schedule *s, const struct seen *seen, uint64_t seed, struct worst *w) {
    double interval = 20 * s->longest > 10 ? 20 * s->longest : 10;
    uint32_t steps = (uint32_t)(interval / STEP);

    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t at = steps; at < seen->samples; at += 20) {
            double had = seen->had[i][at] - seen->had[i][at - steps], due = seen->due[i][at] - seen->due[i][at - steps];
            double before = seen->had[i][at - steps] - seen->due[i][at - steps];

            if (before > 0) had += before;
            if (seen->backlog[i][at] > steps && due > 0)
                keep_worst(w, (had + 2 * fmax(s->longest, s->held[i])) / due, seed, i);
        }
}

static void judge_pauses(const struct schedule *s, const double responses[CLASSES], uint64_t seed, struct worst *w) {
    double weights = 0;

    for (uint32_t i = 0; i < s->n; i++) weights += s->class[i].weight;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct sim_class *c = &s->class[i];
        double alone[CLASSES];

        if (c->think <= 0 || c->pause_to > 0 || c->patience > 0 || c->bytes > BRIEF_US) continue;
        run(s, seed, i, NULL, alone);
        if (alone[i] * c->bytes / 1e6 / (RUN - WARM) > s->window * c->weight / weights / 2) continue;
        keep_worst(w, responses[i] / alone[i] + 3 * sqrt(2 / alone[i]), seed, i);
    }
}

static void print_worst(const char *rule, const struct worst *w) {
    struct schedule s;

    printf("%s: worst %.3f, class %u of seed %llu\n", rule, w->part, w->class, (unsigned long long)w->seed);
    draw(&s, w->seed);
    printf("    window %u\n", s.window);
    for (uint32_t i = 0; i < s.n; i++)
        printf("    class %u: weight %u, %u clients, page %.3f s, think %.2f s, silent from %.0f to %.0f s, gives up "
               "after "
               "%.1f s, reads for %.1f s\n",
               i, s.class[i].weight, s.class[i].clients, s.class[i].bytes / 1e6, s.class[i].think,
               s.class[i].pause_from, s.class[i].pause_to, s.class[i].patience, s.class[i].reading);
}

START_TEST(no_class_is_below_its_due_in_any_random_schedule) {
    const char *many = getenv("SCHEDULES");
    uint64_t seeds = many ? strtoull(many, NULL, 10) : 50;
    struct worst shares = { 9, 0, 0 }, pauses = { 9, 0, 0 };
    struct seen seen = { 0 };

    for (uint32_t i = 0; i < CLASSES; i++) {
        seen.had[i] = malloc(SAMPLES * sizeof *seen.had[i]);
        seen.due[i] = malloc(SAMPLES * sizeof *seen.due[i]);
        seen.backlog[i] = malloc(SAMPLES * sizeof *seen.backlog[i]);
    }
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct schedule s;
        struct seen these = seen;
        double responses[CLASSES];

        draw(&s, seed);
        for (uint32_t i = s.n; i < CLASSES; i++) these.had[i] = NULL;
        for (uint32_t i = 0; i < CLASSES; i++) these.last[i] = -RESERVE;
        these.class = s.class;
        run(&s, seed, CLASSES, &these, responses);
        judge_shares(&s, &these, seed, &shares);
        judge_pauses(&s, responses, seed, &pauses);
    }
    print_worst("slot time of a class with a queue, of its due", &shares);
    print_worst("pages of a class that pauses, of those when alone", &pauses);
    for (uint32_t i = 0; i < CLASSES; i++) {
        free(seen.had[i]);
        free(seen.due[i]);
        free(seen.backlog[i]);
    }
    AT_LEAST("slot time, of its due", shares.part, LEAST);
    AT_LEAST("pages, of those when alone", pauses.part, LEAST);
}
END_TEST

int main(void) {
    const TTest *tests[] = { no_class_is_below_its_due_in_any_random_schedule };
    return test_sim_run("schedules", tests, sizeof tests / sizeof *tests, 1);
}
