/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_packet.h"

#include "pk_bytes.h"

#include <string.h>

enum {
    IP4_LEAST = 20,
    IP4_TOS = 1,
    IP6_HEADER = 40,
    TCP_LEAST = 20,
    PROTOCOL_TCP = 6,
    IP4_TOTAL = 2,
    IP4_ID = 4,
    IP4_FRAGMENT = 6,
    IP4_PROTOCOL = 9,
    IP4_SUM = 10,
    IP4_FROM = 12,
    IP4_TO = 16,
    IP6_PAYLOAD = 4,
    IP6_NEXT = 6,
    IP6_FROM = 8,
    IP6_TO = 24,
    TCP_FROM = 0,
    TCP_TO = 2,
    TCP_SEQ = 4,
    TCP_ACK = 8,
    TCP_OFFSET = 12,
    TCP_FLAGS = 13,
    TCP_SUM = 16,
    MORE_FRAGMENTS_OR_OFFSET = 0x3fff
};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Bytes of the IP header before TCP, or 0. */
static uint32_t ip_header_of(const uint8_t *ip, uint32_t length) {
    if (length < IP4_LEAST) return 0;
    if (ip[0] >> 4 == 4) {
        uint32_t header = (ip[0] & 15u) * 4;
        if (header < IP4_LEAST || header > length || ip[IP4_PROTOCOL] != PROTOCOL_TCP) return 0;
        return pk_get16(ip + IP4_FRAGMENT) & MORE_FRAGMENTS_OR_OFFSET ? 0 : header;
    }
    if (ip[0] >> 4 == 6 && length >= IP6_HEADER && ip[IP6_NEXT] == PROTOCOL_TCP) return IP6_HEADER;
    return 0;
}

static uint32_t told_length(const uint8_t *ip) {
    return ip[0] >> 4 == 4 ? pk_get16(ip + IP4_TOTAL) : (uint32_t)IP6_HEADER + pk_get16(ip + IP6_PAYLOAD);
}

enum pk_kind pk_packet_parse(struct pk_packet *p, const void *piece, size_t bytes) {
    struct virtio_net_hdr v;
    uint32_t tcp;

    memset(p, 0, sizeof *p);
    if (bytes < sizeof v || bytes > PK_PIECE_MAX) return PK_OTHER;
    memcpy(&v, piece, sizeof v);
    const uint8_t *ip = (const uint8_t *)piece + sizeof v;
    p->length = (uint32_t)(bytes - sizeof v);
    p->ip_header = ip_header_of(ip, p->length);
    if (!p->ip_header || told_length(ip) != p->length || p->length - p->ip_header < TCP_LEAST) return PK_OTHER;
    tcp = (ip[p->ip_header + TCP_OFFSET] >> 4) * 4u;
    if (tcp < TCP_LEAST || tcp > p->length - p->ip_header) return PK_OTHER;
    p->headers = p->ip_header + tcp;
    p->payload = p->length - p->headers;
    p->segment = p->payload;
    p->segments = p->payload > 0;
    if (v.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
        if (v.gso_type != (ip[0] >> 4 == 4 ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6) || !v.gso_size)
            return PK_OTHER;
        if (v.gso_size < p->payload) p->segment = v.gso_size;
        p->segments = p->payload ? (p->payload + p->segment - 1) / p->segment : 0;
    }
    p->seq = pk_get32(ip + p->ip_header + TCP_SEQ);
    p->ack = pk_get32(ip + p->ip_header + TCP_ACK);
    p->flags = ip[p->ip_header + TCP_FLAGS];
    p->next = p->seq + p->payload + !!(p->flags & PK_FIN);
    p->checked = v.flags & (VIRTIO_NET_HDR_F_NEEDS_CSUM | VIRTIO_NET_HDR_F_DATA_VALID);
    p->ip = ip;
    return PK_TCP;
}

void pk_packet_tuple(const struct pk_packet *p, struct pk_tuple *t) {
    const uint8_t *tcp = p->ip + p->ip_header;

    memset(t, 0, sizeof *t);
    if (p->ip[0] >> 4 == 4) {
        t->from[10] = t->from[11] = t->to[10] = t->to[11] = 0xff;
        memcpy(t->from + 12, p->ip + IP4_FROM, 4);
        memcpy(t->to + 12, p->ip + IP4_TO, 4);
    } else {
        memcpy(t->from, p->ip + IP6_FROM, 16);
        memcpy(t->to, p->ip + IP6_TO, 16);
    }
    memcpy(&t->from_port, tcp + TCP_FROM, 2);
    memcpy(&t->to_port, tcp + TCP_TO, 2);
}

void pk_tuple_turn(struct pk_tuple *t) {
    struct pk_tuple turned = { .from_port = t->to_port, .to_port = t->from_port };
    memcpy(turned.from, t->to, sizeof t->to);
    memcpy(turned.to, t->from, sizeof t->from);
    *t = turned;
}

/* ---- checksums (RFC 1071) ---------------------------------------------------------------------------------------- */

static uint64_t sum_of(const uint8_t *p, size_t n) {
    uint64_t sum = 0;
    for (; n >= 4; n -= 4, p += 4) {
        uint32_t v;
        memcpy(&v, p, sizeof v);
        sum += v;
    }
    if (n) {
        uint32_t v = 0;
        memcpy(&v, p, n);
        sum += v;
    }
    return sum;
}

/* In the order of bytes in which it was summed. */
static uint16_t packet_fold(uint64_t sum) {
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static uint64_t pseudo_sum(const uint8_t *ip, uint32_t tcp_length) {
    uint8_t tail[8] = { 0, 0, 0, PROTOCOL_TCP };
    pk_put32(tail + 4, tcp_length);
    return (ip[0] >> 4 == 4 ? sum_of(ip + IP4_FROM, 8) : sum_of(ip + IP6_FROM, 32)) + sum_of(tail, sizeof tail);
}

bool pk_packet_intact(const struct pk_packet *p) {
    const uint8_t *tcp = p->ip + p->ip_header;
    uint32_t n = p->length - p->ip_header;
    if (p->ip[0] >> 4 == 4 && packet_fold(sum_of(p->ip, p->ip_header)) != 0xffff) return false;
    return packet_fold(pseudo_sum(p->ip, n) + sum_of(tcp, n)) == 0xffff;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* All that pk_head_write fills in. */
static void packet_blank(struct pk_head *h) {
    uint8_t *tcp = h->bytes + h->ip_header;
    if (h->bytes[0] >> 4 == 4) {
        pk_put16(h->bytes + IP4_TOTAL, 0);
        pk_put16(h->bytes + IP4_SUM, 0);
    } else {
        pk_put16(h->bytes + IP6_PAYLOAD, 0);
    }
    pk_put16(tcp + TCP_SUM, 0);
    tcp[TCP_FLAGS] &= (uint8_t) ~(PK_PSH | PK_FIN);
}

void pk_head_of(struct pk_head *h, const struct pk_packet *p) {
    memset(h, 0, sizeof *h);
    memcpy(h->bytes, p->ip, p->headers);
    h->length = p->headers;
    h->ip_header = p->ip_header;
    packet_blank(h);
}

uint32_t pk_head_seq(const struct pk_head *h) { return pk_get32(h->bytes + h->ip_header + TCP_SEQ); }

void pk_head_advance(struct pk_head *h, uint32_t bytes, uint32_t segments) {
    uint8_t *seq = h->bytes + h->ip_header + TCP_SEQ;
    pk_put32(seq, pk_get32(seq) + bytes);
    if (h->bytes[0] >> 4 == 4) pk_put16(h->bytes + IP4_ID, pk_get16(h->bytes + IP4_ID) + segments);
}

bool pk_head_valid(struct pk_head *h) {
    struct pk_head blanked;

    if (h->length > PK_HEADERS_MAX) return false;
    h->ip_header = ip_header_of(h->bytes, h->length);
    if (!h->ip_header || h->length - h->ip_header < TCP_LEAST) return false;
    if ((h->bytes[h->ip_header + TCP_OFFSET] >> 4) * 4u != h->length - h->ip_header) return false;
    if (h->bytes[h->ip_header + TCP_FLAGS] & (PK_SYN | PK_RST | PK_URG | PK_CWR)) return false;
    blanked = *h;
    packet_blank(&blanked);
    return !memcmp(blanked.bytes, h->bytes, h->length);
}

uint8_t pk_head_tos(const struct pk_head *h) {
    return h->bytes[0] >> 4 == 4 ? h->bytes[IP4_TOS] : (uint8_t)(pk_get16(h->bytes) >> 4);
}

bool pk_head_arrives(struct pk_head *h, enum pk_ecn outer) {
    enum pk_ecn inner = pk_head_tos(h) & PK_ECN, both = inner;

    if (outer == PK_CE) {
        if (inner == PK_NOT_ECT) return false;
        both = PK_CE;
    }
    if (outer == PK_ECT_1 && inner == PK_ECT_0) both = PK_ECT_1;
    /* Two bits that no other ones are carried into: of the second byte, in IPv6 the upper half of it. */
    h->bytes[1] = (uint8_t)(h->bytes[1] ^ (unsigned)(inner ^ both) << (h->bytes[0] >> 4 == 4 ? 0 : 4));
    return true;
}

size_t pk_head_write(const struct pk_head *h, uint32_t payload, uint32_t segment, uint8_t flags, void *out) {
    struct virtio_net_hdr v = { .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                                .csum_start = (uint16_t)h->ip_header,
                                .csum_offset = TCP_SUM };
    uint8_t *ip = (uint8_t *)out + sizeof v, *tcp = ip + h->ip_header;
    uint32_t tcp_length = h->length - h->ip_header + payload;
    uint16_t sum;
    int four = h->bytes[0] >> 4 == 4;

    if (payload > segment) {
        v.gso_type = four ? VIRTIO_NET_HDR_GSO_TCPV4 : VIRTIO_NET_HDR_GSO_TCPV6;
        v.gso_size = (uint16_t)segment;
        v.hdr_len = (uint16_t)h->length;
    }
    memcpy(out, &v, sizeof v);
    memcpy(ip, h->bytes, h->length);
    tcp[TCP_FLAGS] |= flags & (PK_PSH | PK_FIN);
    if (four) {
        pk_put16(ip + IP4_TOTAL, h->length + payload);
        sum = (uint16_t)~packet_fold(sum_of(ip, h->ip_header));
        memcpy(ip + IP4_SUM, &sum, sizeof sum);
    } else {
        pk_put16(ip + IP6_PAYLOAD, tcp_length);
    }
    sum = packet_fold(pseudo_sum(ip, tcp_length));
    memcpy(tcp + TCP_SUM, &sum, sizeof sum);
    return sizeof v + h->length;
}
