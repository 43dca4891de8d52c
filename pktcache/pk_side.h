/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_side.h - one end of a pair, as who runs it sees it: a parent (pk_parent.h) or a child (pk_child.h).
 *
 * A side knows no socket, no device and no clock: `now` is in microseconds and an argument, and what goes out leaves
 * through struct pk_out.  One thread at a time.  Nothing allocates after it is made, but libcrypto at a handshake.
 */
#ifndef FAIRGATE_PK_SIDE_H
#define FAIRGATE_PK_SIDE_H

#include "pk_flows.h"
#include "pk_out.h"
#include "pk_why.h"

typedef struct pk_side pk_side_t;

/*
 * HOOKS
 *     packet           a piece from the device; it may be changed
 *     datagram         a datagram from the peer, and its DSCP and ECN (pk_packet.h); it may be changed
 *     due              when tick wants to be called; UINT64_MAX: not for any time's sake
 *     aside            the daemon takes no packets (daemon/pk_lead.h), or does again: PK_WHY_NOTHING.  The peer is told
 *     passed           packets that did not come here may have passed since this was said last
 *     why              why packets go as they are; PK_WHY_NOTHING: at work
 *     datagrams_first  what the peer says of a packet was sent before it, and is to be handed over before it
 */
struct pk_side_ops {
    void        (*free)(pk_side_t *s);
    void        (*packet)(pk_side_t *s, void *piece, size_t bytes, uint64_t now);
    void        (*datagram)(pk_side_t *s, void *datagram, size_t bytes, uint8_t tos, uint64_t now);
    uint64_t    (*due)(const pk_side_t *s);
    void        (*tick)(pk_side_t *s, uint64_t now);
    void        (*aside)(pk_side_t *s, enum pk_why why, uint64_t now);
    void        (*passed)(pk_side_t *s, uint64_t now);
    enum pk_why (*why)(const pk_side_t *s);
    bool        datagrams_first;
};

/* What a parent and a child have alike, and begin with; to be read only. */
struct pk_side {
    unsigned                  magic;
    const struct pk_side_ops *ops;
    struct pk_counters        counters;
    pk_flows_t               *flows;
};

static inline void pk_side_free(pk_side_t **s) {
    if (*s) (*s)->ops->free(*s);
    *s = NULL;
}

static inline void pk_side_packet(pk_side_t *s, void *piece, size_t bytes, uint64_t now) {
    s->ops->packet(s, piece, bytes, now);
}
static inline void pk_side_datagram(pk_side_t *s, void *datagram, size_t bytes, uint8_t tos, uint64_t now) {
    s->ops->datagram(s, datagram, bytes, tos, now);
}
static inline uint64_t pk_side_due(const pk_side_t *s) { return s->ops->due(s); }
static inline void pk_side_tick(pk_side_t *s, uint64_t now) { s->ops->tick(s, now); }
static inline void pk_side_aside(pk_side_t *s, enum pk_why why, uint64_t now) { s->ops->aside(s, why, now); }
static inline void pk_side_passed(pk_side_t *s, uint64_t now) { s->ops->passed(s, now); }
static inline enum pk_why pk_side_why(const pk_side_t *s) { return s->ops->why(s); }

#endif
