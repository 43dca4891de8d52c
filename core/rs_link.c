/* SPDX-License-Identifier: BSD-2-Clause */
/* A downlink, as its receiver can know it: rs_link.h. */
#include "rs_link.h"
#include "base_magic.h"

#include <string.h>

#define MAGIC 0x46474c4bu

/* all times in microseconds */
#define INTERVAL       UINT64_C(1000000)
#define INTERVAL_FIRST UINT64_C(300000)  /* while starting */
#define INTERVAL_MOST  UINT64_C(4000000) /* until BYTES_LEAST came: fewer are counted by the segment */
#define BYTES_LEAST    UINT64_C(65536)
#define MEMORY         UINT64_C(120000000)
#define TRIP_MOST      UINT32_C(60000000)

/*
 * A queue shorter than this, or than that part of the horizon, is none: servers and radio add as much.  Nor is what two
 * full segments take, where the shortest round trip was a handshake's.
 */
#define DELAY_LEAST  UINT32_C(5000)
#define TWO_SEGMENTS UINT64_C(3028)
#define DELAY_PART   32u

/*
 * Our own windows make a queue of RS_LINK_QUEUE, and as much more of a round trip as the belief is too high; beside
 * what is on its way in any case.
 */
#define DEEP     UINT32_C(300000)
#define DEEP_FOR UINT64_C(10000000)

/* a server's voice, if none of its round trips saw a queue; and parts of what was believed of late */
#define VOICE       65536u
#define LEAST_PART  16u
#define OTHERS_PART 4u

/*
 * A queue that was not seen to drain by itself for so long is drained: windows are a quarter for a second, less than
 * most servers need to fill the link.
 */
#define SLOW_EVERY UINT64_C(20000000)
#define SLOW_FOR   UINT64_C(1000000)
#define SLOW_PART  4u

static uint64_t within(const struct rs_link *l, uint64_t rate) {
    if (rate < l->settings.rate_min) return l->settings.rate_min;
    return rate < l->settings.rate_max ? rate : l->settings.rate_max;
}

static uint32_t low_delay(const struct rs_link *l) {
    uint64_t part = (uint64_t)l->settings.horizon_ms * 1000 / DELAY_PART, segments = TWO_SEGMENTS * 1000000 / l->rate;
    if (segments > part) part = segments;
    return part > DELAY_LEAST ? part < TRIP_MOST ? (uint32_t)part : TRIP_MOST : DELAY_LEAST;
}

static void begin(struct rs_link *l, rs_time_t now) {
    l->begun = now;
    l->bytes = 0;
    l->interval++;
    l->heard = l->low = 0;
    l->delay_now = RS_LINK_UNKNOWN;
    l->limited = true;
}

/* The belief is another one now, or nearly the same. */
static void believe_in(struct rs_link *l, rs_time_t now, uint64_t rate) {
    l->rate = within(l, rate);
    if (l->rate <= l->then + l->then / 4 && l->rate >= l->then - l->then / 4) return;
    l->then = l->rate;
    l->since = now;
}

void rs_link_init(struct rs_link *l, rs_time_t now, const struct rs_link_settings *s, uint64_t rate) {
    RS_ASSERT(s->rate_min && s->rate_min <= s->rate_max);
    memset(l, 0, sizeof *l);
    l->magic = MAGIC;
    l->settings = *s;
    l->starting = !rate;
    l->since = l->most_since = l->base_since = l->slow_from = now;
    believe_in(l, now, rate ? rate : RS_LINK_RATE_FIRST);
    l->most = l->rate;
    l->delay = RS_LINK_UNKNOWN;
    begin(l, now);
}

void rs_link_configure(struct rs_link *l, rs_time_t now, const struct rs_link_settings *s) {
    RS_ASSERT(l->magic == MAGIC && s->rate_min && s->rate_min <= s->rate_max);
    l->settings = *s;
    believe_in(l, now, l->rate);
}

bool rs_link_sound(const struct rs_link *l) {
    const struct rs_link_settings *s = &l->settings;
    return l->magic == MAGIC && s->rate_min && s->rate_min <= l->rate && l->rate <= s->rate_max;
}

void rs_link_restart(struct rs_link *l, rs_time_t now) {
    RS_ASSERT(l->magic == MAGIC);
    begin(l, now);
    l->delay = RS_LINK_UNKNOWN;
    l->slow_from = now;
}

/* Two processes may read their clocks in the other order. */
static rs_time_t past(rs_time_t now, rs_time_t then) { return now > then ? now - then : 0; }

/* ---- round trips ------------------------------------------------------------------------------------------------- */

/* Names may differ in any of their bits, and neighbours in few. */
static uint32_t place_of(uint64_t name) {
    name = (name ^ name >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(name >> 32) % RS_LINK_SERVERS;
}

static uint32_t shortest_of(const struct rs_link_server *s) {
    return s->former && s->former < s->least ? s->former : s->least;
}

static void lower(struct rs_link_server *s, rs_time_t now, uint32_t us) {
    if (past(now, s->since) >= MEMORY) {
        s->former = past(now, s->since) < 2 * MEMORY ? s->least : 0;
        s->least = us;
        s->since = now;
    } else if (us < s->least) {
        s->least = us;
    }
}

/*
 * Seen for the first time.  What others see of the queue is not its own; but by no more than half: they may have seen
 * it when it was longer.
 */
static void meet_server(struct rs_link *l, rs_time_t now, uint64_t name, uint32_t now_us, uint32_t least_us) {
    struct rs_link_server *s = &l->servers[place_of(name)];
    uint32_t queue = l->delay == RS_LINK_UNKNOWN ? 0 : l->delay, own = now_us;
    if (s->name && past(now, s->since) < MEMORY) return; /* its place is another one's */
    if (queue) own = queue < now_us / 2 ? now_us - queue : (now_us + 1) / 2;
    *s = (struct rs_link_server){ .name = name, .since = now, .least = least_us < own ? least_us : own };
}

static uint32_t voice_of(const struct rs_link_server *s) {
    return s->samples ? (uint32_t)((uint64_t)s->low * VOICE / s->samples) : 0;
}

static void link_hear(struct rs_link *l, struct rs_link_server *s, bool low) {
    if (s->interval == l->interval) {
        l->low -= voice_of(s);
    } else {
        s->interval = l->interval;
        s->samples = s->low = 0;
        l->heard++;
    }
    s->samples++;
    s->low += low;
    l->low += voice_of(s);
}

void rs_link_round_trip(struct rs_link *l, rs_time_t now, uint64_t name, uint32_t now_us, uint32_t least_us) {
    RS_ASSERT(l->magic == MAGIC && name);
    struct rs_link_server *s = &l->servers[place_of(name)];
    if (now_us > TRIP_MOST) now_us = 0;
    if (!least_us || (now_us && least_us > now_us)) least_us = now_us;
    if (!least_us || least_us > TRIP_MOST) return;
    if (s->name != name) {
        meet_server(l, now, name, now_us ? now_us : least_us, least_us);
        return;
    }
    lower(s, now, least_us);
    uint32_t least = shortest_of(s);
    if (!l->base || least <= l->base || past(now, l->base_since) >= MEMORY) {
        l->base = least;
        l->base_since = now;
    }
    if (!now_us) return;
    uint32_t delay = now_us > least ? now_us - least : 0;
    link_hear(l, s, delay < low_delay(l));
    if (delay < l->delay_now) l->delay_now = delay;
}

uint64_t rs_link_window(const struct rs_link *l, rs_time_t now, uint64_t name, uint32_t least_us, uint64_t allowance) {
    RS_ASSERT(l->magic == MAGIC);
    const struct rs_link_server *s = &l->servers[place_of(name)];
    uint64_t horizon = (uint64_t)l->settings.horizon_ms * 1000;
    uint64_t of = (uint64_t)(s->name == name ? shortest_of(s) : least_us) + RS_LINK_QUEUE;
    if (allowance == RS_UNLIMITED) return allowance;
    if (of < horizon) allowance = (uint64_t)((unsigned __int128)allowance * of / horizon);
    return now >= l->slow_from && now < l->slow_until ? allowance / SLOW_PART : allowance;
}

/* ---- the belief -------------------------------------------------------------------------------------------------- */

static uint64_t most_came(const struct rs_link *l) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < RS_LINK_KEPT; i++)
        if (l->came[i] > most) most = l->came[i];
    return most;
}

/*
 * When the queue is much longer than our windows make it, and stays so though the belief went down, it is others who
 * fill it; in front of a link that became slower it would have drained, but for what can't be less: many downloads that
 * began when it was faster stay in the queue with their smallest windows.
 */
static bool is_others(struct rs_link *l, rs_time_t now, uint64_t came, uint64_t least) {
    if (!l->heard) return false;
    if (l->delay_now <= DEEP + (uint64_t)((unsigned __int128)least * 1000000u / (came ? came : 1))) l->deep_since = 0;
    else if (!l->deep_since) l->deep_since = now;
    return l->deep_since && past(now, l->deep_since) >= DEEP_FOR;
}

/* The most that was believed not long ago. */
static uint64_t most_of_late(struct rs_link *l, rs_time_t now) {
    if (past(now, l->most_since) >= MEMORY) {
        l->most_before = past(now, l->most_since) < 2 * MEMORY ? l->most : 0;
        l->most = l->rate;
        l->most_since = now;
    }
    if (l->rate > l->most) l->most = l->rate;
    return l->most > l->most_before ? l->most : l->most_before;
}

static uint64_t towards(uint64_t from, uint64_t to) {
    uint64_t apart = from > to ? from - to : to - from, step = apart > from / 4 ? apart / 2 : apart / 4;
    return from > to ? from - step : from + step;
}

/*
 * No more than a quarter beyond what came.  A response counts in the gate as a quarter more than it brings: with a
 * belief beyond that as many go as want to, and each download keeps its least window in the queue until it has ended.
 */
static uint64_t tried(const struct rs_link *l, uint64_t came) {
    uint64_t more = l->rate + l->rate / (l->starting ? 2 : 8);
    if (more > came + came / 4) more = came + came / 4;
    return more > l->rate ? more : l->rate;
}

bool rs_link_look(struct rs_link *l, rs_time_t now, bool limited, uint64_t least) {
    RS_ASSERT(l->magic == MAGIC);
    if (now < l->begun || now < l->slow_until) return false;
    if (l->begun < l->slow_until) begin(l, now); /* what came in a slowdown says nothing */
    if (!limited) l->limited = false;
    rs_time_t elapsed = now - l->begun;
    if (elapsed < (l->starting ? INTERVAL_FIRST : INTERVAL)) return false;
    if (l->bytes < BYTES_LEAST && elapsed < INTERVAL_MOST && !l->starting) return false;

    uint64_t before = l->rate, late = most_of_late(l, now), rate = before;
    uint64_t came = (uint64_t)((unsigned __int128)l->bytes * 1000000u / elapsed);
    uint64_t lowest = late / (is_others(l, now, came, least) ? OTHERS_PART : LEAST_PART);
    uint64_t voices = (uint64_t)l->heard * VOICE;
    if (l->heard) l->delay = l->delay_now;
    if (!l->limited || !l->heard) {
        l->unknown++;
        if (came > rate) rate = towards(rate, came);
    } else if (l->low <= voices / 4) {
        l->standing++;
        l->starting = false;
        l->came[l->next++ % RS_LINK_KEPT] = came;
        rate = towards(rate, most_came(l));
        if (rate < lowest) rate = lowest < before ? lowest : before;
    } else {
        l->empty++;
        if (came > rate + rate / 4) { /* the link became faster */
            l->starting = true;
            rate = came;
        } else if (came > rate) {
            rate = towards(rate, came);
        } else if (l->starting || came < rate - rate / 8) {
            rate = tried(l, came);
        }
    }
    believe_in(l, now, rate);
    if (l->low > voices / 8) {
        l->slow_from = now;
    } else if (l->limited && !l->starting && past(now, l->slow_from) >= SLOW_EVERY) {
        l->slow_from = now;
        l->slow_until = now + SLOW_FOR;
    }
    begin(l, now);
    return l->rate != before;
}
