/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_packet.c - pieces from a tun device: taken apart, put together again, and through a parent and a child. */
#include "fuzz_pktcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_apart(const uint8_t *piece, size_t n) {
    uint8_t head[PK_OUT_ROOM];
    struct pk_packet k, again;
    struct pk_head h;

    if (pk_packet_parse(&k, piece, n) == PK_OTHER) {
        if (k.ip) abort();
        return;
    }
    if (k.headers + k.payload != k.length || k.length + sizeof(struct virtio_net_hdr) != n ||
        k.ip != piece + sizeof(struct virtio_net_hdr))
        abort();
    if (k.payload && (!k.segments || (k.segments - 1) * k.segment >= k.payload || k.segments * k.segment < k.payload))
        abort();
    (void)pk_packet_intact(&k);
    pk_head_of(&h, &k);
    if (k.flags & (PK_SYN | PK_RST | PK_URG | PK_CWR)) return;
    if (!pk_head_valid(&h)) abort();
    size_t bytes = pk_head_write(&h, k.payload, k.segment, k.flags, head);
    uint8_t *whole = malloc(bytes + k.payload);
    memcpy(whole, head, bytes);
    memcpy(whole + bytes, k.ip + k.headers, k.payload);
    if (pk_packet_parse(&again, whole, bytes + k.payload) != PK_TCP || again.seq != k.seq ||
        again.payload != k.payload || again.segments != k.segments || again.flags != k.flags)
        abort();
    free(whole);
}

/* Pieces, a length of two bytes before each. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!parent) fuzz_begin(PK_KEEP_HTTP);
    config.keep = size % 2 ? PK_KEEP_ALL : PK_KEEP_HTTP;
    while (size > 2) {
        size_t n = (size_t)(data[0] << 8 | data[1]);
        data += 2;
        size -= 2;
        if (n > size) n = size;
        uint8_t *exact = malloc(n + !n);
        memcpy(exact, data, n);
        take_apart(exact, n);
        pk_side_packet(parent, exact, n, now);
        memcpy(exact, data, n);
        pk_side_packet(child, exact, n, now);
        free(exact);
        data += n;
        size -= n;
        now += 200;
        pk_side_tick(parent, now);
    }
    return 0;
}
