/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void ndn_order_begin(struct ndn_order *o, uint64_t first, bool (*take)(void *to, struct ndn_span bytes), void *to) {
    *o = (struct ndn_order){ .next = first, .take = take, .to = to };
}

bool ndn_order_put(struct ndn_order *o, uint64_t segment, struct ndn_span bytes) {
    struct ndn_span *w = o->waiting + segment % NDN_PLACES_MAX;
    uint8_t *copy;

    assert(segment - o->next < NDN_PLACES_MAX && !w->at);
    if (segment != o->next) {
        copy = malloc(bytes.n + 1); /* empty ones have a place, too */
        if (!copy) return false;
        if (bytes.n) memcpy(copy, bytes.at, bytes.n);
        *w = (struct ndn_span){ copy, bytes.n };
        return true;
    }
    if (!o->take(o->to, bytes)) return false;
    while (o->next++, w = o->waiting + o->next % NDN_PLACES_MAX, w->at) {
        bool went = o->take(o->to, *w);
        free((void *)(uintptr_t)w->at);
        w->at = NULL;
        if (!went) return false;
    }
    return true;
}

void ndn_order_end(struct ndn_order *o) {
    for (size_t i = 0; i < NDN_PLACES_MAX; i++) {
        free((void *)(uintptr_t)o->waiting[i].at);
        o->waiting[i].at = NULL;
    }
}
