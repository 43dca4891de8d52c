/* SPDX-License-Identifier: BSD-2-Clause */
/* test_eeod.h - blocks the slow way, for the unit tests and the fuzz target of mod_eeod/ to compare with. */
#ifndef FAIRGATE_TEST_EEOD_H
#define FAIRGATE_TEST_EEOD_H

#include "mod_eeod/eeod_blocks.h"
#include "test_marks.h"

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
    *c = (struct cut){ .bytes = malloc(page + 1),
                       .at = calloc(2 * page + 2, sizeof *c->at),
                       .kind = calloc(2 * page + 2, 1) };
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
    return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n) && a->blocks == b->blocks &&
           !memcmp(a->kind, b->kind, a->blocks) && !memcmp(a->at, b->at, a->blocks * sizeof *a->at);
}

/* A closing mark in a unique block. */
static inline void cut_text(struct cut *c, const unsigned char *p, size_t n) {
    cut_pass(c, p, 1);
    cut_begin(c, '|');
    cut_pass(c, p + 1, n - 1);
}

static inline void cut_inner(struct cut *c, const unsigned char *p, size_t n, int strip) {
    if (!strip) cut_text(c, p, n);
}

/* What begins at p, in a unique block; how many bytes it has. */
static inline size_t cut_unique(struct cut *c, const struct eeod_marks *m, const unsigned char *p, char kind,
                                int strip) {
    size_t n = !kind ? 1 : m->length[kind != 'O' && kind != 'o'];
    if (kind == 't' || kind == 's') cut_text(c, p, n);
    else if (kind == 'c' || kind == 'C') cut_inner(c, p, n, strip);
    else if (!kind || !strip) cut_pass(c, p, n);
    return n;
}

/* With the whole page at hand, and what each of its marks does. */
static inline void cut_by_kinds(struct cut *c, const struct eeod_marks *m, int strip, size_t least,
                                const unsigned char *p, size_t n, const char *kind) {
    char block = 0;
    size_t i = 0, mark = 0;
    for (;;) {
        size_t end = i + mark;
        while (end < n && kind[end] != 'O' && kind[end] != 's') end++;
        size_t text = end - i - mark;
        if (text && end - i >= least) cut_begin(c, block = 'C');
        if (end < n && block == 0) cut_begin(c, block = 'U');
        if (mark && block == 'U' && end < n) cut_inner(c, p + i, mark, strip);
        else if (!strip) cut_pass(c, p + i, mark);
        cut_pass(c, p + i + mark, text);
        if (end == n) return;
        i = end;
        if (kind[i] == 's') {       /* all that follows is unique */
            if (block == 'C') {
                cut_pass(c, p + i, 1);
                cut_begin(c, 'U');
                cut_pass(c, p + i + 1, m->length[1] - 1);
                i += m->length[1];
            }
            while (i < n) i += cut_unique(c, m, p + i, kind[i], strip);
            return;
        }
        if (block == 'C') cut_begin(c, block = 'U');
        while (i < n && kind[i] != 'C') i += cut_unique(c, m, p + i, kind[i], strip);
        if (i >= n) return;
        mark = m->length[1];
    }
}

static inline void cut_slowly(struct cut *c, const struct eeod_marks *m, int strip, size_t least,
                              const unsigned char *p, size_t n) {
    char *kind = malloc(n + 1);
    if (!kind) abort();
    slow_pairs(m, p, n, kind);
    cut_by_kinds(c, m, strip, least, p, n, kind);
    free(kind);
}

/*
 * The same as the product does it, piece by piece.  Bytes that have been taken may be gone while the piece is still
 * searched: ASan says if they are read.
 */
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
