/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages_keys.h - what a page is known by: 64 bits for its URL, and for what it has in common with pages that were never
 * seen.
 *
 *     url        host, path and query
 *     pattern    host, path and the names of the query's parameters, in whatever order and however often (the first 32
 *                that differ): /show?id=7&lang=en and /show?lang=de&id=1 are of one pattern.  0 for a page without a
 *                query
 *     dir        host and path up to its last slash
 *
 * The hash (base/base_hash.h) is under a key of who asks, because URLs come from outside: nobody can aim at another's
 * row.
 */
#ifndef FAIRGATE_PAGES_KEYS_H
#define FAIRGATE_PAGES_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "pages_table.h"

#define PAGES_NAMES_MAX 32u

#ifdef __cplusplus
extern "C" {
#endif

struct pages_keys { uint64_t url, pattern, dir; };      /* 0 is no key */

/* host may be NULL; target: n bytes in the spelling of pages_url.h. */
void pages_keys(const uint64_t hash_key[2], const char *host, const char *target, size_t n, struct pages_keys *keys);

/* The key of the same for a client that takes this coding; identity's is the key itself. */
static inline uint64_t pages_key_coded(uint64_t key, enum pages_coding c) {
    return key ^ (uint64_t)c * UINT64_C(0x9e3779b97f4a7c15);
}

/* The key of how long it takes to make the same, by this method of httpd's (M_GET is 0, and HEAD's). */
static inline uint64_t pages_key_timed(uint64_t key, int method) {
    return (key ^ UINT64_C(0xd1b54a32d192ed03)) + (uint64_t)method * UINT64_C(0x9e3779b97f4a7c15);
}

/* The most that a client takes of what the table tells apart: Accept-Encoding's value (RFC 9110, 12.5.3), or NULL. */
enum pages_coding pages_coding_of(const char *accept_encoding);

#ifdef __cplusplus
}
#endif

#endif
