/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_sign.h"

#include "ndn_key.h"

#include <pthread.h>
#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/err.h>

/* ---- SHA-256 ----------------------------------------------------------------------------------------------------- */

static pthread_once_t digest_once = PTHREAD_ONCE_INIT;
static EVP_MD *digest_sha256; /* asking libcrypto for it each time costs as much as a small digest */

static void digest_setup(void) { digest_sha256 = EVP_MD_fetch(NULL, "SHA256", NULL); }

/* Never a digest that is none: what libcrypto refuses here is memory, or an installation without SHA-256. */
static void digest_of(const struct ndn_span *first, const struct ndn_span *spans, size_t n,
                      uint8_t digest[NDN_DIGEST]) {
    EVP_MD_CTX *c;

    pthread_once(&digest_once, digest_setup);
    c = EVP_MD_CTX_new();
    if (!c || !digest_sha256 || EVP_DigestInit_ex2(c, digest_sha256, NULL) != 1) abort();
    if (first && EVP_DigestUpdate(c, first->at, first->n) != 1) abort();
    for (size_t i = 0; i < n; i++)
        if (EVP_DigestUpdate(c, spans[i].at, spans[i].n) != 1) abort();
    if (EVP_DigestFinal_ex(c, digest, NULL) != 1) abort();
    EVP_MD_CTX_free(c);
}

void ndn_digest(const struct ndn_span *spans, size_t n, uint8_t digest[NDN_DIGEST]) {
    digest_of(NULL, spans, n, digest);
}

/* RFC 2104: a pad before what is covered, and the other pad before the digest of that. */
static void sign_hmac(const struct ndn_key *key, const struct ndn_span *covered, size_t n, uint8_t mac[NDN_DIGEST]) {
    const struct ndn_span inner = { key->inner, sizeof key->inner }, outer = { key->outer, sizeof key->outer },
                          within = { mac, NDN_DIGEST };

    digest_of(&inner, covered, n, mac);
    digest_of(&outer, &within, 1, mac);
}

/* ---- pairs of keys ----------------------------------------------------------------------------------------------- */

/* Ed25519 wants all of it in one piece: that of `covered` itself, or `room`.  False: it is longer than any packet. */
static bool sign_gather(const struct ndn_span *covered, size_t n, uint8_t room[NDN_PACKET_MAX], struct ndn_span *all) {
    struct ndn_out o = ndn_out_into(room, NDN_PACKET_MAX);

    if (n == 1) {
        *all = *covered;
        return true;
    }
    for (size_t i = 0; i < n; i++) ndn_put(&o, covered[i].at, covered[i].n);
    *all = (struct ndn_span){ room, o.n };
    return !o.full;
}

static const char *sign_digest_of(const struct ndn_key *key) { return key->type == NDN_SIGNED_ECDSA ? "SHA256" : NULL; }

static size_t sign_pair(const struct ndn_key *key, const struct ndn_span *covered, size_t n,
                        uint8_t sig[NDN_SIGNATURE_MAX]) {
    uint8_t room[NDN_PACKET_MAX];
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    struct ndn_span all;
    size_t made = NDN_SIGNATURE_MAX;

    if (!c || !sign_gather(covered, n, room, &all) ||
        EVP_DigestSignInit_ex(c, NULL, sign_digest_of(key), NULL, NULL, key->pair, NULL) != 1 ||
        EVP_DigestSign(c, sig, &made, all.at, all.n) != 1)
        made = 0;
    EVP_MD_CTX_free(c);
    ERR_clear_error();
    return made;
}

static bool sign_pair_agrees(const struct ndn_key *key, const struct ndn_span *covered, size_t n, struct ndn_span sig) {
    uint8_t room[NDN_PACKET_MAX];
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    struct ndn_span all;
    bool yes = c && sign_gather(covered, n, room, &all) &&
               EVP_DigestVerifyInit_ex(c, NULL, sign_digest_of(key), NULL, NULL, key->pair, NULL) == 1 &&
               EVP_DigestVerify(c, sig.at, sig.n, all.at, all.n) == 1;

    EVP_MD_CTX_free(c);
    ERR_clear_error();
    return yes;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

size_t ndn_sign(const struct ndn_key *key, const struct ndn_span *covered, size_t n, uint8_t sig[NDN_SIGNATURE_MAX]) {
    if (!key->can_sign) return 0;
    switch (key->type) {
    case NDN_SIGNED_DIGEST: ndn_digest(covered, n, sig); return NDN_DIGEST;
    case NDN_SIGNED_HMAC: sign_hmac(key, covered, n, sig); return NDN_DIGEST;
    case NDN_SIGNED_ECDSA:
    case NDN_SIGNED_ED25519: return sign_pair(key, covered, n, sig);
    case NDN_SIGNED_RSA: break;
    }
    return 0;
}

bool ndn_verify(const struct ndn_key *key, uint64_t type, const struct ndn_span *covered, size_t n,
                struct ndn_span sig) {
    uint8_t right[NDN_SIGNATURE_MAX];

    if (type != (uint64_t)key->type) return false;
    switch (key->type) {
    case NDN_SIGNED_DIGEST:
    case NDN_SIGNED_HMAC:
        return sig.n == NDN_DIGEST && ndn_sign(key, covered, n, right) == NDN_DIGEST &&
               !CRYPTO_memcmp(sig.at, right, NDN_DIGEST);
    case NDN_SIGNED_ECDSA:
    case NDN_SIGNED_ED25519: return sign_pair_agrees(key, covered, n, sig);
    case NDN_SIGNED_RSA: break;
    }
    return false;
}
