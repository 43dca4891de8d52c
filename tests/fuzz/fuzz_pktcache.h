/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_pktcache.h - a parent and a child with a session between them, for the fuzz targets of pktcache/. */
#ifndef FAIRGATE_FUZZ_PKTCACHE_H
#define FAIRGATE_FUZZ_PKTCACHE_H

#include "pktcache/pk_child.h"
#include "pktcache/pk_parent.h"

#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

static struct pk_config config;
static struct pk_fingerprint_key fingerprint_key;
static pk_session_t *parent_session, *child_session;
static pk_store_t *parent_store, *child_store;
static pk_side_t *parent, *child;
static uint64_t now;

/* What comes out is a piece that the kernel would take. */
static void fuzz_packet(void *context, const struct iovec *part, int parts) {
    static uint8_t piece[PK_PIECE_MAX];
    struct pk_packet k;
    size_t n = 0;
    (void)context;
    for (int i = 0; i < parts; i++) {
        if (n + part[i].iov_len > sizeof piece) abort();
        memcpy(piece + n, part[i].iov_base, part[i].iov_len);
        n += part[i].iov_len;
    }
    if (parts > 1 && pk_packet_parse(&k, piece, n) != PK_TCP) abort();
}

static void fuzz_datagram(void *context, const void *bytes, size_t n, uint8_t tos) {
    static uint8_t copy[PK_PIECE_MAX];
    (void)context;
    (void)tos;
    if (n > config.mtu - 28) abort();
    memcpy(copy, bytes, n);
}

static void fuzz_say(void *context, enum base_log_priority p, const char *sentence) {
    (void)context;
    (void)p;
    (void)sentence;
}

static void fuzz_begin(int keep) {
    struct pk_out out = { NULL, fuzz_packet, fuzz_datagram, fuzz_say, NULL };
    struct pk_secret secret = { "the secret of a fuzz target ..." };
    struct pk_ready ready = { .bytes = PK_STORE_LEAST };
    uint8_t key[PK_FINGERPRINT_KEY] = "a key", hello[PK_CONTROL_MAX], welcome[PK_CONTROL_MAX], go[PK_CONTROL_MAX];
    size_t n, m;

    static const struct pk_networks everybody = { { { { 0 }, 0 }, { { [10] = 0xff, [11] = 0xff }, 96 } }, 2 };
    config = (struct pk_config){ .keep = keep,
                                 .mode = PK_MODE_TRAIN,
                                 .window = 10,
                                 .hold = 500,
                                 .literal = 700,
                                 .least = 32,
                                 .mtu = 1500,
                                 .flows = 64,
                                 .queues = 1,
                                 .port = { htons(80) },
                                 .ports = { .n = 1 },
                                 .server = everybody,
                                 .client = everybody };
    if (eeod_marks_set(&config.mark, "<!--EEOD-->", "<!--/EEOD-->")) abort();
    config.there.ss_family = AF_INET;
    pk_fingerprint_key_set(&fingerprint_key, key, PK_FINGERPRINT_HIGHWAY);
    parent_session = pk_session_make(&secret, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY);
    child_session = pk_session_make(&secret, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    parent_store = pk_store_make(PK_STORE_LEAST, PK_STORE_PARENT);
    child_store = pk_store_make(PK_STORE_LEAST, PK_STORE_CHILD);
    memcpy(ready.key, key, sizeof ready.key);
    parent = pk_parent_make(&config, parent_store, parent_session, &out);
    child = pk_child_make(&config, &fingerprint_key, child_store, child_session, &ready, &out);
    n = pk_session_begin(child_session, hello);
    pk_session_step(parent_session, hello, n, &ready, welcome, &m);
    if (pk_session_step(child_session, welcome, m, &ready, go, &n) != PK_ESTABLISHED) abort();
    pk_side_datagram(parent, go, n, 0, now);
    if (pk_side_why(parent)) abort();
}

#endif
