/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_page.h"

uint64_t qos_page_first(uint32_t least, uint64_t now) {
    return least <= QOS_PAGE_AGE_MAX && least <= now ? now - least : now;
}

bool qos_page_young(const struct qos_visitor *v, uint32_t least, uint64_t now) {
    return v->known && least && least <= QOS_PAGE_AGE_MAX && v->issued - v->first == least && now < v->issued + least;
}

bool qos_page_takes(struct qos_pages *p, uint64_t id) {
    _Atomic uint64_t *place = &p->at[id % QOS_PAGE_PLACES];
    uint64_t was = atomic_load_explicit(place, memory_order_relaxed), next;

    do {
        next = was >> 32 == id >> 32 ? was + 1 : (id >> 32) << 32 | 1;
        if ((uint32_t)next > QOS_PAGE_REQUESTS) return false;
    } while (!atomic_compare_exchange_weak_explicit(place, &was, next, memory_order_relaxed, memory_order_relaxed));
    return true;
}
