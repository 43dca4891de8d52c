/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_lanes.h - looking at many places of memory at a time, for the files of marks/.  Macros, since a function would
 * hand vectors over, and how is another matter for each processor.
 */
#ifndef FAIRGATE_EEOD_LANES_H
#define FAIRGATE_EEOD_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char lanes __attribute__((vector_size(32)));
typedef lanes loose __attribute__((aligned(1), may_alias));     /* wherever it lies */

enum { STEP = 4 * sizeof(lanes) };     /* 128 places */

/* Twice as fast where the processor can; what a distribution compiles for cannot be told so. */
#if defined __x86_64__ && defined __gnu_linux__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ &&    \
    !defined __clang__
#define CLONED __attribute__((target_clones("avx2", "default")))
#else
#define CLONED
#endif

#define ALL(c) ((lanes){ 0 } + (c))
#define AT(place, k) (*(const loose *)((place) + (k) * sizeof(lanes)))
#define FOUR(expression) { (lanes)expression(0), (lanes)expression(1), (lanes)expression(2), (lanes)expression(3) }

/* The first of `hit`'s places that is set, or STEP. */
static inline size_t first_place(const lanes *hit) {
    unsigned char at[STEP];
    uint64_t eight;
    memcpy(at, hit, sizeof at);
    for (size_t i = 0; i < STEP; i += sizeof eight) {
        memcpy(&eight, at + i, sizeof eight);
        if (!eight) continue;
        while (!at[i]) i++;
        return i;
    }
    return STEP;
}

static inline __attribute__((always_inline)) int any_place(const lanes *hit) {
    lanes all = hit[0] | hit[1] | hit[2] | hit[3];
    uint64_t quarter[4];
    memcpy(quarter, &all, sizeof quarter);
    return (quarter[0] | quarter[1] | quarter[2] | quarter[3]) != 0;
}

/* The same for what is near: 16 places. */
typedef unsigned char few __attribute__((vector_size(16)));
typedef few loose_few __attribute__((aligned(1), may_alias));

enum { FEW = sizeof(few) };

#define FEW_AT(place) (*(const loose_few *)(place))
#define ARE(place, c) ((few)(FEW_AT(place) == (c)))
#define NOT_ABOVE(place, c) ((few)(FEW_AT(place) <= (c)))

/* The first place that is set, or FEW. */
static inline __attribute__((always_inline)) unsigned first_of_few(few hit) {
    uint64_t eight[2];
    memcpy(eight, &hit, sizeof eight);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST(x) ((unsigned)__builtin_ctzll(x) / 8)
#else
#define FIRST(x) ((unsigned)__builtin_clzll(x) / 8)
#endif
    return eight[0] ? FIRST(eight[0]) : eight[1] ? FEW / 2 + FIRST(eight[1]) : FEW;
#undef FIRST
}

#endif
