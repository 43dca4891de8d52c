/* SPDX-License-Identifier: BSD-2-Clause */
#include "httpd_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ap_mpm.h>
#include <apr_signal.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>

#define PAUSE_MIN    10000000u /* microseconds */
#define PAUSE_MAX    640000000u
#define PAUSE_FORGET UINT64_C(3600000000) /* of quiet, and the next pause is short again */

/* for the hooks and the handler of a parent; NULL when there is none, or none any more */
static struct httpd_segment *kept;
static void (*signal_before)(int);

int httpd_query(int what, int otherwise) {
    int n;
    return ap_mpm_query(what, &n) == APR_SUCCESS && n > 0 ? n : otherwise;
}

/*
 * The stock of wake-up descriptors.  They count against every process's limit of open files: what is not to be had is
 * done without.
 */
static void make_stock(struct httpd_segment *k) {
    uint32_t most = SHM_WAKE_FDS;
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur / 4 < most) most = (uint32_t)(l.rlim_cur / 4);
    while (k->nstock < most && (k->stock[k->nstock] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0) k->nstock++;
}

struct httpd_segment *httpd_segment_kept(apr_pool_t *process, const char *key, size_t bytes) {
    void *data = NULL;
    struct httpd_segment *k;

    apr_pool_userdata_get(&data, key, process);
    if (data) return data;
    k = apr_pcalloc(process, bytes);
    k->process = process;
    k->alarm[0] = k->alarm[1] = k->view.alarm = -1;
    apr_pool_userdata_set(k, key, NULL, process);
    return k;
}

/* The lists of before stay in the pool: together they are no longer than this one. */
static void note_started(struct httpd_segment *k, pid_t pid) {
    if (k->nalive == k->room) {
        uint32_t room = k->room ? k->room * 2 : 64;
        pid_t *more = apr_palloc(k->process, room * sizeof *more);
        if (k->nalive) memcpy(more, k->alive, k->nalive * sizeof *more);
        k->alive = more;
        k->room = room;
    }
    k->alive[k->nalive++] = pid;
}

static void note_ended(struct httpd_segment *k, pid_t pid) {
    uint32_t i = 0;

    while (i < k->nalive && k->alive[i] != pid) i++;
    if (i == k->nalive) return; /* of a segment of before */
    k->alive[i] = k->alive[--k->nalive];
    shm_tell_ended(&k->view, pid);
}

/* Children that ended while the module was not loaded: nobody told us. */
static void note_the_dead(struct httpd_segment *k) {
    for (uint32_t i = k->nalive; i-- > 0;)
        if (kill(k->alive[i], 0) && errno == ESRCH) note_ended(k, k->alive[i]);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static bool may_renew(const struct httpd_segment *k) { return !k->renewed || shm_now() - k->renewed >= k->pause; }

/* In a signal handler: what it calls is safe there. */
static void alarmed(int signal) {
    int error = errno;

    if (kept) {
        kept->wanted = 1;
        if (may_renew(kept)) kill(getpid(), AP_SIG_GRACEFUL);
    }
    if (signal_before) signal_before(signal);
    errno = error;
}

static bool was_alarmed(struct httpd_segment *k) {
    char bytes[4096];

    /* A hostile child may write without end: one of these bytes is enough. */
    for (int i = 0; i < 64 && k->alarm[0] >= 0 && read(k->alarm[0], bytes, sizeof bytes) > 0; i++) k->wanted = 1;
    return k->wanted;
}

static void close_alarm(struct httpd_segment *k) {
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
    signal_before = NULL;
    if (kept) {
        was_alarmed(kept);
        close_alarm(kept);
    }
    kept = NULL;
    return APR_SUCCESS;
}

/* From now on hooks look after it. */
static void segment_keep(struct httpd_segment *k, apr_pool_t *pconf) {
    kept = k;
    apr_pool_cleanup_register(pconf, NULL, stop_listening, apr_pool_cleanup_null);
}

/* The kernel sends us a signal when a byte comes; 0, or -1 and errno: then nobody can tell us. */
static int listen_for_alarms(struct httpd_segment *k) {
    static bool told_fork;
    void (*before)(int);

    if (!told_fork && (errno = pthread_atfork(NULL, NULL, forked)) != 0) return -1;
    told_fork = true;
    if (pipe2(k->alarm, O_CLOEXEC | O_NONBLOCK)) {
        k->alarm[0] = k->alarm[1] = -1;
        return -1;
    }
    k->view.alarm = k->alarm[1];
    before = apr_signal(SIGIO, alarmed);
    signal_before = before == SIG_IGN || before == SIG_DFL || before == SIG_ERR ? NULL : before;
    return fcntl(k->alarm[0], F_SETOWN, getpid()) || fcntl(k->alarm[0], F_SETFL, O_NONBLOCK | O_ASYNC) ? -1 : 0;
}

/* Nothing of it is used again: children of before, one of which may be hostile, have their hands on all of it. */
static void give_up_segment(struct httpd_segment *k) {
    shm_free(&k->view);
    if (k->forget) k->forget(k);
    k->nalive = 0;
    k->wanted = 0;
    k->told = false;
}

static void segment_renew(server_rec *s, struct httpd_segment *k) {
    uint64_t now = shm_now();

    ap_log_error(__FILE__, __LINE__, k->module, APLOG_STARTUP | APLOG_ERR, 0, s,
                 "%s: children found the memory that they share damaged: fresh memory takes its "
                 "place, and what was counted and learnt begins anew",
                 k->name);
    k->pause = k->renewed && now - k->renewed < k->pause + PAUSE_FORGET ? k->pause * 2 : PAUSE_MIN;
    if (k->pause > PAUSE_MAX) k->pause = PAUSE_MAX;
    k->renewed = now;
    give_up_segment(k);
}

/* Whatever brings us here, as nothing brought the handler: the pause is over, or begins. */
int httpd_segment_monitor(server_rec *s) {
    if (!kept || !kept->wanted) return DECLINED;
    if (may_renew(kept)) {
        kill(getpid(), AP_SIG_GRACEFUL);
    } else if (!kept->told) {
        kept->told = true;
        ap_log_error(__FILE__, __LINE__, kept->module, APLOG_ERR, 0, s,
                     "%s: children found the memory that they share damaged, soon after it was replaced: requests "
                     "go unscheduled until it is replaced again, in %u s at most",
                     kept->name, (unsigned)(kept->pause / 1000000) + 10);
    }
    return DECLINED;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static int make_segment(struct httpd_segment *k, const struct httpd_segment_wants *w, const char **why) {
    if (shm_make(&k->view, &w->size, &w->settings, w->classes, w->nclasses, why)) return -1;
    if (w->fill && w->fill(k, why)) {
        shm_free(&k->view);
        return -1;
    }
    if (!k->nstock && w->stock) make_stock(k);
    shm_stock(&k->view, k->stock, k->nstock);
    k->view.sh->configured = k->generation; /* the numbers of classes are their positions */
    for (uint32_t i = 0; i < w->nclasses; i++) k->view.numbers[i] = i;
    return 0;
}

int httpd_segment_begin(struct httpd_segment *k, server_rec *s, apr_pool_t *pconf,
                        const struct httpd_segment_wants *w) {
    const char *why = NULL;

    note_the_dead(k);
    k->generation++;
    if (k->view.sh && k->wanted) segment_renew(s, k);
    if (k->view.sh && !shm_fits(&k->view, &w->size)) {
        if (k->nalive) {
            ap_log_error(__FILE__, __LINE__, k->module, APLOG_WARNING, 0, s,
                         "%s: what the scheduler holds is smaller than the new settings ask (more "
                         "classes, %s or ServerLimit): they take full effect after `apachectl restart`",
                         k->name, w->grows_with);
        } else {
            give_up_segment(k);
        }
    }
    if (!k->view.sh && make_segment(k, w, &why)) {
        ap_log_error(__FILE__, __LINE__, k->module, APLOG_STARTUP | APLOG_ERR, 0, s, "%s: %s", k->name, why);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    segment_keep(k, pconf);
    if (listen_for_alarms(k))
        ap_log_error(
            __FILE__, __LINE__, k->module, APLOG_STARTUP | APLOG_WARNING, errno, s,
            "%s: no pipe for children to tell "
            "that the memory that they share is damaged: if it is, they go unscheduled until `apachectl restart`",
            k->name);
    shm_tell_generation(&k->view, k->generation);
    return OK;
}

/*
 * Children of before may be at work: whose end we note, others of them give back.  What is damaged they have left; it
 * goes, and nobody is listened to: no restart would replace it, and one would follow another without a pause.
 */
void httpd_segment_off(struct httpd_segment *k, apr_pool_t *pconf) {
    if (k->view.sh && k->wanted) give_up_segment(k);
    if (!k->view.sh) return;
    note_the_dead(k);
    segment_keep(k, pconf);
}

void httpd_segment_child_init(void) {
    apr_signal(SIGIO, SIG_DFL);
    if (kept) kept->alarm[0] = -1;
    kept = NULL; /* it is the parent's */
}

void httpd_segment_child_status(server_rec *s, pid_t pid, mpm_child_status status, bool uses) {
    if (!kept || !kept->view.sh) return;
    if (status == MPM_CHILD_STARTED && uses) note_started(kept, pid);
    if (status == MPM_CHILD_EXITED) note_ended(kept, pid);
    httpd_segment_monitor(s);
}
