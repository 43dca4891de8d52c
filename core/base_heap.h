/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_heap.h - a heap of numbered things by a 64-bit key, smallest on top, four children to a node.
 *
 * Two arrays stand beside it in the block, found by their distance from the struct: node[capacity] and place[capacity].
 * place[id] is where id stands in node[] (RS_NIL: not in the heap), so a thing whose key changed is found at once.
 * Equal keys keep no order.
 */
#ifndef FAIRGATE_BASE_HEAP_H
#define FAIRGATE_BASE_HEAP_H

#include "base_magic.h"

#include <stdbool.h>
#include <stddef.h>

struct rs_heap_node {
    uint64_t key;
    uint32_t id, pad;
};

struct rs_heap {
    uint32_t count, capacity;       /* ids go from 0 to capacity-1 */
    uint32_t node_at, place_at;     /* from the address of this struct */
};

static inline struct rs_heap_node *rs_heap_nodes(const struct rs_heap *h) {
    return (struct rs_heap_node *)((uintptr_t)h + h->node_at);
}
static inline uint32_t *rs_heap_places(const struct rs_heap *h) { return (uint32_t *)((uintptr_t)h + h->place_at); }

/* Of a heap that is not empty. */
static inline struct rs_heap_node rs_heap_top(const struct rs_heap *h) { return rs_heap_nodes(h)[0]; }
static inline bool rs_heap_has(const struct rs_heap *h, uint32_t id) { return rs_heap_places(h)[id] != RS_NIL; }

void rs_heap_clear(struct rs_heap *h);                              /* count and places; distances and capacity stand */
void rs_heap_push(struct rs_heap *h, uint32_t id, uint64_t key);    /* id is not in it */
void rs_heap_remove(struct rs_heap *h, uint32_t id);                /* id is in it */
void rs_heap_rekey(struct rs_heap *h, uint32_t id, uint64_t key);   /* id is in it */
void rs_heap_lower(struct rs_heap *h, uint64_t down);               /* every key by so much, 0 at least */
const char *rs_heap_check(const struct rs_heap *h);                 /* NULL, or what is wrong */

#endif
