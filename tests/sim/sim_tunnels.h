/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_tunnels.h - tunnels behind a thin downlink, packet by packet.
 *
 * A tunnel carries answers whose sizes nobody knows; all that a host sees is bytes, and all that it can do is to let
 * its CONNECT wait, not to read, and to bound the receive window.  So here, unlike in server_link.c, the window counts:
 * a server sends what its congestion window and the offered one allow, segments stand in the ISP's one queue, and the
 * host's kernel offers what it has room for.  Nothing is lost: a queue longer than `queue` halves who adds to it.
 *
 *     server ── round trip ──> the ISP's queue ──rate──> kernel (room, clamp) ──read──> host, engine
 *
 * The host does what squid-fqrs does (squid-fqrs/fqrs/Ticket.h: TURNS), or one of the simpler things that were tried.
 */
#ifndef FAIRGATE_SIM_TUNNELS_H
#define FAIRGATE_SIM_TUNNELS_H

#include <stdint.h>

enum tunnel_way {
    TUNNELS_CHARGED,    /* never held, always read, charged to their class */
    TUNNELS_HELD,       /* CONNECT waits; one ticket for the tunnel's life; windows fitted; always read */
    TUNNELS_IN_TURNS    /* CONNECT waits; a ticket for each turn, not read between turns; windows fitted */
};

enum tunnel_work {
    TUNNEL_EACH,        /* a tunnel for each download */
    TUNNEL_KEPT,        /* one tunnel, downloads one after another in it */
    TUNNEL_ENDLESS,     /* one download without an end */
    TUNNEL_NONE         /* no tunnel: pages over HTTP, whose length the header tells */
};

struct tunnel_class {
    uint32_t         weight, clients;
    enum tunnel_work work;
};

struct tunnel_setup {
    const struct tunnel_class *classes;
    uint32_t        nclasses;
    enum tunnel_way way;
    double          rate;               /* bytes a second */
    double          rtt_from, rtt_to;
    uint32_t        horizon_ms;
    double          turn;               /* what one brings, in eighths of what may be outstanding in all */
    double          larger;             /* than the papers' pages: a factor */
    int             bounded;            /* the receive buffer follows the window */
    uint64_t        seed;
    double          warm, until;        /* seconds */
};

#define TUNNEL_CLASSES 8

struct tunnel_figures {
    double share[TUNNEL_CLASSES];       /* of the bytes that clients received, 0 .. 1 */
    double jain_5s, jain_1s;
    double gap[TUNNEL_CLASSES];         /* longest time without a byte */
    double use;                         /* of the link */
    double queue_median, queue_p95;     /* bytes at the ISP */
    double turns;                       /* tickets a second */
    uint64_t dropped;                   /* segments that a kernel had offered room for, and had none */
};

struct tunnel_figures sim_tunnels(const struct tunnel_setup *setup);

#endif
