/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_keeper.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include <http_log.h>

#include "qos_request.h"
#include "qos_share.h"

APLOG_USE_MODULE(qos_drr);

#define TICK_US 1000000u

#define P qos_process

static void look_at_table(server_rec *s, int starting) {
    struct qos_known *known = &P.view.sh->known;
    const char *path = qos_config()->page_table;
    char *error;

    if (!path || !P.view.known.base) return;
    switch (qos_known_look(known, &P.view.known, P.view.sh->hash_key, path, &error)) {
    case QOS_KNOWN_READ:
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "qos: %s: sizes of %" PRIu64 " URLs are known", path, (uint64_t)known->urls);
        break;
    case QOS_KNOWN_REFUSED:
        ap_log_error(APLOG_MARK, (starting ? APLOG_STARTUP : 0) | APLOG_ERR, 0, s, "qos: %s; %s", error ? error : "out of memory",
                     known->now ? "the sizes of before stay in force" : "sizes are learnt as pages are asked for");
        free(error);
        break;
    default:
        break;
    }
}

/* Under another key nothing is found that stood there before. */
static void take_hash_key(void) {
    uint64_t key[2];

    if (!qos_config()->share) return;
    qos_share_hash_key(qos_config()->share, key);
    if (!memcmp(key, P.view.sh->hash_key, sizeof key)) return;
    memcpy(P.view.sh->hash_key, key, sizeof key);
    qos_known_forget(&P.view.sh->known);
}

void qos_keeper_config(server_rec *s) {
    P.generation = atomic_fetch_add(&P.view.sh->generation, 1) + 1;
    take_hash_key();
    look_at_table(s, 1);
}

/* Is this child's keeper the one at work? */
static int leads(void) {
    uint32_t none = 0, me = P.row + 1;
    _Atomic uint32_t *keeper = &P.view.sh->keeper;

    if (atomic_load(&P.view.sh->generation) != P.generation) {
        atomic_compare_exchange_strong(keeper, &me, 0);
        return 0;
    }
    return atomic_load(keeper) == me || atomic_compare_exchange_strong(keeper, &none, me);
}

static void *keep(void *server) {
    struct qos_cache *share = qos_config()->share;
    apr_pool_t *pool;

    if (apr_pool_create_unmanaged(&pool) != APR_SUCCESS) return NULL;
    while (!atomic_load(&P.keeper_stop)) {
        int idle = 1;

        if (leads()) {
            look_at_table(server, 0);
            if (share) idle = qos_share_work(share, server, pool);
            apr_pool_clear(pool);
        }
        if (idle) qos_futex_wait(&P.keeper_stop, 0, TICK_US);
    }
    apr_pool_destroy(pool);
    return NULL;
}

static apr_status_t stop(void *unused) {
    uint32_t me = P.row + 1;

    (void)unused;
    atomic_store(&P.keeper_stop, 1);
    qos_futex_wake(&P.keeper_stop);
    pthread_join(P.keeper, NULL);
    atomic_compare_exchange_strong(&P.view.sh->keeper, &me, 0);
    return APR_SUCCESS;
}

int qos_keeper_start(apr_pool_t *pchild, server_rec *s) {
    sigset_t all, before;
    int rc;

    if ((!qos_config()->page_table && !qos_config()->share) || P.row == QOS_NO_ROW) return 0;
    /* Signals are for the MPM's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&P.keeper, NULL, keep, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc) apr_pool_pre_cleanup_register(pchild, NULL, stop);
    return rc;
}
