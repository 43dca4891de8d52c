/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_way.h - whether packets are to be led to the device: whether those that are led there come there, and whether
 * connections come about.
 *
 * The machine's packet filter stands between the routing and the device, and behind the device.  It sees the device
 * where it would see the next one on the way: a rule that lets pass from the LAN to the WAN does not match.  Address
 * translation (NAT) decides for a connection once, at its first packet: that one goes to the device, where nothing is
 * translated, and so no packet of the connection is when it comes from there.
 *
 *     LED     Packets are led to the device.
 *             ASIDE (FILTERED) if packets for it are seen on other devices (pk_sight.h), three at least over 0.2 s, and
 *             in 0.35 s none has come; or if the filter's rules can't let anything pass (pk_filter.h).
 *             LOOKS if connections do not come about (pk_begun.h), for half a second at least: two SYNs came again and
 *             no server answered any, or five and nothing new followed on any connection.
 *     LOOKS   For 10 s at most packets take their plain way, to see whether connections come about then.
 *             ASIDE (UNANSWERED) if one does.
 *             LED if new ones don't, either: the servers are dead.  LOOKS not again so soon (10 s, twice as long each
 *             time, up to an hour).
 *     ASIDE   Packets take their plain way, for 30 s at first, twice as long each time, up to half an hour.  Then LED,
 *             to see whether it is better now.
 *             If the other end could not be reached when UNANSWERED was found, that may have been the reason: LED as
 *             soon as it can be.
 *
 * A connection that has come about through the device makes all waits what they were at first.
 *
 * How soon: Linux sends a SYN again after one second, and after two.  Where nothing comes to the device, one connection
 * that begins is enough after 2.2 s, several after 0.4 s.  Where nothing is answered, one is enough after 2 s for
 * LOOKS; new ones work from then on.
 *
 * Times in microseconds.  Knows no socket and no clock.
 */
#ifndef FAIRGATE_PK_WAY_H
#define FAIRGATE_PK_WAY_H

#include "pk_why.h"

#include <stdbool.h>
#include <stdint.h>

struct pk_sights {
    unsigned due;                   /* packets for the device, seen elsewhere since a piece came from it last */
    uint64_t due_first, due_last;
    unsigned begun, done;           /* LOOKS: new connections that began; connections, new or not, that came about */
    uint64_t begun_at, done_at;     /* the first of these */
};

struct pk_way {
    enum { PK_LED, PK_LOOKS, PK_ASIDE_NOW } state;
    enum pk_why why;                /* PK_WHY_NOTHING: LED */
    bool        alone;              /* LOOKS: because of `alone`, not `again` */
    bool        in_doubt;           /* ASIDE: the other end could not be reached when that was found */
    uint64_t    since, until;
    uint64_t    wait, look_wait;    /* the last ones; 0: none yet */
    uint64_t    look_from;          /* not before */
};

struct pk_way_news {
    bool     came;                  /* something came from the device since it was asked last */
    bool     closed;                /* the filter's rules let nothing pass */
    unsigned alone, again;          /* pk_begun.h; since the state changed */
    bool     other;                 /* the other end stands aside: `again` may be its doing, `alone` is not */
    bool     unheard;               /* what is sent does not reach the other end */
    bool     goes_on;               /* something new from a server came from the device */
};

/* To be asked ten times a second.  Whether the state changed; `sights` are to be forgotten then. */
bool pk_way_look(struct pk_way *w, const struct pk_way_news *n, const struct pk_sights *s, uint64_t now);

#endif
