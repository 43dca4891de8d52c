/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_buckets.h"

const char *rs_buckets_check(const rs_engine_t *e, const struct rs_bucket *buckets, uint64_t map, uint32_t members,
                             uint32_t outlet, uint32_t class) {
    uint32_t seen = 0;
    for (uint32_t b = 0; b < RS_BUCKETS; b++) {
        if (!(map >> b & 1)) continue;
        uint32_t prev = RS_NIL;
        for (uint32_t t = buckets[b].first; t != RS_NIL; t = rs_row(e, t)->bucket_next) {
            if (t >= e->capacity.tickets) return "a size bucket holds an unknown ticket";
            const struct rs_ticket_row *r = rs_row(e, t);
            if (++seen > members) return "size buckets hold more than wait";
            if (rs_row_state(r) != RS_QUEUED || r->outlet != outlet || r->class != class)
                return "a size bucket holds a ticket that does not wait here";
            if (rs_bucket_of(r->estimate) != b) return "a ticket stands in the wrong size bucket";
            if (r->bucket_prev != prev) return "a size bucket's links disagree";
            if (prev != RS_NIL && rs_row(e, prev)->seq >= r->seq) return "a size bucket is out of order";
            prev = t;
        }
        if (prev == RS_NIL) return "a size bucket is empty but marked full";
        if (buckets[b].last != prev) return "a size bucket's last is not its last";
    }
    return seen == members ? NULL : "size buckets have lost a ticket";
}
