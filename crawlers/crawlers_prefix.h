/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crawlers_prefix.h - a network or one address, as lists of crawlers have them: 192.0.2.0/24, 2001:db8::7.
 *
 * An IPv4 address stands as its IPv4-mapped IPv6 address, so that both have one order.  Written as the mapped one it is
 * refused: who publishes that has made a mistake.
 */
#ifndef FAIRGATE_CRAWLERS_PREFIX_H
#define FAIRGATE_CRAWLERS_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#define CRAWLERS_PREFIX_ROOM 64u            /* of its text, with its NUL */

struct crawlers_prefix {
    uint8_t address[16];                    /* no bit is set behind `bits` */
    uint8_t bits;                           /* of an IPv4 network 96 and more */
};

/* NULL; or what is wrong, a constant. */
const char *crawlers_prefix_read(const char *text, struct crawlers_prefix *p);
/* ADDRESS/BITS, always in the same spelling. */
void        crawlers_prefix_text(const struct crawlers_prefix *p, char out[CRAWLERS_PREFIX_ROOM]);
/* By address, then the wider first: less than, equal to or greater than 0. */
int         crawlers_prefix_compare(const struct crawlers_prefix *a, const struct crawlers_prefix *b);
bool        crawlers_prefix_is_v4(const struct crawlers_prefix *p);
/* 4 or 16 bytes in network order, as they stand in a prefix.  False if len is neither. */
bool        crawlers_address(const void *address, unsigned len, uint8_t out[16]);
/* The last address of the network. */
void        crawlers_prefix_last(const struct crawlers_prefix *p, uint8_t out[16]);

#endif
