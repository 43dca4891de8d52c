/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_eeod_keyed.h - marks with a key the slow way, with the whole page at hand, and as the product does it, piece by
 * piece: for the unit tests and the fuzz target to compare.
 */
#ifndef FAIRGATE_TEST_EEOD_KEYED_H
#define FAIRGATE_TEST_EEOD_KEYED_H

#include "mod_eeod/eeod_keyed.h"

#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYED_KEY "0123456789abcdef"

/* What becomes of a page. */
struct keyed_page {
    unsigned char *bytes;
    size_t         n, eaten;            /* bytes that go on; bytes of the page */
    uint64_t       ours, spoiled;
};

static inline void keyed_open(struct keyed_page *k, size_t page) {
    *k = (struct keyed_page){ .bytes = malloc(page + 1) };
    if (!k->bytes) abort();
}

static inline void keyed_close(struct keyed_page *k) { free(k->bytes); }

static inline bool keyed_same(const struct keyed_page *a, const struct keyed_page *b) {
    return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n) && a->ours == b->ours && a->spoiled == b->spoiled;
}

/* In two passes over the page: first the usual marks, then those with the key. */
static inline void keyed_slowly(struct keyed_page *k, const unsigned char *p, size_t n) {
    static const char *const from[] = { "<!--EEOD-->", "<!--/EEOD-->", "<!--EEOD " KEYED_KEY "-->",
                                        "<!--/EEOD " KEYED_KEY "-->" };
    static const char *const to[] = { "<!--EEOd-->", "<!--/EEOd-->", "<!--EEOD-->", "<!--/EEOD-->" };
    unsigned char *before = malloc(n + 1);
    if (!before) abort();
    memcpy(k->bytes, p, n);
    k->n = n;
    for (int pass = 0; pass < 4; pass += 2) {
        size_t have = k->n;
        memcpy(before, k->bytes, have);
        k->n = 0;
        for (size_t i = 0, step; i < have; i += step) {
            step = 0;
            for (int m = pass; m < pass + 2 && !step; m++) {
                if (have - i < strlen(from[m]) || memcmp(before + i, from[m], strlen(from[m]))) continue;
                step = strlen(from[m]);
                memcpy(k->bytes + k->n, to[m], strlen(to[m]));
                k->n += strlen(to[m]);
                if (pass) k->ours++;
                else k->spoiled++;
            }
            if (!step) k->bytes[k->n++] = before[i], step = 1;
        }
    }
    k->eaten = n;
    free(before);
}

struct keyed_fast {
    struct keyed_page   *to;
    const unsigned char *page;
};

static inline void keyed_take_fast(void *context, enum eeod_keyed_step step, size_t n) {
    struct keyed_fast *f = context;
    if (step == EEOD_KEYED_PASS) memcpy(f->to->bytes + f->to->n, f->page + f->to->eaten, n);
    if (step == EEOD_KEYED_SPOIL) {
        if (n != 1) abort();
        f->to->bytes[f->to->n] = EEOD_KEYED_LETTER[0];
    }
    if (step != EEOD_KEYED_DROP) f->to->n += n;
    f->to->eaten += n;
}

/* A piece in memory of its own; what is held back is bounded. */
static inline void keyed_feed_fast(struct eeod_keyed *k, struct keyed_fast *f, size_t at, size_t length) {
    unsigned char *piece = malloc(length + 1);
    if (!piece) abort();
    memcpy(piece, f->page + at, length);
    ASAN_POISON_MEMORY_REGION(piece + length, 1);
    eeod_keyed_feed(k, piece, length);
    ASAN_UNPOISON_MEMORY_REGION(piece + length, 1);
    free(piece);
    if (at + length - f->to->eaten != k->held || k->held >= EEOD_KEYED_HELD) abort();
}

static inline void keyed_end_fast(struct eeod_keyed *k, struct keyed_fast *f) {
    eeod_keyed_end(k);
    f->to->ours = k->ours;
    f->to->spoiled = k->spoiled;
}

#endif
