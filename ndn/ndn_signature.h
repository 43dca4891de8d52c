/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_signature.h - the two signature elements of Data and Interests, for ndn_data.c and ndn_interest.c.
 *
 *     SignatureInfo   SignatureType [KeyLocator: Name or KeyDigest]; of a signed Interest [Nonce] [Time] [SeqNum]
 *     SignatureValue  what ndn_sign makes of the spans that are covered
 */
#ifndef FAIRGATE_NDN_SIGNATURE_H
#define FAIRGATE_NDN_SIGNATURE_H

#include "ndn_packet.h"

/* `info`: value of the info element.  NULL, or a static sentence.  Spans of what is covered are the caller's. */
const char *ndn_signature_read(struct ndn_span info, bool of_interest, struct ndn_signature *s);

/* SignatureType and KeyLocator, as the key has them. */
size_t ndn_signed_by_size(const struct ndn_key *key);
void   ndn_put_signed_by(struct ndn_out *o, const struct ndn_key *key);
/* The value's element, of that type; it may turn out smaller.  Where it can't be made `o` is full. */
size_t ndn_signature_size(const struct ndn_key *key);
void   ndn_put_signature(struct ndn_out *o, uint32_t type, const struct ndn_key *key, const struct ndn_span *covered,
                         size_t n);

#endif
