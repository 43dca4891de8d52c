/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_link.h - a downlink, as its receiver can know it: what it carries, and how long round trips over it are without a
 * queue in front of it.
 *
 * A host keeps one of these beside its engine and tells it what comes and how long round trips are now.  The struct has
 * no pointers and may stand in memory that processes share, under the lock of the engine; who finds it there asks
 * rs_link_sound first.
 *
 * WINDOWS.  What the engine allows of a response (rs_allowance) is its part of what the link carries in the horizon.
 * All of a receive window stands in the queue at the link's far end but for what fills the round trip: the nearer the
 * server, the more.  So a window is the response's part of what the link carries in the round trip of its own server
 * and RS_LINK_QUEUE, which is what is to stand in the queue.
 *
 * THE RATE.  While a queue stands in front of the link, what comes through is the link's rate.  That one stands is seen
 * by round trips: all of them are longer than the shortest that their servers ever had.  At the end of each interval in
 * which responses were held back
 *
 *     a queue stood       the belief goes to what came, the most of the last few intervals, up or down
 *     none stood          it goes up to what came; if that was much less, more is tried
 *     nobody can tell     it goes up to what came
 *
 * and while there is room, as when nobody can tell.  More is tried in steps of an eighth, never more than a quarter
 * beyond what came: so that slow servers do not make it believe in a faster link.  In the beginning, and when much more
 * came than was believed, the steps are half as much again and the intervals short, until a queue stands.
 *
 * What round trips say is what three quarters of the servers say, each of which has one voice, however many connections
 * with it are measured: who lets one server tell what it likes, by twenty tunnels, changes no belief while another one
 * is heard.  And in two to four minutes the belief falls to a sixteenth at the most, whatever is seen.
 *
 * Source: RFC 9840 (rLEDBAT), a receiver that keeps the queue short in front of it by what it sees of round trips, with
 * slowdowns from time to time in which the queue drains and the shortest round trip is seen anew; and BBR, which
 * believes in the most that was delivered.  Departures.  The window does not follow the delay: the engine lets the
 * link's rate times a horizon be on its way, and only the rate is in question.  So a shortest round trip that is wrong
 * does little harm.  One that is too long (of a server that was never seen without the queue): the belief goes up until
 * the queue is seen all the same, and what came then is the rate again.  One that is too short, of a way that changed,
 * is forgotten after two to four minutes.  And it does not make way for everybody: while others fill the queue, the
 * belief does not fall below a quarter of what it was within two to four minutes.
 */
#ifndef FAIRGATE_RS_LINK_H
#define FAIRGATE_RS_LINK_H

#include "rs.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RS_LINK_QUEUE   50000u          /* microseconds of the link */
#define RS_LINK_SERVERS 1024u           /* of which the shortest round trip is remembered; a power of two */
#define RS_LINK_KEPT    3u              /* intervals */
#define RS_LINK_RATE_FIRST UINT64_C(125000)     /* bytes/s, of a link of which nothing is known */
#define RS_LINK_UNKNOWN UINT32_MAX      /* a delay */

/* The same rate twice: it is known.  Both are within rs_settings.rate's bounds, and neither is 0: asserted. */
struct rs_link_settings {
    uint64_t rate_min, rate_max;        /* bytes/s */
    uint32_t horizon_ms;                /* as the engine has it */
};

struct rs_link_server {
    uint64_t  name;                     /* 0 = none */
    rs_time_t since;                    /* when `least` began */
    uint32_t  least, former;            /* microseconds: since then, and in the time before; 0 = not known */
    uint32_t  interval, samples, low;   /* of its last round trip; how many in it, and of these without a queue */
};

/* What it says of itself; all but the settings is set by its own calls. */
struct rs_link {
    uint32_t  magic;
    bool      starting;                 /* no queue has been seen yet */
    bool      limited;                  /* all of the interval */
    struct rs_link_settings settings;
    uint64_t  rate;                     /* believed, bytes/s */
    rs_time_t since;                    /* from when on it has been within a quarter of what it was then */
    uint64_t  then;
    uint32_t  delay;                    /* microseconds that the queue lasted, RS_LINK_UNKNOWN */
    uint32_t  base;                     /* the shortest round trip of any server; 0 = not known */
    uint64_t  standing, empty, unknown; /* intervals of each kind */
    rs_time_t begun;                    /* the present interval; bytes that came in it */
    uint64_t  bytes;
    uint32_t  interval;                 /* its number */
    uint32_t  heard, low;               /* servers in it; their voices for there being no queue */
    uint32_t  delay_now;                /* the least in it */
    uint32_t  next;
    uint64_t  came[RS_LINK_KEPT];       /* bytes/s of intervals in which a queue stood; 0 = none */
    uint64_t  most, most_before;        /* believed in this while, and in the one before */
    rs_time_t most_since, base_since;
    rs_time_t deep_since;               /* 0: it is not */
    rs_time_t slow_from, slow_until;    /* the queue drained last, or begins to; a slowdown ends */
    struct rs_link_server servers[RS_LINK_SERVERS];
};

/* Begins to believe in `rate`, or in little if it is 0, within the bounds. */
void rs_link_init(struct rs_link *l, rs_time_t now, const struct rs_link_settings *s, uint64_t rate);
/* New bounds for one at work: what was learnt stays as far as they allow. */
void rs_link_configure(struct rs_link *l, rs_time_t now, const struct rs_link_settings *s);

/* Whether calls may be made for what stands there: not zeroes, nor memory that somebody has written over. */
bool rs_link_sound(const struct rs_link *l);

/* So many bytes came through the link. */
static inline void rs_link_came(struct rs_link *l, uint64_t bytes) { l->bytes += bytes; }

/*
 * A round trip with this server takes so long now (0 = not known), and took `least_us` at some time (0 = not known).
 * `name` is a number for the server, not 0.
 */
void rs_link_round_trip(struct rs_link *l, rs_time_t now, uint64_t name, uint32_t now_us, uint32_t least_us);

/*
 * To be called ten times a second or so.  `limited`: responses wait for room, or one is on its way that its window
 * holds back.  `least`: bytes that are on their way in any case, as windows can't be smaller.  True if the belief has
 * changed.
 */
bool rs_link_look(struct rs_link *l, rs_time_t now, bool limited, uint64_t least);

/* The link was idle: what came before this does not count. */
void rs_link_restart(struct rs_link *l, rs_time_t now);

/*
 * The receive window of a response of which the engine allows so much, from this server; least_us as above, for one
 * that is not remembered.
 */
uint64_t rs_link_window(const struct rs_link *l, rs_time_t now, uint64_t name, uint32_t least_us, uint64_t allowance);

#ifdef __cplusplus
}
#endif

#endif
