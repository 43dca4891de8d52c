/* SPDX-License-Identifier: BSD-2-Clause */
/*
 *     TEXT ──> LESS ──> NAME ──> RAW                          <script ...
 *                └────> BANG ──> DASH ──> COMMENT_BEGIN ... COMMENT_BANG ──> TEXT
 *                         └────> CDATA_NAME ──> CDATA ... CDATA_END ──> TEXT
 *     RAW ──> RAW_LESS ──> RAW_NAME ──> TEXT                  the end tag of that element, and no other
 *
 * and back to TEXT from each where it is not that.  Most of a page is TEXT, and most of its tags begin with no letter that matters: those are passed by 128 places at a time.
 */
#include "eeod_html.h"

#include "eeod_lanes.h"

enum {
    TEXT, LESS, NAME, BANG, DASH, COMMENT_BEGIN, COMMENT_BEGIN_DASH, COMMENT, COMMENT_DASH, COMMENT_END, COMMENT_BANG, CDATA_NAME, CDATA, CDATA_BRACKET, CDATA_END, RAW, RAW_LESS, RAW_NAME
};

/* The first letters: candidate() has them, too. */
static const char *const elements[] = { "script", "style", "textarea", "title", "iframe", "noframes", "noscript" };
static const char cdata[] = "[CDATA[";

void eeod_html_begin(struct eeod_html *h) { memset(h, 0, sizeof *h); }

static bool ends_name(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == '/' || c == '>'; }
static unsigned char small(unsigned char c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }
static uint8_t text(unsigned char c) { return c == '<' ? LESS : TEXT; }

static uint8_t less(struct eeod_html *h, unsigned char c) {
    if (c == '!') return BANG;
    if (small(c) < 'a' || small(c) > 'z') return text(c);
    h->name[0] = (char)small(c);
    h->n = 1;
    return NAME;
}

static uint8_t name(struct eeod_html *h, unsigned char c) {
    if (!ends_name(c)) {
        if (h->n == sizeof h->name || c == '<') return text(c);
        h->name[h->n++] = (char)small(c);
        return NAME;
    }
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        if (strlen(elements[i]) != h->n || memcmp(elements[i], h->name, h->n)) continue;
        h->element = (uint8_t)i;
        return RAW;
    }
    return TEXT;
}

static uint8_t raw_name(struct eeod_html *h, unsigned char c) {
    const char *wanted = elements[h->element];
    if (!wanted[h->n]) return ends_name(c) ? TEXT : c == '<' ? RAW_LESS : RAW;
    if (small(c) != (unsigned char)wanted[h->n]) return c == '<' ? RAW_LESS : RAW;
    h->n++;
    return RAW_NAME;
}

static uint8_t bang(struct eeod_html *h, unsigned char c) {
    h->n = 1;
    return c == '-' ? DASH : c == '[' ? CDATA_NAME : text(c);
}

static uint8_t cdata_name(struct eeod_html *h, unsigned char c) {
    if (c != (unsigned char)cdata[h->n]) return text(c);
    return ++h->n == sizeof cdata - 1 ? CDATA : CDATA_NAME;
}

static uint8_t raw_less(struct eeod_html *h, unsigned char c) {
    h->n = 0;
    return c == '/' ? RAW_NAME : c == '<' ? RAW_LESS : RAW;
}

static uint8_t next(struct eeod_html *h, unsigned char c) {
    switch (h->state) {
    case TEXT: return text(c);
    case LESS: return less(h, c);
    case NAME: return name(h, c);
    case BANG: return bang(h, c);
    case DASH: return c == '-' ? COMMENT_BEGIN : text(c);
    case COMMENT_BEGIN: return c == '>' ? TEXT : c == '-' ? COMMENT_BEGIN_DASH : COMMENT;
    case COMMENT_BEGIN_DASH: return c == '>' ? TEXT : c == '-' ? COMMENT_END : COMMENT;
    case COMMENT: return c == '-' ? COMMENT_DASH : COMMENT;
    case COMMENT_DASH: return c == '-' ? COMMENT_END : COMMENT;
    case COMMENT_END: return c == '>' ? TEXT : c == '-' ? COMMENT_END : c == '!' ? COMMENT_BANG : COMMENT;
    case COMMENT_BANG: return c == '>' ? TEXT : c == '-' ? COMMENT_DASH : COMMENT;
    case CDATA_NAME: return cdata_name(h, c);
    case CDATA: return c == ']' ? CDATA_BRACKET : CDATA;
    case CDATA_BRACKET: return c == ']' ? CDATA_END : CDATA;
    case CDATA_END: return c == '>' ? TEXT : c == ']' ? CDATA_END : CDATA;
    case RAW: return c == '<' ? RAW_LESS : RAW;
    case RAW_LESS: return raw_less(h, c);
    default: return raw_name(h, c);
    }
}

/* The first place from `i` on where what matters in text may begin; or one that is too near to the end for another step. */
CLONED static size_t candidate(const unsigned char *p, size_t i, size_t n) {
    const lanes less_than = ALL('<'), exclamation = ALL('!'), upper = ALL(32), s = ALL('s'), t = ALL('t'), in = ALL('i'), no = ALL('n');
    for (; i + STEP + 1 <= n; i += STEP) {
        const unsigned char *q = p + i;
#define LETTER(k) (AT(q + 1, k) | upper)
#define HERE(k) ((AT(q, k) == less_than) & ((AT(q + 1, k) == exclamation) | (LETTER(k) == s) | (LETTER(k) == t) | (LETTER(k) == in) | (LETTER(k) == no)))
        lanes hit[] = FOUR(HERE);
#undef HERE
#undef LETTER
        if (any_place(hit)) return i + first_place(hit);
    }
    return i;
}

void eeod_html_feed(struct eeod_html *h, const void *data, size_t n) {
    const unsigned char *p = data, *found;
    for (size_t i = 0; i < n; i++) {
        if (h->state == TEXT) i = candidate(p, i, n);
        if (h->state == TEXT || h->state == RAW) {
            found = memchr(p + i, '<', n - i);
            if (!found) return;
            i = (size_t)(found - p);
        }
        h->state = next(h, p[i]);
    }
}

bool eeod_html_text(const struct eeod_html *h, unsigned char first) {
    switch (h->state) {
    case TEXT: case NAME: return true;
    case LESS: case BANG: case DASH: case CDATA_NAME: return first == '<';
    default: return false;
    }
}
