/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_packet.h - a packet as a tun device with virtio-net headers hands it over:  IPv4 or IPv6, TCP, and its payload in
 * the segments that the wire will have.  With segmentation offload one piece holds many segments under one header
 * (VIRTIO 1.2, 5.1.6).
 *
 *     struct virtio_net_hdr | IP header | TCP header | payload: segments of `segment` bytes, the last may be shorter
 *
 * Whatever is read here comes from outside: pk_packet_parse looks at no byte before it knows that it is there, and what
 * it does not understand to the last bit is PK_OTHER, which goes on as it is.  Pointers lead into the piece.  Nothing
 * allocates.
 */
#ifndef FAIRGATE_PK_PACKET_H
#define FAIRGATE_PK_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/virtio_net.h>

#define PK_PIECE_MAX    65550u      /* bytes of a piece, its virtio-net header included */
#define PK_HEADERS_MAX  120u        /* bytes of an IP and a TCP header with all their options */
#define PK_SEGMENTS_MAX 128u        /* of a piece that is looked into */

enum pk_tcp_flag {
    PK_FIN = 1,
    PK_SYN = 2,
    PK_RST = 4,
    PK_PSH = 8,
    PK_ACK = 16,
    PK_URG = 32,
    PK_ECE = 64,
    PK_CWR = 128
};

enum pk_kind { PK_OTHER, PK_TCP };

/*
 * Where a packet comes from and goes to; IPv4 addresses as ::ffff:a.b.c.d.  No padding: it is hashed and compared as
 * bytes.
 */
struct pk_tuple {
    uint8_t  from[16], to[16];
    uint16_t from_port, to_port;    /* as on the wire */
};

struct pk_packet {
    const uint8_t *ip;              /* the IP header; PK_OTHER: NULL, and nothing else counts */
    uint32_t       length;          /* bytes from there on */
    uint32_t       headers;         /* of these, both headers */
    uint32_t       ip_header;       /* of these, the IP header */
    uint32_t       payload;         /* length - headers */
    uint32_t       segment;         /* bytes of each segment but the last; of the only one: payload */
    uint32_t       segments;        /* 0: no payload */
    uint32_t       seq, next;       /* of the first byte; behind the last one, and a FIN counts as one */
    uint32_t       ack;             /* counts if flags has PK_ACK */
    uint8_t        flags;           /* enum pk_tcp_flag */
    bool           checked;         /* the kernel answers for its checksums */
};

/* Bytes of a piece without its virtio-net header. */
static inline size_t pk_piece_ip(size_t bytes) {
    return bytes > sizeof(struct virtio_net_hdr) ? bytes - sizeof(struct virtio_net_hdr) : 0;
}

enum pk_kind pk_packet_parse(struct pk_packet *p, const void *piece, size_t bytes);

/* Segment i's payload, *n bytes. */
static inline const uint8_t *pk_packet_segment(const struct pk_packet *p, uint32_t i, uint32_t *n) {
    uint32_t at = i * p->segment;
    *n = i + 1 == p->segments ? p->payload - at : p->segment;
    return p->ip + p->headers + at;
}

void pk_packet_tuple(const struct pk_packet *p, struct pk_tuple *t);
void pk_tuple_turn(struct pk_tuple *t);                                     /* as the other side sees it */

/* Whether both checksums are right, of a packet of one segment at most. */
bool pk_packet_intact(const struct pk_packet *p);

/*
 * A header by itself, so that a packet can be made anew from it.  In `bytes` what can be computed is zero (length,
 * checksums), and so are PSH and FIN: only the last segment of a run has these, so they are told beside it.
 */
struct pk_head {
    uint8_t  bytes[PK_HEADERS_MAX];
    uint32_t length;
    uint32_t ip_header;
};

void     pk_head_of(struct pk_head *h, const struct pk_packet *p);
uint32_t pk_head_seq(const struct pk_head *h);
/* So many segments of so many bytes later: sequence number and, IPv4, identification. */
void     pk_head_advance(struct pk_head *h, uint32_t bytes, uint32_t segments);
/* Whether `h->length` bytes at `h->bytes`, from a peer, are headers that pk_head_of can have made.  Sets ip_header. */
bool     pk_head_valid(struct pk_head *h);

/*
 * DSCP and ECN, as one byte: the DS field's six bits, and ECN's two (RFC 2474, 3168).
 */
#define PK_ECN 3u
enum pk_ecn { PK_NOT_ECT, PK_ECT_1, PK_ECT_0, PK_CE };

uint8_t  pk_head_tos(const struct pk_head *h);
/*
 * Its packet came in a datagram with that ECN, and is to tell of it what that tells (RFC 6040, 4.2).  false: it can't
 * be told of congestion, but its datagram was; so it is to be lost.
 */
bool     pk_head_arrives(struct pk_head *h, enum pk_ecn outer);

#define PK_OUT_ROOM (sizeof(struct virtio_net_hdr) + PK_HEADERS_MAX)

/*
 * Writes the headers of a piece for the tun that has `payload` bytes in segments of `segment`: virtio-net, IP and TCP;
 * `flags` (PSH, FIN) are the last segment's.  The TCP checksum is left to the kernel.  Their bytes, at most
 * PK_OUT_ROOM.
 */
size_t pk_head_write(const struct pk_head *h, uint32_t payload, uint32_t segment, uint8_t flags, void *out);

#endif
