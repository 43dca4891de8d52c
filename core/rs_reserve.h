/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_reserve.h - slots that long requests leave to brief ones; for rs_life.c alone.
 *
 * A slot is not taken back.  Clients that pause between brief requests have nothing waiting at the moment when a slot
 * is released, and a long request takes it for seconds.  So an outlet releases a long request only while
 *
 *     long requests outstanding + reserve < window
 *
 * The reserve is the number of slots that brief requests of late used or waited for, and a sixteenth of the window:
 *
 *     demand of a class = mean number of its brief requests, queued or outstanding, over RESERVE_SPAN milliseconds
 *     reserve           = floor(sum of min(demand, share) + window / RESERVE_LOSS), 0 without any demand
 *     share             = window x weight / weight of the classes that are active
 *
 * - About a sixteenth of the window may be idle while brief requests come, and nothing after RESERVE_SPAN without one.
 * - The reserve is never more than the shares of the classes with brief requests: a flood of brief requests of a light
 *   class takes nothing of what is due to long requests of others.
 * - Of a class with long and brief requests half of the share counts, if keys share the class: then its brief requests
 *   go beside the long ones (class_keys.h).  In order of arrival they wait behind these, and nothing is reserved.
 *
 * A request is brief if its expected cost is at most RESERVE_BRIEF x await_us: its wait for a slot is of that size.  In
 * a large window a slot is released more often, and the bound grows.  One that costs more becomes long when that is
 * seen.  Everything here is for costs in microseconds, and off without await_us.
 *
 * While the outlet is shut for long requests, the discipline passes over flows whose next request is long.  The engine
 * looks at the outlet's state whenever it chooses, and adds up the classes every RESERVE_EVERY at most.
 */
#ifndef FAIRGATE_RS_RESERVE_H
#define FAIRGATE_RS_RESERVE_H

#include "class_keys.h"
#include "rs_account.h"

#define RESERVE_BRIEF 5u
#define RESERVE_SPAN  5000u /* milliseconds */
#define RESERVE_LOSS  16u
#define RESERVE_EVERY UINT64_C(10000)
#define RESERVE_FINE  16u
#define RESERVE_MOST  65535u /* requests that a class's demand counts */

static inline bool is_brief(const rs_engine_t *e, const struct rs_outlet *o, uint64_t cost) {
    uint64_t times = o->open_below / 4;
    return cost <= e->settings.await_us * (times < RESERVE_BRIEF ? RESERVE_BRIEF : times);
}

static inline uint32_t reserve_ms(const rs_engine_t *e) { return (uint32_t)(e->now / 1000); }

static inline uint32_t demand_of(const rs_engine_t *e, const struct rs_flow *f) {
    int64_t now = (int64_t)(f->briefs < RESERVE_MOST ? f->briefs : RESERVE_MOST) << RESERVE_FINE;
    uint32_t passed = reserve_ms(e) - f->demand_ms;
    if (passed >= RESERVE_SPAN) return (uint32_t)now;
    return (uint32_t)(f->demand + (now - f->demand) * passed / RESERVE_SPAN);
}

/* One more brief request of the flow is queued or outstanding, or one fewer (UINT32_MAX). */
static APART void count_brief(const rs_engine_t *e, struct rs_flow *f, uint32_t more) {
    f->demand = demand_of(e, f);
    f->demand_ms = reserve_ms(e);
    f->briefs += more;
}

static inline uint32_t flow_present(const struct rs_flow *f) { return f->queued + f->live - f->parked; }

static RARELY void add_up_reserve(const rs_engine_t *e, struct rs_outlet *o) {
    uint64_t window = o->open_below, weights = 0, sum = 0, most = 0;
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        if (flow_present(f) || demand_of(e, f)) weights += f->weight;
    }
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        uint64_t demand = demand_of(e, f), share;
        if (!demand) continue;
        share = (uint64_t)(((unsigned __int128)window << RESERVE_FINE) * f->weight / weights);
        if (flow_present(f) > f->briefs) share = f->within ? share / 2 : 0;
        sum += demand < share ? demand : share;
        most += share;
    }
    if (sum) sum += (window << RESERVE_FINE) / RESERVE_LOSS;
    o->reserve = (uint32_t)((sum < most ? sum : most) >> RESERVE_FINE);
    o->reserve_at = e->now;
}

/* Flows whose next request is another one now, or may go now. */
static RARELY void set_shut(rs_engine_t *e, struct rs_outlet *o, bool shut) {
    o->shut = shut;
    for (uint32_t c = 0; c < e->classes; c++) {
        struct rs_flow *f = rs_flow(e, o, c);
        uint32_t best = f->best;
        if (!f->queued) continue;
        if (f->within) rs_keys_reselect(e, f);
        if (!f->held && (!shut || f->best != best)) rs_sched_ops(e)->head(e, o, c);
    }
}

static inline void look_at_reserve(rs_engine_t *e, struct rs_outlet *o) {
    bool shut;
    if (!o->longs_queued) return;
    if (e->now - o->reserve_at >= RESERVE_EVERY) add_up_reserve(e, o);
    shut = o->longs && (uint64_t)o->longs + o->reserve >= o->open_below;
    if (shut != o->shut) set_shut(e, o, shut);
}

#endif
