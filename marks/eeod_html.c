/* SPDX-License-Identifier: BSD-2-Clause */
/*
 *     TEXT ──> LESS ──> NAME ──> TAG ──> ATTRIBUTE ──> BEFORE_VALUE ──> UNQUOTED, DOUBLE, SINGLE ──> TAG
 *                │                └────────┴──────────────┴────────────────┴──> TEXT, RAW or PLAINTEXT behind `>`
 *                ├────> LESS_SLASH ──> NAME
 *                ├────> BANG ──> DASH ──> COMMENT_BEGIN ... COMMENT_BANG ──> TEXT
 *                │        └────> CDATA_NAME ──> CDATA ... CDATA_END ──> TEXT
 *                └────> BOGUS ──> TEXT                       <?...>, <!doctype ...>, </ ...>
 *     RAW ──> RAW_LESS ──> RAW_NAME ──> TAG                  the end tag of that element, and no other
 *
 * next() is all of it, byte by byte.  html_pass() is for speed alone: it goes where next() would, over texts, values
 * and usual tags, and leaves to next() what it does not see as a whole.
 */
#include "eeod_html.h"

#include "eeod_lanes.h"

/*
 * TAG is also HTML's "before attribute name" and "self-closing start tag", ATTRIBUTE its "after attribute name": what
 * comes next means the same there.
 */
enum {
    TEXT,
    LESS,
    LESS_SLASH,
    NAME,
    TAG,
    ATTRIBUTE,
    BEFORE_VALUE,
    UNQUOTED,
    DOUBLE,
    SINGLE,
    BANG,
    DASH,
    COMMENT_BEGIN,
    COMMENT_BEGIN_DASH,
    COMMENT,
    COMMENT_DASH,
    COMMENT_END,
    COMMENT_BANG,
    CDATA_NAME,
    CDATA,
    CDATA_BRACKET,
    CDATA_END,
    BOGUS,
    RAW,
    RAW_LESS,
    RAW_NAME,
    PLAINTEXT,
    STATES
};

/* Where there is one byte only that leads on. */
static const unsigned char leads_on[STATES] = {
    [TEXT] = '<', [RAW] = '<', [DOUBLE] = '"', [SINGLE] = '\'', [COMMENT] = '-', [CDATA] = ']', [BOGUS] = '>'
};

/* None is behind a longer one; the last has no end. */
#define ELEMENT(name)                                                                                                  \
    { sizeof name - 1, name }
static const struct {
    uint8_t n;
    char name[10];
} elements[] = { ELEMENT(""),         ELEMENT("xmp"),      ELEMENT("style"),    ELEMENT("title"),
                 ELEMENT("iframe"),   ELEMENT("script"),   ELEMENT("noembed"),  ELEMENT("noframes"),
                 ELEMENT("noscript"), ELEMENT("textarea"), ELEMENT("plaintext") };
enum { NONE, ELEMENTS = sizeof elements / sizeof *elements, WITHOUT_END = ELEMENTS - 1 };
static const char cdata[] = "[CDATA[";

void eeod_html_begin(struct eeod_html *h) { memset(h, 0, sizeof *h); }

static bool html_blank(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }
static bool ends_name(unsigned char c) { return html_blank(c) || c == '/' || c == '>'; }
static bool letter(unsigned char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static uint8_t html_text(unsigned char c) { return c == '<' ? LESS : TEXT; }
static uint8_t bogus(unsigned char c) { return c == '>' ? TEXT : BOGUS; }

static uint8_t tag_ends(const struct eeod_html *h) {
    return h->element == NONE ? TEXT : h->element == WITHOUT_END ? PLAINTEXT : RAW;
}
static uint8_t tag(const struct eeod_html *h, unsigned char c) {
    return html_blank(c) || c == '/' ? TAG : c == '>' ? tag_ends(h) : ATTRIBUTE;
}

static uint8_t element(const unsigned char *name, size_t n) {
    for (uint8_t i = 1, k; i < ELEMENTS && elements[i].n <= n; i++) {
        if (elements[i].n != n) continue;
        for (k = 0; k < n && (name[k] | 32) == elements[i].name[k]; k++) {}
        if (k == n) return i;
    }
    return NONE;
}

static uint8_t in_name(struct eeod_html *h, unsigned char c) {
    if (h->n < sizeof h->name) h->name[h->n++] = c;
    return NAME;
}

static uint8_t name(struct eeod_html *h, unsigned char c) {
    if (!ends_name(c)) return in_name(h, c);
    h->element = element(h->name, h->n);
    return tag(h, c);
}

static uint8_t less(struct eeod_html *h, unsigned char c) {
    h->n = 0;
    h->element = NONE;
    if (letter(c)) return in_name(h, c);
    return c == '/' ? LESS_SLASH : c == '!' ? BANG : c == '?' ? BOGUS : html_text(c);
}

static uint8_t less_slash(struct eeod_html *h, unsigned char c) {
    if (!letter(c)) return bogus(c);
    in_name(h, '/'); /* which no element has */
    return in_name(h, c);
}

static uint8_t bang(struct eeod_html *h, unsigned char c) {
    h->n = 1;
    return c == '-' ? DASH : c == '[' ? CDATA_NAME : bogus(c);
}

static uint8_t cdata_name(struct eeod_html *h, unsigned char c) {
    if (c != (unsigned char)cdata[h->n]) return bogus(c);
    return ++h->n == sizeof cdata - 1 ? CDATA : CDATA_NAME;
}

static uint8_t raw_less(struct eeod_html *h, unsigned char c) {
    h->n = 0;
    return c == '/' ? RAW_NAME : c == '<' ? RAW_LESS : RAW;
}

static uint8_t raw_name(struct eeod_html *h, unsigned char c) {
    const char *wanted = elements[h->element].name;
    if (wanted[h->n] && (c | 32) == wanted[h->n]) {
        h->n++;
        return RAW_NAME;
    }
    if (wanted[h->n] || !(html_blank(c) || c == '/' || c == '>')) return c == '<' ? RAW_LESS : RAW;
    h->element = NONE;
    return tag(h, c);
}

static uint8_t next(struct eeod_html *h, unsigned char c) {
    switch (h->state) {
    case TEXT: return html_text(c);
    case LESS: return less(h, c);
    case LESS_SLASH: return less_slash(h, c);
    case NAME: return name(h, c);
    case TAG: return tag(h, c);
    case ATTRIBUTE: return c == '=' ? BEFORE_VALUE : html_blank(c) ? ATTRIBUTE : tag(h, c);
    case BEFORE_VALUE:
        return c == '"'        ? DOUBLE
               : c == '\''     ? SINGLE
               : c == '>'      ? tag_ends(h)
               : html_blank(c) ? BEFORE_VALUE
                               : UNQUOTED;
    case UNQUOTED: return html_blank(c) ? TAG : c == '>' ? tag_ends(h) : UNQUOTED;
    case DOUBLE: return c == '"' ? TAG : DOUBLE;
    case SINGLE: return c == '\'' ? TAG : SINGLE;
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
    case RAW_LESS: return raw_less(h, c);
    case RAW_NAME: return raw_name(h, c);
    default: return PLAINTEXT;
    }
}

/* Behind a tag's name; or where its `<` is, if the name may not be there as a whole. */
static const unsigned char *pass_name(struct eeod_html *h, const unsigned char *p, const unsigned char *end) {
    if (end - p < 2 + FEW) return p;
    const unsigned char *from = p + 1 + (p[1] == '/');
    unsigned n = first_of_few(NOT_ABOVE(from, ' ') | ARE(from, '/') | ARE(from, '>'));
    if (!letter(*from) || n == FEW || !ends_name(from[n])) return p;
    h->element = p[1] == '/' ? NONE : element(from, n);
    h->state = TAG;
    return from + n;
}

/* Behind a tag's `>`, or behind those of its attributes that have no value or one in quotes, as most have. */
static const unsigned char *pass_attributes(struct eeod_html *h, const unsigned char *p, const unsigned char *end) {
    for (;;) {
        while (p < end && html_blank(*p)) p++;
        if (end - p < FEW + 1) return p;
        unsigned i = first_of_few(ARE(p, '=') | ARE(p, '>'));
        if (p[i] == '>') {
            h->state = tag_ends(h);
            return p + i + 1;
        }
        /* An equals sign begins a value behind a name only. */
        if (i ? html_blank(p[i - 1]) || p[i - 1] == '/' : h->state == TAG) return p;
        h->state = ATTRIBUTE;
        p += i;
        if (i == FEW) continue;
        if (p[1] != '"' && p[1] != '\'') return p;
        h->state = p[1] == '"' ? DOUBLE : SINGLE;
        p = memchr(p + 2, p[1], (size_t)(end - p - 2));
        if (!p) return end;
        h->state = TAG;
        p++;
    }
}

static const unsigned char *pass_unquoted(const unsigned char *p, const unsigned char *end) {
    for (; end - p >= FEW; p += FEW) {
        unsigned i = first_of_few(NOT_ABOVE(p, ' ') | ARE(p, '>'));
        if (i < FEW) return p + i;
    }
    return p;
}

/* The next byte that next() is to be asked about, or `end`. */
static const unsigned char *html_pass(struct eeod_html *h, const unsigned char *p, const unsigned char *end) {
    while (p < end) {
        if (leads_on[h->state]) {
            p = memchr(p, leads_on[h->state], (size_t)(end - p));
            if (!p) return end;
        }
        const unsigned char *from = p;
        if (h->state == TEXT) p = pass_name(h, p, end);
        else if (h->state == TAG || h->state == ATTRIBUTE) p = pass_attributes(h, p, end);
        else if (h->state == UNQUOTED) return pass_unquoted(p, end);
        else if (h->state == PLAINTEXT) return end;
        if (p == from) return p;
    }
    return end;
}

void eeod_html_feed(struct eeod_html *h, const void *data, size_t n) {
    const unsigned char *p = data, *end = p + n;
    while ((p = html_pass(h, p, end)) < end) h->state = next(h, *p++);
}

bool eeod_html_text(const struct eeod_html *h, unsigned char first) {
    return h->state == TEXT || (h->state == LESS && first == '<');
}
