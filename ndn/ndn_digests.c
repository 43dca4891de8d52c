/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_digests.c - SHA-256 as FIPS 180-4 has it, on vectors of words, which compilers make instructions of. */
#include "ndn_digests.h"

#include <pthread.h>
#include <string.h>

#ifdef __x86_64__

#include <cpuid.h>

#define BLOCK 64u /* bytes that SHA-256 takes at a time */
#define FEW   4u  /* of fewer texts each is libcrypto's: a lane costs the same, whether a text is in it or not */

/* A text in blocks: its own, then those that its padding fills up. */
struct digest_lane {
    const uint8_t *at;
    size_t own, all;
    uint8_t tail[2 * BLOCK];
};

static void digest_lane_begin(struct digest_lane *l, const struct ndn_span *text) {
    size_t rest = text->n % BLOCK, end;

    l->at = text->at;
    l->own = text->n / BLOCK;
    l->all = l->own + (rest < BLOCK - 8 ? 1 : 2);
    end = (l->all - l->own) * BLOCK;
    memset(l->tail, 0, sizeof l->tail);
    if (rest) memcpy(l->tail, text->at + text->n - rest, rest);
    l->tail[rest] = 0x80;
    for (size_t i = 0; i < 8; i++) l->tail[end - 1 - i] = (uint8_t)((uint64_t)text->n * 8 >> 8 * i);
}

/* Those that have no more of their own stay with their last one, of which nothing is taken. */
static const uint8_t *digest_lane_block(const struct digest_lane *l, size_t i) {
    if (i < l->own) return l->at + i * BLOCK;
    return l->tail + (i < l->all ? i - l->own : l->all - l->own - 1) * BLOCK;
}

static const uint32_t digest_begin[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
static const uint32_t digest_round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

#define LANES        16
#define LANES_NAME   digests_16
#define LANES_TARGET __attribute__((target("avx512f")))
#include "ndn_digests.def"

#define LANES        8
#define LANES_NAME   digests_8
#define LANES_TARGET __attribute__((target("avx2")))
#include "ndn_digests.def"

static bool digest_has_instructions(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 29; /* SHA */
}

static bool digest_may(unsigned lanes) {
    if (lanes == 16) return __builtin_cpu_supports("avx512f");
    return lanes == 8 && __builtin_cpu_supports("avx2");
}

static pthread_once_t lanes_once = PTHREAD_ONCE_INIT;
static unsigned lanes_here;

static void lanes_find(void) {
    lanes_here = digest_has_instructions() ? 1 : digest_may(16) ? 16 : digest_may(8) ? 8 : 1;
}

unsigned ndn_digest_lanes(void) {
    pthread_once(&lanes_once, lanes_find);
    return lanes_here;
}

bool ndn_digests_in(unsigned lanes, const struct ndn_span *texts, size_t n, uint8_t (*digests)[NDN_DIGEST]) {
    struct digest_lane lane[NDN_LANES_MAX];
    size_t most = 0;

    if (!digest_may(lanes) || n < 1 || n > lanes) return false;
    for (size_t i = 0; i < n; i++) {
        digest_lane_begin(&lane[i], &texts[i]);
        if (lane[i].all > most) most = lane[i].all;
    }
    if (lanes == 16) digests_16(lane, n, most, digests);
    else digests_8(lane, n, most, digests);
    return true;
}

void ndn_digests(const struct ndn_span *texts, size_t n, uint8_t (*digests)[NDN_DIGEST]) {
    unsigned lanes = ndn_digest_lanes();
    size_t some;

    for (; n >= FEW && lanes > 1; texts += some, digests += some, n -= some) {
        some = n < lanes ? n : lanes;
        ndn_digests_in(lanes, texts, some, digests);
    }
    for (size_t i = 0; i < n; i++) ndn_digest(&texts[i], 1, digests[i]);
}

#else

unsigned ndn_digest_lanes(void) { return 1; }

bool ndn_digests_in(unsigned lanes, const struct ndn_span *texts, size_t n, uint8_t (*digests)[NDN_DIGEST]) {
    (void)lanes, (void)texts, (void)n, (void)digests;
    return false;
}

void ndn_digests(const struct ndn_span *texts, size_t n, uint8_t (*digests)[NDN_DIGEST]) {
    for (size_t i = 0; i < n; i++) ndn_digest(&texts[i], 1, digests[i]);
}

#endif
