/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_crawler.h"

#include <inttypes.h>
#include <stdlib.h>

#include <apr_strings.h>
#include <http_log.h>

#include "crawlers/crawlers_dns.h"
#include "crawlers/crawlers_seen.h"
#include "qos_keeper.h"
#include "qos_request.h"
#include "qos_signed.h"

APLOG_USE_MODULE(qos_drr);

#define CLAIMS_MAX 4u       /* that one user agent may make and be asked for */
#define IDLE_US    1000000u /* between looks of who is not at work */
#define TICK_US    200000u  /* of who is, and has nothing to do */
#define PACE_US    100000u  /* from one look-up to the next */

#define P qos_process

static void crawler_count(_Atomic uint64_t *n) { atomic_fetch_add_explicit(n, 1, memory_order_relaxed); }

/* Of those whom it claims to be and whom names can confirm, the first that is; -1: none. */
static int crawler_by_name(const struct crawlers_known *k, uint64_t claims, const uint8_t address[16]) {
    struct crawlers_seen *seen = &P.sizes.area->crawlers.seen;
    uint64_t now = shm_now();
    uint32_t suffixes, asked = 0;

    for (; claims && asked < CLAIMS_MAX; claims &= claims - 1) {
        uint32_t c = (uint32_t)__builtin_ctzll(claims);

        crawlers_known_suffixes(k, c, &suffixes);
        if (!suffixes) continue;
        asked++;
        if (crawlers_seen_confirmed(seen, P.sizes.hash_key, address, crawlers_known_name(k, c), now)) return (int)c;
    }
    return -1;
}

static int crawler_find(const struct crawlers_known *k, const request_rec *r) {
    struct qos_crawlers *count = &P.sizes.area->crawlers;
    const apr_sockaddr_t *a = r->useragent_addr;
    const char *agent = apr_table_get(r->headers_in, "User-Agent");
    uint64_t claims = agent ? crawlers_known_claims(k, agent) : 0;
    uint8_t address[16];
    int c;

    if (!a || (a->family != APR_INET && a->family != APR_INET6) ||
        !crawlers_address(a->ipaddr_ptr, (unsigned)a->ipaddr_len, address))
        return -1;
    c = crawlers_known_which(crawlers_known_of(k, address, 16), claims);
    if (c >= 0) {
        crawler_count(&count->by_list);
        return c;
    }
    if (!claims) return -1;
    c = crawler_by_name(k, claims, address);
    crawler_count(c >= 0 ? &count->by_name : &count->claims);
    return c;
}

void qos_crawler_of(request_rec *r, char name[CRAWLERS_NAME_ROOM]) {
    const char *by = qos_signed_by(r);
    const struct crawlers_known *k;
    int c;

    *name = '\0';
    if (by) {
        apr_cpystrn(name, by, CRAWLERS_NAME_ROOM);
        return;
    }
    if (!qos_config()->bots) return;
    k = crawlers_live_enter(&P.crawlers);
    c = k ? crawler_find(k, r) : -1;
    if (c >= 0) strcpy(name, crawlers_known_name(k, (uint32_t)c));
    crawlers_live_leave(&P.crawlers);
}

int64_t qos_crawler_table(uint32_t *networks) {
    const struct crawlers_known *k = crawlers_live_enter(&P.crawlers);
    int64_t made = k ? crawlers_known_made(k) : 0;

    *networks = k ? crawlers_known_networks(k) : 0;
    crawlers_live_leave(&P.crawlers);
    return made;
}

/* ---- in the background ------------------------------------------------------------------------------------------- */

static void crawler_tell_read(server_rec *s, const char *path) {
    const struct crawlers_known *k = crawlers_live_enter(&P.crawlers);

    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "qos: %s: %" PRIu32 " networks of %" PRIu32 " crawlers are known",
                 path, crawlers_known_networks(k), crawlers_known_count(k));
    crawlers_live_leave(&P.crawlers);
}

/* Every child reads it; one of them says so. */
void qos_crawler_look(server_rec *s) {
    const char *path = qos_config()->bots;
    char *error;

    switch (crawlers_live_look(&P.crawlers, path, P.sizes.bots, qos_keeper_leads(), &error)) {
    case CRAWLERS_READ:
        if (qos_keeper_leads()) crawler_tell_read(s, path);
        break;
    case CRAWLERS_REFUSED:
        if (qos_keeper_leads())
            ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "qos: %s; %s", error ? error : "out of memory",
                         atomic_load(&P.crawlers.now) ? "the crawlers of before stay in force"
                                                      : "nobody is known for a crawler");
        free(error);
        break;
    default: break;
    }
}

/* The endings of its names, copied: a look-up takes seconds, and must keep no table from going. */
static unsigned crawler_suffixes(const char *name, char suffix[CRAWLERS_SUFFIXES_MAX][CRAWLERS_SUFFIX_MAX + 1]) {
    const struct crawlers_known *k = crawlers_live_enter(&P.crawlers);
    int c = k ? crawlers_known_find(k, name) : -1;
    uint32_t n = 0;

    if (c >= 0) {
        const char *const *of = crawlers_known_suffixes(k, (uint32_t)c, &n);
        for (uint32_t i = 0; i < n; i++) strcpy(suffix[i], of[i]);
    }
    crawlers_live_leave(&P.crawlers);
    return n;
}

/* One who is to be asked for; false: nobody is. */
static bool crawler_resolve_one(void) {
    struct crawlers_seen *seen = &P.sizes.area->crawlers.seen;
    char suffix[CRAWLERS_SUFFIXES_MAX][CRAWLERS_SUFFIX_MAX + 1], name[CRAWLERS_NAME_ROOM];
    const char *ends[CRAWLERS_SUFFIXES_MAX];
    uint8_t address[16];
    enum crawlers_said said;
    unsigned n;

    if (!crawlers_seen_take(seen, shm_now(), address, name)) return false;
    n = crawler_suffixes(name, suffix);
    for (unsigned i = 0; i < n; i++) ends[i] = suffix[i];
    said = n ? crawlers_dns_confirm(address, ends, n, &P.keeper_stop) : CRAWLERS_DENIED;
    crawlers_seen_tell(seen, P.sizes.hash_key, address, name, said, shm_now());
    return true;
}

void *qos_crawler_resolve(void *server) {
    int before;

    (void)server;
    /* Inside the C library's resolver it must not; it comes back soon, or ends with the process. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    while (!qos_keeper_stopping()) {
        bool leads = qos_keeper_leads();
        bool asked = leads && crawler_resolve_one();

        base_futex_wait(&P.keeper_stop, 0, asked ? PACE_US : leads ? TICK_US : IDLE_US);
    }
    return NULL;
}
