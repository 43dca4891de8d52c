/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_wants.h - payloads that the child lacks: to be asked for after a moment, since they may be in a packet that is here but was not read yet; once again if no
 * answer comes.  What comes later than a train can wait is taken all the same, for the next train.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_WANTS_H
#define FAIRGATE_PK_WANTS_H

#include "pk_fingerprint.h"

#include <stdbool.h>
#include <stddef.h>

#define PK_WANTS_MAX 64u
#define PK_PART_HEAD 20u
#define PK_WANT_MOST 400000u        /* microseconds that a train waits for one */

typedef struct pk_wants pk_wants_t;

pk_wants_t *pk_wants_make(void);    /* NULL: no memory */
void        pk_wants_free(pk_wants_t **w);

/* Nothing happens if it is being asked for already, or as many others are. */
void        pk_wants_add(pk_wants_t *w, const struct pk_fingerprint *fp, uint64_t now);
bool        pk_wants_has(pk_wants_t *w, const struct pk_fingerprint *fp);
/* It is here.  Whether it was wanted. */
bool        pk_wants_drop(pk_wants_t *w, const struct pk_fingerprint *fp);

/*
 * What a PK_PAYLOAD holds: fingerprint (16), bytes of the payload (2), where this part begins (2): PK_PART_HEAD bytes; and the part.  When its payload is whole: its bytes, good until the next
 * call, and *fp and *bytes; it is not wanted any more then.  Nobody has compared it with its fingerprint.  NULL: not yet, or not wanted.
 */
const void *pk_wants_part(pk_wants_t *w, const uint8_t *inside, size_t n, uint64_t now, struct pk_fingerprint *fp, uint32_t *bytes);

uint64_t    pk_wants_due(const pk_wants_t *w);
/* Fingerprints that are to be asked for now, PK_TOKEN bytes each; how many, at most PK_WANTS_MAX.  What is too old is forgotten. */
uint32_t    pk_wants_ask(pk_wants_t *w, uint64_t now, uint8_t *fps);

#endif
