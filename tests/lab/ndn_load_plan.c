/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_load_plan.c - who asks for what, and when (ndn_load.h). */
#include "ndn_load.h"

#include <math.h>
#include <stdlib.h>

const struct nload_page *nload_draw(const struct nload *l, uint64_t *rng) {
    double at = nload_uniform(rng) * l->pages[l->page_count - 1].upto;
    uint32_t low = 0, high = l->page_count - 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (l->pages[middle].upto > at) high = middle;
        else low = middle + 1;
    }
    return &l->pages[low];
}

struct plan {
    double *at; /* seconds */
    size_t n, room;
    uint64_t rng;
};

static void plan_add(struct plan *p, double at) {
    if (p->n == p->room) {
        p->room = p->room ? 2 * p->room : 1024;
        p->at = nload_need(realloc(p->at, p->room * sizeof p->at[0]));
    }
    p->at[p->n++] = at;
}

static void plan_spike(struct plan *p, const struct nload *l, double from) {
    for (uint32_t i = 0; i < l->client_count; i++) plan_add(p, from + l->spread * nload_uniform(&p->rng));
}

static void plan_even(struct plan *p, double rate, double from, double to) {
    for (uint64_t i = 0; rate > 0 && from + (double)i / rate < to; i++) plan_add(p, from + (double)i / rate);
}

/* Poisson. */
static void plan_some(struct plan *p, double rate, double from, double to) {
    if (rate <= 0) return;
    for (double t = from; (t += -log(1 - nload_uniform(&p->rng)) / rate) < to;) plan_add(p, t);
}

static int plan_earlier(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void plan_requests(struct plan *p, const struct nload *l) {
    switch (l->kind) {
    case NLOAD_CLOSED: /* when its clients begin */
    case NLOAD_SPIKE: plan_spike(p, l, 0); break;
    case NLOAD_INTERMITTENT:
        for (uint32_t i = 0; i < l->spikes; i++) plan_spike(p, l, i * l->between);
        plan_some(p, l->low_rate, 0, l->spikes * l->between);
        break;
    case NLOAD_ALTERNATING:
        for (uint32_t i = 0; i < 2 * l->turns; i++)
            (l->even ? plan_even : plan_some)(p, i % 2 ? l->low_rate : l->rate, i * l->between, (i + 1) * l->between);
        break;
    }
    if (p->n) qsort(p->at, p->n, sizeof p->at[0], plan_earlier);
}

void nload_plan(struct nload *l) {
    struct plan p = { .rng = l->seed * 0xaf251af3b0f025b5ull + 1 };
    uint32_t places = ndn_fetch_places(l->window.window);

    plan_requests(&p, l);
    l->client_count = l->working = (uint32_t)p.n;
    l->clients = nload_need(calloc(p.n ? p.n : 1, sizeof l->clients[0]));
    for (l->mask = 1023; l->mask < 4 * p.n; l->mask = l->mask * 2 + 1) continue;
    l->bucket = nload_need(calloc((size_t)l->mask + 1, sizeof l->bucket[0]));
    for (uint32_t i = 0; i < p.n; i++) {
        struct nload_client *c = &l->clients[i];
        c->number = i;
        c->face = &l->faces[i % l->face_count];
        c->rng = l->seed * 0x9e3779b97f4a7c15ull + i * 0xd1342543de82ef95ull;
        c->places = nload_need(malloc(places * sizeof c->places[0]));
        if (l->kind != NLOAD_CLOSED) c->page = nload_draw(l, &p.rng);
        lab_timer_set(&l->timers, &c->timer, l->started + (uint64_t)(p.at[i] * 1e6));
    }
    free(p.at);
}
