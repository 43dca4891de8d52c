/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages/pages_ring.h"

void pages_ring_put(struct pages_ring *r, uint64_t key) {
    uint64_t at = atomic_fetch_add_explicit(&r->head, 1, memory_order_relaxed);
    atomic_store_explicit(&r->key[at % PAGES_RING], key, memory_order_relaxed);
}

uint64_t pages_ring_take(struct pages_ring *r) {
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed),
             tail = atomic_load_explicit(&r->tail, memory_order_relaxed), key = 0;

    if (head - tail > PAGES_RING) tail = head - PAGES_RING;
    /* A place that is counted but not written yet has no key: it is passed over. */
    while (tail != head && !key) key = atomic_exchange_explicit(&r->key[tail++ % PAGES_RING], 0, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail, memory_order_relaxed);
    return key;
}
