/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_rfq.c - request-based fair queuing: the class that was served least, by weight, goes next.
 *
 * Source: access-gateway paper 3.2.  Each class has a counter (ACC) of normalised bytes: bytes divided by weight.  The
 * waiting class with the smallest counter goes.  Two disciplines share this file:
 *
 *     rfq-paper   counts what has arrived.  A class keeps the smallest counter until its first byte comes, and takes
 *                 every free slot until then
 *     rfq         counts an estimate at release and corrects it.  What comes late is a debt beside the counter,
 *                 flow->owed, which the class's next requests pay off little by little (rs_flow_cost): one long
 *                 response would otherwise silence its class for minutes
 *
 * Departures of both:
 * - A class that revives takes max(own counter, smallest of the others), eq. 2.  Fig. 2 sets the counter instead,
 *   which erases a debt.
 * - "The others" are the classes that wait.  The paper takes all: the counter of a class that is idle, or that only
 *   has one slow response outstanding, stands still while the rest goes on, and whoever starts from it shuts the rest
 *   out.  When nobody waits, the counter that was released last stands for them, so that what was used while alone is
 *   not held against a class.
 * - "rfq" charges a response before it has come.  What a reviving class begins at is therefore the least counter less
 *   what that class was charged and has not received: else a class that was alone would bring in all that it had
 *   outstanding beside its share.
 * - The remainder of the division by the weight is carried, so that small responses and large weights lose nothing.
 */
#include "sched.h"
#include "base_arena.h"
#include "base_heap.h"

struct rfq {
    uint64_t last; /* largest counter at which somebody was released */
    uint32_t row_at;
    uint32_t looked;        /* of the heap's nodes, by find_below: it goes on behind these */
    struct rs_heap waiting; /* by counter */
};

struct rfq_row {
    uint64_t acc;       /* fine bytes per weight */
    uint32_t rest, pad; /* of the last division, in fine bytes: below the weight */
};

#define ACC_MAX ((uint64_t)1 << 62)

static uint64_t rfq_layout(uint32_t classes, struct rfq *q) {
/* nodes of the heap that a call of find_below looks at */
#define LOOKED_AT 16u
    uint64_t used = sizeof *q;
    q->row_at = (uint32_t)rs_carve(&used, classes, sizeof(struct rfq_row));
    uint64_t heap = offsetof(struct rfq, waiting);
    q->waiting.capacity = classes;
    q->waiting.node_at = (uint32_t)(rs_carve(&used, classes, sizeof(struct rs_heap_node)) - heap);
    q->waiting.place_at = (uint32_t)(rs_carve(&used, classes, sizeof(uint32_t)) - heap);
    return used;
}

static uint64_t rfq_size(uint32_t classes) {
    struct rfq q;
    return rfq_layout(classes, &q);
}

static struct rfq_row *rfq_row_of(const struct rfq *q, uint32_t c) {
    return (struct rfq_row *)((uintptr_t)q + q->row_at) + c;
}

/* What a class that joins may not be behind: see the second departure. */
static uint64_t least_of_others(const struct rfq *q) {
    return q->waiting.count ? rs_heap_top(&q->waiting).key : q->last;
}

/* The same as a class sees it that joins. */
static uint64_t joins_at(const rs_engine_t *e, const struct rfq *q) {
    uint64_t least = least_of_others(q);
    if (!q->waiting.count || e->settings.sched == RS_SCHED_RFQ_PAPER) return least;
    const struct rs_class_row *row = rs_class_row(e, rs_heap_top(&q->waiting).id);
    uint64_t expected = row->promised - row->counts.bytes;
    /* Of a giant only what was charged at its release. */
    if (expected / rs_upfront_max(row) >= row->outstanding) expected = row->outstanding * rs_upfront_max(row);
    if (expected > RS_BYTES_MAX) expected = RS_BYTES_MAX;
    uint64_t ahead = (expected << RS_FINE) / row->settings.weight;
    return least > ahead ? least - ahead : 0;
}

/* Counters are compared as plain numbers; long before they could wrap, all go down by what everybody has. */
static void rfq_rebase(rs_engine_t *e, struct rfq *q) {
    uint64_t down = least_of_others(q);
    if (down > q->last) down = q->last;
    rs_heap_lower(&q->waiting, down);
    for (uint32_t c = 0; c < e->classes; c++) {
        struct rfq_row *r = rfq_row_of(q, c);
        r->acc = r->acc > down ? r->acc - down : 0;
        if (r->acc <= ACC_MAX) continue;
        r->acc = ACC_MAX; /* 70 TB ahead of the rest, without a bound of debts */
        if (rs_heap_has(&q->waiting, c)) rs_heap_rekey(&q->waiting, c, ACC_MAX);
    }
    q->last -= down;
}

static void rfq_backlog(rs_engine_t *e, struct rs_outlet *o, uint32_t c) {
    (void)e;
    struct rfq *q = rs_sched_state(e, o);
    struct rfq_row *r = rfq_row_of(q, c);
    uint64_t least = joins_at(e, q);
    if (r->acc < least) r->acc = least;
    rs_heap_push(&q->waiting, c, r->acc);
}

static void rfq_head(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { (void)e, (void)o, (void)c; }

static void rfq_drained(rs_engine_t *e, struct rs_outlet *o, uint32_t c) {
    struct rfq *q = rs_sched_state(e, o);
    rs_heap_remove(&q->waiting, c);
}

/* The counter and its rest with so many bytes more. */
static void rfq_add(struct rfq_row *r, uint64_t weight, uint64_t bytes) {
    uint64_t fine = (bytes << RS_FINE) + r->rest;
    r->acc += fine / weight;
    r->rest = (uint32_t)(fine % weight);
}

static void moved(rs_engine_t *e, struct rfq *q, uint32_t c, uint64_t acc) {
    if (rs_heap_has(&q->waiting, c)) rs_heap_rekey(&q->waiting, c, acc);
    if (acc > ACC_MAX) rfq_rebase(e, q);
}

static void charge(rs_engine_t *e, struct rs_outlet *o, uint32_t c, uint64_t bytes) {
    struct rfq *q = rs_sched_state(e, o);
    struct rfq_row *r = rfq_row_of(q, c);
    rfq_add(r, rs_flow(e, o, c)->weight, bytes);
    moved(e, q, c, r->acc);
}

static uint32_t take_charged(rs_engine_t *e, struct rs_outlet *o, struct rs_heap_node next, int charged) {
    struct rfq *q = rs_sched_state(e, o);
    struct rfq_row *r = rfq_row_of(q, next.id);
    const struct rs_flow *f = rs_flow(e, o, next.id);
    o->turns++;
    if (next.key > q->last) q->last = next.key;
    if (charged) rfq_add(r, f->weight, rs_flow_cost(e, f));
    if (f->queued == 1) rs_heap_remove(&q->waiting, next.id);
    if (charged) moved(e, q, next.id, r->acc);
    return f->best;
}

static uint32_t take_first(rs_engine_t *e, struct rs_outlet *o, int charged) {
    const struct rfq *q = rs_sched_state(e, o);
    return q->waiting.count ? take_charged(e, o, rs_heap_top(&q->waiting), charged) : RS_NIL;
}

static uint32_t rfq_take(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    (void)now;
    return take_first(e, o, 1);
}

/* What it was charged, and owes. */
static uint64_t served(const rs_engine_t *e, const struct rs_outlet *o, struct rs_heap_node n) {
    const struct rs_flow *f = rs_flow(e, o, n.id);
    return n.key + (f->owed << RS_FINE) / f->weight;
}

/*
 * Of those that are starved the class that was served least, debts included; else the class that goes next, if it is
 * below.  Of more than LOOKED_AT some at a time: all of ten thousand in some hundred calls.
 */
static uint32_t rfq_find_below(rs_engine_t *e, struct rs_outlet *o, rs_below_t *below) {
    struct rfq *q = rs_sched_state(e, o);
    const struct rs_heap_node *nodes = rs_heap_nodes(&q->waiting);
    uint32_t count = q->waiting.count, best = RS_NIL;
    uint64_t least = UINT64_MAX;
    for (uint32_t n = count < LOOKED_AT ? count : LOOKED_AT; n--;) {
        uint32_t at = q->looked < count ? q->looked : 0;
        uint64_t has = served(e, o, nodes[at]);
        q->looked = at + 1;
        if (has >= least || below(e, o, nodes[at].id) != RS_STARVED) continue;
        least = has;
        best = nodes[at].id;
    }
    if (best == RS_NIL && count && below(e, o, nodes[0].id) != RS_NOT_BELOW) best = nodes[0].id;
    return best;
}

static uint32_t rfq_take_of(rs_engine_t *e, struct rs_outlet *o, uint32_t class) {
    struct rfq *q = rs_sched_state(e, o);
    return take_charged(e, o, rs_heap_nodes(&q->waiting)[rs_heap_places(&q->waiting)[class]], 1);
}

static uint32_t rfq_only(const rs_engine_t *e, const struct rs_outlet *o) {
    const struct rfq *q = rs_sched_state(e, o);
    return q->waiting.count == 1 ? rs_heap_top(&q->waiting).id : RS_NIL;
}

static uint32_t take_uncharged(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    (void)now;
    return take_first(e, o, 0);
}

static void rfq_refund(rs_engine_t *e, struct rs_outlet *o, uint32_t c, uint64_t bytes) {
    struct rfq *q = rs_sched_state(e, o);
    struct rfq_row *r = rfq_row_of(q, c);
    uint64_t weight = rs_flow(e, o, c)->weight, fine = bytes << RS_FINE, down = fine / weight, over = fine % weight;
    if (over > r->rest) {
        down++;
        r->rest += (uint32_t)weight;
    }
    r->rest -= (uint32_t)over;
    r->acc = r->acc > down ? r->acc - down : 0;
    moved(e, q, c, r->acc);
}

static int64_t rfq_balance(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) {
    struct rfq *q = rs_sched_state(e, o);
    int64_t ahead = (int64_t)(rfq_row_of(q, c)->acc - least_of_others(q));
    return (int64_t)(-(__int128)ahead * rs_flow(e, o, c)->weight / ((int64_t)1 << RS_FINE));
}

/* Counters are kept; one that cannot be right is neutral. */
static void rfq_restore(rs_engine_t *e, struct rs_outlet *o, int keep) {
    struct rfq *q = rs_sched_state(e, o);
    uint64_t last = keep && q->last <= ACC_MAX ? q->last : 0;
    rfq_layout(e->capacity.classes, q);
    q->last = last;
    q->looked = 0;
    rs_heap_clear(&q->waiting);
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        struct rfq_row *r = rfq_row_of(q, c);
        r->rest = 0;
        if (!keep || rs_class_row(e, c)->fresh || r->acc > ACC_MAX) r->acc = last;
    }
    for (uint32_t c = 0; c < e->classes; c++)
        if (rs_flow_waits(rs_flow(e, o, c))) rs_heap_push(&q->waiting, c, rfq_row_of(q, c)->acc);
}

static const char *rfq_check(const rs_engine_t *e, const struct rs_outlet *o) {
    const struct rfq *q = rs_sched_state(e, o);
    const struct rs_heap *h = &q->waiting;
    const char *why = rs_heap_check(h);
    for (uint32_t c = 0; c < e->classes && !why; c++) {
        const struct rfq_row *r = rfq_row_of(q, c);
        if (rs_flow_waits(rs_flow(e, o, c)) != rs_heap_has(h, c)) why = "rfq: the waiting classes and the heap differ";
        else if (rs_heap_has(h, c) && rs_heap_nodes(h)[rs_heap_places(h)[c]].key != r->acc)
            why = "rfq: a class has an old key";
        else if (r->acc > ACC_MAX) why = "rfq: a counter is out of bounds";
        else if (r->rest >= rs_flow(e, o, c)->weight) why = "rfq: the rest of a division is too large";
    }
    return why;
}

const struct rs_sched_ops rs_sched_rfq = {
    .name = "rfq",
    .size = rfq_size,
    .restore = rfq_restore,
    .backlog = rfq_backlog,
    .head = rfq_head,
    .take = rfq_take,
    .find_below = rfq_find_below,
    .take_of = rfq_take_of,
    .only = rfq_only,
    .drained = rfq_drained,
    .refund = rfq_refund,
    .balance = rfq_balance,
    .check = rfq_check,
};

const struct rs_sched_ops rs_sched_rfq_paper = {
    .name = "rfq-paper",
    .size = rfq_size,
    .restore = rfq_restore,
    .backlog = rfq_backlog,
    .head = rfq_head,
    .take = take_uncharged,
    .drained = rfq_drained,
    .charge = charge,
    .balance = rfq_balance,
    .check = rfq_check,
};
