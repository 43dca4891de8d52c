/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_sizes.h"

#include <sys/random.h>

static uint64_t sizes_begins(void) { return (sizeof(struct qos_area) + 63) & ~UINT64_C(63); }

uint64_t qos_sizes_bytes(uint32_t pages) { return sizes_begins() + pages_learnt_bytes(pages); }

int qos_sizes_make(struct qos_sizes *z, void *area, uint32_t pages, const char **why) {
    if (getrandom(z->hash_key, sizeof z->hash_key, 0) != sizeof z->hash_key ||
        getrandom(z->outer_key, sizeof z->outer_key, 0) != sizeof z->outer_key) {
        *why = "no random numbers";
        return -1;
    }
    z->area = area;
    z->learnt = (char *)area + sizes_begins();
    z->pages = pages;
    return 0;
}
