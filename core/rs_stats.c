/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading: nothing here changes anything. */
#include "class_keys.h"
#include "rs_engine.h"

#include <string.h>

enum rs_state rs_state(const rs_engine_t *e, rs_ticket_t t) {
    rs_enter(e);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    return r ? rs_row_state(r) : RS_FREE;
}

uint64_t rs_tag(const rs_engine_t *e, rs_ticket_t t) {
    rs_enter(e);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    return r ? r->tag : 0;
}

uint32_t rs_outlet_of(const rs_engine_t *e, rs_ticket_t t) {
    rs_enter(e);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    return r ? r->outlet : 0;
}

uint32_t rs_owner(const rs_engine_t *e, rs_ticket_t t) {
    rs_enter(e);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    return r ? r->owner : 0;
}

uint32_t rs_class(const rs_engine_t *e, rs_ticket_t t) {
    rs_enter(e);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    return r ? r->class : RS_NO_CLASS;
}

rs_time_t rs_submitted(const rs_engine_t *e, rs_ticket_t t) {
    rs_enter(e);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    return r ? r->submitted : 0;
}

bool rs_crowded(const rs_engine_t *e, rs_ticket_t t) {
    rs_enter(e);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    return r && r->crowded;
}

rs_time_t rs_waited(const rs_engine_t *e, rs_ticket_t t) {
    rs_enter(e);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    return r && rs_row_has_gone(r) ? r->released - r->submitted : 0;
}

void rs_counts_add(struct rs_counts *a, const struct rs_counts *b) {
    a->submitted += b->submitted;
    a->refused_class += b->refused_class;
    a->refused_share += b->refused_share;
    a->refused_total += b->refused_total;
    a->cancelled += b->cancelled;
    a->released += b->released;
    a->parked += b->parked;
    a->resumed += b->resumed;
    a->done += b->done;
    a->aborted += b->aborted;
    a->reclaimed += b->reclaimed;
    a->bytes += b->bytes;
    a->wait_us += b->wait_us;
    a->service_us += b->service_us;
    a->refused_standing += b->refused_standing;
}

static uint32_t limit_of(const struct rs_outlet *o) { return rs_gate_ops(o)->limit(o, &o->settings); }

void rs_stats(const rs_engine_t *e, struct rs_stats *out) {
    rs_enter(e);
    memset(out, 0, sizeof *out);
    out->settings = e->settings;
    out->capacity = e->capacity;
    out->classes = e->classes;
    for (uint32_t n = 0; n < e->capacity.outlets; n++) {
        const struct rs_outlet *o = rs_outlet(e, n);
        out->queued += o->queued;
        out->outstanding += o->outstanding;
        out->parked += o->parked;
    }
    out->window = limit_of(rs_outlet(e, 0));
    out->rebuilds = e->rebuilds;
    out->counts = e->gone;
    for (uint32_t c = 0; c < e->classes; c++) rs_counts_add(&out->counts, &rs_class_row(e, c)->counts);
}

uint32_t rs_window(const rs_engine_t *e) {
    rs_enter(e);
    return limit_of(rs_outlet(e, 0));
}

static bool outlet_is_there(const rs_engine_t *e, uint32_t n) {
    return !n || (n < e->capacity.outlets && rs_outlet_row(e, n)->used);
}

uint32_t rs_parked_at(const rs_engine_t *e, uint32_t outlet) {
    rs_enter(e);
    return outlet_is_there(e, outlet) ? rs_outlet(e, outlet)->parked : 0;
}

uint32_t rs_windows(const rs_engine_t *e) {
    rs_enter(e);
    uint64_t sum = limit_of(rs_outlet(e, 0));
    for (uint32_t n = 1; e->bulkheads && n < e->capacity.outlets; n++)
        if (outlet_is_there(e, n)) sum += limit_of(rs_outlet(e, n));
    return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

uint32_t rs_window_at(const rs_engine_t *e, uint32_t outlet) {
    rs_enter(e);
    return outlet_is_there(e, outlet) ? limit_of(rs_outlet(e, outlet)) : 0;
}

bool rs_outlet_stats(const rs_engine_t *e, uint32_t outlet, struct rs_outlet_stats *out) {
    rs_enter(e);
    memset(out, 0, sizeof *out);
    if (!outlet_is_there(e, outlet)) return false;
    const struct rs_outlet *o = rs_outlet(e, outlet);
    const struct rs_outlet_row *row = rs_outlet_row(e, outlet);
    out->settings = row->settings;
    out->settings.name[RS_OUTLET_NAME_MAX - 1] = 0; /* whoever may have written there */
    out->settings.gate = o->settings.gate;
    out->settings.window = o->settings.window;
    out->settings.window_max = o->settings.window_max;
    out->retired = row->retired;
    out->window = limit_of(o);
    out->queued = o->queued;
    out->outstanding = o->outstanding;
    out->parked = o->parked;
    out->refused = row->refused;
    return true;
}

uint32_t rs_queued(const rs_engine_t *e) {
    rs_enter(e);
    return rs_outlet(e, 0)->queued;
}

uint32_t rs_live(const rs_engine_t *e) {
    rs_enter(e);
    return rs_outlet(e, 0)->outstanding + rs_outlet(e, 0)->parked;
}

bool rs_has_slot(const rs_engine_t *e, rs_ticket_t t) {
    rs_enter(e);
    const struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || r->outlet >= e->capacity.outlets) return false;
    /* One that occupies its backend counts against its class's slots already. */
    if (rs_row_flow(e, r)->held && !(rs_row_state(r) == RS_PARKED && r->occupies)) return false;
    return rs_outlet(e, r->outlet)->outstanding < rs_outlet(e, r->outlet)->open_below;
}

/* Of one class at one outlet. */
static rs_time_t flow_behind(const rs_engine_t *e, const struct rs_flow *f) {
    return f->queued ? e->now - (f->stands ? f->stands : rs_row(e, f->first)->submitted) : 0;
}

rs_time_t rs_behind(const rs_engine_t *e, uint32_t class) {
    rs_enter(e);
    rs_time_t most = 0;
    for (uint32_t n = 0; n < e->capacity.outlets && class < e->classes; n++) {
        rs_time_t here = flow_behind(e, rs_flow(e, rs_outlet(e, n), class));
        if (here > most) most = here;
    }
    return most;
}

bool rs_class_stats(const rs_engine_t *e, uint32_t class, struct rs_class_stats *out) {
    rs_enter(e);
    memset(out, 0, sizeof *out);
    if (class >= e->classes || !rs_class_row(e, class)->used) return 0;
    const struct rs_class_row *row = rs_class_row(e, class);
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    out->settings = row->settings;
    out->settings.name[RS_NAME_MAX - 1] = 0; /* whoever may have written there */
    out->retired = row->retired;
    out->queued = row->queued;
    out->outstanding = row->outstanding;
    out->parked = row->parked;
    out->expected = rs_expected(row);
    out->owed = rs_flow(e, rs_outlet(e, 0), class)->owed;
    out->balance = ops->balance ? ops->balance(e, rs_outlet(e, 0), class) - (int64_t)out->owed : 0;
    out->own = row->own;
    out->keys = rs_flow(e, rs_outlet(e, 0), class)->within ? rs_keys_waiting(e, rs_flow(e, rs_outlet(e, 0), class)) : 0;
    out->mean = row->mean;
    out->wait_max = row->wait_max;
    out->behind = rs_behind(e, class);
    for (uint32_t n = 0; n < e->capacity.outlets; n++) {
        const struct rs_flow *f = rs_flow(e, rs_outlet(e, n), class);
        if (f->queued && f->stands) out->stands = true;
    }
    out->counts = row->counts;
    return 1;
}
