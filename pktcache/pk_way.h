/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_way.h - whether packets are to be led to the device: decided by whether connections come about, and those that are to come to it do.
 *
 * Between the routing and the device, and behind it, there is the machine's packet filter.  It sees the device in the place of the one beyond: a rule that lets
 * pass from the LAN to the WAN does not match.  Address translation (NAT) decides for a connection once, at its first packet: what goes to the device is not
 * translated then, and so it is not when it comes from there.
 *
 *     LED     Packets are led to the device.
 *             FILTERED: packets that are to come to it are on this machine (pk_sight.h), three at least over 0.2 s, and in 0.35 s nothing has come.  Or the rules
 *             can't let anything pass (pk_filter.h).
 *             Connections do not come about (pk_begun.h: the second SYN in vain, and no server answers any for half a second; or the fifth, and nothing follows): LOOKS.
 *     LOOKS   For 10 s at most packets are not led to the device, and it is looked whether connections come about then.  One does: ASIDE (UNANSWERED).  New ones don't,
 *             either: the servers are dead; back, and not again so soon (10 s, twice as long each time, up to an hour).
 *     ASIDE   Packets are not led to the device, for 30 s at first, twice as long each time, up to half an hour.  Then LED, to see whether it is better now.
 *             UNANSWERED while what was sent did not reach the other end: that may have been the reason, so only until it does.
 *
 * A connection that has come about, through the device, makes all waits what they were at first.
 *
 * How soon: Linux sends a SYN again after one second, and after two.  Where nothing comes to the device, one connection that begins is enough after 2.2 s, several
 * after 0.4 s.  Where nothing is answered, one is enough after 2 s for LOOKS; new ones work from then on.
 *
 * Times in microseconds.  Knows no socket and no clock.
 */
#ifndef FAIRGATE_PK_WAY_H
#define FAIRGATE_PK_WAY_H

#include "pk_why.h"

#include <stdbool.h>
#include <stdint.h>

struct pk_sights {
    unsigned due;                   /* packets that are to come to the device, since pieces came from it last */
    uint64_t due_first, due_last;
    unsigned begun, done;           /* LOOKS: connections that began, none of which had begun before; of all, that came about */
    uint64_t begun_at, done_at;     /* the first of these */
};

struct pk_way {
    enum { PK_LED, PK_LOOKS, PK_ASIDE_NOW } state;
    enum pk_why why;                /* PK_WHY_NOTHING: LED */
    bool        alone;              /* LOOKS: because of that */
    bool        in_doubt;           /* ASIDE: while the other end was not heard */
    uint64_t    since, until;
    uint64_t    wait, look_wait;    /* the last ones; 0: none yet */
    uint64_t    look_from;          /* not before */
};

struct pk_way_news {
    bool     came;                  /* something came from the device since it was asked last */
    bool     closed;                /* the filter's rules let nothing pass */
    unsigned alone, again;          /* pk_begun.h; since the state changed */
    bool     other;                 /* the other end stands aside: then only `alone` is ours, and what else was looked for is no news */
    bool     unheard;               /* what is sent does not reach the other end */
    bool     goes_on;               /* something new from a server came from the device */
};

/* To be asked ten times a second.  Whether the state changed; `sights` are to be forgotten then. */
bool pk_way_look(struct pk_way *w, const struct pk_way_news *n, const struct pk_sights *s, uint64_t now);

#endif
