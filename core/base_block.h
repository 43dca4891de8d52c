/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_block.h - the map of the engine's memory.
 *
 *     struct rs_engine    magic, size, capacity, settings, sums, and the offsets of what follows
 *     rs_ticket_row[T]    one request
 *     rs_outlet[O]        one backend: its sums, its gate's state
 *     rs_outlet_row[O]    whose window it is; behind these, once more, as a rs_outlets under way wants them
 *     rs_class_row[C]     settings, sums and counts of a class, over all outlets
 *     rs_flow[O x C]      a class at one outlet: its queue
 *     buckets[O x C]      heads of a flow's queue by size, for classes that go shortest first (touched only by those)
 *     rests[C]            how many responses are outstanding at the first outlet, by what they can use of the link
 *                         (class_rests.h; touched only where the gate counts bytes)
 *     sched[O]            the private state of the discipline at each outlet, as large as the largest discipline needs
 *     rs_journal_row[C]   classes as a rs_configure under way wants them
 *     hash[H]             class numbers by name
 *     rs_key_ticket[T]    whose a request is inside its class, and
 *     rs_key_row[..]      the keys that share classes (class_keys.h): both only where rs_capacity has keys
 *
 * Indexes and offsets only: the block works wherever it is mapped.  Every part begins at a multiple of 64.
 *
 * WHAT MUST SURVIVE A KILL.  A process may die at any instruction while it holds the host's lock.  The tickets, the
 * settings, the class rows' settings and the outlets' rows are the truth; a ticket changes its state by one aligned
 * 64-bit store of `life`, after all fields that the new state needs.  Everything else (lists, heaps, sums, private
 * states) is made anew by rs_rebuild.
 *
 * Rows name each other by number; where every request would have to multiply, by place: a distance from the block's
 * beginning in units of 8 bytes (`_at8`), which is derived from the number and made anew with the rest.
 *
 * RESERVED PLACES.  Half of the places in the queue are kept for the classes by weight, rounded down: `own` of each.
 * Classes too light for a whole place are lent one while one of theirs waits (`first`), from as many as there are such
 * classes, or as half of the places.  The rest is for whoever comes: `shared` counts what all classes have waiting
 * beyond `own`.  So a class may always have its own, the sum can't exceed the places, and a request costs a comparison
 * on its way in and one on its way out.
 *
 * BULKHEADS.  While there are outlets with windows of their own, an outlet has of a class no more waiting than there
 * are places left for that class: half of them if nobody of it waits elsewhere.  So a server that hangs takes no more
 * than that, and those who wait for others find some.
 *
 * WHO ELSE WRITES HERE.  In memory that processes share, any of them may have written anything: a host's worker that
 * was taken over, or a bug.  What comes of it stays in the block and a stretch behind it: every place is the block's
 * beginning, or that of a part, plus a 32-bit distance plus a 32-bit number times a row's size, never less and never
 * more than RS_REACH.  A host that leaves so many addresses behind the block without memory (RS_REACH, rs.h) makes of a
 * wild number a fault; tables of functions are chosen from by a byte and have 256 rows; what would go in circles is
 * counted.  So in the worst case the process ends.  Cold calls (rs_rebuild, rs_configure) judge what they stand on.
 *
 * UNITS.  Accounts count bytes, at most RS_BYTES_MAX for one response.  "Fine" values are bytes or bytes per weight x
 * 2^RS_FINE.
 */
#ifndef FAIRGATE_BASE_BLOCK_H
#define FAIRGATE_BASE_BLOCK_H

#include "base_magic.h"
#include "rs.h"

#define RS_BYTES_MAX   ((uint64_t)1 << 40)
#define RS_OWED_MAX    ((uint64_t)1 << 60)
#define RS_FINE        16
#define RS_BUCKETS     64
#define RS_LEVEL_MAX   65535

struct rs_ticket_row {
    uint64_t  life;                 /* ticket and state in one word: rs_life() */
    uint32_t  class_at8, flow_at8;  /* struct rs_class_row, struct rs_flow: as class and outlet say */
    uint64_t  estimate;             /* bytes of the whole response: guessed, then known; never less than received */
    uint64_t  received;
    uint64_t  covered;              /* bytes of which the account has heard: received <= covered <= estimate */
    uint64_t  charged;              /* of these, what it took */
    rs_time_t submitted, released;
    uint32_t  next, prev;           /* in the flow's queue; free tickets are linked by next */
    /* in a list of base_buckets.h, or with `child` in a heap of base_ages.h */
    uint32_t  bucket_next, bucket_prev;
    uint64_t  seq;                  /* order of arrival */
    uint64_t  tag;
    uint32_t  owner;
    uint16_t  class;
    uint8_t   outlet;
    uint8_t   was_parked : 1;       /* its time is not the server's alone */
    uint8_t   occupies : 1;         /* with RS_PARKED: its backend works on (rs_occupied.h) */
    uint8_t   brief : 1;            /* expected to keep its slot shortly (rs_reserve.h) */
    uint8_t   unsure : 1;           /* brief, but that is known of its kind only */
    uint8_t   works : 1;            /* with RS_PARKED: one of its backend's few workers serves it */
    uint8_t   began_brief : 1;      /* brief as it was submitted */
    uint8_t   crowded : 1;          /* released when an automatic window's base was full (rs_crowded) */
    rs_time_t since;                /* when what it is a part of was asked for; never after submitted */
    uint32_t  child;
    /*
     * class_rests.h: bytes since that millisecond, and in a horizon before, RS_NIL: they have not come for so long; so
     * it is two lines of cache long
     */
    uint32_t  lately_ms, lately, before;
};
_Static_assert(sizeof(struct rs_ticket_row) == 128, "a ticket's row is found by a shift");

#define RS_OCCUPIED_PART 16u /* the most occupying requests of one key that count against its class */

struct rs_flow {
    uint32_t first, last;           /* order of arrival */
    uint32_t best;                  /* who goes next in its class */
    uint32_t queued;
    uint32_t live;                  /* released and parked */
    /* the class's, copied: all that disciplines need of the class, but for rfq, which looks at what is expected */
    uint32_t weight;
    uint16_t level;
    uint8_t  within;                /* levels of keys that share the class; 0 = none */
    uint8_t  shortest : 1;          /* order of the class is RS_ORDER_SHORTEST */
    uint8_t  newest : 1;            /* the newest goes next, since the queue stands */
    uint8_t  held : 1;              /* as many are released as may be: disciplines don't know that it waits */
    uint8_t  by_rest : 1;           /* class_rests.h knows its outstanding responses */
    uint8_t  shut : 1;              /* no further unsure request of it is released */
    uint8_t  barred : 1;            /* with `within`: each key that waits occupies its part (rs_occupied.h) */
    uint32_t parked;                /* of live */
    uint32_t occupying;             /* of parked: RS_PARKED tickets with `occupies` */
    uint32_t share;                 /* quarters of slots, while `occupying` bounds the class; RS_NIL: no bound */
    /* with `within`: keys of the first level with more than so many of `occupying` */
    uint32_t keys_occupying[RS_OCCUPIED_PART];
    uint64_t bucket_map;            /* which buckets are not empty; those not in it hold garbage */
    uint32_t class;
    uint32_t class_at8, at8, outlet_at8;    /* its class's place, its own, its outlet's; the first two as in a ticket */
    uint64_t owed;                  /* debt: bytes that came beyond what was charged at release */
    /*
     * STANDING QUEUES (rs.h), of a class with delay_ms: that; when somebody went last who had not waited for longer, or
     * the queue began; since when it stands, 0 if it does not, garbage while nobody waits; when it last stood
     */
    rs_time_t delay, good, stands, stood;
    rs_time_t came;                 /* the last request */
    /*
     * with RS_WATCH_LONGS (rs_reserve.h): brief requests, queued or outstanding, and those of them that are unsure; the
     * mean number x 2^16 of both, as of that millisecond; slots that unsure requests of it leave to other classes
     */
    uint32_t  briefs, unsures, demand, demand_unsure, demand_ms, leaves;
};

struct rs_bucket { uint32_t first, last; };

struct rs_rests {                   /* class_rests.h */
    uint64_t map;                   /* of `of`, which are not empty; those not in it hold garbage */
    struct rs_rest {                /* outstanding responses of which about as much is to come, or can */
        uint64_t needs;             /* sum over them of rs_row_need, or rs_row_can */
        uint32_t count, pad;
    } of[RS_BUCKETS];
};

struct rs_class_row {
    struct rs_class_settings settings;
    /* fresh: the place has a new owner, accounts of the old one are void; first: see `own` */
    uint8_t   used, retired, fresh, first;
    uint32_t  queued, outstanding, parked;
    uint32_t  queued_max;           /* settings.queue_max, or what is never reached */
    /* places in the queue that are kept for it; `first`: it is one, lent while somebody waits (RESERVED PLACES) */
    uint32_t  own;
    uint32_t  lately_ms;            /* since when `lately` is counted */
    /* expected = promised - counts.bytes: so what arrives is added once, and not subtracted elsewhere */
    uint64_t  promised;
    uint64_t  mean;
    rs_time_t wait_max;
    struct rs_counts counts;
    /* with RS_WATCH_SLOTS, see class_rests.h: what its outstanding ones can bring; what came lately, and before */
    uint64_t  can;
    uint32_t  lately, before;
};
_Static_assert(sizeof(struct rs_class_row) == 256, "a class's row is found by a shift");

struct rs_journal_row {
    struct rs_class_settings settings;
    uint32_t act;                   /* enum rs_journal_act */
};
enum rs_journal_act { RS_ACT_NONE, RS_ACT_RETIRE, RS_ACT_KEEP, RS_ACT_FRESH };
enum rs_journal { RS_JOURNAL_NONE, RS_JOURNAL_CLASSES, RS_JOURNAL_OUTLETS };

struct rs_outlet_row {
    struct rs_outlet_settings settings;
    uint32_t used, retired, fresh;  /* as of a class; the first outlet is always there, and none of these */
    uint32_t act;                   /* of one that is wanted: enum rs_journal_act */
    uint32_t built_gate;            /* whose state stands in the outlet; RS_NIL: nobody's */
    uint32_t pad;
    uint64_t refused;               /* because it had its part of a class's places */
};

/*
 * Most setups need none of these: a response's bytes then touch its ticket and its class only.  BYTES, ENDS: the gate
 * or the account wants to hear of them.  SLOTS: the gate counts bytes.  QUEUES: the scheduler wants to hear of each
 * ticket, or some class goes shortest first, or is shared by keys.  KEYS: the latter.  DELAYS: some class has delay_ms.
 * BOUNDS: some class has a bound of slots, or parked requests that occupy their backend.  LONGS: long requests leave
 * slots to brief ones (rs_reserve.h).
 */
enum rs_watch {
    RS_WATCH_BYTES = 1,
    RS_WATCH_ENDS = 2,
    RS_WATCH_SLOTS = 4,
    RS_WATCH_QUEUES = 8,
    RS_WATCH_KEYS = 16,
    RS_WATCH_DELAYS = 32,
    RS_WATCH_BOUNDS = 64,
    RS_WATCH_LONGS = 128
};

enum rs_shut { RS_SHUT_LONG = 1, RS_SHUT_UNSURE = 2 };

struct rs_outlet {
    uint32_t magic, number;
    uint32_t queued, outstanding, parked;
    uint32_t held;                  /* of queued: in flows that are */
    uint32_t cap_wanted;            /* the gate asks for share_cap, the engine answers before the gate is asked again */
    uint32_t share_cap;             /* a window beyond this cannot share by weight; RS_NIL: no class waits */
    uint32_t open_below;            /* the gate's: with fewer outstanding it is open, nobody need ask */
    uint32_t flows_at, sched_at;    /* offsets of this outlet's part */
    /* bytes still expected of the outstanding ones, a slice of each at most; with RS_WATCH_SLOTS, else 0 */
    uint64_t expected;
    uint64_t turns;                 /* turns of the discipline's loops: tests bound them */
    rs_time_t ask_at;               /* the discipline's, when it lets nobody go: until when */
    /*
     * With RS_WATCH_LONGS (rs_reserve.h): long requests outstanding and queued, unsure ones likewise; slots that they
     * leave to brief ones, since when these numbers hold; shut: RS_SHUT_*, of which no further one is released
     */
    uint32_t longs, longs_queued, unsures, unsures_queued;
    uint32_t reserve, reserve_unsure, peak, shut;
    uint32_t working;               /* RS_PARKED tickets with `works` */
    uint32_t open_base;             /* RS_GATE_AUTO: its window between probes; others leave it as it is */
    rs_time_t reserve_at;
    struct rs_settings settings;    /* the engine's, with its own window in place */
    uint8_t  gate;                  /* as these have it: a row of rs_gates */
    uint64_t gate_state[40];
};

struct rs_engine {
    /* the first RS_CONSTANT bytes: as rs_create left them */
    uint32_t magic, version;
    uint64_t size;
    struct rs_capacity capacity;
    uint32_t hash_size;
    uint32_t outlets_at, classes_at, flows_at, buckets_at8, scheds_at, sched_size, journal_at, hash_at;
    uint32_t key_tickets_at, key_rows_at, key_rows;
    uint32_t rests_at8, key_cans_at;

    struct rs_settings settings;
    uint8_t  sched;                 /* as the settings have it: a row of rs_scheds */
    uint8_t  bulkheads;             /* some outlet has a window of its own: see BULKHEADS */
    uint32_t classes;               /* numbers in use: 0 .. classes-1 */
    uint32_t free_first;            /* free tickets */
    uint32_t queued_max;            /* places for those who wait */
    /* of these: taken by requests beyond what is kept for their class, and how many may be */
    uint32_t shared, shared_max;
    uint32_t firsts, firsts_max;    /* first places lent, and how many there are */
    uint32_t next_outlet;
    uint64_t backlog_map;           /* outlets where somebody waits who is not held */
    uint64_t seq;
    rs_time_t now;
    /*
     * Of classes with responses outstanding; kept with RS_WATCH_SLOTS, else 0: the sum of their weights, and those of
     * classes whose outstanding ones can bring about as much for a class's weight (class_rests.h)
     */
    uint64_t weight_busy;
    uint64_t busy_map;
    struct rs_busy { uint64_t weight, can; } busy[RS_BUCKETS];
    uint64_t slice;                 /* what one response adds to an outlet's expected bytes at most */
    uint64_t mean;                  /* of all classes */
    uint64_t weight_sum;            /* of the classes in force */
    uint32_t weight_max;
    uint32_t watch;                 /* RS_WATCH_*: what the discipline and the gate in force want to be told */
    uint64_t debt_fine;             /* debt_max per weight, fine; without a bound, the largest that there is */
    /* no class's bound is below, above: 0 for disciplines that charge nothing at release */
    uint64_t owed_least, owed_most;
    uint32_t rebuilds;
    uint32_t looked;                /* rs_overdue goes on here: outlet x classes + class; and when it begins anew */
    rs_time_t look_at;
    /* parked requests that occupy their backend; when the bounds of their classes are set anew (rs_occupied.h) */
    uint32_t occupying;
    rs_time_t occupied_at;
    struct rs_counts gone;          /* moves of classes whose place was used again; the rest stand in the class rows */

    uint32_t journal_valid;         /* enum rs_journal: who died while it was applying did this; do it again */
    uint32_t journal_classes;
    /* whose private states stand in the block; RS_NIL: nobody's, they are being made */
    uint32_t built_sched;
    struct rs_settings journal_settings;
};

_Static_assert(offsetof(struct rs_engine, settings) == RS_CONSTANT, "what never changes stands first");

/* A part of the block by its offset. */
static inline void *rs_part(const rs_engine_t *e, uint32_t at) { return (void *)((uintptr_t)e + at); }

static inline void *rs_place(const rs_engine_t *e, uint32_t at8) { return (void *)((uintptr_t)e + (uint64_t)at8 * 8); }

/* the only offset that is the same in every block */
#define RS_TICKETS_AT ((sizeof(struct rs_engine) + 63) / 64 * 64)

static inline struct rs_ticket_row *rs_row(const rs_engine_t *e, uint32_t t) {
    return (struct rs_ticket_row *)rs_part(e, RS_TICKETS_AT) + t;
}
static inline struct rs_outlet *rs_outlet(const rs_engine_t *e, uint32_t o) {
    return (struct rs_outlet *)rs_part(e, e->outlets_at) + o;
}
static inline struct rs_outlet_row *rs_outlet_row(const rs_engine_t *e, uint32_t o) {
    return (struct rs_outlet_row *)rs_outlet(e, e->capacity.outlets) + o;
}
static inline struct rs_outlet_row *rs_outlet_wanted(const rs_engine_t *e, uint32_t o) {
    return rs_outlet_row(e, e->capacity.outlets) + o;
}
static inline struct rs_class_row *rs_class_row(const rs_engine_t *e, uint32_t c) {
    return (struct rs_class_row *)rs_part(e, e->classes_at) + c;
}
static inline struct rs_flow *rs_flow(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) {
    return (struct rs_flow *)rs_part(e, o->flows_at) + c;
}
static inline struct rs_class_row *rs_row_class(const rs_engine_t *e, const struct rs_ticket_row *r) {
    return rs_place(e, r->class_at8);
}
static inline struct rs_flow *rs_row_flow(const rs_engine_t *e, const struct rs_ticket_row *r) {
    return rs_place(e, r->flow_at8);
}
/* As disciplines see it. */
static inline bool rs_flow_waits(const struct rs_flow *f) { return f->queued && !f->held; }
/* A queued request that leaves its slot to others for now (rs_reserve.h). */
static inline bool rs_is_shut_out(const struct rs_outlet *o, const struct rs_flow *f, const struct rs_ticket_row *r) {
    if (!(o->shut | f->shut)) return false;
    return (o->shut & RS_SHUT_LONG && !r->brief) || (r->unsure && (o->shut & RS_SHUT_UNSURE || f->shut));
}
/* Of those who may go. */
static inline bool rs_nobody_waits(const struct rs_outlet *o) { return o->queued == o->held; }
static inline uint64_t rs_outlet_bit(const struct rs_outlet *o) { return (uint64_t)1 << (o->number & 63); }
#define RS_QUARTERS 4u
/* Of its class's bound, as many occupying requests of one key count as half of it, and one at least. */
static inline uint32_t rs_key_part(const struct rs_flow *f) {
    uint64_t half = ((uint64_t)f->share + f->share / 2) / RS_QUARTERS / 2;
    return half < 1 ? 1 : half < RS_OCCUPIED_PART ? (uint32_t)half : RS_OCCUPIED_PART;
}
/* A key with as many waits.  One slow upload never stops the pages of its client. */
static inline uint32_t rs_key_most(const struct rs_flow *f) { return rs_key_part(f) > 2 ? rs_key_part(f) : 2; }
/* What counts of its requests that are parked and occupy their backend (rs_occupied.h). */
static inline uint32_t rs_occupying(const struct rs_flow *f) {
    uint32_t counted = 0;
    if (!f->within || f->share == RS_NIL) return f->occupying;
    for (uint32_t n = 0; n < rs_key_part(f); n++) counted += f->keys_occupying[n];
    return counted;
}
/* Of a class with requests that are parked and occupy their backend: it has what its share allows (rs_occupied.h). */
static inline bool rs_has_its_share(const struct rs_flow *f) {
    uint64_t share = f->share, running = f->live - f->parked, least = share / 4 / RS_QUARTERS, occupying;
    if (!f->occupying || f->share == RS_NIL) return false;
    occupying = rs_occupying(f);
    if (occupying > 1 && RS_QUARTERS * (occupying + 1) > share + share / 2) return true;
    return running && running >= least && RS_QUARTERS * (running + occupying) >= share + share / 4;
}
/* It has as many released here as it may, or each key that waits has. */
static inline bool rs_is_at_bound(const struct rs_class_row *row, const struct rs_flow *f) {
    if (row->settings.slots && f->live - f->parked + f->occupying >= row->settings.slots) return true;
    return f->barred || (f->occupying && rs_has_its_share(f));
}
static inline struct rs_outlet *rs_flow_outlet(const rs_engine_t *e, const struct rs_flow *f) {
    return rs_place(e, f->outlet_at8);
}
static inline uint32_t rs_place_of(const rs_engine_t *e, const void *part) {
    return (uint32_t)(((uintptr_t)part - (uintptr_t)e) / 8);
}
static inline struct rs_bucket *rs_flow_buckets(const rs_engine_t *e, const struct rs_outlet *o, uint32_t c) {
    return (struct rs_bucket *)rs_place(e, e->buckets_at8) + (size_t)(o->number * e->capacity.classes + c) * RS_BUCKETS;
}
/* 16 bits: of more, a wild number would lead beyond RS_REACH. */
static inline struct rs_rests *rs_rests(const rs_engine_t *e, uint16_t c) {
    return (struct rs_rests *)rs_place(e, e->rests_at8) + c;
}
static inline void *rs_sched_state(const rs_engine_t *e, const struct rs_outlet *o) { return rs_part(e, o->sched_at); }
static inline struct rs_journal_row *rs_journal(const rs_engine_t *e, uint32_t c) {
    return (struct rs_journal_row *)rs_part(e, e->journal_at) + c;
}
static inline uint32_t *rs_hash(const rs_engine_t *e) { return (uint32_t *)rs_part(e, e->hash_at); }

/*
 * An index takes 24 bits of a ticket's lower half; the state stands in the upper four of the other eight, so that the
 * word of a released one is its ticket: what is asked for most often is one comparison.
 */
#define RS_STATE_SHIFT 28
#define RS_STATE_BITS  ((uint64_t)15 << RS_STATE_SHIFT)

static inline uint64_t rs_life(rs_ticket_t t, enum rs_state state) {
    return t | (uint64_t)(state ^ RS_RELEASED) << RS_STATE_SHIFT;
}
static inline rs_ticket_t rs_row_ticket(const struct rs_ticket_row *r) { return r->life & ~RS_STATE_BITS; }
static inline enum rs_state rs_row_state(const struct rs_ticket_row *r) {
    return (enum rs_state)((uint32_t)(r->life >> RS_STATE_SHIFT & 15) ^ RS_RELEASED);
}

/* The next generation of a place, free.  0 is left out, so that no ticket is RS_NO_TICKET. */
static inline uint64_t rs_life_after(rs_ticket_t t) {
    uint64_t next = rs_life(t, RS_FREE) + ((uint64_t)1 << 32);
    return next >> 32 ? next : next + ((uint64_t)1 << 32);
}

/*
 * What is charged at release is bounded by a few mean responses of the class; the rest is charged as it comes.  Small
 * ones are always charged whole: or a class whose mean is that of empty answers would have all others in debt.
 */
#define RS_UPFRONT_SMALL 65535u
static inline uint64_t rs_upfront_max(const struct rs_class_row *row) { return row->mean * 8 + RS_UPFRONT_SMALL; }

/*
 * Of its debt the class pays so much with a request that costs `cost`: three times what the request, or a mean one,
 * costs.
 */
static inline uint64_t rs_flow_pays(const rs_engine_t *e, const struct rs_flow *f, uint64_t cost) {
    const struct rs_class_row *row = rs_place(e, f->class_at8);
    uint64_t part = 3 * (cost > row->mean ? cost : row->mean);
    return f->owed < part ? f->owed : part;
}

/* It owes more than any request is charged at its release: little by little that would never be paid. */
static inline bool rs_flow_is_deep(const rs_engine_t *e, const struct rs_flow *f) {
    const struct rs_class_row *row = rs_place(e, f->class_at8);
    return f->owed > rs_upfront_max(row);
}

/*
 * The same of a discipline that pays off deep debts out of what a class earns: there a request costs as much as a mean
 * one meanwhile, at the least, or a class would be in debt for ever whose responses are expected far too small.
 */
static inline uint64_t rs_flow_makes_up(const rs_engine_t *e, const struct rs_flow *f, uint64_t cost) {
    const struct rs_class_row *row = rs_place(e, f->class_at8);
    uint64_t part = row->mean > cost ? row->mean - cost : 0;
    if (f->owed <= RS_UPFRONT_SMALL || !rs_flow_is_deep(e, f)) return rs_flow_pays(e, f, cost);
    return f->owed < part ? f->owed : part;
}

/* What the account must have for the flow's next request. */
static inline uint64_t rs_flow_cost(const rs_engine_t *e, const struct rs_flow *f) {
    uint64_t cost = rs_row(e, f->best)->covered;
    return f->owed ? cost + rs_flow_pays(e, f, cost) : cost;
}

/* The deepest debt of the class: more is forgiven. */
static inline uint64_t rs_flow_owed_max(const rs_engine_t *e, const struct rs_flow *f) {
    unsigned __int128 most = ((unsigned __int128)e->debt_fine * f->weight) >> RS_FINE;
    return most < e->owed_most ? (uint64_t)most : e->owed_most;
}

/* What is still to come of a response, as far as anybody knows. */
static inline uint64_t rs_row_rest(const struct rs_ticket_row *r) { return r->estimate - r->received; }

/* What came of it in a horizon, as far as it is known (class_rests.h); with RS_WATCH_SLOTS. */
#define RS_CAME_UNKNOWN UINT64_MAX
static inline uint64_t rs_row_came(const struct rs_ticket_row *r) {
    if (!r->received || r->before == RS_NIL) return RS_CAME_UNKNOWN;
    return r->lately > r->before ? r->lately : r->before;
}

/*
 * Bytes of a response that may be on their way in any case, where windows are fitted: three segments of an Ethernet,
 * since with fewer TCP waits for its timers.
 */
#define RS_LEAST_WINDOW 4380u
/* Milliseconds of a round trip that is long, with what stands in the far queue. */
#define RS_LONG_TRIP    300u

/*
 * What of it counts as expected: at most the gate's slice.  Where classes go shortest first as responses arrive,
 * whoever comes makes the larger ones shrink to the least window, so they count as no more than that in each long round
 * trip: room for a small one is not what large ones that wait for it would take.  And once it has been bringing for a
 * horizon it counts as no more than what came in one and a quarter more: else a few that are slow, or that slow clients
 * take, would keep all others from a link that nobody uses.  (Without that quarter a link that is full would let ever
 * more of them go: a twentieth of it are headers.)
 */
static inline uint64_t rs_row_expected(const rs_engine_t *e, const struct rs_ticket_row *r) {
    const struct rs_flow *f = rs_row_flow(e, r);
    uint64_t rest = rs_row_rest(r), most = e->slice, least = RS_LEAST_WINDOW, came = rs_row_came(r);
    if (came != RS_CAME_UNKNOWN) {
        came += came / 4;
        if (came < least) came = least;
        if (most > came) most = came;
    }
    if (f->by_rest && f->shortest) {
        if (e->settings.horizon_ms > RS_LONG_TRIP) least = least * e->settings.horizon_ms / RS_LONG_TRIP;
        if (most > least) most = least;
    }
    return rest < most ? rest : most;
}

#endif
