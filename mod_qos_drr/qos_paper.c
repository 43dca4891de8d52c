/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_paper.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>
#include <http_log.h>

APLOG_USE_MODULE(qos_drr);

#define P       qos_process
#define SECOND  UINT64_C(1000000)
#define TOP     20u
#define TENTH   100000u /* microseconds */
#define CLOSE   10u     /* requests of such a time that a child looks at closely; */
#define FAR     4u      /* of the others one of 2^FAR */
#define NONE    POLICY_NONE
#define STRIPES 8u /* of what is counted: processors do not wait for each other */
#define LINE    64u

static uint64_t paper_rounded(uint64_t n) { return (n + 63) & ~UINT64_C(63); }

/*
 * What is counted, once for each stripe: rules one by one, then by their classes those that no rule took, then those of
 * the other rules; and of each child how many are at the server.
 */
struct paper_count {
    _Atomic uint64_t requests, bytes;
};
union paper_at_server {
    _Atomic int64_t n;
    char line[LINE];
};

static uint64_t paper_stripe(uint32_t classes) {
    return paper_rounded((QOS_PAPER_RULES + 2 * (uint64_t)classes) * sizeof(struct paper_count));
}

static uint64_t paper_head(uint32_t classes, uint32_t owners) {
    return paper_rounded(sizeof(struct qos_paper)) + STRIPES * paper_stripe(classes) +
           (uint64_t)owners * STRIPES * sizeof(union paper_at_server);
}

static struct rs_capacity paper_capacity(uint32_t classes, uint32_t tickets) {
    return (struct rs_capacity){ classes, tickets, 1, rs_keys_for(tickets) };
}

uint64_t qos_paper_bytes(uint32_t classes, uint32_t tickets, uint32_t owners) {
    struct rs_capacity cap = paper_capacity(classes, tickets);
    return 64 + paper_head(classes, owners) + rs_paper_size(&cap);
}

/* Where it is; NULL: this segment has no room for one. */
static struct qos_paper *paper_area(void) {
    const struct shm_size *z = &P.view.size;
    uint64_t at = paper_rounded(qos_sizes_bytes(P.sizes.pages));

    return at + qos_paper_bytes(z->classes, z->tickets, z->owners) - 64 <= z->area ? (void *)((char *)P.view.area + at)
                                                                                   : NULL;
}

static void *paper_block(struct qos_paper *k) {
    return (char *)k + paper_head(P.view.size.classes, P.view.size.owners);
}

static struct paper_count *paper_counts(struct qos_paper *k, uint32_t stripe) {
    uint32_t classes = P.view.size.classes;
    return (void *)((char *)k + paper_rounded(sizeof *k) + stripe * paper_stripe(classes));
}

static union paper_at_server *paper_at_server(struct qos_paper *k, uint32_t owner) {
    return (union paper_at_server *)(void *)paper_counts(k, STRIPES) + (uint64_t)owner * STRIPES;
}

static rs_paper_t *paper_make_locked(struct qos_paper *k, const char **why) {
    const struct qos_server *conf = qos_config();
    struct rs_paper_shape shape = { .capacity = paper_capacity(P.view.size.classes, P.view.size.tickets),
                                    .settings = conf->settings,
                                    .classes = conf->classes,
                                    .nclasses = conf->nclasses,
                                    .charge = (enum rs_paper_charge)conf->charge };
    uint64_t now = shm_now();

    rs_paper_part_begin(&k->part, now);
    return rs_paper_make(paper_block(k), rs_paper_size(&shape.capacity), &shape, now, why);
}

/* A process of that number is no owner any more. */
static bool paper_owner_is_gone(const void *unused, uint32_t owner) {
    (void)unused;
    for (uint32_t i = 0; i < P.view.size.owners; i++)
        if ((uint32_t)P.view.owners[i].pid == owner) return false;
    return true;
}

/* Of this configuration, not a newer one's. */
static bool paper_is_ours(void) {
    return atomic_load_explicit(&P.paper->generation, memory_order_relaxed) == P.generation;
}

/* With the lock.  NULL: there is none for this child.  *on_paper: its clock. */
static rs_paper_t *paper_locked(uint64_t now, uint64_t *on_paper) {
    struct rs_capacity cap = paper_capacity(P.view.size.classes, P.view.size.tickets);
    uint32_t reclaimed = atomic_load_explicit(&P.view.sh->reclaimed, memory_order_relaxed);
    struct qos_paper *k = P.paper;
    rs_paper_t *p;
    const char *why;

    if (!k || !paper_is_ours()) return NULL;
    p = rs_paper_fits(paper_block(k), &cap) ? paper_block(k) : paper_make_locked(k, &why);
    if (!p) return NULL;
    *on_paper = rs_paper_part_clock(&k->part, p, now);
    atomic_store_explicit(&k->apart_until, k->part.state == RS_PAPER_APART ? k->part.until : 0, memory_order_relaxed);
    if (k->reclaimed != reclaimed) {
        k->reclaimed = reclaimed;
        rs_paper_reclaim(p, *on_paper, paper_owner_is_gone, NULL);
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
    memset(paper_at_server(P.paper, P.row), 0, STRIPES * sizeof(union paper_at_server));
    if (shm_has_left(&P.view)) {
        P.paper = NULL;
    } else if ((int32_t)(P.generation - atomic_load(&P.paper->generation)) > 0) {
        memset(paper_counts(P.paper, 0), 0, STRIPES * paper_stripe(P.view.size.classes));
        if (paper_make_locked(P.paper, &why)) atomic_store(&P.paper->generation, P.generation);
    }
    shm_unlock(&P.view);
    if (why) ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "qos: QosEngine observe: %s", why);
}

static uint32_t paper_here(void) {
    int cpu = sched_getcpu();
    return cpu < 0 ? 0 : (uint32_t)cpu % STRIPES;
}

static struct paper_count *paper_count_of(const struct qos_request *q, uint32_t stripe) {
    uint32_t classes = P.view.size.classes, class = q->class < classes ? q->class : 0,
             at = q->rule < QOS_PAPER_RULES ? q->rule : QOS_PAPER_RULES + class + (q->rule == NONE ? 0 : classes);

    return paper_counts(P.paper, stripe) + at;
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
    uint32_t here = paper_here();
    uint64_t on_paper;
    rs_paper_t *p;

    if (!P.paper) return;
    atomic_fetch_add_explicit(&paper_at_server(P.paper, P.row)[here].n, 1, memory_order_relaxed);
    if (!paper_is_ours()) return;
    atomic_fetch_add_explicit(&paper_count_of(q, here)->requests, 1, memory_order_relaxed);
    came.think_us = paper_think(q);
    if (q->submitted < atomic_load_explicit(&P.paper->apart_until, memory_order_relaxed)) return;
    shm_reclaim(&P.view);
    shm_lock(&P.view);
    p = paper_locked(q->submitted, &on_paper);
    if (p && P.paper->part.state != RS_PAPER_APART) {
        P.paper->part.came++;
        rs_paper_came(p, on_paper, &came, &q->paper);
    }
    shm_unlock(&P.view);
    if (q->paper) q->conn->paper = q->paper;
}

void qos_paper_went(struct qos_request *q, uint64_t now, uint64_t bytes) {
    uint32_t here = paper_here();
    uint64_t on_paper;
    rs_paper_t *p;

    if (!P.paper) return;
    qos_cost_saw(&P.costs, 0, now, bytes);
    q->conn->paper_ended = now;
    atomic_fetch_sub_explicit(&paper_at_server(P.paper, P.row)[here].n, 1, memory_order_relaxed);
    if (!paper_is_ours()) return;
    atomic_fetch_add_explicit(&paper_count_of(q, here)->bytes, bytes, memory_order_relaxed);
    if (!q->paper) return;
    shm_lock(&P.view);
    p = paper_locked(now, &on_paper);
    if (p) {
        if (P.costs.charge == QOS_CHARGE_BOTH) rs_paper_price(p, (uint32_t)qos_cost_of_bytes(&P.costs, 0, 1u << 20));
        rs_paper_went(p, on_paper, q->paper, q->idle_us, bytes, &q->wait_us);
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
    if (rule >= QOS_PAPER_RULES) return apr_psprintf(p, "a rule behind the first %u", QOS_PAPER_RULES);
    policy_rule_text(qos_config()->policy, rule, text, sizeof text);
    return apr_pstrdup(p, text);
}

static struct qos_paper_rule look_at_count(uint32_t at) {
    uint32_t classes = P.view.size.classes;
    struct qos_paper_rule n = { .rule = at, .class = at };

    if (at < QOS_PAPER_RULES) n.class = policy_rule_class(qos_config()->policy, at);
    else if (at < QOS_PAPER_RULES + classes) n.rule = NONE, n.class = at - QOS_PAPER_RULES;
    else n.rule = QOS_PAPER_RULES, n.class = at - QOS_PAPER_RULES - classes;
    for (uint32_t i = 0; i < STRIPES; i++) {
        const struct paper_count *c = paper_counts(P.paper, i) + at;
        n.requests += atomic_load_explicit(&c->requests, memory_order_relaxed);
        n.bytes += atomic_load_explicit(&c->bytes, memory_order_relaxed);
    }
    return n;
}

/* What is counted, and of each class the sum of that: paper has seen a part of it. */
static void look_at_rules(struct qos_paper_look *l, apr_pool_t *pool) {
    uint32_t rules = policy_rule_count(qos_config()->policy), classes = l->paper.all.classes, all = P.view.size.classes,
             first = rules < QOS_PAPER_RULES ? rules : QOS_PAPER_RULES;

    l->rules = apr_pcalloc(pool, (first + 2 * classes) * sizeof *l->rules);
    for (uint32_t i = 0; i < classes; i++) l->paper.classes[i].came = l->paper.classes[i].real_bytes = 0;
    l->paper.was_bytes = 0;
    for (uint32_t i = 0; i < first + 2 * classes; i++) {
        uint32_t none = i - first, at = i < first        ? i
                                        : none < classes ? QOS_PAPER_RULES + none
                                                         : QOS_PAPER_RULES + all + none - classes;
        struct qos_paper_rule n = look_at_count(at);

        if (!n.requests || n.class >= classes) continue;
        l->paper.classes[n.class].came += n.requests;
        l->paper.classes[n.class].real_bytes += n.bytes;
        l->paper.was_bytes += n.bytes;
        l->rules[l->nrules++] = n;
    }
    qsort(l->rules, l->nrules, sizeof *l->rules, more_requests);
    if (l->nrules > TOP) l->nrules = TOP;
    for (uint32_t i = 0; i < l->nrules; i++) l->rules[i].text = paper_rule_text(pool, l->rules[i].rule);
}

/* Of children that live. */
static uint32_t look_at_server(void) {
    int64_t sum = 0;

    for (uint32_t i = 0; i < P.view.size.owners; i++)
        for (uint32_t k = 0; P.view.owners[i].pid && k < STRIPES; k++)
            sum += atomic_load_explicit(&paper_at_server(P.paper, i)[k].n, memory_order_relaxed);
    return sum < 0 || sum > UINT32_MAX ? 0 : (uint32_t)sum;
}

const struct qos_paper_look *qos_paper_look(apr_pool_t *pool) {
    uint32_t n = qos_config()->nclasses;
    uint64_t on_paper;
    struct qos_paper_look *l;
    rs_paper_t *p;
    bool more = true;
    int patience = 4096; /* others can write there */

    if (!P.paper || !paper_is_ours()) return NULL;
    l = apr_pcalloc(pool, sizeof *l);
    l->paper.classes = apr_pcalloc(pool, (n + 1) * sizeof *l->paper.classes);
    while (more) {
        shm_lock(&P.view);
        p = paper_locked(shm_now(), &on_paper);
        more = p && --patience && rs_paper_tick(p, on_paper);
        if (p && !more) rs_paper_take(p, &l->paper, n);
        if (p) l->one_in = P.paper->part.weight;
        shm_unlock(&P.view);
        if (!p) return NULL;
    }
    /* Other children can write there. */
    for (uint32_t i = 0; i < l->paper.all.classes && i < n; i++)
        memcpy(l->paper.classes[i].on_paper.settings.name, qos_config()->classes[i].name, RS_NAME_MAX);
    look_at_rules(l, pool);
    l->paper.all.at_server = look_at_server();
    if (l->paper.all.at_server_max < l->paper.all.at_server) l->paper.all.at_server_max = l->paper.all.at_server;
    return l;
}
