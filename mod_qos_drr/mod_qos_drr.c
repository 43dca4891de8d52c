/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod_qos_drr - a website shared by weight among the classes of its visitors (website-gateway paper).
 *
 *     request ─ auth, rewriting ─ fixups: classify, estimate, submit ─┬─ released: handler (proxy, files, CGI, ...)
 *                                                                      └─ held till its turn comes (qos_hold.h)
 *     response ─ filters ─ count bytes (qos_account.h) ─ TLS ─ network; its end gives the slot to the next in turn
 *
 * Departures from the paper: the deficit is charged with an estimate and corrected by what came (the paper takes its
 * probed size as the truth); the window counts over all children, and gives a slot back while a client is too slow to
 * take its answer; it may find its own size (QosWindow auto).  The scheduler's own departures stand in
 * core/sched_drr.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <ap_mpm.h>
#include <apr_optional_hooks.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>
#include <http_protocol.h>
#include <http_request.h>
#include <mod_status.h>
#include <mpm_common.h>

#include "crawlers/crawlers_kept.h"
#include "httpd/httpd_segment.h"
#include "qos_account.h"
#include "qos_body.h"
#include "qos_config.h"
#include "qos_heads.h"
#include "qos_hold.h"
#include "qos_http2.h"
#include "qos_inner.h"
#include "qos_keeper.h"
#include "qos_paper.h"
#include "qos_park.h"
#include "qos_people.h"
#include "qos_pools.h"
#include "qos_share.h"
#include "qos_signers.h"
#include "qos_status.h"
#include "qos_threads.h"
#include "qos_source.h"
#include "qos_transparent.h"
#include "qos_warn.h"
#include "qos_went.h"

APLOG_USE_MODULE(qos_drr);

/* The number counts the shapes of struct kept and of what stands in the segment (httpd/httpd_segment.h). */
#define KEPT_SEGMENT "fairgate-qos-segment-16"

#define P qos_process

/* ---- does the rest of the configuration let us work? ------------------------------------------------------------- */

/* As many descriptors as a child may need: raised as far as we may, else said. */
static void check_files(server_rec *s, rlim_t need) {
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= need) return;
    l.rlim_cur = need;
    if (l.rlim_max < need) l.rlim_max = need;
    if (setrlimit(RLIMIT_NOFILE, &l) == 0) {
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, s, "qos: limit of open files raised to %lu", (unsigned long)need);
        return;
    }
    getrlimit(RLIMIT_NOFILE, &l);
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                 "qos: a child may need %lu open files, and its limit is %lu: set APACHE_ULIMIT_MAX_FILES="
                 "\"ulimit -n %lu\" in /etc/apache2/envvars, or LimitNOFILE=%lu in the service's unit",
                 (unsigned long)need, (unsigned long)l.rlim_cur, (unsigned long)need, (unsigned long)need);
}

/* How many connections each thread of the MPM stands for, beside its own. */
static double worker_factor(void) {
    const char *said = qos_config_find("AsyncRequestWorkerFactor");

    return said ? atof(said) : 2.0;
}

static void check_server(server_rec *s, const struct qos_server *conf) {
    int daemons = httpd_query(AP_MPMQ_MAX_DAEMONS, 1), threads = httpd_query(AP_MPMQ_MAX_THREADS, 1);
    int limit = httpd_query(AP_MPMQ_HARD_LIMIT_DAEMONS, daemons);
    double factor = worker_factor(), lets_in = (double)daemons * threads * (1.0 + factor);

    if (!P.can_hold) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     "qos: with this MPM a waiting request blocks its thread, so at most %d can wait; "
                     "the event MPM of httpd 2.4.63 or newer lets %d wait without one",
                     daemons * threads, conf->queue);
        qos_threads_check(s, conf);
        return;
    }
    if (lets_in < conf->queue + daemons * threads)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "qos: QosQueue lets %d requests wait, but AsyncRequestWorkerFactor %g lets only "
                     "about %.0f connections in: set AsyncRequestWorkerFactor %d",
                     conf->queue, factor, lets_in, conf->queue / (daemons * threads) + 1);
    if (limit < daemons * 2)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                     "qos: ServerLimit %d leaves no place for new children while old ones finish their "
                     "requests after a graceful restart: set ServerLimit %d",
                     limit, daemons * 2);
    /*
     * Each waiting request has its connection and a wake-up descriptor, each running one its connection and perhaps a
     * backend's; worst case: all in one child.
     */
    check_files(s,
                (rlim_t)(2 * (lets_in / daemons < conf->queue ? lets_in / daemons : conf->queue) + 3 * threads + 256));
}

static void check_timeouts(server_rec *s, const struct qos_server *conf) {
    for (server_rec *v = s; v; v = v->next) {
        apr_interval_time_t bound = v->timeout - v->timeout / 8;
        for (uint32_t i = 0; i < conf->nclasses; i++) {
            if (apr_time_from_sec(conf->wait_s[i]) <= bound) continue;
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, v,
                         "qos: requests of class %s may wait %u s, but TimeOut %ld closes connections "
                         "before: they are answered 503 after %.1f s; set TimeOut %u or less to wait",
                         conf->classes[i].name, conf->wait_s[i], (long)apr_time_sec(v->timeout),
                         (double)bound / APR_USEC_PER_SEC, conf->wait_s[i] + conf->wait_s[i] / 7 + 1);
            break;
        }
    }
}

/* ---- the segment ------------------------------------------------------------------------------------------------- */

struct kept {
    struct httpd_segment segment;
    struct qos_sizes sizes; /* in it */
};

static void forget_sizes(struct httpd_segment *segment) {
    struct kept *k = (struct kept *)segment;

    pages_known_unmap(&k->sizes.file);
    if (k->sizes.bots >= 0) close(k->sizes.bots);
    k->sizes.bots = -1;
}

static struct kept *kept_segment(apr_pool_t *process) {
    struct kept *k = (struct kept *)httpd_segment_kept(process, KEPT_SEGMENT, sizeof *k);

    if (!k->segment.name) k->sizes.file.fd = k->sizes.bots = -1;
    /* Where our code stands is new after each restart. */
    k->segment.name = "qos";
    k->segment.module = APLOG_MODULE_INDEX;
    k->segment.forget = forget_sizes;
    return k;
}

static int fill_area(struct httpd_segment *k, const char **why) {
    return qos_sizes_make(&((struct kept *)k)->sizes, k->view.area, (uint32_t)qos_config()->pages, why);
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static void tell_lost(pid_t child, uint32_t requests) {
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                 "qos: child %d ended with %u requests; their slots are free again", (int)child, requests);
}

static void tell_left(const char *why) {
    ap_log_error(APLOG_MARK, APLOG_CRIT, 0, ap_server_conf,
                 "qos: the memory that children share is damaged (%s): this child's requests go "
                 "unscheduled until it ends; new children get fresh memory",
                 why);
}

static const struct shm_host host = {
    .lost = tell_lost,
    .left = tell_left,
    .had_slot = qos_account_had_slot,
    .parked_long = qos_park_learn,
    .may_park = qos_park_may,
};

/* The segment of before, or a fresh one. */
static int set_up_segment(server_rec *s, struct kept *k, struct qos_server *conf, apr_pool_t *pconf) {
    uint32_t tickets = (uint32_t)conf->queue + 2 * P.threads + 1024 + qos_http2_streams(s, conf);
    struct httpd_segment_wants w = {
        .size = {
            .owners = (uint32_t)httpd_query(AP_MPMQ_HARD_LIMIT_DAEMONS, 1) + 16,
            .classes = conf->nclasses * 2 + 64,
            .tickets = tickets,
            .outlets = qos_outlet_room(&conf->outlets),
            .area = qos_sizes_bytes((uint32_t)conf->pages),
            /* always: a graceful restart may bring the first class that is shared within */
            .keys = rs_keys_for(tickets),
        },
        .settings = conf->settings,
        .classes = conf->classes,
        .nclasses = conf->nclasses,
        .stock = P.can_hold,
        .grows_with = "QosQueue, QosPages, windows of their own",
        .fill = fill_area,
    };
    int rc;

    w.size.area += qos_paper_bytes(w.size.classes, w.size.tickets, w.size.owners) +
                   qos_threads_bytes(w.size.owners, w.size.classes);
    rc = httpd_segment_begin(&k->segment, s, pconf, &w);
    if (rc != OK) return rc;
    if (conf->settings.queue_max > k->segment.view.size.tickets)
        conf->settings.queue_max = k->segment.view.size.tickets;
    if (conf->page_table && !k->sizes.file.base && pages_known_map(&k->sizes.file))
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, errno, s,
                     "qos: no memory for QosPageTable: sizes are learnt as pages are asked for");
    if (conf->bots && k->sizes.bots < 0) k->sizes.bots = crawlers_kept_make();
    if (conf->share) qos_share_hash_key(conf->share, k->sizes.hash_key);
    k->segment.view.host = &host;
    return OK;
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

static int qos_drr_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp) {
    (void)plog;
    (void)ptemp;
    qos_config_begin(pconf);
    return OK;
}

static int check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s) {
    (void)plog;
    (void)ptemp;
    if (qos_config()->used) qos_went_hook(pconf);
    return qos_config_finish(qos_config(), pconf, s);
}

/* `configtest`, which is over before there is a segment. */
static void test_config(apr_pool_t *pconf, server_rec *s) {
    if (qos_config()->used) {
        qos_pools_fit(pconf, s, qos_config());
        qos_warn(pconf, s, qos_config());
    }
#ifdef AP_MPMQ_CAN_WAITIO
    if (httpd_query(AP_MPMQ_CAN_WAITIO, 0)) return;
#endif
    if (qos_config()->holds) qos_threads_check(s, qos_config());
}

static int qos_drr_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s) {
    struct qos_server *conf = qos_config();
    struct kept *k = kept_segment(s->process->pool);
    int rc;

    (void)plog;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) return OK;
    if (!conf->used) {
        httpd_segment_off(&k->segment, pconf);
        return OK;
    }
#ifdef AP_MPMQ_CAN_WAITIO
    P.can_hold = httpd_query(AP_MPMQ_CAN_WAITIO, 0);
#endif
    P.threads_per_child = (uint32_t)httpd_query(AP_MPMQ_MAX_THREADS, 1);
    P.threads = (uint32_t)httpd_query(AP_MPMQ_MAX_DAEMONS, 1) * P.threads_per_child;
    P.row = SHM_NO_ROW;
    P.notes = qos_config_notes();
    qos_outlet_fit(&conf->outlets, P.threads, s);
    qos_pools_fit(ptemp, s, conf);
    rc = set_up_segment(s, k, conf, pconf);
    if (rc != OK) return rc;
    P.view = k->segment.view;
    P.sizes = k->sizes;
    P.costs = (struct qos_costs){ conf->charge, P.sizes.area->rate, &P.view };
    P.generation = k->segment.generation;
    qos_heads_config((uint64_t)(P.threads_per_child * (1.0 + worker_factor())));
    if (conf->share && !qos_share_open(conf->share, s, pconf)) conf->share = NULL;
    /* Who only observes leaves the rest as it is. */
    if (conf->holds) {
        check_server(s, conf);
        qos_http2_config(s, conf);
        check_timeouts(s, conf);
    }
    qos_warn(ptemp, s, conf);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, s, "qos: %u classes, %u rules, %s, window %s %u, %d may wait",
                 conf->nclasses, policy_rule_count(conf->policy), rs_sched_name((int)conf->settings.sched),
                 conf->settings.gate == RS_GATE_AUTO ? "auto from" : "of", conf->settings.window, conf->queue);
    return OK;
}

/* The first child of a generation puts its settings in force: the parent must not touch the engine any more. */
static int configure(server_rec *s) {
    struct qos_server *conf = qos_config();
    const char *why = NULL;
    int first = 1;

    switch (shm_configure(&P.view, P.generation, &conf->settings, conf->classes, conf->nclasses, conf->default_class,
                          conf->number, &why)) {
    case SHM_CONFIGURED_BEFORE: first = 0; break;
    case SHM_CONFIGURED: break;
    case SHM_NOT_CONFIGURED:
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "qos: %s; the classes and settings of before stay in force, and "
                     "requests of a class that was not among them go with the default class, until `apachectl restart`",
                     why);
    }
    qos_outlet_configure(&conf->outlets, &P.view, P.generation, s);
    return first;
}

static void qos_drr_child_init(apr_pool_t *pchild, server_rec *s) {
    int rc, first;

    httpd_segment_child_init();
    if (!qos_config()->used || !P.view.sh) return;
    qos_heads_child_init();
    qos_hold_child_init(pchild, s);
    first = configure(s);
    qos_paper_child_init(s);
    qos_threads_child_init();
    qos_signers_child_init();
    rc = qos_keeper_start(pchild, s, first);
    if (rc) ap_log_error(APLOG_MARK, APLOG_ERR, rc, s, "qos: no keeper thread in this child");
}

/* In the parent: a child has started or ended, well or badly. */
static void child_status(server_rec *s, pid_t pid, ap_generation_t generation, int slot, mpm_child_status status) {
    (void)generation;
    (void)slot;
    httpd_segment_child_status(s, pid, status, qos_config()->used);
}

static int monitor(apr_pool_t *p, server_rec *s) {
    (void)p;
    return httpd_segment_monitor(s);
}

static void qos_drr_register_hooks(apr_pool_t *p) {
    static const char *const ccn[] = { "mod_ccn.c", NULL };

    (void)p;
    ap_hook_pre_config(qos_drr_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_test_config(test_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(check_config, NULL, NULL, APR_HOOK_MIDDLE);
    /* After the MPM's own, which fixes the limits that the segment is sized by. */
    ap_hook_post_config(qos_drr_post_config, NULL, NULL, APR_HOOK_LAST);
    ap_hook_child_init(qos_drr_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_status(child_status, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_monitor(monitor, NULL, NULL, APR_HOOK_MIDDLE);
    /*
     * Around everybody's, but for who speaks another protocol: what a held request's fixups answered must not reach the
     * MPM, and nobody may read a head that is waited for.
     */
    ap_hook_process_connection(qos_hold_process_connection, ccn, NULL, APR_HOOK_REALLY_FIRST);
    /* Before all that may take its time. */
    ap_hook_post_read_request(qos_heads_post_read, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_pre_connection(qos_inner_pre_connection, NULL, NULL, APR_HOOK_MIDDLE);
    /* Before any other module sees the field. */
    ap_hook_post_read_request(qos_inner_post_read, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Before mod_proxy, which sends the field on. */
    ap_hook_handler(qos_inner_handler, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Before all that maps URLs: whatever else is configured, a request goes where it was going. */
    ap_hook_translate_name(qos_transparent_translate, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* The last before the handler: whoever is refused, redirected or rewritten never waits. */
    ap_hook_fixups(qos_hold_fixups, NULL, NULL, APR_HOOK_REALLY_LAST + 1);
    /* Around all that the content's own modules do with a request's body. */
    ap_hook_insert_filter(qos_body_insert_filter, NULL, NULL, APR_HOOK_LAST);
    /* Behind mod_headers, so that it may say who is signed in; errors are answers, too. */
    ap_hook_insert_filter(qos_people_insert_filter, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_insert_error_filter(qos_people_insert_filter, NULL, NULL, APR_HOOK_REALLY_LAST);
    /* Lent last and given back first, so that nobody else sees the borrowed descriptor. */
    ap_hook_suspend_connection(qos_hold_suspend_connection, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_resume_connection(qos_hold_resume_connection, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Before mod_log_config writes the line. */
    ap_hook_log_transaction(qos_account_log, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(qos_status_handler, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, qos_status_lines, NULL, NULL, APR_HOOK_MIDDLE);
    qos_account_register();
    qos_body_register();
    qos_heads_register();
    qos_inner_register();
    qos_people_register();
    qos_source_register();
}

module AP_MODULE_DECLARE_DATA qos_drr_module = {
    STANDARD20_MODULE_STUFF, qos_config_create_dir, qos_config_merge_dir, NULL, NULL, qos_commands,
    qos_drr_register_hooks,  AP_MODULE_FLAG_NONE
};
