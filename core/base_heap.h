/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_heap.h - a heap of numbered things by a 64-bit key, smallest on top, four children to a node.
 *
 * Two arrays of the owner's: node[capacity] and place[ids].  place[id] is where id stands in node[] (RS_NIL: not in the heap), so that a
 * thing whose key changed is found at once.  The heap itself holds neither: it is a count, and the arrays are passed in, since the
 * block that they stand in moves.  Equal keys keep no order.
 */
#ifndef FAIRGATE_BASE_HEAP_H
#define FAIRGATE_BASE_HEAP_H

#include "base_magic.h"

#include <stddef.h>

struct rs_heap_node {
    uint64_t key;
    uint32_t id;
    uint32_t pad;
};

/* A view: made on the stack where it is needed, from the owner's count and arrays. */
struct rs_heap {
    uint32_t            *count;
    struct rs_heap_node *node;
    uint32_t            *place;
};

void rs_heap_push(struct rs_heap h, uint32_t id, uint64_t key);     /* id is not in it */
void rs_heap_remove(struct rs_heap h, uint32_t id);                 /* id is in it */
void rs_heap_rekey(struct rs_heap h, uint32_t id, uint64_t key);    /* id is in it */
const char *rs_heap_check(struct rs_heap h, uint32_t ids);          /* NULL, or what is wrong */

#endif
