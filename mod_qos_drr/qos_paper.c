/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_paper.h"

#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>
#include <http_log.h>

APLOG_USE_MODULE(qos_drr);

#define P      qos_process
#define SECOND 1000000u
#define TOP    20u
#define TENTH  100000u /* microseconds */
#define CLOSE  100u    /* requests of such a time that a child looks at closely; */
#define FAR    3u      /* of the others one of 2^FAR */
#define NONE   POLICY_NONE

static uint64_t paper_rounded(uint64_t n) { return (n + 63) & ~UINT64_C(63); }

static struct rs_capacity paper_capacity(uint32_t classes, uint32_t tickets) {
    return (struct rs_capacity){ classes, tickets, 1, rs_keys_for(tickets) };
}

uint64_t qos_paper_bytes(uint32_t classes, uint32_t tickets) {
    struct rs_capacity cap = paper_capacity(classes, tickets);
    return 64 + paper_rounded(sizeof(struct qos_paper)) + rs_paper_size(&cap);
}

/* Where it is; NULL: this segment has no room for one. */
static struct qos_paper *paper_area(void) {
    const struct shm_size *z = &P.view.size;
    uint64_t at = paper_rounded(qos_sizes_bytes(P.sizes.pages));

    return at + qos_paper_bytes(z->classes, z->tickets) - 64 <= z->area ? (void *)((char *)P.view.area + at) : NULL;
}

static void *paper_block(struct qos_paper *k) { return (char *)k + paper_rounded(sizeof *k); }

static rs_paper_t *paper_make_locked(struct qos_paper *k, const char **why) {
    const struct qos_server *conf = qos_config();
    struct rs_paper_shape shape = { .capacity = paper_capacity(P.view.size.classes, P.view.size.tickets),
                                    .settings = conf->settings,
                                    .classes = conf->classes,
                                    .nclasses = conf->nclasses,
                                    .charge = (enum rs_paper_charge)conf->charge };

    return rs_paper_make(paper_block(k), rs_paper_size(&shape.capacity), &shape, shm_now(), why);
}

/* A process of that number is no owner any more. */
static bool paper_owner_is_gone(const void *unused, uint32_t owner) {
    (void)unused;
    for (uint32_t i = 0; i < P.view.size.owners; i++)
        if ((uint32_t)P.view.owners[i].pid == owner) return false;
    return true;
}

/* With the lock.  NULL: there is none for this child. */
static rs_paper_t *paper_locked(void) {
    struct rs_capacity cap = paper_capacity(P.view.size.classes, P.view.size.tickets);
    uint32_t reclaimed = atomic_load_explicit(&P.view.sh->reclaimed, memory_order_relaxed);
    struct qos_paper *k = P.paper;
    rs_paper_t *p;
    const char *why;

    if (!k || atomic_load_explicit(&k->generation, memory_order_relaxed) != P.generation) return NULL;
    p = rs_paper_fits(paper_block(k), &cap) ? paper_block(k) : paper_make_locked(k, &why);
    if (p && k->reclaimed != reclaimed) {
        k->reclaimed = reclaimed;
        rs_paper_reclaim(p, shm_now(), paper_owner_is_gone, NULL);
    }
    return p;
}

_Static_assert(QOS_CHARGE_BYTES == (int)RS_PAPER_BYTES && QOS_CHARGE_TIME == (int)RS_PAPER_TIME &&
                   QOS_CHARGE_BOTH == (int)RS_PAPER_BOTH,
               "what a request costs is the same on paper");

void qos_paper_child_init(server_rec *s) {
    const char *why = NULL;

    P.paper = qos_config()->observes && P.row != SHM_NO_ROW ? paper_area() : NULL;
    if (!P.paper) {
        if (qos_config()->observes && P.row != SHM_NO_ROW)
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                         "qos: what the scheduler holds has no room for QosEngine observe until `apachectl restart`");
        return;
    }
    shm_lock(&P.view);
    if (shm_has_left(&P.view)) {
        P.paper = NULL;
    } else if ((int32_t)(P.generation - atomic_load(&P.paper->generation)) > 0) {
        for (uint32_t i = 0; i < QOS_PAPER_RULES; i++) P.paper->rules[i].requests = P.paper->rules[i].bytes = 0;
        P.paper->none.requests = P.paper->none.bytes = 0;
        if (paper_make_locked(P.paper, &why)) atomic_store(&P.paper->generation, P.generation);
    }
    shm_unlock(&P.view);
    if (why) ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "qos: QosEngine observe: %s", why);
}

static void paper_add_locked(_Atomic uint64_t *to, uint64_t more) {
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + more, memory_order_relaxed);
}

static struct qos_rule_count *paper_count_of(uint32_t rule) {
    return rule == NONE ? &P.paper->none : &P.paper->rules[rule < QOS_PAPER_RULES ? rule : QOS_PAPER_RULES - 1];
}

/* Threads may count over each other: then one more is looked at. */
bool qos_paper_is_close(const request_rec *r) {
    uint32_t tenth = (uint32_t)(r->request_time / TENTH), n;
    uint64_t seen = atomic_load_explicit(&P.close, memory_order_relaxed);

    n = seen >> 32 == tenth ? (uint32_t)seen + 1 : 1;
    atomic_store_explicit(&P.close, (uint64_t)tenth << 32 | n, memory_order_relaxed);
    /* Not each eighth: pages are asked for in the same order again and again. */
    return n <= CLOSE || n * 2654435769u >> (32 - FAR) == 0;
}

/* The mean of its pauses, over some eight; RS_NEVER of a connection's first. */
static uint64_t paper_think(const struct qos_request *q) {
    struct qos_conn *k = q->conn;
    uint64_t us = q->submitted > k->paper_ended ? q->submitted - k->paper_ended : 0;

    if (!k->paper_ended) return RS_NEVER;
    k->paper_think = k->paper_think ? k->paper_think - k->paper_think / 8 + us / 8 : us;
    if (!k->paper_think) k->paper_think = 1;
    return k->paper_think;
}

void qos_paper_came(struct qos_request *q) {
    struct rs_paper_request came = { .in_class = q->class,
                                     .owner = (uint32_t)P.pid,
                                     .estimate = q->estimate,
                                     .bytes = q->bytes,
                                     .wait_us = (uint64_t)qos_config()->wait_s[q->class] * SECOND,
                                     .follows = q->conn->paper,
                                     .key = { q->key[0], q->key[1] } };
    rs_paper_t *p;

    if (!P.paper) return;
    came.think_us = paper_think(q);
    shm_reclaim(&P.view);
    shm_lock(&P.view);
    paper_add_locked(&paper_count_of(q->rule)->requests, 1);
    p = paper_locked();
    if (p) rs_paper_came(p, q->submitted, &came, &q->paper);
    shm_unlock(&P.view);
    q->conn->paper = q->paper;
}

void qos_paper_went(struct qos_request *q, uint64_t now, uint64_t bytes) {
    rs_paper_t *p;

    if (!P.paper) return;
    qos_cost_saw(&P.costs, 0, now, bytes);
    q->conn->paper_ended = now;
    shm_lock(&P.view);
    paper_add_locked(&paper_count_of(q->rule)->bytes, bytes);
    p = q->paper ? paper_locked() : NULL;
    if (p) {
        if (P.costs.charge == QOS_CHARGE_BOTH) rs_paper_price(p, (uint32_t)qos_cost_of_bytes(&P.costs, 0, 1u << 20));
        rs_paper_went(p, now, q->paper, q->idle_us, bytes, &q->wait_us);
    }
    shm_unlock(&P.view);
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static int more_requests(const void *a, const void *b) {
    const struct qos_paper_rule *x = a, *y = b;

    if (x->requests != y->requests) return x->requests < y->requests ? 1 : -1;
    return (x->rule > y->rule) - (x->rule < y->rule);
}

static const char *paper_rule_text(apr_pool_t *p, uint32_t rule) {
    char text[256];

    if (rule == NONE) return "no rule";
    if (rule == QOS_PAPER_RULES - 1 && policy_rule_count(qos_config()->policy) > QOS_PAPER_RULES)
        return "rules from this on";
    policy_rule_text(qos_config()->policy, rule, text, sizeof text);
    return apr_pstrdup(p, text);
}

static void look_at_rules(struct qos_paper_look *l, apr_pool_t *pool) {
    uint32_t rules = policy_rule_count(qos_config()->policy);

    if (rules > QOS_PAPER_RULES) rules = QOS_PAPER_RULES;
    l->rules = apr_pcalloc(pool, (rules + 1) * sizeof *l->rules);
    for (uint32_t i = 0; i <= rules; i++) {
        struct qos_rule_count *c = i == rules ? &P.paper->none : &P.paper->rules[i];
        uint64_t requests = atomic_load_explicit(&c->requests, memory_order_relaxed);

        if (requests)
            l->rules[l->nrules++] =
                (struct qos_paper_rule){ .rule = i == rules ? NONE : i,
                                         .requests = requests,
                                         .bytes = atomic_load_explicit(&c->bytes, memory_order_relaxed) };
    }
    qsort(l->rules, l->nrules, sizeof *l->rules, more_requests);
    if (l->nrules > TOP) l->nrules = TOP;
    for (uint32_t i = 0; i < l->nrules; i++) l->rules[i].text = paper_rule_text(pool, l->rules[i].rule);
}

const struct qos_paper_look *qos_paper_look(apr_pool_t *pool) {
    uint32_t n = qos_config()->nclasses;
    struct qos_paper_look *l;
    rs_paper_t *p;
    bool more = true;
    int patience = 4096; /* others can write there */

    if (!P.paper) return NULL;
    l = apr_pcalloc(pool, sizeof *l);
    l->paper.classes = apr_pcalloc(pool, (n + 1) * sizeof *l->paper.classes);
    while (more) {
        shm_lock(&P.view);
        p = paper_locked();
        more = p && --patience && rs_paper_tick(p, shm_now());
        if (p && !more) rs_paper_take(p, &l->paper, n);
        shm_unlock(&P.view);
        if (!p) return NULL;
    }
    /* Other children can write there. */
    for (uint32_t i = 0; i < l->paper.all.classes && i < n; i++)
        memcpy(l->paper.classes[i].on_paper.settings.name, qos_config()->classes[i].name, RS_NAME_MAX);
    look_at_rules(l, pool);
    return l;
}
