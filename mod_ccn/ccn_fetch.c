/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_fetch.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <apr_time.h>
#include <http_log.h>
#include <http_main.h>

#include "base/base_error.h"
#include "service/service_text.h"
#include "web/web_fetch.h"

APLOG_USE_MODULE(ccn);

#define SECONDS     30u
#define REDIRECTS   5u
#define AT_ONCE     64u
#define FETCH_SHARE 16u /* of one caller */
#define SHARES      1024u
#define TICK_MS     500

/* A transfer. */
struct fetched {
    ccn_call_done *done;
    void *of;
    char *key;
    uint32_t whose;
};

/* How many each caller has; callers that share a place share it.  And all of them. */
static _Atomic unsigned shares[SHARES], under_way;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct web_fetch *web; /* under `lock`, but for its thread, which alone takes it away */
static pthread_t thread;
static bool running; /* the thread is there to be joined; under `lock` */
static _Atomic bool stopping;

/* One more of this caller's.  Beside others it has no more than there are places left, so that each finds one. */
static bool share_begin(const struct fetched *f) {
    unsigned own = atomic_fetch_add(&shares[f->whose % SHARES], 1), all = atomic_fetch_add(&under_way, 1);

    return own < FETCH_SHARE && (!own || own + all < AT_ONCE);
}

static void share_end(const struct fetched *f) {
    atomic_fetch_sub(&shares[f->whose % SHARES], 1);
    atomic_fetch_sub(&under_way, 1);
}

static void fetch_fail(const struct fetched *f, enum service_problem_kind kind, const char *detail) {
    struct service_problem problem = { 0 };

    service_fail(&problem, kind, "%s", detail);
    f->done(f->of, ccn_result_problem(&problem));
}

/* What stands in `error` is for our log: it says what is found inside. */
static void fetch_tell(const struct fetched *f, const struct web_answer *a) {
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, ap_server_conf, "ccn: %s was not fetched: %s", f->key + 1, a->error);
    switch (a->end) {
    case WEB_NOT_ALLOWED:
        fetch_fail(f, SERVICE_NOT_ALLOWED, "nothing is fetched from there (CcnFetch, CcnFetchPrivate)");
        break;
    case WEB_TOO_LARGE:
        fetch_fail(f, SERVICE_TOO_MUCH, "it is larger than the parameter may be, or than what is fetched");
        break;
    case WEB_TOO_SLOW: fetch_fail(f, SERVICE_NOT_THERE, "it did not come in time"); break;
    case WEB_NO_ROOM: fetch_fail(f, SERVICE_BUSY, "as much content waits as may (CcnPages): try again later"); break;
    default: fetch_fail(f, SERVICE_NOT_THERE, "it could not be fetched"); break;
    }
}

static void fetched(void *of, struct web_answer *a) {
    struct fetched *f = of;
    struct ccn_made m = { .status = HTTP_OK, .whole = true, .n = a->n, .room = a->n };
    struct ccn_result *r;

    if (a->end != WEB_WHOLE) {
        fetch_tell(f, a);
    } else if (a->status != 200 && a->status != 226 && a->status != 250) {
        char said[64];
        snprintf(said, sizeof said, "its server answered with the status %u", a->status);
        fetch_fail(f, SERVICE_NOT_THERE, said);
    } else {
        if (a->media_type && strlen(a->media_type) < sizeof m.media_type) strcpy(m.media_type, a->media_type);
        m.body = a->body;
        a->body = NULL;
        r = ccn_result_new(&m);
        if (r && a->fresh_s) ccn_results_put(f->key, r, r->at_us + a->fresh_s * 1000000);
        f->done(f->of, r);
    }
    share_end(f);
    free(f->key);
    free(f);
}

static void *fetch_all(void *of) {
    struct web_fetch *f = of;

    while (!atomic_load(&stopping)) web_run(f, TICK_MS);
    pthread_mutex_lock(&lock);
    web = NULL; /* nobody starts anything any more */
    pthread_mutex_unlock(&lock);
    web_free(&f);
    return NULL;
}

/* Under `lock`. */
static bool fetch_start(void) {
    const struct ccn_site *c = ccn_config();
    const struct web_rules rules = {
        .hosts = (const char *const *)(void *)c->fetch_hosts->elts,
        .nhosts = (unsigned)c->fetch_hosts->nelts,
        .addresses = (const char *const *)(void *)c->fetch_addresses->elts,
        .naddresses = (unsigned)c->fetch_addresses->nelts,
        .bytes = CCN_FETCH_BYTES,
        .seconds = SECONDS,
        .redirects = REDIRECTS,
        .at_once = AT_ONCE,
        .take = ccn_results_take,
        .give = ccn_results_give,
    };
    sigset_t all, before;
    char *error = NULL;

    if (web) return true;
    if (atomic_load(&stopping)) return false;
    web = web_new(&rules, &error);
    if (!web) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf, "ccn: CcnFetch: %s", error ? error : "no memory");
        free(error);
        return false;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    running = !pthread_create(&thread, NULL, fetch_all, web);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!running) web_free(&web);
    return running;
}

/* Results of calls have other keys: theirs begin with a slash or a tilde. */
static char *fetch_key(const char *uri) {
    struct service_text t = { 0 };

    service_text_put(&t, "=", 1);
    service_text_put(&t, uri, strlen(uri));
    return service_text_take(&t, NULL);
}

void ccn_fetch(const struct ccn_caller *who, const char *uri, size_t most, ccn_call_done *done, void *of) {
    struct fetched *f = calloc(1, sizeof *f);
    struct ccn_result *kept;
    bool started;

    if (f) *f = (struct fetched){ done, of, fetch_key(uri), who->whose };
    if (!f || !f->key) {
        free(f);
        done(of, NULL);
        return;
    }
    kept = who->fresh ? NULL : ccn_results_get(f->key);
    if (!ccn_config()->fetch_hosts->nelts) {
        ccn_result_release(&kept);
        fetch_fail(f, SERVICE_NOT_ALLOWED, "nothing is fetched from there (CcnFetch names what may be)");
    } else if (kept && kept->made.n <= most) {
        done(of, kept);
    } else {
        ccn_result_release(&kept);
        started = share_begin(f);
        pthread_mutex_lock(&lock);
        started = started && fetch_start() && !web_start(web, uri, most, fetched, f);
        pthread_mutex_unlock(&lock);
        if (started) return;
        share_end(f);
        fetch_fail(f, SERVICE_BUSY, "it can't be fetched now, or as much is fetched for this caller as may be");
    }
    free(f->key);
    free(f);
}

static apr_status_t stop_fetching(void *unused) {
    bool join;

    (void)unused;
    pthread_mutex_lock(&lock);
    atomic_store(&stopping, true);
    join = running;
    pthread_mutex_unlock(&lock);
    if (join) pthread_join(thread, NULL);
    return APR_SUCCESS;
}

void ccn_fetch_child_init(apr_pool_t *pchild) { apr_pool_pre_cleanup_register(pchild, NULL, stop_fetching); }
