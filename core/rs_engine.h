/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_engine.h - what the engine's own files share, and no one else includes.
 *
 *     rs_create.c     size, create, attach          rs_life.c    submit, pick, header, ... : every move of a ticket
 *     rs_configure.c  new settings and classes      rs_allowance.c  what may be on its way
 *     rs_outlets.c    windows of their own
 *     rs_settings.c   table, names                  rs_stats.c   reading
 *     rs_account.h    what a class is charged       rs_check.c   invariants
 *     rs_standing.h   whether a queue stands        rs_rebuild.c everything from the tickets
 *     rs_occupied.h   shares of parked requests that occupy their backend
 *     rs_reserve.h    slots that long requests leave
 */
#ifndef FAIRGATE_RS_ENGINE_H
#define FAIRGATE_RS_ENGINE_H

#include "base_block.h"
#include "gate.h"
#include "sched.h"

/* By a byte that others may have written: rows beyond the count are NULL, and following one ends the process. */
extern const struct rs_sched_ops *const rs_scheds[256];
extern const struct rs_gate_ops  *const rs_gates[256];

/* In force.  The settings were judged when they came in (rs_settings_wrong). */
static inline const struct rs_sched_ops *rs_sched_ops(const rs_engine_t *e) { return rs_scheds[e->sched]; }
static inline const struct rs_gate_ops *rs_gate_ops(const struct rs_outlet *o) { return rs_gates[o->gate]; }

const char *rs_settings_wrong(const struct rs_settings *s);     /* NULL, or what is out of bounds */
const char *rs_class_wrong(const struct rs_class_settings *c);
/* NULL, or: the constant part is not what its capacity makes (rs_create.c) */
const char *rs_shape_wrong(const rs_engine_t *e);

/*
 * The block is ours: asserted at the entry of every call, since all memory that a host hands in twice can be somebody
 * else's.
 */
static inline void rs_enter(const rs_engine_t *e) { RS_ASSERT(e->magic == RS_ENGINE_MAGIC); }

/* Time never goes back: a clock that was set, or two processes that read theirs in the other order. */
static inline rs_time_t rs_clamp_now(rs_engine_t *e, rs_time_t now) {
    if (now > e->now) e->now = now;
    return e->now;
}

/* The row of a live ticket, NULL when it has ended or never was. */
static inline struct rs_ticket_row *rs_live_row(const rs_engine_t *e, rs_ticket_t t) {
    uint32_t i = rs_ticket_index(t);
    if (i >= e->capacity.tickets) return NULL;
    struct rs_ticket_row *r = rs_row(e, i);
    return rs_row_ticket(r) == t && rs_row_state(r) != RS_FREE ? r : NULL;
}

/* The row of a ticket that is in this state. */
static inline struct rs_ticket_row *rs_row_in(const rs_engine_t *e, rs_ticket_t t, enum rs_state state) {
    uint32_t i = rs_ticket_index(t);
    if (i >= e->capacity.tickets) return NULL;
    struct rs_ticket_row *r = rs_row(e, i);
    return r->life == rs_life(t, state) ? r : NULL;
}

/* Of a live ticket: it was released, and counts as outstanding or parked. */
static inline bool rs_row_has_gone(const struct rs_ticket_row *r) {
    return rs_row_state(r) == RS_RELEASED || rs_row_state(r) == RS_PARKED;
}

static inline uint64_t rs_expected(const struct rs_class_row *row) { return row->promised - row->counts.bytes; }

/* A class that is too light for a place of its own is lent one. */
static inline void rs_lend_first(rs_engine_t *e, struct rs_class_row *row) {
    row->own = row->first = 1;
    e->firsts++;
}

/* One of the class's waits no longer. */
static inline void rs_place_left(rs_engine_t *e, struct rs_class_row *row) {
    if (--row->queued >= row->own) {
        e->shared--;
    } else if (row->first) {
        row->own = row->first = 0;
        e->firsts--;
    }
}

/* Places of the queue that are kept for a class, none of them lent. */
uint32_t rs_places_of(const rs_engine_t *e, const struct rs_class_row *row);

/*
 * Arrivals that an engine can be made anew with: half of those with which rs_check calls it sound, so that one that is
 * stays so, however long it lives on.  Nobody counts as far; who finds more knows that it was written.
 */
#define RS_ARRIVALS_MAX (UINT64_C(1) << 61)

/* Of a class that waits, where others have responses on their way: may windows not be made for more of its own? */
bool rs_has_its_windows(const rs_engine_t *e, struct rs_outlet *o, uint32_t class);

/*
 * Of a class that waits, at a gate that counts bytes (sched.h): below if what is still to come of its outstanding
 * responses is less than its part, by weight, of what may be outstanding; starved if less than half of its part came
 * lately, too, or if its next request is that of a key with nothing outstanding.
 */
enum rs_below rs_below_its_part(const rs_engine_t *e, struct rs_outlet *o, uint32_t class);

/* Everything but tickets and settings made anew (rs_rebuild.c). */
void rs_make_anew(rs_engine_t *e, rs_time_t now);

/* The hash made anew: which class has which name (rs_configure.c). */
void rs_index_names(rs_engine_t *e);

/* a += b, field by field (rs_stats.c). */
void rs_counts_add(struct rs_counts *a, const struct rs_counts *b);

/* A rs_configure that stands complete in the journal, done, or done again (rs_configure.c). */
void rs_journal_apply(rs_engine_t *e, rs_time_t now);
/* The same of a rs_outlets; and NULL, or what it wants that can't be (rs_outlets.c). */
void        rs_outlets_apply(rs_engine_t *e, rs_time_t now);
const char *rs_outlets_wrong(const rs_engine_t *e);

#endif
