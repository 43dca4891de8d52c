/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_blocks.h"

#include <string.h>

void eeod_blocks_begin(struct eeod_blocks *b, const struct eeod_marks *m, bool strip, size_t least, eeod_take *take,
                       void *context) {
    memset(b, 0, sizeof *b);
    eeod_pairs_begin(&b->pairs, m);
    b->strip = strip;
    b->least = least;
    b->take = take;
    b->context = context;
}

static void blocks_step(struct eeod_blocks *b, enum eeod_step s, size_t n) {
    if (n || s >= EEOD_CUT) b->take(b->context, s, n);
}

static void blocks_begin(struct eeod_blocks *b, enum eeod_block block) {
    b->block = block;
    b->begun[block]++;
    blocks_step(b, block == EEOD_UNIQUE ? EEOD_BEGIN_UNIQUE : EEOD_BEGIN_CACHEABLE, 0);
}

static void mark(struct eeod_blocks *b, size_t n) { blocks_step(b, b->strip ? EEOD_DROP : EEOD_PASS, n); }

/* A closing mark within a unique block: no segment is to begin with the whole of it. */
static void inner_text(struct eeod_blocks *b, size_t n) {
    blocks_step(b, EEOD_PASS, 1);
    blocks_step(b, EEOD_CUT, 0);
    blocks_step(b, EEOD_PASS, n - 1);
}

static void inner_mark(struct eeod_blocks *b, size_t n) {
    if (b->strip || !n) mark(b, n);
    else inner_text(b, n);
}

/* What is held goes on, as part of the block that has begun; joined: behind it comes what is unique. */
static void blocks_release(struct eeod_blocks *b, bool joined) {
    if (joined) inner_mark(b, b->mark);
    else mark(b, b->mark);
    blocks_step(b, EEOD_PASS, b->gap);
    b->mark = b->gap = 0;
}

/* So many bytes of text. */
static void blocks_text(struct eeod_blocks *b, size_t n, bool unique) {
    if (!n) return;
    if (unique || b->block == EEOD_CACHEABLE) {
        blocks_step(b, EEOD_PASS, n);
        return;
    }
    b->gap += n;
    if (b->mark + b->gap < b->least) return;
    blocks_begin(b, EEOD_CACHEABLE);
    blocks_release(b, false);
}

static void blocks_opening(struct eeod_blocks *b, size_t length) {
    bool joined = b->block == EEOD_UNIQUE;
    if (!joined) blocks_begin(b, EEOD_UNIQUE);
    else if (!b->pairs.odd) b->joined++;
    blocks_release(b, joined);
    mark(b, length);
}

static void blocks_closing(struct eeod_blocks *b, size_t length) {
    if (b->pairs.odd) inner_mark(b, length);
    else b->mark = length;
}

/*
 * What is unique now begins behind the first byte of the mark, or no segment could be told from one of a cacheable
 * block.
 */
static void stray(struct eeod_blocks *b, size_t length) {
    if (b->block == EEOD_CACHEABLE) {
        blocks_step(b, EEOD_PASS, 1);
        blocks_begin(b, EEOD_UNIQUE);
        blocks_step(b, EEOD_PASS, length - 1);
        return;
    }
    bool joined = b->block == EEOD_UNIQUE;
    if (!joined) blocks_begin(b, EEOD_UNIQUE);
    else if (b->mark + b->gap) b->joined++;
    blocks_release(b, joined);
    inner_text(b, length);
}

static void marked(struct eeod_blocks *b, enum eeod_pair pair, size_t length) {
    if (pair != EEOD_PAIR_OPENS && pair != EEOD_PAIR_CLOSES) b->odd++;
    switch (pair) {
    case EEOD_PAIR_OPENS: blocks_opening(b, length); break;
    case EEOD_PAIR_OPENS_INNER: mark(b, length); break;
    case EEOD_PAIR_CLOSES: blocks_closing(b, length); break;
    case EEOD_PAIR_CLOSES_INNER: inner_mark(b, length); break;
    case EEOD_PAIR_TEXT: inner_text(b, length); break;
    default: stray(b, length);
    }
}

void eeod_blocks_feed(struct eeod_blocks *b, const void *data, size_t len) {
    ptrdiff_t from = -(ptrdiff_t)b->pairs.scan.held, at;
    size_t length;
    bool unique = eeod_pairs_unique(&b->pairs); /* what stands before the next mark */
    for (enum eeod_pair pair; (pair = eeod_pairs_next(&b->pairs, data, len, &at, &length));
         unique = eeod_pairs_unique(&b->pairs)) {
        blocks_text(b, (size_t)(at - from), unique);
        marked(b, pair, length);
        from = at + (ptrdiff_t)length;
    }
    blocks_text(b, (size_t)(at - from), unique);
}

void eeod_blocks_end(struct eeod_blocks *b) {
    blocks_text(b, b->pairs.scan.held, eeod_pairs_unique(&b->pairs));
    b->pairs.scan.held = 0;
    if (b->block == EEOD_UNIQUE && !b->pairs.depth && b->mark + b->gap) b->joined++;
    blocks_release(b, false);
}
