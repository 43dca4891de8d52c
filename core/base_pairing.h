/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_pairing.h - a pairing heap of numbered rows, whose links stand in the rows.
 *
 * `child` is the first of those below, `next` its brother, and `prev` the brother before, or for a first child the
 * parent.  A heap is the number of its top, whose next and prev mean nothing; RS_NIL is one without members.  Adding is
 * O(1); removing, whoever it is, O(log members) on average: a top under which many were added since the last one went
 * is once as dear as they are many.
 *
 * Inline, with where the links stand and who goes above whom as arguments, so that each use gets a copy made for it.
 */
#ifndef FAIRGATE_BASE_PAIRING_H
#define FAIRGATE_BASE_PAIRING_H

#include "base_block.h"

struct rs_links { uint32_t *child, *next, *prev; };

typedef struct rs_links rs_links_of(const rs_engine_t *e, uint32_t member);
typedef bool rs_goes_above(const rs_engine_t *e, uint32_t a, uint32_t b);

/* steps of one joining: twice as many as there can be members, or something goes in circles */
#ifndef RS_PATIENCE
#define RS_PATIENCE (2u << 24)
#endif

#define RS_PAIRING static inline __attribute__((always_inline))

/* Two tops become one: the lower is the other one's first child. */
RS_PAIRING uint32_t rs_pairing_adopt(const rs_engine_t *e, uint32_t a, uint32_t b, rs_links_of *links,
                                     rs_goes_above *above) {
    if (above(e, b, a)) {
        uint32_t lower = a;
        a = b;
        b = lower;
    }
    struct rs_links parent = links(e, a), child = links(e, b);
    *child.prev = a;
    *child.next = *parent.child;
    if (*parent.child != RS_NIL) *links(e, *parent.child).prev = b;
    *parent.child = b;
    return a;
}

/*
 * Brothers become one heap: first each with the next, then from the last pair to the first, which is what keeps it
 * cheap over many.
 */
RS_PAIRING uint32_t rs_pairing_join(const rs_engine_t *e, uint32_t first, rs_links_of *links, rs_goes_above *above) {
    uint32_t pairs = RS_NIL, top, left = RS_PATIENCE;
    while (first != RS_NIL) {
        uint32_t a = first, b = *links(e, a).next;
        RS_ASSERT(left-- > 0);
        first = RS_NIL;
        if (b != RS_NIL) {
            first = *links(e, b).next;
            a = rs_pairing_adopt(e, a, b, links, above);
        }
        *links(e, a).next = pairs;
        pairs = a;
    }
    for (top = pairs, pairs = *links(e, top).next; pairs != RS_NIL;) {
        uint32_t next = *links(e, pairs).next;
        RS_ASSERT(left-- > 0);
        top = rs_pairing_adopt(e, top, pairs, links, above);
        pairs = next;
    }
    return top;
}

/* The new top. */
RS_PAIRING uint32_t rs_pairing_add(const rs_engine_t *e, uint32_t top, uint32_t m, rs_links_of *links,
                                   rs_goes_above *above) {
    *links(e, m).child = RS_NIL;
    return top == RS_NIL ? m : rs_pairing_adopt(e, top, m, links, above);
}

/* The new top; m is in it. */
RS_PAIRING uint32_t rs_pairing_remove(const rs_engine_t *e, uint32_t top, uint32_t m, rs_links_of *links,
                                      rs_goes_above *above) {
    struct rs_links l = links(e, m);
    uint32_t below = *l.child == RS_NIL ? RS_NIL : rs_pairing_join(e, *l.child, links, above);
    if (m == top) return below;
    struct rs_links prev = links(e, *l.prev);
    if (*prev.child == m) *prev.child = *l.next;
    else *prev.next = *l.next;
    if (*l.next != RS_NIL) *links(e, *l.next).prev = *l.prev;
    return below == RS_NIL ? top : rs_pairing_adopt(e, top, below, links, above);
}

/* Whom a walk from the top shows after m, each before those below it; RS_NIL after the last. */
RS_PAIRING uint32_t rs_pairing_walk(const rs_engine_t *e, uint32_t top, uint32_t m, rs_links_of *links) {
    if (*links(e, m).child != RS_NIL) return *links(e, m).child;
    while (m != top) {
        struct rs_links l = links(e, m);
        if (*l.next != RS_NIL) return *l.next;
        while (*links(e, *links(e, m).prev).child != m) m = *links(e, m).prev;
        m = *links(e, m).prev;
    }
    return RS_NIL;
}

#endif
