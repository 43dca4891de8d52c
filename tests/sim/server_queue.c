/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server_queue.c - a thin downlink with the queue that stands at its far end, segment by segment.
 *
 * A response comes from one of a few servers, each with a round trip of its own, over a connection that is opened for
 * it (a round trip more) or was there already.  Its sender sends what its congestion window (slow start from ten
 * segments, then one segment more a round trip; half after a loss) and the receive window allow; the receiver reads at
 * once and acknowledges each segment.  A window once offered is not taken back, as TCP has it.  Segments stand in one
 * queue of so many bytes, from which a token bucket lets them go; who finds it full tries again a round trip later.
 * All of a round trip but the queue is on the way to the sender.
 */
#include "sim_events.h"
#include "sim_host.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT      1448.0
#define HEADERS      66.0
#define FIRST_WINDOW (10 * SEGMENT) /* RFC 6928 */
#define USUAL_OFFER  65536.0        /* what a receiver that does nothing offers first */
#define LARGE        16e6
#define FEWEST       2 /* segments of a receive window */
#define SAMPLE_EVERY 0.05
#define CHANGE_EVERY 1.0
#define FIRSTS       4096

enum { ASKED, SENDS, LEAVES, CHANGES };

struct segment {
    uint32_t flow, serial;
    double bytes, echo; /* payload, none: the answer to the handshake; when that was sent which made this one go */
};

struct flow {
    uint32_t job, job_serial, server, serial;
    int live, begun, foreign, fresh; /* fresh: bytes came since the last look */
    double asked;
    double size, sent, came, told, edge; /* bytes; edge: where the last window that was offered ends */
    double cwnd, ssthresh, recovers;
    double echo, round_trip; /* of the last segment that was measured; smoothed, as Linux does it */
};

struct queue {
    struct sim_server base;
    struct sim_queue p;
    struct sim_rng rng;
    struct sim_events events;
    struct flow *flows;
    uint32_t room, serials, nfirsts;
    struct segment *line; /* the queue, a ring */
    size_t first, count, size;
    double standing, tokens, filled, rate, now;
    struct sim_queue_round_trip firsts[FIRSTS]; /* of handshakes since the last look */
    double *samples, sample_at;
    size_t nsamples, samples_room;
    struct sim_queue_figures figures;
};

/* The new flow, which is live. */
static struct flow *add_flow(struct queue *q, struct flow like) {
    uint32_t i = 0;
    while (i < q->room && q->flows[i].live) i++;
    if (i == q->room) {
        q->room = i ? i * 2 : 256;
        q->flows = realloc(q->flows, q->room * sizeof *q->flows);
        assert(q->flows);
        memset(q->flows + i, 0, (q->room - i) * sizeof *q->flows);
    }
    q->flows[i] = like;
    q->flows[i].live = 1;
    q->flows[i].serial = ++q->serials;
    q->flows[i].cwnd = FIRST_WINDOW;
    q->flows[i].ssthresh = SIM_NEVER;
    return &q->flows[i];
}

static struct flow *flow_at(struct queue *q, uint32_t i, uint32_t serial) {
    struct flow *f = &q->flows[i];
    return f->live && f->serial == serial ? f : NULL;
}

static double rtt(const struct queue *q, const struct flow *f) { return q->p.rtts[f->server]; }

static void later(struct queue *q, const struct flow *f, double when, uint32_t kind) {
    sim_events_add(&q->events, when, kind, (uint32_t)(f - q->flows), f->serial);
}

/* ---- the link ---------------------------------------------------------------------------------------------------- */

static void fill(struct queue *q, double now) {
    q->tokens = fmin(q->p.burst, q->tokens + q->rate * (now - q->filled));
    q->filled = now;
}

/* When the first one may go, as the rate is now. */
static void expect_first(struct queue *q, double now) {
    if (!q->count) return;
    fill(q, now);
    double lacks = q->line[q->first].bytes + HEADERS - q->tokens;
    sim_events_add(&q->events, now + fmax(lacks, 0) / q->rate, LEAVES, 0, 0);
}

static void grow(struct queue *q) {
    size_t size = q->size ? q->size * 2 : 1024;
    struct segment *line = malloc(size * sizeof *line);
    assert(line);
    for (size_t i = 0; i < q->count; i++) line[i] = q->line[(q->first + i) % q->size];
    free(q->line);
    q->line = line;
    q->first = 0;
    q->size = size;
}

/* 0: the queue is full */
static int enqueue(struct queue *q, double now, const struct flow *f, double bytes, double echo) {
    if (q->standing + bytes + HEADERS > q->p.limit) {
        if (now >= q->p.warm) q->figures.drops++;
        return 0;
    }
    if (q->count == q->size) grow(q);
    q->line[(q->first + q->count) % q->size] = (struct segment){ (uint32_t)(f - q->flows), f->serial, bytes, echo };
    q->standing += bytes + HEADERS;
    if (q->count++ == 0) expect_first(q, now);
    return 1;
}

/* ---- senders ----------------------------------------------------------------------------------------------------- */

static void send_some(struct queue *q, struct flow *f, double now) {
    while (f->sent < f->size) {
        double bytes = fmin(SEGMENT, f->size - f->sent);
        if (f->sent + bytes > fmin(f->came + f->cwnd, f->edge) + 0.5) return;
        if (!enqueue(q, now, f, bytes, now - rtt(q, f))) {
            double again = now + rtt(q, f) + q->standing / q->rate;
            if (now >= f->recovers) {
                f->cwnd = f->ssthresh = fmax(f->cwnd / 2, 2 * SEGMENT);
                f->recovers = again;
            }
            later(q, f, again, SENDS);
            return;
        }
        f->sent += bytes;
    }
}

/* ---- the receiver ------------------------------------------------------------------------------------------------ */

static double window(const struct queue *q, struct sim *sim, const struct flow *f) {
    const struct sim_job *j = f->foreign ? NULL : sim_job_at(sim, f->job, f->job_serial);
    uint64_t may = j ? rs_allowance(sim_engine(sim), (rs_time_t)(q->now * 1e6), j->ticket) : RS_UNLIMITED;
    if (may == RS_UNLIMITED) return LARGE;
    if (q->p.fit) may = q->p.fit(q->p.arg, f->server, may);
    return fmax((double)may, FEWEST * SEGMENT);
}

static void start(struct sim_server *base, struct sim *sim, struct sim_job *j, double now) {
    struct queue *q = (struct queue *)base;
    struct flow *f = add_flow(q, (struct flow){ .job = j->index,
                                                .job_serial = j->serial,
                                                .server = sim_rng_below(&q->rng, q->p.servers),
                                                .asked = now,
                                                .echo = now,
                                                .size = (double)j->size });
    int kept = sim_rng_uniform(&q->rng, 0, 1) < q->p.kept;
    if (kept) f->edge = fmin(USUAL_OFFER, window(q, sim, f));
    later(q, f, now + rtt(q, f), kept ? SENDS : ASKED);
}

static void drop(struct sim_server *base, struct sim_job *j, double now) {
    struct queue *q = (struct queue *)base;
    (void)now;
    for (uint32_t i = 0; i < q->room; i++)
        if (!q->flows[i].foreign && q->flows[i].job == j->index && q->flows[i].job_serial == j->serial)
            q->flows[i].live = 0;
}

static void acknowledge(struct queue *q, struct sim *sim, struct flow *f, double bytes, double now) {
    f->edge = fmax(f->edge, f->came + window(q, sim, f));
    f->cwnd += f->cwnd < f->ssthresh ? bytes : SEGMENT * bytes / f->cwnd;
    later(q, f, now + rtt(q, f), SENDS);
}

/* The handshake is answered: the request goes. */
static void opened(struct queue *q, struct sim *sim, struct flow *f, double now) {
    double took = now - f->asked;
    if (q->nfirsts < FIRSTS) q->firsts[q->nfirsts++] = (struct sim_queue_round_trip){ f->server, took, took };
    f->edge = q->p.fit ? fmin(USUAL_OFFER, window(q, sim, f)) : USUAL_OFFER;
    f->echo = now;
    later(q, f, now + rtt(q, f), SENDS);
}

static void measure(struct flow *f, const struct segment *s, double now) {
    double took = now - s->echo;
    if (s->echo <= f->echo) return;
    f->echo = s->echo;
    f->round_trip = f->round_trip <= 0 || took < f->round_trip ? took : f->round_trip + (took - f->round_trip) / 8;
}

static void receive(struct queue *q, struct sim *sim, const struct segment *s, double now) {
    struct flow *f = flow_at(q, s->flow, s->serial);
    if (!f) return;
    if (s->bytes <= 0) {
        opened(q, sim, f, now);
        return;
    }
    f->came += s->bytes;
    if (f->foreign) {
        q->figures.foreign += s->bytes + HEADERS;
        acknowledge(q, sim, f, s->bytes, now);
        return;
    }
    struct sim_job *j = sim_job_at(sim, f->job, f->job_serial);
    assert(j);
    if (!f->begun) sim_on_header(sim, j);
    f->begun = f->fresh = 1;
    measure(f, s, now);
    uint64_t told = (uint64_t)(f->came + 0.5) - (uint64_t)(f->told + 0.5);
    f->told = f->came;
    q->base.bytes += told;
    if (f->came >= f->size - 0.5) {
        f->live = 0; /* first: its end may start another */
        sim_on_bytes(sim, j, told);
        sim_on_end(sim, j);
        return;
    }
    sim_on_bytes(sim, j, told);
    acknowledge(q, sim, f, s->bytes, now);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* The queue as it was before this. */
static void sample(struct queue *q, double until) {
    for (; q->sample_at <= until; q->sample_at += SAMPLE_EVERY) {
        if (q->nsamples == q->samples_room) {
            q->samples_room = q->samples_room ? q->samples_room * 2 : 4096;
            q->samples = realloc(q->samples, q->samples_room * sizeof *q->samples);
            assert(q->samples);
        }
        q->samples[q->nsamples++] = q->standing;
    }
}

static void leave(struct queue *q, struct sim *sim, double now) {
    struct segment s = q->line[q->first];
    double bytes = s.bytes + HEADERS;
    fill(q, now);
    q->tokens -= bytes;
    q->standing -= bytes;
    q->first = (q->first + 1) % q->size;
    q->count--;
    if (now >= q->p.warm) q->figures.wire += bytes;
    expect_first(q, now);
    receive(q, sim, &s, now);
}

static double next(const struct sim_server *base) { return sim_events_next(&((const struct queue *)base)->events); }

static void advance(struct sim_server *base, struct sim *sim, double now) {
    struct queue *q = (struct queue *)base;
    struct sim_event e;
    while (sim_events_take(&q->events, now, &e)) {
        struct flow *f = e.kind == ASKED || e.kind == SENDS ? flow_at(q, e.index, e.serial) : NULL;
        sample(q, e.key);
        q->now = e.key;
        switch (e.kind) {
        case ASKED:
            if (f && !enqueue(q, e.key, f, 0, 0)) later(q, f, e.key + 1, ASKED);
            break;
        case SENDS:
            if (f) send_some(q, f, e.key);
            break;
        case LEAVES: leave(q, sim, e.key); break;
        case CHANGES:
            fill(q, e.key);
            q->rate = q->p.rate_at(e.key);
            sim_events_add(&q->events, e.key + CHANGE_EVERY, CHANGES, 0, 0);
            break;
        default: assert(!"an event of a kind that nobody makes");
        }
    }
}

static void queue_free(struct sim_server *base) {
    struct queue *q = (struct queue *)base;
    sim_events_free(&q->events);
    free(q->flows);
    free(q->line);
    free(q->samples);
    free(q);
}

struct sim_server *sim_queue_new(const struct sim_queue *p) {
    static const struct sim_server_ops ops = { "queue", start, drop, NULL, next, advance, queue_free };
    struct queue *q = calloc(1, sizeof *q);
    assert(q && p->servers && (p->rate_at || p->rate > 0));
    q->base.ops = &ops;
    q->p = *p;
    q->rate = p->rate_at ? p->rate_at(0) : p->rate;
    q->sample_at = p->warm;
    sim_rng_seed(&q->rng, p->seed);
    for (uint32_t i = 0; i < p->others; i++)
        later(q,
              add_flow(q, (struct flow){ .foreign = 1,
                                         .server = sim_rng_below(&q->rng, p->servers),
                                         .size = SIM_NEVER,
                                         .edge = LARGE }),
              p->others_from, SENDS);
    if (p->rate_at) sim_events_add(&q->events, CHANGE_EVERY, CHANGES, 0, 0);
    return &q->base;
}

/* ---- what a host can see, and what only a judge can -------------------------------------------------------------- */

uint32_t sim_queue_look(struct sim_server *base, struct sim_queue_round_trip *out, uint32_t most) {
    struct queue *q = (struct queue *)base;
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->nfirsts && n < most; i++) out[n++] = q->firsts[i];
    q->nfirsts = 0;
    for (uint32_t i = 0; i < q->room && n < most; i++) {
        struct flow *f = &q->flows[i];
        if (!f->live || !f->fresh || f->round_trip <= 0) continue;
        f->fresh = 0;
        out[n++] = (struct sim_queue_round_trip){ f->server, f->round_trip, 0 };
    }
    return n;
}

bool sim_queue_holds_back(const struct sim_server *base) {
    const struct queue *q = (const struct queue *)base;
    for (uint32_t i = 0; i < q->room; i++) {
        const struct flow *f = &q->flows[i];
        if (f->live && f->begun && !f->foreign && f->size > f->edge) return true;
    }
    return false;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct sim_queue_figures sim_queue_figures(struct sim_server *base) {
    struct queue *q = (struct queue *)base;
    if (q->nsamples) {
        qsort(q->samples, q->nsamples, sizeof *q->samples, by_size);
        q->figures.median = q->samples[q->nsamples / 2];
        q->figures.p95 = q->samples[(size_t)(0.95 * (double)(q->nsamples - 1))];
    }
    return q->figures;
}
