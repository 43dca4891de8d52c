/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server_link.c - a thin downlink as a fluid.
 *
 * Between two changes every response flows at a constant rate: the max-min share of the link under its own limit, which
 * is one slow-start window per round trip, or nothing before its first byte and while its receive buffer is full.
 * Changes are: a first byte, a window that doubles, a piece that the host hears of, a full buffer, an end.  Loss and
 * queues are not modelled: a window stops to grow when one response alone could fill the link.
 *
 * Source: the setting of the access-gateway paper, 4.1 (2 Mbit/s, lognormal pages, near and far servers).
 */
#include "sim_events.h"
#include "sim_host.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define FIRST_WINDOW 14600.0 /* ten segments: RFC 6928 */
#define PIECE        4096.0  /* bytes between two words to the host */
#define HAIR         1e-6    /* bytes: what rounding may leave */
#define SEGMENT      1460.0

struct flow {
    uint32_t index, serial;
    double begins, rtt, cwnd, doubles; /* times: of the first byte, of the next doubling */
    double size, came, told, taken;    /* bytes: came over the link, told to the host, read by it */
    double limit, rate;
    int begun, steady; /* steady: past its slow start */
};

struct link {
    struct sim_server base;
    struct sim_link p;
    struct sim_rng rng;
    struct sim *sim;
    struct flow *flows;
    uint32_t count, room;
    double at, wait; /* wait: seconds in the queue */
};

static struct flow *flow_of(struct link *l, const struct sim_job *j) {
    for (uint32_t i = 0; i < l->count; i++)
        if (l->flows[i].index == j->index && l->flows[i].serial == j->serial) return &l->flows[i];
    return NULL;
}

/* How far it may come at all, for now; and before the host must hear of it. */
static double bound(const struct link *l, const struct flow *f) {
    return l->p.buffer ? fmin(f->size, f->taken + l->p.buffer) : f->size;
}

static double mark(const struct link *l, const struct flow *f) { return fmin(bound(l, f), f->told + PIECE); }

/* Max-min: whoever is limited below an equal part takes its limit, the rest share what that leaves. */
static void share(struct link *l) {
    double rest = l->p.rate;
    uint32_t open = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        struct flow *f = &l->flows[i];
        f->limit = f->begun && f->came + HAIR < bound(l, f) ? f->cwnd / f->rtt : 0;
        f->rate = -1;
        open++;
    }
    for (int again = 1; again && open;) {
        again = 0;
        double part = rest / open;
        for (uint32_t i = 0; i < l->count; i++) {
            struct flow *f = &l->flows[i];
            if (f->rate < 0 && f->limit <= part) {
                f->rate = f->limit;
                rest -= f->limit;
                open--;
                again = 1;
            }
        }
    }
    for (uint32_t i = 0; i < l->count; i++)
        if (l->flows[i].rate < 0) l->flows[i].rate = rest / open;
}

/* What of it is on its way. */
static double window_of(struct link *l, const struct flow *f) {
    if (!l->p.fit) return f->cwnd;
    uint64_t may = sim_allowance(l->sim, sim_job_at(l->sim, f->index, f->serial));
    if (may == RS_UNLIMITED) return f->cwnd;
    return fmin(f->cwnd, (double)l->p.fit(l->p.arg, f->rtt, may));
}

static double rate_with(const struct link *l, double wait) {
    double sum = 0;
    for (uint32_t i = 0; i < l->count; i++) sum += l->flows[i].limit / (l->flows[i].rtt + wait);
    return sum;
}

/* Each has window / (round trip + wait in the queue), whose length makes the sum the link's rate. */
static void share_by_windows(struct link *l) {
    double most = 0, least = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        struct flow *f = &l->flows[i];
        f->limit = f->begun && f->came + HAIR < bound(l, f) ? window_of(l, f) : 0;
        most += f->limit / l->p.rate;
    }
    l->wait = 0;
    if (rate_with(l, 0) > l->p.rate) {
        for (int i = 0; i < 40; i++) { /* after a wait of `most` all windows together would not fill the link */
            l->wait = (least + most) / 2;
            if (rate_with(l, l->wait) > l->p.rate) least = l->wait;
            else most = l->wait;
        }
    }
    for (uint32_t i = 0; i < l->count; i++) l->flows[i].rate = l->flows[i].limit / (l->flows[i].rtt + l->wait);
}

static void share_link(struct link *l) {
    if (l->p.queue > 0) share_by_windows(l);
    else share(l);
}

/* It overflows: all back off, as CUBIC does, and are past their slow start. */
static void overflow(struct link *l) {
    for (int smaller = 1; smaller && l->wait * l->p.rate > l->p.queue;) {
        smaller = 0;
        for (uint32_t i = 0; i < l->count; i++) {
            struct flow *f = &l->flows[i];
            smaller |= f->cwnd > 2 * SEGMENT;
            f->cwnd = fmax(f->cwnd * 0.7, 2 * SEGMENT);
            f->steady = 1;
        }
        share_by_windows(l);
    }
}

static void flow_on(struct link *l, double now) {
    for (uint32_t i = 0; i < l->count; i++) l->flows[i].came += l->flows[i].rate * (now - l->at);
    l->at = now;
}

static void start(struct sim_server *base, struct sim *sim, struct sim_job *j, double now) {
    struct link *l = (struct link *)base;
    l->sim = sim;
    flow_on(l, now);
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->flows = realloc(l->flows, l->room * sizeof *l->flows);
        assert(l->flows);
    }
    double rtt = sim_rng_uniform(&l->rng, l->p.rtt_from, l->p.rtt_to);
    l->flows[l->count++] = (struct flow){ .index = j->index,
                                          .serial = j->serial,
                                          .begins = now + (l->p.trips > 0 ? l->p.trips : 1) * (rtt + l->wait),
                                          .rtt = rtt,
                                          .cwnd = FIRST_WINDOW,
                                          .size = (double)j->size,
                                          .doubles = SIM_NEVER };
    share_link(l);
}

static void drop(struct sim_server *base, struct sim_job *j, double now) {
    struct link *l = (struct link *)base;
    struct flow *f = flow_of(l, j);
    flow_on(l, now);
    if (f) *f = l->flows[--l->count];
    share_link(l);
}

static void took(struct sim_server *base, struct sim_job *j, uint64_t bytes) {
    struct link *l = (struct link *)base;
    struct flow *f = flow_of(l, j);
    if (f && l->p.buffer) {
        f->taken += (double)bytes;
        flow_on(l, l->at);
        share_link(l);
    }
}

static double next(const struct sim_server *base) {
    const struct link *l = (const struct link *)base;
    double soonest = SIM_NEVER;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct flow *f = &l->flows[i];
        soonest = fmin(soonest, f->begun ? f->doubles : f->begins);
        if (f->rate > 0) soonest = fmin(soonest, l->at + fmax(mark(l, f) - f->came, 0) / f->rate);
    }
    return soonest;
}

/* Tell the host what came of one flow; 1 if that ended it and its place holds another now. */
static int tell(struct link *l, struct sim *sim, uint32_t i) {
    struct flow *f = &l->flows[i];
    struct sim_job *j = sim_job_at(sim, f->index, f->serial);
    assert(j);
    uint64_t bytes = (uint64_t)(mark(l, f) - f->told + 0.5);
    f->came = mark(l, f);
    f->told += (double)bytes;
    l->base.bytes += bytes;
    int ends = f->told >= f->size - 0.5;
    if (ends) l->flows[i] = l->flows[--l->count];
    if (bytes) sim_on_bytes(sim, j, bytes);
    if (ends) sim_on_end(sim, j);
    return ends;
}

static void grow(const struct link *l, struct flow *f, double now) {
    f->cwnd = f->steady ? f->cwnd + SEGMENT : 2 * f->cwnd;
    f->doubles = l->p.queue > 0 || f->cwnd / f->rtt < l->p.rate ? now + f->rtt + l->wait : SIM_NEVER;
    /* what no link of this kind could use */
    if (l->p.queue > 0 && f->cwnd > 2 * (l->p.queue + l->p.rate * f->rtt)) f->doubles = SIM_NEVER;
}

static void advance(struct sim_server *base, struct sim *sim, double now) {
    struct link *l = (struct link *)base;
    flow_on(l, now);
    for (uint32_t i = 0; i < l->count;) {
        struct flow *f = &l->flows[i];
        if (!f->begun && f->begins <= now) {
            f->begun = 1;
            f->doubles = now + f->rtt + l->wait;
            sim_on_header(sim, sim_job_at(sim, f->index, f->serial));
        }
        if (f->doubles <= now) grow(l, f, now);
        if (f->begun && f->came >= mark(l, f) - HAIR && f->came - f->told > 0.5 && tell(l, sim, i)) continue;
        i++;
    }
    share_link(l);
    if (l->p.queue > 0) overflow(l);
}

static void link_free(struct sim_server *base) {
    free(((struct link *)base)->flows);
    free(base);
}

struct sim_server *sim_link_new(const struct sim_link *p) {
    static const struct sim_server_ops ops = { "link", start, drop, took, next, advance, link_free };
    struct link *l = calloc(1, sizeof *l);
    assert(l && p->rate > 0);
    l->base.ops = &ops;
    l->p = *p;
    sim_rng_seed(&l->rng, p->seed);
    return &l->base;
}
