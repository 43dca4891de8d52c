/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_bypass.h - connections that go by in the kernel: a table of those whose packets need not come to our device.  The
 * daemon's threads write it, the parent's programs (pk_hook.h) read it, and count what they let pass.
 *
 *     a SYN                        comes: with a server's another connection of these ports begins
 *     of a connection in the table goes its plain way; a server's packets are counted, as TLS or not
 *     all else                     comes
 *
 * Connections are told apart by a hash of 62 bits that everybody can compute: who makes two meet has nothing of it, as
 * packets that pass lack nothing but savings.  Some bits of it are the place; one that has the place of another
 * displaces it, whose packets come again.
 */
#ifndef FAIRGATE_PK_BYPASS_H
#define FAIRGATE_PK_BYPASS_H

#include "pk_bpf.h"
#include "pktcache/pk_out.h"
#include "pktcache/pk_packet.h"

typedef struct pk_bypass_table pk_bypass_table_t;

/* ---- for programs ------------------------------------------------------------------------------------------------ */

/* The table as a map, empty.  A descriptor, or -1 and errno. */
int      pk_bypass_make_map(void);
/*
 * Jumps to `pass` if the packet is of a connection in that map.  asks: it goes to a server, and is not counted.
 *
 * Register 6 is the packet, 9 its protocol in network order; on the stack stand its IP header, of IPv4 20 bytes, of
 * IPv6 40, and the first 14 bytes of its TCP header at least.  Uses 7 and 8.
 */
void     pk_bypass_write(struct pk_bpf *b, int map, int ip, int tcp, bool asks, struct pk_bpf_jumps *pass);

/* ---- for the daemon ---------------------------------------------------------------------------------------------- */

/* What that map holds, which may be closed then.  NULL and errno. */
pk_bypass_table_t *pk_bypass_open(int map);
void     pk_bypass_close(pk_bypass_table_t **t);
/* By any thread.  That connection's packets, t: from its server to its client, come; or do not, and are counted. */
void     pk_bypass_tell(pk_bypass_table_t *table, const struct pk_tuple *t, enum pk_bypass how);
/* Bytes of packets that went by, with headers; *tls: of these, of what is TLS. */
uint64_t pk_bypass_bytes(pk_bypass_table_t *table, uint64_t *tls);

#endif
