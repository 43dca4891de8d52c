/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pktcache.h - pieces as the kernel hands them over, for the tests of pktcache/. */
#ifndef FAIRGATE_TEST_PKTCACHE_H
#define FAIRGATE_TEST_PKTCACHE_H

#include "pktcache/pk_packet.h"
#include "run_suite.h"

#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

struct wire {
    int      version;           /* 4, 6 */
    unsigned client, port;      /* the last number of the client's address, its port */
    bool     up;                /* from the client to the server */
    uint32_t seq, ack;
    uint16_t id;
    uint8_t  flags;
    uint8_t  tos;               /* DSCP and ECN */
    uint32_t stamp;             /* a timestamp option, unless 0 */
    uint32_t segment;           /* 0: one */
    bool     whole_sum;         /* the checksum is computed; otherwise it is left to the kernel */
};

static inline void put16(uint8_t *p, unsigned v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static inline void put32(uint8_t *p, uint32_t v) { put16(p, v >> 16); put16(p + 2, v & 0xffff); }
static inline uint32_t get32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The slow way, byte by byte. */
static inline uint32_t slow_sum(const uint8_t *p, size_t n) {
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
    return sum;
}

static inline unsigned slow_fold(uint32_t sum) {
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static inline unsigned slow_tcp_sum(const uint8_t *ip, size_t ip_header, size_t n) {
    uint32_t sum = (uint32_t)(n - ip_header) + 6;
    sum += ip[0] >> 4 == 4 ? slow_sum(ip + 12, 8) : slow_sum(ip + 8, 32);
    return slow_fold(sum + slow_sum(ip + ip_header, n - ip_header));
}

/* Makes a piece at out; its bytes. */
static inline size_t make_piece(uint8_t *out, const struct wire *w, const void *payload, uint32_t n) {
    struct virtio_net_hdr v = { .flags = w->whole_sum ? 0 : VIRTIO_NET_HDR_F_NEEDS_CSUM };
    uint8_t *ip = out + sizeof v, *tcp;
    uint32_t ip_header = w->version == 4 ? 20 : 40, tcp_header = w->stamp ? 32 : 20;
    uint8_t server[16] = { 0xfd, 8, [15] = 1 }, client[16] = { 0xfd, 9, [15] = (uint8_t)w->client };

    memset(out, 0, sizeof v + ip_header + tcp_header);
    if (w->version == 4) {
        ip[0] = 0x45;
        ip[1] = w->tos;
        put16(ip + 2, ip_header + tcp_header + n);
        put16(ip + 4, w->id);
        ip[6] = 0x40;
        ip[8] = 64;
        ip[9] = 6;
        put32(ip + (w->up ? 16 : 12), 0x0a080101);
        put32(ip + (w->up ? 12 : 16), 0x0a080300 + w->client);
        put16(ip + 10, 0xffff & ~slow_fold(slow_sum(ip, 20)));
    } else {
        ip[0] = (uint8_t)(0x60 | w->tos >> 4);
        ip[1] = (uint8_t)(w->tos << 4);
        put16(ip + 4, tcp_header + n);
        ip[6] = 6;
        ip[7] = 64;
        memcpy(ip + (w->up ? 24 : 8), server, 16);
        memcpy(ip + (w->up ? 8 : 24), client, 16);
    }
    tcp = ip + ip_header;
    put16(tcp + (w->up ? 2 : 0), 80);
    put16(tcp + (w->up ? 0 : 2), w->port);
    put32(tcp + 4, w->seq);
    put32(tcp + 8, w->ack);
    tcp[12] = (uint8_t)(tcp_header / 4 << 4);
    tcp[13] = w->flags;
    put16(tcp + 14, 1000);
    if (w->stamp) {
        tcp[20] = tcp[21] = 1;
        tcp[22] = 8;
        tcp[23] = 10;
        put32(tcp + 24, w->stamp);
        put32(tcp + 28, 77);
    }
    if (n) memcpy(tcp + tcp_header, payload, n);
    if (w->segment && w->segment < n) {
        v.gso_type = w->version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6;
        v.gso_size = (uint16_t)w->segment;
    }
    if (w->whole_sum) put16(tcp + 16, 0xffff & ~slow_tcp_sum(ip, ip_header, ip_header + tcp_header + n));
    v.csum_start = (uint16_t)ip_header;
    v.csum_offset = 16;
    memcpy(out, &v, sizeof v);
    return sizeof v + ip_header + tcp_header + n;
}

/*
 * What the kernel makes of a piece: calls take for each segment with its packet, complete.  The partial checksum that
 * is in it must be right.
 */
static inline void segment_piece(const uint8_t *piece, size_t bytes,
                                 void (*take)(void *context, const uint8_t *ip, size_t n), void *context) {
    struct pk_packet k;
    struct virtio_net_hdr v;
    uint8_t out[65536];

    memcpy(&v, piece, sizeof v);
    ck_assert_int_eq(pk_packet_parse(&k, piece, bytes), PK_TCP);
    ck_assert(k.flags & PK_ACK || k.flags & PK_RST || k.flags & PK_SYN);
    for (uint32_t i = 0; i < (k.segments ? k.segments : 1); i++) {
        uint32_t at = i * k.segment, n = i + 1 < k.segments ? k.segment : k.payload - at, all = k.headers + n;
        int last = i + 1 >= k.segments;
        memcpy(out, k.ip, k.headers);
        memcpy(out + k.headers, k.ip + k.headers + at, n);
        uint8_t *tcp = out + k.ip_header;
        if (v.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
            uint32_t pseudo =
                k.length - k.ip_header + 6 + (out[0] >> 4 == 4 ? slow_sum(out + 12, 8) : slow_sum(out + 8, 32));
            if (k.segments > 1) ck_assert_uint_eq(slow_fold(slow_sum(tcp + 16, 2)), slow_fold(pseudo));
        }
        if (k.segments > 1 || v.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
            if (out[0] >> 4 == 4) {
                put16(out + 4, ((unsigned)out[4] << 8 | out[5]) + i);
                put16(out + 2, all);
                put16(out + 10, 0);
                put16(out + 10, 0xffff & ~slow_fold(slow_sum(out, k.ip_header)));
            } else {
                put16(out + 4, all - 40);
            }
            put32(tcp + 4, k.seq + at);
            if (!last) tcp[13] &= (uint8_t)~(PK_PSH | PK_FIN);
            put16(tcp + 16, 0);
            put16(tcp + 16, 0xffff & ~slow_tcp_sum(out, k.ip_header, all));
        }
        take(context, out, all);
    }
}

#endif
