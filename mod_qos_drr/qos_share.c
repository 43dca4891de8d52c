/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_share.h"

#include <ap_provider.h>
#include <ap_socache.h>
#include <apr_strings.h>
#include <http_log.h>

#include "qos_request.h"
#include "qos_seal.h"

APLOG_USE_MODULE(qos_drr);

#define KEEP_FOR   apr_time_from_sec(QOS_SEAL_HOURS * 3600) /* what nobody refreshes is forgotten */
#define PAUSE      apr_time_from_sec(10)                    /* after the cache failed */
#define ASKED      1024u
#define ASK_AGAIN  apr_time_from_sec(60) /* what is not there is not asked for again sooner */
#define SECRET_MIN 8
/* a page of others counts for no more than so many answers of the largest class */
#define MEANS      16u
#define BELIEVED   (UINT64_C(1) << 20) /* and for so many bytes in any case */
#define LONGEST_US UINT64_C(60000000)  /* no page takes longer because others say so */

#define P qos_process

struct qos_cache {
    const char *name;
    const ap_socache_provider_t *provider;
    ap_socache_instance_t *instance;
    struct qos_seal seal;
    int failing;
    apr_time_t again;  /* not before */
    unsigned turn;     /* the rings take turns */
    apr_time_t forget; /* when `asked` is emptied */
    uint64_t asked[ASKED];
};

/* ---- configuration ----------------------------------------------------------------------------------------------- */

const char *qos_share_create(const char *provider, const char *secret, apr_pool_t *ptemp, apr_pool_t *pconf,
                             struct qos_cache **out) {
    const char *colon = strchr(provider, ':'), *wrong;
    struct qos_cache *c = apr_pcalloc(pconf, sizeof *c);

    if (strlen(secret) < SECRET_MIN)
        return "QosShare: the secret must have 8 characters at least, and be the same on all gateways";
    c->name = colon ? apr_pstrmemdup(pconf, provider, (apr_size_t)(colon - provider)) : provider;
    c->provider = ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, c->name, AP_SOCACHE_PROVIDER_VERSION);
    if (!c->provider)
        return apr_psprintf(pconf, "QosShare %s: there is no such cache; load mod_socache_%s before this line",
                            provider, c->name);
    wrong = c->provider->create(&c->instance, colon ? colon + 1 : NULL, ptemp, pconf);
    if (wrong) return apr_psprintf(pconf, "QosShare %s: %s", provider, wrong);
    qos_seal_keys(&c->seal, secret);
    *out = c;
    return NULL;
}

int qos_share_open(struct qos_cache *c, server_rec *s, apr_pool_t *pconf) {
    /* No hints: mod_socache_shmcb lays itself out wrongly for objects as small as ours. */
    apr_status_t rv = c->provider->init(c->instance, "fairgate-pages", NULL, s, pconf);

    if (rv != APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, rv, s,
                     "QosShare %s: can't be set up; page sizes are not shared", c->name);
    return rv == APR_SUCCESS;
}

void qos_share_hash_key(const struct qos_cache *c, uint64_t hash_key[2]) {
    memcpy(hash_key, c->seal.pages, sizeof c->seal.pages);
}

/* ---- the keeper's work ------------------------------------------------------------------------------------------- */

static uint64_t hour_of(apr_time_t t) { return (uint64_t)apr_time_sec(t) / 3600; }

static apr_status_t share_store(struct qos_cache *c, server_rec *s, uint64_t key, uint64_t bytes, apr_pool_t *pool) {
    unsigned char name[QOS_SEAL_NAME];
    char value[QOS_SEAL_ROOM];
    apr_time_t now = apr_time_now();
    unsigned n = qos_seal_close(&c->seal, key, bytes, hour_of(now), value);

    qos_seal_name(&c->seal, key, name);
    return c->provider->store(c->instance, s, name, sizeof name, now + KEEP_FOR, (unsigned char *)value, n, pool);
}

/*
 * Even one who knows the secret can't make a page larger than what this server has seen makes likely: its own answers
 * tell better.
 */
static uint64_t likely(uint64_t bytes) {
    const struct qos_server *conf = qos_config();
    uint64_t most = BELIEVED / MEANS;

    for (uint32_t i = 0; i < conf->nclasses; i++) {
        uint64_t mean = atomic_load_explicit(&P.view.classes[conf->number[i]].mean, memory_order_relaxed);
        if (mean > most) most = mean;
    }
    return bytes / MEANS < most ? bytes : most * MEANS;
}

static uint64_t likely_time(uint64_t us) { return us < LONGEST_US ? us : LONGEST_US; }

/* It counts as one answer, and only until there is one here. */
static void believe(uint64_t key, uint64_t is) {
    /* An answer may have taught it meanwhile: that is nearer than what others saw. */
    if (pages_learnt_mean(P.sizes.learnt, P.sizes.pages, key)) return;
    pages_learnt_add(P.sizes.learnt, P.sizes.pages, key, is);
    atomic_fetch_add(&P.sizes.area->share.found, 1);
}

static apr_status_t look_for(struct qos_cache *c, server_rec *s, uint64_t key, uint64_t (*bound)(uint64_t),
                             apr_pool_t *pool) {
    unsigned char name[QOS_SEAL_NAME], value[256];
    unsigned n = sizeof value;
    apr_status_t rv;
    uint64_t is;

    qos_seal_name(&c->seal, key, name);
    rv = c->provider->retrieve(c->instance, s, name, sizeof name, value, &n, pool);
    if (rv == APR_NOTFOUND) return APR_SUCCESS;
    /* Larger than any of ours: there is an answer, but none for us. */
    if (rv != APR_SUCCESS && rv != APR_ENOMEM && rv != APR_ENOSPC && rv != APR_EINVAL) return rv;
    is = rv == APR_SUCCESS && n <= sizeof value ? qos_seal_open(&c->seal, key, hour_of(apr_time_now()), value, n) : 0;
    if (is) believe(key, bound(is));
    else atomic_fetch_add(&P.sizes.area->share.rejected, 1);
    return APR_SUCCESS;
}

static int failed(struct qos_cache *c, server_rec *s, apr_status_t rv) {
    atomic_fetch_add(&P.sizes.area->share.failed, 1);
    c->again = apr_time_now() + PAUSE;
    if (!c->failing)
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, s,
                     "QosShare %s: no answer; page sizes are not shared until there is one", c->name);
    c->failing = 1;
    return 0;
}

static int share_tell(struct qos_cache *c, server_rec *s, uint64_t key, apr_pool_t *pool) {
    uint64_t bytes = pages_learnt_mean(P.sizes.learnt, P.sizes.pages, key);
    apr_status_t rv = bytes ? share_store(c, s, key, bytes, pool) : APR_SUCCESS;

    if (rv != APR_SUCCESS) return failed(c, s, rv);
    if (!bytes) return 1;
    atomic_fetch_add(&P.sizes.area->share.stored, 1);
    if (c->failing) ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "QosShare %s: answers again", c->name);
    c->failing = 0;
    return 1;
}

static int asked_lately(struct qos_cache *c, uint64_t key) {
    uint64_t *place = &c->asked[key % ASKED];

    if (apr_time_now() > c->forget) {
        memset(c->asked, 0, sizeof c->asked);
        c->forget = apr_time_now() + ASK_AGAIN;
    }
    if (*place == key) return 1;
    *place = key;
    return 0;
}

static int share_ask(struct qos_cache *c, server_rec *s, uint64_t key, uint64_t (*bound)(uint64_t), apr_pool_t *pool) {
    apr_status_t rv = asked_lately(c, key) ? APR_SUCCESS : look_for(c, s, key, bound, pool);
    return rv == APR_SUCCESS ? 1 : failed(c, s, rv);
}

int qos_share_one(struct qos_cache *c, server_rec *s, apr_pool_t *pool) {
    struct qos_share *share = &P.sizes.area->share;
    uint64_t key;

    if (apr_time_now() < c->again) return 0;
    /* A cache that is gone says "not found" too: only what it stores shows that it is back. */
    if (c->failing) return (key = pages_ring_take(&share->news)) != 0 && share_tell(c, s, key, pool);
    for (int i = 0; i < 3; i++) {
        switch (c->turn++ % 3) {
        case 0:
            if ((key = pages_ring_take(&share->wanted)) != 0) return share_ask(c, s, key, likely, pool);
            break;
        case 1:
            if ((key = pages_ring_take(&share->wanted_times)) != 0) return share_ask(c, s, key, likely_time, pool);
            break;
        default:
            if ((key = pages_ring_take(&share->news)) != 0) return share_tell(c, s, key, pool);
        }
    }
    return 0;
}
