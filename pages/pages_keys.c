/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages_keys.h"

#include <string.h>
#include <strings.h>

struct sip {
    uint64_t v0, v1, v2, v3, tail;
    size_t n;
};

static uint64_t rotl(uint64_t x, int b) { return x << b | x >> (64 - b); }

static void sip_round(struct sip *s) {
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
    sip_word(&s, s.tail | (uint64_t)s.n << 56);
    s.v2 ^= 0xff;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* Some bits over the last coding's factor, so that no coded key is 0 either. */
static uint64_t not_none(uint64_t key) {
    for (int c = 0; c < PAGES_CODINGS; c++)
        if (!pages_key_coded(key, (enum pages_coding)c)) return key ^ 1;
    return key;
}

/* Names of parameters count as a sum, each once: order and repetition mean nothing. */
static uint64_t names_of(const uint64_t hash_key[2], const char *query, const char *end) {
    uint64_t seen[PAGES_NAMES_MAX], sum = 0;
    unsigned n = 0;

    while (query < end && n < PAGES_NAMES_MAX) {
        const char *stop = memchr(query, '&', (size_t)(end - query)), *equals;
        struct sip s;
        unsigned i = 0;

        if (!stop) stop = end;
        equals = memchr(query, '=', (size_t)(stop - query));
        sip_begin(&s, hash_key);
        sip_add(&s, query, (size_t)((equals ? equals : stop) - query));
        seen[n] = sip_end(s);
        while (seen[i] != seen[n]) i++;
        if (i == n) sum += seen[n++];
        query = stop + 1;
    }
    return sum;
}

void pages_keys(const uint64_t hash_key[2], const char *host, const char *target, size_t n, struct pages_keys *keys) {
    struct sip s;
    const char *query = memchr(target, '?', n), *slash = memrchr(target, '/', query ? (size_t)(query - target) : n);
    size_t dir = slash ? (size_t)(slash - target) + 1 : 0, path = query ? (size_t)(query - target) + 1 : n;

    sip_begin(&s, hash_key);
    if (host) sip_add(&s, host, strlen(host));
    sip_add(&s, "\n", 1);
    sip_add(&s, target, dir);
    keys->dir = not_none(sip_end(s));
    /* A page "/a/" is not its directory: the mark keeps the two rows apart. */
    sip_add(&s, "\n", 1);
    sip_add(&s, target + dir, path - dir);
    keys->pattern = 0;
    if (query) {
        struct sip p = s;
        sip_add(&p, "\n", 1);
        keys->pattern = not_none(sip_end(p) + names_of(hash_key, query + 1, target + n));
        sip_add(&s, target + path, n - path);
    }
    keys->url = not_none(sip_end(s));
}

/* "q=0", "q=0.0" and so on: not wanted. */
static int keys_refused(const char *parameters, const char *end) {
    const char *q = parameters;

    while (q < end && strchr("; \t", *q)) q++;
    if (end - q < 3 || strncasecmp(q, "q=", 2) || q[2] != '0') return 0;
    for (q += 3; q < end && strchr(".0", *q); q++) continue;
    return q == end || strchr("; \t", *q) != NULL;
}

enum pages_coding pages_coding_of(const char *accept) {
    enum pages_coding most = PAGES_IDENTITY;

    while (accept && *accept) {
        size_t space = strspn(accept, ", \t"), n;
        const char *end;

        accept += space;
        n = strcspn(accept, ",; \t");
        end = accept + strcspn(accept, ",");
        if (!keys_refused(accept + n, end)) {
            if (n == 2 && !strncasecmp(accept, "br", 2)) most = PAGES_BR;
            else if (most == PAGES_IDENTITY &&
                     ((n == 4 && !strncasecmp(accept, "gzip", 4)) || (n == 6 && !strncasecmp(accept, "x-gzip", 6))))
                most = PAGES_GZIP;
        }
        accept = end;
    }
    return most;
}
