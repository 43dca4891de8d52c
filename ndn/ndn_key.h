/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_key.h - what stands behind struct ndn_key (ndn_sign.h): ndn_key.c makes it, ndn_sign.c uses it. */
#ifndef FAIRGATE_NDN_KEY_H
#define FAIRGATE_NDN_KEY_H

#include "ndn_sign.h"

#include <openssl/evp.h>

#define NDN_DIGEST_BLOCK 64u            /* bytes that SHA-256 takes at a time */

struct ndn_key {
    enum ndn_signature_type type;
    bool            can_sign;
    struct ndn_name name;               /* in name_bytes */
    uint8_t         name_bytes[NDN_KEY_NAME_MAX];
    uint8_t         inner[NDN_DIGEST_BLOCK], outer[NDN_DIGEST_BLOCK];  /* hmac: the secret in RFC 2104's two pads */
    EVP_PKEY       *pair;               /* ecdsa, ed25519 */
};

#endif
