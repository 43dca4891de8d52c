/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_private.h - Interests with parameters, which make their name their own: pages for one visitor.
 *
 * ApplicationParameters hold lines "Field: value", as of HTTP, of the fields that ccn_field_allowed names; and, where
 * the Interest is not signed with a nonce, a line "Ccn-Nonce: " with at least CCN_NONCE_DIGITS hexadecimal digits,
 * without which somebody else's Interest could have the same name.  A line "Ccn-Key: ", and 2 * NDN_SEAL_KEY
 * hexadecimal digits, is the public key that the answer is to be sealed for (ndn/ndn_seal.h); one with which there
 * would be no secret is refused.  What the lines say crosses the network as it is: a cookie is seen by whoever forwards
 * it.
 *
 * A signature counts only if it is by a key that CcnTrust names; one that is a digest says nothing about who signed,
 * and gives a nonce.
 */
#ifndef FAIRGATE_CCN_PRIVATE_H
#define FAIRGATE_CCN_PRIVATE_H

#include "ndn/ndn_packet.h"

#define CCN_NONCE_DIGITS   16u
#define CCN_PARAMETERS_MAX 4096u        /* bytes */

struct ccn_private {
    struct ndn_span       fields;       /* lines; views of the Interest */
    const struct ndn_key *signer;       /* one that is trusted; NULL: none */
    uint64_t              made;         /* milliseconds since 1970, if there is a signer */
    bool                  has_key;
    uint8_t               key[NDN_SEAL_KEY];    /* what the answer is sealed for, if has_key */
};

/* Of an Interest that has parameters; `trusted`: n keys.  0, or an HTTP status and *why, a sentence. */
int ccn_private_read(const struct ndn_interest *i, const struct ndn_key *const *trusted, unsigned n,
                     struct ccn_private *p, const char **why);
/* The field with which lines begin, which go on behind it; what is none is passed over.  False: there is none left. */
bool ccn_private_next(struct ndn_span *fields, struct ndn_span *name, struct ndn_span *value);
/* The value of such a field among lines; n = 0: it is not there. */
struct ndn_span ccn_private_field(struct ndn_span fields, const char *name);

#endif
