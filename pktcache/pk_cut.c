/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_cut.h"

enum { WORTH = PK_TOKEN + PK_PART_HEAD }; /* bytes: fewer go as they are rather than as a fingerprint */

static void add_part(struct pk_parts *parts, struct pk_part p) {
    struct pk_part *last = parts->n ? parts->part + parts->n - 1 : NULL;
    bool same = last && last->kind == p.kind && p.kind != PK_PART_SLICES && !last->ends &&
                (p.kind == PK_PART_PLAIN || (p.place == last->place + last->n && p.at == last->at + last->n));

    if (same) {
        last->n += p.n;
        last->ends = p.ends;
    } else if (p.n || p.ends) {
        parts->part[parts->n++] = p;
    }
}

static void plain_part(struct pk_parts *parts, uint32_t at, uint32_t n) {
    add_part(parts, (struct pk_part){ .kind = PK_PART_PLAIN, .at = at, .n = n });
}

/* The block is over; fp: its own, or NULL if it is not known. */
static void block_over(struct pk_cutter *c, struct pk_cut *cut, const struct pk_fingerprint *fp) {
    struct pk_fingerprint next;
    bool guesses = fp && pk_store_next(c->store, fp, &next);

    if (fp && cut->follows) pk_store_link(c->store, &cut->before, fp);
    if (!guesses && cut->guesses) guesses = pk_store_next(c->store, &cut->guess, &next);
    cut->guesses = guesses;
    if (guesses) cut->guess = next;
    cut->follows = fp;
    if (fp) cut->before = *fp;
}

/* A block of which all is there: stored, unless it is; whether it was. */
static bool block_known(struct pk_cutter *c, struct pk_cut *cut, const uint8_t *bytes, uint32_t n, bool told,
                        struct pk_fingerprint *fp) {
    pk_fingerprint_of(c->key, bytes, n, fp);
    enum pk_met met = pk_store_meet_block(c->store, fp, bytes, n, told);
    c->stored += met == PK_NEW;
    block_over(c, cut, met == PK_CLASH ? NULL : fp);
    return met == PK_SAME;
}

static bool as_guessed(struct pk_cutter *c, struct pk_cut *cut, const uint8_t *bytes, uint32_t n) {
    return cut->guesses && pk_store_has(c->store, &cut->guess, pk_block_offset(cut->place), bytes, n);
}

/* n bytes of one block; over: it is over behind them.  What part they are. */
static void cut_slice(struct pk_cutter *c, struct pk_cut *cut, struct pk_part *p, const uint8_t *bytes, bool over) {
    uint32_t offset = pk_block_offset(cut->place), length;
    const uint8_t *whole;

    p->kind = PK_PART_PLAIN;
    if ((!offset || cut->state == PK_CUT_GUESSED) && as_guessed(c, cut, bytes, p->n)) {
        p->kind = PK_PART_SLICES;
        p->fp = cut->guess;
        cut->state = PK_CUT_GUESSED;
        if (over) block_over(c, cut, &p->fp);
        return;
    }
    if (!offset && over) {
        /* Behind one that is not worth it, at the end of a run, the guess is still that of the next. */
        if (p->n >= c->least) p->kind = block_known(c, cut, bytes, p->n, false, &p->fp) ? PK_PART_SLICES : PK_PART_KEPT;
        return;
    }
    if (!offset) {
        cut->state = PK_CUT_GATHERED;
    } else if (cut->state == PK_CUT_GUESSED) {
        cut->state = PK_CUT_LEFT;
        if (cut->follows) pk_store_link(c->store, &cut->before, NULL);
    }
    if (cut->state == PK_CUT_GATHERED) {
        struct pk_fingerprint fp;
        p->kind = PK_PART_KEPT;
        whole = pk_blocks_add(c->blocks, cut->id, cut->place, bytes, p->n, p->ends, &length);
        if (whole) block_known(c, cut, whole, length, true, &fp);
        else if (over) block_over(c, cut, NULL);
    } else if (over) {
        block_over(c, cut, NULL);
    }
}

/* A part of a body may begin within a block; that one is left.  From run to run of a body blocks follow each other. */
static void cut_begins(struct pk_cut *cut, const struct pk_span *s) {
    cut->place = (cut->place + PK_BLOCK - 1) / PK_BLOCK * PK_BLOCK + s->offset;
    if (!s->goes_on) cut->guesses = cut->follows = false;
    cut->state = PK_CUT_LEFT;
}

static void cut_span(struct pk_cutter *c, struct pk_cut *cut, const uint8_t *payload, const struct pk_span *s,
                     struct pk_parts *parts) {
    uint32_t at = s->at, end = s->at + s->n;

    if (s->begins) cut_begins(cut, s);
    do {
        uint32_t offset = pk_block_offset(cut->place), most = PK_BLOCK - offset;
        struct pk_part p = { .at = at, .n = end - at < most ? end - at : most, .place = cut->place };
        p.ends = s->ends && at + p.n == end && offset + p.n < PK_BLOCK;
        if (p.n || (offset && cut->state == PK_CUT_GATHERED))
            cut_slice(c, cut, &p, payload + at, offset + p.n == PK_BLOCK || p.ends);
        if (p.kind != PK_PART_KEPT) p.ends = false;
        /* What is known needs no storing, so it may go either way. */
        if (p.kind == PK_PART_SLICES && p.n < WORTH) p.kind = PK_PART_PLAIN;
        if (p.n || p.ends) add_part(parts, p);
        cut->place += p.n;
        at += p.n;
    } while (at < end);
}

void pk_cut_piece(struct pk_cutter *c, struct pk_cut *cut, const uint8_t *payload, uint32_t n,
                  const struct pk_spans *spans, struct pk_parts *parts) {
    uint32_t at = 0;

    parts->n = 0;
    if (!cut->id) cut->id = ++c->ids;
    for (uint32_t i = 0; i < spans->n; i++) {
        const struct pk_span *s = spans->span + i;
        if (s->at > at) plain_part(parts, at, s->at - at);
        cut_span(c, cut, payload, s, parts);
        at = s->at + s->n;
    }
    if (at < n) plain_part(parts, at, n - at);
}

void pk_cut_pass(struct pk_cut *cut, const struct pk_spans *spans) {
    for (uint32_t i = 0; i < spans->n; i++) {
        if (spans->span[i].begins) cut_begins(cut, spans->span + i);
        cut->place += spans->span[i].n;
        cut->state = PK_CUT_LEFT;
        cut->guesses = cut->follows = false;
    }
}
