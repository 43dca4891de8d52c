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
 * UNSURE REQUESTS.  A brief request is unsure (RS_UNSURE) if only others of its kind are known to be brief.  A burst of
 * downloads or long polls that nothing is known of would hold every slot before the first of them is seen to be long.
 * So an unsure request is released only while both hold:
 *
 *     long and unsure requests outstanding + reserve of the brief ones that are not unsure < window
 *     requests of its class at the backend + slots that other classes need                   < window
 *
 * Other classes need the sum of min(demand, share), and a sixteenth of the window.  Where a class has more brief
 * requests now than its demand, these count.  A class with nothing at the backend always gets one slot.
 *
 * WORKERS.  A parked request may go on keeping one of its backend's few workers (rs_park_working): a long poll, or a
 * download to a slow client.  Together with the long requests outstanding it leaves `peak` workers to brief requests:
 *
 *     peak = the demand above, twice its root, and one: what brief requests may have at one moment
 *
 * BESIDE THE WINDOW.  An automatic window may become smaller than what long requests hold of it, and brief requests may
 * turn out to be long.  While long requests hold all of the window, brief requests that are not unsure go beside them:
 * `peak` of them, but no more than a quarter of the window between probes (BESIDE) and one, and together with the long
 * ones no more than that window and a quarter and one.  More would wait at the backend instead of here.
 *
 * The discipline passes over flows with a next request that is shut out.  The engine looks at the outlet's state
 * whenever it chooses, and adds up the classes every RESERVE_EVERY at most.
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
#define BESIDE        4u
#define RESERVE_MOST  65535u /* requests that a class's demand counts */

static inline bool is_brief(const rs_engine_t *e, const struct rs_outlet *o, uint64_t cost) {
    uint64_t times = o->open_below / 4;
    return cost <= e->settings.await_us * (times < RESERVE_BRIEF ? RESERVE_BRIEF : times);
}

static inline uint32_t reserve_ms(const rs_engine_t *e) { return (uint32_t)(e->now / 1000); }

static inline uint32_t faded(const rs_engine_t *e, const struct rs_flow *f, uint32_t mean, uint32_t count) {
    int64_t now = (int64_t)(count < RESERVE_MOST ? count : RESERVE_MOST) << RESERVE_FINE;
    uint32_t passed = reserve_ms(e) - f->demand_ms;
    if (passed >= RESERVE_SPAN) return (uint32_t)now;
    return (uint32_t)(mean + (now - mean) * passed / RESERVE_SPAN);
}

static inline uint32_t demand_of(const rs_engine_t *e, const struct rs_flow *f) {
    return faded(e, f, f->demand, f->briefs);
}

/* Without its unsure requests. */
static inline uint32_t sure_demand_of(const rs_engine_t *e, const struct rs_flow *f) {
    uint32_t all = demand_of(e, f), unsure = faded(e, f, f->demand_unsure, f->unsures);
    return all > unsure ? all - unsure : 0;
}

/* One more brief request of the flow is queued or outstanding, or one fewer (UINT32_MAX). */
static APART void count_brief(const rs_engine_t *e, struct rs_flow *f, const struct rs_ticket_row *r, uint32_t more) {
    f->demand = demand_of(e, f);
    f->demand_unsure = faded(e, f, f->demand_unsure, f->unsures);
    f->demand_ms = reserve_ms(e);
    f->briefs += more;
    if (r->unsure) f->unsures += more;
}

static inline uint32_t flow_present(const struct rs_flow *f) { return f->queued + f->live - f->parked; }

/* What of its share counts where requests of the flow that are shut out are beside so many that are not. */
static inline uint64_t share_beside(const struct rs_flow *f, uint32_t open, uint64_t share) {
    return flow_present(f) <= open ? share : f->within ? share / 2 : 0;
}

/* The root of x < 2^42, rounded down. */
static inline uint64_t root_of(uint64_t x) {
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 20; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= x) root += bit;
    return root;
}

static RARELY void add_up_reserve(const rs_engine_t *e, struct rs_outlet *o) {
    uint64_t window = o->open_below, weights = 0, sum = 0, most = 0, sure = 0, all = 0;
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        if (flow_present(f) || demand_of(e, f)) weights += f->weight;
    }
    for (uint32_t c = 0; c < e->classes; c++) {
        struct rs_flow *f = rs_flow(e, o, c);
        uint64_t demand = demand_of(e, f), share, part, known = sure_demand_of(e, f);
        f->leaves = 0;
        if (!demand) continue;
        share = (uint64_t)(((unsigned __int128)window << RESERVE_FINE) * f->weight / weights);
        part = share_beside(f, f->briefs, share);
        sum += demand < part ? demand : part;
        most += part;
        part = share_beside(f, f->briefs - f->unsures, share);
        sure += known < part ? known : part;
        if (demand < (uint64_t)f->briefs << RESERVE_FINE) demand = (uint64_t)f->briefs << RESERVE_FINE;
        f->leaves = (uint32_t)(demand < share ? demand : share);
        all += f->leaves;
    }
    for (uint32_t c = 0; c < e->classes; c++) {
        struct rs_flow *f = rs_flow(e, o, c);
        uint64_t others = all - f->leaves;
        f->leaves = (uint32_t)((others ? others + (window << RESERVE_FINE) / RESERVE_LOSS : 0) >> RESERVE_FINE);
    }
    o->peak = (uint32_t)((sum + 2 * root_of(sum << RESERVE_FINE)) >> RESERVE_FINE) + (sum != 0);
    if (o->peak > most >> RESERVE_FINE) o->peak = (uint32_t)(most >> RESERVE_FINE);
    if (sum) sum += (window << RESERVE_FINE) / RESERVE_LOSS;
    o->reserve = (uint32_t)((sum < most ? sum : most) >> RESERVE_FINE);
    if (sure) sure += (window << RESERVE_FINE) / RESERVE_LOSS;
    o->reserve_unsure = (uint32_t)(sure >> RESERVE_FINE);
    o->reserve_at = e->now;
}

/* Its next request is another one now, or may be released now (opened). */
static RARELY void select_again(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f, bool opened) {
    uint32_t best = f->best;
    if (!f->queued) return;
    if (f->within) rs_keys_reselect(e, f);
    if (!f->held && (opened || f->best != best)) rs_sched_ops(e)->head(e, o, f->class);
}

/* When the outlet opens, the discipline compares the next requests of all flows: each is selected before it is told. */
static RARELY void set_shut(rs_engine_t *e, struct rs_outlet *o, uint32_t shut) {
    bool opened = o->shut & ~shut;
    o->shut = shut;
    if (!opened) {
        for (uint32_t c = 0; c < e->classes; c++) select_again(e, o, rs_flow(e, o, c), false);
        return;
    }
    for (uint32_t c = 0; c < e->classes; c++) {
        struct rs_flow *f = rs_flow(e, o, c);
        if (f->queued && f->within) rs_keys_reselect(e, f);
    }
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        if (f->queued && !f->held) rs_sched_ops(e)->head(e, o, c);
    }
}

/* Its requests at the backend are more now, or fewer, or what it leaves to others is. */
static APART void look_at_flow(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f) {
    uint64_t present = (uint64_t)f->live - f->parked + rs_occupying(f);
    bool shut = o->unsures_queued && f->leaves && present && present + f->leaves >= o->open_below;
    if (shut == f->shut) return;
    f->shut = shut;
    select_again(e, o, f, !shut);
}

/* The most requests that the backend has workers for. */
static inline uint32_t workers_of(const struct rs_outlet *o) {
    return o->gate == RS_GATE_AUTO ? o->settings.window_max : o->open_below;
}

static inline uint32_t shut_for(const struct rs_outlet *o) {
    uint64_t longs = o->longs, wary = longs + o->unsures, parked = o->working;
    uint32_t shut = 0;
    if (longs && longs + o->reserve >= o->open_below) shut |= RS_SHUT_LONG;
    if (parked && parked + longs + o->peak >= workers_of(o)) shut |= RS_SHUT_LONG;
    if (!o->unsures_queued) return shut;
    if (longs && o->outstanding >= o->open_below) shut |= RS_SHUT_UNSURE;
    if (!o->reserve_unsure) return shut;
    if (wary && wary + o->reserve_unsure >= o->open_below) shut |= RS_SHUT_UNSURE;
    if (parked && parked + wary + o->peak >= workers_of(o)) shut |= RS_SHUT_UNSURE;
    return shut;
}

/* The window is full, and long requests hold all of it. */
static APART bool has_room_beside(const rs_engine_t *e, const struct rs_outlet *o) {
    uint64_t base = o->open_base, part = base / BESIDE + 1, few = o->peak ? o->peak : 1,
             limit = o->longs + (few < part ? few : part);
    if (!(e->watch & RS_WATCH_LONGS) || o->gate != RS_GATE_AUTO || o->longs < o->open_below) return false;
    return o->outstanding < limit && o->outstanding < base + part && o->outstanding < o->settings.window_max;
}

static inline void look_at_reserve(rs_engine_t *e, struct rs_outlet *o) {
    uint32_t shut;
    if (!(o->longs_queued | o->unsures_queued) && !(o->longs && o->outstanding >= o->open_below)) return;
    if (e->now - o->reserve_at >= RESERVE_EVERY) {
        add_up_reserve(e, o);
        for (uint32_t c = 0; c < e->classes; c++) look_at_flow(e, o, rs_flow(e, o, c));
    }
    shut = shut_for(o);
    if (shut != o->shut) set_shut(e, o, shut);
}

#endif
