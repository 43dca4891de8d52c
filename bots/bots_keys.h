/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bots/bots_keys.h - a directory of keys: a JSON Web Key Set (RFC 7517, 5), of which those for Ed25519 count (RFC
 * 8037).
 *
 *     {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "JrQLj5P_...", "nbf": 1712793600, "exp": 1715385600}]}
 *
 * A key is known by its thumbprint (RFC 7638, RFC 8037 A.3), which is reckoned here: what a directory says in `kid` is
 * not believed.  Keys of other kinds and for other uses are passed over.  So are, with a word about it: one that is
 * written wrongly, one whose private half stands beside it, and the example key of RFC 9421, whose private half
 * everybody has.
 *
 * TRUST.  The bytes are a stranger's, whose directory an operator has named.
 */
#ifndef FAIRGATE_BOTS_KEYS_H
#define FAIRGATE_BOTS_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define BOTS_KEYS_MAX  32u              /* of one agent; a directory with more is refused */
#define BOTS_KEYS_FILE 65536u           /* bytes of a directory */

struct bots_key {
    uint8_t  x[32], thumbprint[32];
    int64_t  not_before, not_after;     /* seconds since 1970 */
};

/* Of a public key. */
void bots_thumbprint(const uint8_t x[32], uint8_t thumbprint[32]);
/*
 * 0: *count of them are in keys[], and *error may be a sentence about one that was passed over.  -1: it is no such set,
 * and *error says why.
 */
int  bots_keys_read(const char *text, size_t n, struct bots_key keys[BOTS_KEYS_MAX], unsigned *count, char **error);

#endif
