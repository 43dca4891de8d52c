/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_datagram.c - datagrams, as they are and as what a peer has sealed, to a child and a parent. */
#include "fuzz_pktcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte: to whom, sealed or not, and as what. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t out[PK_PIECE_MAX];
    if (!parent) fuzz_begin(PK_KEEP_HTTP);
    if (size < 1 || size > 9000) return 0;
    int how = *data++;
    size_t n = size - 1;

    now += 100;
    if (how & 1) {
        memcpy(out + PK_SEAL_HEAD, data, n);
        n = pk_seal(how & 2 ? child_session : parent_session, (enum pk_type)(PK_TRAIN + how / 4 % 6), out, n);
    } else {
        memcpy(out, data, n);
    }
    uint8_t *exact = malloc(n + !n);
    memcpy(exact, out, n);
    if (how & 2) pk_side_datagram(parent, exact, n, (uint8_t)(how >> 3), now);
    else pk_side_datagram(child, exact, n, (uint8_t)(how >> 3), now);
    free(exact);
    pk_side_tick(child, now);
    return 0;
}
