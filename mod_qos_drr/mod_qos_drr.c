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
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ap_mpm.h>
#include <apr_optional_hooks.h>
#include <apr_signal.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>
#include <http_protocol.h>
#include <http_request.h>
#include <mod_status.h>
#include <mpm_common.h>

#include "qos_account.h"
#include "qos_body.h"
#include "qos_config.h"
#include "qos_hold.h"
#include "qos_http2.h"
#include "qos_keeper.h"
#include "qos_share.h"
#include "qos_status.h"
#include "qos_went.h"

APLOG_USE_MODULE(qos_drr);

/*
 * The segment is kept for the life of the parent under this key of the process pool: one window at all times, whatever
 * restarts.  A restart may load a newer build of this module: the number counts the shapes of struct kept and of what
 * stands in the segment.
 */
#define KEPT_SEGMENT "fairgate-qos-segment-4"

#define P qos_process

/* ---- does the rest of the configuration let us work? ------------------------------------------------------------- */

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
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                 "qos: a child may need %lu open files, and its limit is %lu: set APACHE_ULIMIT_MAX_FILES="
                 "\"ulimit -n %lu\" in /etc/apache2/envvars, or LimitNOFILE=%lu in the service's unit",
                 (unsigned long)need, (unsigned long)l.rlim_cur, (unsigned long)need, (unsigned long)need);
}

static void check_server(server_rec *s, const struct qos_server *conf) {
    int daemons = query(AP_MPMQ_MAX_DAEMONS, 1), threads = query(AP_MPMQ_MAX_THREADS, 1);
    int limit = query(AP_MPMQ_HARD_LIMIT_DAEMONS, daemons);
    const char *factor_text = qos_config_find("AsyncRequestWorkerFactor");
    double factor = factor_text ? atof(factor_text) : 2.0, lets_in = (double)daemons * threads * (1.0 + factor);

    if (!P.can_hold) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                     "qos: with this MPM a waiting request blocks its thread, so at most %d can wait; "
                     "the event MPM of httpd 2.4.63 or newer lets %d wait without one",
                     daemons * threads, conf->queue);
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

/*
 * The parent's own, which no child can write to.  What it knows of the segment (shm/shm.h) stands here, and it never
 * looks there.
 *
 * DAMAGE.  A child that leaves the segment writes a byte into `alarm`, and the kernel sends us SIGIO.  The handler asks
 * the MPM for a graceful restart, as an administrator would: it is there that fresh memory takes the place of the old,
 * and new children come to use it.  A hostile child may write there, too; so one such restart follows another no sooner
 * than after a pause, which doubles.  Until then children go unscheduled.
 *
 * Whoever has the end of the pipe that we read can choose what signal the kernel sends us, SIGKILL too: no process that
 * we fork keeps it (it is closed as part of fork), and before a restart, while our code is not there to see to that, it
 * is closed.
 */
#define PAUSE_MIN    10000000u /* microseconds */
#define PAUSE_MAX    640000000u
#define PAUSE_FORGET UINT64_C(3600000000) /* of quiet, and the next pause is short again */

struct kept {
    struct shm_view view;   /* view.sh NULL: no segment yet */
    struct qos_sizes sizes; /* in it */
    int stock[SHM_WAKE_FDS];
    uint32_t nstock;
    uint32_t generation; /* of the configuration */
    pid_t *alive;        /* children that may use the segment */
    uint32_t nalive, room;
    int alarm[2]; /* a pipe for each configuration: ours to read, the children's to write */
    /* when a damaged segment was replaced last, and how long there will be no other */
    uint64_t renewed, pause;
    volatile sig_atomic_t wanted; /* children have left it */
    int told;                     /* it was said that they must wait */
};
/* for the hooks and the handler of a parent; NULL when there is none, or none any more */
static struct kept *kept;

/*
 * The stock of wake-up descriptors.  They count against every process's limit of open files: what is not to be had is
 * done without.
 */
static void make_stock(struct kept *k) {
    uint32_t most = SHM_WAKE_FDS;
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
    k->alarm[0] = k->alarm[1] = k->view.alarm = -1;
    k->sizes.file.fd = -1;
    apr_pool_userdata_set(k, KEPT_SEGMENT, NULL, process);
    return k;
}

static void note_started(struct kept *k, pid_t pid) {
    if (k->nalive == k->room) {
        uint32_t room = k->room ? k->room * 2 : 64;
        pid_t *more = realloc(k->alive, room * sizeof *more);
        ap_assert(more);
        k->alive = more;
        k->room = room;
    }
    k->alive[k->nalive++] = pid;
}

static void note_ended(struct kept *k, pid_t pid) {
    uint32_t i = 0;

    while (i < k->nalive && k->alive[i] != pid) i++;
    if (i == k->nalive) return; /* of a segment of before */
    k->alive[i] = k->alive[--k->nalive];
    shm_tell_ended(&k->view, pid);
}

/* Children that ended while this module was not loaded: nobody told us. */
static void note_the_dead(struct kept *k) {
    for (uint32_t i = k->nalive; i-- > 0;)
        if (kill(k->alive[i], 0) && errno == ESRCH) note_ended(k, k->alive[i]);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static int may_renew(const struct kept *k) { return !k->renewed || shm_now() - k->renewed >= k->pause; }

/* In a signal handler: what it calls is safe there. */
static void alarmed(int signal) {
    int error = errno;

    (void)signal;
    if (kept) {
        kept->wanted = 1;
        if (may_renew(kept)) kill(getpid(), AP_SIG_GRACEFUL);
    }
    errno = error;
}

static int was_alarmed(struct kept *k) {
    char bytes[4096];

    /* A hostile child may write without end: one of these bytes is enough. */
    for (int i = 0; i < 64 && k->alarm[0] >= 0 && read(k->alarm[0], bytes, sizeof bytes) > 0; i++) k->wanted = 1;
    return k->wanted;
}

static void close_alarm(struct kept *k) {
    for (int i = 0; i < 2; i++)
        if (k->alarm[i] >= 0) close(k->alarm[i]);
    k->alarm[0] = k->alarm[1] = -1;
    k->view.alarm = -1;
}

static void forked(void) {
    if (kept && kept->alarm[0] >= 0) close(kept->alarm[0]);
}

/* Our code is about to be unloaded: no signal must find it. */
static apr_status_t stop_listening(void *unused) {
    (void)unused;
    apr_signal(SIGIO, SIG_IGN);
    if (kept) {
        was_alarmed(kept);
        close_alarm(kept);
    }
    kept = NULL;
    return APR_SUCCESS;
}

/* From now on hooks look after it. */
static void qos_drr_keep(struct kept *k, apr_pool_t *pconf) {
    kept = k;
    apr_pool_cleanup_register(pconf, NULL, stop_listening, apr_pool_cleanup_null);
}

/* The kernel sends us a signal when a byte comes; 0, or -1 and errno: then nobody can tell us. */
static int listen_for_alarms(struct kept *k) {
    static int told_fork;

    if (!told_fork && (errno = pthread_atfork(NULL, NULL, forked)) != 0) return -1;
    told_fork = 1;
    if (pipe2(k->alarm, O_CLOEXEC | O_NONBLOCK)) {
        k->alarm[0] = k->alarm[1] = -1;
        return -1;
    }
    k->view.alarm = k->alarm[1];
    apr_signal(SIGIO, alarmed);
    return fcntl(k->alarm[0], F_SETOWN, getpid()) || fcntl(k->alarm[0], F_SETFL, O_NONBLOCK | O_ASYNC) ? -1 : 0;
}

/* Nothing of it is used again: children of before, one of which may be hostile, have their hands on all of it. */
static void give_up_segment(struct kept *k) {
    shm_free(&k->view);
    pages_known_unmap(&k->sizes.file);
    k->nalive = 0;
    k->wanted = k->told = 0;
}

static void renew(server_rec *s, struct kept *k) {
    uint64_t now = shm_now();

    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s,
                 "qos: children found the memory that they share damaged: fresh memory takes its "
                 "place, and what was counted and learnt begins anew");
    k->pause = k->renewed && now - k->renewed < k->pause + PAUSE_FORGET ? k->pause * 2 : PAUSE_MIN;
    if (k->pause > PAUSE_MAX) k->pause = PAUSE_MAX;
    k->renewed = now;
    give_up_segment(k);
}

/* Whatever brings us here, as nothing brought the handler: the pause is over, or begins. */
static int look_at_alarm(server_rec *s) {
    if (!kept || !kept->wanted) return DECLINED;
    if (may_renew(kept)) {
        kill(getpid(), AP_SIG_GRACEFUL);
    } else if (!kept->told) {
        kept->told = 1;
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "qos: children found the memory that they share damaged, soon after it was replaced: requests "
                     "go unscheduled until it is replaced again, in %u s at most",
                     (unsigned)(kept->pause / 1000000) + 10);
    }
    return DECLINED;
}

static int monitor(apr_pool_t *p, server_rec *s) {
    (void)p;
    return look_at_alarm(s);
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

static const struct shm_host host = { tell_lost, tell_left };

static int make_segment(struct kept *k, const struct shm_size *size, struct qos_server *conf, const char **why) {
    if (shm_make(&k->view, size, &conf->settings, conf->classes, conf->nclasses, why)) return -1;
    if (qos_sizes_make(&k->sizes, k->view.area, (uint32_t)conf->pages, why)) {
        shm_free(&k->view);
        return -1;
    }
    if (!k->nstock && P.can_hold) make_stock(k);
    shm_stock(&k->view, k->stock, k->nstock);
    k->view.sh->configured = k->generation; /* the numbers of classes are their positions */
    for (uint32_t i = 0; i < conf->nclasses; i++) k->view.numbers[i] = i;
    return 0;
}

/* The segment of before, or a fresh one. */
static int set_up_segment(server_rec *s, struct kept *k, struct qos_server *conf, apr_pool_t *pconf) {
    struct shm_size size = {
        .owners = (uint32_t)query(AP_MPMQ_HARD_LIMIT_DAEMONS, 1) + 16,
        .classes = conf->nclasses * 2 + 64,
        .tickets = (uint32_t)conf->queue + 2 * P.threads + 1024 + qos_http2_streams(s, conf),
        .area = qos_sizes_bytes((uint32_t)conf->pages),
    };
    const char *why = NULL;

    k->generation++;
    if (k->view.sh && k->wanted) renew(s, k);
    if (k->view.sh && !shm_fits(&k->view, &size)) {
        if (k->nalive) {
            ap_log_error(
                APLOG_MARK, APLOG_WARNING, 0, s,
                "qos: what the scheduler holds is smaller than the new settings ask (more "
                "classes, QosQueue, QosPages or ServerLimit): they take full effect after `apachectl restart`");
        } else {
            give_up_segment(k);
        }
    }
    if (!k->view.sh && make_segment(k, &size, conf, &why)) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "qos: %s", why);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (conf->settings.queue_max > k->view.size.tickets) conf->settings.queue_max = k->view.size.tickets;
    if (conf->page_table && !k->sizes.file.base && pages_known_map(&k->sizes.file))
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, errno, s,
                     "qos: no memory for QosPageTable: sizes are learnt as pages are asked for");
    if (conf->share) qos_share_hash_key(conf->share, k->sizes.hash_key);
    k->view.host = &host;
    qos_drr_keep(k, pconf);
    if (listen_for_alarms(k))
        ap_log_error(
            APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, errno, s,
            "qos: no pipe for children to tell "
            "that the memory that they share is damaged: if it is, they go unscheduled until `apachectl restart`");
    shm_tell_generation(&k->view, k->generation);
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

static int qos_drr_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s) {
    struct qos_server *conf = qos_config();
    struct kept *k = kept_segment(s->process->pool);
    int rc;

    (void)plog;
    (void)ptemp;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) return OK;
    /*
     * Switched off, but children of before may still be at work: whose end we note, others of them give back.  What is
     * damaged they have left; it goes, and nobody is listened to: no restart would replace it, and one would follow
     * another without a pause.
     */
    if (!conf->used) {
        if (k->view.sh && k->wanted) give_up_segment(k);
        if (k->view.sh) {
            note_the_dead(k);
            qos_drr_keep(k, pconf);
        }
        return OK;
    }
#ifdef AP_MPMQ_CAN_WAITIO
    P.can_hold = query(AP_MPMQ_CAN_WAITIO, 0);
#endif
    P.threads_per_child = (uint32_t)query(AP_MPMQ_MAX_THREADS, 1);
    P.threads = (uint32_t)query(AP_MPMQ_MAX_DAEMONS, 1) * P.threads_per_child;
    P.row = SHM_NO_ROW;
    note_the_dead(k);
    rc = set_up_segment(s, k, conf, pconf);
    if (rc != OK) return rc;
    P.view = k->view;
    P.sizes = k->sizes;
    P.generation = k->generation;
    if (conf->share && !qos_share_open(conf->share, s, pconf)) conf->share = NULL;
    check_server(s, conf);
    qos_http2_config(s, conf);
    check_timeouts(s, conf);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, s, "qos: %u classes, %u rules, %s, window %s %u, %d may wait",
                 conf->nclasses, policy_rule_count(conf->policy), rs_sched_name((int)conf->settings.sched),
                 conf->settings.gate == RS_GATE_AUTO ? "auto from" : "of", conf->settings.window, conf->queue);
    return OK;
}

/* The first child of a generation puts its settings in force: the parent must not touch the engine any more. */
static int configure(server_rec *s) {
    struct qos_server *conf = qos_config();
    const char *why = NULL;

    switch (shm_configure(&P.view, P.generation, &conf->settings, conf->classes, conf->nclasses, conf->default_class,
                          conf->number, &why)) {
    case SHM_CONFIGURED_BEFORE: return 0;
    case SHM_CONFIGURED: break;
    case SHM_NOT_CONFIGURED:
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "qos: %s; the classes and settings of before stay in force, and "
                     "requests of a class that was not among them go with the default class, until `apachectl restart`",
                     why);
    }
    return 1;
}

static void qos_drr_child_init(apr_pool_t *pchild, server_rec *s) {
    int rc, first;

    apr_signal(SIGIO, SIG_DFL);
    if (kept) kept->alarm[0] = -1;
    kept = NULL; /* it is the parent's */
    if (!qos_config()->used || !P.view.sh) return;
    qos_hold_child_init(pchild, s);
    first = configure(s);
    rc = qos_keeper_start(pchild, s, first);
    if (rc) ap_log_error(APLOG_MARK, APLOG_ERR, rc, s, "qos: no keeper thread in this child");
}

/* In the parent: a child has started or ended, well or badly. */
static void child_status(server_rec *s, pid_t pid, ap_generation_t generation, int slot, mpm_child_status status) {
    (void)generation;
    (void)slot;
    if (!kept || !kept->view.sh) return;
    if (status == MPM_CHILD_STARTED && qos_config()->used) note_started(kept, pid);
    if (status == MPM_CHILD_EXITED) note_ended(kept, pid);
    look_at_alarm(s);
}

static void qos_drr_register_hooks(apr_pool_t *p) {
    (void)p;
    ap_hook_pre_config(qos_drr_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(check_config, NULL, NULL, APR_HOOK_MIDDLE);
    /* After the MPM's own, which fixes the limits that the segment is sized by. */
    ap_hook_post_config(qos_drr_post_config, NULL, NULL, APR_HOOK_LAST);
    ap_hook_child_init(qos_drr_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_status(child_status, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_monitor(monitor, NULL, NULL, APR_HOOK_MIDDLE);
    /* Around everybody's: what a held request's fixups answered must not reach the MPM. */
    ap_hook_process_connection(qos_hold_process_connection, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* The last before the handler: whoever is refused, redirected or rewritten never waits. */
    ap_hook_fixups(qos_hold_fixups, NULL, NULL, APR_HOOK_REALLY_LAST + 1);
    /* Around all that the content's own modules do with a request's body. */
    ap_hook_insert_filter(qos_body_insert_filter, NULL, NULL, APR_HOOK_LAST);
    /* Lent last and given back first, so that nobody else sees the borrowed descriptor. */
    ap_hook_suspend_connection(qos_hold_suspend_connection, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_resume_connection(qos_hold_resume_connection, NULL, NULL, APR_HOOK_REALLY_FIRST);
    /* Before mod_log_config writes the line. */
    ap_hook_log_transaction(qos_account_log, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(qos_status_handler, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, qos_status_lines, NULL, NULL, APR_HOOK_MIDDLE);
    qos_account_register();
    qos_body_register();
}

module AP_MODULE_DECLARE_DATA qos_drr_module = {
    STANDARD20_MODULE_STUFF, qos_config_create_dir, qos_config_merge_dir, NULL, NULL, qos_commands,
    qos_drr_register_hooks,  AP_MODULE_FLAG_NONE
};
