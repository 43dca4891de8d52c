/* SPDX-License-Identifier: BSD-2-Clause */
/* server_workers.c - N workers, and two servers that take turns. */
#include "sim_events.h"
#include "sim_host.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define PACE_LASTS 0.5 /* seconds, in the mean */

struct ref {
    uint32_t index, serial;
    double work;
};

struct workers {
    struct sim_server base;
    struct sim_workers p;
    struct sim_events ends;
    struct sim_rng rng;
    struct ref *line; /* a ring: who waits for a worker */
    uint32_t first, waiting, room, busy;
    struct sim_rng pace_rng;
    double pace, pace_until;
};

/* The factor of the machine's pace now. */
static double pace_at(struct workers *s, double now) {
    while (now >= s->pace_until) {
        s->pace = exp(sim_rng_normal(&s->pace_rng, 0, s->p.pace));
        s->pace_until += sim_rng_exponential(&s->pace_rng, PACE_LASTS);
    }
    return s->pace;
}

static void begin(struct workers *s, struct sim *sim, struct ref r, double now) {
    struct sim_job *j = sim_job_at(sim, r.index, r.serial);
    double seconds = r.work > 0 ? r.work : s->p.seconds;
    if (s->p.jitter > 0) seconds *= sim_rng_uniform(&s->rng, 1 - s->p.jitter, 1 + s->p.jitter);
    if (s->p.pace > 0) seconds *= pace_at(s, now);
    s->busy++;
    if (j) sim_on_begin(sim, j, seconds);
    sim_events_add(&s->ends, now + seconds, 0, r.index, r.serial);
}

static void queue(struct workers *s, struct ref r) {
    if (s->waiting == s->room) {
        uint32_t more = s->room ? s->room * 2 : 256;
        struct ref *line = malloc(more * sizeof *line);
        assert(line);
        for (uint32_t i = 0; i < s->waiting; i++) line[i] = s->line[(s->first + i) % s->room];
        free(s->line);
        s->line = line;
        s->first = 0;
        s->room = more;
    }
    s->line[(s->first + s->waiting++) % s->room] = r;
}

static void workers_start(struct sim_server *base, struct sim *sim, struct sim_job *j, double now) {
    struct workers *s = (struct workers *)base;
    struct ref r = { j->index, j->serial, j->work };
    if (s->busy < s->p.workers) begin(s, sim, r, now);
    else queue(s, r);
}

/* A backend works on for a client that left; it only talks to nobody. */
static void workers_drop(struct sim_server *base, struct sim_job *j, double now) { (void)base, (void)j, (void)now; }

static double workers_next(const struct sim_server *base) {
    return sim_events_next(&((const struct workers *)base)->ends);
}

static void workers_advance(struct sim_server *base, struct sim *sim, double now) {
    struct workers *s = (struct workers *)base;
    struct sim_event e;
    while (sim_events_take(&s->ends, now, &e)) {
        s->busy--;
        struct sim_job *j = sim_job_at(sim, e.index, e.serial);
        if (j) {
            base->bytes += j->size;
            sim_on_header(sim, j);
            sim_on_bytes(sim, j, j->size);
            sim_on_end(sim, j);
        }
        if (s->waiting) {
            struct ref r = s->line[s->first];
            s->first = (s->first + 1) % s->room;
            s->waiting--;
            begin(s, sim, r, now);
        }
    }
}

static void workers_free(struct sim_server *base) {
    struct workers *s = (struct workers *)base;
    sim_events_free(&s->ends);
    free(s->line);
    free(s);
}

struct sim_server *sim_workers_new(const struct sim_workers *p) {
    static const struct sim_server_ops ops = { "workers",    workers_start,   workers_drop, NULL,
                                               workers_next, workers_advance, workers_free };
    struct workers *s = calloc(1, sizeof *s);
    assert(s && p->workers > 0);
    s->base.ops = &ops;
    s->p = *p;
    sim_rng_seed(&s->rng, p->seed);
    sim_rng_seed(&s->pace_rng, ~p->seed);
    return &s->base;
}

/* ---- two that take turns ----------------------------------------------------------------------------------------- */

struct alternating {
    struct sim_server base;
    struct sim_server *side[2];
    double period;
    uint8_t *which; /* by job */
    uint32_t room;
};

static void alternating_start(struct sim_server *base, struct sim *sim, struct sim_job *j, double now) {
    struct alternating *s = (struct alternating *)base;
    if (j->index >= s->room) {
        uint32_t more = (j->index + 1) * 2;
        s->which = realloc(s->which, more);
        assert(s->which);
        s->room = more;
    }
    int turn = (int)fmod(floor(now / s->period), 2);
    s->which[j->index] = (uint8_t)turn;
    s->side[turn]->ops->start(s->side[turn], sim, j, now);
}

static void alternating_drop(struct sim_server *base, struct sim_job *j, double now) {
    struct alternating *s = (struct alternating *)base;
    struct sim_server *side = s->side[s->which[j->index]];
    side->ops->drop(side, j, now);
}

static double alternating_next(const struct sim_server *base) {
    const struct alternating *s = (const struct alternating *)base;
    return fmin(s->side[0]->ops->next(s->side[0]), s->side[1]->ops->next(s->side[1]));
}

static void alternating_advance(struct sim_server *base, struct sim *sim, double now) {
    struct alternating *s = (struct alternating *)base;
    s->side[0]->ops->advance(s->side[0], sim, now);
    s->side[1]->ops->advance(s->side[1], sim, now);
    base->bytes = s->side[0]->bytes + s->side[1]->bytes;
}

static void alternating_free(struct sim_server *base) {
    struct alternating *s = (struct alternating *)base;
    sim_server_free(&s->side[0]);
    sim_server_free(&s->side[1]);
    free(s->which);
    free(s);
}

struct sim_server *sim_alternating_new(struct sim_server *first, struct sim_server *second, double period) {
    static const struct sim_server_ops ops = { "alternating",    alternating_start,   alternating_drop, NULL,
                                               alternating_next, alternating_advance, alternating_free };
    struct alternating *s = calloc(1, sizeof *s);
    assert(s);
    s->base.ops = &ops;
    s->side[0] = first;
    s->side[1] = second;
    s->period = period;
    return &s->base;
}

void sim_server_free(struct sim_server **s) {
    if (*s) (*s)->ops->free(*s);
    *s = NULL;
}
