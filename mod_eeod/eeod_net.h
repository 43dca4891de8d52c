/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_net.h - the network end of a connection that carries blocks (EEOD paper II-D, III, V-C).
 *
 * It takes the place of httpd's core output filter on that connection, and hands to it whatever is not its own, so that
 * a connection without blocks goes as it always did.  What it promises of a response that was announced with
 * eeod_net_begin:
 *
 * - The last byte of a block ends a segment (sendmsg with MSG_EOR): the HTTP header, each block between two boundary
 *   buckets, the response. Linux keeps that through segmentation offload and retransmissions.
 * - A cacheable block leaves in whole segments, counted from its first byte, whatever the sizes in which it comes and
 *   how much room the socket and the client have; only its last segment may be shorter.  So long as that is not known
 *   to be the last, what does not fill a segment is held, also at a flush.
 * - A block that is unique to a visitor, and a header, leave when httpd flushes; each such part ends a segment.
 * - Nothing here blocks but where the core output filter would: a flush, more than FlushMaxThreshold bytes in memory,
 *   more than FlushMaxPipelined requests.
 *
 * Departure from the paper, which marks cacheable packets with a bit in the IP ID: the first bytes of a segment tell,
 * as docs/mod_eeod.md has it.
 */
#ifndef FAIRGATE_EEOD_NET_H
#define FAIRGATE_EEOD_NET_H

#include <httpd.h>
#include <util_filter.h>

struct eeod_net;

void eeod_net_register(void);               /* register_hooks */
void eeod_net_optional(void);               /* post_config: what other modules offer */

/* The network end of this connection, made at its first use; NULL when another network filter is in the way. */
struct eeod_net *eeod_net_of(conn_rec *c);

/* The response that comes next is ours, up to its end-of-request bucket. */
void eeod_net_begin(struct eeod_net *n, conn_rec *c);

#endif
