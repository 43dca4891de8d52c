/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_missing.h - payloads that the child lacks, and asks for: after a moment, since what is missing may be in a packet
 * that is here but was not read yet, and some times again if no answer comes.  An answer that comes when its train is
 * given up is taken all the same, for the next train.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_MISSING_H
#define FAIRGATE_PK_MISSING_H

#include "pk_fingerprint.h"

#define PK_MISSING_MAX  64u
#define PK_MISSING_WAIT 400000u     /* microseconds that a train waits for a payload */

typedef struct pk_missing pk_missing_t;

pk_missing_t *pk_missing_make(void);        /* NULL: no memory */
void          pk_missing_free(pk_missing_t **m);

/* Nothing happens if it is being asked for already, or if there is no room. */
void          pk_missing_add(pk_missing_t *m, const struct pk_fingerprint *fp, uint64_t now);
bool          pk_missing_has(pk_missing_t *m, const struct pk_fingerprint *fp);
/* It is here.  Whether it was missing. */
bool          pk_missing_drop(pk_missing_t *m, const struct pk_fingerprint *fp);

/*
 * Takes what a PK_PAYLOAD holds.  When its payload is whole: its bytes, good until the next call, and *fp and *bytes;
 * it is not missing any more then.  Nobody has compared it with its fingerprint.  NULL: not yet, or it was not missing.
 */
const void   *pk_missing_part(pk_missing_t *m, const void *inside, size_t n, uint64_t now, struct pk_fingerprint *fp,
                              uint32_t *bytes);

uint64_t      pk_missing_due(const pk_missing_t *m);
/*
 * Fingerprints that are to be asked for now, PK_TOKEN bytes each; how many, at most PK_MISSING_MAX.  What is too old is
 * forgotten.
 */
uint32_t      pk_missing_ask(pk_missing_t *m, uint64_t now, uint8_t *fps);

#endif
