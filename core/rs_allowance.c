/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a host may let come of a response, by a receive window that allows no more.
 *
 * Ours.  Requests decide shares only in the mean of many responses; a long one takes its time at the link's full speed.
 *
 * Classes that have responses outstanding share by weight what may be on its way, and responses share equally what is
 * their class's.  Who can't use his part, since his server is silent or slow or since nearly all has come, leaves it to
 * those who can, classes and responses alike (class_rests.h): the largest part that nobody of them exceeds is found
 * from the least upwards, in steps of a size.  Of a response of which nothing has come yet it is what would be its part
 * if all had begun: what it is offered first can't be taken back.
 *
 * In a class that keys share each key has the same, however many responses it has on their way, and leaves to the
 * others what all of these can't use.
 *
 * Windows have a least size, and so a class with many responses would have more than its part beside one with few.
 * While it is the only one of which anybody waits, and others use their parts, it has no more outstanding than its part
 * has least windows, unless the shortest of it goes first (rs_has_its_windows).
 *
 * In a class that goes shortest first its part goes to the responses of which least is to come, each as much as it
 * needs (class_rests.h), but for a few segments for each of the others: with less TCP would wait for its timers.  So a
 * small one overtakes a large one that is under way, and the large one takes what nobody else can use.  Those of about
 * one size share.  Of one that lasts an eighth of that is left out: what of it stands in the far queue is what the
 * small one that comes next must wait for, on each of its trips.  What small ones need they need at once: of a horizon
 * that is longer than a usual round trip so much more must be left to them, for a host that makes windows of it leaves
 * them the same part of its window (rs_link.h).
 *
 * Source: max-min fair shares (Bertsekas and Gallager, Data Networks, 6.5.2), with weights; shortest remaining
 * processing time (Schrage, 1968), on what a receiver can do about it.
 */
#include "class_keys.h"
#include "class_rests.h"
#include "rs_engine.h"

/* Of one that lasts more than that part of what may be outstanding is to come: at 600 ms of the link 150 ms of it. */
#define LASTS 4
/* Of what may be outstanding so much is expected of all; beyond it only classes with nothing outstanding are below. */
#define TIMES 2

/* Of `bound`, for a class that has responses outstanding; `all`: as if all could use their parts. */
static uint64_t class_part(const rs_engine_t *e, const struct rs_class_row *row, uint64_t bound, bool all) {
    uint64_t weights = e->weight_busy, lighter = ((uint64_t)1 << rs_busy_bucket(row)) - 1;
    for (uint64_t map = all ? 0 : e->busy_map & lighter; map && weights; map &= map - 1) {
        const struct rs_busy *those = &e->busy[__builtin_ctzll(map)];
        if (those->can >= (uint64_t)((unsigned __int128)bound * those->weight / weights)) break;
        bound -= those->can;
        weights -= those->weight;
    }
    return weights ? (uint64_t)((unsigned __int128)bound * row->settings.weight / weights) : 0;
}

/* Of `part`, in a flow whose responses are known by what is to come, where `bound` may be outstanding in all. */
static uint64_t shortest_first(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r,
                               uint64_t part, uint64_t bound) {
    const struct rs_rests *rests = rs_rests(e, r->class);
    uint32_t b = rs_bucket_of(rs_row_rest(r)), mine = rests->of[b].count, behind = f->live - f->parked - mine;
    uint32_t horizon = e->settings.horizon_ms;
    uint64_t needs = 0;
    if (rs_row_rest(r) > bound / LASTS) part -= part / 8;
    for (uint64_t map = rests->map & (((uint64_t)1 << b) - 1); map; map &= map - 1) {
        const struct rs_rest *before = &rests->of[__builtin_ctzll(map)];
        needs += before->needs;
        behind -= before->count;
    }
    if (horizon > RS_USUAL_TRIP) needs = (uint64_t)((unsigned __int128)needs * horizon / RS_USUAL_TRIP);
    needs += (uint64_t)behind * RS_LEAST_WINDOW;
    uint64_t left = part > needs && mine ? (part - needs) / mine : 0;
    return left > RS_LEAST_WINDOW ? left : RS_LEAST_WINDOW;
}

/*
 * Windows can't be smaller than some segments.  A class whose part is used up by such ones has no more outstanding:
 * they would take from classes that have fewer responses on their way, and so nobody who waits.  Where the shortest
 * goes first that would cost more than it gives: whoever comes is likely to be smaller than those under way.
 */
bool rs_has_its_windows(const rs_engine_t *e, struct rs_outlet *o, uint32_t class) {
    const struct rs_class_row *row = rs_class_row(e, class);
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    if (!gate->bound || !row->outstanding || e->weight_busy <= row->settings.weight) return false;
    if (row->settings.order == RS_ORDER_SHORTEST) return false;
    uint64_t bound = gate->bound(o, &o->settings, e->now);
    uint64_t least = (uint64_t)RS_LEAST_WINDOW * e->settings.horizon_ms / RS_USUAL_TRIP;
    return bound != RS_UNLIMITED && least && row->outstanding >= class_part(e, row, bound, false) / least;
}

/* Less than half of its part came for it: in the horizon that is over and in the one that is not. */
static bool is_starved(const rs_engine_t *e, const struct rs_class_row *row, uint64_t part) {
    uint64_t horizon = e->settings.horizon_ms, took = (uint32_t)(e->now / 1000) - row->lately_ms, bytes = row->lately;
    if (took < horizon) {
        bytes += row->before;
        took += horizon;
    }
    return (unsigned __int128)bytes * horizon * 2 < (unsigned __int128)part * took;
}

enum rs_below rs_below_its_part(const rs_engine_t *e, struct rs_outlet *o, uint32_t class) {
    const struct rs_class_row *row = rs_class_row(e, class);
    const struct rs_flow *f = rs_flow(e, o, class);
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    uint64_t weights = e->weight_busy + (row->outstanding ? 0 : row->settings.weight), bound, part, has;
    bool idle = f->live == f->parked;
    if (!gate->bound || !weights) return RS_NOT_BELOW;
    bound = gate->bound(o, &o->settings, e->now);
    part = (uint64_t)((unsigned __int128)bound * row->settings.weight / weights);
    if (!part) part = 1;
    if (!idle && o->expected / TIMES >= bound) return RS_NOT_BELOW;
    if (f->within && o->expected < bound + bound / 2 && rs_keys_has_idle(e, f)) return RS_STARVED;
    if (rs_has_its_windows(e, o, class)) return RS_NOT_BELOW;
    has = e->slice < UINT32_MAX ? row->outstanding * e->slice : UINT64_MAX;
    if (rs_expected(row) < has) has = rs_expected(row);
    if (has >= part) return RS_NOT_BELOW;
    return is_starved(e, row, part) ? RS_STARVED : RS_BELOW;
}

uint64_t rs_allowance(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    now = rs_clamp_now(e, now);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) != RS_RELEASED) return RS_UNLIMITED;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    if (!gate->bound) return RS_UNLIMITED;
    const struct rs_class_row *row = rs_row_class(e, r);
    const struct rs_flow *f = rs_row_flow(e, r);
    uint64_t bound = gate->bound(o, &o->settings, now);
    if (bound == RS_UNLIMITED) return bound;
    uint64_t part = class_part(e, row, bound, !r->received);
    if (f->by_rest && f->shortest) return shortest_first(e, f, r, part, bound);
    if (f->within) return rs_keys_part(e, f, r, part);
    if (!f->by_rest || !r->received) return part / row->outstanding;
    return rs_rests_part(rs_rests(e, r->class), rs_rest_bucket(f, r), row->outstanding, part);
}
