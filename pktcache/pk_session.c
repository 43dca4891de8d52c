/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_session.h"

#include "pk_bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <highwayhash/c_bindings.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/random.h>

enum { SESSION_MAGIC = 0x504b5345, KEY = 32, IV = 12, AGREED = 32 };

/* Of a READY: what is authenticated only, and what is sealed behind that. */
#define READY_OPEN   offsetof(struct pk_wire_ready, cache)
#define READY_SEALED (offsetof(struct pk_wire_ready, tag) - READY_OPEN)

#define WORN (UINT64_C(1) << 31) /* datagrams of a session, far below what GCM bears (NIST SP 800-38D, 8.3) */

struct keys {
    bool good;
    uint32_t id; /* 24 bits, told in each datagram */
    EVP_CIPHER_CTX *out, *in;
    HHKey salt;          /* of what is sealed, in our direction */
    uint64_t since;      /* microseconds */
    uint64_t sent, seen; /* counters */
    uint64_t window[PK_WINDOW / 64];
};

struct pk_session {
    unsigned magic;
    enum pk_role role;
    uint8_t lane, lanes, how;
    uint8_t theirs; /* the other side's version */
    struct known {
        struct pk_secret secret;
        EVP_MAC_CTX *mac; /* of handshakes */
    } known[PK_SECRETS];
    unsigned knowns;
    unsigned use;        /* which of them the datagram has that was made, or was heard, last */
    unsigned tries;      /* of beginning, without an answer */
    EVP_PKEY *own;       /* X25519, of the present attempt or the next READY; of no session after that */
    uint8_t key[PK_KEY]; /* its public half */
    bool begun;          /* child: key was sent, no WELCOME came yet */
    uint64_t time;       /* microseconds, as it was told last */
    uint64_t news;
    struct keys now, before;
};

static void fresh_key(pk_session_t *s) {
    size_t n = PK_KEY;
    uint8_t random[PK_KEY];

    /* From the kernel, which is told when a virtual machine is set back; libcrypto's own numbers would come again. */
    if (getrandom(random, sizeof random, 0) != sizeof random) abort();
    EVP_PKEY_free(s->own);
    s->own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, random, sizeof random);
    OPENSSL_cleanse(random, sizeof random);
    if (!s->own || EVP_PKEY_get_raw_public_key(s->own, s->key, &n) != 1 || n != PK_KEY)
        abort(); /* no session without */
}

static bool keys_make(struct keys *k) {
    k->out = EVP_CIPHER_CTX_new();
    k->in = EVP_CIPHER_CTX_new();
    return k->out && k->in;
}

static void know(pk_session_t *s, const struct pk_secret *secret) {
    struct known *k = s->known + s->knowns++;
    OSSL_PARAM digest[2] = { OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
                             OSSL_PARAM_construct_end() };
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    uint8_t key[KEY];

    k->secret = *secret;
    k->mac = EVP_MAC_CTX_new(hmac);
    EVP_MAC_free(hmac);
    pk_secret_derive(secret, "fairgate pktcache handshake", NULL, 0, key, KEY);
    if (!k->mac || EVP_MAC_init(k->mac, key, KEY, digest) != 1) abort();
    OPENSSL_cleanse(key, sizeof key);
}

static void know_nothing(pk_session_t *s) {
    for (unsigned i = 0; i < s->knowns; i++) EVP_MAC_CTX_free(s->known[i].mac);
    OPENSSL_cleanse(s->known, sizeof s->known);
    s->knowns = s->use = s->tries = 0;
}

void pk_session_secrets(pk_session_t *s, const struct pk_secrets *secrets) {
    assert(s->magic == SESSION_MAGIC && secrets->n && secrets->n <= PK_SECRETS);
    know_nothing(s);
    for (unsigned i = 0; i < secrets->n; i++) know(s, secrets->item + i);
}

pk_session_t *pk_session_make(const struct pk_secret *secret, enum pk_role role, unsigned lane, unsigned lanes,
                              unsigned how) {
    pk_session_t *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    assert(lane < lanes && lanes <= UINT8_MAX && how <= UINT8_MAX);
    s->magic = SESSION_MAGIC;
    s->role = role;
    s->lane = (uint8_t)lane;
    s->lanes = (uint8_t)lanes;
    s->how = (uint8_t)how;
    s->theirs = PK_VERSION;
    know(s, secret);
    fresh_key(s);
    if (!keys_make(&s->now) || !keys_make(&s->before)) pk_session_free(&s);
    return s;
}

void pk_session_free(pk_session_t **session) {
    pk_session_t *s = *session;
    *session = NULL;
    if (!s) return;
    assert(s->magic == SESSION_MAGIC);
    EVP_CIPHER_CTX_free(s->now.out);
    EVP_CIPHER_CTX_free(s->now.in);
    EVP_CIPHER_CTX_free(s->before.out);
    EVP_CIPHER_CTX_free(s->before.in);
    EVP_PKEY_free(s->own);
    know_nothing(s);
    OPENSSL_cleanse(s, sizeof *s);
    free(s);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* What only who has one of the two private keys can compute; false: the other one is none. */
static bool agree(const pk_session_t *s, const uint8_t *theirs, uint8_t agreed[AGREED]) {
    EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, theirs, PK_KEY);
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new(s->own, NULL);
    size_t n = AGREED;
    bool done = peer && c && EVP_PKEY_derive_init(c) == 1 && EVP_PKEY_derive_set_peer(c, peer) == 1 &&
                EVP_PKEY_derive(c, agreed, &n) == 1 && n == AGREED;

    EVP_PKEY_CTX_free(c);
    EVP_PKEY_free(peer);
    return done;
}

/* Keys of a session that are not to be had again, out of memory, too. */
static void forget_keys(struct keys *k) {
    EVP_CIPHER_CTX_reset(k->out);
    EVP_CIPHER_CTX_reset(k->in);
    OPENSSL_cleanse(k->salt, sizeof k->salt);
    k->good = false;
}

/* child, parent: their public keys, of which one is ours.  False: the other one is none. */
static bool new_keys(const pk_session_t *s, const uint8_t *child, const uint8_t *parent, struct keys *k) {
    struct {
        uint8_t child[PK_KEY], parent[PK_KEY], lane;
    } salt = { .lane = s->lane };
    struct {
        uint8_t key[KEY];
        HHKey salt;
    } derived[2]; /* down, up */
    uint8_t agreed[AGREED], id[4];
    struct {
        uint8_t directions[sizeof derived], id[sizeof id];
    } all;
    bool parents = s->role == PK_PARENT;

    static_assert(sizeof salt == 2 * PK_KEY + 1 && AGREED == PK_SECRET && sizeof derived == 2 * (KEY + 32),
                  "no padding");
    if (!agree(s, parents ? child : parent, agreed)) return false;
    memcpy(salt.child, child, PK_KEY);
    memcpy(salt.parent, parent, PK_KEY);
    pk_secret_derive_with(&s->known[s->use].secret, agreed, "fairgate pktcache session", &salt, sizeof salt, &all,
                          sizeof all);
    memcpy(derived, all.directions, sizeof derived);
    if (EVP_EncryptInit_ex(k->out, EVP_aes_256_gcm(), NULL, derived[!parents].key, NULL) != 1 ||
        EVP_DecryptInit_ex(k->in, EVP_aes_256_gcm(), NULL, derived[parents].key, NULL) != 1)
        abort();
    memcpy(k->salt, derived[!parents].salt, sizeof k->salt);
    k->id = pk_get32(all.id) & 0xffffff;
    k->since = s->time;
    k->sent = k->seen = 0;
    memset(k->window, 0, sizeof k->window);
    k->good = true;
    OPENSSL_cleanse(agreed, sizeof agreed);
    OPENSSL_cleanse(derived, sizeof derived);
    OPENSSL_cleanse(&all, sizeof all);
    return true;
}

static void swap_keys(pk_session_t *s) {
    struct keys k = s->before;
    s->before = s->now;
    s->now = k;
    OPENSSL_cleanse(&k, sizeof k);
}

/* What stands in the head behind type and session, and four bytes that are 0. */
static void iv_of(uint8_t iv[IV], uint32_t counter, uint32_t salt) {
    pk_put32(iv, counter);
    pk_put32(iv + 4, salt);
    memset(iv + 8, 0, IV - 8);
}

static bool encrypt(struct keys *k, uint32_t counter, uint32_t salt, const uint8_t *aad, size_t aad_n, uint8_t *p,
                    size_t n) {
    uint8_t iv[IV];
    int len;
    iv_of(iv, counter, salt);
    return EVP_EncryptInit_ex(k->out, NULL, NULL, NULL, iv) == 1 &&
           EVP_EncryptUpdate(k->out, NULL, &len, aad, (int)aad_n) == 1 &&
           EVP_EncryptUpdate(k->out, p, &len, p, (int)n) == 1 && EVP_EncryptFinal_ex(k->out, p + n, &len) == 1 &&
           EVP_CIPHER_CTX_ctrl(k->out, EVP_CTRL_AEAD_GET_TAG, PK_SEAL_TAG, p + n) == 1;
}

/* n: without the tag, which stands behind. */
static bool decrypt(struct keys *k, uint32_t counter, uint32_t salt, const uint8_t *aad, size_t aad_n, uint8_t *p,
                    size_t n) {
    uint8_t iv[IV];
    int len;
    iv_of(iv, counter, salt);
    return EVP_DecryptInit_ex(k->in, NULL, NULL, NULL, iv) == 1 &&
           EVP_DecryptUpdate(k->in, NULL, &len, aad, (int)aad_n) == 1 &&
           EVP_DecryptUpdate(k->in, p, &len, p, (int)n) == 1 &&
           EVP_CIPHER_CTX_ctrl(k->in, EVP_CTRL_AEAD_SET_TAG, PK_SEAL_TAG, p + n) == 1 &&
           EVP_DecryptFinal_ex(k->in, p + n, &len) == 1;
}

/* ---- the window (RFC 4303, 3.4.3) -------------------------------------------------------------------------------- */

static uint64_t *word_of(struct keys *k, uint64_t counter) { return k->window + counter / 64 % (PK_WINDOW / 64); }
static uint64_t bit_of(uint64_t counter) { return UINT64_C(1) << counter % 64; }

static bool fresh(struct keys *k, uint64_t counter) {
    if (!counter) return false;
    if (counter > k->seen) return true;
    return k->seen - counter < PK_WINDOW - 64 && !(*word_of(k, counter) & bit_of(counter));
}

static void mark_seen(struct keys *k, uint64_t counter) {
    if (counter > k->seen) {
        uint64_t words = counter / 64 - k->seen / 64;
        for (uint64_t i = 1; i <= words && i <= PK_WINDOW / 64; i++)
            k->window[(k->seen / 64 + i) % (PK_WINDOW / 64)] = 0;
        k->seen = counter;
    }
    *word_of(k, counter) |= bit_of(counter);
}

/* ---- the handshake ----------------------------------------------------------------------------------------------- */

static void mac_of(const struct known *k, const void *p, size_t n, uint8_t mac[PK_MAC]) {
    uint8_t whole[EVP_MAX_MD_SIZE];
    size_t length;
    if (EVP_MAC_init(k->mac, NULL, 0, NULL) != 1 || EVP_MAC_update(k->mac, p, n) != 1 ||
        EVP_MAC_final(k->mac, whole, &length, sizeof whole) != 1 || length < PK_MAC)
        abort();
    memcpy(mac, whole, PK_MAC);
}

static void begin_head(const pk_session_t *s, enum pk_type type, struct pk_wire_head *h) {
    h->type = (uint8_t)type;
    h->version = PK_VERSION;
    h->lane = s->lane;
    h->lanes = s->lanes;
    h->how = s->how;
}

/* Writes the MAC, the last PK_MAC of n bytes; n. */
static size_t session_finish(const pk_session_t *s, uint8_t *out, size_t n) {
    mac_of(s->known + s->use, out, n - PK_MAC, out + n - PK_MAC);
    return n;
}

/* By which secret, s->use tells: the answer is by the same one. */
static bool vouched(pk_session_t *s, const void *p, size_t n, const uint8_t mac[PK_MAC]) {
    uint8_t right[PK_MAC];
    for (unsigned i = 0; i < s->knowns; i++) {
        mac_of(s->known + i, p, n, right);
        if (CRYPTO_memcmp(right, mac, PK_MAC)) continue;
        s->use = i;
        return true;
    }
    return false;
}

static bool genuine(pk_session_t *s, const uint8_t *datagram, size_t n, size_t expected) {
    return n == expected && vouched(s, datagram, n - PK_MAC, datagram + n - PK_MAC);
}

/* What a WELCOME's MAC is of. */
struct welcomed {
    struct pk_wire_head head;
    uint8_t child[PK_KEY], parent[PK_KEY];
};

static struct welcomed welcomed_of(const struct pk_wire_head *head, const uint8_t *child, const uint8_t *parent) {
    struct welcomed w = { .head = *head };
    memcpy(w.child, child, PK_KEY);
    memcpy(w.parent, parent, PK_KEY);
    return w;
}

size_t pk_session_begin(pk_session_t *s, void *out) {
    struct pk_wire_hello *h = out;

    begin_head(s, s->role == PK_CHILD ? PK_HELLO : PK_WHO, &h->head);
    /* Until an answer comes the key stays: that to the first HELLO may be on its way. */
    if (s->role == PK_CHILD && !s->begun) {
        fresh_key(s);
        s->begun = true;
    }
    memcpy(h->key, s->key, PK_KEY);
    s->use = s->tries++ % s->knowns;
    return session_finish(s, out, sizeof *h);
}

static enum pk_step session_hello(pk_session_t *s, const void *datagram, size_t n, void *out, size_t *out_n) {
    const struct pk_wire_hello *h = datagram;
    struct pk_wire_welcome *w = out;

    if (!genuine(s, datagram, n, sizeof *h)) return PK_IGNORED;
    begin_head(s, PK_WELCOME, &w->head);
    memcpy(w->parent, s->key, PK_KEY);
    struct welcomed all = welcomed_of(&w->head, h->key, s->key);
    mac_of(s->known + s->use, &all, sizeof all, w->mac);
    *out_n = sizeof *w;
    return PK_ANSWER;
}

static enum pk_step welcome(pk_session_t *s, const void *datagram, size_t n, const struct pk_ready *ready, void *out,
                            size_t *out_n) {
    const struct pk_wire_welcome *w = datagram;
    struct pk_wire_ready *r = out;

    if (!s->begun || n != sizeof *w) return PK_IGNORED;
    struct welcomed all = welcomed_of(&w->head, s->key, w->parent);
    if (!vouched(s, &all, sizeof all, w->mac)) return PK_IGNORED;
    /* One of which nothing has come the parent may not have: then it still uses the one before. */
    bool unconfirmed = s->now.good && !s->now.seen;
    if (!new_keys(s, s->key, w->parent, unconfirmed ? &s->now : &s->before)) return PK_IGNORED;
    s->begun = false;
    s->tries = 0;
    if (!unconfirmed) swap_keys(s);
    s->theirs = PK_VERSION;
    begin_head(s, PK_READY, &r->head);
    memcpy(r->child, s->key, PK_KEY);
    memcpy(r->parent, w->parent, PK_KEY);
    memcpy(r->cache, ready->cache, sizeof r->cache);
    memcpy(r->fingerprints, ready->key, sizeof r->fingerprints);
    pk_put64(r->bytes, ready->bytes);
    if (!encrypt(&s->now, 0, 0, out, READY_OPEN, (uint8_t *)out + READY_OPEN, READY_SEALED)) abort();
    *out_n = session_finish(s, out, sizeof *r);
    fresh_key(s); /* what was agreed on is not to be had from this one again */
    s->news++;
    return PK_ESTABLISHED;
}

static enum pk_step ready_came(pk_session_t *s, const void *datagram, size_t n, struct pk_ready *ready) {
    const struct pk_wire_ready *r = datagram;
    struct pk_wire_ready copy;

    if (n != sizeof *r || memcmp(r->parent, s->key, PK_KEY) || !genuine(s, datagram, n, sizeof *r)) return PK_IGNORED;
    memcpy(&copy, r, sizeof copy);
    if (!new_keys(s, r->child, s->key, &s->before) ||
        !decrypt(&s->before, 0, 0, datagram, READY_OPEN, (uint8_t *)&copy + READY_OPEN, READY_SEALED)) {
        forget_keys(&s->before);
        return PK_IGNORED;
    }
    swap_keys(s);
    forget_keys(&s->before); /* nothing of the child's is still on its way: it has begun anew since */
    fresh_key(s);
    s->theirs = PK_VERSION;
    s->tries = 0;
    s->news++;
    memcpy(ready->cache, copy.cache, sizeof ready->cache);
    memcpy(ready->key, copy.fingerprints, sizeof ready->key);
    ready->bytes = pk_get64(copy.bytes);
    OPENSSL_cleanse(&copy, sizeof copy);
    return PK_ESTABLISHED;
}

enum pk_step pk_session_step(pk_session_t *s, const void *datagram, size_t n, struct pk_ready *ready, void *out,
                             size_t *out_n) {
    const struct pk_wire_head *h = datagram;
    const size_t hello_n = sizeof(struct pk_wire_hello);
    enum pk_type type;

    assert(s->magic == SESSION_MAGIC);
    *out_n = 0;
    if (n < sizeof *h || n > PK_CONTROL_MAX) return PK_IGNORED;
    type = h->type;
    if (h->version != PK_VERSION) {
        if (type != (s->role == PK_PARENT ? PK_HELLO : PK_WHO) || !genuine(s, datagram, n, hello_n)) return PK_IGNORED;
        s->theirs = h->version;
        return PK_OTHER_VERSION;
    }
    if (h->lane != s->lane || h->lanes != s->lanes || h->how != s->how) {
        bool known = (type == PK_HELLO || type == PK_WHO) && genuine(s, datagram, n, hello_n);
        return known && (h->lanes != s->lanes || h->how != s->how) ? PK_DISAGREES : PK_IGNORED;
    }
    if (s->role == PK_PARENT && type == PK_HELLO) return session_hello(s, datagram, n, out, out_n);
    if (s->role == PK_PARENT) return type == PK_READY ? ready_came(s, datagram, n, ready) : PK_IGNORED;
    if (type == PK_WELCOME) return welcome(s, datagram, n, ready, out, out_n);
    return type == PK_WHO && genuine(s, datagram, n, hello_n) ? PK_BEGIN : PK_IGNORED;
}

unsigned pk_session_theirs(const pk_session_t *s) { return s->theirs; }

uint64_t pk_session_news(const pk_session_t *s) { return s->news; }

bool pk_session_established(const pk_session_t *s) { return s->now.good; }

void pk_session_forget(pk_session_t *s) {
    if (s->before.good) forget_keys(&s->before);
}

void pk_session_end(pk_session_t *s) {
    pk_session_forget(s);
    if (s->now.good) forget_keys(&s->now);
}

void pk_session_time(pk_session_t *s, uint64_t now) {
    s->time = now;
    if (s->now.good && now - s->now.since >= PK_REJECT_US) forget_keys(&s->now);
    if (s->before.good && now - s->before.since >= PK_REJECT_US) forget_keys(&s->before);
}

/* The child's is the first to be old, so that not both ask for another one. */
static uint64_t old_at(const pk_session_t *s) {
    return s->now.since + PK_RENEW_US + (s->role == PK_PARENT ? PK_ASK_US : 0);
}

uint64_t pk_session_due(const pk_session_t *s) {
    if (!s->now.good) return UINT64_MAX;
    return s->time < old_at(s) ? old_at(s) : s->now.since + PK_REJECT_US;
}

/* ---- sealed ------------------------------------------------------------------------------------------------------ */

size_t pk_seal(pk_session_t *s, enum pk_type type, void *out, size_t n) {
    struct keys *k = &s->now;
    uint8_t *p = out;
    uint32_t salt;

    assert(s->magic == SESSION_MAGIC && type >= PK_TRAIN);
    if (!k->good || k->sent >= WORN) return 0;
    k->sent++;
    pk_put32(p, (uint32_t)type << 24 | k->id);
    pk_put32(p + 4, (uint32_t)k->sent);
    pk_put32(p + 8, 0);
    salt = (uint32_t)HighwayHash64(k->salt, (const char *)p, PK_SEAL_HEAD + n);
    pk_put32(p + 8, salt);
    if (!encrypt(k, (uint32_t)k->sent, salt, p, PK_SEAL_HEAD, p + PK_SEAL_HEAD, n)) abort();
    return PK_SEAL_MORE + n;
}

uint64_t pk_session_sent(const pk_session_t *s) { return s->now.sent; }
uint64_t pk_session_seen(const pk_session_t *s) { return s->now.seen; }
bool pk_session_worn(const pk_session_t *s) {
    const struct keys *k = &s->now;
    return k->good && (k->sent > WORN / 2 || k->seen > WORN / 2 || s->time >= old_at(s));
}

enum pk_type pk_open(pk_session_t *s, void *datagram, size_t n, struct pk_opened *o) {
    uint8_t *p = datagram;
    uint32_t head;
    struct keys *k = &s->now;

    assert(s->magic == SESSION_MAGIC);
    *o = (struct pk_opened){ .inside = p + PK_SEAL_HEAD };
    if (n < PK_SEAL_MORE) return 0;
    head = pk_get32(p);
    o->number = pk_get32(p + 4);
    o->n = n - PK_SEAL_MORE;
    if (!k->good || k->id != (head & 0xffffff)) {
        k = &s->before;
        o->before = true;
    }
    if (!k->good || k->id != (head & 0xffffff)) {
        o->stranger = true;
        return 0;
    }
    if (!fresh(k, o->number) ||
        !decrypt(k, (uint32_t)o->number, pk_get32(p + 8), p, PK_SEAL_HEAD, p + PK_SEAL_HEAD, o->n))
        return 0;
    s->news += !o->before && o->number > k->seen;
    mark_seen(k, o->number);
    return head >> 24;
}
