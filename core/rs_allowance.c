/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a host may let come of a response, by a receive window that allows no more.
 *
 * Ours.  Requests decide shares only in the mean of many responses; a long one takes its time at the link's full speed.
 */
#include "rs_engine.h"

uint64_t rs_allowance(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    now = rs_clamp_now(e, now);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) != RS_RELEASED) return RS_UNLIMITED;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    if (!gate->bound) return RS_UNLIMITED;
    const struct rs_class_row *row = rs_row_class(e, r);
    uint64_t bound = gate->bound(o, &o->settings, now);
    return bound == RS_UNLIMITED
               ? bound
               : (uint64_t)((unsigned __int128)bound * row->settings.weight / e->weight_busy / row->outstanding);
}
