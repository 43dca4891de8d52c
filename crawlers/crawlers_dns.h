/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crawlers_dns.h - reverse names confirmed forward: is this address of who it says, by its name in DNS?
 *
 * Its owner writes what its reverse name is, so that alone says nothing; the name must end as the crawler's do, and
 * lead back to the address, which only the owner of that domain can arrange.
 *
 * TRUST.  The resolver of this machine (resolv.conf) is believed, so let it be near.  What is asked for is a
 * stranger's choice, and so is much of the answer.
 */
#ifndef FAIRGATE_CRAWLERS_DNS_H
#define FAIRGATE_CRAWLERS_DNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRAWLERS_DNS_NAME  256u         /* of a name as text, with its NUL */
#define CRAWLERS_DNS_NAMES 4u           /* of an address, that are looked at */

enum crawlers_said {
    CRAWLERS_DENIED,
    CRAWLERS_CONFIRMED,
    CRAWLERS_NO_ANSWER      /* of whom it should have come from, now */
};

/*
 * Of an address as crawlers_prefix.h has it; suffixes in lower case.  Asks up to five times, each at most a second for
 * each server that resolv.conf names, and no more once *stop is not 0.  Any thread; it must not be cancelled meanwhile.
 */
enum crawlers_said crawlers_dns_confirm(const uint8_t address[16], const char *const *suffix, unsigned n,
                                        const _Atomic uint32_t *stop);

/* Its parts, which ask nobody: */

/* The name of PTR for the address. */
void     crawlers_dns_reverse(const uint8_t address[16], char out[CRAWLERS_DNS_NAME]);
/* The names that an answer gives, in lower case, without the dot at their ends; how many. */
unsigned crawlers_dns_names(const uint8_t *answer, size_t n, char name[CRAWLERS_DNS_NAMES][CRAWLERS_DNS_NAME]);
/* Is the address among those that it gives? */
bool     crawlers_dns_leads_to(const uint8_t *answer, size_t n, const uint8_t address[16]);
/* Is the name that of the suffix, or below it? */
bool     crawlers_dns_ends(const char *name, const char *suffix);

#endif
