/* SPDX-License-Identifier: BSD-2-Clause */
/* base_arena.h - carving one block into parts: each part begins at a multiple of 64. */
#ifndef FAIRGATE_BASE_ARENA_H
#define FAIRGATE_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#define RS_ALIGN 64

static inline uint64_t rs_round_up(uint64_t n) { return (n + RS_ALIGN - 1) & ~(uint64_t)(RS_ALIGN - 1); }

/* Offset of a part of n items of `width` bytes; *used moves past it. */
static inline uint64_t rs_carve(uint64_t *used, uint64_t n, uint64_t width) {
    uint64_t at = rs_round_up(*used);
    *used = at + n * width;
    return at;
}

#endif
