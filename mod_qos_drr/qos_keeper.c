/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_keeper.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include <http_log.h>

#include "crawlers/crawlers_kept.h"
#include "qos_console.h"
#include "qos_crawler.h"
#include "qos_park.h"
#include "qos_request.h"
#include "qos_share.h"
#include "qos_signers.h"
#include "qos_stall.h"

APLOG_USE_MODULE(qos_drr);

#define TICK_US   1000000u
#define POOL_FREE (256u << 10) /* what a pool may keep of a large value */

#define P qos_process

static void look_at_table(server_rec *s) {
    struct pages_known *known = &P.sizes.area->known;
    const char *path = qos_config()->page_table;
    char *error;

    if (!path || !P.sizes.file.base) return;
    switch (pages_known_look(known, &P.sizes.file, P.sizes.hash_key, path, shm_now(), &error)) {
    case PAGES_KNOWN_READ:
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "qos: %s: sizes of %" PRIu64 " URLs are known", path,
                     (uint64_t)known->urls);
        break;
    case PAGES_KNOWN_REFUSED:
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "qos: %s; %s", error ? error : "out of memory",
                     known->now ? "the sizes of before stay in force" : "sizes are learnt as pages are asked for");
        free(error);
        break;
    default: break;
    }
}

int qos_keeper_leads(void) { return shm_keeps(&P.view, P.generation, P.row); }

int qos_keeper_stopping(void) { return atomic_load(&P.keeper_stop) != 0; }

static void *keep_table(void *server) {
    while (!qos_keeper_stopping()) {
        if (qos_keeper_leads()) look_at_table(server);
        base_futex_wait(&P.keeper_stop, 0, TICK_US);
    }
    return NULL;
}

/* The first time it is read before anybody is served. */
static void *keep_crawlers(void *server) {
    while (!qos_keeper_stopping()) {
        base_futex_wait(&P.keeper_stop, 0, TICK_US);
        if (!qos_keeper_stopping()) qos_crawler_look(server);
    }
    return NULL;
}

static void *keep_sharing(void *server) {
    apr_pool_t *pool;

    if (apr_pool_create_unmanaged(&pool) != APR_SUCCESS) return NULL;
    apr_allocator_max_free_set(apr_pool_allocator_get(pool), POOL_FREE);
    while (!qos_keeper_stopping()) {
        int more = 1;

        while (more && !qos_keeper_stopping() && qos_keeper_leads()) {
            more = qos_share_one(qos_config()->share, server, pool);
            apr_pool_clear(pool);
        }
        base_futex_wait(&P.keeper_stop, 0, TICK_US);
    }
    apr_pool_destroy(pool);
    return NULL;
}

static void *keep_signers(void *server) {
    while (!qos_keeper_stopping()) {
        bool more = qos_keeper_leads() && qos_signers_keep(server, &P.keeper_stop);

        if (!qos_keeper_leads()) qos_signers_keep_no_longer();
        if (!more) base_futex_wait(&P.keeper_stop, 0, TICK_US);
    }
    qos_signers_keep_no_longer();
    return NULL;
}

static void *keep_history(void *server) {
    apr_pool_t *pool;

    if (apr_pool_create_unmanaged(&pool) != APR_SUCCESS) return NULL;
    apr_allocator_max_free_set(apr_pool_allocator_get(pool), POOL_FREE);
    while (!qos_keeper_stopping()) {
        if (qos_keeper_leads() && !shm_has_left(&P.view)) {
            qos_console_second(pool);
            qos_park_look();
            if (qos_config()->holds) qos_stall_look(server, pool);
        }
        apr_pool_clear(pool);
        base_futex_wait(&P.keeper_stop, 0, TICK_US / 2);
    }
    apr_pool_destroy(pool);
    return NULL;
}

/*
 * It may hang in a cache's answer, or, where a signal ends the process (prefork), wait for a lock that the interrupted
 * thread has: then it is left to end with the process.
 */
static void keeper_join(pthread_t thread) {
    for (int patience = 0; patience < 2; patience++) {
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec++;
        if (!pthread_timedjoin_np(thread, NULL, &t)) return;
        pthread_cancel(thread);
    }
}

static apr_status_t keeper_end(void *unused) {
    (void)unused;
    atomic_store(&P.keeper_stop, 1);
    base_futex_wake(&P.keeper_stop);
    for (unsigned i = 0; i < P.keepers; i++) keeper_join(P.keeper[i]);
    P.keepers = 0;
    shm_keeps_no_longer(&P.view, P.generation, P.row);
    return APR_SUCCESS;
}

static int keeper_start(void *(*run)(void *), server_rec *s) {
    sigset_t all, before;
    int rc;

    /* Signals are for the MPM's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&P.keeper[P.keepers], NULL, run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    P.keepers += !rc;
    return rc;
}

int qos_keeper_start(apr_pool_t *pchild, server_rec *s, int first) {
    int rc = 0;

    if (!qos_config()->page_table) {
        if (first) pages_known_forget(&P.sizes.area->known, &P.sizes.file);
        P.sizes.file.base = NULL; /* whatever a child of before still reads in */
    }
    if (!qos_config()->bots && first) crawlers_kept_forget(P.sizes.bots);
    if (P.row == SHM_NO_ROW) return 0;
    rc = keeper_start(keep_history, s);
    if (!rc && qos_config()->page_table) rc = keeper_start(keep_table, s);
    if (!rc && qos_config()->share) rc = keeper_start(keep_sharing, s);
    if (!rc && qos_config()->bots) {
        qos_crawler_look(s);
        rc = keeper_start(keep_crawlers, s);
        for (unsigned i = 0; i < QOS_CRAWLER_RESOLVERS && !rc; i++) rc = keeper_start(qos_crawler_resolve, s);
    }
    if (!rc && qos_signers_count(qos_config()->signers)) rc = keeper_start(keep_signers, s);
    if (P.keepers) apr_pool_pre_cleanup_register(pchild, NULL, keeper_end);
    return rc;
}
