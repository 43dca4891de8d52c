/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim_pages.h"
#include "sim_events.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "rs.h"

/* an Interest at the server, one that its thread has done, a segment at the client */
enum { ARRIVES, SERVED, RECEIVED };
enum { SUBSEQUENT, FIRST }; /* classes */

#define LEARNT 16 /* a running mean is that of about so many */

struct mean {
    double work;
    uint32_t n;
};

/* How far a page is. */
struct progress {
    rs_time_t since; /* its first Interest came */
    float expected;  /* its work, as its first Interest said */
    uint32_t sent, served, received, window;
};

/* By a ticket's index. */
struct interest {
    rs_ticket_t ticket;
    uint32_t page;
};

struct run {
    const struct sim_pages *p;
    rs_engine_t *engine;
    struct sim_events events;
    struct sim_rng rng;
    struct sim_page *pages;
    struct progress *progress;
    struct interest *interests;
    uint32_t npages, asked; /* of which so many have asked */
    struct mean urls[SIM_URLS_MAX], all;
    double now;
    uint64_t kept;
    struct sim_pages_result out;
};

static rs_time_t micros(const struct run *r) { return (rs_time_t)(r->now * 1e6 + 0.5); }

/* ---- what a page is expected to cost ----------------------------------------------------------------------------- */

static void learn_one(struct mean *m, double work) {
    if (m->n < LEARNT) m->n++;
    m->work += (work - m->work) / m->n;
}

static double work_of(const struct run *r, const struct sim_page *p) { return p->making + p->segments * r->p->segment; }

static void learn(struct run *r, const struct sim_page *p) {
    learn_one(&r->urls[p->url], work_of(r, p));
    learn_one(&r->all, work_of(r, p));
}

static double expected(const struct run *r, const struct sim_page *p) {
    const struct mean *url = &r->urls[p->url];
    if (r->p->known == SIM_ORACLE) return work_of(r, p);
    return url->n && r->p->known == SIM_URLS ? url->work : r->all.work;
}

static float making(struct run *r) {
    if (r->p->making_fixed || r->p->making == 0) return (float)r->p->making;
    return (float)sim_rng_exponential(&r->rng, r->p->making);
}

/* ---- Interests --------------------------------------------------------------------------------------------------- */

static void send_interest(struct run *r, uint32_t page) {
    r->progress[page].sent++;
    sim_events_add(&r->events, r->now + r->p->rtt / 2, ARRIVES, page, 0);
}

/* What is left of a page that has begun. */
static double left_of(const struct run *r, const struct sim_page *p, const struct progress *g) {
    double whole = p->segments * r->p->segment, left = (p->segments - g->served) * r->p->segment;
    return whole > g->expected && !r->p->as_found ? left * g->expected / whole : left;
}

static uint32_t class_of(const struct run *r, const struct sim_page *p, bool first) {
    if (r->p->crawling > 0) return p->crawler;
    return first && !r->p->one_class ? FIRST : SUBSEQUENT;
}

static void arrives(struct run *r, uint32_t page) {
    const struct sim_page *p = &r->pages[page];
    struct progress *g = &r->progress[page];
    bool first = !g->served;
    if (first) {
        g->since = micros(r);
        g->expected = (float)expected(r, p);
    }
    rs_time_t since = r->p->own_age ? micros(r) : g->since;
    double work = first ? g->expected : left_of(r, p, g);
    rs_ticket_t t;
    enum rs_refusal why =
        rs_submit_since(r->engine, micros(r), since, class_of(r, p, first), 0, (uint64_t)(work * 1e6), 0, page, &t);
    assert(why == RS_OK);
    r->interests[rs_ticket_index(t)] = (struct interest){ t, page };
    r->out.interests++;
}

static void served(struct run *r, const struct interest *in) {
    const struct sim_page *p = &r->pages[in->page];
    double work = r->p->segment;
    if (r->progress[in->page].served++ == 0) {
        work += p->making;
        r->kept += p->segments - 1;
        if (r->kept > r->out.kept_most) r->out.kept_most = r->kept;
        learn(r, p);
    } else {
        r->kept--;
    }
    rs_progress(r->engine, micros(r), in->ticket, (uint64_t)(work * 1e6));
    rs_finish(r->engine, micros(r), in->ticket);
    sim_events_add(&r->events, r->now + r->p->rtt / 2, RECEIVED, in->page, 0);
}

/* The client of a page that is there may ask for it again. */
static void ask_again(struct run *r, uint32_t page) {
    if (!r->p->again || r->pages[0].took > 0) return;
    r->pages[page].asked = r->now;
    r->progress[page] = (struct progress){ 0 };
    send_interest(r, page);
}

static void received(struct run *r, uint32_t page) {
    struct sim_page *p = &r->pages[page];
    struct progress *g = &r->progress[page];
    if (g->received++ == 0) {
        uint32_t q = r->p->hint;
        g->window = q ? (p->segments - 1 + q - 1) / q : 1;
    }
    if (g->received == p->segments) {
        p->took = r->now - p->asked;
        ask_again(r, page);
        return;
    }
    while (g->sent < p->segments && g->sent - g->received < g->window) send_interest(r, page);
}

static void happen(struct run *r, const struct sim_event *e) {
    switch (e->kind) {
    case ARRIVES: arrives(r, e->index); break;
    case SERVED: served(r, &r->interests[e->index]); break;
    default: received(r, e->index);
    }
}

static void pump(struct run *r) {
    rs_time_t again;
    rs_ticket_t t;
    while ((t = rs_pick(r->engine, micros(r), &again)) != RS_NO_TICKET) {
        uint32_t page = (uint32_t)rs_tag(r->engine, t);
        double work = r->p->segment + (r->progress[page].served ? 0 : (double)r->pages[page].making);
        sim_events_add(&r->events, r->now + work, SERVED, rs_ticket_index(t), 0);
    }
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void make_pages(struct run *r) {
    const struct sim_pages *p = r->p;
    struct sim_asking asking = p->asking;
    struct sim_rng before;
    asking.page = (p->making + sim_site_mean(asking.site) * p->segment) / p->threads;
    r->pages = sim_asking_draw(&asking, &r->rng, &r->npages);
    for (uint32_t i = 0; i < r->npages; i++) {
        r->pages[i].making = making(r);
        if (p->crawling > 0) r->pages[i].crawler = sim_rng_uniform(&r->rng, 0, 1) < p->crawling;
    }
    sim_rng_seed(&before, ~p->seed);
    for (uint32_t i = 0; i < p->history; i++) {
        struct sim_page page = { .making = making(r) };
        sim_site_draw(asking.site, &before, &page);
        learn(r, &page);
    }
}

/* Room for all of one class beside what is kept for the other. */
static void *make_engine(struct run *r) {
    uint32_t widest = 1;
    for (uint32_t i = 0; i < r->npages && r->p->hint; i++)
        if (r->pages[i].segments > widest) widest = r->pages[i].segments;
    struct rs_capacity cap = { .classes = 2, .tickets = 2 * r->npages * widest, .outlets = 1 };
    struct rs_class_settings classes[2] = { [SUBSEQUENT] = { .name = "subsequent", .weight = 1, .level = 0 },
                                            [FIRST] = { .name = "first", .weight = 1, .level = 1 } };
    if (r->p->one_class) {
        classes[SUBSEQUENT].order = RS_ORDER_SHORTEST;
        classes[SUBSEQUENT].wait_bound_ms = r->p->wait_bound_ms;
    }
    for (int i = 0; i < 2 && r->p->crawling > 0; i++) classes[i].weight = r->p->weights[i];
    struct rs_settings settings;
    rs_settings_default(&settings);
    settings.sched = (uint32_t)r->p->sched;
    settings.gate = RS_GATE_THREADS;
    settings.window = r->p->threads;
    const char *why;
    size_t size = (rs_size(&cap) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);
    assert(memory);
    r->engine = rs_create(memory, size, &cap, &settings, classes, 2, 0, &why);
    assert(r->engine);
    r->interests = calloc(cap.tickets, sizeof *r->interests);
    r->progress = calloc(r->npages, sizeof *r->progress);
    assert(r->interests && r->progress);
    return memory;
}

/* Clients ask for the first time in the order of the list. */
static double next_asked(const struct run *r) {
    return r->asked < r->npages ? r->pages[r->asked].asked + r->p->rtt / 2 : SIM_NEVER;
}

static void means(struct run *r) {
    struct sim_pages_result *out = &r->out;
    uint32_t large = 0;
    for (uint32_t i = 0; i < r->npages; i++) {
        const struct sim_page *p = &r->pages[i];
        assert(p->took > 0 && r->progress[i].received == p->segments);
        out->longest = fmax(out->longest, p->took);
        large += p->large;
        *(p->large ? &out->mean_large : &out->mean_small) += p->took;
    }
    out->mean = (out->mean_small + out->mean_large) / r->npages;
    out->mean_small /= r->npages > large ? r->npages - large : 1;
    out->mean_large /= large ? large : 1;
    out->pages = r->pages;
    out->npages = r->npages;
}

struct sim_pages_result sim_pages_run(const struct sim_pages *p) {
    struct run r = { .p = p };
    struct sim_event e;
    sim_rng_seed(&r.rng, p->seed);
    make_pages(&r);
    void *memory = make_engine(&r);
    while ((r.now = fmin(sim_events_next(&r.events), next_asked(&r))) < SIM_NEVER) {
        while (sim_events_take(&r.events, r.now, &e)) happen(&r, &e);
        for (; next_asked(&r) <= r.now; r.asked++) {
            r.progress[r.asked].sent = 1;
            arrives(&r, r.asked);
        }
        pump(&r);
    }
    const char *broken = rs_check(r.engine);
    assert(!broken && r.kept == 0);
    means(&r);
    sim_events_free(&r.events);
    free(memory);
    free(r.interests);
    free(r.progress);
    return r.out;
}

void sim_pages_free(struct sim_pages_result *r) {
    free(r->pages);
    *r = (struct sim_pages_result){ 0 };
}
