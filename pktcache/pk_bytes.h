/* SPDX-License-Identifier: BSD-2-Clause */
/* pk_bytes.h - numbers as they stand in packets and datagrams: in network order, wherever they lie. */
#ifndef FAIRGATE_PK_BYTES_H
#define FAIRGATE_PK_BYTES_H

#include <stdint.h>

static inline uint16_t pk_get16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t pk_get32(const uint8_t *p) { return (uint32_t)pk_get16(p) << 16 | pk_get16(p + 2); }
static inline uint64_t pk_get64(const uint8_t *p) { return (uint64_t)pk_get32(p) << 32 | pk_get32(p + 4); }

/* The lower two bytes of v. */
static inline void pk_put16(uint8_t *p, uint32_t v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static inline void pk_put32(uint8_t *p, uint32_t v) { pk_put16(p, v >> 16); pk_put16(p + 2, v); }
static inline void pk_put64(uint8_t *p, uint64_t v) { pk_put32(p, (uint32_t)(v >> 32)); pk_put32(p + 4, (uint32_t)v); }

#endif
