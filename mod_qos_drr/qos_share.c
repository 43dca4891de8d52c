/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_share.h"

#include <inttypes.h>

#include <ap_provider.h>
#include <ap_socache.h>
#include <apr_sha1.h>
#include <apr_strings.h>
#include <http_log.h>

#include "qos_request.h"

APLOG_USE_MODULE(qos_drr);

#define KEEP_FOR   apr_time_from_sec(7 * 86400)     /* what nobody refreshes is forgotten */
#define PAUSE      apr_time_from_sec(10)            /* after the cache failed */
#define ASKED      1024u
#define ASK_AGAIN  apr_time_from_sec(60)            /* what is not there is not asked for again sooner */
#define SECRET_MIN 8

#define P qos_process

struct qos_cache {
    const char                  *name;
    const ap_socache_provider_t *provider;
    ap_socache_instance_t       *instance;
    uint64_t                     hash_key[2];
    int                          failing;
    apr_time_t                   again;             /* not before */
    unsigned                     turn;              /* the two rings take turns */
    apr_time_t                   forget;            /* when `asked` is emptied */
    uint64_t                     asked[ASKED];
};

/* ---- configuration ----------------------------------------------------------------------------------------------------------- */

const char *qos_share_create(const char *provider, const char *secret, apr_pool_t *ptemp, apr_pool_t *pconf, struct qos_cache **out) {
    const char *colon = strchr(provider, ':'), *wrong;
    unsigned char digest[APR_SHA1_DIGESTSIZE];
    struct qos_cache *c = apr_pcalloc(pconf, sizeof *c);
    apr_sha1_ctx_t sha;

    if (strlen(secret) < SECRET_MIN) return "QosShare: the secret must have 8 characters at least, and be the same on all gateways";
    c->name = colon ? apr_pstrmemdup(pconf, provider, (apr_size_t)(colon - provider)) : provider;
    c->provider = ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, c->name, AP_SOCACHE_PROVIDER_VERSION);
    if (!c->provider)
        return apr_psprintf(pconf, "QosShare %s: there is no such cache; load mod_socache_%s before this line", provider, c->name);
    wrong = c->provider->create(&c->instance, colon ? colon + 1 : NULL, ptemp, pconf);
    if (wrong) return apr_psprintf(pconf, "QosShare %s: %s", provider, wrong);
    apr_sha1_init(&sha);
    apr_sha1_update(&sha, "fairgate-pages\n", 15);
    apr_sha1_update(&sha, secret, (unsigned)strlen(secret));
    apr_sha1_final(digest, &sha);
    memcpy(c->hash_key, digest, sizeof c->hash_key);
    *out = c;
    return NULL;
}

int qos_share_open(struct qos_cache *c, server_rec *s, apr_pool_t *pconf) {
    /* No hints: mod_socache_shmcb lays itself out wrongly for objects as small as ours. */
    apr_status_t rv = c->provider->init(c->instance, "fairgate-pages", NULL, s, pconf);

    if (rv != APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, rv, s, "QosShare %s: can't be set up; page sizes are not shared", c->name);
    return rv == APR_SUCCESS;
}

void qos_share_hash_key(const struct qos_cache *c, uint64_t hash_key[2]) { memcpy(hash_key, c->hash_key, sizeof c->hash_key); }

/* ---- the keeper's work --------------------------------------------------------------------------------------------------------- */

static apr_status_t store(struct qos_cache *c, server_rec *s, uint64_t key, uint64_t bytes, apr_pool_t *pool) {
    char value[32];
    int n = snprintf(value, sizeof value, "1 %" PRIu64, bytes);

    return c->provider->store(c->instance, s, (const unsigned char *)&key, sizeof key, apr_time_now() + KEEP_FOR, (unsigned char *)value,
                              (unsigned)n, pool);
}

/* Bytes, or 0 if it is not a value of ours. */
static uint64_t value_of(const unsigned char *value, unsigned n) {
    uint64_t bytes = 0;

    if (n < 3 || n > 20 || value[0] != '1' || value[1] != ' ') return 0;
    for (unsigned i = 2; i < n; i++) {
        if (value[i] < '0' || value[i] > '9') return 0;
        bytes = bytes * 10 + (uint64_t)(value[i] - '0');
    }
    return bytes <= PAGES_SIZE_MAX ? bytes : 0;
}

static apr_status_t look_for(struct qos_cache *c, server_rec *s, uint64_t key, apr_pool_t *pool) {
    struct qos_share *share = &P.view.sh->share;
    unsigned char value[256];
    unsigned n = sizeof value;
    apr_status_t rv = c->provider->retrieve(c->instance, s, (const unsigned char *)&key, sizeof key, value, &n, pool);
    uint64_t bytes = rv == APR_SUCCESS && n <= sizeof value ? value_of(value, n) : 0;

    /* An answer may have taught it meanwhile: that is nearer than what others saw. */
    if (bytes && !qos_pages_mean(P.view.pages, P.view.sh->pages, key)) {
        qos_pages_learn(P.view.pages, P.view.sh->pages, key, bytes);
        atomic_fetch_add(&share->found, 1);
    }
    /* Larger than any of ours: there is an answer, but none for us. */
    return rv == APR_NOTFOUND || rv == APR_ENOMEM || rv == APR_ENOSPC || rv == APR_EINVAL ? APR_SUCCESS : rv;
}

static int failed(struct qos_cache *c, server_rec *s, apr_status_t rv) {
    atomic_fetch_add(&P.view.sh->share.failed, 1);
    c->again = apr_time_now() + PAUSE;
    if (!c->failing) ap_log_error(APLOG_MARK, APLOG_WARNING, rv, s, "QosShare %s: no answer; page sizes are not shared until there is one", c->name);
    c->failing = 1;
    return 0;
}

static int tell(struct qos_cache *c, server_rec *s, uint64_t key, apr_pool_t *pool) {
    uint64_t bytes = qos_pages_mean(P.view.pages, P.view.sh->pages, key);
    apr_status_t rv = bytes ? store(c, s, key, bytes, pool) : APR_SUCCESS;

    if (rv != APR_SUCCESS) return failed(c, s, rv);
    if (!bytes) return 1;
    atomic_fetch_add(&P.view.sh->share.stored, 1);
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

static int ask(struct qos_cache *c, server_rec *s, uint64_t key, apr_pool_t *pool) {
    apr_status_t rv = asked_lately(c, key) ? APR_SUCCESS : look_for(c, s, key, pool);
    return rv == APR_SUCCESS ? 1 : failed(c, s, rv);
}

int qos_share_one(struct qos_cache *c, server_rec *s, apr_pool_t *pool) {
    struct qos_share *share = &P.view.sh->share;
    uint64_t key;

    if (apr_time_now() < c->again) return 0;
    /* A cache that is gone says "not found" too: only what it stores shows that it is back. */
    if (c->failing) return (key = qos_ring_take(&share->news)) != 0 && tell(c, s, key, pool);
    for (int i = 0; i < 2; i++)
        if (c->turn++ % 2) {
            if ((key = qos_ring_take(&share->news)) != 0) return tell(c, s, key, pool);
        } else if ((key = qos_ring_take(&share->wanted)) != 0) {
            return ask(c, s, key, pool);
        }
    return 0;
}
