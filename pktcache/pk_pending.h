/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_pending.h - trains that wait at the child: for a payload that was asked for, or for another train of their flow
 * that does.  They stand in the order in which they came.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_PENDING_H
#define FAIRGATE_PK_PENDING_H

#include "pk_fingerprint.h"
#include "pk_packet.h"

typedef struct pk_pending pk_pending_t;

struct pk_pending_train {
    struct pk_tuple       tuple;
    uint32_t              n, done;      /* bytes; records that went already */
    uint8_t               tos;          /* of its datagram */
    bool                  lacking;      /* otherwise it waits for one of its flow that came before */
    struct pk_fingerprint lacks;        /* the first payload that the next record lacks */
    uint64_t              until;
    uint8_t               bytes[PK_DATAGRAM_MAX];
};

pk_pending_t *pk_pending_make(void);        /* NULL: no memory */
void          pk_pending_free(pk_pending_t **p);

/* lacks NULL: another one of its flow waits, which is to go first.  false: there is no room. */
bool          pk_pending_add(pk_pending_t *p, const struct pk_tuple *tuple, const void *bytes, size_t n, uint8_t tos,
                             uint32_t done, const struct pk_fingerprint *lacks, uint64_t until);
/* Whether one of this flow waits. */
bool          pk_pending_has(const pk_pending_t *p, const struct pk_tuple *tuple);
/* The i-th; NULL: so many do not wait. */
struct pk_pending_train *pk_pending_at(pk_pending_t *p, unsigned i);
/* Whether none of its flow waits before the i-th. */
bool          pk_pending_is_next(const pk_pending_t *p, unsigned i);
/* The i-th does not wait any more. */
void          pk_pending_release(pk_pending_t *p, unsigned i);
/* When the first one has waited long enough. */
uint64_t      pk_pending_due(const pk_pending_t *p);

#endif
