/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_pages.h"

#include <stdatomic.h>
#include <string.h>

#define WAYS       4
#define COUNT_BITS 20
#define COUNT_MAX  ((UINT64_C(1) << COUNT_BITS) - 1)
#define MEAN_MAX   (UINT64_MAX >> COUNT_BITS)
#define MEMORY     8        /* the mean follows the last so many answers: pages change */

struct page {
    _Atomic uint64_t key;   /* 0 = free */
    _Atomic uint64_t value; /* mean << COUNT_BITS | times seen */
};

struct sip { uint64_t v0, v1, v2, v3, tail; size_t n; };

static uint64_t rotl(uint64_t x, int b) { return x << b | x >> (64 - b); }

static void sip_round(struct sip *s) {
    s->v0 += s->v1; s->v1 = rotl(s->v1, 13) ^ s->v0; s->v0 = rotl(s->v0, 32);
    s->v2 += s->v3; s->v3 = rotl(s->v3, 16) ^ s->v2;
    s->v0 += s->v3; s->v3 = rotl(s->v3, 21) ^ s->v0;
    s->v2 += s->v1; s->v1 = rotl(s->v1, 17) ^ s->v2; s->v2 = rotl(s->v2, 32);
}

static void sip_begin(struct sip *s, const uint64_t key[2]) {
    s->v0 = key[0] ^ UINT64_C(0x736f6d6570736575);
    s->v1 = key[1] ^ UINT64_C(0x646f72616e646f6d);
    s->v2 = key[0] ^ UINT64_C(0x6c7967656e657261);
    s->v3 = key[1] ^ UINT64_C(0x7465646279746573);
    s->tail = 0;
    s->n = 0;
}

static void sip_word(struct sip *s, uint64_t word) {
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

static void sip_add(struct sip *s, const char *p, size_t n) {
    for (; n && (s->n & 7); p++, n--) {
        s->tail |= (uint64_t)(unsigned char)*p << (8 * (s->n & 7));
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
        s->tail |= (uint64_t)(unsigned char)*p << (8 * (s->n & 7));
        s->n++;
    }
}

static uint64_t sip_end(struct sip s) {
    uint64_t h;
    sip_word(&s, s.tail | (uint64_t)s.n << 56);
    s.v2 ^= 0xff;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    h = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    return h ? h : 1;
}

static uint32_t sets_of(uint32_t pages) {
    uint32_t sets = 1;
    while (sets < (1u << 28) && sets * WAYS < pages) sets *= 2;
    return sets;
}

size_t qos_pages_bytes(uint32_t pages) { return (size_t)sets_of(pages) * WAYS * sizeof(struct page); }

void qos_pages_keys(const uint64_t hash_key[2], const char *host, const char *target, size_t n, struct qos_page_keys *keys) {
    struct sip s;
    const char *query = memchr(target, '?', n), *slash = memrchr(target, '/', query ? (size_t)(query - target) : n);
    size_t dir = slash ? (size_t)(slash - target) + 1 : 0;

    sip_begin(&s, hash_key);
    if (host) sip_add(&s, host, strlen(host));
    sip_add(&s, "\n", 1);
    sip_add(&s, target, dir);
    keys->dir = sip_end(s);
    /* A page "/a/" is not its directory: the mark keeps the two rows apart. */
    sip_add(&s, "\n", 1);
    sip_add(&s, target + dir, n - dir);
    keys->url = sip_end(s);
}

static struct page *set_of(const void *table, uint32_t pages, uint64_t key) {
    return (struct page *)table + (size_t)(key & (sets_of(pages) - 1)) * WAYS;
}

static uint64_t mean_at(const void *table, uint32_t pages, uint64_t key) {
    struct page *set = set_of(table, pages, key);
    for (int i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&set[i].key, memory_order_relaxed) == key)
            return atomic_load_explicit(&set[i].value, memory_order_relaxed) >> COUNT_BITS;
    return 0;
}

uint64_t qos_pages_estimate(const void *table, uint32_t pages, const struct qos_page_keys *keys) {
    uint64_t mean = mean_at(table, pages, keys->url);
    return mean ? mean : mean_at(table, pages, keys->dir);
}

static void learn_one(void *table, uint32_t pages, uint64_t key, uint64_t bytes) {
    struct page *set = set_of(table, pages, key), *row = NULL, *least = set;
    uint64_t value, count, mean, fewest = UINT64_MAX;

    for (int i = 0; i < WAYS && !row; i++) {
        uint64_t k = atomic_load_explicit(&set[i].key, memory_order_relaxed);
        count = k ? atomic_load_explicit(&set[i].value, memory_order_relaxed) & COUNT_MAX : 0;
        if (k == key) row = &set[i];
        else if (count < fewest) { fewest = count; least = &set[i]; }
    }
    if (!row) {
        /* Others of the set age as it takes in new keys, so that what was popular once does not stay for ever. */
        for (int i = 0; i < WAYS; i++) {
            value = atomic_load_explicit(&set[i].value, memory_order_relaxed);
            count = value & COUNT_MAX;
            if (&set[i] != least && count > 1)
                atomic_store_explicit(&set[i].value, value - (count - count / 2), memory_order_relaxed);
        }
        atomic_store_explicit(&least->value, bytes << COUNT_BITS | 1, memory_order_relaxed);
        atomic_store_explicit(&least->key, key, memory_order_relaxed);
        return;
    }
    value = atomic_load_explicit(&row->value, memory_order_relaxed);
    count = value & COUNT_MAX;
    mean = value >> COUNT_BITS;
    if (count < COUNT_MAX) count++;
    if (bytes != mean) {
        int64_t step = ((int64_t)bytes - (int64_t)mean) / (int64_t)(count < MEMORY ? count : MEMORY);
        mean = (uint64_t)((int64_t)mean + step);
    }
    atomic_store_explicit(&row->value, mean << COUNT_BITS | count, memory_order_relaxed);
}

void qos_pages_learn(void *table, uint32_t pages, const struct qos_page_keys *keys, uint64_t bytes) {
    if (bytes > MEAN_MAX) bytes = MEAN_MAX;
    learn_one(table, pages, keys->url, bytes);
    learn_one(table, pages, keys->dir, bytes);
}

uint32_t qos_pages_used(const void *table, uint32_t pages) {
    const struct page *p = table;
    uint32_t used = 0;
    for (size_t i = 0, n = (size_t)sets_of(pages) * WAYS; i < n; i++)
        used += atomic_load_explicit(&((struct page *)p)[i].key, memory_order_relaxed) != 0;
    return used;
}
