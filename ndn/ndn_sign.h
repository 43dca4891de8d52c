/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_sign.h - signatures of Data and Interests (NDN packet format 0.3, "Signature"), by libcrypto.
 *
 *     digest      SHA-256 of what is covered; says that it came whole, not from whom
 *     hmac        HMAC-SHA-256 with a secret that both sides have
 *     ecdsa       P-256 with SHA-256, DER; 72 bytes at most
 *     ed25519     64 bytes
 *
 * A key that was made is read-only: threads may use one at the same time.  Nothing here allocates once a key is made,
 * but libcrypto does: a few small pieces for each digest and hmac, many for ecdsa and ed25519.
 */
#ifndef FAIRGATE_NDN_SIGN_H
#define FAIRGATE_NDN_SIGN_H

#include "ndn_name.h"

enum ndn_signature_type {
    NDN_SIGNED_DIGEST = 0,
    NDN_SIGNED_RSA = 1,                 /* known, not made and not believed */
    NDN_SIGNED_ECDSA = 3,
    NDN_SIGNED_HMAC = 4,
    NDN_SIGNED_ED25519 = 5
};

#define NDN_SIGNATURE_MAX   80u         /* bytes of a SignatureValue that we make */
#define NDN_KEY_NAME_MAX    512u        /* bytes of a key's name */
#define NDN_COVERED         2u          /* spans that a signature covers, at most */

/* SHA-256 of spans one behind the other. */
void ndn_digest(const struct ndn_span *spans, size_t n, uint8_t digest[NDN_DIGEST]);

struct ndn_key;                         /* made by one of these, freed by ndn_key_free */

/* The key of those who have none: digests.  Never NULL; not to be freed. */
const struct ndn_key *ndn_key_none(void);
/*
 * Reads a key from a file: PEM of an EC P-256 or Ed25519 key, private (which can sign) or public; or, for HMAC, lines
 * of hexadecimal digits, 16 to 64 bytes.  A file with a secret that group or others may read or change is refused, and
 * one that is locked by a password.  `name`: the key locator's, as text, of one component at least.  NULL and *error.
 */
struct ndn_key *ndn_key_read(const char *path, const char *name, char **error);
/* NULL: no memory, or the name is longer than NDN_KEY_NAME_MAX. */
struct ndn_key *ndn_key_hmac(const void *secret, size_t n, const struct ndn_name *name);
void ndn_key_free(struct ndn_key **key);

enum ndn_signature_type ndn_key_type(const struct ndn_key *key);
struct ndn_name         ndn_key_name(const struct ndn_key *key);        /* of no components: digests */
bool                    ndn_key_can_sign(const struct ndn_key *key);

/*
 * Bytes of the signature of what `covered` holds, put into sig; 0: it could not be made: the key is a public one, or
 * libcrypto refuses; where it refuses a digest, which is without memory, the process ends.
 */
size_t ndn_sign(const struct ndn_key *key, const struct ndn_span *covered, size_t n, uint8_t sig[NDN_SIGNATURE_MAX]);
/* Whether `sig`, of that type, is this key's over `covered`. */
bool ndn_verify(const struct ndn_key *key, uint64_t type, const struct ndn_span *covered, size_t n,
                struct ndn_span sig);

#endif
