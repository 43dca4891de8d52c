/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a host may let come of a response, by a receive window that allows no more.
 *
 * Ours.  Requests decide shares only in the mean of many responses; a long one takes its time at the link's full speed.
 *
 * In a class that keys share each key has the same, however many responses it has on their way.
 *
 * In a class that goes shortest first its part goes to the responses of which least is to come, each as much as it
 * needs (class_rests.h), but for a few segments for each of the others: with less TCP would wait for its timers.  So a
 * small one overtakes a large one that is under way, and the large one takes what nobody else can use.  Those of about
 * one size share.  Of a download, which lasts, a third of that is left out: what of it stands in the far queue is what
 * the small one that comes next must wait for, on each of its trips.
 *
 * Source: shortest remaining processing time (Schrage, 1968), on what a receiver can do about it.
 */
#include "class_keys.h"
#include "class_rests.h"
#include "rs_engine.h"

/* Of a download so many times what may be outstanding is to come: at 300 ms of the link more than a second of it. */
#define DOWNLOAD 4

/* Of `part`, in a flow whose rests are known, where `bound` may be outstanding in all. */
static uint64_t shortest_first(const rs_engine_t *e, const struct rs_flow *f, const struct rs_ticket_row *r,
                               uint64_t part, uint64_t bound) {
    const struct rs_rests *rests = rs_rests(e, r->class);
    uint32_t b = rs_bucket_of(rs_row_rest(r)), mine = rests->of[b].count, behind = f->live - f->parked - mine;
    uint64_t needs = 0;
    if (rs_row_rest(r) / DOWNLOAD > bound) part -= part / 3;
    for (uint64_t map = rests->map & (((uint64_t)1 << b) - 1); map; map &= map - 1) {
        const struct rs_rest *before = &rests->of[__builtin_ctzll(map)];
        needs += before->needs;
        behind -= before->count;
    }
    needs += (uint64_t)behind * RS_LEAST_WINDOW;
    uint64_t left = part > needs && mine ? (part - needs) / mine : 0;
    return left > RS_LEAST_WINDOW ? left : RS_LEAST_WINDOW;
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
    uint64_t part = (uint64_t)((unsigned __int128)bound * row->settings.weight / e->weight_busy);
    if (f->by_rest) return shortest_first(e, f, r, part, bound);
    return f->within ? rs_keys_part(e, f, rs_ticket_index(t), part) : part / row->outstanding;
}
