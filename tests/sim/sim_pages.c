/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim_pages.h"
#include "sim_events.h"
#include "sim_rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rs.h"

/* an Interest at the server, an Interest at a thread, a segment at the client */
enum { ARRIVES, SERVED, RECEIVED };
enum { SUBSEQUENT, FIRST }; /* classes */

struct page {
    double asked, done, making;
    uint32_t segments, received, kind;
};
struct interest {
    rs_ticket_t ticket;
    uint32_t page, nth;
};

struct run {
    const struct sim_pages *p;
    rs_engine_t *engine;
    struct sim_events events;
    struct sim_rng rng;
    struct page *pages;
    struct interest *interests; /* by number in order of sending */
    uint32_t ninterests;
    double now, kind_mean[2];
};

static rs_time_t micros(const struct run *r) { return (rs_time_t)(r->now * 1e6 + 0.5); }

static uint32_t about(struct sim_rng *rng, double mean, double deviation) {
    double n = floor(sim_rng_normal(rng, mean, deviation) + 0.5);
    return n < 1 ? 1 : (uint32_t)n;
}

static void draw(struct run *r, struct page *p) {
    switch (r->p->site) {
    case SIM_TICKETS: p->segments = about(&r->rng, 15, 2.25); break;
    case SIM_SHOP:
        p->kind = sim_rng_uniform(&r->rng, 0, 1) < 0.3;
        p->segments = p->kind ? about(&r->rng, 120, 10) : about(&r->rng, 15, 3);
        break;
    case SIM_SEARCH: {
        /*
         * Rank among 200 words by inversion of a density that falls as rank^-0.35; the most popular word's page is the
         * largest.
         */
        double rank = 200 * pow(sim_rng_uniform(&r->rng, 0, 1), 1 / 0.65);
        double mean = 90 - 85 * rank / 200;
        p->kind = mean >= 50;
        p->segments = about(&r->rng, mean, mean * 0.15);
        break;
    }
    }
    p->making = sim_rng_exponential(&r->rng, r->p->making);
}

static void send_interest(struct run *r, uint32_t page, uint32_t nth) {
    r->interests[r->ninterests] = (struct interest){ .page = page, .nth = nth };
    sim_events_add(&r->events, r->now + r->p->rtt / 2, ARRIVES, r->ninterests++, 0);
}

static void arrives(struct run *r, uint32_t i) {
    struct interest *in = &r->interests[i];
    const struct page *p = &r->pages[in->page];
    double work =
        in->nth == 0 ? r->p->making + r->kind_mean[p->kind] * r->p->segment : (p->segments - in->nth) * r->p->segment;
    enum rs_refusal why = rs_submit(r->engine, micros(r), in->nth == 0 && !r->p->one_class ? FIRST : SUBSEQUENT, 0,
                                    (uint64_t)(work * 1e6), 0, i, &in->ticket);
    assert(why == RS_OK);
}

static void happen(struct run *r, const struct sim_event *e) {
    struct interest *in = &r->interests[e->index];
    struct page *p = &r->pages[in->page];
    if (e->kind == ARRIVES) {
        arrives(r, e->index);
    } else if (e->kind == SERVED) {
        double work = r->p->segment + (in->nth == 0 ? p->making : 0);
        rs_progress(r->engine, micros(r), in->ticket, (uint64_t)(work * 1e6));
        rs_finish(r->engine, micros(r), in->ticket);
        sim_events_add(&r->events, r->now + r->p->rtt / 2, RECEIVED, e->index, 0);
    } else {
        if (++p->received == p->segments) p->done = r->now;
        if (in->nth == 0)
            for (uint32_t n = 1; n < p->segments; n++) send_interest(r, in->page, n);
    }
}

static void pump(struct run *r) {
    rs_time_t again;
    rs_ticket_t t;
    while ((t = rs_pick(r->engine, micros(r), &again)) != RS_NO_TICKET) {
        const struct interest *in = &r->interests[rs_tag(r->engine, t)];
        double work = r->p->segment + (in->nth == 0 ? r->pages[in->page].making : 0);
        sim_events_add(&r->events, r->now + work, SERVED, (uint32_t)rs_tag(r->engine, t), 0);
    }
}

static uint32_t make_pages(struct run *r) {
    const struct sim_pages *p = r->p;
    uint32_t segments = 0, of[2] = { 0, 0 };
    double work = 0;
    for (uint32_t i = 0; i < p->pages; i++) {
        struct page *page = &r->pages[i];
        draw(r, page);
        segments += page->segments;
        of[page->kind]++;
        r->kind_mean[page->kind] += page->segments;
        work += p->making + page->segments * p->segment;
    }
    for (int k = 0; k < 2; k++) r->kind_mean[k] /= of[k] ? of[k] : 1;
    r->interests = calloc(segments, sizeof *r->interests);
    assert(r->interests);
    for (uint32_t i = 0; i < p->pages; i++) {
        r->now = r->pages[i].asked = sim_rng_uniform(&r->rng, 0, p->spread * work / p->threads);
        send_interest(r, i, 0);
    }
    return segments;
}

/* Room for all of one class beside what is kept for the other. */
static void *make_engine(struct run *r, uint32_t tickets) {
    struct rs_capacity cap = { .classes = 2, .tickets = 4 * tickets, .outlets = 1 };
    struct rs_class_settings classes[2] = { [SUBSEQUENT] = { .name = "subsequent", .weight = 1, .level = 0 },
                                            [FIRST] = { .name = "first", .weight = 1, .level = 1 } };
    if (r->p->one_class) {
        classes[SUBSEQUENT].order = RS_ORDER_SHORTEST;
        classes[SUBSEQUENT].wait_bound_ms = r->p->wait_bound_ms;
    }
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
    return memory;
}

struct sim_pages_result sim_pages_run(const struct sim_pages *p) {
    struct run r = { .p = p };
    struct sim_event e;
    sim_rng_seed(&r.rng, p->seed);
    r.pages = calloc(p->pages, sizeof *r.pages);
    assert(r.pages);
    void *memory = make_engine(&r, make_pages(&r));
    while ((r.now = sim_events_next(&r.events)) < SIM_NEVER) {
        while (sim_events_take(&r.events, r.now, &e)) happen(&r, &e);
        pump(&r);
    }
    const char *broken = rs_check(r.engine);
    assert(!broken);
    struct sim_pages_result out = { 0 };
    uint32_t small = 0;
    for (uint32_t i = 0; i < p->pages; i++) {
        const struct page *page = &r.pages[i];
        assert(page->received == page->segments);
        double took = page->done - page->asked;
        out.mean += took / p->pages;
        out.longest = fmax(out.longest, took);
        if (page->segments < 50) {
            small++;
            out.mean_small += took;
        } else {
            out.mean_large += took;
        }
    }
    out.mean_small /= small ? small : 1;
    out.mean_large /= p->pages > small ? p->pages - small : 1;
    sim_events_free(&r.events);
    free(memory);
    free(r.pages);
    free(r.interests);
    return out;
}
