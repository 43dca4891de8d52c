/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_fingerprint.h - the fingerprint of a payload: 128 bits that only who has the pair's secret can compute or foresee.
 *
 * Two HighwayHash-64 (Alakuijala, Cox, Wassenberg 2016, arXiv:1612.06257; libhighwayhash) under two keys.  The paper
 * (IV) takes MD5; that is here for the comparison of speed only (PK_FINGERPRINT_MD5), since who can choose payloads can
 * make two that have one MD5.
 */
#ifndef FAIRGATE_PK_FINGERPRINT_H
#define FAIRGATE_PK_FINGERPRINT_H

#include "pk_wire.h"

#include <stdbool.h>
#include <string.h>

#define PK_FINGERPRINT_KEY 64u      /* bytes of a key */

enum pk_fingerprint_how { PK_FINGERPRINT_HIGHWAY, PK_FINGERPRINT_MD5 };

struct pk_fingerprint { uint64_t half[2]; };

struct pk_fingerprint_key {
    enum pk_fingerprint_how how;
    uint64_t                part[2][4];
};

void pk_fingerprint_key_set(struct pk_fingerprint_key *k, const uint8_t key[PK_FINGERPRINT_KEY],
                            enum pk_fingerprint_how how);
void pk_fingerprint_of(const struct pk_fingerprint_key *k, const void *bytes, size_t n, struct pk_fingerprint *fp);

static inline bool pk_fingerprint_same(const struct pk_fingerprint *a, const struct pk_fingerprint *b) {
    return a->half[0] == b->half[0] && a->half[1] == b->half[1];
}

/* On the wire as computed: it is no number to anybody. */
static inline void pk_fingerprint_write(const struct pk_fingerprint *fp, uint8_t out[PK_TOKEN]) {
    memcpy(out, fp->half, PK_TOKEN);
}
static inline void pk_fingerprint_read(struct pk_fingerprint *fp, const uint8_t in[PK_TOKEN]) {
    memcpy(fp->half, in, PK_TOKEN);
}

#endif
