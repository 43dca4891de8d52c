/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_heap.h"

#define FANOUT 4u

static void put(struct rs_heap h, uint32_t at, struct rs_heap_node n) {
    h.node[at] = n;
    h.place[n.id] = at;
}

static void sift_up(struct rs_heap h, uint32_t at, struct rs_heap_node n) {
    while (at > 0) {
        uint32_t parent = (at - 1) / FANOUT;
        if (h.node[parent].key <= n.key) break;
        put(h, at, h.node[parent]);
        at = parent;
    }
    put(h, at, n);
}

static void sift_down(struct rs_heap h, uint32_t at, struct rs_heap_node n) {
    uint32_t count = *h.count;
    for (;;) {
        uint32_t child = at * FANOUT + 1, end = child + FANOUT, least = child;
        if (child >= count) break;
        if (end > count) end = count;
        uint64_t key = h.node[child].key;
        for (uint32_t i = child + 1; i < end; i++)
            if (h.node[i].key < key) {
                least = i;
                key = h.node[i].key;
            }
        if (key >= n.key) break;
        put(h, at, h.node[least]);
        at = least;
    }
    put(h, at, n);
}

void rs_heap_push(struct rs_heap h, uint32_t id, uint64_t key) {
    sift_up(h, (*h.count)++, (struct rs_heap_node){ .key = key, .id = id });
}

void rs_heap_remove(struct rs_heap h, uint32_t id) {
    uint32_t at = h.place[id];
    h.place[id] = RS_NIL;
    uint32_t last = --*h.count;
    if (at == last) return;
    struct rs_heap_node n = h.node[last];
    if (at > 0 && h.node[(at - 1) / FANOUT].key > n.key) sift_up(h, at, n);
    else sift_down(h, at, n);
}

void rs_heap_rekey(struct rs_heap h, uint32_t id, uint64_t key) {
    uint32_t at = h.place[id];
    uint64_t was = h.node[at].key;
    struct rs_heap_node n = { .key = key, .id = id };
    if (key < was) sift_up(h, at, n);
    else if (key > was) sift_down(h, at, n);
}

const char *rs_heap_check(struct rs_heap h, uint32_t ids) {
    uint32_t count = *h.count, placed = 0;
    if (count > ids) return "a heap holds more than there is";
    for (uint32_t i = 0; i < count; i++) {
        if (h.node[i].id >= ids) return "a heap holds an unknown number";
        if (h.place[h.node[i].id] != i) return "a heap's member is not where it says";
        if (i > 0 && h.node[(i - 1) / FANOUT].key > h.node[i].key) return "a heap is out of order";
    }
    for (uint32_t i = 0; i < ids; i++)
        if (h.place[i] != RS_NIL) placed++;
    return placed == count ? NULL : "a heap has lost a member";
}
