/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_address.h"

#include <netinet/in.h>

#include "base/base_hash.h"

uint64_t ccn_address(const uint64_t key[2], const void *address, size_t n) {
    const uint8_t *bytes = address;
    struct base_hash h;

    if (n == 16 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address)) bytes += 12, n = 4;
    base_hash_begin(&h, key);
    base_hash_add(&h, bytes, n < 8 ? n : 8);
    return base_hash_end(h);
}
