/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_parent.h - the side near the servers: looks for payloads that the child has, and sends their fingerprints (EEOD paper, II-D).
 *
 * It knows no socket, no device and no clock: `now` is in microseconds and an argument.  One thread at a time.  Nothing allocates
 * after pk_parent_make, but libcrypto at a handshake.
 *
 * What becomes of a piece of a response, segment by segment:
 *
 *     may be kept, is in the store         a fingerprint in a train
 *     may be kept, is new                  stored; as it is, and the child is told to store it
 *     may not be kept, and is small        a literal in a train
 *     all else                             as it is: acknowledgements, SYN, RST, what is sent again, what is not TCP
 *
 * Order within a flow stays: its train leaves before anything of the flow that goes as it is.  A train waits for at most `hold`; it leaves at once where a
 * response ends.
 */
#ifndef FAIRGATE_PK_PARENT_H
#define FAIRGATE_PK_PARENT_H

#include "pk_begun.h"
#include "pk_config.h"
#include "pk_flows.h"
#include "pk_out.h"
#include "pk_session.h"
#include "pk_store.h"
#include "pk_why.h"

typedef struct pk_parent pk_parent_t;

/* All but `out` stays the caller's and must live as long.  NULL: no memory. */
pk_parent_t *pk_parent_make(const struct pk_config *c, const struct pk_fingerprint_key *key, pk_store_t *store, pk_session_t *session, const struct pk_out *out);
void         pk_parent_free(pk_parent_t **p);

/* A piece from the device; it may be changed. */
void     pk_parent_packet(pk_parent_t *p, void *piece, size_t bytes, uint64_t now);
/* A datagram from the peer; it may be changed. */
void     pk_parent_datagram(pk_parent_t *p, void *datagram, size_t bytes, uint64_t now);
/* When pk_parent_tick wants to be called, UINT64_MAX: not for any time's sake. */
uint64_t pk_parent_due(const pk_parent_t *p);
void     pk_parent_tick(pk_parent_t *p, uint64_t now);

/* The daemon stands aside (pk_way.h), or not any more: PK_WHY_NOTHING.  The child is told. */
void     pk_parent_aside(pk_parent_t *p, enum pk_why why, uint64_t now);

/* Whether fingerprints are sent: there is a session, the child is heard, neither end stands aside, and connections go on (pk_advance.h).  PK_WHY_NOTHING, or why not. */
enum pk_why pk_parent_why(const pk_parent_t *p);
static inline bool pk_parent_at_work(const pk_parent_t *p) { return pk_parent_why(p) == PK_WHY_NOTHING; }
/* Connections that do not come about, through the device (pk_way.h). */
const struct pk_begun *pk_parent_begun(const pk_parent_t *p);
const struct pk_counters *pk_parent_counters(const pk_parent_t *p);
pk_flows_t *pk_parent_flows(pk_parent_t *p);

#endif
