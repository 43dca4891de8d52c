/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_print.h - the fingerprint of a payload: 128 bits that only who has the pair's secret can compute or foresee.
 *
 * Two HighwayHash-64 (Alakuijala, Cox, Wassenberg 2016, arXiv:1612.06257; libhighwayhash) under two keys.  The paper (IV) takes MD5; that is here for the
 * comparison of speed only (PK_PRINT_MD5), since who can choose payloads can make two that have one MD5.
 */
#ifndef FAIRGATE_PK_PRINT_H
#define FAIRGATE_PK_PRINT_H

#include <stddef.h>
#include <stdint.h>

#define PK_PRINT_KEY 64u            /* bytes of a key */

enum pk_print_how { PK_PRINT_HIGHWAY, PK_PRINT_MD5 };

struct pk_print { uint64_t half[2]; };

struct pk_print_key {
    enum pk_print_how how;
    uint64_t          part[2][4];
};

void pk_print_key_set(struct pk_print_key *k, const uint8_t key[PK_PRINT_KEY], enum pk_print_how how);
void pk_print_of(const struct pk_print_key *k, const void *bytes, size_t n, struct pk_print *print);

static inline int pk_print_same(const struct pk_print *a, const struct pk_print *b) { return a->half[0] == b->half[0] && a->half[1] == b->half[1]; }

#endif
