/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_key.h"

#include "base/base_error.h"
#include "base/base_secret.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>

enum { SECRET_LEAST = 16, SECRET_MOST = 64 };

/* ---- hmac -------------------------------------------------------------------------------------------------------- */

/* RFC 2104; a secret that is longer than a block counts by its digest. */
static void key_set_secret(struct ndn_key *key, const void *secret, size_t n) {
    const struct ndn_span whole = { secret, n };
    uint8_t block[NDN_DIGEST_BLOCK] = { 0 };

    if (n > sizeof block) ndn_digest(&whole, 1, block);
    else if (n) memcpy(block, secret, n);
    for (size_t i = 0; i < sizeof block; i++) {
        key->inner[i] = block[i] ^ 0x36;
        key->outer[i] = block[i] ^ 0x5c;
    }
    OPENSSL_cleanse(block, sizeof block);
    key->type = NDN_SIGNED_HMAC;
    key->can_sign = true;
}

/* Bytes that the digits stand for; -1: the file holds something else, or too much. */
static int key_parse_secret(const struct base_secret *f, uint8_t secret[SECRET_MOST]) {
    int digits = 0;

    for (size_t i = 0; i < f->n; i++) {
        int digit = base_secret_digit(f->text[i]);
        if (digit < 0 && (f->text[i] == '\n' || f->text[i] == '\r')) continue;
        if (digit < 0 || digits == 2 * SECRET_MOST) return -1;
        secret[digits / 2] = (uint8_t)(digits % 2 ? secret[digits / 2] << 4 | digit : digit);
        digits++;
    }
    return digits % 2 ? -1 : digits / 2;
}

static int key_read_secret(struct ndn_key *key, const struct base_secret *f, char **error) {
    uint8_t secret[SECRET_MOST];
    int n = key_parse_secret(f, secret);

    if (n >= SECRET_LEAST) key_set_secret(key, secret, (size_t)n);
    OPENSSL_cleanse(secret, sizeof secret);
    if (n >= SECRET_LEAST) return base_secret_ours(f, error);
    return base_fail(error,
                     "must hold a key in PEM, EC P-256 or Ed25519, or a secret of %d to %d bytes in hexadecimal "
                     "digits",
                     SECRET_LEAST, SECRET_MOST);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* Nobody is there who could be asked. */
static int key_no_password(char *room, int n, int writing, void *asked) {
    (void)room, (void)n, (void)writing;
    *(bool *)asked = true;
    return -1;
}

static int key_check_pair(struct ndn_key *key, char **error) {
    char group[32];

    if (EVP_PKEY_is_a(key->pair, "ED25519")) {
        key->type = NDN_SIGNED_ED25519;
    } else if (EVP_PKEY_is_a(key->pair, "EC") && EVP_PKEY_get_group_name(key->pair, group, sizeof group, NULL) == 1 &&
               (!strcmp(group, "prime256v1") || !strcmp(group, "P-256"))) {
        key->type = NDN_SIGNED_ECDSA;
    } else {
        return base_fail(error, "holds a key of another kind; it must be EC P-256 or Ed25519");
    }
    return 0;
}

static int key_read_pem(struct ndn_key *key, const struct base_secret *f, char **error) {
    BIO *text = BIO_new_mem_buf(f->text, (int)f->n);
    bool asked = false;
    int rv = -1;

    if (!text) return base_fail(error, "out of memory; give the process more");
    key->pair = PEM_read_bio_PrivateKey(text, NULL, key_no_password, &asked);
    key->can_sign = key->pair;
    if (!key->pair) {
        (void)BIO_reset(text);
        key->pair = PEM_read_bio_PUBKEY(text, NULL, key_no_password, &asked);
    }
    BIO_free(text);
    if (asked) base_fail(error, "is locked by a password; it must hold the key without one");
    else if (!key->pair) base_fail(error, "holds no key in PEM that libcrypto can read");
    else rv = key_check_pair(key, error);
    ERR_clear_error();
    return !rv && key->can_sign ? base_secret_ours(f, error) : rv;
}

/* ---- making and freeing ------------------------------------------------------------------------------------------ */

const struct ndn_key *ndn_key_none(void) {
    static const struct ndn_key none = { .type = NDN_SIGNED_DIGEST, .can_sign = true };
    return &none;
}

static int key_read(struct ndn_key *key, const char *path, char **error) {
    struct base_secret f;
    int rv = base_secret_read(&f, path, error);

    if (!rv)
        rv = memmem(f.text, f.n, "-----BEGIN ", 11) ? key_read_pem(key, &f, error) : key_read_secret(key, &f, error);
    base_secret_wipe(&f);
    if (rv) base_place(error, path, 0);
    return rv;
}

struct ndn_key *ndn_key_read(const char *path, const char *name, char **error) {
    struct ndn_key *key = calloc(1, sizeof *key);
    struct ndn_out out;

    if (!key) {
        base_fail(error, "out of memory; give the process more");
        return NULL;
    }
    out = ndn_out_into(key->name_bytes, sizeof key->name_bytes);
    if (ndn_name_parse(name, &out, &key->name, error)) {
        ndn_key_free(&key);
    } else if (!key->name.n) {
        base_fail(error, "name %s: a key's name has a component, as in /example/key", name);
        ndn_key_free(&key);
    } else if (key_read(key, path, error)) {
        ndn_key_free(&key);
    }
    return key;
}

struct ndn_key *ndn_key_hmac(const void *secret, size_t n, const struct ndn_name *name) {
    struct ndn_key *key = name->bytes.n <= NDN_KEY_NAME_MAX ? calloc(1, sizeof *key) : NULL;

    if (!key) return NULL;
    key->name = (struct ndn_name){ { key->name_bytes, name->bytes.n }, name->n };
    if (name->bytes.n) memcpy(key->name_bytes, name->bytes.at, name->bytes.n);
    key_set_secret(key, secret, n);
    return key;
}

void ndn_key_free(struct ndn_key **key) {
    if (!*key) return;
    EVP_PKEY_free((*key)->pair);
    OPENSSL_cleanse(*key, sizeof **key);
    free(*key);
    *key = NULL;
}

enum ndn_signature_type ndn_key_type(const struct ndn_key *key) { return key->type; }

struct ndn_name ndn_key_name(const struct ndn_key *key) {
    return key->name;
}

bool ndn_key_can_sign(const struct ndn_key *key) { return key->can_sign; }
