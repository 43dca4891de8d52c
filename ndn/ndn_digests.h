/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_digests.h - SHA-256 of many texts.
 *
 * A page of two thousand segments has as many digests, and where the processor has no instructions for SHA-256 that is
 * three quarters of all that its segments cost.  But each of these digests is the same steps on other numbers: so they
 * are computed side by side, 16 in AVX-512's registers or 8 in AVX2's, three to six times faster.  Elsewhere, and where
 * libcrypto has the processor's instructions, each is libcrypto's.
 */
#ifndef FAIRGATE_NDN_DIGESTS_H
#define FAIRGATE_NDN_DIGESTS_H

#include "ndn_sign.h"

#define NDN_LANES_MAX 16u

/* digests[i] of texts[i], any number of them; they may differ in length. */
void ndn_digests(const struct ndn_span *texts, size_t n, uint8_t (*digests)[NDN_DIGEST]);

/* How many are computed side by side here: 16, 8, or 1. */
unsigned ndn_digest_lanes(void);
/* The same in that many lanes, for tests; false: this processor has not so many.  At most as many texts as lanes. */
bool ndn_digests_in(unsigned lanes, const struct ndn_span *texts, size_t n, uint8_t (*digests)[NDN_DIGEST]);

#endif
