/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_drr.c - deficit round robin over the bytes of responses.
 *
 * Source: website-gateway paper 3.3 (Fig. 7), after Shreedhar and Varghese.  A class that waits earns its quantum once a round; its next
 * request goes when the deficit counter covers the response's estimate, and the estimate is taken off.  Departures:
 *
 * - Quanta are ratios.  One round gives `step` bytes per weight to everybody, so chosen that the heaviest class earns one mean response: the
 *   finest interleaving that still serves somebody in nearly every round.
 * - No spinning.  A class that needs more than the coming round sleeps in a heap until the round that suffices, and when no class is
 *   ready the round is made as long as the nearest sleeper needs.  O(1) per release where quanta fit, O(log classes) where they don't.
 * - Classes earn when they are looked at: `level` sums what all rounds gave per weight, and each remembers the level up to which it has
 *   earned.  So a step of any length keeps everybody's ratio.
 * - Estimates are corrected (charge, refund); the deficit may go below 0, down to a bound in bytes per weight; more is forgiven.
 * - The paper erases the deficit when the queue is empty.  Here a class with responses outstanding keeps it, since corrections may
 *   still come, but earns nothing with an empty queue.  When the last response has ended, a positive deficit is erased and a debt stays:
 *   a pause earns no credit and pays no debt.
 * - The paper adds the quantum, finds the window closed, and takes the quantum off again; here nobody looks before a slot is free.
 *
 * WHERE A CLASS IS.  OUT: nothing waits.  READY: this round, the first is being served.  NEXT: will be ready in the next round.  SLEEP: in the
 * heap by the level that it needs.  Lists are linked by index through the rows.
 */
#include "sched.h"
#include "base_arena.h"
#include "base_heap.h"

enum where { OUT, READY, NEXT, SLEEP };

struct list { uint32_t first, last; };

struct drr {
    struct list ready, next;
    uint32_t    count;              /* of the heap */
    uint32_t    released;           /* since `mean` was taken, and their estimates */
    uint64_t    released_bytes;
    uint64_t    level;              /* fine bytes per weight given so far */
    uint64_t    step;               /* what the next round gives */
    uint64_t    mean;               /* estimate, over whole rounds */
    uint64_t    row_at, node_at, place_at;
};

struct drr_row {
    int64_t  deficit;               /* fine bytes */
    uint64_t earned;                /* the level up to which `deficit` is right, while the class waits */
    uint32_t next, prev;
    uint32_t where, pad;
};

#define LEVEL_MAX   ((uint64_t)1 << 61)
#define DEFICIT_MAX ((int64_t)1 << 60)
#define MEAN_OF      64u                    /* releases, or a round if that has more */
#define RELEASED_MAX ((uint32_t)1 << 22)    /* x RS_BYTES_MAX fits */

static uint64_t layout(uint32_t classes, struct drr *d) {
    uint64_t used = sizeof *d;
    d->row_at = rs_carve(&used, classes, sizeof(struct drr_row));
    d->node_at = rs_carve(&used, classes, sizeof(struct rs_heap_node));
    d->place_at = rs_carve(&used, classes, sizeof(uint32_t));
    return used;
}

static uint64_t size(uint32_t classes) {
    struct drr d;
    return layout(classes, &d);
}

static struct drr_row *row_of(const struct drr *d, uint32_t c) { return (struct drr_row *)((uintptr_t)d + d->row_at) + c; }

static struct rs_heap heap_of(struct drr *d) {
    return (struct rs_heap){ &d->count, (void *)((uintptr_t)d + d->node_at), (void *)((uintptr_t)d + d->place_at) };
}

static void append(struct drr *d, struct list *l, uint32_t c, enum where where) {
    struct drr_row *r = row_of(d, c);
    r->where = where;
    r->next = RS_NIL;
    r->prev = l->last;
    if (l->last == RS_NIL) l->first = c;
    else row_of(d, l->last)->next = c;
    l->last = c;
}

static void take_out(struct drr *d, uint32_t c) {
    struct drr_row *r = row_of(d, c);
    if (r->where == SLEEP) {
        rs_heap_remove(heap_of(d), c);
    } else if (r->where != OUT) {
        struct list *l = r->where == READY ? &d->ready : &d->next;
        if (r->prev == RS_NIL) l->first = r->next;
        else row_of(d, r->prev)->next = r->next;
        if (r->next == RS_NIL) l->last = r->prev;
        else row_of(d, r->next)->prev = r->prev;
    }
    r->where = OUT;
}

static int64_t bounded(__int128 deficit) { return deficit > DEFICIT_MAX ? DEFICIT_MAX : (int64_t)deficit; }

static int64_t earned_by_now(const struct drr *d, const struct drr_row *r, uint32_t weight) {
    return bounded((__int128)(d->level - r->earned) * weight + r->deficit);
}

static void earn(struct drr *d, struct drr_row *r, uint32_t weight) {
    r->deficit = earned_by_now(d, r, weight);
    r->earned = d->level;
}

static int64_t need_of(const rs_engine_t *e, const struct rs_flow *f) { return (int64_t)(rs_row(e, f->best)->estimate << RS_FINE); }

/* The level at which the class can pay for its next request. */
static uint64_t wake_level(const struct drr *d, const struct drr_row *r, uint32_t weight, int64_t need) {
    return d->level + ((uint64_t)(need - r->deficit) + weight - 1) / weight;
}

/* An OUT class that waits finds its place. */
static void place(rs_engine_t *e, struct drr *d, uint32_t c, const struct rs_flow *f) {
    struct drr_row *r = row_of(d, c);
    int64_t need = need_of(e, f);
    if (need <= r->deficit) {
        append(d, &d->ready, c, READY);
        return;
    }
    if ((unsigned __int128)d->step * f->weight >= (uint64_t)(need - r->deficit)) {
        append(d, &d->next, c, NEXT);
        return;
    }
    r->where = SLEEP;
    rs_heap_push(heap_of(d), c, wake_level(d, r, f->weight, need));
}

/* Levels are compared as plain numbers; long before they could wrap, all go down together. */
static void rebase(rs_engine_t *e, struct rs_outlet *o, struct drr *d) {
    uint64_t down = d->level - LEVEL_MAX / 2;
    for (uint32_t c = 0; c < e->classes; c++) {
        struct drr_row *r = row_of(d, c);
        if (r->where == OUT) continue;
        earn(d, r, rs_flow(e, o, c)->weight);
        r->earned -= down;
    }
    struct rs_heap h = heap_of(d);
    for (uint32_t i = 0; i < d->count; i++) h.node[i].key = h.node[i].key > down ? h.node[i].key - down : 0;
    d->level -= down;
}

/*
 * Over whole rounds: within one, who needs little goes first and who slept comes last, so the mean of a round's end would be far too
 * large, and with it the next round.
 */
static void take_mean(struct drr *d) {
    if (d->released < MEAN_OF) return;
    d->mean = d->released_bytes / d->released;
    d->released = 0;
    d->released_bytes = 0;
}

static uint64_t step_of(const rs_engine_t *e, const struct drr *d) {
    uint64_t step = (d->mean << RS_FINE) / e->weight_max;
    return step ? step : 1;
}

static int new_round(rs_engine_t *e, struct rs_outlet *o, struct drr *d) {
    struct rs_heap h = heap_of(d);
    uint64_t level = d->level + d->step;
    if (d->next.first == RS_NIL) {
        if (d->count == 0) return 0;
        if (h.node[0].key > level) level = h.node[0].key;
    }
    d->level = level;
    take_mean(d);
    d->step = step_of(e, d);
    d->ready = d->next;
    d->next = (struct list){ RS_NIL, RS_NIL };
    for (uint32_t c = d->ready.first; c != RS_NIL; c = row_of(d, c)->next) {
        row_of(d, c)->where = READY;
        o->turns++;
    }
    while (d->count && h.node[0].key <= level) {
        uint32_t c = h.node[0].id;
        rs_heap_remove(h, c);
        append(d, &d->ready, c, READY);
        o->turns++;
    }
    if (level > LEVEL_MAX) rebase(e, o, d);
    return 1;
}

static void backlog(rs_engine_t *e, struct rs_outlet *o, uint32_t c) {
    struct drr *d = rs_sched_state(e, o);
    row_of(d, c)->earned = d->level;
    place(e, d, c, rs_flow(e, o, c));
}

/* Only a sleeper can have become ready earlier; whoever is in a list is looked at when its turn comes. */
static void rewake(rs_engine_t *e, struct rs_outlet *o, struct drr *d, uint32_t c) {
    struct drr_row *r = row_of(d, c);
    if (r->where != SLEEP) return;
    const struct rs_flow *f = rs_flow(e, o, c);
    earn(d, r, f->weight);
    take_out(d, c);
    place(e, d, c, f);
}

static void head(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { rewake(e, o, rs_sched_state(e, o), c); }

static void drained(rs_engine_t *e, struct rs_outlet *o, uint32_t c) { take_out(rs_sched_state(e, o), c); }

static struct rs_choice pick(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    (void)now;
    struct drr *d = rs_sched_state(e, o);
    for (;;) {
        uint32_t c = d->ready.first;
        if (c == RS_NIL) {
            if (!new_round(e, o, d)) return (struct rs_choice){ RS_NIL, RS_NIL };
            continue;
        }
        o->turns++;
        const struct rs_flow *f = rs_flow(e, o, c);
        struct drr_row *r = row_of(d, c);
        earn(d, r, f->weight);
        uint64_t estimate = rs_row(e, f->best)->estimate;
        if ((int64_t)(estimate << RS_FINE) <= r->deficit) {
            if (d->released < RELEASED_MAX) {
                d->released++;
                d->released_bytes += estimate;
            }
            return (struct rs_choice){ c, RS_NIL };
        }
        take_out(d, c);
        place(e, d, c, f);
    }
}

static uint64_t charge(rs_engine_t *e, struct rs_outlet *o, uint32_t c, uint64_t bytes) {
    struct drr *d = rs_sched_state(e, o);
    struct drr_row *r = row_of(d, c);
    uint32_t weight = rs_flow(e, o, c)->weight;
    if (r->where != OUT) earn(d, r, weight);
    int64_t was = r->deficit, deficit = was - (int64_t)(bytes << RS_FINE);
    int64_t least = -DEFICIT_MAX;
    if (e->debt_fine && e->debt_fine < (uint64_t)DEFICIT_MAX / weight) least = -(int64_t)(e->debt_fine * weight);
    if (deficit >= least) {
        r->deficit = deficit;
        return bytes;
    }
    if (was <= least) return 0;
    r->deficit = least;
    return (uint64_t)(was - least) >> RS_FINE;
}

static void refund(rs_engine_t *e, struct rs_outlet *o, uint32_t c, uint64_t bytes) {
    struct drr *d = rs_sched_state(e, o);
    struct drr_row *r = row_of(d, c);
    r->deficit = bounded((__int128)bytes * (1 << RS_FINE) + r->deficit);
    rewake(e, o, d, c);
}

static void idle(rs_engine_t *e, struct rs_outlet *o, uint32_t c) {
    struct drr_row *r = row_of(rs_sched_state(e, o), c);
    if (r->deficit > 0) r->deficit = 0;
}

static int64_t balance(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) {
    const struct drr *d = rs_sched_state(e, o);
    const struct drr_row *r = row_of(d, c);
    int64_t fine = r->where == OUT ? r->deficit : earned_by_now(d, r, rs_flow(e, o, c)->weight);
    return fine / ((int64_t)1 << RS_FINE);
}

static void restore(rs_engine_t *e, struct rs_outlet *o, int keep) {
    struct drr *d = rs_sched_state(e, o);
    uint64_t mean = keep && d->mean <= RS_BYTES_MAX ? d->mean : 0;
    layout(e->capacity.classes, d);
    d->ready = d->next = (struct list){ RS_NIL, RS_NIL };
    d->count = 0;
    d->level = 0;
    d->mean = mean ? mean : 16384;
    d->released = 0;
    d->released_bytes = 0;
    d->step = step_of(e, d);
    struct rs_heap h = heap_of(d);
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        struct drr_row *r = row_of(d, c);
        const struct rs_flow *f = rs_flow(e, o, c);
        h.place[c] = RS_NIL;
        int64_t least = e->debt_fine && e->debt_fine < (uint64_t)DEFICIT_MAX / f->weight ? -(int64_t)(e->debt_fine * f->weight) : -DEFICIT_MAX;
        int good = keep && !rs_class_row(e, c)->fresh && r->deficit <= DEFICIT_MAX;
        if (!good || (r->deficit > 0 && !f->queued && !f->live)) r->deficit = 0;
        if (r->deficit < least) r->deficit = least;
        r->earned = 0;
        r->where = OUT;
    }
    for (uint32_t c = 0; c < e->classes; c++)
        if (rs_flow(e, o, c)->queued) backlog(e, o, c);
}

static const char *check_list(const rs_engine_t *e, const struct rs_outlet *o, const struct drr *d, const struct list *l, enum where where,
                              uint32_t *seen) {
    uint32_t prev = RS_NIL;
    for (uint32_t c = l->first; c != RS_NIL; c = row_of(d, c)->next) {
        if (c >= e->classes) return "drr: a round names an unknown class";
        if (++*seen > e->classes) return "drr: a round goes in circles";
        if (row_of(d, c)->where != (uint32_t)where || row_of(d, c)->prev != prev) return "drr: a round's links disagree";
        if (!rs_flow(e, o, c)->queued) return "drr: a class without requests is in a round";
        prev = c;
    }
    return l->last == prev ? NULL : "drr: a round's last is not its last";
}

static const char *check(const rs_engine_t *e, const struct rs_outlet *o) {
    struct drr *d = rs_sched_state(e, o);
    struct rs_heap h = heap_of(d);
    const char *why = rs_heap_check(h, e->capacity.classes);
    uint32_t seen = 0, waiting = 0;
    if (!why) why = check_list(e, o, d, &d->ready, READY, &seen);
    if (!why) why = check_list(e, o, d, &d->next, NEXT, &seen);
    if (why) return why;
    if (d->step == 0) return "drr: a round gives nothing";
    if (d->mean > RS_BYTES_MAX || d->released > RELEASED_MAX) return "drr: the mean estimate is out of bounds";
    for (uint32_t c = 0; c < e->classes; c++) {
        const struct drr_row *r = row_of(d, c);
        const struct rs_flow *f = rs_flow(e, o, c);
        if ((r->where == SLEEP) != (h.place[c] != RS_NIL)) return "drr: the sleepers and the heap differ";
        if ((f->queued != 0) != (r->where != OUT)) return "drr: a class waits in no round";
        if (f->queued) waiting++;
        else if (!f->live && r->deficit > 0) return "drr: an idle class has kept credit";
        if (r->deficit > DEFICIT_MAX || r->deficit < -DEFICIT_MAX) return "drr: a deficit is out of bounds";
        if (r->where != OUT && r->earned > d->level) return "drr: a class earned ahead of the rounds";
        if (r->where == SLEEP && wake_level(d, r, f->weight, need_of(e, f)) - d->level + r->earned < h.node[h.place[c]].key)
            return "drr: a class sleeps too long";
    }
    return seen + d->count == waiting ? NULL : "drr: the rounds have lost a class";
}

const struct rs_sched_ops rs_sched_drr = {
    .name = "drr", .size = size, .restore = restore, .backlog = backlog, .head = head, .pick = pick, .drained = drained,
    .charge = charge, .refund = refund, .idle = idle, .balance = balance, .check = check,
};
