/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_tunnels.h - tunnels behind a thin downlink, packet by packet, and what is beside them.
 *
 * A tunnel carries answers whose sizes nobody knows; all that a host sees is bytes, and all that it can do is to let
 * its CONNECT wait, not to read, and to bound the receive window.  So here, unlike in server_link.c, the window counts:
 * a server sends what its congestion window and the offered one allow, segments stand in the ISP's one queue, and the
 * host's kernel offers what it has room for.  Nothing is lost: a queue longer than `queue` halves who adds to it.
 *
 *     server ── round trip ──> the ISP's queue ──rate──> kernel (room, clamp) ──read──> host, engine
 *
 * The host does what squid-fqrs does without settings (sim_squid.h; squid-fqrs/fqrs/Ticket.h: TURNS), or one of the
 * simpler things that were tried.
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
    TUNNEL_IDLE,        /* a tunnel of which only a handshake comes */
    /* no tunnel, answers over HTTP, whose length the header tells: */
    TUNNEL_NONE,        /* pages */
    TUNNEL_THINKS,      /* 200 bytes each, `pace` seconds after they were asked for */
    TUNNEL_DRIPS        /* a large one, of which `pace` bytes come a second */
};

/* Clients that do the same; figures are theirs. */
struct tunnel_class {
    uint32_t         weight, clients;
    enum tunnel_work work;
    double           pace;
    uint32_t         users;             /* share the class, and these clients are of so many; 0 = it is not shared */
    int              beside;            /* they are of the class of those before, whose weight holds */
    double           from;              /* they come in the second behind this */
};

struct tunnel_setup {
    const struct tunnel_class *classes;
    uint32_t        nclasses;
    enum tunnel_way way;
    double          rate;               /* bytes a second */
    double          rtt_from, rtt_to;   /* a server's, uniform; a client's server is always the same */
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
    double wait[TUNNEL_CLASSES];        /* longest wait of a request, CONNECT or turn that was let go */
    double use;                         /* of the link */
    double queue_median, queue_p95;     /* bytes at the ISP */
    double turns;                       /* tickets a second */
    uint32_t held;                      /* tickets that idle tunnels have at the end */
    uint64_t dropped;                   /* segments that a kernel had offered room for, and had none */
};

struct tunnel_figures sim_tunnels(const struct tunnel_setup *setup);

#endif
