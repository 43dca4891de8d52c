/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_squid.h - what squid-fqrs does when nothing is configured but the rate of its link, for simulations of it.
 *
 * Each number stands in squid-fqrs/fqrs under the name that is written beside it (Config, Flow, Scheduler, Ticket);
 * tests/check/test_sim_squid.py compares them.
 */
#ifndef FAIRGATE_SIM_SQUID_H
#define FAIRGATE_SIM_SQUID_H

#include <stdint.h>

#include "rs.h"
#include "rs_link.h"

#define SQUID_HORIZON          450       /* NormalHorizon */
#define SQUID_DEBT_SECONDS     6         /* NormalDebtSeconds */
#define SQUID_STALL_TIME       500000    /* StallTime */
#define SQUID_STALL_BYTES      1024      /* StallBytes */
#define SQUID_STALL_PART       8         /* StallPart */
#define SQUID_QUEUE_TIMES      2         /* QueueTimes */
#define SQUID_LONGEST_QUEUE    2000000   /* LongestQueueTime */
#define SQUID_TICK_TIME        100000    /* TickTime */
#define SQUID_TURN_PARTS       3         /* TurnParts */
#define SQUID_TURN_PART        8         /* TurnPart */
#define SQUID_MOST_TURN_TIME   112       /* MostTurnTime */
#define SQUID_BEHIND_TURN_PART 4         /* BehindTurnPart */
#define SQUID_LEAST_TURN       (16 << 10) /* LeastTurn */
#define SQUID_OPENING_TURN     (8 << 10) /* OpeningTurn */
#define SQUID_HANDSHAKE_SIZE   (4 << 10) /* HandshakeSize */
#define SQUID_OPENING_WINDOW   2920      /* OpeningWindow */
#define SQUID_OPENING_TRIP     120       /* OpeningTrip */
#define SQUID_OPENING_PART     64        /* OpeningPart */
#define SQUID_OPENING_MOST     4380      /* OpeningMost */
#define SQUID_ALONE_PARTS      3         /* AloneParts */
#define SQUID_ALONE_PART       4         /* AlonePart */
#define SQUID_SLOW_MORE        2         /* SlowMore */
#define SQUID_SLOW_PART        8         /* SlowPart */
#define SQUID_SLOW_BEHIND(n)   ((n) * 5 / 16) /* SlowBehindParts */
#define SQUID_FEWEST_SEGMENTS  2         /* FewestSegments */
#define SQUID_FIRST_TRIP       75000     /* FirstTrip */
#define SQUID_USUAL_SEGMENT    1460      /* UsualSegment */
#define SQUID_SIGNS_OF_LIFE    1024      /* SignsOfLife */

/* A server of which nothing is remembered, for squid_window. */
#define SQUID_STRANGER UINT64_C(1)

/* The engine's, and the link's when its rate is known. */
static inline void squid_settings(struct rs_settings *s, double rate) {
    rs_settings_default(s);
    s->sched = RS_SCHED_RFQ;
    s->gate = RS_GATE_BYTES;
    s->rate = (uint64_t)rate;
    s->horizon_ms = SQUID_HORIZON;
    s->debt_max = SQUID_DEBT_SECONDS * s->rate;
}

static inline void squid_link(struct rs_link *l, double rate) {
    struct rs_link_settings s = { .rate_min = (uint64_t)rate, .rate_max = (uint64_t)rate, .horizon_ms = SQUID_HORIZON };
    rs_link_init(l, 0, &s, (uint64_t)rate);
}

/* Of a response of which the engine allows so much; least_us: the shortest round trip of its server. */
static inline uint64_t squid_window(const struct rs_link *l, rs_time_t now, uint64_t server, uint32_t least_us,
                                    uint64_t allowance) {
    uint64_t fewest = SQUID_FEWEST_SEGMENTS * SQUID_USUAL_SEGMENT,
             window = rs_link_window(l, now, server, least_us, allowance);
    return window > fewest ? window : fewest;
}

/* What a connection offers before it is known what for, when so many responses are outstanding or parked. */
static inline uint64_t squid_first_window(const struct rs_link *l, uint32_t live) {
    uint64_t fewest = SQUID_FEWEST_SEGMENTS * SQUID_USUAL_SEGMENT,
             window = l->rate * (SQUID_FIRST_TRIP + RS_LINK_QUEUE) / 1000000 / (live ? live : 1);
    return window > fewest ? window : fewest;
}

/* What so many responses have on their way in any case. */
static inline uint64_t squid_least(uint32_t live) {
    return (uint64_t)live * SQUID_FEWEST_SEGMENTS * SQUID_USUAL_SEGMENT;
}

/* A tunnel's turn, and what is expected behind it. */
static inline uint64_t squid_turn(const struct rs_link *l) {
    uint64_t ms = SQUID_HORIZON * SQUID_TURN_PARTS / SQUID_TURN_PART,
             turn = l->rate * (ms < SQUID_MOST_TURN_TIME ? ms : SQUID_MOST_TURN_TIME) / 1000;
    return turn > SQUID_LEAST_TURN ? turn : SQUID_LEAST_TURN;
}

static inline uint64_t squid_behind_turn(const struct rs_link *l) {
    return l->rate * SQUID_HORIZON / SQUID_BEHIND_TURN_PART / 1000 + 1;
}

/* What is expected of a tunnel's first turn. */
static inline uint64_t squid_opening(const struct rs_link *l) {
    uint64_t size = SQUID_OPENING_WINDOW * SQUID_HORIZON / SQUID_OPENING_TRIP,
             part = l->rate * SQUID_HORIZON / 1000 / SQUID_OPENING_PART;
    if (size < part) size = part;
    return size > SQUID_HANDSHAKE_SIZE ? size : SQUID_HANDSHAKE_SIZE;
}

/* The next turn of a tunnel whose last one brought so many bytes in so many microseconds and was not enough. */
static inline uint64_t squid_turn_behind(const struct rs_link *l, uint64_t bytes, rs_time_t took) {
    uint64_t most = squid_turn(l), brings = bytes * SQUID_HORIZON * 1000 / (took ? took : 1);
    brings += brings / 4;
    if (brings >= l->rate * SQUID_HORIZON / 1000 / SQUID_SLOW_PART) return most;
    if (brings < SQUID_LEAST_TURN) brings = SQUID_LEAST_TURN;
    return brings < most ? brings : most;
}

/* A response that brings less than so many bytes in so many microseconds is parked, or its turn ends. */
static inline uint64_t squid_enough(uint64_t allowance) {
    uint64_t part = allowance == RS_UNLIMITED ? 0 : allowance / SQUID_STALL_PART;
    return part > SQUID_STALL_BYTES ? part : SQUID_STALL_BYTES;
}

static inline rs_time_t squid_stall_time(const struct rs_link *l) {
    rs_time_t queue = l->delay == RS_LINK_UNKNOWN ? 0 : (rs_time_t)SQUID_QUEUE_TIMES * l->delay;
    return SQUID_STALL_TIME + (queue < SQUID_LONGEST_QUEUE ? queue : SQUID_LONGEST_QUEUE);
}

#endif
