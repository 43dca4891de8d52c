/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_hash.h"

#include <string.h>

static uint64_t rotl(uint64_t x, int b) { return x << b | x >> (64 - b); }

static void sip_round(struct base_hash *s) {
    s->v0 += s->v1;
    s->v1 = rotl(s->v1, 13) ^ s->v0;
    s->v0 = rotl(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotl(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotl(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotl(s->v1, 17) ^ s->v2;
    s->v2 = rotl(s->v2, 32);
}

void base_hash_begin(struct base_hash *s, const uint64_t key[2]) {
    s->v0 = key[0] ^ UINT64_C(0x736f6d6570736575);
    s->v1 = key[1] ^ UINT64_C(0x646f72616e646f6d);
    s->v2 = key[0] ^ UINT64_C(0x6c7967656e657261);
    s->v3 = key[1] ^ UINT64_C(0x7465646279746573);
    s->tail = 0;
    s->n = 0;
}

static void sip_word(struct base_hash *s, uint64_t word) {
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

void base_hash_add(struct base_hash *s, const void *bytes, size_t n) {
    const unsigned char *p = bytes;

    for (; n && (s->n & 7); p++, n--) {
        s->tail |= (uint64_t)*p << (8 * (s->n & 7));
        if ((++s->n & 7) == 0) {
            sip_word(s, s->tail);
            s->tail = 0;
        }
    }
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        sip_word(s, word);
        s->n += 8;
    }
    for (; n; p++, n--) {
        s->tail |= (uint64_t)*p << (8 * (s->n & 7));
        s->n++;
    }
}

uint64_t base_hash_end(struct base_hash s) {
    sip_word(&s, s.tail | (uint64_t)s.n << 56);
    s.v2 ^= 0xff;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
