/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_ages.h"

/* as many as there can be, or something goes in circles */
#ifndef RS_PATIENCE
#define RS_PATIENCE (1u << 24)
#endif

/* Two tops become one: the younger is the older one's first child. */
static uint32_t adopt(const rs_engine_t *e, uint32_t a, uint32_t b) {
    if (rs_is_older(rs_row(e, b), rs_row(e, a))) {
        uint32_t older = b;
        b = a;
        a = older;
    }
    struct rs_ticket_row *parent = rs_row(e, a), *child = rs_row(e, b);
    child->bucket_prev = a;
    child->bucket_next = parent->child;
    if (parent->child != RS_NIL) rs_row(e, parent->child)->bucket_prev = b;
    parent->child = b;
    return a;
}

/*
 * Brothers become one heap: first each with the next, then from the last pair to the first, which is what keeps it
 * cheap over many.
 */
static uint32_t join_brothers(const rs_engine_t *e, uint32_t first) {
    uint32_t pairs = RS_NIL, top, left = RS_PATIENCE;
    while (first != RS_NIL) {
        uint32_t a = first, b = rs_row(e, a)->bucket_next;
        RS_ASSERT(left-- > 0);
        first = RS_NIL;
        if (b != RS_NIL) {
            first = rs_row(e, b)->bucket_next;
            a = adopt(e, a, b);
        }
        rs_row(e, a)->bucket_next = pairs;
        pairs = a;
    }
    for (top = pairs, pairs = rs_row(e, top)->bucket_next; pairs != RS_NIL;) {
        uint32_t next = rs_row(e, pairs)->bucket_next;
        top = adopt(e, top, pairs);
        pairs = next;
    }
    return top;
}

uint32_t rs_ages_add(const rs_engine_t *e, uint32_t top, uint32_t t) {
    rs_row(e, t)->child = RS_NIL;
    return top == RS_NIL ? t : adopt(e, top, t);
}

uint32_t rs_ages_remove(const rs_engine_t *e, uint32_t top, uint32_t t) {
    const struct rs_ticket_row *r = rs_row(e, t);
    uint32_t below = r->child == RS_NIL ? RS_NIL : join_brothers(e, r->child);
    if (t == top) return below;
    struct rs_ticket_row *prev = rs_row(e, r->bucket_prev);
    if (prev->child == t) prev->child = r->bucket_next;
    else prev->bucket_next = r->bucket_next;
    if (r->bucket_next != RS_NIL) rs_row(e, r->bucket_next)->bucket_prev = r->bucket_prev;
    return below == RS_NIL ? top : adopt(e, top, below);
}

uint32_t rs_ages_walk(const rs_engine_t *e, uint32_t top, uint32_t t) {
    if (rs_row(e, t)->child != RS_NIL) return rs_row(e, t)->child;
    while (t != top) {
        if (rs_row(e, t)->bucket_next != RS_NIL) return rs_row(e, t)->bucket_next;
        while (rs_row(e, rs_row(e, t)->bucket_prev)->child != t) t = rs_row(e, t)->bucket_prev;
        t = rs_row(e, t)->bucket_prev;
    }
    return RS_NIL;
}

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
