/* SPDX-License-Identifier: BSD-2-Clause */
/* test_eeod.h - blocks the slow way, for the unit tests and the fuzz target of mod_eeod/ to compare with. */
#ifndef FAIRGATE_TEST_EEOD_H
#define FAIRGATE_TEST_EEOD_H

#include "mod_eeod/eeod_blocks.h"

#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>

/* What becomes of a page: the bytes that go on, and where in them which block begins. */
struct cut {
    unsigned char *bytes;
    size_t         n, eaten;            /* bytes that go on; bytes of the page, taken out or not */
    size_t        *at;
    char          *kind;                /* 'C', 'U'; '|': a segment ends */
    size_t         blocks;
};

static inline void cut_open(struct cut *c, size_t page) {
    *c = (struct cut){ .bytes = malloc(page + 1), .at = calloc(2 * page + 2, sizeof *c->at), .kind = calloc(2 * page + 2, 1) };
    if (!c->bytes || !c->at || !c->kind) abort();
}

static inline void cut_close(struct cut *c) {
    free(c->bytes);
    free(c->at);
    free(c->kind);
}

static inline void cut_begin(struct cut *c, char kind) {
    c->at[c->blocks] = c->n;
    c->kind[c->blocks++] = kind;
}

static inline void cut_pass(struct cut *c, const unsigned char *p, size_t n) {
    memcpy(c->bytes + c->n, p, n);
    c->n += n;
}

static inline int cut_same(const struct cut *a, const struct cut *b) {
    return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n) && a->blocks == b->blocks && !memcmp(a->kind, b->kind, a->blocks) &&
           !memcmp(a->at, b->at, a->blocks * sizeof *a->at);
}

/* Where a mark begins at p: 1 opens, 2 closes. */
static inline int slow_mark(const struct eeod_marks *m, const unsigned char *p, size_t n) {
    for (int i = 0; i < 2; i++)
        if (n >= m->length[i] && !memcmp(p, m->text[i], m->length[i])) return i + 1;
    return 0;
}

/* The end of the cacheable stretch that begins at i: the next opening mark, or n.  *stray: closing marks in it. */
static inline size_t slow_gap(const struct eeod_marks *m, const unsigned char *p, size_t i, size_t n, size_t *stray) {
    *stray = 0;
    for (int k; i < n; i += k ? m->length[1] : 1) {
        if ((k = slow_mark(m, p + i, n - i)) == 1) break;
        *stray += k == 2;
    }
    return i;
}

/* A closing mark in a unique block. */
static inline void cut_inner(struct cut *c, const unsigned char *p, size_t n, int strip) {
    if (strip) return;
    cut_pass(c, p, 1);
    cut_begin(c, '|');
    cut_pass(c, p + 1, n - 1);
}

/* Begins to be found anew at each place, with the whole page at hand. */
static inline void cut_slowly(struct cut *c, const struct eeod_marks *m, int strip, size_t least, const unsigned char *p, size_t n) {
    char block = 0;
    size_t i = 0, mark = 0;
    for (;;) {
        size_t stray, end = slow_gap(m, p, i + mark, n, &stray), text = end - i - mark;
        if (stray || (text && end - i >= least)) cut_begin(c, block = 'C');
        if (end < n && block == 0) cut_begin(c, block = 'U');
        if (mark && block == 'U' && end < n) cut_inner(c, p + i, mark, strip);
        else if (!strip) cut_pass(c, p + i, mark);
        cut_pass(c, p + i + mark, text);
        if (end == n) return;
        if (block == 'C') cut_begin(c, block = 'U');
        size_t depth = 0;
        for (i = end; i < n; ) {
            int k = slow_mark(m, p + i, n - i);
            if (k == 2 && depth == 1) break;
            if (k == 1) depth++;
            if (k == 2) depth--;
            size_t length = k ? m->length[k - 1] : 1;
            if (k == 2) cut_inner(c, p + i, length, strip);
            else if (!k || !strip) cut_pass(c, p + i, length);
            i += length;
        }
        if (i >= n) return;
        mark = m->length[1];
    }
}

/* The same as the product does it, piece by piece.  Bytes that have been taken may be gone while the piece is still searched: ASan says if they are read. */
struct fast {
    struct cut          *cut;
    const unsigned char *page;
    unsigned char       *piece;
    size_t               at, length;    /* of the piece, in the page */
};

static inline void fast_gone(const struct fast *f) {
    size_t eaten = f->cut->eaten, gone = eaten > f->at ? eaten - f->at : 0;
    if (gone) ASAN_POISON_MEMORY_REGION(f->piece, gone < f->length ? gone : f->length);
}

static inline void fast_take(void *context, enum eeod_step step, size_t n) {
    struct fast *f = context;
    if (step == EEOD_CUT) {
        cut_begin(f->cut, '|');
        return;
    }
    if (step == EEOD_BEGIN_CACHEABLE || step == EEOD_BEGIN_UNIQUE) {
        cut_begin(f->cut, step == EEOD_BEGIN_UNIQUE ? 'U' : 'C');
        return;
    }
    if (step == EEOD_PASS) cut_pass(f->cut, f->page + f->cut->eaten, n);
    f->cut->eaten += n;
    fast_gone(f);
}

static inline void fast_feed(struct eeod_blocks *b, struct fast *f, size_t at, size_t length) {
    f->piece = malloc(length + 1);
    if (!f->piece) abort();
    memcpy(f->piece, f->page + at, length);
    f->at = at;
    f->length = length;
    eeod_blocks_feed(b, f->piece, length);
    ASAN_UNPOISON_MEMORY_REGION(f->piece, length);
    free(f->piece);
    f->length = 0;
}

#endif
