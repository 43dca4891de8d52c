/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak.c - lives by the million over random engines: every discipline with every gate, every move a host can make, late
 * calls, dead owners, rebuilds, new settings in the middle, the block moved in memory; compared all the time with a
 * model (soak.h).
 *
 *     soak [--quick] [--seed N] [LIVES]        LIVES: 100,000,000, with --quick 5,000,000
 *
 * Exit status 1 and a sentence with the seed at the first thing that could not be so.  A life ends done, aborted or
 * cancelled.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim_rng.h"
#include "soak.h"

#define LIVES_OF_ONE 60000 /* then another engine */
#define OWNERS       5

struct soak {
    struct sim_rng rng;
    struct soak_model model;
    void *memory[2];
    size_t size;
    rs_engine_t *engine;
    rs_time_t now;
    rs_time_t latest; /* the engine's clock does not go back with it */
    uint64_t seed, lives, ops;
    uint32_t made;           /* class names so far */
    struct rs_counts counts; /* of all engines */
    uint64_t rebuilds, configured, moved, checks;
};

static uint32_t below(struct soak *s, uint32_t n) { return sim_rng_below(&s->rng, n); }
static int one_in(struct soak *s, uint32_t n) { return below(s, n) == 0; }

static void broken(const struct soak *s, const char *what) {
    const struct rs_settings *set = &s->model.settings;
    printf("soak: BROKEN: %s\n  seed %" PRIu64 " (--seed repeats it), after %" PRIu64
           " lives in all, operation %" PRIu64 "\n"
           "  sched %s, gate %s, window %u, window_max %u, %u classes, %u tickets, %u outlets\n",
           what, s->seed, s->lives, s->ops, rs_sched_name((int)set->sched), rs_gate_name((int)set->gate), set->window,
           set->window_max, s->model.cap.classes, s->model.cap.tickets, s->model.cap.outlets);
    exit(1);
}

static void expect(const struct soak *s, int holds, const char *what) {
    if (!holds) broken(s, what);
}

static void hear(const struct soak *s, const char *complaint) {
    if (complaint) broken(s, complaint);
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static uint64_t bytes(struct soak *s) {
    switch (below(s, 64)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return (uint64_t)1 << below(s, 41);
    default: return (uint64_t)1 << below(s, 20) | below(s, 100000);
    }
}

static void random_settings(struct soak *s, struct rs_settings *set) {
    rs_settings_default(set);
    set->sched = below(s, RS_SCHED_COUNT);
    set->gate = below(s, RS_GATE_COUNT);
    set->window = 1 + below(s, one_in(s, 4) ? 200 : 16);
    set->window_max = set->window + 1 + below(s, 64);
    set->rate = one_in(s, 4) ? 0 : 10000 + (uint64_t)below(s, 100000000);
    set->horizon_ms = 10 + below(s, 1000);
    set->wrc_f = 1 + below(s, 8);
    set->queue_max = one_in(s, 3) ? 1 + below(s, s->model.cap.tickets) : 0;
    set->debt_max = one_in(s, 3) ? 0 : 10000 + (uint64_t)below(s, 10000000);
    set->await_us = one_in(s, 3) ? 1 + (uint64_t)below(s, 50000) : 0;
}

/* Some old names, some new ones, no name twice. */
static uint32_t random_classes(struct soak *s, struct rs_class_settings *out, uint32_t most) {
    uint32_t n = 1 + below(s, most), kept = 0;
    for (uint32_t i = 0; i < s->model.numbers && kept < n; i++)
        if (one_in(s, 2)) out[kept++] = s->model.classes[i].settings;
    for (uint32_t i = 0; i < n; i++) {
        char name[RS_NAME_MAX];
        if (i < kept) memcpy(name, out[i].name, sizeof name);
        else snprintf(name, sizeof name, "c%u", s->made++);
        out[i] = (struct rs_class_settings){ .weight = one_in(s, 8) ? 1 + below(s, 1000000) : 1 + below(s, 10),
                                             .level = below(s, 3),
                                             .within = s->model.cap.keys ? below(s, 3) : 0,
                                             .queue_max = one_in(s, 3) ? 1 + below(s, 50) : 0,
                                             .wait_bound_ms = one_in(s, 2) ? below(s, 1000) : 0,
                                             .slots = one_in(s, 4) ? 1 + below(s, 4) : 0 };
        memcpy(out[i].name, name, sizeof name);
        if (!out[i].within && one_in(s, 3)) out[i].order = RS_ORDER_SHORTEST;
    }
    return n;
}

static int stays(const struct rs_class_settings *classes, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(classes[i].name, name) == 0) return 1;
    return 0;
}

/* Places for new names: those never used, and those of classes that are empty and not asked for. */
static int there_is_room(const struct soak *s, const struct rs_class_settings *classes, uint32_t n) {
    uint32_t taken = 0, known = 0;
    for (uint32_t i = 0; i < s->model.numbers; i++) {
        const struct soak_class *c = &s->model.classes[i];
        int asked = stays(classes, n, c->settings.name);
        known += (uint32_t)asked;
        taken += asked || c->queued || c->outstanding || c->parked;
    }
    return taken + (n - known) <= s->model.cap.classes;
}

static void windows_of_their_own(struct soak *s) {
    struct rs_outlet_settings outlets[64] = { 0 };
    uint32_t number[64], n = below(s, s->model.cap.outlets + 1);
    const char *why = "";
    for (uint32_t i = 0; i < n; i++) {
        snprintf(outlets[i].name, sizeof outlets[i].name, "o%u", i * 7 + below(s, 7));
        outlets[i].gate = one_in(s, 2) ? RS_GATE_WINDOW : RS_GATE_AUTO;
        outlets[i].window = 1 + below(s, 16);
        outlets[i].window_max = outlets[i].window + 1 + below(s, 64);
    }
    expect(s, rs_outlets(s->engine, outlets, n, s->now, &why) == 0, why);
    for (uint32_t i = 0; i < n; i++) number[i] = rs_outlet_named(s->engine, outlets[i].name);
    soak_model_outlets(&s->model, outlets, n, number);
}

static void reconfigure(struct soak *s) {
    struct rs_settings set;
    struct rs_class_settings *classes = calloc(s->model.cap.classes, sizeof *classes);
    uint32_t *number = calloc(s->model.cap.classes, sizeof *number);
    const char *why = NULL;
    if (!classes || !number) abort();
    random_settings(s, &set);
    uint32_t n = random_classes(s, classes, s->model.cap.classes);
    if (rs_configure(s->engine, &set, classes, n, number, s->now, &why) == 0)
        soak_model_configured(&s->model, &set, classes, n, number);
    else if (there_is_room(s, classes, n)) broken(s, why ? why : "a configuration was refused without a reason");
    free(classes);
    free(number);
}

static void create(struct soak *s) {
    struct rs_capacity cap = { .classes = 1 + below(s, 12), .tickets = 1 + below(s, 300), .outlets = 1 };
    if (one_in(s, 8)) cap.classes = 1 + below(s, 300);
    if (one_in(s, 8)) cap.tickets = 1 + below(s, 5000);
    if (one_in(s, 3)) cap.outlets = 1 + below(s, 4);
    if (one_in(s, 2)) cap.keys = 8 + below(s, 100) / 8 * 8;
    soak_model_init(&s->model, &cap);
    struct rs_class_settings *classes = calloc(cap.classes, sizeof *classes);
    uint32_t *number = calloc(cap.classes, sizeof *number);
    struct rs_settings set;
    const char *why = "rs_size is 0";
    s->size = (rs_size(&cap) + 63) / 64 * 64;
    for (int i = 0; i < 2; i++) s->memory[i] = aligned_alloc(64, s->size);
    if (!classes || !number || !s->memory[0] || !s->memory[1]) abort();
    random_settings(s, &set);
    uint32_t n = random_classes(s, classes, cap.classes);
    for (uint32_t i = 0; i < n; i++) number[i] = i;
    s->latest = s->now;
    s->engine = rs_create(s->memory[0], s->size, &cap, &set, classes, n, s->now, &why);
    expect(s, s->engine != NULL, why);
    soak_model_configured(&s->model, &set, classes, n, number);
    free(classes);
    free(number);
}

static void destroy(struct soak *s) {
    free(s->memory[0]);
    free(s->memory[1]);
    soak_model_free(&s->model);
}

/* The old block is overwritten: an engine that still looks at it is found out. */
static void move_block(struct soak *s) {
    const char *why = "";
    struct rs_stats stats;
    rs_stats(s->engine, &stats);
    memcpy(s->memory[1], s->memory[0], s->size);
    memset(s->memory[0], 0xa5, s->size);
    s->engine = rs_attach(s->memory[1], s->size, &stats.capacity, &why);
    expect(s, s->engine != NULL, why);
    void *was = s->memory[0];
    s->memory[0] = s->memory[1];
    s->memory[1] = was;
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

/* A ticket of that state, SOAK_NONE if there is none. */
static uint32_t any(struct soak *s, enum rs_state state) {
    const struct soak_set *set = &s->model.set[state];
    return set->count ? set->index[below(s, set->count)] : SOAK_NONE;
}

static rs_ticket_t ticket(const struct soak *s, uint32_t i) { return s->model.rows[i].ticket; }

static void submit(struct soak *s) {
    uint32_t class = below(s, s->model.numbers), outlet = below(s, s->model.cap.outlets), owner = 1 + below(s, OWNERS);
    rs_ticket_t t = RS_NO_TICKET;
    uint64_t tag = ++s->model.tags;
    uint64_t key[RS_KEY_LEVELS] = { below(s, 20), one_in(s, 2) ? below(s, 4) : sim_rng_bits(&s->rng) };
    enum rs_refusal why = rs_submit_keyed(s->engine, s->now, class, outlet, bytes(s), key, owner, tag, &t);
    hear(s, soak_model_submitted(&s->model, class, outlet, owner, tag, why, t));
}

static void pick(struct soak *s) {
    rs_time_t again = 0;
    rs_ticket_t t = rs_pick(s->engine, s->now, &again);
    if (s->now > s->latest) s->latest = s->now;
    hear(s, soak_model_picked(&s->model, t, again - s->latest));
}

static void progress(struct soak *s, uint32_t i) {
    uint64_t n = bytes(s);
    expect(s, rs_progress(s->engine, s->now, ticket(s, i), n), "progress of a live ticket was not taken");
    s->model.counts.bytes += n;
}

static void end(struct soak *s, uint32_t i) {
    if (one_in(s, 16)) {
        expect(s, rs_abort(s->engine, s->now, ticket(s, i)), "an abort of a live ticket was not taken");
        s->model.counts.aborted++;
    } else {
        expect(s, rs_finish(s->engine, s->now, ticket(s, i)), "the end of a live ticket was not taken");
        s->model.counts.done++;
    }
    soak_model_moved(&s->model, i, RS_FREE);
    s->lives++;
}

static void cancel(struct soak *s) {
    uint32_t i = any(s, RS_QUEUED);
    if (i == SOAK_NONE) return;
    expect(s, !rs_finish(s->engine, s->now, ticket(s, i)) && !rs_park(s->engine, s->now, ticket(s, i)),
           "a queued ticket was ended or parked");
    expect(s, rs_cancel(s->engine, s->now, ticket(s, i)), "a queued ticket was not cancelled");
    s->model.counts.cancelled++;
    soak_model_moved(&s->model, i, RS_FREE);
    s->lives++;
}

static void park(struct soak *s) {
    uint32_t i = any(s, RS_RELEASED);
    if (i == SOAK_NONE) return;
    expect(s, !rs_cancel(s->engine, s->now, ticket(s, i)) && !rs_resume(s->engine, s->now, ticket(s, i)),
           "a released ticket was cancelled or resumed");
    expect(s, rs_park(s->engine, s->now, ticket(s, i)), "a released ticket was not parked");
    s->model.counts.parked++;
    soak_model_moved(&s->model, i, RS_PARKED);
}

static void unpark(struct soak *s) {
    uint32_t i = any(s, RS_PARKED);
    if (i == SOAK_NONE) return;
    if (one_in(s, 2)) {
        end(s, i);
        return;
    }
    expect(s, rs_resume(s->engine, s->now, ticket(s, i)), "a parked ticket was not resumed");
    s->model.counts.resumed++;
    soak_model_moved(&s->model, i, RS_RELEASED);
}

/* Calls for a life that is over do nothing: a host gives a slot back from several places. */
static void late(struct soak *s) {
    uint32_t i = any(s, RS_FREE);
    if (i == SOAK_NONE) return;
    rs_ticket_t t = ticket(s, i);
    expect(s,
           !rs_finish(s->engine, s->now, t) && !rs_abort(s->engine, s->now, t) && !rs_cancel(s->engine, s->now, t) &&
               !rs_park(s->engine, s->now, t) && !rs_resume(s->engine, s->now, t) &&
               !rs_header(s->engine, s->now, t, 1000) && !rs_progress(s->engine, s->now, t, 1000),
           "a call for an ended ticket was taken");
}

static void allowance(struct soak *s) {
    uint32_t i = any(s, RS_RELEASED);
    if (i == SOAK_NONE) return;
    uint64_t may = rs_allowance(s->engine, s->now, ticket(s, i));
    expect(s, s->model.settings.gate == RS_GATE_BYTES || may == RS_UNLIMITED,
           "what may be on its way was limited without the bytes gate");
}

static void reclaim(struct soak *s) {
    uint32_t owner = 1 + below(s, OWNERS), of = 0;
    for (uint32_t i = 0; i < s->model.cap.tickets; i++) {
        const struct soak_row *r = &s->model.rows[i];
        if (r->ticket == RS_NO_TICKET || r->state == RS_FREE || r->owner != owner) continue;
        *(r->state == RS_QUEUED ? &s->model.counts.cancelled : &s->model.counts.aborted) += 1;
        soak_model_moved(&s->model, i, RS_FREE);
        of++;
    }
    s->model.counts.reclaimed += of;
    s->lives += of;
    expect(s, rs_reclaim(s->engine, s->now, owner) == of,
           "an owner's death reclaimed another number of tickets than it had");
}

static void charge(struct soak *s) {
    uint64_t n = bytes(s);
    uint64_t key[RS_KEY_LEVELS] = { below(s, 20), below(s, 4) };
    rs_charge_keyed(s->engine, s->now, below(s, s->model.numbers), below(s, s->model.cap.outlets), key, n);
    s->model.counts.bytes += n;
}

static void header(struct soak *s) {
    uint32_t i = any(s, one_in(s, 8) ? RS_PARKED : RS_RELEASED);
    if (i != SOAK_NONE)
        expect(s, rs_header(s->engine, s->now, ticket(s, i), bytes(s)), "a live ticket's length was not taken");
}

static void verify(struct soak *s) {
    s->checks++;
    hear(s, rs_check(s->engine));
    hear(s, soak_model_compare(&s->model, s->engine));
}

/* ---- the mixture ------------------------------------------------------------------------------------------------- */

static void rare(struct soak *s, uint32_t costly) {
    switch (below(s, 10)) {
    case 0: cancel(s); break;
    case 1:
    case 2: park(s); break;
    case 3:
    case 4: unpark(s); break;
    case 5: late(s); break;
    case 6: allowance(s); break;
    case 7: charge(s); break;
    case 8: header(s); break;
    default:
        /* These cost as much as the engine is large: the larger, the less often. */
        if (one_in(s, costly)) switch (below(s, 4)) {
            case 0: reclaim(s); break;
            case 1:
                rs_rebuild(s->engine, s->now);
                s->rebuilds++;
                break;
            case 2:
                if (one_in(s, 2)) reconfigure(s);
                else windows_of_their_own(s);
                s->configured++;
                break;
            default: move_block(s); s->moved++;
            }
    }
}

static void live(struct soak *s, uint64_t lives) {
    uint32_t size = s->model.cap.tickets + s->model.cap.classes, costly = 4 + size / 16, every = 64 + 2 * size;
    uint32_t crowd = 20 + below(s, 60); /* in 100: how much of the time more comes than goes */
    for (uint64_t until = s->lives + lives; s->lives < until; s->ops++) {
        s->now += one_in(s, 256) ? below(s, 2000000) : below(s, 500);
        if (one_in(s, 4096)) s->now -= s->now / 2; /* a clock that was set back */
        if (below(s, 100) < crowd || s->model.set[RS_QUEUED].count == 0) submit(s);
        pick(s);
        uint32_t i = any(s, RS_RELEASED);
        if (i != SOAK_NONE) {
            progress(s, i);
            if (below(s, 3)) end(s, i);
        }
        if (one_in(s, 16)) rare(s, costly);
        if (one_in(s, every)) verify(s);
    }
    verify(s);
}

static void add(struct rs_counts *sum, const struct rs_counts *c) {
    sum->done += c->done;
    sum->aborted += c->aborted;
    sum->cancelled += c->cancelled;
    sum->reclaimed += c->reclaimed;
    sum->refused_class += c->refused_class;
    sum->refused_share += c->refused_share;
    sum->refused_total += c->refused_total;
    sum->parked += c->parked;
}

int main(int argc, char **argv) {
    uint64_t goal = 100000000, seed = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) goal = 5000000;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) seed = strtoull(argv[++i], NULL, 10);
        else if (argv[i][0] >= '1' && argv[i][0] <= '9') goal = strtoull(argv[i], NULL, 10);
        else {
            fprintf(stderr, "usage: soak [--quick] [--seed N] [LIVES]\n");
            return 2;
        }
    }
    struct timespec from, to;
    struct soak s = { 0 };
    uint64_t engines = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (; s.lives < goal; engines++) {
        s.seed = seed + engines;
        s.now = 1;
        s.ops = 0;
        s.made = 0;
        sim_rng_seed(&s.rng, s.seed);
        create(&s);
        live(&s, goal - s.lives < LIVES_OF_ONE ? goal - s.lives : LIVES_OF_ONE);
        add(&s.counts, &s.model.counts);
        destroy(&s);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    double took = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("soak: %" PRIu64 " lives over %" PRIu64 " engines in %.1f s, %.0f lives/s, 0 broken invariants\n"
           "  %" PRIu64 " done, %" PRIu64 " aborted, %" PRIu64 " cancelled, %" PRIu64 " of these reclaimed, %" PRIu64
           " refused, %" PRIu64 " parked\n  %" PRIu64 " rebuilds, %" PRIu64 " configurations, %" PRIu64
           " moves in memory, %" PRIu64 " whole checks\n",
           s.lives, engines, took, (double)s.lives / took, s.counts.done, s.counts.aborted, s.counts.cancelled,
           s.counts.reclaimed, s.counts.refused_class + s.counts.refused_share + s.counts.refused_total,
           s.counts.parked, s.rebuilds, s.configured, s.moved, s.checks);
    return 0;
}
