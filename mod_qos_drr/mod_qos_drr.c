/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod_qos_drr - a website shared by weight among the classes of its visitors (website-gateway paper).
 *
 *     request ─ auth, rewriting, ... ─ fixups: classify, estimate, submit ─┬─ released: handler (proxy, files, CGI, ...)
 *                                                                          └─ held without a thread until its turn comes (qos_hold.h)
 *     response ─ filters ─ count bytes (qos_account.h) ─ TLS ─ network; its end gives the slot to the next in turn
 *
 * Departures from the paper: the deficit is charged with an estimate and corrected by what came (the paper takes its probed size as
 * the truth); the window counts over all children, and gives a slot back while a client is too slow to take its answer; it may find
 * its own size (QosWindow auto).  The scheduler's own departures stand in core/sched_drr.c.
 */
#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <ap_mpm.h>
#include <apr_optional_hooks.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <mod_status.h>
#include <mpm_common.h>

#include "qos_account.h"
#include "qos_config.h"
#include "qos_hold.h"
#include "qos_http2.h"
#include "qos_keeper.h"
#include "qos_share.h"
#include "qos_status.h"
#include "qos_went.h"

APLOG_USE_MODULE(qos_drr);

/*
 * The segment is kept for the life of the parent under this key of the process pool: one window at all times, whatever restarts.  A
 * restart may load a newer build of this module: the number counts the shapes of struct kept.
 */
#define KEPT_SEGMENT "fairgate-qos-segment-2"

#define P qos_process

/* ---- does the rest of the configuration let us work? ------------------------------------------------------------------------- */

static int query(int what, int otherwise) {
    int n;
    return ap_mpm_query(what, &n) == APR_SUCCESS && n > 0 ? n : otherwise;
}

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
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "qos: a child may need %lu open files, and its limit is %lu: set APACHE_ULIMIT_MAX_FILES="
                 "\"ulimit -n %lu\" in /etc/apache2/envvars, or LimitNOFILE=%lu in the service's unit", (unsigned long)need,
                 (unsigned long)l.rlim_cur, (unsigned long)need, (unsigned long)need);
}

static void check_server(server_rec *s, const struct qos_server *conf) {
    int daemons = query(AP_MPMQ_MAX_DAEMONS, 1), threads = query(AP_MPMQ_MAX_THREADS, 1);
    int limit = query(AP_MPMQ_HARD_LIMIT_DAEMONS, daemons);
    const char *factor_text = qos_config_find("AsyncRequestWorkerFactor");
    double factor = factor_text ? atof(factor_text) : 2.0, lets_in = (double)daemons * threads * (1.0 + factor);

    if (!P.can_hold) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "qos: with this MPM a waiting request blocks its thread, so at most %d can wait; "
                     "the event MPM of httpd 2.4.63 or newer lets %d wait without one", daemons * threads, conf->queue);
        return;
    }
    if (lets_in < conf->queue + daemons * threads)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "qos: QosQueue lets %d requests wait, but AsyncRequestWorkerFactor %g lets only "
                     "about %.0f connections in: set AsyncRequestWorkerFactor %d", conf->queue, factor, lets_in,
                     conf->queue / (daemons * threads) + 1);
    if (limit < daemons * 2)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "qos: ServerLimit %d leaves no place for new children while old ones finish their "
                     "requests after a graceful restart: set ServerLimit %d", limit, daemons * 2);
    /*
     * Each waiting request has its connection and a wake-up descriptor, each running one its connection and perhaps a backend's;
     * worst case: all in one child.
     */
    check_files(s, (rlim_t)(2 * (lets_in / daemons < conf->queue ? lets_in / daemons : conf->queue) + 3 * threads + 256));
}

static void check_timeouts(server_rec *s, const struct qos_server *conf) {
    for (server_rec *v = s; v; v = v->next) {
        apr_interval_time_t bound = v->timeout - v->timeout / 8;
        for (uint32_t i = 0; i < conf->nclasses; i++) {
            if (apr_time_from_sec(conf->wait_s[i]) <= bound) continue;
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, v, "qos: requests of class %s may wait %u s, but TimeOut %ld closes connections "
                         "before: they are answered 503 after %.1f s; set TimeOut %u or less to wait", conf->classes[i].name, conf->wait_s[i],
                         (long)apr_time_sec(v->timeout), (double)bound / APR_USEC_PER_SEC, conf->wait_s[i] + conf->wait_s[i] / 7 + 1);
            break;
        }
    }
}

/* ---- the segment ------------------------------------------------------------------------------------------------------------- */

struct kept { struct qos_shared *sh; int stock[QOS_WAKE_FDS]; uint32_t nstock; struct qos_known_area known; };

/* The stock of wake-up descriptors.  They count against every process's limit of open files: what is not to be had is done without. */
static void make_stock(struct kept *k) {
    uint32_t most = QOS_WAKE_FDS;
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur / 4 < most) most = (uint32_t)(l.rlim_cur / 4);
    while (k->nstock < most && (k->stock[k->nstock] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0) k->nstock++;
}

static struct kept *kept_segment(apr_pool_t *process) {
    void *data = NULL;
    struct kept *k;

    apr_pool_userdata_get(&data, KEPT_SEGMENT, process);
    if (data) return data;
    k = apr_pcalloc(process, sizeof *k);
    apr_pool_userdata_set(k, KEPT_SEGMENT, NULL, process);
    return k;
}

static int in_use(const struct qos_shared *sh) {
    struct qos_view v;

    if (qos_shared_view((struct qos_shared *)sh, &v)) return 0;
    for (uint32_t i = 0; i < sh->children; i++)
        if (v.children[i].pid) return 1;
    return 0;
}

static int view_segment(server_rec *s, struct kept *k) {
    if (qos_shared_view(k->sh, &P.view)) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "qos: the scheduler of the running server is of another build: use "
                     "`apachectl stop` and `start`");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    P.view.stock = k->stock;
    P.view.nstock = k->nstock;
    P.view.known = k->known;
    return OK;
}

/* Children that ended while this module was not loaded: nobody told us. */
static void forget_the_dead(struct qos_shared *sh) {
    struct qos_view v;

    if (qos_shared_view(sh, &v)) return;
    for (uint32_t i = 0; i < sh->children; i++)
        if (v.children[i].pid && kill(v.children[i].pid, 0) && errno == ESRCH) qos_child_ended(&v, v.children[i].pid);
}

/* The engine would not take the new classes: find the numbers of those that it has. */
static void number_by_name_locked(struct qos_server *conf) {
    struct rs_class_stats c;
    struct rs_stats all;
    uint32_t otherwise = 0;

    rs_stats(P.view.engine, &all);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < conf->nclasses; i++) {
            uint32_t n = 0;
            while (n < all.classes && (!rs_class_stats(P.view.engine, n, &c) || strcmp(c.settings.name, conf->classes[i].name))) n++;
            conf->number[i] = n < all.classes ? n : otherwise;
        }
        otherwise = conf->number[conf->default_class];
    }
}

/* A place in the engine that another class had: what that one's answers taught is not about this one. */
static void forget_means_locked(const struct qos_server *conf) {
    struct rs_class_stats c;

    for (uint32_t i = 0; i < conf->nclasses; i++)
        if (rs_class_stats(P.view.engine, conf->number[i], &c) && !c.counts.submitted)
            atomic_store_explicit(&P.view.class_mean[conf->number[i]], 0, memory_order_relaxed);
}

/* The engine of before with the new settings, or a fresh one. */
static int set_up_segment(server_rec *s, struct kept *k, struct qos_server *conf) {
    struct qos_size size = {
        .children = (uint32_t)query(AP_MPMQ_HARD_LIMIT_DAEMONS, 1) + 16,
        .classes = conf->nclasses * 2 + 64,
        .tickets = (uint32_t)conf->queue + 2 * P.threads + 1024,
        .pages = (uint32_t)conf->pages,
    };
    const char *why = NULL;

    if (k->sh) forget_the_dead(k->sh);
    if (k->sh && !qos_shared_fits(k->sh, &size)) {
        if (in_use(k->sh)) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "qos: what the scheduler holds is smaller than the new settings ask (more "
                         "classes, QosQueue, QosPages or ServerLimit): they take full effect after `apachectl restart`");
        } else {
            qos_shared_free(&k->sh);
        }
    }
    if (!k->sh) {
        k->sh = qos_shared_make(&size, &conf->settings, conf->classes, conf->nclasses, &why);
        if (!k->sh) {
            ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "qos: %s", why);
            return HTTP_INTERNAL_SERVER_ERROR;
        }
        if (!k->nstock && P.can_hold) make_stock(k);
        for (uint32_t i = 0; i < k->nstock; i++) k->sh->stock[k->sh->nstock++] = (uint16_t)i;
    }
    if (conf->page_table && !k->known.base && qos_known_map(&k->known))
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, errno, s, "qos: no memory for QosPageTable: sizes are learnt as pages are asked for");
    if (view_segment(s, k) != OK) return HTTP_INTERNAL_SERVER_ERROR;
    qos_lock(&P.view);
    if (conf->settings.queue_max > P.view.sh->tickets) conf->settings.queue_max = P.view.sh->tickets;
    if (rs_configure(P.view.engine, &conf->settings, conf->classes, conf->nclasses, conf->number, qos_now(), &why)) {
        number_by_name_locked(conf);
        qos_unlock(&P.view);
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "qos: %s; the classes and settings of before stay in force, and "
                     "requests of a class that was not among them go with the default class, until `apachectl restart`", why);
        return OK;
    }
    forget_means_locked(conf);
    qos_unlock(&P.view);
    qos_pump(&P.view, QOS_NO_ROW);      /* a wider window lets more through */
    return OK;
}

/* ---- hooks ------------------------------------------------------------------------------------------------------------------- */

static int pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp) {
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

static int post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s) {
    struct qos_server *conf = qos_config();
    struct kept *k = kept_segment(s->process->pool);
    int rc;

    (void)plog;
    (void)ptemp;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) return OK;
    /* Switched off, but children of before may still be at work: what they leave is ours to give back. */
    if (!conf->used) return k->sh ? view_segment(s, k) : OK;
#ifdef AP_MPMQ_CAN_WAITIO
    P.can_hold = query(AP_MPMQ_CAN_WAITIO, 0);
#endif
    P.threads_per_child = (uint32_t)query(AP_MPMQ_MAX_THREADS, 1);
    P.threads = (uint32_t)query(AP_MPMQ_MAX_DAEMONS, 1) * P.threads_per_child;
    P.row = QOS_NO_ROW;
    rc = set_up_segment(s, k, conf);
    if (rc != OK) return rc;
    if (conf->share && !qos_share_open(conf->share, s, pconf)) conf->share = NULL;
    qos_keeper_config(s);
    check_server(s, conf);
    qos_http2_config(s, conf);
    check_timeouts(s, conf);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, s, "qos: %u classes, %u rules, %s, window %s %u, %d may wait", conf->nclasses,
                 policy_rule_count(conf->policy), rs_sched_name((int)conf->settings.sched),
                 conf->settings.gate == RS_GATE_AUTO ? "auto from" : "of", conf->settings.window, conf->queue);
    return OK;
}

static void child_init(apr_pool_t *pchild, server_rec *s) {
    int rc;

    if (!qos_config()->used || !P.view.sh) return;
    qos_hold_child_init(pchild, s);
    rc = qos_keeper_start(pchild, s);
    if (rc) ap_log_error(APLOG_MARK, APLOG_ERR, rc, s, "qos: no keeper thread in this child");
}

/* In the parent: a child has ended, well or badly. */
static void child_status(server_rec *s, pid_t pid, ap_generation_t generation, int slot, mpm_child_status status) {
    uint32_t lost;

    (void)generation;
    (void)slot;
    if (status != MPM_CHILD_EXITED || !P.view.sh) return;
    lost = qos_child_ended(&P.view, pid);
    if (!lost) return;
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "qos: child %d ended with %u requests; their slots are free again", (int)pid, lost);
}

static void register_hooks(apr_pool_t *p) {
    (void)p;
    ap_hook_pre_config(pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(check_config, NULL, NULL, APR_HOOK_MIDDLE);
    /* After the MPM's own, which fixes the limits that the segment is sized by. */
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_LAST);
    ap_hook_child_init(child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_status(child_status, NULL, NULL, APR_HOOK_MIDDLE);
    /* Around everybody's: what a held request's fixups answered must not reach the MPM. */
    ap_hook_process_connection(qos_hold_process_connection, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* The last before the handler: whoever is refused, redirected or rewritten never waits. */
    ap_hook_fixups(qos_hold_fixups, NULL, NULL, APR_HOOK_REALLY_LAST + 1);
    /* Around all that the content's own modules do with a request's body. */
    ap_hook_insert_filter(qos_account_insert_filter, NULL, NULL, APR_HOOK_LAST);
    /* Lent last and given back first, so that nobody else sees the borrowed descriptor. */
    ap_hook_suspend_connection(qos_hold_suspend_connection, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_resume_connection(qos_hold_resume_connection, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Before mod_log_config writes the line. */
    ap_hook_log_transaction(qos_account_log, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(qos_status_handler, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, qos_status_lines, NULL, NULL, APR_HOOK_MIDDLE);
    qos_account_register();
}

module AP_MODULE_DECLARE_DATA qos_drr_module = {
    STANDARD20_MODULE_STUFF, qos_config_create_dir, qos_config_merge_dir, NULL, NULL, qos_commands, register_hooks, AP_MODULE_FLAG_NONE
};
