/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_sight.h - packets of the configured servers and clients as the machine's devices have them, whatever the packet
 * filter does to them: a packet socket, which is open only while nothing comes from our device, so that it costs
 * nothing when there is work.
 *
 * Anybody may have made what is seen.  It is counted, and believed no further than pk_way.h says: at worst packets take
 * their plain way for a while.
 */
#ifndef FAIRGATE_PK_SIGHT_H
#define FAIRGATE_PK_SIGHT_H

#include "pktcache/pk_begun.h"
#include "pktcache/pk_config.h"
#include "pktcache/pk_way.h"

typedef struct pk_sight pk_sight_t;

/* NULL and errno: it can't be had (CAP_NET_RAW).  parent: both directions are to come to the device. */
pk_sight_t *pk_sight_open(const struct pk_config *c, bool parent);
/* Reads what is there.  asked: pk_tuple_mark of connections that have begun before, n of them. */
void        pk_sight_read(pk_sight_t *p, struct pk_sights *s, const uint32_t *asked, unsigned n, uint64_t now);
void        pk_sight_close(pk_sight_t **p);

#endif
