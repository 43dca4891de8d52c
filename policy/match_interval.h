/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_interval.h - many ranges of numbers against one number: addresses and ports.
 *
 * The ranges, which may overlap, are cut into disjoint intervals in order, each with the smallest rank of those that
 * cover it; a look-up is a binary search.  Numbers have 128 bits.  An IPv4 address has the number of its IPv4-mapped
 * IPv6 address (::ffff:a.b.c.d), so that both forms match the same rules; but an IPv6 prefix that contains
 * ::ffff:0:0/96, such as ::/0, does not mean IPv4 addresses.
 */
#ifndef FAIRGATE_MATCH_INTERVAL_H
#define FAIRGATE_MATCH_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

struct match_interval;

struct match_number { uint64_t high, low; };
struct match_range {
    struct match_number from, to;       /* both included */
    uint32_t            rank;
};

/* NULL: out of memory.  Keeps no reference to the ranges, but sorts them. */
struct match_interval *match_interval_new(struct match_range *ranges, size_t n);
void                   match_interval_free(struct match_interval **m);
/* rank, or UINT32_MAX */
uint32_t               match_interval_find(const struct match_interval *m, struct match_number x);
size_t                 match_interval_bytes(const struct match_interval *m);

/* "192.0.2.0/24", "2001:db8::/32", or an address: fills 1 or 2 ranges and returns their number, or -1 and *error. */
int match_parse_address(const char *text, size_t len, struct match_range ranges[2], char **error);
/* "80" or "8000-8010": 1, or -1 and *error. */
int match_parse_port(const char *text, size_t len, struct match_range *range, char **error);

/* 4 or 16 bytes in network order; 0 if len is neither. */
int match_address_number(const void *addr, unsigned len, struct match_number *x);

#endif
