/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_seal.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#define SEAL_PURPOSE "fairgate sealed page 1"
enum { SEAL_SECRET = 32, SEAL_NONCE = 12 };

struct ndn_seal {
    EVP_CIPHER_CTX *cipher; /* keyed */
    bool seals;             /* else it opens */
    uint64_t next;          /* segment to be sealed */
};

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static bool seal_public_of(const EVP_PKEY *pair, uint8_t open[NDN_SEAL_KEY]) {
    size_t n = NDN_SEAL_KEY;
    return EVP_PKEY_get_raw_public_key(pair, open, &n) == 1 && n == NDN_SEAL_KEY;
}

bool ndn_seal_draw(struct ndn_seal_pair *pair) {
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
    size_t n = NDN_SEAL_KEY;
    bool made = key && seal_public_of(key, pair->open) && EVP_PKEY_get_raw_private_key(key, pair->secret, &n) == 1 &&
                n == NDN_SEAL_KEY;

    EVP_PKEY_free(key);
    ERR_clear_error();
    return made;
}

/*
 * All encodings of the points whose order divides 8, on the curve and on its twist (RFC 7748, 6.1): 0, 1 and p - 1, two
 * more, and p and p + 1, which are 0 and 1 once more.
 */
static const uint8_t seal_small[][NDN_SEAL_KEY] = {
    { 0 },
    { 1 },
    { 0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
      0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00 },
    { 0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
      0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57 },
    { 0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f },
    { 0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f },
    { 0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f },
};

bool ndn_seal_key_is_small(const uint8_t key[NDN_SEAL_KEY]) {
    uint8_t read[NDN_SEAL_KEY];

    memcpy(read, key, sizeof read);
    read[NDN_SEAL_KEY - 1] &= 0x7f; /* X25519 passes over the highest bit */
    for (size_t i = 0; i < sizeof seal_small / sizeof *seal_small; i++)
        if (!memcmp(read, seal_small[i], sizeof read)) return true;
    return false;
}

/* False too where the other's key is one of the few with which anybody's secret is zero. */
static bool seal_agree(EVP_PKEY *ours, const uint8_t theirs[NDN_SEAL_KEY], uint8_t shared[SEAL_SECRET]) {
    EVP_PKEY *other = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, theirs, NDN_SEAL_KEY);
    EVP_PKEY_CTX *c = other ? EVP_PKEY_CTX_new(ours, NULL) : NULL;
    size_t n = SEAL_SECRET;
    bool agreed = c && EVP_PKEY_derive_init(c) == 1 && EVP_PKEY_derive_set_peer(c, other) == 1 &&
                  EVP_PKEY_derive(c, shared, &n) == 1 && n == SEAL_SECRET;

    EVP_PKEY_CTX_free(c);
    EVP_PKEY_free(other);
    return agreed;
}

static bool seal_derive(const uint8_t shared[SEAL_SECRET], const uint8_t digest[NDN_DIGEST],
                        const uint8_t caller[NDN_SEAL_KEY], const uint8_t server[NDN_SEAL_KEY],
                        uint8_t secret[SEAL_SECRET]) {
    uint8_t info[sizeof SEAL_PURPOSE - 1 + 2 * NDN_SEAL_KEY];
    size_t purpose = sizeof SEAL_PURPOSE - 1;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)(uintptr_t) "SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)shared, SEAL_SECRET),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)digest, NDN_DIGEST),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, sizeof info),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *c = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    bool derived;

    memcpy(info, SEAL_PURPOSE, purpose);
    memcpy(info + purpose, caller, NDN_SEAL_KEY);
    memcpy(info + purpose + NDN_SEAL_KEY, server, NDN_SEAL_KEY);
    derived = c && EVP_KDF_derive(c, secret, SEAL_SECRET, params) == 1;
    EVP_KDF_CTX_free(c);
    EVP_KDF_free(kdf);
    return derived;
}

/* The cipher under that secret, for one direction. */
static bool seal_begin(struct ndn_seal *s, const uint8_t secret[SEAL_SECRET]) {
    s->cipher = EVP_CIPHER_CTX_new();
    return s->cipher && EVP_CipherInit_ex2(s->cipher, EVP_aes_256_gcm(), secret, NULL, s->seals, NULL) == 1;
}

static struct ndn_seal *seal_make(EVP_PKEY *ours, bool seals, const uint8_t theirs[NDN_SEAL_KEY],
                                  const uint8_t caller[NDN_SEAL_KEY], const uint8_t server[NDN_SEAL_KEY],
                                  const uint8_t digest[NDN_DIGEST]) {
    uint8_t shared[SEAL_SECRET], secret[SEAL_SECRET];
    struct ndn_seal *s = calloc(1, sizeof *s);
    bool made;

    if (s) s->seals = seals;
    made = s && seal_agree(ours, theirs, shared) && seal_derive(shared, digest, caller, server, secret) &&
           seal_begin(s, secret);
    OPENSSL_cleanse(shared, sizeof shared);
    OPENSSL_cleanse(secret, sizeof secret);
    ERR_clear_error();
    if (!made && s) ndn_seal_free(&s);
    return s;
}

struct ndn_seal *ndn_seal_new(const uint8_t caller[NDN_SEAL_KEY], const uint8_t digest[NDN_DIGEST],
                              uint8_t told[NDN_SEAL_KEY]) {
    EVP_PKEY *ours = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
    struct ndn_seal *s =
        ours && seal_public_of(ours, told) ? seal_make(ours, true, caller, caller, told, digest) : NULL;

    EVP_PKEY_free(ours);
    ERR_clear_error();
    return s;
}

struct ndn_seal *ndn_seal_of(const struct ndn_seal_pair *caller, const uint8_t server[NDN_SEAL_KEY],
                             const uint8_t digest[NDN_DIGEST]) {
    EVP_PKEY *ours = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, caller->secret, NDN_SEAL_KEY);
    struct ndn_seal *s = ours ? seal_make(ours, false, server, caller->open, server, digest) : NULL;

    EVP_PKEY_free(ours);
    ERR_clear_error();
    return s;
}

void ndn_seal_free(struct ndn_seal **s) {
    if (*s) EVP_CIPHER_CTX_free((*s)->cipher);
    free(*s);
    *s = NULL;
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

/* The segment's number as its nonce, and what goes with it. */
static bool seal_address(struct ndn_seal *s, struct ndn_span page, uint64_t segment, uint64_t last) {
    uint8_t nonce[SEAL_NONCE] = { 0 }, final[16];
    struct ndn_out o = ndn_out_into(final, sizeof final);
    int n;

    for (int i = 0; i < 8; i++) nonce[SEAL_NONCE - 1 - i] = (uint8_t)(segment >> 8 * i);
    ndn_put_component_number(&o, NDN_SEGMENT_COMPONENT, last);
    return page.n <= NDN_PACKET_MAX && EVP_CipherInit_ex2(s->cipher, NULL, NULL, nonce, -1, NULL) == 1 &&
           (!page.n || EVP_CipherUpdate(s->cipher, NULL, &n, page.at, (int)page.n) == 1) &&
           EVP_CipherUpdate(s->cipher, NULL, &n, final, (int)o.n) == 1;
}

static bool seal_text(struct ndn_seal *s, struct ndn_span in, uint8_t *out) {
    int n = 0;
    return !in.n || (EVP_CipherUpdate(s->cipher, out, &n, in.at, (int)in.n) == 1 && (size_t)n == in.n);
}

bool ndn_seal_put(struct ndn_seal *s, struct ndn_span page, uint64_t last, struct ndn_span in, uint8_t *out) {
    uint8_t none[1];
    int n;

    if (!s->seals || s->next > last || in.n > NDN_PACKET_MAX || !seal_address(s, page, s->next++, last) ||
        !seal_text(s, in, out) || EVP_CipherFinal_ex(s->cipher, none, &n) != 1 ||
        EVP_CIPHER_CTX_ctrl(s->cipher, EVP_CTRL_AEAD_GET_TAG, NDN_SEAL_TAG, out + in.n) != 1) {
        s->seals = false;
        ERR_clear_error();
        return false;
    }
    return true;
}

bool ndn_seal_take(struct ndn_seal *s, struct ndn_span page, uint64_t segment, uint64_t last, struct ndn_span in,
                   uint8_t *out) {
    struct ndn_span text = { in.at, in.n - NDN_SEAL_TAG };
    uint8_t none[1], tag[NDN_SEAL_TAG];
    bool right;
    int n;

    if (EVP_CIPHER_CTX_is_encrypting(s->cipher) || in.n < NDN_SEAL_TAG || in.n > NDN_PACKET_MAX) return false;
    memcpy(tag, in.at + text.n, sizeof tag);
    right = seal_address(s, page, segment, last) && seal_text(s, text, out) &&
            EVP_CIPHER_CTX_ctrl(s->cipher, EVP_CTRL_AEAD_SET_TAG, NDN_SEAL_TAG, tag) == 1 &&
            EVP_CipherFinal_ex(s->cipher, none, &n) == 1;
    ERR_clear_error();
    return right;
}

/* ---- what stands before the page --------------------------------------------------------------------------------- */

enum { HEAD_STATUS, HEAD_MEDIA_TYPE, HEAD_LOCATION, HEAD_ENCODING, HEAD_FIELDS };

static const uint32_t head_types[HEAD_FIELDS] = { NDN_OUR_STATUS, NDN_OUR_MEDIA_TYPE, NDN_OUR_LOCATION,
                                                  NDN_OUR_ENCODING };

static size_t head_text_size(uint32_t type, struct ndn_span text) {
    return text.n ? ndn_element_size(type, text.n) : 0;
}

static size_t head_value_size(const struct ndn_seal_head *h) {
    return (h->status == NDN_NO_NUMBER ? 0 : ndn_number_size(NDN_OUR_STATUS, h->status)) +
           head_text_size(NDN_OUR_MEDIA_TYPE, h->media_type) + head_text_size(NDN_OUR_LOCATION, h->location) +
           head_text_size(NDN_OUR_ENCODING, h->encoding);
}

size_t ndn_seal_head_size(const struct ndn_seal_head *h) { return ndn_element_size(NDN_OUR_HEAD, head_value_size(h)); }

void ndn_seal_head_put(struct ndn_out *o, const struct ndn_seal_head *h) {
    ndn_put_head(o, NDN_OUR_HEAD, head_value_size(h));
    if (h->status != NDN_NO_NUMBER) ndn_put_number(o, NDN_OUR_STATUS, h->status);
    if (h->media_type.n) ndn_put_element(o, NDN_OUR_MEDIA_TYPE, h->media_type.at, h->media_type.n);
    if (h->location.n) ndn_put_element(o, NDN_OUR_LOCATION, h->location.at, h->location.n);
    if (h->encoding.n) ndn_put_element(o, NDN_OUR_ENCODING, h->encoding.at, h->encoding.n);
}

const char *ndn_seal_head_read(struct ndn_span *in, struct ndn_seal_head *h) {
    struct ndn_element whole, f[HEAD_FIELDS];
    struct ndn_span rest = *in;
    const char *wrong;

    *h = (struct ndn_seal_head){ .status = NDN_NO_NUMBER };
    if (!ndn_next(&rest, &whole) || whole.type != NDN_OUR_HEAD) return "a sealed page must begin with its head";
    wrong = ndn_fields(whole.value, head_types, HEAD_FIELDS, ndn_is_critical, f);
    if (wrong) return wrong;
    if (f[HEAD_STATUS].type && !ndn_number(f[HEAD_STATUS].value, &h->status)) return "a status must be a number";
    if (f[HEAD_MEDIA_TYPE].value.n > NDN_MEDIA_TYPE_MAX) return "a media type must have 128 bytes at most";
    if (f[HEAD_LOCATION].value.n > NDN_LOCATION_MAX) return "a location must have 1024 bytes at most";
    if (f[HEAD_ENCODING].value.n > NDN_ENCODING_MAX) return "an encoding must have 64 bytes at most";
    h->media_type = f[HEAD_MEDIA_TYPE].value;
    h->location = f[HEAD_LOCATION].value;
    h->encoding = f[HEAD_ENCODING].value;
    *in = rest;
    return NULL;
}
