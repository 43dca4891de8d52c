/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_child.h - the side near the clients: makes packets of trains, and stores the payloads that the parent says are to be stored (EEOD paper, II-D).
 *
 * As pk_parent.h, it knows no socket, no device and no clock; one thread at a time; nothing allocates after pk_child_make, but
 * libcrypto at a handshake.
 *
 * ORDER.  Packets and trains come by two ways, and which was first on the link is not known.  The sequence numbers of a flow tell: what is ahead of
 * what its flow has had waits for a moment (pk_reorder.h); then it goes, since what is missing may be lost.
 *
 * WHAT IS MISSING.  A train with a fingerprint that is not in the store goes up to there; the rest waits, and the parent is asked for the payload.  If that does
 * not come in time, the rest is thrown away: the server sends it again, and what is sent again goes as it is.
 */
#ifndef FAIRGATE_PK_CHILD_H
#define FAIRGATE_PK_CHILD_H

#include "pk_begun.h"
#include "pk_config.h"
#include "pk_flows.h"
#include "pk_out.h"
#include "pk_session.h"
#include "pk_store.h"
#include "pk_why.h"

typedef struct pk_child pk_child_t;

/* All but `out` and `ready` stays the caller's and must live as long.  ready: this process's cache.  NULL: no memory. */
pk_child_t *pk_child_make(const struct pk_config *c, const struct pk_fingerprint_key *key, pk_store_t *store, pk_session_t *session, const struct pk_ready *ready,
                          const struct pk_out *out);
void        pk_child_free(pk_child_t **c);

/* A piece from the device, a datagram from the peer; both may be changed.  When pk_child_tick wants to be called, UINT64_MAX: not for any time's sake. */
void     pk_child_packet(pk_child_t *c, void *piece, size_t bytes, uint64_t now);
void     pk_child_datagram(pk_child_t *c, void *datagram, size_t bytes, uint64_t now);
uint64_t pk_child_due(const pk_child_t *c);
void     pk_child_tick(pk_child_t *c, uint64_t now);

/* Whether packets can be made for clients.  While they can't, the parent hears nothing, and sends packets as they are. */
void     pk_child_mute(pk_child_t *c, bool mute);

/* The daemon stands aside (pk_way.h), or not any more: PK_WHY_NOTHING.  The parent is told so, and hears nothing else. */
void     pk_child_aside(pk_child_t *c, enum pk_why why, uint64_t now);

/* Whether there is a session, its parent sends nothing that is not in our configuration, and neither end stands aside.  PK_WHY_NOTHING, or why not. */
enum pk_why pk_child_why(const pk_child_t *c);
static inline bool pk_child_at_work(const pk_child_t *c) { return pk_child_why(c) == PK_WHY_NOTHING; }
/* Connections that do not come about, through the device (pk_way.h). */
const struct pk_begun *pk_child_begun(const pk_child_t *c);
const struct pk_counters *pk_child_counters(const pk_child_t *c);
pk_flows_t *pk_child_flows(pk_child_t *c);

#endif
