/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_server.h - servers and links in simulated time.
 *
 * A server takes a response that the host releases, and tells the host what comes: its header, its bytes, its end
 * (sim_host.h: sim_on_*).  It is asked for the time of its next change and moved on to it.  Times are seconds, rates
 * bytes per second.
 *
 *     processor sharing   an httpd or a fast link: every response has an equal part of the rate, none more than one
 *                         core; a fixed overhead per response; optionally a knee: with more than `knee` responses at
 *                         once the whole gets slower
 *     workers             N workers, each busy for a fixed time with one response, whose bytes come at its end; the
 *                         rest wait in order.  Also m service threads whose work differs by request (sim_job.work)
 *     link                a thin downlink: max-min sharing, a round trip before the first byte, slow start (the window
 *                         doubles every round trip until the link is the limit), a receive buffer per response when the
 *                         host paces its reading.  With a queue in front of it, what is on its way and not in the air
 *                         stands there: a response has that part of the rate which its window is of all windows, slow
 *                         start ends when the queue overflows, and every trip waits in it.  Where the host fits receive
 *                         windows (rs_allowance), no window is larger
 *     queue               a thin downlink segment by segment: its queue, TCP's windows, others who use it
 *     alternating         two servers that take turns; what one has begun it ends
 *
 * Each *_new returns a server that the caller frees with sim_server_free (which nulls the pointer); a server serves one
 * run.
 */
#ifndef FAIRGATE_SIM_SERVER_H
#define FAIRGATE_SIM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

struct sim;
struct sim_job;
struct sim_server;

struct sim_server_ops {
    const char *name;
    void   (*start)(struct sim_server *s, struct sim *sim, struct sim_job *j, double now);
    void   (*drop)(struct sim_server *s, struct sim_job *j, double now);            /* its client is gone */
    /* the host took so many bytes out of the buffer */
    void   (*read)(struct sim_server *s, struct sim_job *j, uint64_t bytes);
    double (*next)(const struct sim_server *s);
    void   (*advance)(struct sim_server *s, struct sim *sim, double now);
    void   (*free)(struct sim_server *s);
};

struct sim_server {
    const struct sim_server_ops *ops;
    uint64_t                     bytes;     /* that left it so far */
};

struct sim_sharing {
    double   rate;          /* of all cores together */
    double   cores;         /* one response gets at most rate / cores */
    double   overhead;      /* bytes' worth of work before the first byte */
    double   latency;       /* release to begin of work, without load on the server */
    double   knee;          /* 0 = none; beyond so many at once the rate is rate x (knee / at once)^slope */
    double   slope;
    uint32_t chunk;         /* the host hears of bytes in pieces of this size; 0 = 64 KB */
    /* the overhead is +- so much of itself, uniform; without it equal responses march in step */
    double   jitter;
    uint64_t seed;
};
struct sim_server *sim_sharing_new(const struct sim_sharing *p);

struct sim_workers {
    uint32_t workers;
    double   seconds;       /* a response takes, when its job says nothing else */
    double   jitter;        /* +- so much of it, uniform */
    /* a busy machine: all times are multiplied by exp(normal(0, pace)), drawn again every half second on average */
    double   pace;
    uint64_t seed;
};
struct sim_server *sim_workers_new(const struct sim_workers *p);

struct sim_link {
    double   rate;
    double   rtt_from, rtt_to;  /* a response's round trip, uniform */
    double   trips;             /* round trips before the first byte; 0 is taken as 1, 2 is a new connection */
    uint32_t buffer;            /* received and unread at most; 0 = unlimited */
    double   queue;             /* bytes that it holds; 0 = none is modelled */
    /* with a queue: the receive window of a response of which the engine allows so much; NULL: none is set */
    uint64_t (*fit)(void *arg, double rtt, uint64_t allowance);
    void    *arg;
    uint64_t seed;
};
struct sim_server *sim_link_new(const struct sim_link *p);

struct sim_queue {
    double        rate;                 /* of the link, headers and all */
    double      (*rate_at)(double now); /* or: at that time, asked each second */
    double        limit, burst;         /* bytes: what stands in the queue at most, and may leave it at once */
    const double *rtts;                 /* a server's round trip without the queue */
    uint32_t      servers;
    double        kept;                 /* part of the responses whose connection is there already */
    /*
     * NULL: windows are what the engine allows, from the first byte acknowledged on.  Or: what the receiver makes of
     * that for a response of this server, from the handshake on
     */
    uint64_t    (*fit)(void *arg, uint32_t server, uint64_t allowance);
    void         *arg;
    uint32_t      others;               /* downloads without end and without a window, which are nobody's */
    double        others_from;
    double        warm;                 /* figures begin */
    uint64_t      seed;
};
struct sim_server *sim_queue_new(const struct sim_queue *p);

/* Since the last look: `now` as the receiver measures it, of responses that bring something; `least` of handshakes. */
struct sim_queue_round_trip { uint32_t server; double now, least; };
uint32_t sim_queue_look(struct sim_server *s, struct sim_queue_round_trip *out, uint32_t most);
bool     sim_queue_holds_back(const struct sim_server *s);  /* some response by its window */

struct sim_queue_figures {
    double   wire, foreign;             /* bytes that left the queue; the foreign ones, since 0 */
    double   median, p95;               /* bytes that stood in it */
    uint64_t drops;
};
struct sim_queue_figures sim_queue_figures(struct sim_server *s);

/* Owns both servers.  `first` has the turn from 0 to `period`, then `second`, and so on. */
struct sim_server *sim_alternating_new(struct sim_server *first, struct sim_server *second, double period);

void sim_server_free(struct sim_server **s);

#endif
