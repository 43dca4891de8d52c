/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_ages.h"
#include "base_pairing.h"

static inline struct rs_links ages_links(const rs_engine_t *e, uint32_t t) {
    struct rs_ticket_row *r = rs_row(e, t);
    return (struct rs_links){ &r->child, &r->bucket_next, &r->bucket_prev };
}

static inline bool ages_above(const rs_engine_t *e, uint32_t a, uint32_t b) {
    return rs_is_older(rs_row(e, a), rs_row(e, b));
}

uint32_t rs_ages_add(const rs_engine_t *e, uint32_t top, uint32_t t) {
    return rs_pairing_add(e, top, t, ages_links, ages_above);
}

uint32_t rs_ages_remove(const rs_engine_t *e, uint32_t top, uint32_t t) {
    return rs_pairing_remove(e, top, t, ages_links, ages_above);
}

uint32_t rs_ages_walk(const rs_engine_t *e, uint32_t top, uint32_t t) { return rs_pairing_walk(e, top, t, ages_links); }

/* t itself, the links of its children, and who of them is older. */
static const char *check_family(const rs_engine_t *e, uint32_t t, uint32_t outlet, uint32_t *members) {
    const struct rs_ticket_row *parent = rs_row(e, t);
    uint32_t prev = t;
    if ((*members)-- == 0) return "heaps of ages hold more than wait";
    if (rs_row_state(parent) != RS_QUEUED || parent->outlet != outlet)
        return "a heap of ages holds a ticket that does not wait here";
    for (uint32_t c = parent->child; c != RS_NIL; c = rs_row(e, c)->bucket_next) {
        if (c >= e->capacity.tickets) return "a heap of ages holds an unknown ticket";
        if (rs_row(e, c)->bucket_prev != prev) return "the links of a heap of ages disagree";
        if (!rs_is_older(parent, rs_row(e, c))) return "a heap of ages is out of order";
        prev = c;
    }
    return NULL;
}

const char *rs_ages_check(const rs_engine_t *e, uint32_t top, uint32_t outlet, uint32_t *members) {
    const char *why = NULL;
    if (top >= e->capacity.tickets) return "a heap of ages holds an unknown ticket";
    for (uint32_t t = top; !why && t != RS_NIL; t = rs_ages_walk(e, top, t)) why = check_family(e, t, outlet, members);
    return why;
}
