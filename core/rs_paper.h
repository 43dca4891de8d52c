/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_paper.h - the scheduler on paper: what it would do with requests that it does not touch.
 *
 * A host tells when a request came to the server and when the server was through with it.  Beside that an engine of the
 * same classes and settings schedules the same requests in its own time: here they wait, are released, are served for
 * as long as they took, and are refused; nobody is kept waiting.  So waits, refusals and shares come from the engine
 * itself.  A watched server (mod_qos_drr, QosEngine observe) and the replay of a log (policy/) use it alike.
 *
 * HOW LONG IT TAKES ON PAPER.  What runs beside more requests than the window lets through is slower for it.  The
 * window is taken for as many requests as the server can work on: with n > W of them at the server a microsecond counts
 * as W/n.  So the paper's server does as much work as the real one.  What has not ended yet takes as long as its class
 * does in the mean, or what it has taken and as much more as times of that class differ.
 *
 * WHO ASKS AGAIN.  Most clients ask when they have their answer.  One that is served sooner on paper asks again sooner,
 * and one that waits asks later; taken as they came, all requests of a crowd would count, whom the scheduler would have
 * slowed down, and none of those that people would have made.  So
 * - who comes (`follows`) while the one before is on its way on paper still, is that one: it goes on, and the new one
 *   is not submitted (`joined`);
 * - who is through on paper while the real one is still at the server asks for the like again (`again`), after the
 *   pause that it was seen to make (`think_us`; RS_NEVER: nobody knows that it comes again).
 *
 * A PART OF THE TIME.  A host that has no time to tell of all requests tells of all that come in a stretch of time, and
 * of none in the next; its clock stands meanwhile, so on paper the two ends of the gap are one moment.  What a stretch
 * counts then counts for the gap, too (rs_paper_weigh).
 *
 * THE STATES OF A ROW
 *
 *     free ─came→ queued ─the engine's pick→ served ─its time is over→ the real one still runs ─┬ thinks ─→ queued
 *                   │                                 │                                         └ idle
 *                   └ refused, or waited too long: idle    └ it does not: free
 *     thinks, idle ─the real one ends→ free
 *
 * MEMORY.  One block without pointers, as the engine's, which is its last part: RS_REACH and what is said of memory
 * that others write hold for it.  It takes no lock and allocates nothing.  A process that dies inside a call leaves
 * it unfit: rs_paper_fits tells, and rs_paper_make begins anew; the numbers of rows of before are nobody's then.
 *
 * UNITS.  As in rs.h.  Each call first does what is due on paper until `now`, RS_PAPER_EVENTS of it at most: what is
 * left is done by the next.
 */
#ifndef FAIRGATE_RS_PAPER_H
#define FAIRGATE_RS_PAPER_H

#include "rs.h"
#include "rs_waits.h"

#define RS_PAPER_EVENTS 256u

typedef struct rs_paper rs_paper_t;
typedef uint64_t rs_paper_id_t;         /* of a row; 0: none */

/* What a request costs its class. */
enum rs_paper_charge { RS_PAPER_BYTES, RS_PAPER_TIME, RS_PAPER_BOTH /* the class's larger part of the two */ };

struct rs_paper_shape {
    struct rs_capacity              capacity;   /* one outlet */
    struct rs_settings              settings;   /* the gate is a window: any other is taken as one of as many */
    const struct rs_class_settings *classes;
    uint32_t                        nclasses;
    enum rs_paper_charge            charge;
};

/* Bytes of the block; 0 if the capacity is out of bounds. */
size_t      rs_paper_size(const struct rs_capacity *cap);
/* In `mem`, aligned to 64.  NULL and *why. */
rs_paper_t *rs_paper_make(void *mem, size_t len, const struct rs_paper_shape *shape, rs_time_t now, const char **why);
/* Is there one of that capacity in `mem`, in which nobody died? */
bool        rs_paper_fits(const void *mem, const struct rs_capacity *cap);

struct rs_paper_request {
    uint32_t      in_class;
    uint32_t      owner;        /* who has it, for rs_paper_reclaim */
    uint64_t      estimate;     /* what it is expected to cost; 0 = not known */
    uint64_t      bytes;        /* that are expected */
    uint64_t      wait_us;      /* longer it would not wait */
    uint64_t      think_us;     /* how long its client pauses, in the mean; RS_NEVER: not known */
    rs_paper_id_t follows;      /* what its client asked before; 0: nothing */
    uint64_t      key[RS_KEY_LEVELS];   /* as of rs_submit_keyed */
};

/*
 * It came to the server.  *id: for rs_paper_went, or 0 if there is no row for it.  RS_OK, or why it would be refused.
 */
enum rs_refusal rs_paper_came(rs_paper_t *p, rs_time_t now, const struct rs_paper_request *q, rs_paper_id_t *id);
/*
 * The server is through with it.  `idle_us` of the time since it came were its client's; `bytes` went.  *waited: how
 * long it has waited on paper by now.  0 if there is no such row.
 */
bool     rs_paper_went(rs_paper_t *p, rs_time_t now, rs_paper_id_t id, uint64_t idle_us, uint64_t bytes,
                       uint64_t *waited);
/* Is it on its way on paper still, its real one having ended? */
bool     rs_paper_behind(const rs_paper_t *p, rs_paper_id_t id);
/* What is due until now.  1: there is more, call again. */
bool     rs_paper_tick(rs_paper_t *p, rs_time_t now);
/* Those of owners that are gone have ended.  How many. */
uint32_t rs_paper_reclaim(rs_paper_t *p, rs_time_t now, bool (*gone)(const void *of, uint32_t owner), const void *of);
/* RS_PAPER_BOTH: microseconds of a slot that a byte costs, x 2^20; at first 2^20. */
void     rs_paper_price(rs_paper_t *p, uint32_t price);
/* What it counts from now on counts for so many; at first 1. */
void     rs_paper_weigh(rs_paper_t *p, uint32_t weight);

/* For tests: NULL, or what does not hold. */
const char *rs_paper_check(const rs_paper_t *p);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct rs_paper_class {
    /* of the engine; its bytes are cost; of its counts those of who was let go or refused are weighed, as all here */
    struct rs_class_stats on_paper;
    uint64_t came, went;                /* requests that really were */
    uint64_t real_bytes, real_us;       /* what they had; us: on paper's scale */
    uint64_t paper_bytes, paper_us;     /* what the class would have had */
    uint64_t joined, again, too_long;
    uint32_t waits[RS_WAITS];   /* released, by how long they waited */
};
struct rs_paper_all {
    uint32_t classes, queued, outstanding, window;
    uint32_t at_server, at_server_max;  /* really */
    uint64_t no_row;                    /* requests that were left out */
    rs_time_t since;
};
void     rs_paper_all(const rs_paper_t *p, struct rs_paper_all *out);
bool     rs_paper_class(const rs_paper_t *p, uint32_t of_class, struct rs_paper_class *out);
/* So many of a thousand waited no longer than this, microseconds; right to a fifth. */
uint64_t rs_paper_quantile(const struct rs_paper_class *c, uint32_t permille);

#endif
