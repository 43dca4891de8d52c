/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_ranges.h - parts of a flow, by sequence numbers, that the child is to store when they come.  The oldest gives its
 * place.
 *
 * Sequence numbers come again after 4 GB, and mean other bytes then: whoever goes on in the flow calls pk_ranges_pass,
 * which forgets what is far behind.
 */
#ifndef FAIRGATE_PK_RANGES_H
#define FAIRGATE_PK_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define PK_RANGES_MAX 32u

/* All zero: none. */
struct pk_ranges {
    uint32_t passed;            /* what was too far behind this is gone */
    uint8_t  oldest;
    struct { uint32_t from, to; } range[PK_RANGES_MAX];
};

void pk_ranges_add(struct pk_ranges *r, uint32_t from, uint32_t n);
/* Whether all n bytes from there on are in one of them. */
bool pk_ranges_have(const struct pk_ranges *r, uint32_t from, uint32_t n);
/* The flow has come to `next`. */
void pk_ranges_pass(struct pk_ranges *r, uint32_t next);

#endif
