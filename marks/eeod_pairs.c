/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_pairs.h"

#include <string.h>

void eeod_pairs_begin(struct eeod_pairs *p, const struct eeod_marks *m) {
    eeod_scan_begin(&p->scan, m);
    eeod_html_begin(&p->html);
    p->depth = 0;
    p->odd = false;
}

/* The bytes from `from` to `to`, of which those before the piece were held. */
static void pairs_read_text(struct eeod_pairs *p, const unsigned char *tail, const unsigned char *data, ptrdiff_t from,
                            ptrdiff_t to) {
    if (from < 0) {
        size_t n = (size_t)((to < 0 ? to : 0) - from);
        eeod_html_feed(&p->html, tail, n);
        from += (ptrdiff_t)n;
    }
    if (to > from) eeod_html_feed(&p->html, data + from, (size_t)(to - from));
}

static enum eeod_pair pairs_opening(struct eeod_pairs *p) {
    if (!p->depth) {
        p->depth = 1;
        eeod_html_begin(&p->html);
        return EEOD_PAIR_OPENS;
    }
    if (p->depth < UINT32_MAX) p->depth++;
    else p->odd = true;
    return EEOD_PAIR_OPENS_INNER;
}

static enum eeod_pair pairs_closing(struct eeod_pairs *p) {
    if (!p->depth) {
        p->odd = true;
        return EEOD_PAIR_STRAY;
    }
    if (!eeod_html_text(&p->html, p->scan.marks->text[1][0])) return EEOD_PAIR_TEXT;
    return --p->depth ? EEOD_PAIR_CLOSES_INNER : EEOD_PAIR_CLOSES;
}

enum eeod_pair eeod_pairs_next(struct eeod_pairs *p, const void *data, size_t len, ptrdiff_t *at, size_t *length) {
    const struct eeod_marks *m = p->scan.marks;
    unsigned char tail[EEOD_MARK_MAX];
    size_t held = p->scan.held;
    ptrdiff_t from = held ? -(ptrdiff_t)held : (ptrdiff_t)p->scan.fed;

    if (held) memcpy(tail, p->scan.tail, held);
    enum eeod_mark mark = eeod_scan_next(&p->scan, data, len, at);
    if (p->depth) pairs_read_text(p, tail, data, from, *at);
    if (!mark) return EEOD_PAIR_NONE;
    *length = m->length[mark - EEOD_OPEN];
    enum eeod_pair pair = mark == EEOD_OPEN ? pairs_opening(p) : pairs_closing(p);
    /* To HTML a mark within a pair is what it is: a comment, or a part of what it stands in. */
    if (p->depth && pair != EEOD_PAIR_OPENS) eeod_html_feed(&p->html, m->text[mark - EEOD_OPEN], *length);
    return pair;
}
