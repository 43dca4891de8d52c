/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_session.h"

#include "pk_bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

enum { SESSION_MAGIC = 0x504b5345, KEY = 32, IV = 12 };

/* Of a READY: what is authenticated only, and what is sealed behind that. */
#define READY_OPEN   offsetof(struct pk_wire_ready, cache)
#define READY_SEALED (offsetof(struct pk_wire_ready, tag) - READY_OPEN)

#define WORN (UINT64_C(1) << 40) /* datagrams of a session, far below what GCM bears (NIST SP 800-38D, 8.3) */

struct keys {
    bool good;
    uint32_t id; /* 24 bits, told in each datagram */
    EVP_CIPHER_CTX *out, *in;
    uint64_t sent, seen; /* counters */
    uint64_t window[PK_WINDOW / 64];
};

struct pk_session {
    unsigned magic;
    enum pk_role role;
    uint8_t lane, lanes, how;
    uint8_t theirs; /* the other side's version */
    struct pk_secret secret;
    uint8_t mac_key[KEY];
    uint8_t nonce[PK_NONCE]; /* ours, of the present attempt or the next READY */
    bool begun;              /* child: nonce was sent, no WELCOME came yet */
    struct keys now, before;
};

static void fresh_nonce(pk_session_t *s) {
    if (RAND_bytes(s->nonce, PK_NONCE) != 1) abort(); /* no session without */
}

static bool keys_make(struct keys *k) {
    k->out = EVP_CIPHER_CTX_new();
    k->in = EVP_CIPHER_CTX_new();
    return k->out && k->in;
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
    s->secret = *secret;
    pk_secret_derive(secret, "fairgate pktcache handshake", NULL, 0, s->mac_key, KEY);
    fresh_nonce(s);
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
    OPENSSL_cleanse(s, sizeof *s);
    free(s);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void new_keys(pk_session_t *s, const uint8_t *child, const uint8_t *parent, struct keys *k) {
    uint8_t salt[2 * PK_NONCE + 1], derived[2 * KEY + 4];
    const uint8_t *down = derived, *up = derived + KEY;

    memcpy(salt, child, PK_NONCE);
    memcpy(salt + PK_NONCE, parent, PK_NONCE);
    salt[2 * PK_NONCE] = s->lane;
    pk_secret_derive(&s->secret, "fairgate pktcache session", salt, sizeof salt, derived, sizeof derived);
    if (EVP_EncryptInit_ex(k->out, EVP_aes_256_gcm(), NULL, s->role == PK_PARENT ? down : up, NULL) != 1 ||
        EVP_DecryptInit_ex(k->in, EVP_aes_256_gcm(), NULL, s->role == PK_PARENT ? up : down, NULL) != 1)
        abort();
    k->id = pk_get64(derived + 2 * KEY - 4) & 0xffffff;
    k->sent = k->seen = 0;
    memset(k->window, 0, sizeof k->window);
    k->good = true;
    s->theirs = PK_VERSION;
    OPENSSL_cleanse(derived, sizeof derived);
}

static void swap_keys(pk_session_t *s) {
    struct keys k = s->before;
    s->before = s->now;
    s->now = k;
}

static void iv_of(uint8_t iv[IV], uint64_t counter) {
    memset(iv, 0, IV - 8);
    pk_put64(iv + IV - 8, counter);
}

static bool encrypt(struct keys *k, uint64_t counter, const uint8_t *aad, size_t aad_n, uint8_t *p, size_t n) {
    uint8_t iv[IV];
    int len;
    iv_of(iv, counter);
    return EVP_EncryptInit_ex(k->out, NULL, NULL, NULL, iv) == 1 &&
           EVP_EncryptUpdate(k->out, NULL, &len, aad, (int)aad_n) == 1 &&
           EVP_EncryptUpdate(k->out, p, &len, p, (int)n) == 1 && EVP_EncryptFinal_ex(k->out, p + n, &len) == 1 &&
           EVP_CIPHER_CTX_ctrl(k->out, EVP_CTRL_AEAD_GET_TAG, PK_SEAL_TAG, p + n) == 1;
}

/* n: without the tag, which stands behind. */
static bool decrypt(struct keys *k, uint64_t counter, const uint8_t *aad, size_t aad_n, uint8_t *p, size_t n) {
    uint8_t iv[IV];
    int len;
    iv_of(iv, counter);
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

static void mac_of(const pk_session_t *s, const void *p, size_t n, uint8_t mac[PK_MAC]) {
    uint8_t whole[EVP_MAX_MD_SIZE];
    if (!HMAC(EVP_sha256(), s->mac_key, KEY, p, n, whole, NULL)) abort();
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
    mac_of(s, out, n - PK_MAC, out + n - PK_MAC);
    return n;
}

static bool genuine(const pk_session_t *s, const uint8_t *datagram, size_t n, size_t expected) {
    uint8_t mac[PK_MAC];
    if (n != expected) return false;
    mac_of(s, datagram, n - PK_MAC, mac);
    return !CRYPTO_memcmp(mac, datagram + n - PK_MAC, PK_MAC);
}

size_t pk_session_begin(pk_session_t *s, void *out) {
    struct pk_wire_hello *h = out;

    begin_head(s, s->role == PK_CHILD ? PK_HELLO : PK_WHO, &h->head);
    /* Until an answer comes the nonce stays: that to the first HELLO may be on its way. */
    if (s->role == PK_CHILD && !s->begun) {
        fresh_nonce(s);
        s->begun = true;
    }
    memcpy(h->nonce, s->nonce, PK_NONCE);
    return session_finish(s, out, sizeof *h);
}

static enum pk_step session_hello(pk_session_t *s, const void *datagram, size_t n, void *out, size_t *out_n) {
    const struct pk_wire_hello *h = datagram;
    struct pk_wire_welcome *w = out;

    if (!genuine(s, datagram, n, sizeof *h)) return PK_IGNORED;
    begin_head(s, PK_WELCOME, &w->head);
    memcpy(w->child, h->nonce, PK_NONCE);
    memcpy(w->parent, s->nonce, PK_NONCE);
    *out_n = session_finish(s, out, sizeof *w);
    return PK_ANSWER;
}

static enum pk_step welcome(pk_session_t *s, const void *datagram, size_t n, const struct pk_ready *ready, void *out,
                            size_t *out_n) {
    const struct pk_wire_welcome *w = datagram;
    struct pk_wire_ready *r = out;

    if (!s->begun || !genuine(s, datagram, n, sizeof *w) || memcmp(w->child, s->nonce, PK_NONCE)) return PK_IGNORED;
    s->begun = false;
    swap_keys(s);
    new_keys(s, s->nonce, w->parent, &s->now);
    begin_head(s, PK_READY, &r->head);
    memcpy(r->child, s->nonce, PK_NONCE);
    memcpy(r->parent, w->parent, PK_NONCE);
    memcpy(r->cache, ready->cache, sizeof r->cache);
    pk_put64(r->bytes, ready->bytes);
    if (!encrypt(&s->now, 0, out, READY_OPEN, (uint8_t *)out + READY_OPEN, READY_SEALED)) abort();
    *out_n = session_finish(s, out, sizeof *r);
    return PK_ESTABLISHED;
}

static enum pk_step ready_came(pk_session_t *s, const void *datagram, size_t n, struct pk_ready *ready) {
    const struct pk_wire_ready *r = datagram;
    struct pk_wire_ready copy;

    if (n != sizeof *r || memcmp(r->parent, s->nonce, PK_NONCE) || !genuine(s, datagram, n, sizeof *r))
        return PK_IGNORED;
    memcpy(&copy, r, sizeof copy);
    new_keys(s, r->child, s->nonce, &s->before);
    if (!decrypt(&s->before, 0, datagram, READY_OPEN, (uint8_t *)&copy + READY_OPEN, READY_SEALED)) {
        s->before.good = false;
        return PK_IGNORED;
    }
    swap_keys(s);
    s->before.good = false; /* nothing of the child's is still on its way: it has begun anew since */
    fresh_nonce(s);
    memcpy(ready->cache, copy.cache, sizeof ready->cache);
    ready->bytes = pk_get64(copy.bytes);
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

bool pk_session_established(const pk_session_t *s) { return s->now.good; }

void pk_session_forget(pk_session_t *s) { s->before.good = false; }

/* ---- sealed ------------------------------------------------------------------------------------------------------ */

size_t pk_seal(pk_session_t *s, enum pk_type type, void *out, size_t n) {
    struct keys *k = &s->now;
    uint8_t *p = out;

    assert(s->magic == SESSION_MAGIC && type >= PK_TRAIN);
    if (!k->good || k->sent >= WORN) return 0;
    k->sent++;
    pk_put64(p + 4, k->sent);
    pk_put32(p, (uint32_t)type << 24 | k->id);
    if (!encrypt(k, k->sent, p, PK_SEAL_HEAD, p + PK_SEAL_HEAD, n)) abort();
    return PK_SEAL_MORE + n;
}

uint64_t pk_session_sent(const pk_session_t *s) { return s->now.sent; }
uint64_t pk_session_seen(const pk_session_t *s) { return s->now.seen; }
bool pk_session_worn(const pk_session_t *s) { return s->now.sent > WORN / 2 || s->now.seen > WORN / 2; }

enum pk_type pk_open(pk_session_t *s, void *datagram, size_t n, struct pk_opened *o) {
    uint8_t *p = datagram;
    uint32_t head;
    struct keys *k = &s->now;

    assert(s->magic == SESSION_MAGIC);
    *o = (struct pk_opened){ .inside = p + PK_SEAL_HEAD };
    if (n < PK_SEAL_MORE) return 0;
    head = pk_get32(p);
    o->number = pk_get64(p + 4);
    o->n = n - PK_SEAL_MORE;
    if (!k->good || k->id != (head & 0xffffff)) {
        k = &s->before;
        o->before = true;
    }
    if (!k->good || k->id != (head & 0xffffff)) {
        o->stranger = true;
        return 0;
    }
    if (!fresh(k, o->number) || !decrypt(k, o->number, p, PK_SEAL_HEAD, p + PK_SEAL_HEAD, o->n)) return 0;
    mark_seen(k, o->number);
    return head >> 24;
}
