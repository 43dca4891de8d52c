/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_address.h - an address as a number, for who has how many connections and how much of the store: the same for all
 * addresses that one host may have as it likes.
 */
#ifndef FAIRGATE_CCN_ADDRESS_H
#define FAIRGATE_CCN_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

/* Of 4 or 16 bytes: an IPv4 address, also where an IPv6 one stands for it, or the /64 of an IPv6 one. */
uint64_t ccn_address(const uint64_t key[2], const void *address, size_t n);

#endif
