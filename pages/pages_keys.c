/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages_keys.h"

#include <string.h>
#include <strings.h>

#include "base/base_hash.h"

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
        struct base_hash s;
        unsigned i = 0;

        if (!stop) stop = end;
        equals = memchr(query, '=', (size_t)(stop - query));
        base_hash_begin(&s, hash_key);
        base_hash_add(&s, query, (size_t)((equals ? equals : stop) - query));
        seen[n] = base_hash_end(s);
        while (seen[i] != seen[n]) i++;
        if (i == n) sum += seen[n++];
        query = stop + 1;
    }
    return sum;
}

void pages_keys(const uint64_t hash_key[2], const char *host, const char *target, size_t n, struct pages_keys *keys) {
    struct base_hash s;
    const char *query = memchr(target, '?', n), *slash = memrchr(target, '/', query ? (size_t)(query - target) : n);
    size_t dir = slash ? (size_t)(slash - target) + 1 : 0, path = query ? (size_t)(query - target) + 1 : n;

    base_hash_begin(&s, hash_key);
    if (host) base_hash_add(&s, host, strlen(host));
    base_hash_add(&s, "\n", 1);
    base_hash_add(&s, target, dir);
    keys->dir = not_none(base_hash_end(s));
    /* A page "/a/" is not its directory: the mark keeps the two rows apart. */
    base_hash_add(&s, "\n", 1);
    base_hash_add(&s, target + dir, path - dir);
    keys->pattern = 0;
    if (query) {
        struct base_hash p = s;
        base_hash_add(&p, "\n", 1);
        keys->pattern = not_none(base_hash_end(p) + names_of(hash_key, query + 1, target + n));
        base_hash_add(&s, target + path, n - path);
    }
    keys->url = not_none(base_hash_end(s));
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
