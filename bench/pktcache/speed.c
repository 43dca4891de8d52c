/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speed.c - what finding repeats costs on a processor, on content that is all new: fingerprint, look-up, insertion,
 * storing.
 *
 *     speed [--check] [WHAT WINDOW BYTES SECONDS]      WHAT: highway, md5, textbook, tuned
 *
 * Prints nanoseconds a packet and GB/s.  The packets come from 64 MB of random bytes at places that never repeat the
 * same cut, so nothing is found and the caches are cold, as they are on a link.  --check: what is encoded is decoded,
 * on repeating content, and is the same however it is done.
 */
#include "ppc.h"

#include "pktcache/pk_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POOL  (UINT64_C(64) << 20)
#define CACHE (UINT64_C(256) << 20)

static uint8_t *pool;
static uint64_t state = UINT64_C(88172645463325252);

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* New content each time round the pool: a few bytes of every packet change. */
static const uint8_t *next_packet(size_t n) {
    static uint64_t at;
    if (at + n > POOL) at = 0;
    uint8_t *p = pool + at;
    for (size_t i = 0; i + 8 <= n; i += 24) { /* no window of 32 bytes stays as it was */
        uint64_t v = draw();
        memcpy(p + i, &v, sizeof v);
    }
    at += n;
    return p;
}

static double measure(const char *what, unsigned window, size_t n, double seconds) {
    static uint8_t out[PPC_PAYLOAD_MAX];
    static const uint8_t secret[PK_FINGERPRINT_KEY] = "a key";
    struct pk_fingerprint_key key;
    pk_store_t *store = NULL;
    struct ppc *ppc = NULL;
    uint64_t packets = 0;
    double spent = 0, begun;

    if (!strcmp(what, "highway") || !strcmp(what, "md5")) {
        store = pk_store_make(CACHE, PK_STORE_PARENT);
        pk_fingerprint_key_set(&key, secret, *what == 'm' ? PK_FINGERPRINT_MD5 : PK_FINGERPRINT_HIGHWAY);
    } else {
        ppc = ppc_make(CACHE, window, strcmp(what, "tuned") ? PPC_TEXTBOOK : PPC_TUNED);
    }
    if (!store && !ppc) abort();
    while (spent < seconds) {
        enum { BATCH = 256 };
        const uint8_t *packet[BATCH];
        for (int i = 0; i < BATCH; i++) packet[i] = next_packet(n);
        begun = now();
        for (int i = 0; i < BATCH; i++) {
            struct pk_fingerprint fp;
            if (ppc) {
                if (ppc_encode(ppc, packet[i], n, out) != n) abort();
            } else {
                pk_fingerprint_of(&key, packet[i], n, &fp);
                if (pk_store_meet(store, &fp, packet[i], (uint32_t)n) != PK_NEW) abort();
            }
        }
        spent += now() - begun;
        packets += BATCH;
    }
    pk_store_free(&store);
    ppc_free(&ppc);
    return spent / (double)packets * 1e9;
}

/* Packets that repeat in parts: each is encoded as by the textbook, and decoded to what it was. */
static int check(enum ppc_how how) {
    struct ppc *here = ppc_make(4 << 20, 64, how), *there = ppc_make(4 << 20, 64, how),
               *book = ppc_make(4 << 20, 64, PPC_TEXTBOOK);
    uint8_t packet[1460], coded[PPC_PAYLOAD_MAX], back[PPC_PAYLOAD_MAX];
    uint64_t all = 0, sent = 0;
    if (!here || !there || !book) return 1;
    for (int i = 0; i < 40000; i++) {
        size_t n = 1 + draw() % 1460, at = 0;
        while (at < n) {
            size_t part = 1 + draw() % 700;
            if (part > n - at) part = n - at;
            if (draw() % 3) memcpy(packet + at, pool + draw() % 100000, part);
            else
                for (size_t k = 0; k < part; k++) packet[at + k] = (uint8_t)(draw() >> 9);
            at += part;
        }
        size_t m = ppc_encode(here, packet, n, coded);
        all += n;
        sent += m;
        if (ppc_encode(book, packet, n, back) != m || (m < n && memcmp(back, coded, m))) {
            fprintf(stderr, "packet %d of %zu bytes is not encoded as by the textbook\n", i, n);
            return 1;
        }
        if (ppc_decode(there, m < n ? coded : packet, m, m == n, back) != n || memcmp(back, packet, n)) {
            fprintf(stderr, "packet %d of %zu bytes is not what it was\n", i, n);
            return 1;
        }
    }
    printf("%s: %.1f %% of the bytes went\n", how == PPC_TUNED ? "tuned" : "textbook",
           100.0 * (double)sent / (double)all);
    ppc_free(&here);
    ppc_free(&there);
    ppc_free(&book);
    return sent * 10 > all * 7;
}

int main(int argc, char **argv) {
    pool = malloc(POOL);
    for (uint64_t i = 0; i < POOL; i += 8) {
        uint64_t v = draw();
        memcpy(pool + i, &v, sizeof v);
    }
    if (argc == 2 && !strcmp(argv[1], "--check")) return check(PPC_TEXTBOOK) || check(PPC_TUNED);
    if (argc != 5) {
        fputs("speed --check | speed highway|md5|textbook|tuned WINDOW BYTES SECONDS\n", stderr);
        return 2;
    }
    size_t n = (size_t)strtoul(argv[3], NULL, 10);
    if (n < 64 || n > PPC_PAYLOAD_MAX) return 2;
    double ns = measure(argv[1], (unsigned)strtoul(argv[2], NULL, 10), n, strtod(argv[4], NULL));
    printf("%.1f ns %.3f GB/s\n", ns, (double)n / ns);
    return 0;
}
