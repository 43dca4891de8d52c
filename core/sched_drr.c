/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_drr.c - deficit round robin over the bytes of responses.
 *
 * Source: website-gateway paper 3.3 (Fig. 7), after Shreedhar and Varghese.  A class that waits earns its quantum once
 * a round; its next request goes when the deficit counter covers the response's estimate, and the estimate is taken
 * off.  Departures:
 *
 * - Quanta are ratios.  One round gives `step` bytes per weight to everybody, so chosen that a round is about ROUND
 *   mean responses, and no less than one for the heaviest class: fine interleaving, and few rounds in which a class is
 *   looked at for nothing.
 * - No spinning.  A class that needs more than the coming round sleeps in a heap until the round that suffices, and
 *   when no class is ready the round is made as long as the nearest sleeper needs.  O(1) per release where quanta fit,
 *   O(log classes) where they don't.
 * - Classes earn when they are looked at: `level` sums what all rounds gave per weight, and each remembers the level
 *   up to which it has earned.  So a step of any length keeps everybody's ratio.
 * - Estimates are corrected: what was too much comes back (refund).  What was too little is no negative deficit but a
 *   debt beside it, flow->owed, which the class's next requests pay off in parts (rs_flow_makes_up), or, while it is
 *   more than they could, three quarters of what the class earns: so no class is silenced by what came, and all of it
 *   is paid, however small the requests are that come next.
 * - The paper erases the deficit when the queue is empty ("drr-paper" does).  Clients that wait for an answer before
 *   they ask again leave the queue empty for moments, and their class would lose what it has earned and what the rounds
 *   give meanwhile.  Here who is back within MEMORY_US has lost nothing, but has saved up no more than four mean
 *   responses, and sixteen times by how much its large ones are larger: where one in twenty takes 150 times as long as
 *   the others, it is most of what is shared, and fifteen means.  Whenever a light class has one, the heavy ones are
 *   due several, and would lose what is above the bound.  Who is away for longer earns nothing, and keeps what it had
 *   while responses are outstanding, since corrections may still come; else that is erased, and a debt stays: a pause
 *   earns no credit and pays no debt.
 * - What is in work is not taken back.  Of eight visitors in a window of eight one is always on its way to us, and a
 *   slot that is free for that moment would go, for a second, to a crawler whose turn it is not.  So a slot that a
 *   class gave back stays free for its next request, where the settings say so (await_us), before a new round begins.
 *   It is lost if nobody comes: for a 32nd of the time that the other one's answer takes, at most.
 * - A class whose next request is shut out (rs_reserve.h) is passed over meanwhile, and earns.  When the outlet opens,
 *   the class that is owed most for its weight comes first.
 * - A class that has as many slots as it may (rs_class_settings.slots) is away, too, as long as that lasts, but earns
 *   what its next request costs meanwhile, and so goes as soon as it may.
 * - The paper adds the quantum, finds the window closed, and takes the quantum off again; here nobody looks before a
 *   slot is free.
 * - A class whose queue ran empty within its turn and that is back before the round has ended goes on with what is
 *   left of it, at once. At the end of the round, as in the paper, it would lose a share that it has earned whenever
 *   its queue is short.
 *
 * WHERE A CLASS IS.  OUT: nothing waits.  ROUND_0, ROUND_1: in the list of the round under way (d->round; its first is
 * being served), or of the next one.  SLEEP: in the heap by the level that it needs.  SHUT: its next request
 * is shut out (rs_reserve.h).  Lists are linked by index through the rows.
 */
#include "sched.h"
#include "base_arena.h"
#include "base_heap.h"

enum where { ROUND_0, ROUND_1, SHUT, SLEEP, OUT };

struct list {
    uint32_t first, last;
};

struct drr {
    struct list list[3]; /* the rounds, and SHUT */
    uint32_t round;      /* the list of the round under way: 0 or 1 */
    uint32_t released;   /* since `mean` was taken, and their estimates */
    uint64_t released_bytes;
    uint64_t level; /* fine bytes per weight given so far */
    uint64_t step;  /* what a round gives */
    uint64_t mean;  /* estimate, over whole rounds; 0 = none yet */
    uint32_t row_at;
    uint32_t away;           /* of those whose queues ran empty, the heaviest of late; RS_NIL: none */
    struct rs_heap sleepers; /* by the level that they wait for */
};

struct drr_row {
    int64_t deficit; /* fine bytes */
    uint64_t earned; /* the level up to which `deficit` is right; of one that is OUT, that of when it left */
    rs_time_t left;  /* when its queue became empty */
    uint32_t weight;
    uint32_t where;
    uint32_t next, prev;
    /* how many of it are released; slots that it gave back and has not taken again, and since when the first */
    uint32_t live, given;
    rs_time_t given_at;
    uint64_t large; /* the largest of its releases of late */
};
_Static_assert(sizeof(struct drr_row) == 64, "a class's row is found by a shift");

#define LEVEL_MAX   ((uint64_t)1 << 61)
#define DEFICIT_MAX ((int64_t)1 << 60)
#define SHORT_WAY   ((uint64_t)1 << 40) /* x a weight fits in 64 bits */
#define MEAN_OF     64u                 /* releases, or a round if that has more */
/* looks and wake-ups for one choice: a few of each class, or something goes in circles */
#ifndef RS_PATIENCE
#define RS_PATIENCE (16u << 16)
#endif
#define ROUND     8u /* mean responses in a round of few classes */
#define MEMORY_US UINT64_C(100000)
#define AWAITED   5u      /* a slot that would cost 2^5 as much waits so long for who gave it back */
#define SAVED     4u      /* responses: the most that the heaviest class finds when it is back, others by weight */
#define FADES     6u      /* what is large loses 1 / 2^6 of itself with each release */
#define SHUT_US   100000u /* whether an outlet is still shut is looked at so often, if nothing else happens */
#define SPREAD    4u /* where sizes differ: how often that by which the large ones are larger is added to the mean */

static uint64_t drr_layout(uint32_t classes, struct drr *d) {
    uint64_t used = sizeof *d, heap = offsetof(struct drr, sleepers);
    d->row_at = (uint32_t)rs_carve(&used, classes, sizeof(struct drr_row));
    d->sleepers.capacity = classes;
    d->sleepers.node_at = (uint32_t)(rs_carve(&used, classes, sizeof(struct rs_heap_node)) - heap);
    d->sleepers.place_at = (uint32_t)(rs_carve(&used, classes, sizeof(uint32_t)) - heap);
    return used;
}

static uint64_t drr_size(uint32_t classes) {
    struct drr d;
    return drr_layout(classes, &d);
}

static struct drr_row *drr_row_of(const struct drr *d, uint32_t c) {
    return (struct drr_row *)((uintptr_t)d + d->row_at) + c;
}

static void append(struct drr *d, uint32_t round, uint32_t c, struct drr_row *r) {
    struct list *l = &d->list[round];
    r->where = round;
    r->next = RS_NIL;
    r->prev = l->last;
    if (l->last == RS_NIL) l->first = c;
    else drr_row_of(d, l->last)->next = c;
    l->last = c;
}

static void prepend(struct drr *d, uint32_t round, uint32_t c, struct drr_row *r) {
    struct list *l = &d->list[round];
    r->where = round;
    r->prev = RS_NIL;
    r->next = l->first;
    if (l->first == RS_NIL) l->last = c;
    else drr_row_of(d, l->first)->prev = c;
    l->first = c;
}

static void take_out(struct drr *d, uint32_t c) {
    struct drr_row *r = drr_row_of(d, c);
    if (r->where == SLEEP) {
        rs_heap_remove(&d->sleepers, c);
    } else if (r->where != OUT) {
        struct list *l = &d->list[r->where];
        if (r->prev == RS_NIL) l->first = r->next;
        else drr_row_of(d, r->prev)->next = r->next;
        if (r->next == RS_NIL) l->last = r->prev;
        else drr_row_of(d, r->next)->prev = r->prev;
    }
    r->where = OUT;
}

static int64_t bounded(__int128 deficit) { return deficit > DEFICIT_MAX ? DEFICIT_MAX : (int64_t)deficit; }

/* What the rounds gave since it was looked at last. */
static int64_t earnings(const struct drr *d, const struct drr_row *r) {
    uint64_t gave = d->level - r->earned;
    if (gave < SHORT_WAY) return (int64_t)(gave * r->weight);
    return bounded((__int128)gave * r->weight);
}

/* Of what it earns three quarters go into the debt, while that is deep. */
static __attribute__((noinline)) void earn_much(const rs_engine_t *e, const struct drr *d, struct drr_row *r,
                                                struct rs_flow *f) {
    int64_t earned = earnings(d, r);
    uint64_t part = (uint64_t)earned / 4 * 3 >> RS_FINE, paid = f->owed < part ? f->owed : part;

    if (!rs_flow_is_deep(e, f)) paid = 0;
    f->owed -= paid;
    r->deficit = bounded((__int128)r->deficit + earned - (int64_t)(paid << RS_FINE));
}

static inline void earn(const rs_engine_t *e, const struct drr *d, struct drr_row *r, struct rs_flow *f) {
    uint64_t gave = d->level - r->earned;

    if (gave < SHORT_WAY && f->owed <= RS_UPFRONT_SMALL) r->deficit += (int64_t)(gave * r->weight);
    else earn_much(e, d, r, f);
    r->earned = d->level;
}

static inline uint64_t cost_of(const rs_engine_t *e, const struct rs_flow *f) {
    uint64_t cost = rs_row(e, f->best)->covered;
    return f->owed ? cost + rs_flow_makes_up(e, f, cost) : cost;
}

static int64_t need_of(const rs_engine_t *e, const struct rs_flow *f) { return (int64_t)(cost_of(e, f) << RS_FINE); }

/*
 * What it must earn until it can pay for its next request, which it can't yet: three times what goes into its pocket
 * goes into the debt, but for that part of it which the request itself makes up for.
 */
static __attribute__((noinline)) uint64_t lacks_in_debt(const rs_engine_t *e, const struct rs_flow *f, int64_t need,
                                                        uint64_t less) {
    uint64_t debt = rs_flow_is_deep(e, f) ? 3 * less : 0,
             rest = f->owed + rs_row(e, f->best)->covered - ((uint64_t)need >> RS_FINE);
    return less + (rest <= debt >> RS_FINE ? rest << RS_FINE : debt);
}

static inline uint64_t lacks(const rs_engine_t *e, const struct drr_row *r, const struct rs_flow *f, int64_t need) {
    uint64_t less = (uint64_t)(need - r->deficit);
    return f->owed > RS_UPFRONT_SMALL ? lacks_in_debt(e, f, need, less) : less;
}

static uint64_t wake_level(uint64_t level, const struct drr_row *r, uint64_t lacks) {
    return level + (lacks + r->weight - 1) / r->weight;
}

/* A class that waits and is in no list finds its place. */
static void place(const rs_engine_t *e, struct drr *d, uint32_t c, struct drr_row *r, const struct rs_flow *f,
                  int64_t need) {
    uint64_t less;

    if (need <= r->deficit) {
        prepend(d, d->round, c, r);
        return;
    }
    less = lacks(e, r, f, need);
    if ((unsigned __int128)d->step * r->weight >= less) {
        append(d, d->round ^ 1, c, r);
    } else {
        r->where = SLEEP;
        rs_heap_push(&d->sleepers, c, wake_level(d->level, r, less));
    }
}

/* Levels are compared as plain numbers; long before they could wrap, all go down together. */
static __attribute__((noinline, cold)) void drr_rebase(rs_engine_t *e, struct rs_outlet *o, struct drr *d) {
    uint64_t down = d->level - LEVEL_MAX / 2;
    for (uint32_t c = 0; c < e->classes; c++) {
        struct drr_row *r = drr_row_of(d, c);
        if (r->where != OUT) earn(e, d, r, rs_flow(e, o, c));
        r->earned -= r->earned < down ? r->earned : down;
    }
    rs_heap_lower(&d->sleepers, down);
    d->level -= down;
}

static void set_step(const rs_engine_t *e, struct drr *d) {
    uint64_t mean = d->mean << RS_FINE, step = mean / e->weight_max, round = ROUND * mean / e->weight_sum;
    if (step < round) step = round;
    d->step = step ? step : 1;
}

/*
 * Over whole rounds: within one, who needs little goes first and who slept comes last, so the mean of a round's end
 * would be far too large, and with it the next round.
 */
static void take_mean(const rs_engine_t *e, struct drr *d) {
    d->mean = d->released_bytes / d->released;
    if (d->mean > RS_BYTES_MAX) d->mean = RS_BYTES_MAX;
    d->released = 0;
    d->released_bytes = 0;
    set_step(e, d);
}

static inline bool is_shut_out(const rs_engine_t *e, const struct rs_outlet *o, const struct rs_flow *f) {
    return (o->shut | f->shut) && rs_is_shut_out(o, f, rs_row(e, f->best));
}

/*
 * No round is made for a sleeper that is shut out: a class with a deep debt would make it long, and what that gives to
 * the classes that wait, those that are away for a moment would not have.
 */
static __attribute__((noinline)) void shut_sleepers_out(const rs_engine_t *e, const struct rs_outlet *o,
                                                        struct drr *d) {
    while (d->sleepers.count) {
        uint32_t c = rs_heap_top(&d->sleepers).id;
        if (!is_shut_out(e, o, rs_flow(e, o, c))) return;
        rs_heap_remove(&d->sleepers, c);
        append(d, SHUT, c, drr_row_of(d, c));
    }
}

/* 1 + how many woke; 0: nobody waits. */
static uint32_t new_round(rs_engine_t *e, struct rs_outlet *o, struct drr *d) {
    uint64_t level = d->level + d->step;
    uint32_t round = d->round ^ 1, woken = 0;
    if (d->list[round].first == RS_NIL) {
        shut_sleepers_out(e, o, d);
        if (d->sleepers.count == 0) return 0;
        if (rs_heap_top(&d->sleepers).key > level) level = rs_heap_top(&d->sleepers).key;
    }
    d->level = level;
    d->round = round;
    while (d->sleepers.count && rs_heap_top(&d->sleepers).key <= level) {
        uint32_t c = rs_heap_top(&d->sleepers).id;
        RS_ASSERT(woken++ < RS_PATIENCE);
        rs_heap_remove(&d->sleepers, c);
        append(d, round, c, drr_row_of(d, c));
        o->turns++;
    }
    if (d->released >= MEAN_OF) take_mean(e, d);
    if (level > LEVEL_MAX) drr_rebase(e, o, d);
    return 1 + woken;
}

/* The most that a class of the largest weight finds when it is back. */
static uint64_t saves(const rs_engine_t *e, const struct drr *d, const struct drr_row *r, const struct rs_flow *f) {
    const struct rs_class_row *row = rs_place(e, f->class_at8);
    uint64_t mean = row->mean ? row->mean : d->mean, large = r->large < RS_BYTES_MAX ? r->large : RS_BYTES_MAX;

    if (mean > RS_BYTES_MAX) mean = RS_BYTES_MAX;
    return SAVED * (mean + (large > mean ? SPREAD * (large - mean) : 0));
}

/* What the class still has of what it had when it left, and of what the rounds gave since. */
static void come_back(const rs_engine_t *e, const struct drr *d, struct drr_row *r, struct rs_flow *f) {
    int64_t most = (int64_t)((saves(e, d, r, f) << RS_FINE) / e->weight_max * r->weight);

    bool is_late = e->now - r->left > MEMORY_US;

    /* Who was held back earns its next request meanwhile, however long that lasts. */
    if (f->held && (is_late || most < need_of(e, f))) most = need_of(e, f);
    if (e->sched == RS_SCHED_DRR_PAPER) {
        r->deficit = 0;
    } else if (is_late && !f->held) {
        if (!f->live) r->deficit = 0;
    } else if (r->deficit < most) {
        earn(e, d, r, f);
        if (r->deficit > most) r->deficit = most;
    }
    r->earned = d->level;
    r->given -= r->given != 0;
}

static void drr_backlog(rs_engine_t *e, struct rs_outlet *o, uint32_t c) {
    struct drr *d = rs_sched_state(e, o);
    struct drr_row *r = drr_row_of(d, c);
    struct rs_flow *f = rs_flow(e, o, c);
    int64_t need;
    come_back(e, d, r, f);
    need = need_of(e, f);
    /* the first request ever is the first guess: any constant would be a thousand tiny responses, or no round at all */
    if (!d->mean) {
        d->mean = (uint64_t)need >> RS_FINE;
        set_step(e, d);
    }
    place(e, d, c, r, f, need);
}

/* Per weight, what it has earned beyond what a class that comes back may have saved (come_back). */
static int64_t beyond_saved(const rs_engine_t *e, const struct drr *d, const struct drr_row *r, struct rs_flow *f) {
    int64_t most = (int64_t)((saves(e, d, r, f) << RS_FINE) / e->weight_max * r->weight), need = need_of(e, f);
    return (r->deficit - (most > need ? most : need)) / r->weight;
}

/* True if the class competes when slots for long requests open. */
static inline bool is_for_opening(const rs_engine_t *e, const struct drr_row *r, const struct rs_flow *f) {
    return r->where == SHUT || (r->where != OUT && !rs_row(e, f->best)->brief);
}

/*
 * The outlet is open for long requests again, perhaps for one of them.  Several classes may have earned theirs, and the
 * order of the lists would decide.  So the class that is owed most for its weight comes first.  A class with keys
 * competes, too, while it is in a round with its brief requests.  What all of them earned alike and could not spend is
 * forgotten: else the first one would go on for long.
 */
static __attribute__((noinline)) void leave_shut(rs_engine_t *e, struct rs_outlet *o, struct drr *d) {
    int64_t common = INT64_MAX, most = INT64_MIN;
    uint32_t behind = RS_NIL;
    for (uint32_t c = 0; c < e->classes; c++) {
        struct drr_row *r = drr_row_of(d, c);
        struct rs_flow *f = rs_flow(e, o, c);
        if (!is_for_opening(e, r, f)) continue;
        earn(e, d, r, f);
        int64_t beyond = beyond_saved(e, d, r, f),
                owed = bounded(r->deficit - ((__int128)f->owed << RS_FINE)) / r->weight;
        if (beyond < common) common = beyond;
        if (owed <= most) continue;
        most = owed;
        behind = c;
    }
    if (behind == RS_NIL) return;
    for (uint32_t c = 0; c < e->classes; c++) {
        struct drr_row *r = drr_row_of(d, c);
        struct rs_flow *f = rs_flow(e, o, c);
        if (!is_for_opening(e, r, f)) continue;
        if (common > 0) r->deficit -= common * r->weight;
        take_out(d, c);
        if (c != behind) place(e, d, c, r, f, need_of(e, f));
    }
    place(e, d, behind, drr_row_of(d, behind), rs_flow(e, o, behind), need_of(e, rs_flow(e, o, behind)));
}

/* Only a sleeper can have become ready earlier; whoever is in a round is looked at when its turn comes. */
static void rewake(rs_engine_t *e, struct rs_outlet *o, struct drr *d, uint32_t c, struct drr_row *r) {
    struct rs_flow *f = rs_flow(e, o, c);
    if (r->where != SLEEP && (r->where != SHUT || is_shut_out(e, o, f))) return;
    if (r->where == SHUT && !(o->shut & RS_SHUT_LONG)) {
        leave_shut(e, o, d);
        return;
    }
    earn(e, d, r, f);
    take_out(d, c);
    place(e, d, c, r, f, need_of(e, f));
}

static void drr_head(rs_engine_t *e, struct rs_outlet *o, uint32_t c) {
    struct drr *d = rs_sched_state(e, o);
    rewake(e, o, d, c, drr_row_of(d, c));
}

/* Its queue is empty, and so many of it are released; it was right up to the level of then. */
static __attribute__((noinline)) void leave(const rs_engine_t *e, struct drr *d, struct drr_row *r, struct rs_flow *f,
                                            uint32_t live) {
    const struct drr_row *away = drr_row_of(d, d->away == RS_NIL ? f->class : d->away);

    earn(e, d, r, f);
    r->left = e->now;
    r->live = live;
    if (f->held) return;
    if (away->where != OUT || away->weight <= r->weight || !rs_flow(e, rs_flow_outlet(e, f), d->away)->live)
        d->away = f->class;
}

static void drr_drained(rs_engine_t *e, struct rs_outlet *o, uint32_t c) {
    struct drr *d = rs_sched_state(e, o);

    leave(e, d, drr_row_of(d, c), rs_flow(e, o, c), rs_flow(e, o, c)->live);
    take_out(d, c);
}

/* The first of the round leaves it. */
static void shift(struct drr *d, struct list *l, struct drr_row *r) {
    l->first = r->next;
    if (r->next == RS_NIL) l->last = RS_NIL;
    else drr_row_of(d, r->next)->prev = RS_NIL;
    r->where = OUT;
}

/* Its last request goes, and it leaves the round. */
static __attribute__((noinline)) uint32_t go_last(const rs_engine_t *e, struct drr *d, struct drr_row *r,
                                                  struct rs_flow *f) {
    uint32_t best = f->best;
    shift(d, &d->list[d->round], r);
    leave(e, d, r, f, f->live + 1);
    return best;
}

/* The class at the head of the round pays for its next request, and leaves if it has no other. */
static inline uint32_t pay(const rs_engine_t *e, struct drr *d, struct drr_row *r, struct rs_flow *f, uint64_t cost) {
    uint64_t covered = rs_row(e, f->best)->covered;

    r->deficit -= (int64_t)(cost << RS_FINE);
    d->released++;
    d->released_bytes += cost;
    r->large -= r->large >> FADES;
    if (covered > r->large) r->large = covered;
    return f->queued == 1 ? go_last(e, d, r, f) : f->best;
}

/*
 * A new round would give a slot to one who has had his part.  Until when does it rather wait for the class that gave it
 * back?  0: not at all.
 */
static __attribute__((noinline)) rs_time_t awaits(const rs_engine_t *e, const struct rs_outlet *o,
                                                  const struct drr *d) {
    struct drr_row *r = drr_row_of(d, d->away);
    const struct rs_flow *f = rs_flow(e, o, d->away);
    uint32_t next = d->list[d->round ^ 1].first, free = o->open_below - o->outstanding;
    uint64_t wait;

    if (next == RS_NIL && d->sleepers.count) next = rs_heap_top(&d->sleepers).id;
    if (r->where != OUT || f->held || next == RS_NIL || rs_flow_is_deep(e, f)) return 0;
    wait = rs_row(e, rs_flow(e, o, next)->best)->covered >> AWAITED;
    if (wait > e->settings.await_us) wait = e->settings.await_us;
    if (f->live < r->live) {
        if (!r->given || e->now >= r->given_at + wait) {
            r->given = 0;
            r->given_at = e->now;
        }
        r->given += r->live - f->live;
    }
    r->live = f->live;
    return r->given && free <= r->given && e->now < r->given_at + wait ? r->given_at + wait : 0;
}

/* Who can't pay makes place for the next. */
static __attribute__((noinline)) uint32_t look_further(rs_engine_t *e, struct rs_outlet *o, struct drr *d) {
    for (uint32_t looks = 0; looks < RS_PATIENCE; looks++) {
        struct list *l = &d->list[d->round];
        uint32_t c = l->first;
        if (c == RS_NIL) {
            if (e->settings.await_us && d->away != RS_NIL && (o->ask_at = awaits(e, o, d))) return RS_NIL;
            uint32_t woken = new_round(e, o, d);
            if (!woken) {
                o->ask_at = e->now + SHUT_US;
                return RS_NIL;
            }
            looks += woken;
            continue;
        }
        o->turns++;
        struct drr_row *r = drr_row_of(d, c);
        struct rs_flow *f = rs_flow(e, o, c);
        if (is_shut_out(e, o, f)) {
            shift(d, l, r);
            append(d, SHUT, c, r);
            continue;
        }
        earn(e, d, r, f);
        uint64_t cost = cost_of(e, f);
        int64_t need = (int64_t)(cost << RS_FINE);
        if (need <= r->deficit) return pay(e, d, r, f, cost);
        shift(d, l, r);
        place(e, d, c, r, f, need);
    }
    RS_ASSERT(!"a round goes in circles");
    return RS_NIL;
}

/* Mostly the class that went last has enough for one more, and no debt. */
static uint32_t drr_take(rs_engine_t *e, struct rs_outlet *o, rs_time_t now) {
    (void)now;
    struct drr *d = rs_sched_state(e, o);
    uint32_t c = d->list[d->round].first;
    if (c == RS_NIL) return look_further(e, o, d);
    struct drr_row *r = drr_row_of(d, c);
    struct rs_flow *f = rs_flow(e, o, c);
    uint64_t cost = rs_row(e, f->best)->covered;
    if (f->owed || r->earned != d->level || (int64_t)(cost << RS_FINE) > r->deficit || is_shut_out(e, o, f))
        return look_further(e, o, d);
    o->turns++;
    return pay(e, d, r, f, cost);
}

static void drr_refund(rs_engine_t *e, struct rs_outlet *o, uint32_t c, uint64_t bytes) {
    struct drr *d = rs_sched_state(e, o);
    struct drr_row *r = drr_row_of(d, c);
    int64_t deficit = r->deficit + (int64_t)(bytes << RS_FINE);
    r->deficit = deficit < DEFICIT_MAX ? deficit : DEFICIT_MAX;
    rewake(e, o, d, c, r);
}

static int64_t drr_balance(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) {
    const struct drr *d = rs_sched_state(e, o);
    const struct drr_row *r = drr_row_of(d, c);
    const struct rs_flow *f = rs_flow(e, o, c);
    bool gone = r->where == OUT && !f->live && e->now - r->left > MEMORY_US;
    int64_t fine = gone ? 0 : r->where == OUT ? r->deficit : r->deficit + earnings(d, r);
    return fine / ((int64_t)1 << RS_FINE);
}

static void drr_restore(rs_engine_t *e, struct rs_outlet *o, int keep) {
    struct drr *d = rs_sched_state(e, o);
    uint64_t mean = keep && d->mean <= RS_BYTES_MAX ? d->mean : 0;
    drr_layout(e->capacity.classes, d);
    d->list[ROUND_0] = d->list[ROUND_1] = d->list[SHUT] = (struct list){ RS_NIL, RS_NIL };
    d->round = 0;
    d->level = 0;
    d->mean = mean;
    d->released = 0;
    d->released_bytes = 0;
    d->away = RS_NIL;
    set_step(e, d);
    rs_heap_clear(&d->sleepers);
    for (uint32_t c = 0; c < e->capacity.classes; c++) {
        struct drr_row *r = drr_row_of(d, c);
        const struct rs_flow *f = rs_flow(e, o, c);
        int good = keep && !rs_class_row(e, c)->fresh && r->deficit >= 0 && r->deficit <= DEFICIT_MAX;
        if (!good || (!f->queued && !f->live)) r->deficit = 0;
        r->earned = 0;
        r->left = e->now;
        r->live = f->live;
        r->given = 0;
        r->given_at = 0;
        if (!keep || rs_class_row(e, c)->fresh || r->large > RS_BYTES_MAX) r->large = 0;
        r->weight = f->weight;
        r->where = OUT;
    }
    for (uint32_t c = 0; c < e->classes; c++)
        if (rs_flow_waits(rs_flow(e, o, c))) drr_backlog(e, o, c);
}

static const char *check_list(const rs_engine_t *e, const struct rs_outlet *o, const struct drr *d, uint32_t round,
                              uint32_t *seen) {
    uint32_t prev = RS_NIL;
    for (uint32_t c = d->list[round].first; c != RS_NIL; c = drr_row_of(d, c)->next) {
        if (c >= e->classes) return "drr: a round names an unknown class";
        if (++*seen > e->classes) return "drr: a round goes in circles";
        if (drr_row_of(d, c)->where != round || drr_row_of(d, c)->prev != prev) return "drr: a round's links disagree";
        if (!rs_flow_waits(rs_flow(e, o, c))) return "drr: a class that does not wait is in a round";
        prev = c;
    }
    return d->list[round].last == prev ? NULL : "drr: a round's last is not its last";
}

static const char *check_row(const rs_engine_t *e, const struct rs_outlet *o, const struct drr *d, uint32_t c) {
    const struct drr_row *r = drr_row_of(d, c);
    const struct rs_flow *f = rs_flow(e, o, c);
    const struct rs_heap *h = &d->sleepers;
    if ((r->where == SLEEP) != rs_heap_has(h, c)) return "drr: the sleepers and the heap differ";
    if (rs_flow_waits(f) != (r->where != OUT)) return "drr: a class waits in no round";
    if (r->deficit > 2 * DEFICIT_MAX || r->deficit < 0) return "drr: a deficit is out of bounds";
    if (r->weight != f->weight) return "drr: a class has an old weight";
    if (r->earned > d->level) return "drr: a class earned ahead of the rounds";
    if (r->large > RS_BYTES_MAX) return "drr: a class's large response is out of bounds";
    if (r->where == OUT) return NULL;
    if (r->where == SHUT && !is_shut_out(e, o, f)) return "drr: a class is shut out for nothing";
    /* Of its debt it pays more or less as its mean changes: nobody wakes it for that. */
    /* without a bound of debts it can be more than 64 bits hold */
    __int128 most = (__int128)(rs_row(e, f->best)->covered + f->owed) << RS_FINE;
    if (r->where == SLEEP &&
        r->earned + (most - r->deficit + r->weight - 1) / r->weight < rs_heap_nodes(h)[rs_heap_places(h)[c]].key)
        return "drr: a class sleeps too long";
    return NULL;
}

static const char *drr_check(const rs_engine_t *e, const struct rs_outlet *o) {
    const struct drr *d = rs_sched_state(e, o);
    const char *why = rs_heap_check(&d->sleepers);
    uint32_t seen = 0, waiting = 0;
    if (!why) why = check_list(e, o, d, 0, &seen);
    if (!why) why = check_list(e, o, d, 1, &seen);
    if (!why) why = check_list(e, o, d, SHUT, &seen);
    if (!why && (d->step == 0 || d->round > 1)) why = "drr: a round gives nothing, or is none";
    if (!why && d->mean > RS_BYTES_MAX) why = "drr: the mean estimate is out of bounds";
    for (uint32_t c = 0; c < e->classes && !why; c++) {
        why = check_row(e, o, d, c);
        if (rs_flow_waits(rs_flow(e, o, c))) waiting++;
    }
    if (!why && seen + d->sleepers.count != waiting) why = "drr: the rounds have lost a class";
    return why;
}

const struct rs_sched_ops rs_sched_drr = {
    .name = "drr",
    .size = drr_size,
    .restore = drr_restore,
    .backlog = drr_backlog,
    .head = drr_head,
    .take = drr_take,
    .reserves = true,
    .earns = true,
    .drained = drr_drained,
    .refund = drr_refund,
    .balance = drr_balance,
    .check = drr_check,
};

const struct rs_sched_ops rs_sched_drr_paper = {
    .name = "drr-paper",
    .size = drr_size,
    .restore = drr_restore,
    .backlog = drr_backlog,
    .head = drr_head,
    .take = drr_take,
    .earns = true,
    .drained = drr_drained,
    .refund = drr_refund,
    .balance = drr_balance,
    .check = drr_check,
};
