/* SPDX-License-Identifier: BSD-2-Clause */
#include "rs_paper.h"

#include <string.h>

#include "base_arena.h"
#include "base_heap.h"

#define PAPER_MAGIC 0x46475050u
#define SCALE       16u                 /* the scaled clock counts 2^-16 microseconds */
#define STEP_MAX    ((uint64_t)1 << 31) /* no two events are further apart, for it */
#define SERVICE_MAX ((uint64_t)1 << 40) /* microseconds */
#define MEAN_OF     64                  /* running means */
#define PRICE_SHIFT 20u

enum paper_state { PAPER_FREE, PAPER_QUEUED, PAPER_SERVED, PAPER_THINKS, PAPER_IDLE };

struct paper_row {
    rs_ticket_t ticket;
    rs_time_t came, released; /* on paper */
    rs_time_t real_came;
    uint64_t scaled;     /* the scaled clock then */
    uint64_t service_us; /* of the real one, once it has ended */
    uint64_t estimate, bytes, think_us, wait_us, waited;
    uint64_t key[RS_KEY_LEVELS];
    uint32_t generation, owner, class, next;
    uint8_t state, real, known, like, pad[4]; /* real: it is at the server; like: on paper it is the like again */
};

struct paper_class {
    uint64_t came, went, real_bytes, real_us, paper_bytes, paper_us, joined, again, too_long;
    uint64_t released, wait_us, refused_class, refused_share, refused_total, refused_standing;
    double mean, square;       /* of what ended, microseconds: of its time, and of that squared */
    uint64_t cost_us, cost_by; /* RS_PAPER_BOTH: what it had of either */
    uint32_t waits[RS_WAITS];
};

struct rs_paper {
    uint32_t magic, busy;
    struct rs_capacity capacity;
    uint32_t classes_at, rows_at, nodes_at, places_at, engine_at; /* of 32 bits: RS_REACH (base_block.h) */
    uint32_t charge, window, nclasses, free;
    uint32_t at_server, at_server_max, price, weight;
    uint64_t scaled, no_row;
    rs_time_t scaled_at, now, since;
    struct rs_heap due; /* rows by when something happens to them */
};

/* ---- the block --------------------------------------------------------------------------------------------------- */

static uint64_t paper_carve(struct rs_paper *p, const struct rs_capacity *cap) {
    uint64_t used = sizeof *p, engine = rs_size(cap), at;

    if (!engine) return 0;
    p->capacity = *cap;
    p->classes_at = (uint32_t)rs_carve(&used, cap->classes, sizeof(struct paper_class));
    p->places_at = (uint32_t)rs_carve(&used, cap->tickets, sizeof(uint32_t));
    p->nodes_at = (uint32_t)rs_carve(&used, cap->tickets, sizeof(struct rs_heap_node));
    p->rows_at = (uint32_t)rs_carve(&used, cap->tickets, sizeof(struct paper_row));
    at = rs_carve(&used, 1, engine);
    p->engine_at = (uint32_t)at;
    return at > UINT32_MAX ? 0 : used;
}

size_t rs_paper_size(const struct rs_capacity *cap) {
    struct rs_paper p;
    return cap->outlets == 1 ? (size_t)paper_carve(&p, cap) : 0;
}

static struct paper_class *paper_class_of(const struct rs_paper *p, uint32_t class) {
    RS_ASSERT(class < p->capacity.classes);
    return (struct paper_class *)((uintptr_t)p + p->classes_at) + class;
}

static struct paper_row *paper_row_at(const struct rs_paper *p, uint32_t index) {
    RS_ASSERT(index < p->capacity.tickets);
    return (struct paper_row *)((uintptr_t)p + p->rows_at) + index;
}

static rs_engine_t *paper_engine(const struct rs_paper *p) { return (rs_engine_t *)((uintptr_t)p + p->engine_at); }

static uint32_t paper_index(const struct rs_paper *p, const struct paper_row *r) {
    return (uint32_t)(r - paper_row_at(p, 0));
}

/* NULL: it has ended on both sides. */
static struct paper_row *paper_row(const struct rs_paper *p, rs_paper_id_t id) {
    uint32_t index = (uint32_t)id;
    struct paper_row *r;

    if (!id || index >= p->capacity.tickets) return NULL;
    r = paper_row_at(p, index);
    return r->generation == id >> 32 && r->state != PAPER_FREE ? r : NULL;
}

rs_paper_t *rs_paper_make(void *mem, size_t len, const struct rs_paper_shape *shape, rs_time_t now, const char **why) {
    struct rs_paper *p = mem;
    struct rs_settings s = shape->settings;
    size_t size = rs_paper_size(&shape->capacity);

    if (!size || len < size || (uintptr_t)mem % RS_ALIGN) {
        *why = "the memory for a paper schedule is too small, or its capacity out of bounds";
        return NULL;
    }
    memset(p, 0, sizeof *p);
    p->busy = 1;
    paper_carve(p, &shape->capacity);
    s.gate = RS_GATE_WINDOW;
    if (!s.window) s.window = 8;
    if (!rs_create(paper_engine(p), rs_size(&shape->capacity), &shape->capacity, &s, shape->classes, shape->nclasses,
                   now, why))
        return NULL;
    p->charge = shape->charge;
    p->window = s.window;
    p->nclasses = shape->nclasses;
    p->price = 1u << PRICE_SHIFT;
    p->weight = 1;
    p->since = p->now = p->scaled_at = now;
    p->due = (struct rs_heap){ 0, p->capacity.tickets, p->nodes_at - (uint32_t)offsetof(struct rs_paper, due),
                               p->places_at - (uint32_t)offsetof(struct rs_paper, due) };
    rs_heap_clear(&p->due);
    memset(paper_class_of(p, 0), 0, p->capacity.classes * sizeof(struct paper_class));
    for (uint32_t i = 0; i < p->capacity.tickets; i++)
        *paper_row_at(p, i) = (struct paper_row){ .generation = (uint32_t)now | 1, .next = i + 1 };
    p->magic = PAPER_MAGIC;
    p->busy = 0;
    return p;
}

bool rs_paper_fits(const void *mem, const struct rs_capacity *cap) {
    const struct rs_paper *p = mem;
    return p->magic == PAPER_MAGIC && !p->busy && !memcmp(&p->capacity, cap, sizeof *cap);
}

static void paper_enter(struct rs_paper *p) {
    RS_ASSERT(p->magic == PAPER_MAGIC && !p->busy);
    p->busy = 1;
    RS_BARRIER();
}

static void paper_leave(struct rs_paper *p) {
    RS_BARRIER();
    p->busy = 0;
}

/* ---- the scaled clock -------------------------------------------------------------------------------------------- */

/* What it shows at `now`: no request came or went since it was set. */
static uint64_t scaled_at(const struct rs_paper *p, rs_time_t now) {
    uint64_t step = now > p->scaled_at ? now - p->scaled_at : 0, rate = (uint64_t)1 << SCALE;

    if (step > STEP_MAX) step = STEP_MAX;
    if (p->at_server > p->window) rate = ((uint64_t)p->window << SCALE) / p->at_server;
    return p->scaled + step * rate;
}

static void paper_set_clock(struct rs_paper *p, rs_time_t now, int32_t more) {
    p->scaled = scaled_at(p, now);
    if (now > p->scaled_at) p->scaled_at = now;
    p->at_server += (uint32_t)more;
    if (p->at_server > p->at_server_max) p->at_server_max = p->at_server;
}

static uint64_t scaled_since(const struct rs_paper *p, const struct paper_row *r, rs_time_t now) {
    uint64_t us = (scaled_at(p, now) - r->scaled) >> SCALE;
    return us < SERVICE_MAX ? us : SERVICE_MAX;
}

/* ---- what happens on paper --------------------------------------------------------------------------------------- */

static void set_due(struct rs_paper *p, const struct paper_row *r, rs_time_t at) {
    uint32_t i = paper_index(p, r);

    if (rs_heap_has(&p->due, i)) rs_heap_rekey(&p->due, i, at);
    else rs_heap_push(&p->due, i, at);
}

static void never_due(struct rs_paper *p, const struct paper_row *r) {
    uint32_t i = paper_index(p, r);
    if (rs_heap_has(&p->due, i)) rs_heap_remove(&p->due, i);
}

static void paper_free(struct rs_paper *p, struct paper_row *r) {
    never_due(p, r);
    r->state = PAPER_FREE;
    if (!++r->generation) r->generation = 1;
    r->next = p->free;
    p->free = paper_index(p, r);
}

static void after_paper(struct rs_paper *p, struct paper_row *r, rs_time_t t, bool served);

static void release_due(struct rs_paper *p, rs_time_t t) {
    rs_engine_t *e = paper_engine(p);
    rs_time_t again;
    rs_ticket_t k;

    while ((k = rs_pick(e, t, &again)) != RS_NO_TICKET) {
        struct paper_row *r = paper_row_at(p, (uint32_t)rs_tag(e, k));
        struct paper_class *c = paper_class_of(p, r->class);
        r->state = PAPER_SERVED;
        r->released = t;
        r->waited = t - r->came;
        c->released += p->weight;
        c->wait_us += r->waited * p->weight;
        c->waits[rs_waits_bucket(r->waited)] += p->weight;
        set_due(p, r, r->known ? t + r->service_us : c->mean > 0 ? t + (uint64_t)c->mean : RS_NEVER);
    }
    while ((k = rs_overdue(e, t)) != RS_NO_TICKET) {
        struct paper_row *r = paper_row_at(p, (uint32_t)rs_tag(e, k));
        rs_cancel(e, t, k);
        paper_class_of(p, r->class)->refused_standing += p->weight;
        r->waited = t - r->came;
        after_paper(p, r, t, false);
    }
}

static void paper_refuses(struct rs_paper *p, struct paper_class *c, enum rs_refusal refusal) {
    uint64_t *n = refusal == RS_CLASS_FULL   ? &c->refused_class
                  : refusal == RS_SHARE_FULL ? &c->refused_share
                                             : &c->refused_total;

    *n += p->weight;
}

static uint64_t paper_cost(const struct rs_paper *p, struct paper_class *c, uint64_t bytes, uint64_t us) {
    uint64_t before = c->cost_us > c->cost_by ? c->cost_us : c->cost_by, after;

    if (p->charge == RS_PAPER_BYTES) return bytes;
    if (p->charge == RS_PAPER_TIME) return us;
    c->cost_us += us;
    c->cost_by += (uint64_t)((unsigned __int128)bytes * p->price >> PRICE_SHIFT);
    after = c->cost_us > c->cost_by ? c->cost_us : c->cost_by;
    return after - before;
}

/* Into the queue, or why not. */
static enum rs_refusal paper_submit(struct rs_paper *p, struct paper_row *r, rs_time_t t) {
    enum rs_refusal refusal =
        rs_submit_keyed(paper_engine(p), t, r->class, 0, r->estimate, r->key, r->owner, paper_index(p, r), &r->ticket);

    r->came = t;
    r->waited = 0;
    if (refusal != RS_OK) {
        paper_refuses(p, paper_class_of(p, r->class), refusal);
        r->state = PAPER_IDLE;
        never_due(p, r);
        return refusal;
    }
    r->state = PAPER_QUEUED;
    set_due(p, r, r->wait_us < RS_NEVER - t ? t + r->wait_us : RS_NEVER);
    release_due(p, t);
    return RS_OK;
}

/* It is through on paper: its client asks again, waits for the real answer, or is gone. */
static void after_paper(struct rs_paper *p, struct paper_row *r, rs_time_t t, bool served) {
    if (!r->real) {
        paper_free(p, r);
    } else if (served && r->think_us < RS_NEVER - t) {
        r->state = PAPER_THINKS;
        set_due(p, r, t + r->think_us);
    } else {
        r->state = PAPER_IDLE;
        never_due(p, r);
    }
}

/*
 * How long it will take that has taken so long and is not over: as long as its class in the mean; and what is left of
 * it is as much again if times differ as those of chance do (a deviation as large as the mean), and little if they
 * are all alike.
 */
static uint64_t service_at_least(const struct paper_class *c, uint64_t so_far) {
    double left = c->mean > 0 ? (c->square - c->mean * c->mean) / c->mean : 0, least = (double)so_far / 16 + 1;

    least = (double)so_far + (left > least ? left : least);
    if (least < c->mean) least = c->mean;
    return least < (double)SERVICE_MAX ? (uint64_t)least : SERVICE_MAX;
}

static void paper_served(struct rs_paper *p, struct paper_row *r, rs_time_t t) {
    struct paper_class *c = paper_class_of(p, r->class);
    uint64_t us = r->known ? r->service_us : t - r->released, cost;

    if (!r->known) {
        uint64_t so_far = scaled_since(p, r, t), least = r->like ? so_far : service_at_least(c, so_far);

        if (r->like && (double)least < c->mean) least = (uint64_t)c->mean;

        if (us < least) {
            set_due(p, r, r->released + least);
            return;
        }
    }
    cost = paper_cost(p, c, r->bytes, us);
    if (cost) rs_progress(paper_engine(p), t, r->ticket, cost);
    rs_finish(paper_engine(p), t, r->ticket);
    c->paper_bytes += r->bytes * p->weight;
    c->paper_us += us * p->weight;
    r->ticket = RS_NO_TICKET;
    after_paper(p, r, t, true);
    release_due(p, t);
}

static void paper_happens(struct rs_paper *p, struct paper_row *r, rs_time_t t) {
    switch (r->state) {
    case PAPER_QUEUED:
        rs_cancel(paper_engine(p), t, r->ticket);
        r->waited = t - r->came;
        paper_class_of(p, r->class)->too_long += p->weight;
        after_paper(p, r, t, false);
        break;
    case PAPER_SERVED: paper_served(p, r, t); break;
    case PAPER_THINKS:
        paper_class_of(p, r->class)->again += p->weight;
        r->known = 0;
        r->like = 1;
        paper_submit(p, r, t);
        break;
    default: never_due(p, r);
    }
}

/* 1: more than may be done in one call. */
static bool paper_advance(struct rs_paper *p, rs_time_t now) {
    for (uint32_t n = 0; p->due.count; n++) {
        struct rs_heap_node first = rs_heap_top(&p->due);

        if (first.key > now) return false;
        if (n == RS_PAPER_EVENTS) return true;
        if (first.key > p->now) p->now = first.key;
        paper_happens(p, paper_row_at(p, first.id), p->now);
    }
    return false;
}

/* ---- what the host tells ----------------------------------------------------------------------------------------- */

enum rs_refusal rs_paper_came(rs_paper_t *p, rs_time_t now, const struct rs_paper_request *q, rs_paper_id_t *id) {
    enum rs_refusal refusal = RS_OK;
    struct paper_class *c;
    struct paper_row *r;

    *id = 0;
    if (q->in_class >= p->nclasses) return RS_NO_SUCH_CLASS;
    paper_enter(p);
    paper_advance(p, now);
    if (now < p->now) now = p->now;
    p->now = now;
    c = paper_class_of(p, q->in_class);
    c->came += p->weight;
    r = paper_row(p, q->follows);
    if (r && !r->real && r->class == q->in_class && (r->state == PAPER_QUEUED || r->state == PAPER_SERVED)) {
        c->joined += p->weight;
        *id = q->follows;
    } else if (p->free < p->capacity.tickets) {
        r = paper_row_at(p, p->free);
        p->free = r->next;
        *r = (struct paper_row){ .generation = r->generation,
                                 .class = q->in_class,
                                 .estimate = q->estimate,
                                 .bytes = q->bytes,
                                 .wait_us = q->wait_us,
                                 .key = { q->key[0], q->key[1] } };
        *id = (uint64_t)r->generation << 32 | paper_index(p, r);
    } else {
        p->no_row += p->weight;
        refusal = RS_TOTAL_FULL;
    }
    if (*id) {
        paper_set_clock(p, now, 1);
        r->real = 1;
        r->scaled = p->scaled;
        r->real_came = now;
        r->think_us = q->think_us;
        r->owner = q->owner;
        if (r->state == PAPER_FREE) refusal = paper_submit(p, r, now);
    }
    paper_leave(p);
    return refusal;
}

static void paper_real_ends(struct rs_paper *p, struct paper_row *r, rs_time_t now, uint64_t idle_us, uint64_t bytes) {
    struct paper_class *c = paper_class_of(p, r->class);
    uint64_t us = scaled_since(p, r, now);
    double part;

    /* Of its client's time no more is taken off than there is. */
    if (idle_us) {
        uint64_t all = now > r->real_came ? now - r->real_came : 0;
        us = idle_us < all ? (uint64_t)((unsigned __int128)us * (all - idle_us) / all) : 1;
    }
    if (!us) us = 1;
    paper_set_clock(p, now, -1);
    c->went += p->weight;
    c->real_bytes += bytes * p->weight;
    c->real_us += us * p->weight;
    part = 1.0 / (double)(c->went < MEAN_OF ? c->went : MEAN_OF);
    c->mean += ((double)us - c->mean) * part;
    c->square += ((double)us * (double)us - c->square) * part;
    r->real = 0;
    r->bytes = bytes;
    if (r->state == PAPER_QUEUED || r->state == PAPER_SERVED) {
        r->known = 1;
        r->service_us = us;
        if (r->state == PAPER_SERVED) set_due(p, r, r->released + us);
    } else {
        paper_free(p, r);
    }
}

bool rs_paper_went(rs_paper_t *p, rs_time_t now, rs_paper_id_t id, uint64_t idle_us, uint64_t bytes, uint64_t *waited) {
    struct paper_row *r;

    *waited = 0;
    paper_enter(p);
    paper_advance(p, now);
    if (now < p->now) now = p->now;
    p->now = now;
    r = paper_row(p, id);
    if (r && r->real) {
        *waited = r->state == PAPER_QUEUED ? now - r->came : r->waited;
        paper_real_ends(p, r, now, idle_us, bytes);
        paper_advance(p, now);
    } else {
        r = NULL;
    }
    paper_leave(p);
    return r != NULL;
}

bool rs_paper_behind(const rs_paper_t *p, rs_paper_id_t id) {
    const struct paper_row *r = paper_row(p, id);
    return r && !r->real;
}

bool rs_paper_tick(rs_paper_t *p, rs_time_t now) {
    bool more;

    paper_enter(p);
    more = paper_advance(p, now);
    paper_leave(p);
    return more;
}

uint32_t rs_paper_reclaim(rs_paper_t *p, rs_time_t now, bool (*gone)(const void *of, uint32_t owner), const void *of) {
    uint32_t lost = 0;

    paper_enter(p);
    paper_advance(p, now);
    if (now < p->now) now = p->now;
    p->now = now;
    for (uint32_t i = 0; i < p->capacity.tickets; i++) {
        struct paper_row *r = paper_row_at(p, i);

        if (r->state == PAPER_FREE || !r->real || !gone(of, r->owner)) continue;
        paper_real_ends(p, r, now, 0, r->bytes);
        lost++;
    }
    paper_leave(p);
    return lost;
}

void rs_paper_price(rs_paper_t *p, uint32_t price) { p->price = price; }

void rs_paper_weigh(rs_paper_t *p, uint32_t weight) { p->weight = weight; }

const char *rs_paper_check(const rs_paper_t *p) {
    uint32_t real = 0, none = 0, due = 0, free = p->free;
    const char *why = rs_check(paper_engine(p));
    struct rs_stats s;

    if (!why) why = rs_heap_check(&p->due);
    if (why) return why;
    for (uint32_t i = 0; i < p->capacity.tickets; i++) {
        const struct paper_row *r = paper_row_at(p, i);
        enum rs_state state = r->ticket == RS_NO_TICKET ? RS_FREE : rs_state(paper_engine(p), r->ticket);

        real += r->state != PAPER_FREE && r->real;
        none += r->state == PAPER_FREE;
        due += rs_heap_has(&p->due, i);
        if (r->state == PAPER_QUEUED && state != RS_QUEUED) return "paper: who waits has no ticket that does";
        if (r->state == PAPER_SERVED && state != RS_RELEASED) return "paper: who is served has no slot";
        if ((r->state == PAPER_IDLE || r->state == PAPER_THINKS) && !r->real) return "paper: a row is nobody's";
        if (rs_heap_has(&p->due, i) !=
            (r->state == PAPER_QUEUED || r->state == PAPER_SERVED || r->state == PAPER_THINKS))
            return "paper: something is due of a row, or not, that its state does not say";
    }
    for (; free < p->capacity.tickets && none; none--) free = paper_row_at(p, free)->next;
    rs_stats(paper_engine(p), &s);
    if (none || free < p->capacity.tickets) return "paper: free rows are lost";
    if (real != p->at_server) return "paper: so many are not at the server";
    return s.queued + s.outstanding <= due ? NULL : "paper: a ticket has no row";
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

void rs_paper_all(const rs_paper_t *p, struct rs_paper_all *out) {
    struct rs_stats s;

    rs_stats(paper_engine(p), &s);
    *out = (struct rs_paper_all){ .classes = p->nclasses,
                                  .queued = s.queued,
                                  .outstanding = s.outstanding,
                                  .window = p->window,
                                  .at_server = p->at_server,
                                  .at_server_max = p->at_server_max,
                                  .no_row = p->no_row,
                                  .since = p->since };
}

bool rs_paper_class(const rs_paper_t *p, uint32_t class, struct rs_paper_class *out) {
    const struct paper_class *c;

    memset(out, 0, sizeof *out);
    if (class >= p->nclasses || !rs_class_stats(paper_engine(p), class, &out->on_paper)) return false;
    c = paper_class_of(p, class);
    out->on_paper.counts.released = c->released;
    out->on_paper.counts.wait_us = c->wait_us;
    out->on_paper.counts.refused_class = c->refused_class;
    out->on_paper.counts.refused_share = c->refused_share;
    out->on_paper.counts.refused_total = c->refused_total;
    out->on_paper.counts.refused_standing = c->refused_standing;
    out->came = c->came;
    out->went = c->went;
    out->real_bytes = c->real_bytes;
    out->real_us = c->real_us;
    out->paper_bytes = c->paper_bytes;
    out->paper_us = c->paper_us;
    out->joined = c->joined;
    out->again = c->again;
    out->too_long = c->too_long;
    memcpy(out->waits, c->waits, sizeof out->waits);
    return true;
}

uint64_t rs_paper_quantile(const struct rs_paper_class *c, uint32_t permille) {
    uint64_t sum = 0, seen = 0;

    for (uint32_t b = 0; b < RS_WAITS; b++) sum += c->waits[b];
    for (uint32_t b = 0; b < RS_WAITS; b++) {
        seen += c->waits[b];
        if (seen && seen * 1000 >= sum * permille)
            return rs_waits_most(b) < c->on_paper.wait_max ? rs_waits_most(b) : c->on_paper.wait_max;
    }
    return 0;
}
