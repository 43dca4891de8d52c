/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_keyed.h"

#include <stdio.h>
#include <string.h>

#define OPENS  "<!--EEOD"
#define CLOSES "<!--/EEOD"
#define ENDS   "-->"

const struct eeod_marks eeod_keyed_beginnings = { .text = { OPENS, CLOSES },
                                                  .length = { sizeof OPENS - 1, sizeof CLOSES - 1 },
                                                  .common = sizeof "<!--" - 1 };

enum { END = sizeof ENDS - 1, REST = 1 + EEOD_KEY_DIGITS + END };

enum what_follows { UNKNOWN_YET, ANYTHING, END_OF_USUAL, END_OF_OURS };

void eeod_keyed_begin(struct eeod_keyed *k, const char key[EEOD_KEY_DIGITS], eeod_keyed_take *take, void *context) {
    memset(k, 0, sizeof *k);
    eeod_scan_begin(&k->scan, &eeod_keyed_beginnings);
    snprintf(k->rest, sizeof k->rest, " %.*s" ENDS, EEOD_KEY_DIGITS, key);
    k->take = take;
    k->context = context;
}

/* From *told to `to`, both counted from the first byte of the piece. */
static void keyed_tell(struct eeod_keyed *k, enum eeod_keyed_step step, ptrdiff_t *told, ptrdiff_t to) {
    if (to > *told) k->take(k->context, step, (size_t)(to - *told));
    *told = to;
}

/* What is at *i follows the beginning of a mark, or what was seen behind it. */
static enum what_follows keyed_follow(struct eeod_keyed *k, const unsigned char *p, size_t *i, size_t len) {
    for (; *i < len; ++*i) {
        if (!k->seen) k->usual = p[*i] == ENDS[0];
        const char *rest = k->usual ? ENDS : k->rest;
        if (p[*i] != (unsigned char)rest[k->seen]) return ANYTHING;
        if (++k->seen < (k->usual ? END : REST)) continue;
        ++*i;
        return k->usual ? END_OF_USUAL : END_OF_OURS;
    }
    return UNKNOWN_YET;
}

/* A mark ends at `end`. */
static void keyed_mark(struct eeod_keyed *k, ptrdiff_t *told, ptrdiff_t end) {
    if (k->usual) {
        k->spoiled++;
        keyed_tell(k, EEOD_KEYED_PASS, told, end - END - 1);
        keyed_tell(k, EEOD_KEYED_SPOIL, told, end - END);
    } else {
        k->ours++;
        keyed_tell(k, EEOD_KEYED_PASS, told, end - REST);
        keyed_tell(k, EEOD_KEYED_DROP, told, end - END);
    }
}

void eeod_keyed_feed(struct eeod_keyed *k, const void *data, size_t len) {
    ptrdiff_t told = -(ptrdiff_t)k->held, at, keep;
    size_t behind = 0;

    for (;;) {
        if (k->beginning) {
            enum what_follows what = keyed_follow(k, data, &behind, len);
            if (what == END_OF_USUAL || what == END_OF_OURS) keyed_mark(k, &told, (ptrdiff_t)behind);
            if (what != UNKNOWN_YET) k->beginning = 0;
        }
        /* What a mark ends with has no `<`, so nothing begins in it; and if it is followed still, nothing behind it. */
        enum eeod_mark mark = eeod_scan_next(&k->scan, data, len, &at);
        if (!mark) break;
        k->beginning = eeod_keyed_beginnings.length[mark - EEOD_OPEN];
        k->seen = 0;
        behind = (size_t)(at + (ptrdiff_t)k->beginning);
    }
    keep = k->beginning ? (ptrdiff_t)len - (ptrdiff_t)(k->seen + k->beginning) : at;
    keyed_tell(k, EEOD_KEYED_PASS, &told, keep);
    k->held = (size_t)((ptrdiff_t)len - keep);
}

void eeod_keyed_end(struct eeod_keyed *k) {
    if (k->held) k->take(k->context, EEOD_KEYED_PASS, k->held);
    k->held = k->beginning = 0;
}
