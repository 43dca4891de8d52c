/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_heap.h"

#define FANOUT 4u

static void sift_up(struct rs_heap_node *node, uint32_t *place, uint32_t at, struct rs_heap_node n) {
    while (at > 0) {
        uint32_t parent = (at - 1) / FANOUT;
        if (node[parent].key <= n.key) break;
        node[at] = node[parent];
        place[node[at].id] = at;
        at = parent;
    }
    node[at] = n;
    place[n.id] = at;
}

static void sift_down(struct rs_heap_node *node, uint32_t *place, uint32_t count, uint32_t at, struct rs_heap_node n) {
    for (uint32_t child; (child = at * FANOUT + 1) < count;) {
        uint32_t end = child + FANOUT < count ? child + FANOUT : count, least = child;
        uint64_t key = node[child].key;
        for (uint32_t i = child + 1; i < end; i++)
            if (node[i].key < key) {
                least = i;
                key = node[i].key;
            }
        if (key >= n.key) break;
        node[at] = node[least];
        place[node[at].id] = at;
        at = least;
    }
    node[at] = n;
    place[n.id] = at;
}

void rs_heap_clear(struct rs_heap *h) {
    uint32_t *place = rs_heap_places(h);
    h->count = 0;
    for (uint32_t i = 0; i < h->capacity; i++) place[i] = RS_NIL;
}

void rs_heap_push(struct rs_heap *h, uint32_t id, uint64_t key) {
    sift_up(rs_heap_nodes(h), rs_heap_places(h), h->count++, (struct rs_heap_node){ .key = key, .id = id });
}

void rs_heap_remove(struct rs_heap *h, uint32_t id) {
    struct rs_heap_node *node = rs_heap_nodes(h);
    uint32_t *place = rs_heap_places(h), at = place[id], last = --h->count;
    place[id] = RS_NIL;
    if (at == last) return;
    if (at > 0 && node[(at - 1) / FANOUT].key > node[last].key) sift_up(node, place, at, node[last]);
    else sift_down(node, place, last, at, node[last]);
}

void rs_heap_rekey(struct rs_heap *h, uint32_t id, uint64_t key) {
    struct rs_heap_node *node = rs_heap_nodes(h), n = { .key = key, .id = id };
    uint32_t *place = rs_heap_places(h), at = place[id];
    if (key < node[at].key) sift_up(node, place, at, n);
    else sift_down(node, place, h->count, at, n);
}

void rs_heap_lower(struct rs_heap *h, uint64_t down) {
    struct rs_heap_node *node = rs_heap_nodes(h);
    for (uint32_t i = 0; i < h->count; i++) node[i].key = node[i].key > down ? node[i].key - down : 0;
}

const char *rs_heap_check(const struct rs_heap *h) {
    const struct rs_heap_node *node = rs_heap_nodes(h);
    const uint32_t *place = rs_heap_places(h);
    uint32_t placed = 0;
    if (h->count > h->capacity) return "a heap holds more than there is";
    for (uint32_t i = 0; i < h->count; i++) {
        if (node[i].id >= h->capacity) return "a heap holds an unknown number";
        if (place[node[i].id] != i) return "a heap's member is not where it says";
        if (i > 0 && node[(i - 1) / FANOUT].key > node[i].key) return "a heap is out of order";
    }
    for (uint32_t i = 0; i < h->capacity; i++)
        if (place[i] != RS_NIL) placed++;
    return placed == h->count ? NULL : "a heap has lost a member";
}
