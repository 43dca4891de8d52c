/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_order.h - segments in their order: one whose turn it is goes on at once, another waits for those before it.
 *
 * No more than NDN_PLACES_MAX wait, since a fetch runs no further ahead (ndn_fetch.h): 36 MB, at the largest window.
 * Segments may be of any sizes, so nobody but those before it says where one belongs.
 */
#ifndef FAIRGATE_NDN_ORDER_H
#define FAIRGATE_NDN_ORDER_H

#include "ndn_fetch.h"

struct ndn_order {
    uint64_t        next;
    struct ndn_span waiting[NDN_PLACES_MAX];    /* of segment s: at s % NDN_PLACES_MAX; at NULL: it has not come */
    /* false ends it all */
    bool          (*take)(void *to, struct ndn_span bytes);
    void           *to;
};

/* `first`: whose turn it is. */
void ndn_order_begin(struct ndn_order *o, uint64_t first, bool (*take)(void *to, struct ndn_span bytes), void *to);
/* Each segment once, less than NDN_PLACES_MAX behind the one whose turn it is.  False: take said so, or no memory. */
bool ndn_order_put(struct ndn_order *o, uint64_t segment, struct ndn_span bytes);
void ndn_order_end(struct ndn_order *o);        /* forgets what waits */

#endif
