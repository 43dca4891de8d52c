/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * States, by the names of the standard where it has one:
 *
 *     TEXT ──> LESS ──> NAME ──> BEFORE_NAME, ATTRIBUTE, AFTER_NAME, BEFORE_VALUE, UNQUOTED, DOUBLE, SINGLE ──> TEXT, or RAW
 *                ├────> BANG ──> DASH ──> COMMENT_BEGIN ... COMMENT_BANG ──> TEXT
 *                │        └────> CDATA_NAME ──> CDATA ... CDATA_END ──> TEXT
 *                └────> BOGUS ──> TEXT                                     <?...>, <!doctype ...>, </ ...>
 *     RAW ──> RAW_LESS ──> RAW_NAME ──> BEFORE_NAME or TEXT                the end tag of that element, and no other
 */
#include "eeod_html.h"

#include <string.h>

enum {
    TEXT, LESS, LESS_SLASH, NAME, BEFORE_NAME, ATTRIBUTE, AFTER_NAME, BEFORE_VALUE, UNQUOTED, DOUBLE, SINGLE, BANG, DASH, COMMENT_BEGIN, COMMENT_BEGIN_DASH, COMMENT,
    COMMENT_DASH, COMMENT_END, COMMENT_BANG, CDATA_NAME, CDATA, CDATA_BRACKET, CDATA_END, BOGUS, RAW, RAW_LESS, RAW_NAME
};

static const char *const raws[] = { "script", "style", "textarea", "title", "iframe", "noembed", "noframes", "noscript", "xmp", "plaintext" };
static const char cdata[] = "[CDATA[";

void eeod_html_begin(struct eeod_html *h) { memset(h, 0, sizeof *h); }

static bool blank(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }
static bool letter(unsigned char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static unsigned char small(unsigned char c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }

static uint8_t tag_ends(struct eeod_html *h) {
    for (size_t i = 0; i < sizeof raws / sizeof *raws && !h->ends; i++) {
        if (strlen(raws[i]) != h->name_n || memcmp(raws[i], h->name, h->name_n)) continue;
        h->raw = (uint8_t)i;
        return RAW;
    }
    return TEXT;
}

static uint8_t name_begins(struct eeod_html *h, unsigned char c, bool ends) {
    h->ends = ends;
    h->name[0] = (char)small(c);
    h->name_n = 1;
    return NAME;
}

static uint8_t in_name(struct eeod_html *h, unsigned char c) {
    if (h->name_n < EEOD_HTML_NAME) h->name[h->name_n++] = (char)small(c);
    return NAME;
}

static uint8_t bogus(unsigned char c) { return c == '>' ? TEXT : BOGUS; }

static uint8_t less(struct eeod_html *h, unsigned char c) {
    if (letter(c)) return name_begins(h, c, false);
    return c == '/' ? LESS_SLASH : c == '!' ? BANG : c == '?' ? BOGUS : c == '<' ? LESS : TEXT;
}

static uint8_t bang(struct eeod_html *h, unsigned char c) {
    if (c == '-') return DASH;
    if (c != '[') return bogus(c);
    h->name_n = 1;
    return CDATA_NAME;
}

static uint8_t cdata_name(struct eeod_html *h, unsigned char c) {
    if (c != (unsigned char)cdata[h->name_n]) return bogus(c);
    return ++h->name_n == sizeof cdata - 1 ? CDATA : CDATA_NAME;
}

static uint8_t raw_name(struct eeod_html *h, unsigned char c) {
    const char *name = raws[h->raw];
    if (name[h->name_n] && small(c) == (unsigned char)name[h->name_n]) {
        h->name_n++;
        return RAW_NAME;
    }
    if (!name[h->name_n] && c == '>') return TEXT;
    if (!name[h->name_n] && (blank(c) || c == '/')) {
        h->ends = true;
        return BEFORE_NAME;
    }
    return c == '<' ? RAW_LESS : RAW;
}

static uint8_t before_name(struct eeod_html *h, unsigned char c) { return blank(c) || c == '/' ? BEFORE_NAME : c == '>' ? tag_ends(h) : ATTRIBUTE; }

static uint8_t next(struct eeod_html *h, unsigned char c) {
    switch (h->state) {
    case TEXT: return c == '<' ? LESS : TEXT;
    case LESS: return less(h, c);
    case LESS_SLASH: return letter(c) ? name_begins(h, c, true) : bogus(c);
    case NAME: return blank(c) || c == '/' ? BEFORE_NAME : c == '>' ? tag_ends(h) : in_name(h, c);
    case BEFORE_NAME: return before_name(h, c);
    case ATTRIBUTE: return blank(c) ? AFTER_NAME : c == '=' ? BEFORE_VALUE : c == '/' || c == '>' ? before_name(h, c) : ATTRIBUTE;
    case AFTER_NAME: return blank(c) ? AFTER_NAME : c == '=' ? BEFORE_VALUE : before_name(h, c);
    case BEFORE_VALUE: return blank(c) ? BEFORE_VALUE : c == '"' ? DOUBLE : c == '\'' ? SINGLE : c == '>' ? tag_ends(h) : UNQUOTED;
    case UNQUOTED: return blank(c) ? BEFORE_NAME : c == '>' ? tag_ends(h) : UNQUOTED;
    case DOUBLE: return c == '"' ? BEFORE_NAME : DOUBLE;
    case SINGLE: return c == '\'' ? BEFORE_NAME : SINGLE;
    case BANG: return bang(h, c);
    case DASH: return c == '-' ? COMMENT_BEGIN : bogus(c);
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
    case BOGUS: return bogus(c);
    case RAW: return c == '<' ? RAW_LESS : RAW;
    case RAW_LESS: h->name_n = 0; return c == '/' ? RAW_NAME : c == '<' ? RAW_LESS : RAW;
    default: return raw_name(h, c);
    }
}

void eeod_html_feed(struct eeod_html *h, const void *data, size_t n) {
    const unsigned char *p = data, *end = p + n;
    while (p < end) {
        if (h->state == TEXT || h->state == RAW) {
            p = memchr(p, '<', (size_t)(end - p));
            if (!p) return;
        }
        h->state = next(h, *p++);
    }
}

bool eeod_html_plain(const struct eeod_html *h, unsigned char first) { return h->state == TEXT || (h->state == LESS && first == '<'); }
