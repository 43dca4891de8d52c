/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_out.h - where a side puts what it makes, and what it counts.
 *
 * `packet` gets a piece for the tun (virtio-net header first) in parts, `datagram` a datagram for the peer, with its
 * DSCP and ECN (pk_packet.h); both are done with it when they return. Neither says whether it went: what does not is
 * lost as on any network.
 */
#ifndef FAIRGATE_PK_OUT_H
#define FAIRGATE_PK_OUT_H

#include "base/base_log.h"

#include <stddef.h>
#include <stdint.h>

#include <sys/uio.h>

struct pk_tuple;

/* A connection's packets come to the device; or go by it, since they are no HTTP; or are TLS. */
enum pk_bypass { PK_LED, PK_BYPASS, PK_BYPASS_TLS };

struct pk_out {
    void  *context;
    void (*packet)(void *context, const struct iovec *part, int parts);
    void (*datagram)(void *context, const void *bytes, size_t n, uint8_t tos);
    void (*say)(void *context, enum base_log_priority p, const char *sentence);         /* for the log */
    /* Parent: from now on, of packets of that server to that client.  NULL: all of them come. */
    void (*bypass)(void *context, const struct pk_tuple *t, enum pk_bypass how);
};

/* Every counter of a side, once: COUNTER(name, sentence). */
#define PK_COUNTERS \
    COUNTER(pieces, "pieces that came from the device, of one segment or many") \
    COUNTER(bytes_in, "bytes of these, without the virtio-net headers") \
    COUNTER(native_bytes, "bytes that went on as packets of their own, segment by segment with its headers") \
    COUNTER(datagrams_out, "datagrams to the peer") \
    COUNTER(datagram_bytes_out, "bytes of these, with IP and UDP headers") \
    COUNTER(datagrams_in, "datagrams from the peer that were its") \
    COUNTER(refused, "datagrams that were not: forged, replayed, of an old session") \
    COUNTER(kept, "segments that may be kept, or have something that may") \
    COUNTER(hits, "segments that went as fingerprints, or came as such") \
    COUNTER(saved, "parent: bytes that the link did not carry") \
    COUNTER(stored, "segments and blocks that were new and are kept now") \
    COUNTER(trains, "trains that went, or came") \
    COUNTER(again, "segments that were sent again, and went as they were") \
    COUNTER(wanted, "fingerprints that the child had no payload for") \
    COUNTER(recovered, "payloads that went to the child, or came, because it asked") \
    COUNTER(dropped, "trains that waited for a payload in vain, held nonsense, or had a mark that can't be told") \
    COUNTER(late, "packets and trains that waited for others of their flow") \
    COUNTER(lost, "connections of which something was missing, or that are not HTTP") \
    COUNTER(unfollowed_bytes, "parent: bytes of connections that are not HTTP, or of which something is missing") \
    COUNTER(tls_bytes, "parent: of these, of connections that are TLS") \
    COUNTER(bypassed_bytes, "parent: of these, what the kernel let go by, since it is no HTTP; with headers") \
    COUNTER(unasked_bytes, "parent: bytes of servers on connections whose requests do not come by here") \
    COUNTER(unkept_bytes, "parent: bytes of servers in HTTP of which nothing may be kept") \
    COUNTER(private_bytes, "parent: of these, of responses that say so: private, no-store, Set-Cookie and the like") \
    COUNTER(encoded_bytes, "parent: of these, of responses with a Content-Encoding that do not") \
    COUNTER(sessions, "sessions established") \
    COUNTER(outages, "times that what was sent did not reach the child any more") \
    COUNTER(advanced, "parent: trains that were watched, and acknowledged by their client") \
    COUNTER(stopped, "parent: times that trains were stopped, since connections stood still after them")

struct pk_counters {
#define COUNTER(name, sentence) uint64_t name;
    PK_COUNTERS
#undef COUNTER
};

#define PK_UDP_MORE(family_is_6) ((family_is_6) ? 48u : 28u)       /* bytes of IP and UDP headers */

#endif
