/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_child.h - the side near the clients: makes packets of trains, and stores the payloads that the parent says are to
 * be stored (EEOD paper, II-D).
 *
 * ORDER.  Packets and trains come by two ways, and nothing tells which was first on the link.  Within a flow sequence
 * numbers do: what is ahead of its flow waits for a moment (pk_reorder.h), then goes all the same, since what it waits
 * for may be lost.
 *
 * WHAT IS MISSING.  A train goes up to the first fingerprint that is not in the store; the rest waits, and the parent
 * is asked for the payload.  If that does not come in time, the rest is thrown away: the server sends it again, and
 * what is sent again goes as it is.
 *
 * At work: there is a session, its parent sends nothing that is not in our configuration, and neither end stands aside.
 * While it is mute, or its daemon stands aside, the parent hears nothing else, and sends packets as they are.
 */
#ifndef FAIRGATE_PK_CHILD_H
#define FAIRGATE_PK_CHILD_H

#include "pk_config.h"
#include "pk_session.h"
#include "pk_side.h"
#include "pk_store.h"

/*
 * All but `out` and `ready` stays the caller's and must live as long.  ready: this process's cache.  NULL: no memory.
 */
pk_side_t *pk_child_make(const struct pk_config *c, const struct pk_fingerprint_key *key, pk_store_t *store,
                         pk_session_t *session, const struct pk_ready *ready, const struct pk_out *out);

#endif
