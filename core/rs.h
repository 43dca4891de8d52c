/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs.h - the request scheduler: which request goes next, and when.
 *
 * A host (Squid, httpd, a forwarder, a simulator) holds requests and asks this engine which of them may go:
 *
 *   rs_submit ──> class queue ──[which: sched_*]──> [when: gate_*] ──rs_pick──> outstanding ──rs_progress──> rs_finish
 *
 * The engine is one contiguous block of memory, given by the host, without pointers in it: it works the same in the
 * heap of one process and in memory shared by many, mapped at different addresses.  It takes no lock, reads no clock,
 * logs nothing, opens nothing and allocates nothing.  A host with threads or processes calls it under one lock of its
 * own.
 *
 * THE LIFE OF A REQUEST.  A ticket stands for one request.  No other move than these exists; each is counted in struct
 * rs_counts.
 *
 *     free ─rs_submit→ queued ─rs_pick→ released ─rs_finish→ done      ─┐     (rs_hand_over is a finish, too)
 *                        │                 │ ↑  └─rs_abort→ aborted    ─┤
 *                    rs_park, rs_park_...  ↓ │ rs_resume                ├→ free (the ticket's generation goes up)
 *                        │               parked ─rs_finish→ done       ─┤
 *                        │                  └────rs_abort→ aborted     ─┤
 *                        ├─rs_cancel→ cancelled                        ─┤
 *                        └─rs_overdue→ refused ─rs_cancel→ cancelled   ─┘
 *
 * A ticket number names an index and a generation: a call with a number whose request has ended does nothing and says
 * so (returns 0), so a host may give a slot back from several places and it is given back once.
 *
 * THE ACCOUNT.  An estimate of the response's bytes is charged to the class when its request is released, replaced when
 * the real length is known (rs_header), outgrown by what arrives (rs_progress), and corrected to what came when it
 * ends.  But at its release no response is charged more than eight mean ones of its class and 64 KB, whatever it is
 * expected to be; the rest is charged as it arrives.  That bounds what the head of a queue saves up: nobody silences a
 * class by asking for something large, or for a little of it.
 *
 * What is charged later than at the release is a debt, like the bytes of rs_charge.  A class pays it off with three
 * quarters of what it earns: each of its requests costs up to four times as much, or three mean ones more, if it is
 * small; in DRR, while the debt is more than any release is charged, three quarters go there before anything is
 * released.  So
 * - a class in debt keeps a quarter of its share, and does not feel the debt if it asks for less than that;
 * - what comes late is paid for in full while it is less than three mean responses for each request, or, in DRR, while
 *   what is charged at releases is a quarter of what comes;
 * - a response that brings more and does not end lets the debt grow to debt_max; what would be more is forgiven, and
 *   its class gets a quarter of its share beside it.  The exception to all this is "rfq-paper", which charges on
 *   receipt.
 *
 * The mean of a class is a running one over about 64 responses, which one response doubles at most, however large it
 * is.
 *
 * PLACES.  Half of the places in the queue (queue_max, or the tickets) are kept for the classes by weight; beyond its
 * own a class takes from the other half while there are some (base_block.h).  One class cannot fill the queue, be it of
 * Squid's 65,536 tickets.  Nor can an outlet fill its classes' places, where there are some with windows of their own:
 * those of a class that wait for one are never more than the places left to the class.
 *
 * STANDING QUEUES.  A burst makes a queue that goes away by itself; one that stands makes everybody late and nobody
 * better off.  The queue of a class with delay_ms stands when somebody in it has waited for longer than that, and for
 * RS_STANDING_QUIET nobody has been released who had not (CoDel: the smallest wait of an interval).  While it stands
 * the newest goes first, so that whoever is answered is answered soon, and whoever has waited for longer than delay_ms
 * is to be refused: rs_overdue tells whom.  It stands no longer when nobody waits, or the oldest for less than half of
 * delay_ms; and within RS_STANDING_MEMORY it stands again as soon as somebody has waited for longer.  A class of
 * RS_ORDER_SHORTEST, or shared by keys, keeps its order; of one shared by keys the oldest wait alone counts.  With
 * delay_turns, a queue of at most so many times the gate's window never stands: no request there waits for much longer
 * than so many requests take at the server, and clients that wait for each response make no longer queue.
 *
 * LONG REQUESTS.  A slot is not taken back.  Where costs are microseconds (await_us), DRR releases a long request only
 * while slots are left for the brief requests of late, so that clients that pause between these find one; rs_reserve.h
 * has the rule.  While nothing else may go, rs_pick names a time at which to ask again.
 *
 * UNITS.  Time is microseconds of any origin that the host keeps to; a time before an earlier one is taken as that one.
 * Sizes are bytes.  Weights are ratios: 600:300:100 is 6:3:1.
 *
 * ERRORS.  Functions that can refuse return a reason; rs_refusal_text() words it.  A damaged engine, or a call that
 * breaks this contract, is a bug of ours and ends in an assertion that names it; these stay in release builds.
 *
 * SOURCES.  website-gateway paper 2.2 and 3.3 (DRR, window), access-gateway paper 3.2 and 3.3 (RFQ, WRC), IDSRS (two
 * levels, service threads).  Each sched_*.c and gate_*.c names its own source and departures.
 */
#ifndef FAIRGATE_RS_H
#define FAIRGATE_RS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_engine rs_engine_t;
typedef uint64_t rs_time_t;             /* microseconds */
/* generation in the upper half, index in the lower; RS_NO_TICKET is never given out */
typedef uint64_t rs_ticket_t;

#define RS_NO_TICKET   ((rs_ticket_t)0)
#define RS_NEVER       UINT64_MAX       /* "ask again" when something else happens */
#define RS_UNLIMITED   UINT64_MAX
#define RS_NAME_MAX    32               /* a class's name with its NUL */
#define RS_NO_CLASS    UINT32_MAX
#define RS_KEY_LEVELS  2                /* of keys that share a class */

/* Index of a ticket, below rs_capacity.tickets: a host may keep its own row per ticket. */
static inline uint32_t rs_ticket_index(rs_ticket_t t) { return (uint32_t)t; }

/* ---- settings ---------------------------------------------------------------------------------------------------- */

enum rs_sched {
    RS_SCHED_FIFO,
    RS_SCHED_DRR,
    RS_SCHED_RFQ,
    RS_SCHED_RFQ_PAPER,
    RS_SCHED_LEVELS,
    RS_SCHED_SHORTEST,
    RS_SCHED_DRR_PAPER,
    RS_SCHED_COUNT
};
enum rs_gate { RS_GATE_NONE, RS_GATE_WINDOW, RS_GATE_AUTO, RS_GATE_BYTES, RS_GATE_WRC, RS_GATE_THREADS, RS_GATE_COUNT };
enum rs_order { RS_ORDER_FIFO, RS_ORDER_SHORTEST };     /* inside one class */

/* What is fixed when the block is made. */
struct rs_capacity {
    uint32_t classes;       /* 1 .. 65,536 */
    uint32_t tickets;       /* queued + released + parked at one time; 1 .. 16,777,216 */
    uint32_t outlets;       /* backends with a gate of their own; 1 .. 64, usually 1 */
    /* rows for keys that share classes (rs_class_settings.within), a multiple of 8; 0 = no class may be shared so */
    uint32_t keys;
};

#define RS_KEYS_MAX 2097152u

/* So many rows leave nearly every key that waits its own: four for each ticket. */
static inline uint32_t rs_keys_for(uint32_t tickets) {
    return tickets < RS_KEYS_MAX / 4 ? (4 * tickets + 7) / 8 * 8 : RS_KEYS_MAX;
}

#define RS_WINDOW_QUIET UINT64_C(10000000)      /* microseconds: rs_class_settings.window */

struct rs_class_settings {
    char          name[RS_NAME_MAX];    /* what identifies the class across rs_configure */
    uint32_t      weight;               /* 1 .. 1,000,000; RS_SCHED_SHORTEST: what a size is divided by */
    uint32_t      level;                /* RS_SCHED_LEVELS: a lower level goes first; 0 .. 65,535 */
    enum rs_order order;
    uint32_t      queue_max;            /* requests waiting; 0 = only the total bound */
    /*
     * RS_ORDER_SHORTEST: who has waited longer goes first in its class; 0 = no bound.  Whoever has gone is overtaken by
     * smaller ones as far as rs_allowance says, and never stands still.
     */
    uint32_t      wait_bound_ms;
    /*
     * RS_SCHED_SHORTEST: of its responses released and parked at one time, if within RS_WINDOW_QUIET a request of a
     * class without such a window came; 0 = what the gate lets go
     */
    uint32_t      window;
    /*
     * All other disciplines: of its responses released at one time at each outlet, come what may; 0 = what the gate
     * lets go.  Who has so many is passed over, and keeps what it has earned of its next request.
     */
    uint32_t      slots;
    /*
     * Levels of keys among which the class is shared equally by cost (rs_submit_keyed): 0 = none, 1, 2 = keys of the
     * first share the class and those of the second each of the first.  Not with RS_ORDER_SHORTEST; RS_SCHED_SHORTEST
     * knows no keys.
     */
    uint16_t      within;
    uint16_t      delay_turns;          /* with delay_ms: so many windows of requests never stand */
    uint32_t      delay_ms;             /* the longest wait while its queue stands; 0 = no bound */
};

#define RS_DELAY_MAX       3600000u             /* rs_class_settings.delay_ms */
#define RS_STANDING_QUIET  UINT64_C(100000)     /* microseconds: STANDING QUEUES */
#define RS_STANDING_MEMORY UINT64_C(1000000)

/*
 * One row of rs_settings_table per field (from rs_settings.def): type, bounds, default, unit and a sentence for
 * manuals.
 */
struct rs_settings {
    uint32_t sched;             /* enum rs_sched */
    uint32_t gate;              /* enum rs_gate */
    /* WINDOW, THREADS: responses outstanding; AUTO, WRC: where to begin; 0 = the gate's own */
    uint32_t window;
    uint32_t window_max;        /* AUTO, WRC: never more */
    uint64_t rate;              /* BYTES, WRC: the link's bytes per second; 0 = unknown */
    uint32_t horizon_ms;        /* BYTES: how many milliseconds of the link may be outstanding */
    uint32_t wrc_f;             /* WRC: F, the interval is F x Wmax responses (3.3.1) */
    uint32_t wrc_umax_permille; /* WRC: Umax (3.3.2) */
    uint32_t queue_max;         /* requests waiting in all classes; 0 = as many as there are tickets */
    /* bytes that a class of mean weight may owe before the rest is forgiven; 0 = no bound */
    uint64_t debt_max;
    /*
     * DRR, where costs are microseconds of a slot: one that a class gives back stays free so long at most, and a 32nd
     * of what it would cost whoever has had his part, for that class's next request; and long requests, many times as
     * long as that, leave slots to brief ones; 0 = neither
     */
    uint64_t await_us;
};

/*
 * An outlet with a window of its own, beside the first one, which has that of rs_settings: a backend, a virtual host.
 */
#define RS_OUTLET_NAME_MAX 64           /* with its NUL */
struct rs_outlet_settings {
    char     name[RS_OUTLET_NAME_MAX];  /* what identifies it across rs_outlets */
    uint32_t gate;                      /* RS_GATE_WINDOW or RS_GATE_AUTO */
    uint32_t window, window_max;        /* as in rs_settings */
};

struct rs_setting_info {
    const char *name, *unit, *text;     /* text: one sentence */
    uint64_t    least, most, normal;    /* bounds and default */
    size_t      offset, width;          /* of the field in struct rs_settings */
};
extern const struct rs_setting_info rs_settings_table[];
extern const size_t                 rs_settings_count;

void        rs_settings_default(struct rs_settings *s);
int         rs_sched_by_name(const char *name);     /* a discipline's name, as "drr-paper"; -1 unknown */
int         rs_gate_by_name(const char *name);      /* "none" "window" "auto" "bytes" "wrc" "threads"; -1 unknown */
const char *rs_sched_name(int sched);
const char *rs_gate_name(int gate);

/* ---- making and finding ------------------------------------------------------------------------------------------ */

/* Bytes that rs_create needs for this capacity (any alignment of 64); 0 if the capacity is out of bounds. */
size_t rs_size(const struct rs_capacity *cap);

/*
 * Make an engine in `mem` (at least rs_size(cap) bytes, aligned to 64, owned by the caller before and after).
 * NULL and *why (a static sentence) if the capacity, the settings or the classes are out of bounds.
 */
rs_engine_t *rs_create(void *mem, size_t len, const struct rs_capacity *cap, const struct rs_settings *s,
                       const struct rs_class_settings *classes, uint32_t nclasses, rs_time_t now, const char **why);

/*
 * An engine of capacity `cap` that stands in `mem` already.  NULL and *why if magic, version, capacity, parts or size
 * are not what rs_create makes.
 */
rs_engine_t *rs_attach(void *mem, size_t len, const struct rs_capacity *cap, const char **why);

/*
 * MEMORY THAT OTHERS WRITE.  Processes that share an engine trust each other with requests, not with memory: what one
 * of them writes into the block by mistake or malice makes a call of another end in an assertion, or touch an address
 * within RS_REACH behind the end of the block and nowhere else; a host leaves those addresses without memory, so that
 * it faults.  The first RS_CONSTANT bytes of an engine never change after rs_create: a host may keep a copy and
 * compare.  A process that is more powerful than those that write must not call an engine at all.
 */
#define RS_CONSTANT ((size_t)88)
#define RS_REACH    ((uint64_t)1 << 42)

/*
 * New settings and classes for a running engine; nothing queued or outstanding is lost.  A class is known by its name:
 * one that stays keeps its queue, account and number; one that is gone keeps its number, is marked retired, goes on to
 * take and serve requests at its last weight, and its place is used again when it is empty and another class needs it.
 * number[i] receives the class number of classes[i] (NULL: not wanted); numbers equal positions on a fresh engine.  0,
 * or -1 and *why with nothing changed.
 */
int rs_configure(rs_engine_t *e, const struct rs_settings *s, const struct rs_class_settings *classes,
                 uint32_t nclasses, uint32_t *number, rs_time_t now, const char **why);
/* The number of a class, retired ones among them; RS_NO_CLASS if there is none of that name.  By a hash. */
uint32_t rs_class_named(const rs_engine_t *e, const char *name);

/*
 * The two settings that follow a link whose rate is learnt (rs_link.h), for a running engine that has one: as
 * rs_configure with nothing else changed, but O(tickets + classes) without sorting, for a call each second.  False and
 * nothing changed if one of them is out of bounds, or the engine has no rate, or would have none.
 */
bool rs_set_rate(rs_engine_t *e, rs_time_t now, uint64_t rate, uint64_t debt_max);

/*
 * The outlets with windows of their own of a running engine, all of them; nothing queued or outstanding is lost.  One
 * is known by its name: one that stays keeps its queues and accounts; one that is gone goes on to take and serve
 * requests with its last window, and its place is used again when it is empty and another one needs it.  One for which
 * there is no place at all is left out: rs_outlet_named says so.  0, or -1 and *why with nothing changed.
 */
int rs_outlets(rs_engine_t *e, const struct rs_outlet_settings *outlets, uint32_t n, rs_time_t now, const char **why);
/* Its number; 0, the first one's, if there is none of that name, or it is gone. */
uint32_t rs_outlet_named(const rs_engine_t *e, const char *name);
const char *rs_outlet_wrong(const struct rs_outlet_settings *o);        /* NULL, or what is out of bounds */

/* ---- a request's life -------------------------------------------------------------------------------------------- */

enum rs_refusal { RS_OK, RS_CLASS_FULL, RS_SHARE_FULL, RS_TOTAL_FULL, RS_NO_SUCH_CLASS };
const char *rs_refusal_text(enum rs_refusal r);

/*
 * A request of class `in_class` waits for outlet `outlet`.  `estimate`: bytes its response will probably have; 0 = not
 * known, the class's running mean is taken; and one of two marks that rs_reserve.h goes by.  `owner`: who holds it (a
 * process, a worker), for rs_reclaim; `tag`: the host's own word, handed back by rs_tag.  *ticket is set only when
 * RS_OK.  One response counts at most 1 TiB: a larger estimate or length is taken as that.
 *
 *     RS_UNSURE   the estimate is what other requests of its kind took
 *     RS_LONG     it will hold a slot or a worker for long, whatever it costs
 */
#define RS_UNSURE (UINT64_C(1) << 63)
#define RS_LONG   (UINT64_C(1) << 62)
enum rs_refusal rs_submit(rs_engine_t *e, rs_time_t now, uint32_t in_class, uint32_t outlet, uint64_t estimate,
                          uint32_t owner, uint64_t tag, rs_ticket_t *ticket);

/*
 * The same for a part of something that was asked for at `since` (of rs_submit's kind of time; later than now is taken
 * as now): a segment of a page, whose first one came then.  RS_SCHED_SHORTEST counts its age from there, and wants for
 * an estimate what is left of the whole; all that is said elsewhere about waiting is said about this ticket alone.
 */
enum rs_refusal rs_submit_since(rs_engine_t *e, rs_time_t now, rs_time_t since, uint32_t in_class, uint32_t outlet,
                                uint64_t estimate, uint32_t owner, uint64_t tag, rs_ticket_t *ticket);

/*
 * The same as rs_submit of a request whose keys are known: in a class with `within` requests of keys that had little go
 * before those of keys that had much, be there ever so many of these, and one key takes half of the places that its
 * class might have at the most (RS_SHARE_FULL).  The first key is that of the first level (say the network), the second
 * that of the second (say the address).  Whoever could choose keys could choose whose account he meets: they are hashes
 * with a secret.  All requests without keys (rs_submit, 0) are of one key.
 */
enum rs_refusal rs_submit_keyed(rs_engine_t *e, rs_time_t now, uint32_t in_class, uint32_t outlet, uint64_t estimate,
                                const uint64_t key[RS_KEY_LEVELS], uint32_t owner, uint64_t tag, rs_ticket_t *ticket);

/*
 * The next request that may go, now released; call until it returns RS_NO_TICKET.  *again: the earliest time at which
 * asking once more can help without any other call in between, RS_NEVER if none.
 */
rs_ticket_t rs_pick(rs_engine_t *e, rs_time_t now, rs_time_t *again);

/* Each returns 1 if the ticket was live and in a state for it, else 0 and nothing happened. */
/* released, parked: the whole length is known now */
bool rs_header(rs_engine_t *e, rs_time_t now, rs_ticket_t t, uint64_t length);
/* released, parked: so many more bytes came */
bool rs_progress(rs_engine_t *e, rs_time_t now, rs_ticket_t t, uint64_t bytes);
/* released: gives its slot back, keeps its account */
bool rs_park(rs_engine_t *e, rs_time_t now, rs_ticket_t t);
/*
 * The same of one whose backend still works: it counts against its class's `slots` and, while other classes are active,
 * against its share of the window (rs_occupied.h).  A host that calls this calls rs_pick at least ten times a second
 * while requests wait.
 */
bool rs_park_occupying(rs_engine_t *e, rs_time_t now, rs_ticket_t t);
/*
 * The same of one that keeps one of its backend's few workers: as many as its window is, or may become.  Long requests
 * leave these to brief ones (rs_reserve.h).  slow: it is as one of rs_park_occupying, too.
 */
bool rs_park_working(rs_engine_t *e, rs_time_t now, rs_ticket_t t, bool slow);
/* parked so: its backend's work is done, it is as one of rs_park */
bool rs_occupies_no_more(rs_engine_t *e, rs_time_t now, rs_ticket_t t);
/* parked: takes a slot again, even one too many */
bool rs_resume(rs_engine_t *e, rs_time_t now, rs_ticket_t t);
/* released, parked: all of it came */
bool rs_finish(rs_engine_t *e, rs_time_t now, rs_ticket_t t);
/* released, parked: it ended before its end */
bool rs_abort(rs_engine_t *e, rs_time_t now, rs_ticket_t t);
/* queued: nobody waits for it any more; refused: whoever waited has been told */
bool rs_cancel(rs_engine_t *e, rs_time_t now, rs_ticket_t t);

/*
 * The next one that is to be refused, since its class's queue stands: it waits no longer, and keeps its ticket until
 * rs_cancel; RS_NO_TICKET if there is none.  A host with classes that have delay_ms calls it after rs_pick until there
 * is none, and ten times a second at the least.  Classes are looked at every RS_OVERDUE_EVERY: a call between costs
 * nothing.
 */
rs_ticket_t rs_overdue(rs_engine_t *e, rs_time_t now);
#define RS_OVERDUE_EVERY UINT64_C(5000)         /* microseconds */

/*
 * Released, parked: the server's work is done, and `rest` bytes more than rs_progress has told are made, and go their
 * way by themselves to a client that may be slow, or gone.  It ends as by rs_finish, and teaches its whole length, but
 * its class is charged no more than what a release would have been.  Returns how many of the rest are paid for so; the
 * host charges those beyond as they go, by rs_charge.  `rest` if the ticket has ended.
 */
uint64_t rs_hand_over(rs_engine_t *e, rs_time_t now, rs_ticket_t t, uint64_t rest);

/*
 * How many bytes of this response may be on their way at one time, for a host that sets receive windows: what the bytes
 * gate lets be outstanding, shared by weight among the classes that have responses outstanding, as far as these can use
 * it.  Inside a class it is shared likewise, equally; equally among its keys, where it is shared by keys; or, with
 * RS_ORDER_SHORTEST at the first outlet, goes to those of which least is to come (rs_allowance.c).  RS_UNLIMITED for
 * other gates, without a rate, and for a ticket that is not released.
 */
uint64_t rs_allowance(rs_engine_t *e, rs_time_t now, rs_ticket_t t);

/*
 * Bytes that no ticket explains.  Of a class (access-gateway paper 3.5.1): they are charged to it, and the gate sees
 * them.  RS_NO_CLASS, of nobody (3.5.2): only the gate sees them.
 */
void rs_charge(rs_engine_t *e, rs_time_t now, uint32_t in_class, uint32_t outlet, uint64_t bytes);
/* The same of a class and of keys in it: bytes that go after rs_hand_over. */
void rs_charge_keyed(rs_engine_t *e, rs_time_t now, uint32_t in_class, uint32_t outlet,
                     const uint64_t key[RS_KEY_LEVELS], uint64_t bytes);

/* All tickets of an owner that died: queued ones cancelled, released and parked ones aborted.  Returns how many. */
uint32_t rs_reclaim(rs_engine_t *e, rs_time_t now, uint32_t owner);

/*
 * The holder of the host's lock died inside a call: throw lists, heaps and sums away and make them anew from the
 * tickets.  Accounts that can't be right any more are set to their class's neutral value.  NULL; or a sentence, and
 * nothing is done: what all is made from (shape, settings, classes, journal) was written over, which no death does, and
 * only rs_create helps.
 */
const char *rs_rebuild(rs_engine_t *e, rs_time_t now);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

enum rs_state { RS_FREE, RS_QUEUED, RS_RELEASED, RS_PARKED, RS_REFUSED };

enum rs_state rs_state(const rs_engine_t *e, rs_ticket_t t);       /* RS_FREE for a ticket that has ended */
uint64_t      rs_tag(const rs_engine_t *e, rs_ticket_t t);         /* 0 for a ticket that has ended */
uint32_t      rs_owner(const rs_engine_t *e, rs_ticket_t t);       /* 0 for a ticket that has ended */
uint32_t      rs_class(const rs_engine_t *e, rs_ticket_t t);       /* RS_NO_CLASS for a ticket that has ended */
uint32_t      rs_outlet_of(const rs_engine_t *e, rs_ticket_t t);   /* 0 for a ticket that has ended */
rs_time_t     rs_submitted(const rs_engine_t *e, rs_ticket_t t);    /* 0 for a ticket that has ended */
/*
 * true: as it was released, the window that the gate "auto" keeps between its probes was full already.  It may have to
 * wait at the backend, so how long it takes says little about the request itself.  False for a ticket that has ended.
 */
bool          rs_crowded(const rs_engine_t *e, rs_ticket_t t);
rs_time_t     rs_waited(const rs_engine_t *e, rs_ticket_t t);      /* submit to release, of a released or parked one */

struct rs_counts {                      /* every move, since creation */
    uint64_t submitted, refused_class, refused_share, refused_total, cancelled, released, parked, resumed, done,
        aborted, reclaimed;
    uint64_t bytes;                     /* rs_progress and rs_charge */
    uint64_t wait_us;                   /* sum over released */
    uint64_t service_us;                /* sum over done and aborted, release to end */
    uint64_t refused_standing;          /* rs_overdue; among cancelled */
};

struct rs_class_stats {
    struct rs_class_settings settings;
    uint32_t         retired, queued, outstanding, parked;
    uint64_t         expected;          /* bytes still expected of the outstanding ones */
    /*
     * Bytes, at outlet 0: below 0 a debt.  DRR: the deficit counter; RFQ: how far ahead of the least served, negated;
     * both less what it owes.
     */
    int64_t          balance;
    /* bytes of a response, running mean of what ended whole, or brought more; 0 = none yet */
    uint64_t         mean;
    uint64_t         owed;              /* at outlet 0 */
    uint32_t         own;               /* places in the queue that are kept for it */
    uint32_t         keys;              /* of the first level, that wait at outlet 0; 0 without `within` */
    rs_time_t        wait_max;          /* longest wait of a released one */
    rs_time_t        behind;            /* rs_behind */
    bool             stands;            /* at any outlet */
    struct rs_counts counts;
};

struct rs_stats {
    struct rs_settings settings;
    struct rs_capacity capacity;
    uint32_t         classes;           /* numbers in use: 0 .. classes-1, retired ones among them */
    uint32_t         queued, outstanding, parked;
    uint32_t         window;            /* the gate's present limit at outlet 0; 0 = none */
    uint32_t         rebuilds;
    struct rs_counts counts;
};

void rs_stats(const rs_engine_t *e, struct rs_stats *out);
/* the gate's present limit at outlet 0, as rs_stats tells it, without a look at the classes; 0 = none */
uint32_t rs_window(const rs_engine_t *e);
uint32_t rs_window_at(const rs_engine_t *e, uint32_t outlet);   /* the same of another one; 0 if it is not there */
uint32_t rs_parked_at(const rs_engine_t *e, uint32_t outlet);   /* responses parked there; likewise */
uint32_t rs_windows(const rs_engine_t *e);      /* the sum of all of them */
uint32_t rs_queued(const rs_engine_t *e);       /* who waits at outlet 0, likewise */
uint32_t rs_live(const rs_engine_t *e);         /* outstanding or parked there, likewise */

struct rs_outlet_stats {
    struct rs_outlet_settings settings;     /* the first one's name is empty */
    uint32_t retired, window, queued, outstanding, parked;
    uint64_t refused;                       /* RS_SHARE_FULL since it had its part of a class's places */
    uint32_t stalled_s;                     /* the host's: for how long none was released that waits; 0: no stall */
};
/* 0 if there is no such outlet */
bool rs_outlet_stats(const rs_engine_t *e, uint32_t outlet, struct rs_outlet_stats *out);
/*
 * a live ticket's outlet has fewer outstanding than its gate lets go in any case, and its class fewer than it may have
 */
bool rs_has_slot(const rs_engine_t *e, rs_ticket_t t);
/*
 * By how much a class is behind: how long its queue has been standing, or else the oldest in it waiting; 0 if nobody
 * waits.  Who comes now and waits in order of arrival has to expect about as much.
 */
rs_time_t rs_behind(const rs_engine_t *e, uint32_t of_class);
/* 0 if there is no such class */
bool rs_class_stats(const rs_engine_t *e, uint32_t of_class, struct rs_class_stats *out);

/*
 * Every invariant of the engine, O(tickets + classes): NULL, or a sentence about the first that does not hold.  For
 * tests and soaks.
 */
const char *rs_check(const rs_engine_t *e);

#ifdef __cplusplus
}
#endif

#endif
