/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_hash.h - SipHash-1-3 (Aumasson and Bernstein, 2012): 64 bits that nobody foresees who does not have the
 * key.
 *
 * For tables whose rows strangers choose.  What is added in pieces has the hash of the whole; a state is a plain copy,
 * so that a beginning is hashed once for all that go on from it.
 */
#ifndef FAIRGATE_BASE_HASH_H
#define FAIRGATE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct base_hash {
    uint64_t v0, v1, v2, v3, tail;
    size_t   n;
};

void     base_hash_begin(struct base_hash *s, const uint64_t key[2]);
void     base_hash_add(struct base_hash *s, const void *bytes, size_t n);
uint64_t base_hash_end(struct base_hash s);     /* of what was added; the state goes on */

#ifdef __cplusplus
}
#endif

#endif
