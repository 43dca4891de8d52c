/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_signed.h"

#include <apr_lib.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_protocol.h>

#include "base/base_hash.h"
#include "bots/bots_claim.h"
#include "qos_classify.h"
#include "qos_request.h"
#include "qos_signers.h"

#define PLACES            4096u /* addresses that share one share its bounds */
#define WRONG_EACH_US     50000u
#define WRONG_AT_ONCE     64u
#define WRONG_ALL_EACH_US 2000u
#define WRONG_ALL_AT_ONCE 128u
#define GOOD_US           600000000u /* so long a right one speaks for its address */

#define P qos_process

/* In the order of `words`, and of the counters in struct qos_signed_area. */
enum verdict { VERIFIED, CACHED, WRONG, EXPIRED, REPLAYED, UNKNOWN, UNJUDGED, NO_SIGNATURE };
static const char *const words[] = { "verified", "cached", "wrong", "expired", "replayed", "unknown", "unjudged" };

/* ---- the request ------------------------------------------------------------------------------------------------- */

static struct bots_text signed_text(const char *s) { return bots_text(s, s ? strlen(s) : 0); }

static struct bots_text signed_field(const void *of, const char *name) {
    const request_rec *r = of;
    return signed_text(apr_table_get(r->headers_in, name));
}

/* Host and port, without the port that the scheme has anyhow (RFC 9421, 2.2.3). */
static const char *signed_authority(request_rec *r, const char *scheme) {
    const char *host = r->hostname ? r->hostname : "";
    apr_port_t port = r->parsed_uri.port_str ? r->parsed_uri.port : 0;
    char *lower = apr_pstrdup(r->pool, host);

    for (char *c = lower; *c; c++) *c = (char)apr_tolower(*c);
    if (strchr(lower, ':') && *lower != '[') lower = apr_pstrcat(r->pool, "[", lower, "]", NULL);
    return !port || port == apr_uri_port_of_scheme(scheme) ? lower
                                                           : apr_psprintf(r->pool, "%s:%u", lower, (unsigned)port);
}

static struct bots_message signed_message(request_rec *r) {
    const char *scheme = ap_http_scheme(r), *target = qos_classify_target(r), *query = strchr(target, '?');
    size_t path = query ? (size_t)(query - target) : strlen(target);

    return (struct bots_message){
        .method = signed_text(r->method),
        .scheme = signed_text(scheme),
        .authority = signed_text(signed_authority(r, scheme)),
        .path = path ? bots_text(target, path) : bots_text("/", 1),
        .query = signed_text(query),
        .field = signed_field,
        .of = r,
    };
}

static uint64_t signed_whose(const request_rec *r) {
    const apr_sockaddr_t *a = r->useragent_addr;
    static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
    bool has = a && (a->family == APR_INET || a->family == APR_INET6);
    const unsigned char *at = has ? a->ipaddr_ptr : NULL;
    size_t n = has ? (size_t)a->ipaddr_len : 0;
    struct base_hash h;

    if (n == 16 && !memcmp(at, mapped, sizeof mapped)) at += 12, n = 4;
    base_hash_begin(&h, P.sizes.hash_key);
    base_hash_add(&h, at, n == 16 ? 8 : n);
    return base_hash_end(h);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

/* This child's: until when what was charged is paid off; when an address last had a right one. */
static _Atomic uint64_t owed[PLACES], owed_by_all, good[PLACES];

static bool signed_charge(_Atomic uint64_t *until, uint64_t now, uint64_t each, uint64_t at_once) {
    uint64_t was = atomic_load_explicit(until, memory_order_relaxed), next;

    do {
        next = (was > now ? was : now) + each;
        if (next - now > each * at_once) return false;
    } while (!atomic_compare_exchange_weak_explicit(until, &was, next, memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void signed_give_back(_Atomic uint64_t *until, uint64_t each) {
    atomic_fetch_sub_explicit(until, each, memory_order_relaxed);
}

/* VERIFIED, WRONG or UNJUDGED. */
static enum verdict signed_judge(const struct bots_claim *c, const uint8_t key[32], const char *base, size_t n,
                                 uint64_t address) {
    _Atomic uint64_t *own = &owed[address % PLACES], *last = &good[address % PLACES];
    uint64_t now = shm_now(), was_good = atomic_load_explicit(last, memory_order_relaxed);
    bool known = was_good && now - was_good < GOOD_US;

    if (!signed_charge(own, now, WRONG_EACH_US, WRONG_AT_ONCE)) return UNJUDGED;
    if (!known && !signed_charge(&owed_by_all, now, WRONG_ALL_EACH_US, WRONG_ALL_AT_ONCE)) {
        signed_give_back(own, WRONG_EACH_US);
        return UNJUDGED;
    }
    if (!bots_base_is_signed(key, base, n, c->signature)) return WRONG;
    signed_give_back(own, WRONG_EACH_US);
    if (!known) signed_give_back(&owed_by_all, WRONG_ALL_EACH_US);
    atomic_store_explicit(last, now, memory_order_relaxed);
    return VERIFIED;
}

/* ---- the judgement ----------------------------------------------------------------------------------------------- */

static void signed_sight(struct bots_sight *s, const struct bots_claim *c, const uint8_t key[32], const char *base,
                         size_t n, uint64_t address) {
    struct base_hash h;

    *s = (struct bots_sight){ .whose = address, .created = c->created, .until = c->until, .once = c->nonce.n != 0 };
    base_hash_begin(&h, P.sizes.hash_key);
    base_hash_add(&h, s->once ? "nonce" : "whole", 5);
    base_hash_add(&h, key, 32);
    if (s->once) {
        base_hash_add(&h, c->nonce.at, c->nonce.n);
    } else {
        base_hash_add(&h, c->signature, sizeof c->signature);
        base_hash_add(&h, base, n);
    }
    s->id[0] = base_hash_end(h);
    base_hash_add(&h, "2", 1);
    s->id[1] = base_hash_end(h);
}

/* A claim of a key that is known. */
static enum verdict signed_verdict(const struct bots_message *m, const struct bots_claim *c, const uint8_t key[32],
                                   int64_t now, uint64_t address) {
    struct bots_seen *seen = &P.sizes.area->signatures.seen;
    enum bots_seen_as as;
    enum verdict v;
    struct bots_sight s;
    char base[BOTS_BASE_MAX];
    int n;

    if (!bots_claim_is_in_time(c, now)) return EXPIRED;
    n = bots_base(m, &c->list, base, sizeof base);
    if (n < 0) return WRONG;
    signed_sight(&s, c, key, base, (size_t)n, address);
    if (!qos_signers_lock()) return UNJUDGED;
    as = bots_seen_look_locked(seen, &s, now);
    qos_signers_unlock();
    if (as != BOTS_SEEN_NEVER) return as == BOTS_SEEN_RIGHT ? CACHED : REPLAYED;
    v = signed_judge(c, key, base, (size_t)n, address);
    if (v != VERIFIED) return v;
    if (!qos_signers_lock()) return UNJUDGED;
    as = bots_seen_note_locked(seen, &s, now);
    qos_signers_unlock();
    return as == BOTS_SEEN_RIGHT ? VERIFIED : REPLAYED;
}

/* The first claim of a key that is known decides; where there is none, nobody is known. */
static enum verdict signed_look(request_rec *r, const struct qos_signer **by) {
    struct bots_message m = signed_message(r);
    struct bots_claims all;
    struct bots_claim c;
    enum bots_read read;
    enum verdict v = NO_SIGNATURE;
    uint8_t key[32];
    int64_t now = (int64_t)apr_time_sec(apr_time_now());

    bots_claims(&all, &m);
    while ((read = bots_claim_next(&all, &c)) != BOTS_NO_CLAIM) {
        if (read == BOTS_BAD_CLAIM) {
            v = WRONG;
            continue;
        }
        if (!qos_signers_lock()) return UNJUDGED;
        *by = qos_signers_key_locked(c.agent, c.thumbprint, now, key);
        qos_signers_unlock();
        if (*by) return signed_verdict(&m, &c, key, now, signed_whose(r));
        v = UNKNOWN;
    }
    return v;
}

const char *qos_signed_by(request_rec *r) {
    struct qos_signed_area *a = &P.sizes.area->signatures;
    _Atomic uint64_t *const counters[] = { &a->verified, &a->cached,  &a->wrong,   &a->expired,
                                           &a->replayed, &a->unknown, &a->unjudged };
    const struct qos_signer *by = NULL;
    enum verdict v;

    if (!qos_signers_count(qos_config()->signers) || !apr_table_get(r->headers_in, "Signature-Input")) return NULL;
    /* What was signed for another's is shown here by whom it came to. */
    v = qos_request_names_us(r) ? signed_look(r, &by) : WRONG;
    if (v == NO_SIGNATURE) return NULL;
    atomic_fetch_add_explicit(counters[v], 1, memory_order_relaxed);
    apr_table_setn(r->notes, "qos-signature", words[v]);
    return v == VERIFIED || v == CACHED ? by->name : NULL;
}
