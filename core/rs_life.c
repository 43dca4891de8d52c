/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every move of a ticket.  The host's one lock covers them all; rs.h draws the states.
 *
 *     free     → queued     rs_submit              queued   → free       rs_cancel, rs_reclaim
 *     queued   → released   rs_pick                released → free       rs_finish, rs_abort, rs_reclaim
 *     released → parked     rs_park                parked   → released   rs_resume
 *     parked   → free       rs_finish, rs_abort, rs_reclaim
 *
 * A move first writes the fields that the new state needs, then `life`, then lists and sums: see base_block.h.
 *
 * The account: `due` is the whole response as far as known, max(estimate, received).  It is charged at release and each time it grows,
 * and refunded when it shrinks, but never more than the scheduler really took.
 */
#include "class_queue.h"
#include "rs_engine.h"

#define MEAN_UNKNOWN 16384u     /* bytes of a response of which nobody knows anything */
#define MEAN_SHIFT   4          /* running mean over about 16 responses */

static uint64_t guess(const rs_engine_t *e, const struct rs_class_row *row, uint64_t estimate) {
    if (estimate > RS_BYTES_MAX) return RS_BYTES_MAX;
    if (estimate) return estimate;
    if (row->mean) return row->mean;
    return e->mean ? e->mean : MEAN_UNKNOWN;
}

static void learn(uint64_t *mean, uint64_t bytes) {
    if (bytes > RS_BYTES_MAX) bytes = RS_BYTES_MAX;
    *mean = *mean ? (uint64_t)((int64_t)*mean + ((int64_t)bytes - (int64_t)*mean) / (1 << MEAN_SHIFT)) : bytes;
    if (!*mean) *mean = 1;
}

static void charge(rs_engine_t *e, struct rs_outlet *o, struct rs_ticket_row *r, const struct rs_sched_ops *ops, uint64_t bytes) {
    if (bytes > RS_BYTES_MAX) bytes = RS_BYTES_MAX;
    r->charged += ops->charge(e, o, r->class, bytes);
}

/* What is due of a response went from `was` to `is`. */
static void correct(rs_engine_t *e, struct rs_outlet *o, struct rs_ticket_row *r, uint64_t was, uint64_t is) {
    const struct rs_sched_ops *ops = rs_sched_ops(e->settings.sched);
    if (!ops->charge || ops->on_receipt) return;
    if (is > was) {
        charge(e, o, r, ops, is - was);
    } else if (r->charged > is) {
        uint64_t back = r->charged - is;
        r->charged = is;
        ops->refund(e, o, r->class, back);
    }
}

static void set_state(struct rs_ticket_row *r, uint64_t life) {
    RS_BARRIER();
    *(volatile uint64_t *)&r->life = life;
    RS_BARRIER();
}

static uint64_t life_in(const struct rs_ticket_row *r, enum rs_state state) { return (r->life >> 32) << 32 | state; }

static void set_free(rs_engine_t *e, struct rs_ticket_row *r, uint32_t t) {
    set_state(r, rs_life_after(r->life));
    r->next = e->free_first;
    e->free_first = t;
}

/* ---- slots ------------------------------------------------------------------------------------------------------------------------- */

static void take_slot(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, const struct rs_ticket_row *r) {
    uint64_t rest = rs_row_rest(r);
    o->outstanding++;
    o->expected += rest;
    row->expected += rest;
    if (!row->outstanding++) e->weight_busy += row->settings.weight;
}

static void give_slot(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, const struct rs_ticket_row *r) {
    uint64_t rest = rs_row_rest(r);
    o->outstanding--;
    o->expected -= rest;
    row->expected -= rest;
    if (!--row->outstanding) e->weight_busy -= row->settings.weight;
}

/* ---- queued ------------------------------------------------------------------------------------------------------------------------ */

enum rs_refusal rs_submit(rs_engine_t *e, rs_time_t now, uint32_t class, uint32_t outlet, uint64_t estimate, uint32_t owner, uint64_t tag,
                          rs_ticket_t *ticket) {
    rs_enter(e);
    RS_ASSERT(outlet < e->capacity.outlets);
    now = rs_clamp_now(e, now);
    if (class >= e->classes) return RS_NO_SUCH_CLASS;
    struct rs_class_row *row = rs_class_row(e, class);
    if (!row->used) return RS_NO_SUCH_CLASS;
    if (row->settings.queue_max && row->queued >= row->settings.queue_max) {
        e->counts.refused_class++;
        row->counts.refused_class++;
        return RS_CLASS_FULL;
    }
    uint32_t t = e->free_first;
    if (t == RS_NIL || (e->settings.queue_max && e->queued >= e->settings.queue_max)) {
        e->counts.refused_total++;
        row->counts.refused_total++;
        return RS_TOTAL_FULL;
    }
    struct rs_ticket_row *r = rs_row(e, t);
    struct rs_outlet *o = rs_outlet(e, outlet);
    RS_ASSERT(rs_row_state(r) == RS_FREE);
    e->free_first = r->next;
    r->class = class;
    r->outlet = outlet;
    r->owner = owner;
    r->was_parked = 0;
    r->tag = tag;
    r->estimate = guess(e, row, estimate);
    r->charged = r->received = 0;
    r->submitted = r->released = now;
    r->seq = e->seq++;
    set_state(r, life_in(r, RS_QUEUED));
    *ticket = rs_ticket_of(r, t);

    struct rs_flow *f = rs_flow(e, o, class);
    const struct rs_sched_ops *ops = rs_sched_ops(e->settings.sched);
    rs_queue_push(e, o, f, t);
    e->queued++;
    row->queued++;
    if (!o->queued++) e->backlog_map |= (uint64_t)1 << outlet;
    if (ops->enter) ops->enter(e, o, t);
    if (f->queued == 1) ops->backlog(e, o, class);
    else if (f->best == t) ops->head(e, o, class);
    e->counts.submitted++;
    row->counts.submitted++;
    return RS_OK;
}

/* Out of the queue, its state changed already. */
static void unqueue(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, struct rs_flow *f, uint32_t class, uint32_t t) {
    const struct rs_sched_ops *ops = rs_sched_ops(e->settings.sched);
    uint32_t best = f->best;
    rs_queue_remove(e, o, f, t);
    e->queued--;
    row->queued--;
    if (!--o->queued) e->backlog_map &= ~((uint64_t)1 << o->number);
    if (ops->leave) ops->leave(e, o, t);
    if (!f->queued) ops->drained(e, o, class);
    else if (f->best != best) ops->head(e, o, class);
}

static void go_idle(rs_engine_t *e, struct rs_outlet *o, const struct rs_flow *f, uint32_t class) {
    const struct rs_sched_ops *ops = rs_sched_ops(e->settings.sched);
    if (!f->queued && !f->live && ops->idle) ops->idle(e, o, class);
}

static void cancel(rs_engine_t *e, struct rs_ticket_row *r, uint32_t t) {
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    struct rs_class_row *row = rs_class_row(e, r->class);
    struct rs_flow *f = rs_flow(e, o, r->class);
    uint32_t class = r->class;
    unqueue(e, o, row, f, class, t);
    set_free(e, r, t);
    go_idle(e, o, f, class);
    e->counts.cancelled++;
    row->counts.cancelled++;
}

int rs_cancel(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) != RS_QUEUED) return 0;
    cancel(e, r, rs_ticket_index(t));
    return 1;
}

/* ---- released ---------------------------------------------------------------------------------------------------------------------- */

static void release(rs_engine_t *e, struct rs_outlet *o, uint32_t t, rs_time_t now) {
    const struct rs_sched_ops *ops = rs_sched_ops(e->settings.sched);
    struct rs_ticket_row *r = rs_row(e, t);
    struct rs_class_row *row = rs_class_row(e, r->class);
    struct rs_flow *f = rs_flow(e, o, r->class);
    RS_ASSERT(rs_row_state(r) == RS_QUEUED && r->outlet == o->number);
    r->released = now;
    set_state(r, life_in(r, RS_RELEASED));
    f->live++;
    unqueue(e, o, row, f, r->class, t);
    if (ops->charge && !ops->on_receipt) charge(e, o, r, ops, r->estimate);
    take_slot(e, o, row, r);
    rs_time_t waited = now - r->submitted;
    e->counts.released++;
    e->counts.wait_us += waited;
    row->counts.released++;
    row->counts.wait_us += waited;
    if (waited > row->wait_max) row->wait_max = waited;
}

/* The window beyond which the gate can't keep the shares: min over the waiting classes of (what it has here) / (its share of weight). */
static void answer_share_cap(rs_engine_t *e, struct rs_outlet *o) {
    uint64_t weights = 0, cap = RS_NIL;
    o->cap_wanted = 0;
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        if (f->queued) weights += f->weight;
    }
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        if (!f->queued) continue;
        uint64_t window = ((uint64_t)f->queued + f->live) * weights / f->weight;
        if (window < cap) cap = window;
    }
    o->share_cap = (uint32_t)cap;
}

rs_ticket_t rs_pick(rs_engine_t *e, rs_time_t now, rs_time_t *again) {
    rs_enter(e);
    now = rs_clamp_now(e, now);
    *again = RS_NEVER;
    if (!e->backlog_map) return RS_NO_TICKET;
    const struct rs_sched_ops *sched = rs_sched_ops(e->settings.sched);
    const struct rs_gate_ops *gate = rs_gate_ops(e->settings.gate);
    uint32_t turn = e->next_outlet & 63;
    uint64_t waiting = turn ? e->backlog_map >> turn | e->backlog_map << (64 - turn) : e->backlog_map;
    for (; waiting; waiting &= waiting - 1) {
        struct rs_outlet *o = rs_outlet(e, (turn + (uint32_t)__builtin_ctzll(waiting)) & 63);
        RS_ASSERT(o->magic == RS_OUTLET_MAGIC);
        if (o->cap_wanted) answer_share_cap(e, o);
        if (!gate->may(o, &e->settings, now, again)) continue;
        struct rs_choice choice = sched->pick(e, o, now);
        RS_ASSERT(choice.class < e->classes);
        uint32_t t = choice.ticket;
        if (t == RS_NIL) t = rs_queue_next(e, rs_flow(e, o, choice.class), rs_class_row(e, choice.class)->settings.wait_bound_ms, now);
        release(e, o, t, now);
        e->next_outlet = (o->number + 1) & 63;
        return rs_ticket_of(rs_row(e, t), t);
    }
    return RS_NO_TICKET;
}

int rs_header(rs_engine_t *e, rs_time_t now, rs_ticket_t t, uint64_t length) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) == RS_QUEUED) return 0;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    uint64_t was = rs_row_due(r), rest = rs_row_rest(r);
    r->estimate = length > RS_BYTES_MAX ? RS_BYTES_MAX : length;
    if (rs_row_state(r) == RS_RELEASED) {
        uint64_t rest_now = rs_row_rest(r);
        o->expected += rest_now - rest;
        rs_class_row(e, r->class)->expected += rest_now - rest;
    }
    correct(e, o, r, was, rs_row_due(r));
    return 1;
}

int rs_progress(rs_engine_t *e, rs_time_t now, rs_ticket_t t, uint64_t bytes) {
    rs_enter(e);
    now = rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) == RS_QUEUED) return 0;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    struct rs_class_row *row = rs_class_row(e, r->class);
    const struct rs_sched_ops *ops = rs_sched_ops(e->settings.sched);
    const struct rs_gate_ops *gate = rs_gate_ops(e->settings.gate);
    uint64_t rest = rs_row_rest(r);
    r->received += bytes;
    if (rs_row_state(r) == RS_RELEASED) {
        uint64_t came = rest < bytes ? rest : bytes;
        o->expected -= came;
        row->expected -= came;
    }
    if (ops->on_receipt) charge(e, o, r, ops, bytes);
    else if (bytes > rest && ops->charge) charge(e, o, r, ops, bytes - rest);
    e->counts.bytes += bytes;
    row->counts.bytes += bytes;
    if (gate->arrived) gate->arrived(o, &e->settings, now, bytes);
    if (e->settings.pace) rs_credit_used(e, row, bytes);
    return 1;
}

int rs_park(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) != RS_RELEASED) return 0;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    struct rs_class_row *row = rs_class_row(e, r->class);
    r->was_parked = 1;
    set_state(r, life_in(r, RS_PARKED));
    give_slot(e, o, row, r);
    o->parked++;
    row->parked++;
    e->counts.parked++;
    row->counts.parked++;
    return 1;
}

int rs_resume(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) != RS_PARKED) return 0;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    struct rs_class_row *row = rs_class_row(e, r->class);
    set_state(r, life_in(r, RS_RELEASED));
    o->parked--;
    row->parked--;
    take_slot(e, o, row, r);
    e->counts.resumed++;
    row->counts.resumed++;
    return 1;
}

/* ---- ended ------------------------------------------------------------------------------------------------------------------------- */

static void end(rs_engine_t *e, struct rs_ticket_row *r, uint32_t t, int whole) {
    const struct rs_gate_ops *gate = rs_gate_ops(e->settings.gate);
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    struct rs_class_row *row = rs_class_row(e, r->class);
    struct rs_flow *f = rs_flow(e, o, r->class);
    uint32_t class = r->class;
    rs_time_t served = e->now - r->released;
    if (rs_row_state(r) == RS_PARKED) {
        o->parked--;
        row->parked--;
    } else {
        give_slot(e, o, row, r);
    }
    correct(e, o, r, rs_row_due(r), r->received);
    if (whole) {
        learn(&row->mean, r->received);
        learn(&e->mean, r->received);
        e->counts.done++;
        row->counts.done++;
    } else {
        e->counts.aborted++;
        row->counts.aborted++;
    }
    e->counts.service_us += served;
    row->counts.service_us += served;
    set_free(e, r, t);
    f->live--;
    go_idle(e, o, f, class);
    if (gate->ended) gate->ended(o, &e->settings, e->now, r);
}

static int end_if_live(rs_engine_t *e, rs_time_t now, rs_ticket_t t, int whole) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) == RS_QUEUED) return 0;
    end(e, r, rs_ticket_index(t), whole);
    return 1;
}

int rs_finish(rs_engine_t *e, rs_time_t now, rs_ticket_t t) { return end_if_live(e, now, t, 1); }

int rs_abort(rs_engine_t *e, rs_time_t now, rs_ticket_t t) { return end_if_live(e, now, t, 0); }

uint32_t rs_reclaim(rs_engine_t *e, rs_time_t now, uint32_t owner) {
    rs_enter(e);
    rs_clamp_now(e, now);
    uint32_t found = 0;
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        struct rs_ticket_row *r = rs_row(e, t);
        if (rs_row_state(r) == RS_FREE || r->owner != owner) continue;
        rs_class_row(e, r->class)->counts.reclaimed++;
        e->counts.reclaimed++;
        found++;
        if (rs_row_state(r) == RS_QUEUED) cancel(e, r, t);
        else end(e, r, t, 0);
    }
    return found;
}

void rs_charge(rs_engine_t *e, rs_time_t now, uint32_t class, uint32_t outlet, uint64_t bytes) {
    rs_enter(e);
    RS_ASSERT(outlet < e->capacity.outlets);
    now = rs_clamp_now(e, now);
    if (class >= e->classes || !rs_class_row(e, class)->used) return;
    struct rs_outlet *o = rs_outlet(e, outlet);
    struct rs_class_row *row = rs_class_row(e, class);
    const struct rs_sched_ops *ops = rs_sched_ops(e->settings.sched);
    const struct rs_gate_ops *gate = rs_gate_ops(e->settings.gate);
    if (ops->charge) ops->charge(e, o, class, bytes > RS_BYTES_MAX ? RS_BYTES_MAX : bytes);
    e->counts.bytes += bytes;
    row->counts.bytes += bytes;
    if (gate->arrived) gate->arrived(o, &e->settings, now, bytes);
    if (e->settings.pace) rs_credit_used(e, row, bytes);
}
