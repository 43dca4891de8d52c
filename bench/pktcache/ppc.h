/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ppc.h - partial packet caching, to be compared with: what is repeated is found wherever it stands in a packet (N. T.
 * Spring, D. Wetherall, A Protocol-Independent Technique for Eliminating Redundant Network Traffic, SIGCOMM 2000).
 *
 * Of each window of `window` bytes a Rabin fingerprint is computed (a polynomial over GF(2), one step a byte); those
 * whose low bits are zero, one of 2^SAMPLE on average, are looked up; where one is found, bytes are compared and the
 * match is extended in both directions.  A match goes as 12 bytes: where it begins, its length, the place of the
 * fingerprint in it, 48 bits of the fingerprint.  All that were looked up are entered then.
 *
 * PPC_TEXTBOOK does that as it is told.  PPC_TUNED finds and sends the same.  It computes the fingerprints of four
 * parts of the packet at a time, since each step waits for the one before; it selects without a branch; it asks the
 * memory for all entries, and for where the packet will be stored, before it looks at the first.
 */
#ifndef FAIRGATE_PPC_H
#define FAIRGATE_PPC_H

#include <stddef.h>
#include <stdint.h>

enum ppc_how { PPC_TEXTBOOK, PPC_TUNED };

enum { PPC_MATCH = 12, PPC_HEAD = 2, PPC_PAYLOAD_MAX = 9000 };

struct ppc;

struct ppc *ppc_make(uint64_t bytes, unsigned window, enum ppc_how how);       /* NULL: no memory */
void        ppc_free(struct ppc **p);

/*
 * Encodes a payload to out, which has room for PPC_PAYLOAD_MAX bytes, and stores it.  The length: n if it goes as it is
 * (nothing to be gained); fewer bytes otherwise.
 */
size_t ppc_encode(struct ppc *p, const uint8_t *bytes, size_t n, uint8_t *out);
/* The other side: encoded, or as it is if `raw`.  The length, or 0: a fingerprint is not known, or it is nonsense. */
size_t ppc_decode(struct ppc *p, const uint8_t *bytes, size_t n, int raw, uint8_t *out);

#endif
