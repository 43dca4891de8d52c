/* SPDX-License-Identifier: BSD-2-Clause */
#include "soak.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct soak_flow *flow_of(const struct soak_model *m, uint32_t class, uint32_t outlet) {
    return &m->flows[(size_t)(class) * m->cap.outlets + outlet];
}

static void *zeroed(size_t n, size_t each) {
    void *p = calloc(n, each);
    assert(p);
    return p;
}

void soak_model_init(struct soak_model *m, const struct rs_capacity *cap) {
    *m = (struct soak_model){ .cap = *cap };
    m->rows = zeroed(cap->tickets, sizeof *m->rows);
    for (int i = 0; i < 4; i++) m->set[i].index = zeroed(cap->tickets, sizeof *m->set[i].index);
    size_t flows = (size_t)cap->classes * cap->outlets;
    m->flows = zeroed(flows, sizeof *m->flows);
    for (size_t i = 0; i < flows; i++) m->flows[i].first = m->flows[i].last = SOAK_NONE;
    m->classes = zeroed(cap->classes, sizeof *m->classes);
}

void soak_model_free(struct soak_model *m) {
    free(m->rows);
    for (int i = 0; i < 4; i++) free(m->set[i].index);
    free(m->flows);
    free(m->classes);
}

void soak_model_configured(struct soak_model *m, const struct rs_settings *s, const struct rs_class_settings *classes,
                           uint32_t n, const uint32_t *number) {
    uint64_t weights = 0;
    m->settings = *s;
    for (uint32_t i = 0; i < m->cap.classes; i++) m->classes[i].own = 0;
    for (uint32_t i = 0; i < n; i++) {
        m->classes[number[i]].settings = classes[i];
        if (number[i] >= m->numbers) m->numbers = number[i] + 1;
        weights += classes[i].weight;
    }
    /*
     * Half of the places are kept by weight; as many as there are classes without one, or half of them, are lent; the
     * rest is shared.
     */
    uint64_t all = s->queue_max && s->queue_max < m->cap.tickets ? s->queue_max : m->cap.tickets, light = 0;
    m->shared = all;
    for (uint32_t i = 0; i < n; i++) {
        struct soak_class *c = &m->classes[number[i]];
        uint64_t own = all / 2 * c->settings.weight / weights;
        c->own = (uint32_t)(c->settings.queue_max && c->settings.queue_max < own ? c->settings.queue_max : own);
        m->shared -= c->own;
    }
    for (uint32_t i = 0; i < m->numbers; i++) light += m->classes[i].own == 0;
    m->shared -= light < all / 2 ? light : all / 2;
}

void soak_model_outlets(struct soak_model *m, const struct rs_outlet_settings *outlets, uint32_t n,
                        const uint32_t *number) {
    for (uint32_t i = 0; i < n; i++) {
        if (!number[i]) continue;
        m->outlets[number[i]] = outlets[i];
        m->bulkheads = 1;
    }
}

/* What an outlet goes by: its own window, or the engine's. */
static struct rs_outlet_settings window_at(const struct soak_model *m, uint32_t outlet) {
    if (m->outlets[outlet].gate != RS_GATE_NONE) return m->outlets[outlet];
    return (struct rs_outlet_settings){ .gate = m->settings.gate,
                                        .window = m->settings.window,
                                        .window_max = m->settings.window_max };
}

static int at_its_slots(const struct soak_model *m, uint32_t class, uint32_t outlet) {
    uint32_t slots = m->classes[class].settings.slots;
    return m->settings.sched != RS_SCHED_SHORTEST && slots && flow_of(m, class, outlet)->outstanding >= slots;
}

/* ---- sets and queues --------------------------------------------------------------------------------------------- */

static void set_add(struct soak_model *m, enum rs_state state, uint32_t i) {
    struct soak_set *set = &m->set[state];
    m->rows[i].state = state;
    m->rows[i].place = set->count;
    set->index[set->count++] = i;
}

static void set_remove(struct soak_model *m, uint32_t i) {
    struct soak_set *set = &m->set[m->rows[i].state];
    uint32_t last = set->index[--set->count];
    set->index[m->rows[i].place] = last;
    m->rows[last].place = m->rows[i].place;
}

static void enqueue(struct soak_model *m, uint32_t i) {
    struct soak_row *r = &m->rows[i];
    struct soak_flow *f = flow_of(m, r->class, r->outlet);
    r->before = f->last;
    r->after = SOAK_NONE;
    if (f->last == SOAK_NONE) f->first = i;
    else m->rows[f->last].after = i;
    f->last = i;
}

static void dequeue(struct soak_model *m, uint32_t i) {
    struct soak_row *r = &m->rows[i];
    struct soak_flow *f = flow_of(m, r->class, r->outlet);
    if (r->before == SOAK_NONE) f->first = r->after;
    else m->rows[r->before].after = r->after;
    if (r->after == SOAK_NONE) f->last = r->before;
    else m->rows[r->after].before = r->before;
}

static void count(struct soak_model *m, uint32_t i, enum rs_state state, int by) {
    const struct soak_row *r = &m->rows[i];
    struct soak_class *c = &m->classes[r->class];
    struct soak_flow *f = flow_of(m, r->class, r->outlet);
    if (state == RS_QUEUED) f->queued += (uint32_t)by;
    else if (state == RS_RELEASED) f->outstanding += (uint32_t)by;
    else if (state == RS_PARKED) f->parked += (uint32_t)by;
    m->at_outlet[r->outlet][state] += (uint32_t)by;
    if (state == RS_QUEUED) c->queued += (uint32_t)by;
    else if (state == RS_RELEASED) c->outstanding += (uint32_t)by;
    else if (state == RS_PARKED) c->parked += (uint32_t)by;
}

void soak_model_moved(struct soak_model *m, uint32_t i, enum rs_state to) {
    enum rs_state from = m->rows[i].state;
    count(m, i, from, -1);
    set_remove(m, i);
    if (from == RS_QUEUED) dequeue(m, i);
    set_add(m, to, i);
    count(m, i, to, 1);
}

/* ---- what may not be --------------------------------------------------------------------------------------------- */

/* Those beyond what is kept for their class have taken all that is for whoever comes. */
static int shared_are_taken(const struct soak_model *m) {
    uint64_t beyond = 0;
    for (uint32_t i = 0; i < m->numbers; i++)
        if (m->classes[i].queued > m->classes[i].own) beyond += m->classes[i].queued - m->classes[i].own;
    return beyond >= m->shared;
}

const char *soak_model_submitted(struct soak_model *m, uint32_t class, uint32_t outlet, uint32_t owner, uint64_t tag,
                                 enum rs_refusal why, rs_ticket_t t) {
    const struct soak_class *c = &m->classes[class];
    uint32_t live = m->set[RS_QUEUED].count + m->set[RS_RELEASED].count + m->set[RS_PARKED].count;
    int class_full = c->settings.queue_max && c->queued >= c->settings.queue_max;
    int total_full =
        live == m->cap.tickets || (m->settings.queue_max && m->set[RS_QUEUED].count >= m->settings.queue_max);
    if (why == RS_NO_SUCH_CLASS) return "a class in use was said not to exist";
    if (why == RS_CLASS_FULL) {
        m->counts.refused_class++;
        return class_full ? NULL : "refused as class full, and it was not";
    }
    if (why == RS_SHARE_FULL) {
        m->counts.refused_share++;
        if (m->bulkheads && flow_of(m, class, outlet)->queued) return NULL;
        if (c->settings.within && c->queued) return NULL; /* for the sake of other keys, whatever else is full */
        if (class_full || total_full) return "refused as beyond its share, and it had another reason";
        return c->queued >= c->own && shared_are_taken(m) ? NULL : "refused as beyond its share, and it was not";
    }
    if (why == RS_TOTAL_FULL) {
        m->counts.refused_total++;
        return total_full ? NULL : "refused as total full, and it was not";
    }
    if (class_full || live == m->cap.tickets) return "taken beyond a bound";
    if (total_full && c->queued >= c->own && c->queued) return "taken beyond the places, and it was not one of its own";
    uint32_t i = rs_ticket_index(t);
    if (t == RS_NO_TICKET || i >= m->cap.tickets) return "a ticket out of range";
    struct soak_row *r = &m->rows[i];
    if (r->ticket != RS_NO_TICKET) {
        if (r->state != RS_FREE) return "a live ticket's place was given out again";
        if (r->ticket == t) return "an ended ticket's number was given out again";
        set_remove(m, i);
    }
    *r = (struct soak_row){ .ticket = t, .class = class, .outlet = outlet, .owner = owner, .tag = tag };
    m->counts.submitted++;
    set_add(m, RS_QUEUED, i);
    count(m, i, RS_QUEUED, 1);
    enqueue(m, i);
    return NULL;
}

/*
 * Nothing may go: then no outlet with requests waiting may be idle, and a plain window must be full there.  The engine
 * wants to be asked again `within` so long; for await_us it keeps slots for a class that released them.
 */
static const char *must_stall(const struct soak_model *m, rs_time_t within) {
    for (uint32_t o = 0; o < m->cap.outlets; o++) {
        const uint32_t *n = m->at_outlet[o];
        const struct rs_outlet_settings w = window_at(m, o);
        uint32_t waiting = 0;
        for (uint32_t c = 0; c < m->numbers; c++)
            if (!at_its_slots(m, c, o)) waiting += flow_of(m, c, o)->queued;
        if (waiting == 0) continue;
        if (n[RS_RELEASED] + n[RS_PARKED] == 0 && within > m->settings.await_us)
            return "requests wait at an idle outlet and none is released";
        if (w.gate == RS_GATE_NONE) return "requests wait at a gate that is always open";
        /* A slot may be kept for a moment (await_us), and for brief requests as long as they come. */
        if (w.gate == RS_GATE_WINDOW && n[RS_RELEASED] < w.window && !m->settings.await_us)
            return "requests wait and the window is not full";
        if (w.gate == RS_GATE_THREADS && n[RS_RELEASED] + n[RS_PARKED] < w.window && !m->settings.await_us)
            return "requests wait and a thread is free";
    }
    return NULL;
}

const char *soak_model_picked(struct soak_model *m, rs_ticket_t t, rs_time_t within) {
    if (t == RS_NO_TICKET) return must_stall(m, within);
    uint32_t i = rs_ticket_index(t);
    if (i >= m->cap.tickets || m->rows[i].ticket != t || m->rows[i].state != RS_QUEUED)
        return "released what was not queued";
    const struct soak_row *r = &m->rows[i];
    const uint32_t *n = m->at_outlet[r->outlet];
    const struct rs_outlet_settings w = window_at(m, r->outlet);
    if (at_its_slots(m, r->class, r->outlet)) return "released beyond the slots of its class";
    if (w.gate == RS_GATE_WINDOW && n[RS_RELEASED] >= w.window) return "released beyond the window";
    if (w.gate == RS_GATE_THREADS && n[RS_RELEASED] + n[RS_PARKED] >= w.window) return "released beyond the threads";
    if ((w.gate == RS_GATE_AUTO || w.gate == RS_GATE_WRC) && n[RS_RELEASED] >= w.window_max)
        return "released beyond window_max";
    if (m->settings.sched != RS_SCHED_SHORTEST && m->classes[r->class].settings.order == RS_ORDER_FIFO &&
        !m->classes[r->class].settings.within && r->before != SOAK_NONE)
        return "not the first of its class";
    if (m->settings.sched == RS_SCHED_LEVELS)
        for (uint32_t c = 0; c < m->numbers; c++)
            if (m->classes[c].settings.level < m->classes[r->class].settings.level && !at_its_slots(m, c, r->outlet) &&
                flow_of(m, c, r->outlet)->first != SOAK_NONE)
                return "a lower level waits";
    m->counts.released++;
    soak_model_moved(m, i, RS_RELEASED);
    return NULL;
}

static const char *compare_counts(const struct rs_counts *a, const struct rs_counts *b) {
    if (a->submitted != b->submitted) return "the count of submitted ones differs";
    if (a->refused_class != b->refused_class) return "the count of refusals by class differs";
    if (a->refused_share != b->refused_share) return "the count of refusals for the sake of others differs";
    if (a->refused_total != b->refused_total) return "the count of refusals in total differs";
    if (a->cancelled != b->cancelled) return "the count of cancelled ones differs";
    if (a->released != b->released) return "the count of released ones differs";
    if (a->parked != b->parked) return "the count of parked ones differs";
    if (a->resumed != b->resumed) return "the count of resumed ones differs";
    if (a->done != b->done) return "the count of done ones differs";
    if (a->aborted != b->aborted) return "the count of aborted ones differs";
    if (a->reclaimed != b->reclaimed) return "the count of reclaimed ones differs";
    if (a->bytes != b->bytes) return "the count of bytes differs";
    return NULL;
}

const char *soak_model_compare(const struct soak_model *m, const rs_engine_t *e) {
    struct rs_stats stats;
    rs_stats(e, &stats);
    if (stats.queued != m->set[RS_QUEUED].count || stats.outstanding != m->set[RS_RELEASED].count ||
        stats.parked != m->set[RS_PARKED].count)
        return "the totals of queued, outstanding and parked differ";
    if (stats.classes < m->numbers) return "fewer class numbers than classes";
    for (uint32_t i = 0; i < m->numbers; i++) {
        struct rs_class_stats c;
        if (!rs_class_stats(e, i, &c)) return "a class in use has no figures";
        if (c.queued != m->classes[i].queued || c.outstanding != m->classes[i].outstanding ||
            c.parked != m->classes[i].parked)
            return "a class's queued, outstanding or parked differ";
    }
    for (uint32_t i = 0; i < m->cap.tickets; i++) {
        const struct soak_row *r = &m->rows[i];
        if (r->ticket == RS_NO_TICKET) continue;
        if (rs_state(e, r->ticket) != r->state) return "a ticket's state differs";
        if (r->state == RS_FREE) continue;
        if (rs_tag(e, r->ticket) != r->tag || rs_class(e, r->ticket) != r->class || rs_owner(e, r->ticket) != r->owner)
            return "a ticket's tag, class or owner differs";
    }
    return compare_counts(&stats.counts, &m->counts);
}
