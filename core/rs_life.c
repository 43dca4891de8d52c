/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every move of a ticket.  The host's one lock covers them all; rs.h draws the states.
 *
 *     free     → queued     rs_submit              queued   → free       rs_cancel, rs_reclaim
 *     queued   → refused    rs_overdue             refused  → free       rs_cancel, rs_reclaim
 *     queued   → released   rs_pick                released → free       rs_finish, rs_hand_over, rs_abort, rs_reclaim
 *     released → parked     rs_park, rs_park_...                          parked   → released   rs_resume
 *     parked   → free       rs_finish, rs_hand_over, rs_abort, rs_reclaim
 *
 * A move first writes the fields that the new state needs, then `life`, then lists and sums: see base_block.h.
 *
 * The account: what is known of the whole response, r->estimate, is charged at release up to rs_upfront_max, which is
 * r->covered; bytes beyond are charged as they come, as a debt of the flow.  When the response turns out to be less,
 * what was taken comes back.
 *
 * What happens for every request is written to be short: a response that keeps within its estimate touches its ticket
 * and its class, and the rest is reached through e->watch and calls that are rarely made.
 */
#include "class_keys.h"
#include "class_queue.h"
#include "class_rests.h"
#include "rs_account.h"
#include "rs_occupied.h"
#include "rs_reserve.h"
#include "rs_standing.h"

/* Who are on their way may have become slow, which nobody tells. */
#define AGAIN 100000u

static inline void set_life(struct rs_ticket_row *r, uint64_t life) {
    RS_BARRIER();
    *(volatile uint64_t *)&r->life = life;
    RS_BARRIER();
}

static void set_free(rs_engine_t *e, struct rs_ticket_row *r, uint32_t t) {
    set_life(r, rs_life_after(rs_row_ticket(r)));
    r->next = e->free_first;
    e->free_first = t;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

/* What a gate that counts bytes goes by; a released response is taken out while what is known of it changes. */
static inline void count_in(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, const struct rs_flow *f,
                            const struct rs_ticket_row *r) {
    o->expected += rs_row_expected(e, r);
    row->can += rs_row_can(r);
    rs_busy_add(e, row);
    if (f->by_rest && f->within) rs_keys_rest_add(e, f, r);
    else if (f->by_rest) rs_rest_add(e, f, r);
}

static inline void count_out(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, const struct rs_flow *f,
                             const struct rs_ticket_row *r) {
    o->expected -= rs_row_expected(e, r);
    rs_busy_remove(e, row);
    row->can -= rs_row_can(r);
    if (f->by_rest && f->within) rs_keys_rest_remove(e, f, r);
    else if (f->by_rest) rs_rest_remove(e, f, r);
}

static RARELY void took_slot(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, const struct rs_flow *f,
                             struct rs_ticket_row *r) {
    if (row->outstanding == 1) e->weight_busy += row->settings.weight;
    else rs_busy_remove(e, row);
    if (!r->received) rs_rest_begin(e, r);
    rs_class_came(e, row, 0);
    count_in(e, o, row, f, r);
    if (f->within) rs_keys_take_slot(e, f, rs_ticket_index(rs_row_ticket(r)));
}

static inline void take_slot(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, const struct rs_flow *f,
                             struct rs_ticket_row *r) {
    o->outstanding++;
    o->longs += !r->brief;
    o->unsures += r->unsure;
    row->outstanding++;
    row->promised += rs_row_rest(r);
    if (e->watch & RS_WATCH_SLOTS) took_slot(e, o, row, f, r);
}

static RARELY void gave_slot(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, const struct rs_flow *f,
                             const struct rs_ticket_row *r) {
    count_out(e, o, row, f, r);
    if (row->outstanding == 0) e->weight_busy -= row->settings.weight;
    else rs_busy_add(e, row);
    if (f->within) rs_keys_give_slot(e, f, rs_ticket_index(rs_row_ticket(r)));
}

static inline void give_slot(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, const struct rs_flow *f,
                             const struct rs_ticket_row *r) {
    o->outstanding--;
    o->longs -= !r->brief;
    o->unsures -= r->unsure;
    row->outstanding--;
    row->promised -= rs_row_rest(r);
    if (e->watch & RS_WATCH_SLOTS) gave_slot(e, o, row, f, r);
}

/* It is queued, or takes a slot again; or it is neither queued nor outstanding any more. */
static inline void brief_comes(const rs_engine_t *e, struct rs_flow *f, const struct rs_ticket_row *r) {
    if (e->watch & RS_WATCH_LONGS && r->brief) count_brief(e, f, r, 1);
}

static inline void brief_leaves(const rs_engine_t *e, struct rs_flow *f, const struct rs_ticket_row *r) {
    if (e->watch & RS_WATCH_LONGS && r->brief) count_brief(e, f, r, UINT32_MAX);
}

/* A response costs more than was expected. */
static RARELY void look_whether_long(rs_engine_t *e, struct rs_outlet *o, struct rs_ticket_row *r) {
    if (!r->brief || is_brief(e, o, r->estimate)) return;
    if (rs_row_state(r) == RS_RELEASED) {
        brief_leaves(e, rs_row_flow(e, r), r);
        o->longs++;
        o->unsures -= r->unsure;
    }
    r->brief = r->unsure = 0;
}

/* ---- the bound of slots ------------------------------------------------------------------------------------------ */

/* It took a slot.  If it has as many as it may, for its discipline it is as if nobody of it waited. */
static RARELY void hold_back(rs_engine_t *e, struct rs_outlet *o, const struct rs_class_row *row, struct rs_flow *f) {
    if (f->held || !rs_is_at_bound(row, f)) return;
    f->held = 1;
    if (!f->queued) return;
    o->held += f->queued;
    if (rs_nobody_waits(o)) e->backlog_map &= ~rs_outlet_bit(o);
    rs_sched_ops(e)->drained(e, o, f->class);
}

/* It gave one back. */
static RARELY void let_go(rs_engine_t *e, struct rs_outlet *o, const struct rs_class_row *row, struct rs_flow *f) {
    if (!f->held || rs_is_at_bound(row, f)) return;
    if (f->queued) {
        o->held -= f->queued;
        e->backlog_map |= rs_outlet_bit(o);
        rs_sched_ops(e)->backlog(e, o, f->class);
    }
    f->held = 0;
}

/* What bounds its keys may have changed, or which of them is next: `best` was. */
static RARELY void look_at_bound(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f, uint32_t best) {
    const struct rs_class_row *row = rs_class_row(e, f->class);
    bool held = f->held;
    if (f->within && (f->occupying | f->barred)) rs_keys_reselect(e, f);
    hold_back(e, o, row, f);
    let_go(e, o, row, f);
    if (f->best != best && f->queued && !held && !f->held) rs_sched_ops(e)->head(e, o, f->class);
}

/* Which classes are active may have changed: so have the bounds of those that occupy their backend. */
static RARELY void set_shares(rs_engine_t *e) {
    e->occupied_at = e->now + RS_OCCUPIED_EVERY;
    for (uint32_t n = 0; n < e->capacity.outlets; n++) {
        struct rs_outlet *o = rs_outlet(e, n);
        uint64_t weights = o->parked ? rs_active_weights(e, o) : 0;
        for (uint32_t c = 0; o->parked && c < e->classes; c++) {
            struct rs_flow *f = rs_flow(e, o, c);
            if (!f->occupying) continue;
            f->share = rs_occupied_share(o, f, weights);
            if (e->watch & RS_WATCH_BOUNDS) look_at_bound(e, o, f, f->best);
        }
    }
}

/* ---- queued ------------------------------------------------------------------------------------------------------ */

static RARELY enum rs_refusal life_refuse(struct rs_class_row *row, enum rs_refusal why) {
    if (why == RS_CLASS_FULL) row->counts.refused_class++;
    else if (why == RS_SHARE_FULL) row->counts.refused_share++;
    else row->counts.refused_total++;
    return why;
}

/* One class has taken what is shared, or all places are taken. */
static RARELY enum rs_refusal no_place(const rs_engine_t *e) {
    uint64_t queued = 0;
    for (uint32_t n = 0; n < e->capacity.outlets; n++) queued += rs_outlet(e, n)->queued;
    return queued < e->queued_max ? RS_SHARE_FULL : RS_TOTAL_FULL;
}

/* What the class can have beside what it has. */
static uint64_t places_left(const rs_engine_t *e, const struct rs_class_row *row) {
    uint64_t own = row->own > row->queued ? row->own - row->queued : 0,
             left = own + (e->shared_max > e->shared ? e->shared_max - e->shared : 0);
    if (!row->own && !row->queued && e->firsts < e->firsts_max) left++;
    return left < row->queued_max - row->queued ? left : row->queued_max - row->queued;
}

/* See BULKHEADS in base_block.h: at this outlet as many of the class wait as there are places left. */
static RARELY bool has_its_part(const rs_engine_t *e, uint32_t outlet, const struct rs_class_row *row,
                                const struct rs_flow *f) {
    uint64_t left = row->queued < row->queued_max ? places_left(e, row) : 0;
    if (!left || f->queued < left) return false; /* if there is none at all, others say so */
    rs_outlet_row(e, outlet)->refused++;
    return true;
}

/* Beyond the places that are kept for the class.  RS_OK: it has one. */
static inline enum rs_refusal take_place(rs_engine_t *e, struct rs_class_row *row) {
    if (row->queued >= row->queued_max) return RS_CLASS_FULL;
    if (!row->own && !row->queued && e->firsts < e->firsts_max) {
        rs_lend_first(e, row);
        return RS_OK;
    }
    if (e->shared < e->shared_max) {
        e->shared++;
        return RS_OK;
    }
    return no_place(e);
}

/* Of the places that its class might have yet, one key leaves some to others. */
static APART bool key_may_wait(const rs_engine_t *e, const struct rs_class_row *row, const struct rs_flow *f,
                               const uint64_t *key) {
    uint64_t room = e->shared < e->shared_max ? e->shared_max - e->shared : 0,
             most = row->queued < row->queued_max ? row->queued_max - row->queued : 0;
    if (row->queued < row->own) room += row->own - row->queued;
    if (room > most) room = most;
    return !room || rs_keys_may_wait(e, f, key, room); /* without any, take_place has the reason */
}

/*
 * Somebody must hear of a new one: the class goes shortest first, the scheduler looks at tickets, or it is next in its
 * class.
 */
static RARELY enum rs_refusal tell_of_new(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f, uint32_t t) {
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    uint32_t best = f->best;
    if (e->watch & RS_WATCH_DELAYS && f->queued == 1) begin_queue(e, f);
    if (f->shortest) rs_queue_push_sized(e, o, f, t);
    if (f->within) rs_keys_push(e, f, t);
    if (ops->enter) ops->enter(e, o, t);
    if (!f->held && f->queued == 1) ops->backlog(e, o, f->class);
    else if (!f->held && (f->best == t || f->best != best)) ops->head(e, o, f->class);
    if (f->within && e->watch & RS_WATCH_BOUNDS) look_at_bound(e, o, f, f->best);
    return RS_OK;
}

/* since: RS_NEVER for now.  key: NULL for none. */
static inline __attribute__((always_inline)) enum rs_refusal life_submit(rs_engine_t *e, rs_time_t now, rs_time_t since,
                                                                         uint32_t class, uint32_t outlet,
                                                                         uint64_t estimate, const uint64_t *key,
                                                                         uint32_t owner, uint64_t tag,
                                                                         rs_ticket_t *ticket) {
    rs_enter(e);
    RS_ASSERT(outlet < e->capacity.outlets);
    now = rs_clamp_now(e, now);
    if (class >= e->classes) return RS_NO_SUCH_CLASS;
    struct rs_class_row *row = rs_class_row(e, class);
    uint32_t t = e->free_first;
    if (t == RS_NIL) return life_refuse(row, RS_TOTAL_FULL);
    struct rs_outlet *o = rs_outlet(e, outlet);
    struct rs_flow *f = rs_flow(e, o, class);
    if (e->bulkheads && has_its_part(e, outlet, row, f)) return life_refuse(row, RS_SHARE_FULL);
    if (key && f->within && !key_may_wait(e, row, f, key)) return life_refuse(row, RS_SHARE_FULL);
    if (row->queued >= row->own) {
        enum rs_refusal why = take_place(e, row);
        if (why != RS_OK) return life_refuse(row, why);
    }

    struct rs_ticket_row *r = rs_row(e, t);
    RS_ASSERT(rs_row_state(r) == RS_FREE);
    e->free_first = r->next;
    r->tag = tag;
    r->owner = owner;
    uint64_t said = estimate;
    if (estimate - 1 >= RS_BYTES_MAX) estimate = guess(e, row, estimate & ~(RS_UNSURE | RS_LONG));
    r->estimate = estimate;
    r->covered = r->charged = covered_at_first(row, estimate);
    r->received = 0;
    r->submitted = now;
    r->since = since < now ? since : now;
    r->seq = e->seq++;
    r->class = (uint16_t)(class);
    r->outlet = (uint8_t)outlet;
    r->was_parked = r->occupies = r->works = r->crowded = 0;
    f->came = now;
    r->brief = !(e->watch & RS_WATCH_LONGS) || (is_brief(e, o, estimate) && !(said & RS_LONG));
    r->began_brief = r->brief;
    r->unsure = e->watch & RS_WATCH_LONGS && said & RS_UNSURE && r->brief;
    r->class_at8 = f->class_at8;
    r->flow_at8 = f->at8;
    if (key && f->within) rs_keys_note(e, t, key);
    *ticket = rs_row_ticket(r);
    set_life(r, rs_life(*ticket, RS_QUEUED));

    rs_queue_append(e, f, t, r);
    o->longs_queued += !r->brief;
    o->unsures_queued += r->unsure;
    brief_comes(e, f, r);
    row->queued++;
    row->counts.submitted++;
    if (f->held) o->held++;
    else if (rs_nobody_waits(o)) e->backlog_map |= (uint64_t)1 << outlet;
    o->queued++;
    return f->best == t || e->watch & RS_WATCH_QUEUES ? tell_of_new(e, o, f, t) : RS_OK;
}

enum rs_refusal rs_submit(rs_engine_t *e, rs_time_t now, uint32_t class, uint32_t outlet, uint64_t estimate,
                          uint32_t owner, uint64_t tag, rs_ticket_t *ticket) {
    return life_submit(e, now, RS_NEVER, class, outlet, estimate, NULL, owner, tag, ticket);
}

enum rs_refusal rs_submit_since(rs_engine_t *e, rs_time_t now, rs_time_t since, uint32_t class, uint32_t outlet,
                                uint64_t estimate, uint32_t owner, uint64_t tag, rs_ticket_t *ticket) {
    return life_submit(e, now, since, class, outlet, estimate, NULL, owner, tag, ticket);
}

enum rs_refusal rs_submit_keyed(rs_engine_t *e, rs_time_t now, uint32_t class, uint32_t outlet, uint64_t estimate,
                                const uint64_t key[RS_KEY_LEVELS], uint32_t owner, uint64_t tag, rs_ticket_t *ticket) {
    return life_submit(e, now, RS_NEVER, class, outlet, estimate, key, owner, tag, ticket);
}

static APART void tell_of_gone(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f, uint32_t t, int released) {
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    if (f->shortest) rs_queue_remove_sized(e, o, f, t);
    if (f->within && released) rs_keys_release(e, f, t);
    else if (f->within) rs_keys_cancel(e, f, t);
    if (ops->leave) ops->leave(e, o, t);
    if (released && ops->taken && f->queued) ops->taken(e, o, f->class);
}

/* Out of the queue, its state changed already; the scheduler of flows is told by the caller. */
static inline void unqueue(rs_engine_t *e, struct rs_outlet *o, struct rs_class_row *row, struct rs_flow *f, uint32_t t,
                           const struct rs_ticket_row *r, int released) {
    rs_queue_remove(e, f, r);
    rs_place_left(e, row);
    o->queued--;
    o->longs_queued -= !r->brief;
    o->unsures_queued -= r->unsure;
    if (!released) brief_leaves(e, f, r);
    if (f->held) o->held--;
    if (rs_nobody_waits(o)) e->backlog_map &= ~rs_outlet_bit(o);
    if (e->watch & RS_WATCH_QUEUES) tell_of_gone(e, o, f, t, released);
}

static inline void go_idle(rs_engine_t *e, struct rs_outlet *o, const struct rs_flow *f, uint32_t class) {
    if (f->queued || f->live) return;
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    if (ops->idle) ops->idle(e, o, class);
}

/* `life`: what its ticket is from now on. */
static void leave_queue(rs_engine_t *e, struct rs_ticket_row *r, uint32_t t, uint64_t life) {
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    uint32_t class = r->class;
    struct rs_flow *f = rs_row_flow(e, r);
    struct rs_outlet *o = rs_flow_outlet(e, f);
    struct rs_class_row *row = rs_row_class(e, r);
    uint32_t best = f->best;
    set_life(r, life);
    unqueue(e, o, row, f, t, r, 0);
    if (!f->held && !f->queued) ops->drained(e, o, class);
    else if (!f->held && f->best != best) ops->head(e, o, class);
    if (f->within && e->watch & RS_WATCH_BOUNDS) look_at_bound(e, o, f, f->best);
    go_idle(e, o, f, class);
    row->counts.cancelled++;
}

/* Queued or refused. */
static void cancel(rs_engine_t *e, struct rs_ticket_row *r, uint32_t t) {
    if (rs_row_state(r) == RS_REFUSED) {
        set_free(e, r, t);
        return;
    }
    leave_queue(e, r, t, rs_life_after(rs_row_ticket(r)));
    r->next = e->free_first;
    e->free_first = t;
}

bool rs_cancel(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_has_gone(r)) return false;
    cancel(e, r, rs_ticket_index(t));
    return true;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* A released one turned out to be larger, or smaller, than its key was charged; another key may be next for that. */
static RARELY void tell_key(rs_engine_t *e, struct rs_flow *f, const struct rs_ticket_row *r, uint64_t more,
                            uint64_t less) {
    uint32_t best = f->best, t = rs_ticket_index(rs_row_ticket(r));
    if (more) rs_keys_charge(e, f, t, more);
    if (less) rs_keys_refund(e, f, t, less);
    if (e->watch & RS_WATCH_BOUNDS) look_at_bound(e, rs_flow_outlet(e, f), f, best);
    else if (f->best != best && !f->held) rs_sched_ops(e)->head(e, rs_flow_outlet(e, f), f->class);
}

/* ---- queues that stand (rs.h) ------------------------------------------------------------------------------------ */

static rs_ticket_t refuse_oldest(rs_engine_t *e, const struct rs_flow *f) {
    uint32_t t = f->first;
    struct rs_ticket_row *r = rs_row(e, t);
    rs_ticket_t ticket = rs_row_ticket(r);
    leave_queue(e, r, t, rs_life(ticket, RS_REFUSED));
    rs_row_class(e, r)->counts.refused_standing++;
    return ticket;
}

rs_ticket_t rs_overdue(rs_engine_t *e, rs_time_t now) {
    rs_enter(e);
    now = rs_clamp_now(e, now);
    if (!(e->watch & RS_WATCH_DELAYS) || now < e->look_at) return RS_NO_TICKET;
    uint64_t flows = (uint64_t)e->capacity.outlets * e->classes;
    for (uint64_t at = e->looked; at < flows; at++) {
        struct rs_outlet *o = rs_outlet(e, (uint32_t)(at / e->classes));
        uint32_t c = (uint32_t)(at % e->classes);
        struct rs_flow *f = rs_flow(e, o, c);
        if (!o->queued) at += e->classes - 1 - c; /* on to the next outlet */
        if (!f->delay || !f->queued) continue;
        look_whether_it_stands(e, o, f);
        if (!f->stands || oldest_wait(e, f) <= f->delay) continue;
        e->looked = (uint32_t)at;
        return refuse_oldest(e, f);
    }
    e->looked = 0;
    e->look_at = now + RS_OVERDUE_EVERY;
    return RS_NO_TICKET;
}

/* ---- released ---------------------------------------------------------------------------------------------------- */

/*
 * Whoever waited too long in a class that goes shortest first goes instead of the one that the scheduler looked at, and
 * pays its own size.
 */
static RARELY uint32_t overdue_instead(rs_engine_t *e, struct rs_outlet *o, uint32_t looked_at) {
    struct rs_ticket_row *r = rs_row(e, looked_at);
    struct rs_flow *f = rs_row_flow(e, r);
    uint64_t paid = r->covered;
    if (!f->shortest) return looked_at;
    uint32_t t = rs_queue_next(e, f, rs_row_class(e, r)->settings.wait_bound_ms, e->now);
    r = rs_row(e, t);
    r->charged = paid;
    if (r->covered > paid) r->charged += owe(e, f, r->covered - paid);
    else refund(e, o, r, r->covered);
    return t;
}

static inline rs_ticket_t life_release(rs_engine_t *e, struct rs_outlet *o, uint32_t t, struct rs_ticket_row *r,
                                       rs_time_t now) {
    struct rs_flow *f = rs_row_flow(e, r);
    rs_ticket_t ticket = rs_row_ticket(r);
    struct rs_class_row *row = rs_row_class(e, r);
    r->released = now;
    r->crowded = o->gate == RS_GATE_AUTO && o->outstanding >= o->open_base;
    set_life(r, ticket);
    f->live++;
    unqueue(e, o, row, f, t, r, 1);
    take_slot(e, o, row, f, r);
    if (o->unsures_queued) look_at_flow(e, o, f);
    if (e->watch & RS_WATCH_BOUNDS) hold_back(e, o, row, f);
    rs_time_t waited = now - r->submitted;
    row->counts.released++;
    row->counts.wait_us += waited;
    if (waited > row->wait_max) row->wait_max = waited;
    if (e->watch & RS_WATCH_DELAYS && f->delay) note_wait(e, o, f, waited);
    return ticket;
}

/*
 * The window beyond which the gate can't keep the shares: min over the waiting classes of (what it has here) / (its
 * share of weight).  A class that waits alone has no share to keep.
 */
static RARELY void answer_share_cap(rs_engine_t *e, struct rs_outlet *o) {
    uint64_t weights = 0, cap = RS_NIL;
    uint32_t waiting = 0;
    o->cap_wanted = 0;
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        if (!rs_flow_waits(f)) continue;
        weights += f->weight;
        waiting++;
    }
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        if (!rs_flow_waits(f)) continue;
        uint64_t window = ((uint64_t)f->queued + f->live) * weights / f->weight;
        if (window < cap) cap = window;
    }
    o->share_cap = waiting > 1 ? (uint32_t)cap : RS_NIL;
}

static APART int ask_gate(const rs_engine_t *e, struct rs_outlet *o, rs_time_t *again) {
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    return gate->may && gate->may(o, &o->settings, e->now, again);
}

/* Those who wait here are all of classes that have as many released as they may; one that ends opens it again. */
static APART int nobody_may(const rs_engine_t *e, const struct rs_outlet *o) {
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    return ops->may && !ops->may(e, o);
}

/* Has somebody waiting who may go, and its gate is open. */
static inline int is_open(rs_engine_t *e, struct rs_outlet *o, rs_time_t *again) {
    if (o->cap_wanted) answer_share_cap(e, o);
    if (e->watch & RS_WATCH_LONGS) look_at_reserve(e, o);
    if (e->watch & RS_WATCH_QUEUES && nobody_may(e, o)) return 0;
    return o->outstanding < o->open_below || has_room_beside(e, o) || ask_gate(e, o, again);
}

/* Of several outlets the next that lets somebody go, beginning after the one that was served last; RS_NIL: none. */
static APART uint32_t take_of_several(rs_engine_t *e, rs_time_t now, rs_time_t *again, struct rs_outlet **from) {
    uint32_t turn = e->next_outlet;
    uint64_t waiting = turn ? e->backlog_map >> turn | e->backlog_map << (64 - turn) : e->backlog_map;
    for (; waiting; waiting &= waiting - 1) {
        struct rs_outlet *o = rs_outlet(e, (turn + (uint32_t)__builtin_ctzll(waiting)) & 63);
        if (!is_open(e, o, again)) continue;
        uint32_t t = rs_sched_ops(e)->take(e, o, now);
        if (t != RS_NIL) {
            e->next_outlet = (o->number + 1) & 63;
            *from = o;
            return t;
        }
        /* That one waits for somebody: others don't. */
        if (o->ask_at < *again) *again = o->ask_at;
    }
    return RS_NIL;
}

/* Its gate is shut by what others have outstanding.  Of a class that has less than its part one may go. */
static APART uint32_t take_of_those_below(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    uint32_t class = gate->spare && ops->find_below && gate->spare(o, &o->settings, now)
                         ? ops->find_below(e, o, rs_below_its_part)
                         : RS_NIL;
    if (class == RS_NIL) return RS_NIL;
    if (rs_flow(e, o, class)->within) rs_keys_prefer_idle(e, rs_flow(e, o, class));
    return ops->take_of(e, o, class);
}

/* Nobody else waits, and the only class that does would take from those who are on their way. */
static APART bool takes_from_others(rs_engine_t *e, struct rs_outlet *o) {
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    uint32_t class = ops->only ? ops->only(e, o) : RS_NIL;
    return class != RS_NIL && rs_has_its_windows(e, o, class);
}

static uint32_t take_of_one(rs_engine_t *e, struct rs_outlet *o, rs_time_t now, rs_time_t *again) {
    if (!is_open(e, o, again)) return take_of_those_below(e, o, now);
    if (e->watch & RS_WATCH_SLOTS && takes_from_others(e, o)) {
        *again = now + AGAIN;
        return RS_NIL;
    }
    uint32_t t = rs_sched_ops(e)->take(e, o, now);
    if (t == RS_NIL) *again = o->ask_at;
    return t;
}

static APART void pay_debt(const rs_engine_t *e, struct rs_flow *f, uint64_t cost) {
    f->owed -= rs_sched_ops(e)->earns ? rs_flow_makes_up(e, f, cost) : rs_flow_pays(e, f, cost);
}

rs_ticket_t rs_pick(rs_engine_t *e, rs_time_t now, rs_time_t *again) {
    rs_enter(e);
    now = rs_clamp_now(e, now);
    *again = RS_NEVER;
    if (e->occupying && now >= e->occupied_at) set_shares(e);
    if (!e->backlog_map) return RS_NO_TICKET;
    struct rs_outlet *o = rs_outlet(e, 0);
    uint32_t t = e->capacity.outlets > 1 ? take_of_several(e, now, again, &o) : take_of_one(e, o, now, again);
    if (t == RS_NIL) return RS_NO_TICKET;
    RS_ASSERT(t < e->capacity.tickets);
    struct rs_ticket_row *r = rs_row(e, t);
    struct rs_flow *f = rs_row_flow(e, r);
    if (f->owed) pay_debt(e, f, r->covered);
    if (e->watch & RS_WATCH_QUEUES) {
        t = overdue_instead(e, o, t);
        r = rs_row(e, t);
    }
    RS_ASSERT(rs_row_state(r) == RS_QUEUED);
    return life_release(e, o, t, r, now);
}

/* A response that is released is to bring so many bytes. */
static RARELY void expect_watched(rs_engine_t *e, struct rs_outlet *o, struct rs_ticket_row *r, uint64_t is) {
    struct rs_class_row *row = rs_row_class(e, r);
    const struct rs_flow *f = rs_row_flow(e, r);
    count_out(e, o, row, f, r);
    r->estimate = is;
    count_in(e, o, row, f, r);
}

bool rs_header(rs_engine_t *e, rs_time_t now, rs_ticket_t t, uint64_t length) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || !rs_row_has_gone(r)) return false;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    uint64_t is = at_most_max(length);
    if (is < r->received) is = r->received;
    if (rs_row_state(r) == RS_RELEASED) {
        rs_class_row(e, r->class)->promised += is - r->estimate;
        if (e->watch & RS_WATCH_SLOTS) expect_watched(e, o, r, is);
    }
    r->estimate = is;
    if (e->watch & RS_WATCH_LONGS) look_whether_long(e, o, r);
    uint64_t covered = covered_at_first(rs_row_class(e, r), is);
    struct rs_flow *f = rs_row_flow(e, r);
    if (f->within && r->covered < covered) tell_key(e, f, r, covered - r->covered, 0);
    else if (f->within && r->covered > is) tell_key(e, f, r, 0, r->covered - is);
    if (r->covered < covered) {
        r->charged += owe(e, f, covered - r->covered);
        r->covered = covered;
    } else if (r->covered > is) {
        r->covered = is;
        if (r->charged > is) refund(e, o, r, is);
    }
    return true;
}

/* More than the account has heard of, perhaps more than it was thought to have: then what is expected grows with it. */
static RARELY bool life_goes_on(rs_engine_t *e, struct rs_ticket_row *r, struct rs_class_row *row) {
    if (r->received > r->estimate) {
        if (rs_row_state(r) == RS_RELEASED) row->promised += r->received - r->estimate;
        r->estimate = r->received;
    }
    struct rs_flow *f = rs_row_flow(e, r);
    if (e->watch & RS_WATCH_LONGS) look_whether_long(e, rs_flow_outlet(e, f), r);
    r->charged += owe(e, f, at_most_max(r->received - r->covered));
    if (f->within) tell_key(e, f, r, at_most_max(r->received - r->covered), 0);
    /* without accounts nobody need hear of the rest */
    r->covered = rs_sched_ops(e)->refund || f->within ? r->received : r->estimate;
    return true;
}

/* Parked, or somebody wants to know. */
static RARELY bool progress_watched(rs_engine_t *e, rs_time_t now, rs_ticket_t t, uint64_t bytes) {
    struct rs_ticket_row *r = rs_live_row(e, t);
    rs_clamp_now(e, now);
    if (!r || !rs_row_has_gone(r)) return false;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    struct rs_class_row *row = rs_row_class(e, r);
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    struct rs_flow *f = rs_row_flow(e, r);
    bool counted = e->watch & RS_WATCH_SLOTS && rs_row_state(r) == RS_RELEASED;
    if (rs_row_state(r) == RS_PARKED) row->promised += bytes;
    if (counted) count_out(e, o, row, f, r);
    r->received += bytes;
    if (counted) rs_rest_came(e, r, bytes);
    if (counted) rs_class_came(e, row, bytes);
    if (r->received > r->covered) life_goes_on(e, r, row);
    if (counted) count_in(e, o, row, f, r);
    row->counts.bytes += bytes;
    if (rs_sched_ops(e)->charge) rs_sched_ops(e)->charge(e, o, r->class, at_most_max(bytes));
    if (gate->arrived) gate->arrived(o, &o->settings, e->now, bytes);
    return true;
}

bool rs_progress(rs_engine_t *e, rs_time_t now, rs_ticket_t t, uint64_t bytes) {
    rs_enter(e);
    struct rs_ticket_row *r = rs_row_in(e, t, RS_RELEASED);
    if (!r || e->watch & RS_WATCH_BYTES) return progress_watched(e, now, t, bytes);
    struct rs_class_row *row = rs_row_class(e, r);
    row->counts.bytes += bytes;
    r->received += bytes;
    return r->received > r->covered ? life_goes_on(e, r, row) : true;
}

static void stop_occupying(rs_engine_t *e, struct rs_flow *f, struct rs_ticket_row *r) {
    rs_flow_outlet(e, f)->working -= r->works;
    r->works = 0;
    if (!r->occupies) return;
    r->occupies = 0;
    f->occupying--;
    e->occupying--;
    if (f->within) rs_keys_vacate(e, f, rs_ticket_index(rs_row_ticket(r)));
}

static void start_occupying(rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t) {
    f->occupying++;
    e->occupying++;
    if (!rs_sched_ops(e)->enter) e->watch |= RS_WATCH_BOUNDS;
    if (f->within) rs_keys_occupy(e, f, t);
    f->share = rs_occupied_share(o, f, rs_active_weights(e, o));
}

/* A discipline of tickets knows no bounds: there it is counted, and nothing else. */
static bool park(rs_engine_t *e, rs_time_t now, rs_ticket_t t, bool occupies, bool works) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) != RS_RELEASED) return false;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    struct rs_class_row *row = rs_row_class(e, r);
    r->was_parked = 1;
    r->occupies = occupies;
    r->works = works;
    set_life(r, rs_life(t, RS_PARKED));
    struct rs_flow *f = rs_row_flow(e, r);
    give_slot(e, o, row, f, r);
    brief_leaves(e, f, r);
    o->parked++;
    o->working += r->works;
    row->parked++;
    row->counts.parked++;
    f->parked++;
    if (r->occupies) start_occupying(e, o, f, rs_ticket_index(t));
    if (f->shut) look_at_flow(e, o, f);
    if (e->watch & RS_WATCH_BOUNDS) look_at_bound(e, o, f, f->best);
    return true;
}

bool rs_park(rs_engine_t *e, rs_time_t now, rs_ticket_t t) { return park(e, now, t, false, false); }

bool rs_park_occupying(rs_engine_t *e, rs_time_t now, rs_ticket_t t) { return park(e, now, t, true, false); }

bool rs_park_working(rs_engine_t *e, rs_time_t now, rs_ticket_t t, bool slow) { return park(e, now, t, slow, true); }

bool rs_occupies_no_more(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_row_in(e, t, RS_PARKED);
    if (!r || !(r->occupies | r->works)) return false;
    struct rs_flow *f = rs_row_flow(e, r);
    stop_occupying(e, f, r);
    if (f->shut) look_at_flow(e, rs_flow_outlet(e, f), f);
    if (e->watch & RS_WATCH_BOUNDS) look_at_bound(e, rs_flow_outlet(e, f), f, f->best);
    return true;
}

bool rs_resume(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || rs_row_state(r) != RS_PARKED) return false;
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    struct rs_class_row *row = rs_row_class(e, r);
    set_life(r, rs_life(t, RS_RELEASED));
    struct rs_flow *f = rs_row_flow(e, r);
    o->parked--;
    row->parked--;
    take_slot(e, o, row, f, r);
    brief_comes(e, f, r);
    row->counts.resumed++;
    f->parked--;
    stop_occupying(e, f, r);
    if (e->watch & RS_WATCH_BOUNDS) look_at_bound(e, o, f, f->best);
    return true;
}

/* ---- ended ------------------------------------------------------------------------------------------------------- */

/*
 * Its account was charged more than came, or its class has nothing left here, or the gate or keys listen.  The row is
 * free, and stands as it was.
 */
static RARELY bool life_settle(rs_engine_t *e, struct rs_outlet *o, struct rs_flow *f, struct rs_ticket_row *r,
                               uint32_t t) {
    if (r->charged > r->received) refund(e, o, r, r->received);
    if (f->within) {
        if (r->covered > r->received) tell_key(e, f, r, 0, r->covered - r->received);
        rs_keys_end(e, f, t);
    }
    go_idle(e, o, f, f->class);
    if (rs_gate_ops(o)->ended) rs_gate_ops(o)->ended(o, &o->settings, e->now, r);
    return true;
}

/* length: what a whole one tells the mean. */
static inline __attribute__((always_inline)) bool life_end(rs_engine_t *e, struct rs_ticket_row *r, uint32_t t,
                                                           enum rs_state state, int whole, uint64_t length) {
    struct rs_class_row *row = rs_row_class(e, r);
    struct rs_flow *f = rs_row_flow(e, r);
    struct rs_outlet *o = rs_flow_outlet(e, f);
    if (state == RS_RELEASED) {
        give_slot(e, o, row, f, r);
        brief_leaves(e, f, r);
    } else {
        o->parked--;
        row->parked--;
        f->parked--;
        stop_occupying(e, f, r);
    }
    if (whole) {
        learn(e, row, length);
        row->counts.done++;
    } else {
        /* So that who gives up what takes long does not have it for what the others of its class take. */
        if (length > row->mean) learn(e, row, length);
        row->counts.aborted++;
    }
    row->counts.service_us += e->now - r->released;
    set_free(e, r, t);
    f->live--;
    if (f->shut) look_at_flow(e, o, f);
    if (e->watch & RS_WATCH_BOUNDS) look_at_bound(e, o, f, f->best);
    if (r->charged > r->received || !(f->live | f->queued) || e->watch & (RS_WATCH_ENDS | RS_WATCH_KEYS))
        return life_settle(e, o, f, r, t);
    return true;
}

/* Parked, or before its end, or not live at all. */
static RARELY bool end_otherwise(rs_engine_t *e, rs_ticket_t t, int whole) {
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || !rs_row_has_gone(r)) return false;
    return life_end(e, r, rs_ticket_index(t), rs_row_state(r), whole, r->received);
}

bool rs_finish(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    rs_clamp_now(e, now);
    struct rs_ticket_row *r = rs_row_in(e, t, RS_RELEASED);
    return r ? life_end(e, r, rs_ticket_index(t), RS_RELEASED, 1, r->received) : end_otherwise(e, t, 1);
}

uint64_t rs_hand_over(rs_engine_t *e, rs_time_t now, rs_ticket_t t, uint64_t rest) {
    rs_enter(e);
    struct rs_ticket_row *r = rs_live_row(e, t);
    if (!r || !rs_header(e, now, t, r->received + at_most_max(rest))) return rest;
    uint64_t paid = r->covered - r->received;
    if (paid) rs_progress(e, now, t, paid);
    life_end(e, r, rs_ticket_index(t), rs_row_state(r), 1, r->estimate);
    return paid;
}

bool rs_abort(rs_engine_t *e, rs_time_t now, rs_ticket_t t) {
    rs_enter(e);
    rs_clamp_now(e, now);
    return end_otherwise(e, t, 0);
}

uint32_t rs_reclaim(rs_engine_t *e, rs_time_t now, uint32_t owner) {
    rs_enter(e);
    rs_clamp_now(e, now);
    uint32_t found = 0;
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        struct rs_ticket_row *r = rs_row(e, t);
        if (rs_row_state(r) == RS_FREE || r->owner != owner) continue;
        rs_row_class(e, r)->counts.reclaimed++;
        found++;
        if (!rs_row_has_gone(r)) cancel(e, r, t);
        else end_otherwise(e, rs_row_ticket(r), 0);
    }
    return found;
}

void rs_charge(rs_engine_t *e, rs_time_t now, uint32_t class, uint32_t outlet, uint64_t bytes) {
    rs_enter(e);
    RS_ASSERT(outlet < e->capacity.outlets);
    now = rs_clamp_now(e, now);
    if (class >= e->classes && class != RS_NO_CLASS) return;
    struct rs_outlet *o = rs_outlet(e, outlet);
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    if (gate->arrived) gate->arrived(o, &o->settings, now, bytes);
    if (gate->aside) gate->aside(o, &o->settings, now, bytes);
    if (class == RS_NO_CLASS) return;
    struct rs_class_row *row = rs_class_row(e, class);
    const struct rs_sched_ops *ops = rs_sched_ops(e);
    if (ops->charge) ops->charge(e, o, class, at_most_max(bytes));
    else owe(e, rs_flow(e, o, class), at_most_max(bytes));
    row->counts.bytes += bytes;
    row->promised += bytes;
}

void rs_charge_keyed(rs_engine_t *e, rs_time_t now, uint32_t class, uint32_t outlet, const uint64_t key[RS_KEY_LEVELS],
                     uint64_t bytes) {
    rs_charge(e, now, class, outlet, bytes);
    if (class >= e->classes) return;
    struct rs_outlet *o = rs_outlet(e, outlet);
    struct rs_flow *f = rs_flow(e, o, class);
    uint32_t best = f->best;
    if (!f->within) return;
    rs_keys_charge_key(e, f, key, at_most_max(bytes));
    if (e->watch & RS_WATCH_BOUNDS) look_at_bound(e, o, f, best);
    else if (f->best != best && !f->held) rs_sched_ops(e)->head(e, o, class);
}
