/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim_host.h"
#include "rs_engine.h"
#include "sim_events.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tickets beside those of the closed loops; an open loop that needs more is overloaded on purpose */
#define OPEN_LOOP_ROOM 200000u
#define HOOK_ROOM      64 /* requests of sim_ask at one time */
#define GIVEN_UP_ROOM  64 /* released requests that their clients gave up */
#define SAMPLE_SECONDS 0.05

enum { ASK, ASK_OPEN, GIVE_UP, READS, SAMPLE, HOOK, CHECK };

struct client {
    uint32_t class, owner, number, asked;
};

struct account { /* of a class, in the host */
    struct sim_class_result *result;
    double mean; /* of its responses, what a gateway would guess for a new page */
    uint64_t learned;
    uint32_t live;
    double since;   /* without a byte */
    uint32_t asked; /* in its open loop */
    uint32_t deck[SIM_DECK_SIZES], drawn;
};

struct sim {
    const struct sim_setup *setup;
    rs_engine_t *engine;
    void *memory;
    struct sim_events events;
    struct sim_rng rng, guesses; /* apart: how well a size is known changes no arrival and no size */
    double now, again;
    struct sim_job *jobs;
    uint32_t *free_jobs, nfree, njobs;
    struct client *clients;
    struct account *accounts;
    uint32_t nclients, owners, outstanding;
    uint64_t samples, window_sum, outstanding_sum;
    uint64_t *bin_bytes;
    uint32_t bins;
    struct sim_result result;
};

static rs_time_t micros(const struct sim *s) { return (rs_time_t)(s->now * 1e6 + 0.5); }

static void *zeroed(size_t n, size_t each) {
    void *p = calloc(n ? n : 1, each);
    assert(p);
    return p;
}

static void check(struct sim *s) {
    const char *broken = rs_check(s->engine);
    if (broken) {
        fprintf(stderr, "after %.6f s in simulated time, an invariant does not hold: %s\n", s->now, broken);
        abort();
    }
}

double sim_now(const struct sim *s) { return s->now; }
rs_engine_t *sim_engine(struct sim *s) { return s->engine; }

struct sim_job *sim_job_at(struct sim *s, uint32_t index, uint32_t serial) {
    struct sim_job *j = &s->jobs[index];
    return j->ticket != RS_NO_TICKET && j->serial == serial ? j : NULL;
}

uint64_t sim_allowance(struct sim *s, const struct sim_job *j) { return rs_allowance(s->engine, micros(s), j->ticket); }

/* ---- clients ----------------------------------------------------------------------------------------------------- */

static uint64_t draw_card(struct sim *s, struct account *a) {
    uint32_t at = a->drawn++ % SIM_DECK_SIZES, other = at + sim_rng_below(&s->rng, SIM_DECK_SIZES - at);
    uint32_t size = a->deck[other];
    a->deck[other] = a->deck[at];
    a->deck[at] = size;
    return size;
}

/* One of the class's clients that ask for large responses without a pause. */
static int is_slow(const struct sim *s, uint32_t client) {
    const struct client *who = client == UINT32_MAX ? NULL : &s->clients[client];
    const struct sim_class *c = who ? &s->setup->classes[who->class] : NULL;
    return c && who->number + c->slow >= c->clients;
}

static uint64_t draw_size(struct sim *s, const struct sim_class *c, uint32_t client) {
    if (is_slow(s, client)) return (uint64_t)c->large;
    if (c->size == SIM_DECK) return draw_card(s, &s->accounts[c - s->setup->classes]);
    if (c->size == SIM_TWO && sim_rng_uniform(&s->rng, 0, 1) < 0.05) return (uint64_t)c->large;
    return c->size == SIM_PAGES ? (uint64_t)sim_rng_page(&s->rng) : (uint64_t)c->bytes;
}

static uint64_t guess(struct sim *s, uint32_t class, uint64_t size) {
    const struct sim_class *c = &s->setup->classes[class];
    double estimate = (double)size;
    if (c->estimate == SIM_MEAN) estimate = s->accounts[class].mean;
    else if (c->estimate == SIM_WRONG) estimate *= exp(sim_rng_normal(&s->guesses, 0, c->spread));
    return estimate < 1 ? 1 : (uint64_t)estimate;
}

static void whose(struct sim *s, uint32_t class, uint32_t client, uint64_t key[RS_KEY_LEVELS]) {
    const struct sim_class *c = &s->setup->classes[class];
    struct client *who = client == UINT32_MAX ? NULL : &s->clients[client];
    memset(key, 0, sizeof *key * RS_KEY_LEVELS);
    if (!c->key) return;
    if (who) c->key(who->number, who->asked++, key);
    else c->key(UINT32_MAX, s->accounts[class].asked++, key);
}

/* 0 if the engine refused. */
static int submit_sized(struct sim *s, uint32_t class, uint32_t client, uint32_t owner, uint64_t size,
                        uint64_t estimate) {
    if (s->nfree == 0) return 0;
    struct sim_job *j = &s->jobs[s->free_jobs[s->nfree - 1]];
    rs_ticket_t ticket;
    uint64_t key[RS_KEY_LEVELS];
    whose(s, class, client, key);
    if (rs_submit_keyed(s->engine, micros(s), class, 0, estimate, key, owner, j->index, &ticket) != RS_OK) return 0;
    s->nfree--;
    uint32_t serial = j->serial + 1;
    *j = (struct sim_job){ .ticket = ticket,
                           .index = j->index,
                           .serial = serial,
                           .class = class,
                           .client = client,
                           .owner = owner,
                           .size = size,
                           .work = s->setup->classes[class].timed ? (double)size / 1e6 : 0,
                           .submitted = s->now };
    struct account *a = &s->accounts[class];
    if (a->live++ == 0) a->since = s->now;
    if (s->setup->classes[class].patience > 0 && client != UINT32_MAX)
        sim_events_add(&s->events, s->now + sim_rng_exponential(&s->rng, s->setup->classes[class].patience), GIVE_UP,
                       j->index, serial);
    return 1;
}

static int submit(struct sim *s, uint32_t class, uint32_t client, uint32_t owner) {
    uint64_t size = draw_size(s, &s->setup->classes[class], client);
    return submit_sized(s, class, client, owner, size, guess(s, class, size));
}

void sim_ask(struct sim *s, uint32_t class, uint64_t bytes, uint64_t estimate) {
    int taken = submit_sized(s, class, UINT32_MAX, 0, bytes, estimate);
    assert(taken);
}

static void ask(struct sim *s, uint32_t client) {
    const struct client *who = &s->clients[client];
    const struct sim_class *c = &s->setup->classes[who->class];
    if (s->now >= c->pause_from && s->now < c->pause_to) sim_events_add(&s->events, c->pause_to, ASK, client, 0);
    else if (!submit(s, who->class, client, who->owner)) sim_events_add(&s->events, s->now + 0.1, ASK, client, 0);
}

static void ask_open(struct sim *s, uint32_t class) {
    const struct sim_class *c = &s->setup->classes[class];
    double rate = c->step_at > 0 && s->now >= c->step_at ? c->step_to : c->arrivals;
    sim_events_add(&s->events, s->now + sim_rng_exponential(&s->rng, 1.0 / rate), ASK_OPEN, class, 0);
    if (s->now < c->pause_from || s->now >= c->pause_to) submit(s, class, UINT32_MAX, 0);
}

/* ---- what the server tells --------------------------------------------------------------------------------------- */

static void received(struct sim *s, struct sim_job *j, uint64_t bytes) {
    struct account *a = &s->accounts[j->class];
    if (s->now < s->setup->warm) return;
    double from = a->since > s->setup->warm ? a->since : s->setup->warm;
    a->result->gap_max = fmax(a->result->gap_max, s->now - from);
    a->since = s->now;
    a->result->bytes += bytes;
    if (j->client != UINT32_MAX) s->result.clients[j->client].bytes += bytes;
    uint32_t bin = s->bins ? (uint32_t)((s->now - s->setup->warm) / s->setup->bin) : 0;
    if (bin < s->bins) s->bin_bytes[(size_t)bin * s->setup->nclasses + j->class] += bytes;
}

static void release_job(struct sim *s, struct sim_job *j) {
    s->accounts[j->class].live--;
    j->ticket = RS_NO_TICKET;
    s->free_jobs[s->nfree++] = j->index;
}

static void finish(struct sim *s, struct sim_job *j) {
    struct account *a = &s->accounts[j->class];
    int was = (j->given_up ? rs_abort : rs_finish)(s->engine, micros(s), j->ticket);
    assert(was && j->received == j->size);
    a->mean += ((double)j->size - a->mean) / (double)++a->learned;
    if (s->now >= s->setup->warm && !j->given_up) {
        double took = s->now - j->submitted;
        if (s->setup->ended) s->setup->ended(j, took, s->setup->arg);
        a->result->responses++;
        a->result->time_sum += took;
        a->result->time_max = fmax(a->result->time_max, took);
        if (j->client != UINT32_MAX) {
            struct sim_client_result *c = &s->result.clients[j->client];
            c->responses++;
            c->time_sum += took;
            c->time_max = fmax(c->time_max, took);
        }
    }
    if (!j->parked) s->outstanding--;
    uint32_t client = j->client;
    double think = is_slow(s, client) ? 0 : s->setup->classes[j->class].think;
    release_job(s, j);
    if (client != UINT32_MAX)
        sim_events_add(&s->events, s->now + (think > 0 ? sim_rng_exponential(&s->rng, think) : 0), ASK, client, 0);
}

static void read_some(struct sim *s, struct sim_job *j) {
    uint64_t bytes = j->unread;
    if (bytes) {
        uint64_t slot_us = (uint64_t)((s->now - j->released) * 1e6);
        int was =
            rs_progress(s->engine, micros(s), j->ticket, s->setup->classes[j->class].slot_timed ? slot_us : bytes);
        assert(was);
        j->unread -= bytes;
        j->received += bytes;
        received(s, j, bytes);
        if (s->setup->server->ops->read) s->setup->server->ops->read(s->setup->server, j, bytes);
    }
    if (j->sent && j->unread == 0) finish(s, j);
}

static void give_up(struct sim *s, struct sim_job *j) {
    uint32_t client = j->client;
    double think = s->setup->classes[j->class].think;
    if (rs_cancel(s->engine, micros(s), j->ticket)) release_job(s, j);
    else j->given_up = 1;
    j->client = UINT32_MAX;
    sim_events_add(&s->events, s->now + (think > 0 ? sim_rng_exponential(&s->rng, think) : 0), ASK, client, 0);
}

static void reads(struct sim *s, struct sim_job *j) {
    j->parked = rs_park_occupying(s->engine, micros(s), j->ticket);
    assert(j->parked);
    s->outstanding--;
}

void sim_on_begin(struct sim *s, struct sim_job *j, double seconds) {
    double reading = s->setup->classes[j->class].reading;
    if (reading > 0 && reading < j->work)
        sim_events_add(&s->events, s->now + seconds * (1 - reading / j->work), READS, j->index, j->serial);
}

void sim_on_header(struct sim *s, struct sim_job *j) {
    if (!s->setup->classes[j->class].length_hidden) rs_header(s->engine, micros(s), j->ticket, j->size);
}

void sim_on_bytes(struct sim *s, struct sim_job *j, uint64_t bytes) {
    j->unread += bytes;
    read_some(s, j);
}

void sim_on_end(struct sim *s, struct sim_job *j) {
    j->sent = 1;
    if (j->unread == 0) finish(s, j);
}

void sim_kill(struct sim *s, uint32_t owner) {
    uint32_t lost = 0;
    for (uint32_t i = 0; i < s->njobs; i++) {
        struct sim_job *j = &s->jobs[i];
        if (j->ticket == RS_NO_TICKET || j->owner != owner) continue;
        lost++;
        if (rs_state(s->engine, j->ticket) != RS_QUEUED) {
            if (!j->parked) s->outstanding--;
            s->setup->server->ops->drop(s->setup->server, j, s->now);
        }
        if (j->client != UINT32_MAX) {
            if (s->owners > 1)
                s->clients[j->client].owner = (owner + 1 + sim_rng_below(&s->rng, s->owners - 1)) % s->owners;
            sim_events_add(&s->events, s->now + 0.05, ASK, j->client, 0);
        }
        release_job(s, j);
    }
    uint32_t reclaimed = rs_reclaim(s->engine, micros(s), owner);
    assert(reclaimed == lost);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void tell(const struct sim *s, const struct sim_job *j, bool refused) {
    if (s->setup->left_queue) s->setup->left_queue(s, j->class, s->now - j->submitted, refused, s->setup->arg);
}

static void refuse(struct sim *s, struct sim_job *j) {
    uint32_t client = j->client;
    int was = rs_cancel(s->engine, micros(s), j->ticket);
    assert(was);
    tell(s, j, true);
    release_job(s, j);
    if (client != UINT32_MAX) sim_events_add(&s->events, s->now + 1, ASK, client, 0);
}

static void pump(struct sim *s) {
    rs_time_t again;
    rs_ticket_t t;
    while ((t = rs_overdue(s->engine, micros(s))) != RS_NO_TICKET) refuse(s, &s->jobs[rs_tag(s->engine, t)]);
    while ((t = rs_pick(s->engine, micros(s), &again)) != RS_NO_TICKET) {
        struct sim_job *j = &s->jobs[rs_tag(s->engine, t)];
        assert(j->ticket == t);
        tell(s, j, false);
        s->outstanding++;
        j->released = s->now;
        s->setup->server->ops->start(s->setup->server, s, j, s->now);
    }
    s->again = again == RS_NEVER ? SIM_NEVER : (double)again / 1e6;
}

static void sample(struct sim *s) {
    /* rs_stats would add up the counts of all classes. */
    assert(rs_outlet(s->engine, 0)->outstanding == s->outstanding);
    s->result.window_last = rs_window(s->engine);
    if (s->now >= s->setup->warm) {
        s->samples++;
        s->window_sum += s->result.window_last;
        s->outstanding_sum += s->outstanding;
    }
    sim_events_add(&s->events, s->now + SAMPLE_SECONDS, SAMPLE, 0, 0);
}

static void happen(struct sim *s, const struct sim_event *e) {
    struct sim_job *j;
    switch (e->kind) {
    case ASK: ask(s, e->index); break;
    case ASK_OPEN: ask_open(s, e->index); break;
    case GIVE_UP:
        if ((j = sim_job_at(s, e->index, e->serial))) give_up(s, j);
        break;
    case READS:
        if ((j = sim_job_at(s, e->index, e->serial))) reads(s, j);
        break;
    case SAMPLE: sample(s); break;
    case HOOK:
        s->setup->hook(s, s->setup->arg);
        sim_events_add(&s->events, s->now + s->setup->hook_every, HOOK, 0, 0);
        break;
    case CHECK:
        check(s);
        sim_events_add(&s->events, s->now + s->setup->check_every, CHECK, 0, 0);
        break;
    default: assert(!"an event of a kind that nobody makes");
    }
}

static void make_engine(struct sim *s) {
    const struct sim_setup *p = s->setup;
    struct rs_capacity cap = { .classes = p->nclasses, .tickets = s->njobs, .outlets = 1 };
    struct rs_class_settings *classes = zeroed(p->nclasses, sizeof *classes);
    for (uint32_t i = 0; i < p->nclasses; i++) {
        const struct sim_class *c = &p->classes[i];
        classes[i] = (struct rs_class_settings){ .weight = c->weight ? c->weight : 1,
                                                 .level = c->level,
                                                 .order = c->order,
                                                 .wait_bound_ms = c->wait_bound_ms,
                                                 .within = c->within,
                                                 .delay_ms = c->delay_ms,
                                                 .slots = c->slots };
        if (c->within) cap.keys = rs_keys_for(cap.tickets);
        if (c->name) snprintf(classes[i].name, sizeof classes[i].name, "%s", c->name);
        else snprintf(classes[i].name, sizeof classes[i].name, "class-%u", i);
    }
    size_t size = (rs_size(&cap) + 63) / 64 * 64;
    assert(size > 0);
    s->memory = aligned_alloc(64, size);
    assert(s->memory);
    const char *why = "";
    s->engine = rs_create(s->memory, size, &cap, &p->settings, classes, p->nclasses, 0, &why);
    if (!s->engine) {
        fprintf(stderr, "rs_create: %s\n", why);
        abort();
    }
    free(classes);
}

static void make_clients(struct sim *s) {
    const struct sim_setup *p = s->setup;
    int open = 0, given_up = 0;
    for (uint32_t i = 0; i < p->nclasses; i++) {
        s->nclients += p->classes[i].clients;
        open |= p->classes[i].arrivals > 0;
        given_up |= p->classes[i].patience > 0;
    }
    s->clients = zeroed(s->nclients, sizeof *s->clients);
    s->accounts = zeroed(p->nclasses, sizeof *s->accounts);
    s->result.classes = zeroed(p->nclasses, sizeof *s->result.classes);
    s->result.clients = zeroed(s->nclients, sizeof *s->result.clients);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->nclasses; i++) {
        s->accounts[i] = (struct account){ .result = &s->result.classes[i], .mean = 16384 };
        if (p->classes[i].size == SIM_DECK) sim_rng_deck(s->accounts[i].deck);
        for (uint32_t k = 0; k < p->classes[i].clients; k++, n++)
            s->clients[n] = (struct client){ .class = i, .owner = n % s->owners, .number = k };
        if (p->classes[i].arrivals > 0) sim_events_add(&s->events, 0, ASK_OPEN, i, 0);
    }
    /* They come in a shuffled order, not class by class. */
    uint32_t *order = zeroed(n, sizeof *order);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = sim_rng_below(&s->rng, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (uint32_t i = 0; i < n; i++) sim_events_add(&s->events, 0, ASK, order[i], 0);
    free(order);
    s->njobs = n + (open ? OPEN_LOOP_ROOM : 0) + (p->hook ? HOOK_ROOM : 0) + (given_up ? GIVEN_UP_ROOM : 0);
    s->nfree = s->njobs;
    s->jobs = zeroed(s->njobs, sizeof *s->jobs);
    s->free_jobs = zeroed(s->njobs, sizeof *s->free_jobs);
    for (uint32_t i = 0; i < s->njobs; i++) {
        s->jobs[i].index = i;
        s->free_jobs[i] = s->njobs - 1 - i;
    }
}

static void total(struct sim *s) {
    const struct sim_setup *p = s->setup;
    struct sim_result *r = &s->result;
    double time = 0;
    r->nclasses = p->nclasses;
    r->bins = s->bins;
    r->bin_bytes = s->bin_bytes;
    for (uint32_t i = 0; i < p->nclasses; i++) {
        struct account *a = &s->accounts[i];
        if (a->live) a->result->gap_max = fmax(a->result->gap_max, p->until - fmax(a->since, p->warm));
        r->bytes += a->result->bytes;
        r->responses += a->result->responses;
        time += a->result->time_sum;
    }
    for (uint32_t i = 0; i < p->nclasses; i++)
        r->classes[i].share = r->bytes ? (double)r->classes[i].bytes / (double)r->bytes : 0;
    r->rate = (double)r->bytes / (p->until - p->warm);
    r->time_mean = r->responses ? time / (double)r->responses : 0;
    r->window_mean = s->samples ? (double)s->window_sum / (double)s->samples : 0;
    r->outstanding_mean = s->samples ? (double)s->outstanding_sum / (double)s->samples : 0;
    struct rs_stats stats;
    rs_stats(s->engine, &stats);
    r->counts = stats.counts;
}

struct sim_result sim_run(const struct sim_setup *setup) {
    struct sim s = { .setup = setup, .owners = setup->owners ? setup->owners : 1, .again = SIM_NEVER };
    struct sim_event e;
    sim_rng_seed(&s.rng, setup->seed);
    sim_rng_seed(&s.guesses, ~setup->seed);
    make_clients(&s);
    make_engine(&s);
    if (setup->bin > 0) {
        s.bins = (uint32_t)floor((setup->until - setup->warm) / setup->bin + 1e-9);
        s.bin_bytes = zeroed((size_t)s.bins * setup->nclasses, sizeof *s.bin_bytes);
    }
    sim_events_add(&s.events, 0, SAMPLE, 0, 0);
    if (setup->hook) sim_events_add(&s.events, setup->hook_every, HOOK, 0, 0);
    if (setup->check_every > 0) sim_events_add(&s.events, setup->check_every, CHECK, 0, 0);
    for (;;) {
        double next = fmin(fmin(sim_events_next(&s.events), setup->server->ops->next(setup->server)), s.again);
        if (next >= setup->until) break;
        s.now = fmax(s.now, next);
        setup->server->ops->advance(setup->server, &s, s.now);
        /* A slot that came free goes to one who waits, before the client that freed it can be back. */
        pump(&s);
        while (sim_events_take(&s.events, s.now, &e)) happen(&s, &e);
        pump(&s);
    }
    s.now = setup->until;
    check(&s);
    total(&s);
    free(s.memory);
    free(s.jobs);
    free(s.free_jobs);
    free(s.clients);
    free(s.accounts);
    sim_events_free(&s.events);
    return s.result;
}

void sim_result_free(struct sim_result *r) {
    free(r->classes);
    free(r->clients);
    free(r->bin_bytes);
    *r = (struct sim_result){ 0 };
}

double sim_jain(const struct sim_result *r, const struct sim_class *classes) {
    double sum = 0;
    for (uint32_t b = 0; b < r->bins; b++) {
        double one = 0, two = 0;
        for (uint32_t i = 0; i < r->nclasses; i++) {
            double x = (double)r->bin_bytes[(size_t)b * r->nclasses + i] / classes[i].weight;
            one += x;
            two += x * x;
        }
        sum += two > 0 ? one * one / (r->nclasses * two) : 0;
    }
    return r->bins ? sum / r->bins : 0;
}
