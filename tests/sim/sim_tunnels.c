/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim_tunnels.h"
#include "rs.h"
#include "sim_events.h"
#include "sim_rng.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT      1448u
#define HEADERS      66u      /* of a segment, on the link */
#define FIRST_CWND   14480.0  /* ten segments: RFC 6928 */
#define FIRST_ROOM   65536u   /* what a kernel offers and holds, before anybody says something else */
#define HANDSHAKE    4000u    /* bytes of a TLS server's certificates */
#define LONGEST      200000.0 /* the ISP's queue: who adds to a longer one is halved */
#define TICK         0.1
#define STALL        0.5 /* from which hardly anything came for so long has no slot */
#define SAMPLE       0.02
#define A_LITTLE     1024u
#define LEAST_WINDOW (3 * SEGMENT)
#define LEAST_TURN   16384u

enum { ENTERS, ARRIVES, CONNECTED, ASKS, TICKS, SAMPLES };

/* Of a tunnel with its host; RESTING: it has no ticket, and is read. */
enum state { CLOSED, WAITING, MOVING, PARKED, RESTING, BETWEEN };

struct tunnel {
    uint32_t index, class, serial; /* serial: of its connection; what an earlier one had under way is nobody's */
    enum tunnel_work work;
    double rtt, cwnd, halved;
    uint64_t goal, sent, edge; /* of the server's stream: its end so far, what went, what it may send */
    uint64_t arrived, taken;   /* at the kernel, by the host */
    uint64_t room, clamp;      /* the kernel's */
    rs_ticket_t ticket;
    enum state state;
    uint64_t turn, since; /* left of its turn; bytes since `moved` */
    double moved;
    int handshakes; /* the goal is a handshake's end */
};

struct run {
    const struct tunnel_setup *p;
    rs_engine_t *engine;
    void *memory;
    struct tunnel *tunnels;
    uint32_t ntunnels;
    struct sim_events events;
    struct sim_rng rng;
    double now, again, free_at; /* free_at: the link has nothing more to carry then */
    double *queue;
    uint32_t nqueue, bins;
    double *bin; /* seconds x classes */
    double last[TUNNEL_CLASSES], carried;
    struct tunnel_figures figures;
};

static rs_time_t micros(const struct run *r) { return (rs_time_t)(r->now * 1e6 + 0.5); }

static void later(struct run *r, double after, uint32_t kind, const struct tunnel *t, uint32_t size) {
    sim_events_add(&r->events, r->now + after, kind | size << 8, t ? t->index : 0, t ? t->serial : 0);
}

/* ---- server and kernel ------------------------------------------------------------------------------------------- */

static void server_sends(struct run *r, struct tunnel *t) {
    uint64_t most = t->arrived + (uint64_t)t->cwnd;
    if (most > t->edge) most = t->edge;
    while (t->sent < t->goal && t->sent < most) {
        uint64_t size = t->goal - t->sent < SEGMENT ? t->goal - t->sent : SEGMENT;
        if (t->sent + size > most) break;
        t->sent += size;
        later(r, t->rtt, ENTERS, t, (uint32_t)size);
    }
}

static void offer(struct run *r, struct tunnel *t) {
    uint64_t unread = t->arrived - t->taken, window = t->room > unread ? t->room - unread : 0;
    if (window > t->clamp) window = t->clamp;
    if (t->arrived + window > t->edge) t->edge = t->arrived + window;
    server_sends(r, t);
}

/* What Flow does: the window at once, the buffer when nothing can be under way that it would have to drop. */
static void fit(struct run *r, struct tunnel *t) {
    uint64_t may = r->p->way == TUNNELS_CHARGED ? RS_UNLIMITED : rs_allowance(r->engine, micros(r), t->ticket);
    if (may == RS_UNLIMITED) return;
    if (may < LEAST_WINDOW) may = LEAST_WINDOW;
    t->clamp = may;
    if (r->p->bounded && (may > t->room || t->taken + may >= t->edge)) t->room = may;
}

static void enters(struct run *r, struct tunnel *t, uint32_t serial, uint32_t size) {
    double begins = fmax(r->now, r->free_at);
    if ((begins - r->now) * r->p->rate > LONGEST && t->serial == serial && r->now >= t->halved) {
        t->cwnd = fmax(t->cwnd / 2, 2 * SEGMENT);
        t->halved = r->now + t->rtt;
    }
    r->free_at = begins + (size + HEADERS) / r->p->rate;
    r->carried += r->now >= r->p->warm ? size + HEADERS : 0;
    sim_events_add(&r->events, r->free_at, ARRIVES | size << 8, t->index, serial);
}

/* ---- host -------------------------------------------------------------------------------------------------------- */

static void pump(struct run *r);

static void took(struct run *r, const struct tunnel *t, uint64_t bytes) {
    if (r->now < r->p->warm) return;
    uint32_t bin = (uint32_t)(r->now - r->p->warm);
    if (bin < r->bins) r->bin[bin * r->p->nclasses + t->class] += (double)bytes;
    r->figures.share[t->class] += (double)bytes;
    double gap = r->now - fmax(r->last[t->class], r->p->warm);
    if (gap > r->figures.gap[t->class]) r->figures.gap[t->class] = gap;
    r->last[t->class] = r->now;
}

static void submit(struct run *r, struct tunnel *t, enum state state, uint64_t estimate) {
    enum rs_refusal why = rs_submit(r->engine, micros(r), t->class, 0, estimate, 0, (uint64_t)t->index, &t->ticket);
    assert(why == RS_OK);
    t->state = state;
    r->figures.turns++;
}

static void end_ticket(struct run *r, struct tunnel *t) {
    if (t->ticket != RS_NO_TICKET) rs_finish(r->engine, micros(r), t->ticket);
    t->ticket = RS_NO_TICKET;
}

static uint64_t turn_of(const struct run *r, const struct tunnel *t) {
    if (t->work == TUNNEL_NONE || r->p->way != TUNNELS_IN_TURNS) return RS_UNLIMITED;
    double turn = r->p->turn * r->p->rate * r->p->horizon_ms / 8000;
    return turn < LEAST_TURN ? LEAST_TURN : (uint64_t)turn;
}

/* A new connection, or what waits for it. */
static void begins(struct run *r, struct tunnel *t) {
    *t = (struct tunnel){ .index = t->index,
                          .class = t->class,
                          .serial = t->serial + 1,
                          .work = t->work,
                          .rtt = sim_rng_uniform(&r->rng, r->p->rtt_from, r->p->rtt_to),
                          .cwnd = FIRST_CWND,
                          .edge = FIRST_ROOM,
                          .room = FIRST_ROOM,
                          .clamp = FIRST_ROOM,
                          .moved = r->now };
    if (r->p->way != TUNNELS_CHARGED || t->work == TUNNEL_NONE) {
        submit(r, t, WAITING, 0);
    } else {
        t->state = RESTING;
        later(r, t->rtt, CONNECTED, t, 0);
    }
}

static void wants(struct run *r, struct tunnel *t) {
    t->goal += t->work == TUNNEL_ENDLESS ? (uint64_t)1 << 40 : (uint64_t)(r->p->larger * sim_rng_page(&r->rng)) + 1;
    server_sends(r, t);
}

/* All of a download was read. */
static void complete(struct run *r, struct tunnel *t) {
    if (t->handshakes) {
        t->handshakes = 0;
        wants(r, t);
    } else if (t->work == TUNNEL_EACH) {
        end_ticket(r, t);
        t->state = CLOSED;
        later(r, 0, ASKS, t, 0);
    } else if (t->work == TUNNEL_NONE) {
        end_ticket(r, t);
        t->state = BETWEEN;
        later(r, 0, ASKS, t, 0);
    } else {
        wants(r, t);
    }
}

static void reads(struct run *r, struct tunnel *t) {
    uint64_t bytes = t->arrived - t->taken;
    if (!bytes || t->state == WAITING || t->state == CLOSED || t->state == BETWEEN) return;
    t->taken += bytes;
    took(r, t, bytes);
    t->since += bytes;
    if (t->state == RESTING) {
        rs_charge(r->engine, micros(r), t->class, 0, bytes);
    } else {
        rs_progress(r->engine, micros(r), t->ticket, bytes);
        if (t->since >= A_LITTLE) {
            if (t->state == PARKED) rs_resume(r->engine, micros(r), t->ticket);
            t->state = MOVING;
            t->since = 0;
            t->moved = r->now;
        }
        fit(r, t);
        t->turn -= bytes < t->turn ? bytes : t->turn;
    }
    offer(r, t);
    if (t->taken == t->goal) complete(r, t);
    bool over = t->state == MOVING && !t->turn, again = t->state == RESTING && t->since >= A_LITTLE;
    if (r->p->way == TUNNELS_IN_TURNS && t->work != TUNNEL_NONE && (over || again)) {
        end_ticket(r, t);
        submit(r, t, WAITING, turn_of(r, t) + t->arrived - t->taken);
    }
}

static void picked(struct run *r, struct tunnel *t) {
    bool fresh = !t->goal, page = t->work == TUNNEL_NONE;
    t->state = MOVING;
    t->since = 0;
    t->moved = r->now;
    t->turn = turn_of(r, t);
    if (t->turn != RS_UNLIMITED) {
        t->turn += t->arrived - t->taken;
        if (!fresh) rs_header(r->engine, micros(r), t->ticket, t->turn);
    }
    fit(r, t);
    if (page) wants(r, t);
    else if (fresh) later(r, t->rtt, CONNECTED, t, 0);
    reads(r, t);
}

static void pump(struct run *r) {
    rs_time_t again;
    rs_ticket_t ticket;
    while ((ticket = rs_pick(r->engine, micros(r), &again)) != RS_NO_TICKET)
        picked(r, &r->tunnels[rs_tag(r->engine, ticket)]);
    r->again = again == RS_NEVER ? SIM_NEVER : (double)again / 1e6;
}

static void ticks(struct run *r) {
    for (uint32_t i = 0; i < r->ntunnels; i++) {
        struct tunnel *t = &r->tunnels[i];
        bool turns = r->p->way == TUNNELS_IN_TURNS && t->work != TUNNEL_NONE;
        if (t->state != MOVING || r->now - t->moved < STALL) continue;
        t->since = 0;
        if (turns) {
            end_ticket(r, t);
            t->state = RESTING;
        } else {
            rs_park(r->engine, micros(r), t->ticket);
            t->state = PARKED;
        }
    }
    later(r, TICK, TICKS, NULL, 0);
}

static void happens(struct run *r, const struct sim_event *e) {
    struct tunnel *t = &r->tunnels[e->index];
    uint32_t size = e->kind >> 8;
    switch (e->kind & 255) {
    case ENTERS: enters(r, t, e->serial, size); return;
    case TICKS: ticks(r); return;
    case SAMPLES:
        if (r->now >= r->p->warm) r->queue[r->nqueue++] = fmax(r->free_at - r->now, 0) * r->p->rate;
        later(r, SAMPLE, SAMPLES, NULL, 0);
        return;
    default: break;
    }
    if (e->serial != t->serial) return;
    switch (e->kind & 255) {
    case ARRIVES:
        if (t->work == TUNNEL_NONE && t->taken == t->arrived && t->goal - t->taken < (uint64_t)1 << 40)
            rs_header(r->engine, micros(r), t->ticket, t->goal - t->taken);
        t->arrived += size;
        t->cwnd += size;
        if (t->arrived - t->taken > t->room) r->figures.dropped++;
        reads(r, t);
        offer(r, t);
        break;
    case CONNECTED:
        t->goal = HANDSHAKE;
        t->handshakes = 1;
        server_sends(r, t);
        break;
    case ASKS:
        if (t->work == TUNNEL_NONE && t->serial > 0 && t->goal) submit(r, t, WAITING, 0);
        else begins(r, t);
        break;
    default: assert(!"an event of a kind that nobody makes");
    }
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static double jain(const struct run *r, uint32_t seconds) {
    double sum = 0;
    uint32_t n = r->bins / seconds;
    for (uint32_t b = 0; b < n; b++) {
        double one = 0, two = 0;
        for (uint32_t c = 0; c < r->p->nclasses; c++) {
            double x = 0;
            for (uint32_t s = 0; s < seconds; s++) x += r->bin[(b * seconds + s) * r->p->nclasses + c];
            x /= r->p->classes[c].weight;
            one += x;
            two += x * x;
        }
        sum += two > 0 ? one * one / (r->p->nclasses * two) : 0;
    }
    return sum / n;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void sum_up(struct run *r) {
    struct tunnel_figures *f = &r->figures;
    double all = 0, seconds = r->p->until - r->p->warm;
    for (uint32_t c = 0; c < r->p->nclasses; c++) {
        all += f->share[c];
        f->gap[c] = fmax(f->gap[c], r->now - r->last[c]);
    }
    for (uint32_t c = 0; c < r->p->nclasses; c++) f->share[c] /= all;
    f->use = r->carried / seconds / r->p->rate;
    f->jain_5s = jain(r, 5);
    f->jain_1s = jain(r, 1);
    f->turns /= r->p->until;
    qsort(r->queue, r->nqueue, sizeof *r->queue, by_size);
    f->queue_median = r->queue[r->nqueue / 2];
    f->queue_p95 = r->queue[r->nqueue * 95 / 100];
}

static void make(struct run *r) {
    const struct tunnel_setup *p = r->p;
    struct rs_settings settings;
    struct rs_class_settings classes[TUNNEL_CLASSES];
    const char *why = "";
    assert(p->nclasses <= TUNNEL_CLASSES);
    memset(classes, 0, sizeof classes);
    rs_settings_default(&settings);
    settings.sched = RS_SCHED_RFQ;
    settings.gate = RS_GATE_BYTES;
    settings.rate = (uint64_t)p->rate;
    settings.horizon_ms = p->horizon_ms;
    settings.debt_max = (uint64_t)(6 * p->rate);
    for (uint32_t c = 0; c < p->nclasses; c++) {
        snprintf(classes[c].name, sizeof classes[c].name, "class-%u", c);
        classes[c].weight = p->classes[c].weight;
        r->ntunnels += p->classes[c].clients;
    }
    struct rs_capacity cap = { .classes = p->nclasses, .tickets = 2 * r->ntunnels, .outlets = 1 };
    size_t size = (rs_size(&cap) + 63) / 64 * 64;
    r->memory = aligned_alloc(64, size);
    assert(r->memory);
    r->engine = rs_create(r->memory, size, &cap, &settings, classes, p->nclasses, 0, &why);
    if (!r->engine) {
        fprintf(stderr, "rs_create: %s\n", why);
        abort();
    }
    r->tunnels = calloc(r->ntunnels, sizeof *r->tunnels);
    r->bins = (uint32_t)(p->until - p->warm);
    r->bin = calloc((size_t)r->bins * p->nclasses, sizeof *r->bin);
    r->queue = calloc((size_t)(p->until / SAMPLE) + 2, sizeof *r->queue);
    assert(r->tunnels && r->bin && r->queue);
    uint32_t n = 0;
    for (uint32_t c = 0; c < p->nclasses; c++)
        for (uint32_t k = 0; k < p->classes[c].clients; k++, n++)
            r->tunnels[n] = (struct tunnel){ .index = n, .class = c, .work = p->classes[c].work };
}

struct tunnel_figures sim_tunnels(const struct tunnel_setup *setup) {
    struct run r = { .p = setup, .again = SIM_NEVER };
    struct sim_event e;
    sim_rng_seed(&r.rng, setup->seed);
    make(&r);
    for (uint32_t i = 0; i < r.ntunnels; i++) later(&r, sim_rng_uniform(&r.rng, 0, 1), ASKS, &r.tunnels[i], 0);
    later(&r, TICK, TICKS, NULL, 0);
    later(&r, SAMPLE, SAMPLES, NULL, 0);
    for (;;) {
        double next = fmin(sim_events_next(&r.events), r.again);
        if (next >= setup->until) break;
        r.now = fmax(r.now, next);
        while (sim_events_take(&r.events, r.now, &e)) happens(&r, &e);
        pump(&r);
    }
    r.now = setup->until;
    const char *broken = rs_check(r.engine);
    if (broken) {
        fprintf(stderr, "an invariant does not hold: %s\n", broken);
        abort();
    }
    sum_up(&r);
    free(r.memory);
    free(r.tunnels);
    free(r.bin);
    free(r.queue);
    sim_events_free(&r.events);
    return r.figures;
}
