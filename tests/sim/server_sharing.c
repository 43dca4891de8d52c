/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server_sharing.c - processor sharing with a virtual time.
 *
 * Every response at work gets the same rate, so one number says how far all of them are: `virtual`, the bytes that a
 * response which was there from the beginning would have got.  A response's milestones are virtual times, fixed when it
 * begins; only the pace of virtual time changes with their number.
 */
#include "sim_events.h"
#include "sim_host.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { BEGIN, BYTES };

struct sharing {
    struct sim_server base;
    struct sim_sharing p;
    struct sim_rng rng;
    struct sim_events begins;     /* by time */
    struct sim_events milestones; /* by virtual time */
    double virtual, at;
    uint32_t active;
    uint64_t *left;  /* by job */
    uint32_t *begun; /* by job: serial of the one at work */
    uint32_t room;
};

static double pace(const struct sharing *s) {
    if (s->active == 0) return 0;
    double n = s->active, rate = s->p.rate;
    if (s->p.knee > 0 && n > s->p.knee) rate *= pow(s->p.knee / n, s->p.slope);
    return rate / fmax(n, s->p.cores);
}

static void move(struct sharing *s, double now) {
    s->virtual += pace(s) * (now - s->at);
    s->at = now;
    if (s->active == 0) s->virtual = 0;
}

static void start(struct sim_server *base, struct sim *sim, struct sim_job *j, double now) {
    struct sharing *s = (struct sharing *)base;
    (void)sim;
    while (j->index >= s->room) {
        uint32_t more = s->room ? s->room * 2 : 1024;
        s->left = realloc(s->left, more * sizeof *s->left);
        s->begun = realloc(s->begun, more * sizeof *s->begun);
        assert(s->left && s->begun);
        for (; s->room < more; s->room++) s->begun[s->room] = 0;
    }
    sim_events_add(&s->begins, now + s->p.latency, BEGIN, j->index, j->serial);
}

static void drop(struct sim_server *base, struct sim_job *j, double now) {
    struct sharing *s = (struct sharing *)base;
    move(s, now);
    if (s->begun[j->index] == j->serial) s->active--;
}

static double next(const struct sim_server *base) {
    const struct sharing *s = (const struct sharing *)base;
    double begin = sim_events_next(&s->begins), mile = sim_events_next(&s->milestones);
    if (mile < SIM_NEVER && s->active) mile = s->at + fmax(mile - s->virtual, 0) / pace(s);
    else mile = SIM_NEVER;
    return fmin(begin, mile);
}

static void next_milestone(struct sharing *s, const struct sim_job *j) {
    uint64_t piece = s->left[j->index] < s->p.chunk ? s->left[j->index] : s->p.chunk;
    sim_events_add(&s->milestones, s->virtual + (double)piece, BYTES, j->index, j->serial);
}

static void advance(struct sim_server *base, struct sim *sim, double now) {
    struct sharing *s = (struct sharing *)base;
    struct sim_event e;
    struct sim_job *j;
    move(s, now);
    while (sim_events_take(&s->begins, now, &e))
        if ((j = sim_job_at(sim, e.index, e.serial))) {
            s->active++;
            s->begun[j->index] = j->serial;
            s->left[j->index] = j->size;
            double work = s->p.overhead * sim_rng_uniform(&s->rng, 1 - s->p.jitter, 1 + s->p.jitter);
            sim_events_add(&s->milestones, s->virtual + work, BEGIN, j->index, j->serial);
        }
    /* What rounding leaves, far below a byte, must not keep a milestone a hair ahead for ever. */
    while (sim_events_take(&s->milestones, s->virtual + 1e-3 + s->virtual * 1e-12, &e)) {
        if (!(j = sim_job_at(sim, e.index, e.serial))) continue;
        if (e.kind == BEGIN) {
            sim_on_header(sim, j);
            next_milestone(s, j);
            continue;
        }
        uint64_t piece = s->left[j->index] < s->p.chunk ? s->left[j->index] : s->p.chunk;
        s->left[j->index] -= piece;
        base->bytes += piece;
        if (s->left[j->index]) {
            next_milestone(s, j);
            sim_on_bytes(sim, j, piece);
        } else {
            s->active--;
            s->begun[j->index] = 0;
            sim_on_bytes(sim, j, piece);
            sim_on_end(sim, j);
        }
    }
}

static void sharing_free(struct sim_server *base) {
    struct sharing *s = (struct sharing *)base;
    sim_events_free(&s->begins);
    sim_events_free(&s->milestones);
    free(s->left);
    free(s->begun);
    free(s);
}

struct sim_server *sim_sharing_new(const struct sim_sharing *p) {
    static const struct sim_server_ops ops = { "processor sharing", start, drop, NULL, next, advance, sharing_free };
    struct sharing *s = calloc(1, sizeof *s);
    assert(s && p->rate > 0);
    s->base.ops = &ops;
    s->p = *p;
    if (s->p.chunk == 0) s->p.chunk = 65536;
    if (s->p.cores < 1) s->p.cores = 1;
    sim_rng_seed(&s->rng, p->seed);
    return &s->base;
}
