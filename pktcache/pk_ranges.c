/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_ranges.h"

enum { FAR_BEHIND = 1 << 24 }; /* bytes: what is as far behind is not waited for any more */

void pk_ranges_add(struct pk_ranges *r, uint32_t from, uint32_t n) {
    uint32_t last = (r->oldest + PK_RANGES_MAX - 1) % PK_RANGES_MAX;

    if (r->range[last].to == from && r->range[last].from != from) {
        r->range[last].to = from + n;
        return;
    }
    r->range[r->oldest].from = from;
    r->range[r->oldest].to = from + n;
    r->oldest = (uint8_t)((r->oldest + 1) % PK_RANGES_MAX);
}

bool pk_ranges_have(const struct pk_ranges *r, uint32_t from, uint32_t n) {
    for (uint32_t i = 0; i < PK_RANGES_MAX; i++) {
        uint32_t length = r->range[i].to - r->range[i].from, offset = from - r->range[i].from;
        if (offset <= length && n <= length - offset) return true;
    }
    return false;
}

void pk_ranges_pass(struct pk_ranges *r, uint32_t next) {
    if (next - r->passed <= FAR_BEHIND) return;
    for (uint32_t i = 0; i < PK_RANGES_MAX; i++)
        if ((int32_t)(next - r->range[i].to) > FAR_BEHIND) r->range[i].from = r->range[i].to = next;
    r->passed = next;
}
