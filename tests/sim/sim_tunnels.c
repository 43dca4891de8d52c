/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim_tunnels.h"
#include "sim_events.h"
#include "sim_rng.h"
#include "sim_squid.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS    12u /* of which each client has one */
#define SEGMENT    1448u
#define HEADERS    66u     /* of a segment, on the link */
#define FIRST_CWND 14480.0 /* ten segments: RFC 6928 */
#define USUAL_ROOM 65536u  /* what a kernel offers and holds, before anybody says something else */
#define NO_BOUND   ((uint64_t)1 << 40)
#define HANDSHAKE  4000u     /* bytes of a TLS server's certificates */
#define ANSWER     200u      /* of one that thinks */
#define DRIPPING   50000000u /* of one that drips */
#define LONGEST    200000.0  /* the ISP's queue: who adds to a longer one is halved */
#define TICK       (SQUID_TICK_TIME / 1e6)
#define SAMPLE     0.02

enum { ENTERS, ARRIVES, CONNECTED, ANSWERS, ASKS, TICKS, SAMPLES };

/* Of a tunnel with its host; RESTING: it has no ticket, and is read. */
enum state { CLOSED, WAITING, MOVING, PARKED, RESTING, BETWEEN };

struct tunnel {
    uint32_t index, entry, class, serial; /* serial: of its connection; what an earlier one had under way is nobody's */
    uint64_t key;
    enum tunnel_work work;
    double pace, rtt, cwnd, halved;
    double least;              /* the shortest round trip that it saw, with what stood in the queue */
    uint64_t goal, sent, edge; /* of the server's stream: its end so far, what went, what it may send */
    uint64_t arrived, taken;   /* at the kernel, by the host */
    uint64_t room, clamp;      /* the kernel's */
    rs_ticket_t ticket;
    enum state state;
    uint64_t turn, had, since;     /* left of its turn, had of it; bytes since `moved` */
    uint64_t usual, next;          /* as in Ticket.h */
    double asked, moved, measured; /* measured: its round trip */
    double let_go;
    int handshakes, headed; /* the goal is a handshake's end; its length is known */
    int opened, opening;    /* it had its first turn, or has it */
};

struct run {
    const struct tunnel_setup *p;
    rs_engine_t *engine;
    void *memory;
    struct rs_link link;
    struct tunnel *tunnels;
    uint32_t ntunnels, nclasses;
    uint32_t live; /* released or parked */
    uint32_t waiting[TUNNEL_CLASSES];
    uint64_t learnt; /* bytes that a tunnel carries */
    struct sim_events events;
    struct sim_rng rng;
    double now, again, free_at; /* free_at: the link has nothing more to carry then */
    double *queue;
    uint32_t nqueue, bins;
    double *bin; /* seconds x entries */
    double last[TUNNEL_CLASSES], carried;
    struct tunnel_figures figures;
};

static rs_time_t micros(const struct run *r) { return (rs_time_t)(r->now * 1e6 + 0.5); }
/* What stands in the queue now was before the segment that has come, or will be before the next one. */
static double through(const struct run *r, const struct tunnel *t) { return t->rtt + fmax(r->free_at - r->now, 0); }
static uint32_t trip_of(const struct tunnel *t) { return (uint32_t)(t->least * 1e6); }
static uint64_t name_of(const struct tunnel *t) { return t->index % SERVERS + 1; }
static bool is_tunnel(const struct tunnel *t) { return t->work <= TUNNEL_IDLE; }

static bool has_turns(const struct run *r, const struct tunnel *t) {
    return is_tunnel(t) && r->p->way == TUNNELS_IN_TURNS;
}

/* Not scheduled. */
static bool is_free(const struct run *r, const struct tunnel *t) {
    return is_tunnel(t) && r->p->way == TUNNELS_CHARGED;
}

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
    uint64_t may = is_free(r, t) ? RS_UNLIMITED : rs_allowance(r->engine, micros(r), t->ticket);
    if (may == RS_UNLIMITED) return; /* parked */
    may = squid_window(&r->link, micros(r), name_of(t), trip_of(t), may);
    if (t->usual == RS_UNLIMITED) {
        if (!r->waiting[t->class]) may += may * SQUID_ALONE_PARTS / SQUID_ALONE_PART;
        else if (t->next < squid_turn(&r->link)) may += may / SQUID_SLOW_MORE;
    }
    if (t->opening && has_turns(r, t) && may > SQUID_OPENING_MOST) may = SQUID_OPENING_MOST;
    t->clamp = may;
    if (!is_tunnel(t) || !r->p->bounded) return;
    if (may > t->room || t->taken + may >= t->edge) t->room = may;
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

/* As the kernel sees it of a connection that brings something. */
static void measure(struct run *r, struct tunnel *t) {
    double trip = through(r, t);
    if (r->now - t->measured < 0.1) return;
    t->measured = r->now;
    t->least = t->least > 0 ? fmin(t->least, trip) : trip;
    rs_link_round_trip(&r->link, micros(r), name_of(t), (uint32_t)(trip * 1e6), trip_of(t));
}

static void connects(struct run *r, struct tunnel *t) {
    t->least = through(r, t);
    later(r, t->least, CONNECTED, t, 0);
}

/* ---- host -------------------------------------------------------------------------------------------------------- */

static void took(struct run *r, const struct tunnel *t, uint64_t bytes) {
    if (r->now < r->p->warm) return;
    uint32_t bin = (uint32_t)(r->now - r->p->warm);
    if (bin < r->bins) r->bin[bin * r->p->nclasses + t->entry] += (double)bytes;
    r->figures.share[t->entry] += (double)bytes;
    double gap = r->now - fmax(r->last[t->entry], r->p->warm);
    if (gap > r->figures.gap[t->entry]) r->figures.gap[t->entry] = gap;
    r->last[t->entry] = r->now;
}

/* Hashes, of which none is another's. */
static void key_of(const struct tunnel *t, uint64_t key[RS_KEY_LEVELS]) {
    memset(key, 0, RS_KEY_LEVELS * sizeof *key);
    key[0] = t->key * UINT64_C(0x9e3779b97f4a7c15);
}

static void submit(struct run *r, struct tunnel *t, uint64_t estimate) {
    uint64_t key[RS_KEY_LEVELS];
    key_of(t, key);
    enum rs_refusal why =
        rs_submit_keyed(r->engine, micros(r), t->class, 0, estimate, key, 0, (uint64_t)t->index, &t->ticket);
    assert(why == RS_OK);
    t->state = WAITING;
    r->waiting[t->class]++;
    t->asked = r->now;
    r->figures.turns++;
}

static void end_ticket(struct run *r, struct tunnel *t) {
    if (t->ticket == RS_NO_TICKET) return;
    int was = rs_finish(r->engine, micros(r), t->ticket);
    assert(was);
    t->ticket = RS_NO_TICKET;
    r->live--;
}

/* Of a tunnel's turn but its first, as Scheduler::expectedOf() has it. */
static uint64_t expected_of(const struct run *r, const struct tunnel *t) {
    uint64_t most = squid_turn(&r->link), expected = r->learnt;
    if (t->usual == RS_UNLIMITED && t->next < most) return t->next + SQUID_SLOW_BEHIND(t->next);
    if (t->usual == RS_UNLIMITED) return most + squid_behind_turn(&r->link);
    if (t->usual) expected = t->usual > SQUID_HANDSHAKE_SIZE ? t->usual : SQUID_HANDSHAKE_SIZE;
    else if (!expected) expected = SQUID_LEAST_TURN;
    else if (expected > t->taken) expected -= t->taken;
    return expected < most ? expected : most;
}

static void ask_for_turn(struct run *r, struct tunnel *t) {
    if (t->state == MOVING) {
        t->usual = t->opening ? 0 : RS_UNLIMITED;
        t->next = squid_turn_behind(&r->link, t->had, (rs_time_t)((r->now - t->let_go) * 1e6));
    }
    end_ticket(r, t);
    submit(r, t, expected_of(r, t) + t->arrived - t->taken);
}

/* A new connection, or what waits for it. */
static void begins(struct run *r, struct tunnel *t) {
    struct tunnel was = *t;
    *t = (struct tunnel){ .index = was.index,
                          .entry = was.entry,
                          .class = was.class,
                          .key = was.key,
                          .serial = was.serial + 1,
                          .work = was.work,
                          .pace = was.pace,
                          .rtt = was.rtt,
                          .cwnd = FIRST_CWND,
                          .edge = USUAL_ROOM,
                          .room = is_tunnel(t) ? USUAL_ROOM : NO_BOUND,
                          .clamp = USUAL_ROOM,
                          .ticket = RS_NO_TICKET,
                          .moved = r->now };
    if (is_free(r, t)) {
        t->state = RESTING;
        connects(r, t);
    } else {
        submit(r, t, has_turns(r, t) ? squid_opening(&r->link) : 0);
    }
}

static void wants(struct run *r, struct tunnel *t) {
    t->goal += t->work == TUNNEL_ENDLESS  ? NO_BOUND
               : t->work == TUNNEL_THINKS ? ANSWER
                                          : (uint64_t)(r->p->larger * sim_rng_page(&r->rng)) + 1;
    server_sends(r, t);
}

/* All that was asked for was read. */
static void complete(struct run *r, struct tunnel *t) {
    if (t->handshakes) {
        t->handshakes = 0;
        if (t->work != TUNNEL_IDLE) wants(r, t);
    } else if (t->work == TUNNEL_EACH) {
        if (r->learnt) r->learnt = (7 * r->learnt + t->taken) / 8;
        else r->learnt = t->taken;
        end_ticket(r, t);
        t->state = CLOSED;
        later(r, 0, ASKS, t, 0);
    } else if (t->work == TUNNEL_NONE || t->work == TUNNEL_THINKS) {
        end_ticket(r, t);
        t->state = BETWEEN;
        later(r, 0, ASKS, t, 0);
    } else if (is_tunnel(t)) {
        wants(r, t);
    }
}

static void scheduled(struct run *r, struct tunnel *t, uint64_t bytes) {
    bool parked = t->state == PARKED;
    uint64_t enough = parked ? SQUID_STALL_BYTES : squid_enough(rs_allowance(r->engine, micros(r), t->ticket));
    if (t->since >= enough) {
        if (parked) rs_resume(r->engine, micros(r), t->ticket);
        t->state = MOVING;
        t->since = 0;
        t->moved = r->now;
    }
    rs_progress(r->engine, micros(r), t->ticket, bytes);
    fit(r, t);
    t->had += bytes;
    t->turn -= bytes < t->turn ? bytes : t->turn;
}

static void reads(struct run *r, struct tunnel *t) {
    uint64_t bytes = t->arrived - t->taken;
    if (!bytes || t->state == WAITING || t->state == CLOSED || t->state == BETWEEN) return;
    t->taken += bytes;
    took(r, t, bytes);
    if (t->state == RESTING && r->now - t->moved >= SQUID_STALL_TIME / 1e6) { /* counted anew */
        t->since = 0;
        t->moved = r->now;
    }
    t->since += bytes;
    if (t->state == RESTING) {
        uint64_t key[RS_KEY_LEVELS];
        key_of(t, key);
        rs_charge_keyed(r->engine, micros(r), t->class, 0, key, bytes);
    } else {
        scheduled(r, t, bytes);
    }
    offer(r, t);
    if (t->taken == t->goal) complete(r, t);
    bool over = t->state == MOVING && !t->turn, again = t->state == RESTING && t->since >= SQUID_SIGNS_OF_LIFE;
    if (has_turns(r, t) && (over || again)) ask_for_turn(r, t);
}

static uint64_t turn_of(const struct run *r, const struct tunnel *t) {
    uint64_t most = squid_turn(&r->link);
    return t->usual == RS_UNLIMITED && t->next < most ? t->next : most;
}

static void picked(struct run *r, struct tunnel *t) {
    r->live++;
    r->waiting[t->class]--;
    if (r->now >= r->p->warm) r->figures.wait[t->entry] = fmax(r->figures.wait[t->entry], r->now - t->asked);
    t->state = MOVING;
    t->since = 0;
    t->moved = r->now;
    t->let_go = r->now;
    t->headed = 0;
    t->turn = UINT64_MAX;
    t->had = 0;
    t->opening = !t->opened;
    if (has_turns(r, t)) t->turn = t->opening ? SQUID_OPENING_TURN : turn_of(r, t) + t->arrived - t->taken;
    if (has_turns(r, t) && !t->opening)
        rs_header(r->engine, micros(r), t->ticket, expected_of(r, t) + t->arrived - t->taken);
    if (!t->opened) { /* nothing has gone yet: a connection is opened with a small window */
        t->opened = 1;
        t->edge = t->clamp = squid_first_window(&r->link, r->live);
        if (is_tunnel(t)) {
            connects(r, t);
            return;
        }
    }
    fit(r, t);
    if (t->work == TUNNEL_NONE) wants(r, t);
    else if (t->work == TUNNEL_THINKS) later(r, t->pace, ANSWERS, t, 0);
    else reads(r, t);
}

static void pump(struct run *r) {
    rs_time_t again;
    rs_ticket_t ticket;
    while ((ticket = rs_pick(r->engine, micros(r), &again)) != RS_NO_TICKET)
        picked(r, &r->tunnels[rs_tag(r->engine, ticket)]);
    r->again = again == RS_NEVER ? SIM_NEVER : (double)again / 1e6;
}

static void stalls(struct run *r, struct tunnel *t) {
    t->since = 0;
    if (has_turns(r, t)) {
        t->usual = t->opening ? 0 : t->had;
        end_ticket(r, t);
        t->state = RESTING;
    } else {
        rs_park(r->engine, micros(r), t->ticket);
        t->state = PARKED;
    }
}

static void ticks(struct run *r) {
    double stall = (double)squid_stall_time(&r->link) / 1e6;
    for (uint32_t i = 0; i < r->ntunnels; i++) {
        struct tunnel *t = &r->tunnels[i];
        if (t->state == MOVING && r->now - t->moved >= stall) stalls(r, t);
        if (t->work != TUNNEL_DRIPS || (t->state != MOVING && t->state != PARKED)) continue;
        t->goal += (uint64_t)(t->pace * TICK);
        server_sends(r, t);
    }
    rs_link_look(&r->link, micros(r), rs_queued(r->engine) > 0, squid_least(rs_live(r->engine)));
    later(r, TICK, TICKS, NULL, 0);
}

static void arrives(struct run *r, struct tunnel *t, uint32_t size) {
    if (!is_tunnel(t) && !t->headed) {
        t->headed = 1;
        rs_header(r->engine, micros(r), t->ticket, t->work == TUNNEL_DRIPS ? DRIPPING : t->goal - t->taken);
    }
    t->arrived += size;
    t->cwnd += size;
    if (t->arrived - t->taken > t->room) r->figures.dropped++;
    rs_link_came(&r->link, size + HEADERS);
    measure(r, t);
    reads(r, t);
    offer(r, t);
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
    case ARRIVES: arrives(r, t, size); break;
    case CONNECTED:
        t->goal = HANDSHAKE;
        t->handshakes = 1;
        if (t->state == MOVING) fit(r, t);
        server_sends(r, t);
        break;
    case ANSWERS: wants(r, t); break;
    case ASKS:
        if (t->state == BETWEEN) submit(r, t, 0);
        else begins(r, t);
        break;
    default: assert(!"an event of a kind that nobody makes");
    }
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

/* Of entries with a class of their own. */
static double jain(const struct run *r, uint32_t seconds) {
    double sum = 0;
    uint32_t n = r->bins / seconds;
    for (uint32_t b = 0; b < n; b++) {
        double one = 0, two = 0;
        uint32_t of = 0;
        for (uint32_t c = 0; c < r->p->nclasses; c++) {
            if (r->p->classes[c].beside) continue;
            double x = 0;
            for (uint32_t s = 0; s < seconds; s++) x += r->bin[(b * seconds + s) * r->p->nclasses + c];
            x /= r->p->classes[c].weight;
            one += x;
            two += x * x;
            of++;
        }
        sum += two > 0 ? one * one / (of * two) : 0;
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
        f->gap[c] = fmax(f->gap[c], r->now - fmax(r->last[c], r->p->warm));
    }
    for (uint32_t c = 0; c < r->p->nclasses; c++) f->share[c] /= fmax(all, 1);
    f->use = r->carried / seconds / r->p->rate;
    f->jain_5s = jain(r, 5);
    f->jain_1s = jain(r, 1);
    for (uint32_t i = 0; i < r->ntunnels; i++)
        f->held += r->tunnels[i].work == TUNNEL_IDLE && r->tunnels[i].ticket != RS_NO_TICKET;
    f->turns /= r->p->until;
    qsort(r->queue, r->nqueue, sizeof *r->queue, by_size);
    f->queue_median = r->queue[r->nqueue / 2];
    f->queue_p95 = r->queue[r->nqueue * 95 / 100];
}

static void make_engine(struct run *r, const struct rs_class_settings *classes, bool keys) {
    struct rs_settings settings;
    const char *why = "";
    /* half of the places are kept by weight, and one user has half of the rest at the most */
    struct rs_capacity cap = { .classes = r->nclasses, .tickets = 8 * r->ntunnels + 64, .outlets = 1 };
    if (keys) cap.keys = rs_keys_for(cap.tickets);
    size_t size = (rs_size(&cap) + 63) / 64 * 64;
    r->memory = aligned_alloc(64, size);
    assert(r->memory);
    squid_settings(&settings, r->p->rate);
    squid_link(&r->link, r->p->rate);
    r->engine = rs_create(r->memory, size, &cap, &settings, classes, r->nclasses, 0, &why);
    if (!r->engine) {
        fprintf(stderr, "rs_create: %s\n", why);
        abort();
    }
}

static void make(struct run *r) {
    const struct tunnel_setup *p = r->p;
    struct rs_class_settings classes[TUNNEL_CLASSES];
    bool keys = false;
    assert(p->nclasses <= TUNNEL_CLASSES && !p->classes[0].beside);
    memset(classes, 0, sizeof classes);
    for (uint32_t c = 0; c < p->nclasses; c++) {
        r->ntunnels += p->classes[c].clients;
        if (p->classes[c].beside) continue;
        struct rs_class_settings *of = &classes[r->nclasses++];
        snprintf(of->name, sizeof of->name, "class-%u", c);
        of->weight = p->classes[c].weight;
        of->within = p->classes[c].users != 0;
        keys |= p->classes[c].users != 0;
    }
    make_engine(r, classes, keys);
    r->tunnels = calloc(r->ntunnels, sizeof *r->tunnels);
    r->bins = (uint32_t)(p->until - p->warm);
    r->bin = calloc((size_t)r->bins * p->nclasses, sizeof *r->bin);
    r->queue = calloc((size_t)(p->until / SAMPLE) + 2, sizeof *r->queue);
    assert(r->tunnels && r->bin && r->queue);
    uint32_t n = 0, class = 0;
    double trips[SERVERS];
    for (uint32_t i = 0; i < SERVERS; i++) trips[i] = sim_rng_uniform(&r->rng, p->rtt_from, p->rtt_to);
    for (uint32_t c = 0; c < p->nclasses; c++) {
        class += c && !p->classes[c].beside;
        uint32_t users = p->classes[c].users;
        for (uint32_t k = 0; k < p->classes[c].clients; k++, n++) {
            r->tunnels[n] = (struct tunnel){ .index = n,
                                             .entry = c,
                                             .class = class,
                                             .key = users ? (c + 1) * 1000 + k % users : n + 1,
                                             .work = p->classes[c].work,
                                             .pace = p->classes[c].pace,
                                             .rtt = trips[n % SERVERS] };
            later(r, p->classes[c].from + sim_rng_uniform(&r->rng, 0, 1), ASKS, &r->tunnels[n], 0);
        }
    }
}

struct tunnel_figures sim_tunnels(const struct tunnel_setup *setup) {
    struct run *r = calloc(1, sizeof *r);
    struct sim_event e;
    assert(r);
    r->p = setup;
    r->again = SIM_NEVER;
    sim_rng_seed(&r->rng, setup->seed);
    make(r);
    later(r, TICK, TICKS, NULL, 0);
    later(r, SAMPLE, SAMPLES, NULL, 0);
    for (;;) {
        double next = fmin(sim_events_next(&r->events), r->again);
        if (next >= setup->until) break;
        r->now = fmax(r->now, next);
        while (sim_events_take(&r->events, r->now, &e)) happens(r, &e);
        pump(r);
    }
    r->now = setup->until;
    const char *broken = rs_check(r->engine);
    if (broken) {
        fprintf(stderr, "an invariant does not hold: %s\n", broken);
        abort();
    }
    sum_up(r);
    struct tunnel_figures figures = r->figures;
    free(r->memory);
    free(r->tunnels);
    free(r->bin);
    free(r->queue);
    sim_events_free(&r->events);
    free(r);
    return figures;
}
