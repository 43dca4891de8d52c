/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_stall.h"

#include <string.h>

#include <ap_mpm.h>
#include <apr_strings.h>
#include <http_log.h>
#include <scoreboard.h>

#include "core/rs_figures.h"
#include "httpd/httpd_segment.h"
#include "qos_request.h"

APLOG_USE_MODULE(qos_drr);

#define LEND_US 1000000u
#define LONGEST 3
#define MANY    1000u /* requests, from which on it is said that nearly all come from this host */

#define P qos_process

static struct qos_stall *stall_of(uint32_t outlet) { return P.sizes.area->stalls.of + outlet % QOS_OUTLETS; }

void qos_stall_released(uint32_t outlet) {
    atomic_fetch_add_explicit(&stall_of(outlet)->released, 1, memory_order_relaxed);
}

uint32_t qos_stall_seconds(uint32_t outlet) {
    const struct qos_stall *s = stall_of(outlet);
    uint64_t since = atomic_load(&s->since), now = shm_now();

    return atomic_load(&s->lend_at) && since && since < now ? (uint32_t)((now - since) / 1000000u) : 0;
}

/* ---- what the log says ------------------------------------------------------------------------------------------- */

struct longest {
    worker_score of[LONGEST];
    unsigned n;
};

static void keep_longest(struct longest *l, const worker_score *w) {
    unsigned at = l->n;

    while (at && w->start_time < l->of[at - 1].start_time) at--;
    if (at == LONGEST) return;
    if (l->n < LONGEST) l->n++;
    memmove(l->of + at + 1, l->of + at, (l->n - 1 - at) * sizeof *l->of);
    l->of[at] = *w;
}

/* By the scoreboard, which does not say in which window; without their queries. */
static const char *longest_text(apr_pool_t *p) {
    int daemons = httpd_query(AP_MPMQ_HARD_LIMIT_DAEMONS, 0), threads = httpd_query(AP_MPMQ_HARD_LIMIT_THREADS, 0);
    struct longest *l = apr_pcalloc(p, sizeof *l);
    const char *text = "";

    for (int i = 0; i < daemons; i++)
        for (int k = 0; k < threads; k++) {
            worker_score w;

            if (!ap_exists_scoreboard_image()) return text;
            ap_copy_scoreboard_worker(&w, i, k);
            if (w.status == SERVER_BUSY_WRITE && *w.request && w.start_time) keep_longest(l, &w);
        }
    for (unsigned i = 0; i < l->n; i++) {
        worker_score *w = &l->of[i];

        w->request[sizeof w->request - 1] = w->vhost[sizeof w->vhost - 1] = '\0';
        w->request[strcspn(w->request, "?")] = '\0';
        text = apr_psprintf(p, "%s%s%s %s (%" APR_TIME_T_FMT " s)", text, *text ? ", " : ". The longest: ", w->vhost,
                            w->request, apr_time_sec(apr_time_now() - w->start_time));
    }
    return text;
}

static void tell_stalled(const struct rs_outlet_stats *o, uint32_t lent_most, server_rec *s, apr_pool_t *p) {
    ap_log_error(
        APLOG_MARK, APLOG_WARNING, 0, s,
        "qos: window of %s is stalled: %u requests wait, %u of its %u slots are taken, and none was released in %u s. "
        "They may wait for requests that wait here themselves: if programs or proxies on other addresses send "
        "requests back to this site, name them in QosSelf; if a backend hangs, set its timeout, and give it a "
        "QosWindow of its own; if they are long polls, set QosPark time=1 in their <Location>. Up to %u slots are "
        "released early, if QosPark is not Off%s",
        rs_figures_outlet(o), o->queued, o->outstanding, o->window, QOS_STALL_US / 1000000u, lent_most,
        longest_text(p));
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/*
 * True: requests wait for a slot, or have waited since the last release, and none was released since the last look but
 * those lent.  A class's delay may be shorter than a stall: then each of them is refused before it has waited so long.
 */
static bool is_quiet(struct qos_stall *t, const struct rs_outlet_stats *o) {
    uint32_t released = atomic_load(&t->released), came = released - atomic_exchange(&t->seen, released),
             lent = atomic_load(&t->lent);

    if (!(o->queued || atomic_load(&t->since)) || !o->window || came > lent) return false;
    lent -= came;
    atomic_store(&t->lent, lent);
    /*
     * A class waits at its own `slots=` beside free slots, too.  Without a request that has a slot, it waits for slow
     * clients that occupy its backend.  A slot that was given back early may not have been taken yet.
     */
    return (o->queued ? o->outstanding > 0 : o->outstanding >= o->window) || lent;
}

static void look_at_window(uint32_t outlet, server_rec *s, apr_pool_t *p) {
    struct qos_stall *t = stall_of(outlet);
    struct rs_outlet_stats o;
    uint64_t now = shm_now();
    uint32_t most = P.threads / 8 ? P.threads / 8 : 1;
    bool there;

    shm_lock(&P.view);
    there = rs_outlet_stats(P.view.engine, outlet, &o);
    shm_unlock(&P.view);
    if (!there) memset(&o, 0, sizeof o);
    if (!is_quiet(t, &o)) {
        if (atomic_exchange(&t->lend_at, 0))
            ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "qos: window of %s: requests are released again",
                         rs_figures_outlet(&o));
        atomic_store(&t->lent, 0);
        atomic_store(&t->since, o.queued ? now : 0);
        return;
    }
    if (!atomic_load(&t->since)) atomic_store(&t->since, now);
    if (now < atomic_load(&t->since) + QOS_STALL_US || !o.queued) return;
    if (o.window < most) most = o.window;
    if (!atomic_load(&t->lend_at)) {
        atomic_fetch_add(&P.sizes.area->stalls.total, 1);
        tell_stalled(&o, most, s, p);
    } else if (now < atomic_load(&t->lend_at)) {
        return;
    }
    atomic_store(&t->lend_at, now + LEND_US);
    if (shm_park_soon(&P.view, outlet, most)) atomic_fetch_add(&t->lent, 1);
}

/* A proxy on this host that says nothing of its clients: all of them are taken for this host. */
static void look_at_host(server_rec *s) {
    struct qos_inner_area *a = &P.sizes.area->inner;
    uint64_t all = atomic_load(&a->seen), own = atomic_load(&a->by_address);

    if (own < MANY || own < all - all / 20 || atomic_exchange(&P.sizes.area->stalls.host_told, 1)) return;
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                 "qos: %" APR_UINT64_T_FMT " of %" APR_UINT64_T_FMT " requests come from this host itself and pass "
                 "unscheduled. If a proxy on this host sends them for clients elsewhere, let it name these "
                 "(mod_remoteip, PROXY protocol), or set QosSelf Off",
                 (apr_uint64_t)own, (apr_uint64_t)all);
}

void qos_stall_look(server_rec *s, apr_pool_t *p) {
    for (uint32_t i = 0; i < P.view.size.outlets && i < QOS_OUTLETS; i++) look_at_window(i, s, p);
    look_at_host(s);
}
