/* SPDX-License-Identifier: BSD-2-Clause */
/* Every invariant of the engine.  Reads damaged memory: an index is judged before it is used. */
#include "class_keys.h"
#include "class_queue.h"
#include "class_rests.h"
#include "rs_engine.h"

#include <string.h>

struct sums {
    uint64_t queued, outstanding, parked, occupying, working, expected;
    uint64_t longs, longs_queued, briefs, unsures, unsures_queued;
};

static const char *check_free(const rs_engine_t *e, uint32_t free_tickets) {
    uint32_t seen = 0;
    for (uint32_t t = e->free_first; t != RS_NIL; t = rs_row(e, t)->next) {
        if (t >= e->capacity.tickets) return "the free list names an unknown ticket";
        if (rs_row_state(rs_row(e, t)) != RS_FREE) return "the free list names a ticket in use";
        if (++seen > free_tickets) return "the free list is longer than there are free tickets";
    }
    return seen == free_tickets ? NULL : "a free ticket is lost";
}

static const char *check_ticket(const rs_engine_t *e, uint32_t t) {
    const struct rs_ticket_row *r = rs_row(e, t);
    if (rs_row_state(r) > RS_REFUSED) return "a ticket is in no known state";
    if (rs_ticket_index(rs_row_ticket(r)) != t) return "a ticket is not in its place";
    if (r->life >> 32 == 0) return "a ticket has no generation";
    if (rs_row_state(r) == RS_FREE) return NULL;
    if (r->class >= e->classes || !rs_class_row(e, r->class)->used) return "a ticket is of no known class";
    if (r->outlet >= e->capacity.outlets) return "a ticket is for no known outlet";
    if (rs_row_class(e, r) != rs_class_row(e, r->class) ||
        rs_row_flow(e, r) != rs_flow(e, rs_outlet(e, r->outlet), r->class))
        return "a ticket's class and place differ";
    if (r->seq >= e->seq) return "a ticket came after the last";
    if (r->estimate < r->received) return "a response is larger than it is thought to be";
    if (r->covered < r->received || r->covered > r->estimate)
        return "an account has heard of more or less of a response than there is";
    if (r->charged > r->covered) return "an account was charged more of a response than it has heard of";
    rs_time_t last = rs_row_has_gone(r) ? r->released : r->submitted;
    if (r->since > r->submitted || r->submitted > last || last > e->now) return "a ticket's times are out of order";
    if (rs_row_state(r) == RS_QUEUED && (r->received || !r->estimate))
        return "a waiting ticket has received bytes, or expects none";
    return NULL;
}

static void check_add(const rs_engine_t *e, struct sums *s, const struct rs_ticket_row *r) {
    switch (rs_row_state(r)) {
    case RS_FREE:
    case RS_REFUSED: break;
    case RS_QUEUED:
        s->queued++;
        s->longs_queued += !r->brief;
        s->unsures_queued += r->unsure;
        s->briefs += r->brief;
        break;
    case RS_PARKED:
        s->parked++;
        s->occupying += r->occupies;
        s->working += r->works;
        break;
    case RS_RELEASED:
        s->outstanding++;
        s->longs += !r->brief;
        s->unsures += r->unsure;
        s->briefs += r->brief;
        s->expected += rs_row_expected(e, r);
        break;
    }
}

/*
 * All outstanding responses stand among their classes' rests, each where it belongs, and nothing else does.  Sums of
 * what each place is marked with tell, in one pass over the tickets: whoever heals holds the lock, and there may be
 * thousands of classes.
 */
static const char *check_rests(const rs_engine_t *e) {
    const struct rs_outlet *o = rs_outlet(e, 0);
    uint64_t count = 0, needs = 0;
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        const struct rs_ticket_row *r = rs_row(e, t);
        if (rs_row_state(r) != RS_RELEASED || r->outlet) continue;
        const struct rs_flow *f = rs_row_flow(e, r);
        if (!f->by_rest || f->within) continue; /* keys are checked by themselves */
        uint64_t mark = rs_rest_mark(r->class, rs_rest_bucket(f, r));
        count += mark;
        needs += mark * rs_rest_brings(e, f, r);
    }
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        const struct rs_rests *rests = rs_rests(e, (uint16_t)c);
        if (f->by_rest != (rs_gate_ops(o)->bound != NULL))
            return "a flow counts what is to come and need not, or does not and must";
        for (uint64_t map = f->by_rest ? rests->map : 0; map; map &= map - 1) {
            uint32_t b = (uint32_t)__builtin_ctzll(map);
            if (!rests->of[b].count) return "the map of what is to come is wrong";
            if (f->within) continue;
            count -= rs_rest_mark(c, b) * rests->of[b].count;
            needs -= rs_rest_mark(c, b) * rests->of[b].needs;
        }
    }
    return count || needs ? "what is to come of a class's responses does not add up" : NULL;
}

/* What each class's outstanding responses can bring, and where classes stand by that. */
static const char *check_busy_classes(const rs_engine_t *e) {
    struct rs_busy is[RS_BUCKETS];
    uint64_t can = 0, map = 0;
    if (!(e->watch & RS_WATCH_SLOTS)) return e->busy_map ? "classes are busy of which nobody asks" : NULL;
    for (uint32_t b = 0; b < RS_BUCKETS; b++) is[b] = (struct rs_busy){ 0 };
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        const struct rs_ticket_row *r = rs_row(e, t);
        if (rs_row_state(r) == RS_RELEASED) can += rs_rest_mark(r->class, 0) * rs_row_can(r);
    }
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        const struct rs_class_row *row = rs_class_row(e, c);
        can -= rs_rest_mark(c, 0) * row->can;
        if (!row->outstanding) continue;
        uint32_t b = rs_busy_bucket(row);
        map |= (uint64_t)1 << b;
        is[b].weight += row->settings.weight;
        is[b].can += rs_class_can(row);
    }
    if (can || map != e->busy_map) return "what classes can bring does not add up";
    for (; map; map &= map - 1) {
        uint32_t b = (uint32_t)__builtin_ctzll(map);
        if (is[b].weight != e->busy[b].weight || is[b].can != e->busy[b].can)
            return "the sums of what classes can bring are wrong";
    }
    return NULL;
}

/* Its gate goes by its own row, or by the engine's settings. */
static const char *check_window(const rs_engine_t *e, const struct rs_outlet *o, uint32_t n) {
    const struct rs_outlet_row *row = rs_outlet_row(e, n);
    bool own = n && row->used;
    uint32_t gate = own ? row->settings.gate : e->settings.gate,
             window = own ? row->settings.window : e->settings.window,
             most = own ? row->settings.window_max : e->settings.window_max;
    if (own && rs_outlet_wrong(&row->settings)) return rs_outlet_wrong(&row->settings);
    if (own && !row->retired && !e->bulkheads) return "the engine has forgotten that an outlet has a window of its own";
    if (o->settings.gate != gate || o->settings.window != window || o->settings.window_max != most)
        return "an outlet has another window than it was given";
    return o->gate == gate && row->built_gate == gate ? NULL : "an outlet's gate is not that of its settings";
}

static const char *check_outlet(const rs_engine_t *e, const struct rs_outlet *o, uint32_t n) {
    struct sums s = { 0 };
    uint64_t queued = 0, live = 0, held = 0, parked = 0, occupying = 0, briefs = 0, unsures = 0;
    if (o->magic != RS_OUTLET_MAGIC || o->number != n) return "an outlet has lost its magic number";
    const char *wrong = check_window(e, o, n);
    if (wrong) return wrong;
    for (uint32_t t = 0; t < e->capacity.tickets; t++)
        if (rs_row(e, t)->outlet == n) check_add(e, &s, rs_row(e, t));
    if (s.queued != o->queued) return "an outlet's count of waiting requests is wrong";
    if (s.outstanding != o->outstanding) return "an outlet's count of outstanding responses is wrong";
    if (s.longs != o->longs || s.longs_queued != o->longs_queued)
        return "an outlet's counts of long requests are wrong";
    if (s.unsures != o->unsures || s.unsures_queued != o->unsures_queued)
        return "an outlet's counts of unsure requests are wrong";
    if (s.working != o->working) return "an outlet's count of workers that serve parked requests is wrong";
    if (s.parked != o->parked) return "an outlet's count of parked responses is wrong";
    if (o->expected != (e->watch & RS_WATCH_SLOTS ? s.expected : 0))
        return "an outlet's sum of expected bytes is wrong";
    if (rs_nobody_waits(o) == (e->backlog_map >> n & 1)) return "the map of waiting outlets is wrong";
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        const struct rs_flow *f = rs_flow(e, o, c);
        const struct rs_class_row *row = rs_class_row(e, c);
        const char *why = rs_queue_check(e, o, c);
        if (why) return why;
        if (f->within && (!(e->watch & RS_WATCH_KEYS) || f->within != row->settings.within))
            return "a flow has not its class's levels of keys";
        if (f->within) why = rs_keys_check(e, f);
        if (why) return why;
        if (f->class != c || rs_flow_outlet(e, f) != o || rs_place(e, f->class_at8) != row || rs_place(e, f->at8) != f)
            return "a flow does not know whose it is";
        if (f->weight != (row->used ? row->settings.weight : 1)) return "a flow has not its class's weight";
        if (c >= e->classes && (f->queued || f->live)) return "a flow of no class has requests";
        if (f->owed > rs_flow_owed_max(e, f)) return "a class owes more than it may";
        if (f->parked > f->live) return "a flow has more parked than there are";
        if (f->occupying > f->parked) return "more of a flow occupy their backend than are parked";
        occupying += f->occupying;
        if (f->held != (e->watch & RS_WATCH_BOUNDS && rs_is_at_bound(row, f)))
            return "a flow is held back and has slots left, or is not and has none";
        queued += f->queued;
        live += f->live;
        parked += f->parked;
        briefs += f->briefs;
        unsures += f->unsures;
        if (f->held) held += f->queued;
    }
    if (held != o->held || parked != o->parked) return "an outlet's counts of those held back or parked are wrong";
    if (briefs != (e->watch & RS_WATCH_LONGS ? s.briefs : 0)) return "the flows' counts of brief requests don't add up";
    if (unsures != (e->watch & RS_WATCH_LONGS ? s.unsures + s.unsures_queued : 0))
        return "the flows' counts of unsure requests don't add up";
    if (occupying != s.occupying) return "the counts of parked requests that occupy their backend don't add up";
    if (queued != o->queued) return "an outlet's queues don't add up";
    if (live != (uint64_t)o->outstanding + o->parked) return "an outlet's outstanding responses don't add up";
    const struct rs_sched_ops *sched = rs_sched_ops(e);
    const struct rs_gate_ops *gate = rs_gate_ops(o);
    const char *why = sched->check(e, o);
    if (!why && gate->check) why = gate->check(o, &o->settings);
    return why;
}

struct places {
    uint64_t firsts, shared, kept;
};

/* Sums over outlets of what each class has; flows were checked against tickets one outlet at a time. */
static const char *check_class(const rs_engine_t *e, uint32_t c, uint64_t *weights, struct places *p) {
    const struct rs_class_row *row = rs_class_row(e, c);
    uint64_t queued = 0, live = 0;
    for (uint32_t n = 0; n < e->capacity.outlets; n++) {
        const struct rs_flow *f = rs_flow(e, rs_outlet(e, n), c);
        queued += f->queued;
        live += f->live;
    }
    if (queued != row->queued) return "a class's count of waiting requests is wrong";
    if (live != (uint64_t)row->outstanding + row->parked) return "a class's count of outstanding responses is wrong";
    if (!row->used && (queued || live || c < e->classes)) return "a class is not there";
    if (row->used &&
        (!memchr(row->settings.name, 0, sizeof row->settings.name) || rs_class_named(e, row->settings.name) != c))
        return "a class is not found by its name";
    if (row->queued_max != (row->settings.queue_max ? row->settings.queue_max : UINT32_MAX))
        return "a class has forgotten its bound";
    if (row->first && (rs_places_of(e, row) || !row->queued))
        return "a class has been lent a place that it does not need";
    if (row->own != (row->first ? 1 : rs_places_of(e, row))) return "a class has other places than its weight gives it";
    p->firsts += row->first;
    p->kept += row->first ? 0 : row->own;
    p->shared += row->queued > row->own ? row->queued - row->own : 0;
    if (row->outstanding) *weights += row->settings.weight;
    return NULL;
}

const char *rs_check(const rs_engine_t *e) {
    if (e->magic != RS_ENGINE_MAGIC || e->version != RS_VERSION) return "the engine has lost its magic number";
    if (e->classes > e->capacity.classes) return "there are more classes than places";
    if (e->journal_valid) return "a configuration stands half applied";
    if (e->seq >> 62) return "more requests came than can have come";
    const char *why = rs_settings_wrong(&e->settings);
    if (why) return why;
    if (e->sched != e->settings.sched) return "the settings in force are not those that were made";
    if (e->built_sched != e->settings.sched) return "the accounts belong to another discipline";
    uint32_t free_tickets = 0;
    struct places places = { 0 };
    uint64_t outstanding = 0, parked = 0, queued = 0, expected = 0, class_expected = 0, class_parked = 0, weights = 0;
    for (uint32_t t = 0; t < e->capacity.tickets; t++) {
        why = check_ticket(e, t);
        if (why) return why;
        if (rs_row_state(rs_row(e, t)) == RS_FREE) free_tickets++;
        if (rs_row_state(rs_row(e, t)) == RS_RELEASED) expected += rs_row_rest(rs_row(e, t));
    }
    why = check_free(e, free_tickets);
    for (uint32_t n = 0; n < e->capacity.outlets && !why; n++) {
        const struct rs_outlet *o = rs_outlet(e, n);
        why = check_outlet(e, o, n);
        queued += o->queued;
        outstanding += o->outstanding;
        parked += o->parked;
    }
    if (!why) why = check_rests(e);
    if (!why) why = check_busy_classes(e);
    if (!why) why = rs_keys_check_rows(e);
    if (why) return why;
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        why = check_class(e, c, &weights, &places);
        if (why) return why;
        class_expected += rs_expected(rs_class_row(e, c));
        class_parked += rs_class_row(e, c)->parked;
    }
    if (class_expected != expected) return "the classes' expected bytes don't add up";
    if (places.firsts != e->firsts || e->firsts > e->firsts_max) return "the count of places that were lent is wrong";
    if (places.shared != e->shared) return "the count of shared places is wrong";
    if (places.kept + e->firsts_max + e->shared_max != e->queued_max) return "the places don't add up";
    if (class_parked != parked) return "the classes' parked responses don't add up";
    if (e->weight_busy != (e->watch & RS_WATCH_SLOTS ? weights : 0)) return "the weight of the busy classes is wrong";
    struct rs_stats s;
    rs_stats(e, &s);
    uint64_t in = s.counts.submitted, out = s.counts.cancelled + s.counts.done + s.counts.aborted;
    /* who is killed inside a move may have made it and not counted it */
    if (!e->rebuilds && in - out != queued + outstanding + parked) return "moves and tickets don't add up";
    return NULL;
}
