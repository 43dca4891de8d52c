/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_park.h"

#include <stdio.h>
#include <string.h>

#include <http_log.h>

APLOG_USE_MODULE(qos_drr);

#define LOG_EVERY_US UINT64_C(600000000)
#define EVENT_STREAM "text/event-stream"
#define CPU_FIELDS   8u /* user nice system idle iowait irq softirq steal */

#define P qos_process

/* One line in ten minutes from each child: an administrator needs it once. */
static void say_that_it_waits(const struct qos_request *q) {
    static _Atomic uint64_t again;
    uint64_t now = shm_now(), due = atomic_load_explicit(&again, memory_order_relaxed);

    if (now < due || !atomic_compare_exchange_strong(&again, &due, now + LOG_EVERY_US)) return;
    ap_log_rerror(
        APLOG_MARK, APLOG_NOTICE, 0, q->r,
        "qos: requests like this one took %.0f s: taken for waiting, they release their slots at once; if they "
        "work for so long, set QosPark Off in their <Location>",
        (double)q->expected_us / 1e6);
}

bool qos_park_may(const struct shm_view *v, uint32_t outlet) {
    uint32_t windows = rs_windows(v->engine), left = P.threads > windows ? P.threads - windows : 1;

    return rs_parked_at(v->engine, outlet) < left - left / 4;
}

/* "proxy:fcgi://...", or with a socket "proxy:unix:/...|fcgi://...". */
static bool leads_to_fpm(const char *where) {
    const char *at = where && !strncmp(where, "proxy:", 6) ? strstr(where, "://") : NULL;

    return at && !strncmp(at - 4, "fcgi", 4);
}

/* Parked requests of its window leave threads to others. */
static bool park_leaves_threads(const struct qos_request *q) {
    bool leaves;

    shm_lock(&P.view);
    leaves = qos_park_may(&P.view, q->outlet);
    shm_unlock(&P.view);
    return leaves;
}

void qos_park_set(struct qos_request *q, const struct qos_park *said) {
    q->park_us = said->said ? said->time_us : QOS_PARK_USUAL_US;
    q->park_bytes = said->bytes;
    /* By SetHandler; by ProxyPass and the like. */
    q->worker = leads_to_fpm(q->r->handler) || leads_to_fpm(q->r->filename);
    if (q->observed || !q->park_us || q->by_directory || q->expected_us < q->park_us) return;
    if (atomic_load_explicit(&P.sizes.area->busy, memory_order_relaxed) > QOS_PARK_BUSY) return;
    if (!park_leaves_threads(q)) return;
    q->waits = true;
    q->estimate = QOS_PARK_PRICE_US;
    say_that_it_waits(q);
}

bool qos_park_is_stream(const struct qos_request *q) {
    const char *type = qos_last_of(q->r)->content_type;
    size_t n = sizeof EVENT_STREAM - 1;

    return type && !ap_cstr_casecmpn(type, EVENT_STREAM, n) && (!type[n] || type[n] == ';' || type[n] == ' ') &&
           park_leaves_threads(q);
}

void qos_park_learn(const struct shm_view *v, rs_ticket_t t, uint64_t us) {
    uint64_t key = rs_tag(v->engine, t), usual;

    if (!key || qos_config()->charge == QOS_CHARGE_BYTES) return;
    usual = rs_crowded(v->engine, t) ? pages_learnt_mean(P.sizes.learnt, P.sizes.pages, key) : 0;
    pages_learnt_add(P.sizes.learnt, P.sizes.pages, key, qos_cost_taught(usual, us, true));
}

/* The first line of /proc/stat: CPU time since boot in ticks, all and busy (not niced).  False: it is another line. */
static bool read_cpu_line(const char *line, uint64_t *all, uint64_t *busy) {
    unsigned long long n[CPU_FIELDS];

    if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6],
               &n[7]) != CPU_FIELDS)
        return false;
    *all = 0;
    for (unsigned i = 0; i < CPU_FIELDS; i++) *all += n[i];
    *busy = *all - n[1] - n[3] - n[4];
    return true;
}

void qos_park_look(void) {
    static uint64_t all_before, busy_before;
    char line[256] = "";
    FILE *f = fopen("/proc/stat", "re");
    uint64_t all, busy;

    if (!f) return;
    if (fgets(line, sizeof line, f) && read_cpu_line(line, &all, &busy)) {
        if (all_before && all > all_before && busy >= busy_before)
            atomic_store_explicit(&P.sizes.area->busy, (uint32_t)((busy - busy_before) * 1000 / (all - all_before)),
                                  memory_order_relaxed);
        all_before = all;
        busy_before = busy;
    }
    fclose(f);
}
