/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_blocks.h"

#include <string.h>

void eeod_blocks_begin(struct eeod_blocks *b, const struct eeod_marks *m, bool strip, size_t least, eeod_take *take, void *context) {
    memset(b, 0, sizeof *b);
    eeod_scan_begin(&b->scan, m);
    b->strip = strip;
    b->least = least;
    b->take = take;
    b->context = context;
}

static void step(struct eeod_blocks *b, enum eeod_step s, size_t n) {
    if (n || s >= EEOD_CUT) b->take(b->context, s, n);
}

static void begin(struct eeod_blocks *b, enum eeod_block block) {
    b->block = block;
    b->begun[block]++;
    step(b, block == EEOD_UNIQUE ? EEOD_BEGIN_UNIQUE : EEOD_BEGIN_CACHEABLE, 0);
}

static void mark(struct eeod_blocks *b, size_t n) { step(b, b->strip ? EEOD_DROP : EEOD_PASS, n); }

/* A closing mark within a unique block: no segment is to begin with the whole of it. */
static void inner_mark(struct eeod_blocks *b, size_t n) {
    if (b->strip || !n) {
        mark(b, n);
        return;
    }
    step(b, EEOD_PASS, 1);
    step(b, EEOD_CUT, 0);
    step(b, EEOD_PASS, n - 1);
}

/* What is held goes on, as part of the block that has begun; joined: behind it comes what is unique. */
static void release(struct eeod_blocks *b, bool joined) {
    if (joined) inner_mark(b, b->mark);
    else mark(b, b->mark);
    step(b, EEOD_PASS, b->gap);
    b->mark = b->gap = 0;
}

/* So many bytes of text. */
static void text(struct eeod_blocks *b, size_t n) {
    if (!n) return;
    if (b->depth || b->block == EEOD_CACHEABLE) {
        step(b, EEOD_PASS, n);
        return;
    }
    b->gap += n;
    if (b->mark + b->gap < b->least) return;
    begin(b, EEOD_CACHEABLE);
    release(b, false);
}

static void opening(struct eeod_blocks *b, size_t length) {
    bool joined = b->block == EEOD_UNIQUE;
    if (b->depth++) {
        b->odd++;
    } else if (!joined) {
        begin(b, EEOD_UNIQUE);
    } else {
        b->joined++;
    }
    release(b, joined);
    mark(b, length);
}

static void closing(struct eeod_blocks *b, size_t length) {
    if (!b->depth) {
        b->odd++;
        if (b->block != EEOD_CACHEABLE) {
            begin(b, EEOD_CACHEABLE);
            release(b, false);
        }
        text(b, length);
    } else if (--b->depth) {
        b->odd++;
        inner_mark(b, length);
    } else {
        b->mark = length;
    }
}

void eeod_blocks_feed(struct eeod_blocks *b, const void *data, size_t len) {
    ptrdiff_t from = -(ptrdiff_t)b->scan.held, at;
    enum eeod_mark m;
    while ((m = eeod_scan_next(&b->scan, data, len, &at))) {
        size_t length = b->scan.marks->length[m - EEOD_OPEN];
        text(b, (size_t)(at - from));
        if (m == EEOD_OPEN) opening(b, length);
        else closing(b, length);
        from = at + (ptrdiff_t)length;
    }
    text(b, (size_t)(at - from));
}

void eeod_blocks_end(struct eeod_blocks *b) {
    text(b, b->scan.held);
    b->scan.held = 0;
    if (b->block == EEOD_UNIQUE && !b->depth && b->mark + b->gap) b->joined++;
    release(b, false);
}
