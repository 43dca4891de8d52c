/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_parent.h - the side near the servers: looks for payloads that the child has, and sends their fingerprints (EEOD
 * paper, II-D).
 *
 * What becomes of a piece of a response, segment by segment:
 *
 *     may be kept, is in the store         a fingerprint in a train
 *     may be kept, is new                  stored; as it is, and the child is told to store it
 *     slices of known blocks (pk_cut.h)    in a train, with what else is in the segment, if that is little
 *     has bytes of new blocks              as it is, and the child is told to gather them
 *     may not be kept, and is small        a literal in a train
 *     all else                             as it is: acknowledgements, SYN, RST, what is sent again (pk_again.h), what
 *                                          is not TCP
 *
 * Order within a flow stays: its train leaves before anything of the flow that goes as it is.  A train waits for at
 * most `hold`; it leaves at once where a response ends.
 *
 * At work: there is a session, the child is reached (pk_liveness.h), neither end stands aside, and connections go on
 * (pk_advance.h).
 */
#ifndef FAIRGATE_PK_PARENT_H
#define FAIRGATE_PK_PARENT_H

#include "pk_config.h"
#include "pk_session.h"
#include "pk_side.h"
#include "pk_store.h"

/* All but `out` stays the caller's and must live as long.  NULL: no memory. */
pk_side_t *pk_parent_make(const struct pk_config *c, pk_store_t *store, pk_session_t *session,
                          const struct pk_out *out);

#endif
