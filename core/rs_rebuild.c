/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything but tickets, settings and counts, made anew from the tickets: after the holder of the lock died, and
 * whenever settings changed. O(classes x outlets + tickets x log tickets), no memory but the tickets' own links.
 *
 * Accounts and learnt windows are kept while discipline and gate are the same and the values can be right; one that
 * can't is neutral.
 */
#include "class_keys.h"
#include "class_queue.h"
#include "class_rests.h"
#include "rs_engine.h"

/* The heaviest weight, and the bound of debts per weight, from the classes in force. */
static void set_weights(rs_engine_t *e) {
    uint64_t n = 0;
    e->weight_max = 1;
    e->weight_sum = 0;
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct rs_class_row *row = rs_class_row(e, c);
        if (!row->used || row->retired) continue;
        e->weight_sum += row->settings.weight;
        n++;
        if (row->settings.weight > e->weight_max) e->weight_max = row->settings.weight;
    }
    if (!n) e->weight_sum = n = 1;
    e->debt_fine = (e->settings.debt_max << RS_FINE) / (e->weight_sum / n);
    if (!e->settings.debt_max) e->debt_fine = UINT64_MAX;
    e->owed_most = rs_sched_ops(e)->refund ? RS_OWED_MAX : 0;
    e->owed_least = e->owed_most < e->debt_fine >> RS_FINE ? e->owed_most : e->debt_fine >> RS_FINE;
}

uint32_t rs_places_of(const rs_engine_t *e, const struct rs_class_row *row) {
    if (!row->used || row->retired) return 0;
    uint64_t own = (uint64_t)(e->queued_max / 2) * row->settings.weight / e->weight_sum;
    return (uint32_t)(own < row->queued_max ? own : row->queued_max);
}

/* See RESERVED PLACES in base_block.h; after set_weights. */
static void set_places(rs_engine_t *e) {
    uint32_t kept = 0, light = 0, half;
    e->queued_max = e->settings.queue_max && e->settings.queue_max < e->capacity.tickets ? e->settings.queue_max
                                                                                         : e->capacity.tickets;
    half = e->queued_max / 2;
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        struct rs_class_row *row = rs_class_row(e, c);
        row->queued_max = row->settings.queue_max ? row->settings.queue_max : UINT32_MAX;
        row->own = rs_places_of(e, row);
        row->first = 0;
        kept += row->own;
        if (row->used && !row->own) light++;
    }
    e->firsts_max = light < half ? light : half;
    e->shared_max = e->queued_max - kept - e->firsts_max;
    e->shared = e->firsts = 0;
}

/* Accounts of keys are those of a moment, and not kept. */
static void share_by_keys(rs_engine_t *e, const struct rs_flow *f) {
    if (!(e->watch & RS_WATCH_KEYS)) rs_keys_clear(e);
    rs_keys_clear_flow(e, f);
    e->watch |= RS_WATCH_QUEUES | RS_WATCH_KEYS;
}

static void clear_sums(rs_engine_t *e, int keep_accounts) {
    set_places(e);
    e->backlog_map = 0;
    e->weight_busy = 0;
    e->busy_map = 0;
    e->looked = 0;
    e->look_at = e->now;
    e->occupying = 0;
    e->occupied_at = e->now;
    e->free_first = RS_NIL;
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        struct rs_class_row *row = rs_class_row(e, c);
        row->queued = row->outstanding = row->parked = 0;
        row->promised = row->counts.bytes;
        row->can = 0;
        if (row->mean > RS_BYTES_MAX) row->mean = 0;
    }
    for (uint32_t n = 0; n < e->capacity.outlets; n++) {
        struct rs_outlet *o = rs_outlet(e, n);
        o->magic = RS_OUTLET_MAGIC;
        o->number = n;
        o->flows_at = e->flows_at + sizeof(struct rs_flow) * e->capacity.classes * n;
        o->sched_at = e->scheds_at + e->sched_size * n;
        int keep = keep_accounts && !rs_outlet_row(e, n)->fresh;
        o->queued = o->held = o->outstanding = o->parked = o->cap_wanted = 0;
        o->expected = 0;
        o->longs = o->longs_queued = o->unsures = o->unsures_queued = o->working = 0;
        o->reserve = o->reserve_unsure = o->peak = o->shut = 0;
        o->reserve_at = 0;
        for (uint32_t c = 0; c < e->capacity.classes; c++) {
            const struct rs_class_row *row = rs_class_row(e, c);
            struct rs_flow *f = rs_flow(e, o, c);
            rs_queue_clear(f);
            f->live = f->parked = f->occupying = f->held = 0;
            f->share = RS_NIL;
            f->barred = 0;
            for (uint32_t i = 0; i < RS_OCCUPIED_PART; i++) f->keys_occupying[i] = 0;
            f->came = 0;
            f->briefs = f->unsures = 0;
            f->demand = f->demand_unsure = 0;
            f->leaves = f->shut = 0;
            f->demand_ms = (uint32_t)(e->now / 1000);
            if (!keep || row->fresh || c >= e->classes) f->owed = 0;
            f->at8 = rs_place_of(e, f);
            f->outlet_at8 = rs_place_of(e, o);
            f->class_at8 = rs_place_of(e, row);
            f->class = c;
            f->weight = row->settings.weight ? row->settings.weight : 1;
            f->level = (uint16_t)row->settings.level;
            f->shortest = row->settings.order == RS_ORDER_SHORTEST && !rs_sched_ops(e)->enter;
            f->within = e->capacity.keys && !rs_sched_ops(e)->enter ? (uint8_t)row->settings.within : 0;
            if (f->shortest) e->watch |= RS_WATCH_QUEUES;
            f->by_rest = n == 0 && rs_gate_ops(o)->bound;
            if (f->by_rest) rs_rests(e, (uint16_t)c)->map = 0;
            if (f->within) share_by_keys(e, f);
            f->delay = (rs_time_t)row->settings.delay_ms * 1000;
            f->good = e->now;
            f->stood = 0;
            if (f->delay) e->watch |= RS_WATCH_DELAYS;
            if (row->settings.slots && !rs_sched_ops(e)->enter) e->watch |= RS_WATCH_BOUNDS;
            if (f->owed > rs_flow_owed_max(e, f)) f->owed = rs_flow_owed_max(e, f);
        }
    }
}

static void count_outstanding(rs_engine_t *e, const struct rs_ticket_row *r) {
    struct rs_outlet *o = rs_outlet(e, r->outlet);
    struct rs_class_row *row = rs_class_row(e, r->class);
    struct rs_flow *f = rs_flow(e, o, r->class);
    f->live++;
    if (f->within) rs_keys_enter(e, f, rs_ticket_index(rs_row_ticket(r)));
    if (rs_row_state(r) == RS_PARKED) {
        if (r->occupies) {
            f->occupying++;
            e->occupying++;
            if (f->within) rs_keys_occupy(e, f, rs_ticket_index(rs_row_ticket(r)));
            if (!rs_sched_ops(e)->enter) e->watch |= RS_WATCH_BOUNDS;
        }
        o->working += r->works;
        f->parked++;
        o->parked++;
        row->parked++;
        return;
    }
    o->outstanding++;
    o->longs += !r->brief;
    o->unsures += r->unsure;
    f->briefs += r->brief && e->watch & RS_WATCH_LONGS;
    f->unsures += r->unsure && e->watch & RS_WATCH_LONGS;
    row->promised += rs_row_rest(r);
    row->outstanding++;
    if (!(e->watch & RS_WATCH_SLOTS)) return;
    o->expected += rs_row_expected(e, r);
    if (row->outstanding == 1) e->weight_busy += row->settings.weight;
    else rs_busy_remove(e, row);
    row->can += rs_row_can(r);
    rs_busy_add(e, row);
    if (f->by_rest && f->within) rs_keys_rest_add(e, f, r);
    else if (f->by_rest) rs_rest_add(e, f, r);
    if (f->within) rs_keys_take_slot(e, f, rs_ticket_index(rs_row_ticket(r)));
}

/* Who has as many released as it may; when all of these are counted. */
static void hold_those_at_bounds(const rs_engine_t *e) {
    if (!(e->watch & RS_WATCH_BOUNDS)) return;
    for (uint32_t n = 0; n < e->capacity.outlets; n++)
        for (uint32_t c = 0; c < e->classes; c++) {
            struct rs_flow *f = rs_flow(e, rs_outlet(e, n), c);
            f->held = rs_is_at_bound(rs_class_row(e, c), f);
        }
}

/* Frees, counts, and returns the queued ones linked by next, in the order of their places. */
static uint32_t sort_out(rs_engine_t *e, int keep_accounts) {
    uint32_t queued = RS_NIL;
    for (uint32_t t = e->capacity.tickets; t-- > 0;) {
        struct rs_ticket_row *r = rs_row(e, t);
        enum rs_state state = rs_row_state(r);
        if (r->seq >= e->seq) e->seq = r->seq + 1;
        if (state > RS_REFUSED || (state != RS_FREE && (r->class >= e->classes || r->outlet >= e->capacity.outlets))) {
            /* can't come from a kill; a place that is lost for ever is worse than a ticket */
            r->life = rs_life_after(rs_row_ticket(r));
            state = RS_FREE;
        }
        const struct rs_class_row *row = rs_class_row(e, state == RS_FREE ? 0 : r->class);
        if (state != RS_FREE) {
            const struct rs_flow *f = rs_flow(e, rs_outlet(e, r->outlet), r->class);
            r->class_at8 = f->class_at8;
            r->flow_at8 = f->at8;
        }
        if (state == RS_FREE) {
            r->next = e->free_first;
            e->free_first = t;
        } else if (state == RS_QUEUED) {
            r->received = 0;
            r->covered = r->charged = r->estimate < rs_upfront_max(row) ? r->estimate : rs_upfront_max(row);
            r->next = queued;
            queued = t;
        } else if (state != RS_REFUSED) {
            if (r->estimate < r->received) r->estimate = r->received;
            if (r->covered < r->received) r->covered = r->received;
            if (r->covered > r->estimate) r->covered = r->estimate;
            if (!keep_accounts) r->charged = 0; /* nothing to give back from an account that is new */
            if (r->charged > r->covered) r->charged = r->covered;
            count_outstanding(e, r);
        }
    }
    return queued;
}

static uint32_t merge(rs_engine_t *e, uint32_t a, uint32_t b) {
    uint32_t first = RS_NIL, *end = &first;
    while (a != RS_NIL && b != RS_NIL) {
        uint32_t *least = rs_row(e, a)->seq < rs_row(e, b)->seq ? &a : &b, t = *least;
        *end = t;
        end = &rs_row(e, t)->next;
        *least = *end;
    }
    *end = a != RS_NIL ? a : b;
    return first;
}

/* Merge sort of a list by arrival: run[i] holds 2^i tickets or none. */
static uint32_t sort(rs_engine_t *e, uint32_t list) {
    uint32_t run[32], sorted = RS_NIL;
    for (uint32_t i = 0; i < 32; i++) run[i] = RS_NIL;
    while (list != RS_NIL) {
        uint32_t t = list, i = 0;
        list = rs_row(e, t)->next;
        rs_row(e, t)->next = RS_NIL;
        for (; run[i] != RS_NIL; i++) {
            t = merge(e, run[i], t);
            run[i] = RS_NIL;
        }
        run[i] = t;
    }
    for (uint32_t i = 0; i < 32; i++) sorted = merge(e, run[i], sorted);
    return sorted;
}

static void queue_up(rs_engine_t *e, const struct rs_sched_ops *ops, uint32_t list) {
    while (list != RS_NIL) {
        uint32_t t = list;
        struct rs_ticket_row *r = rs_row(e, t);
        struct rs_outlet *o = rs_outlet(e, r->outlet);
        list = r->next;
        struct rs_flow *f = rs_row_flow(e, r);
        rs_queue_append(e, f, t, r);
        o->longs_queued += !r->brief;
        o->unsures_queued += r->unsure;
        f->briefs += r->brief && e->watch & RS_WATCH_LONGS;
        f->unsures += r->unsure && e->watch & RS_WATCH_LONGS;
        if (f->shortest) rs_queue_push_sized(e, o, f, t);
        if (f->within) rs_keys_push(e, f, t);
        struct rs_class_row *row = rs_class_row(e, r->class);
        if (row->queued++ >= row->own) {
            if (!row->own && e->firsts < e->firsts_max) rs_lend_first(e, row);
            else e->shared++;
        }
        o->queued++;
        if (f->held) o->held++;
        else e->backlog_map |= rs_outlet_bit(o);
        if (ops->enter) ops->enter(e, o, t);
    }
}

/* What each outlet's gate goes by, and what all of them want to be told. */
static void set_gates(rs_engine_t *e) {
    uint32_t watch = 0;
    e->slice = UINT64_MAX;
    for (uint32_t n = 0; n < e->capacity.outlets; n++) {
        struct rs_outlet *o = rs_outlet(e, n);
        const struct rs_outlet_row *row = rs_outlet_row(e, n);
        o->settings = e->settings;
        if (n && row->used) {
            o->settings.gate = row->settings.gate;
            o->settings.window = row->settings.window;
            o->settings.window_max = row->settings.window_max;
        }
        o->gate = (uint8_t)o->settings.gate;
        const struct rs_gate_ops *gate = rs_gate_ops(o);
        watch |= (gate->arrived ? RS_WATCH_BYTES : 0) | (gate->ended ? RS_WATCH_ENDS : 0) |
                 (gate->slice ? RS_WATCH_BYTES | RS_WATCH_SLOTS : 0);
        if (gate->slice) e->slice = gate->slice(&o->settings);
    }
    e->watch = watch;
}

/* Debts deeper than the bound that is in force now. */
static void forgive(rs_engine_t *e, struct rs_outlet *o) {
    for (uint32_t c = 0; c < e->classes; c++) {
        struct rs_flow *f = rs_flow(e, o, c);
        uint64_t most = rs_flow_owed_max(e, f);
        if (f->owed <= most) continue;
        f->owed = most;
        if (rs_sched_ops(e)->refund) rs_sched_ops(e)->refund(e, o, c, 0);
    }
}

bool rs_set_rate(rs_engine_t *e, rs_time_t now, uint64_t rate, uint64_t debt_max) {
    rs_enter(e);
    RS_ASSERT(!rs_shape_wrong(e));
    rs_clamp_now(e, now);
    struct rs_settings s = e->settings;
    s.rate = rate;
    s.debt_max = debt_max;
    if (!e->settings.rate || !rate || rs_settings_wrong(&s)) return false;
    e->settings.rate = rate; /* who dies from here on leaves sums that rs_rebuild makes anew */
    e->settings.debt_max = debt_max;
    RS_BARRIER();
    set_weights(e);
    for (uint32_t n = 0; n < e->capacity.outlets; n++) {
        struct rs_outlet *o = rs_outlet(e, n);
        const struct rs_gate_ops *gate = rs_gate_ops(o);
        o->settings.rate = rate;
        o->settings.debt_max = debt_max;
        o->expected = 0;
        if (gate->slice) e->slice = gate->slice(&o->settings);
        forgive(e, o);
    }
    if (!(e->watch & RS_WATCH_SLOTS)) return true;
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        const struct rs_ticket_row *r = rs_row(e, t);
        if (rs_row_state(r) == RS_RELEASED) rs_outlet(e, r->outlet)->expected += rs_row_expected(e, r);
    }
    return true;
}

void rs_make_anew(rs_engine_t *e, rs_time_t now) {
    e->sched = (uint8_t)e->settings.sched;
    const struct rs_sched_ops *sched = rs_sched_ops(e);
    int keep_accounts = e->built_sched == e->settings.sched;
    e->built_sched = RS_NIL; /* whoever dies from here on leaves accounts that nobody trusts */
    RS_BARRIER();
    rs_index_names(e);
    set_gates(e);
    e->watch |= (sched->charge ? RS_WATCH_BYTES : 0) | (sched->enter || sched->taken ? RS_WATCH_QUEUES : 0) |
                (sched->reserves && e->settings.await_us ? RS_WATCH_LONGS : 0);
    set_weights(e);
    clear_sums(e, keep_accounts);
    uint32_t list = sort(e, sort_out(e, keep_accounts));
    hold_those_at_bounds(e);
    /* A discipline of tickets takes them one by one into an empty state; one of flows looks at them all at the end. */
    if (!sched->enter) queue_up(e, sched, list);
    for (uint32_t n = 0; n < e->capacity.outlets; n++) {
        struct rs_outlet *o = rs_outlet(e, n);
        struct rs_outlet_row *row = rs_outlet_row(e, n);
        int keep_gate = row->built_gate == o->settings.gate && !row->fresh;
        row->built_gate = RS_NIL;
        RS_BARRIER();
        sched->restore(e, o, keep_accounts && !row->fresh);
        rs_gate_ops(o)->init(o, &o->settings, now, keep_gate);
        RS_BARRIER();
        row->built_gate = o->settings.gate;
    }
    if (sched->enter) queue_up(e, sched, list);
    for (uint32_t c = 0; c < e->classes; c++) rs_class_row(e, c)->fresh = 0;
    e->bulkheads = 0;
    for (uint32_t n = 0; n < e->capacity.outlets; n++) {
        struct rs_outlet_row *row = rs_outlet_row(e, n);
        const struct rs_outlet *o = rs_outlet(e, n);
        row->fresh = 0;
        if (n && row->used && (!row->retired || o->queued || o->outstanding || o->parked)) e->bulkheads = 1;
    }
    RS_BARRIER();
    e->built_sched = e->settings.sched;
}

static const char *arrivals_wrong(const rs_engine_t *e) {
    uint64_t last = e->seq;
    for (uint32_t t = 0; t < e->capacity.tickets; t++)
        if (rs_row(e, t)->seq > last) last = rs_row(e, t)->seq;
    return last < RS_ARRIVALS_MAX ? NULL : "more requests came than can have come";
}

/* What all else is made from: none of it can be damaged by a kill, so what is was written by somebody. */
static const char *truth_wrong(const rs_engine_t *e) {
    const char *wrong = rs_shape_wrong(e);
    if (!wrong && e->classes > e->capacity.classes) wrong = "there are more classes than places";
    if (!wrong) wrong = rs_settings_wrong(&e->settings);
    /* All of them: a journal may have more classes than are in force. */
    for (uint32_t c = 0; !wrong && c < e->capacity.classes; c++)
        if (rs_class_row(e, c)->used) wrong = rs_class_wrong(&rs_class_row(e, c)->settings);
    for (uint32_t n = 1; !wrong && n < e->capacity.outlets; n++)
        if (rs_outlet_row(e, n)->used) wrong = rs_outlet_wrong(&rs_outlet_row(e, n)->settings);
    return wrong ? wrong : arrivals_wrong(e);
}

static const char *journal_wrong(const rs_engine_t *e) {
    if (e->journal_valid == RS_JOURNAL_OUTLETS) return rs_outlets_wrong(e);
    if (e->journal_valid != RS_JOURNAL_CLASSES) return "the journal is of no known kind";
    if (e->journal_classes > e->capacity.classes) return "the journal has more classes than there are places";
    const char *wrong = rs_settings_wrong(&e->journal_settings);
    for (uint32_t c = 0; !wrong && c < e->journal_classes; c++) {
        const struct rs_journal_row *j = rs_journal(e, c);
        if (j->act > RS_ACT_FRESH) wrong = "the journal wants what is no act";
        else if (j->act == RS_ACT_KEEP || j->act == RS_ACT_FRESH) wrong = rs_class_wrong(&j->settings);
    }
    return wrong;
}

const char *rs_rebuild(rs_engine_t *e, rs_time_t now) {
    const char *wrong = truth_wrong(e);
    if (!wrong && e->journal_valid) wrong = journal_wrong(e);
    if (wrong) return wrong;
    now = rs_clamp_now(e, now);
    /* who comes to 0 again would be asked for sums that a kill may have left wrong */
    e->rebuilds += e->rebuilds != UINT32_MAX;
    if (e->journal_valid == RS_JOURNAL_OUTLETS) rs_outlets_apply(e, now);
    else if (e->journal_valid) rs_journal_apply(e, now);
    else rs_make_anew(e, now);
    return NULL;
}
