/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_order.h - segments in their order: one whose turn it is goes on at once, another waits for those before it.
 *
 * No more than NDN_PLACES_MAX wait, since a fetch runs no further ahead (ndn_fetch.h): 36 MB, at the largest window.
 * Segments may be of any sizes, so nobody but those before it says where one belongs.
 */
#ifndef FAIRGATE_GET_ORDER_H
#define FAIRGATE_GET_ORDER_H

#include "ndn/ndn_fetch.h"

struct get_order {
    uint64_t        next;
    struct ndn_span waiting[NDN_PLACES_MAX];    /* of segment s: at s % NDN_PLACES_MAX; at NULL: it has not come */
    /* false ends it all */
    bool          (*take)(void *to, struct ndn_span bytes);
    void           *to;
};

/* `first`: whose turn it is. */
void get_order_begin(struct get_order *o, uint64_t first, bool (*take)(void *to, struct ndn_span bytes), void *to);
/* Each segment once, less than NDN_PLACES_MAX behind the one whose turn it is.  False: take said so, or no memory. */
bool get_order_put(struct get_order *o, uint64_t segment, struct ndn_span bytes);
void get_order_end(struct get_order *o);        /* forgets what waits */

#endif
