/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_begun.h - what a side sees of connections that begin, so that the daemon can tell whether they come about (pk_way.h).
 *
 * A SYN that comes again has had no answer, or none that came to its client; so has a SYN with ACK.  `alone` counts SYNs that come again while no server answers
 * any, `again` all of both while no server sends anything new on any connection.
 */
#ifndef FAIRGATE_PK_BEGUN_H
#define FAIRGATE_PK_BEGUN_H

#include "pk_packet.h"

#define PK_ASKED 64u

struct pk_begun {
    unsigned alone, again;
    bool     other;                 /* the other end stands aside: what is in the way of connections may have been there */
    bool     unheard;               /* what is sent does not reach the other end: likewise, for it may have just been stopped */
    uint32_t asked[PK_ASKED];       /* pk_tuple_mark of those that came last, from the server */
    unsigned next;
};

/* Tells connections from each other, well enough. */
static inline uint32_t pk_tuple_mark(const struct pk_tuple *t) {
    uint32_t mark = 2166136261u;
    for (const uint8_t *p = (const uint8_t *)t; p < (const uint8_t *)(t + 1); p++) mark = (mark ^ *p) * 16777619u;
    return mark;
}

/* A client's SYN; tuple: from the server. */
static inline void pk_begun_asked(struct pk_begun *b, const struct pk_tuple *tuple, bool again) {
    b->asked[b->next++ % PK_ASKED] = pk_tuple_mark(tuple);
    b->alone += again;
    b->again += again;
}

/* A server's SYN with ACK. */
static inline void pk_begun_answered(struct pk_begun *b, bool again) {
    b->alone = 0;
    b->again += again;
}

/* A server sends something new on some connection. */
static inline void pk_begun_goes_on(struct pk_begun *b) { b->alone = b->again = 0; }

#endif
