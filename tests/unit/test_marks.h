/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_marks.h - which marks of a page count, the slow way, with the whole page at hand: for tests and fuzz targets to
 * compare marks/ with.
 */
#ifndef FAIRGATE_TEST_MARKS_H
#define FAIRGATE_TEST_MARKS_H

#include "marks/eeod_scan.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Where a mark begins at p: 1 opens, 2 closes. */
static inline int slow_mark(const struct eeod_marks *m, const unsigned char *p, size_t n) {
    for (int i = 0; i < 2; i++)
        if (n >= m->length[i] && !memcmp(p, m->text[i], m->length[i])) return i + 1;
    return 0;
}

static inline bool slow_blank(unsigned char c) { return c && strchr(" \t\n\f\r", c); }
static inline bool slow_ends(unsigned char c) { return c && strchr(" \t\n\f\r/>", c); }
static inline bool slow_letter(unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static inline bool slow_is(const unsigned char *p, size_t i, size_t to, const char *what) {
    return to - i >= strlen(what) && !strncasecmp((const char *)p + i, what, strlen(what));
}

/* Behind the next one of it; 0: there is none before `to`. */
static inline size_t slow_behind(const unsigned char *p, size_t i, size_t to, const char *what) {
    const unsigned char *at = memmem(p + i, to - i, what, strlen(what));
    return at ? (size_t)(at - p) + strlen(what) : 0;
}

/* Behind a tag, from the end of its name on; 0: it does not end. */
static inline size_t slow_tag(const unsigned char *p, size_t i, size_t to) {
    for (;;) {
        while (i < to && (slow_blank(p[i]) || p[i] == '/')) i++;
        if (i == to) return 0;
        if (p[i] == '>') return i + 1;
        for (i++; i < to && !slow_ends(p[i]) && p[i] != '='; i++) { }
        while (i < to && slow_blank(p[i])) i++;
        if (i == to || p[i] != '=') continue;
        for (i++; i < to && slow_blank(p[i]); i++) { }
        if (i == to) return 0;
        if (p[i] == '"' || p[i] == '\'') {
            i = slow_behind(p, i + 1, to, p[i] == '"' ? "\"" : "'");
            if (!i) return 0;
        } else if (p[i] != '>') {
            while (i < to && !slow_blank(p[i]) && p[i] != '>') i++;
        }
    }
}

/* Behind an element without markup, from behind its start tag on. */
static inline size_t slow_raw(const unsigned char *p, size_t i, size_t to, const char *name) {
    if (!strcmp(name, "plaintext")) return 0;
    for (size_t end; (i = slow_behind(p, i, to, "</"));) {
        end = i + strlen(name);
        if (slow_is(p, i, to, name) && end < to && slow_ends(p[end])) return slow_tag(p, end, to);
    }
    return 0;
}

static inline size_t slow_comment(const unsigned char *p, size_t i, size_t to) {
    if (slow_is(p, i, to, ">")) return i + 1;
    if (slow_is(p, i, to, "->")) return i + 2;
    size_t a = slow_behind(p, i, to, "-->"), b = slow_behind(p, i, to, "--!>");
    return !a || (b && b < a) ? b : a;
}

/* Behind what begins with this `<`; i + 1 when it is text; 0: it goes on beyond `to`. */
static inline size_t slow_markup(const unsigned char *p, size_t i, size_t to) {
    static const char *const raws[] = { "script",  "style",    "textarea", "title", "iframe",
                                        "noembed", "noframes", "noscript", "xmp",   "plaintext" };
    bool ends = p[i + 1] == '/';
    size_t name = i + 1 + ends, n = name;
    if (name < to && slow_letter(p[name])) {
        while (n < to && !slow_ends(p[n])) n++;
        if (!(i = slow_tag(p, n, to))) return 0;
        for (size_t k = 0; k < sizeof raws / sizeof *raws && !ends; k++)
            if (strlen(raws[k]) == n - name && slow_is(p, name, n, raws[k])) return slow_raw(p, i, to, raws[k]);
        return i;
    }
    if (slow_is(p, i, to, "<!--")) return slow_comment(p, i + 4, to);
    if (to - i >= 9 && !memcmp(p + i, "<![CDATA[", 9)) return slow_behind(p, i + 9, to, "]]>");
    return p[i + 1] == '!' || p[i + 1] == '?' || ends ? slow_behind(p, i + 2, to, ">") : i + 1;
}

/* Whether what is at `to` stands in text, as what is at `i` does. */
static inline bool slow_text(const unsigned char *p, size_t i, size_t to) {
    while (i < to) {
        if (p[i] != '<') i++;
        else if (i + 1 == to) return p[to] == '<';
        else if (!(i = slow_markup(p, i, to))) return false;
    }
    return true;
}

/*
 * kind[i]: what the mark does that begins there. 'O' and 'C': of an outermost pair; 'o', 'c': of an inner one; 't': in
 * a pair, but text; 's': closes nothing. Else 0.
 */
static inline void slow_pairs(const struct eeod_marks *m, const unsigned char *p, size_t n, char *kind) {
    size_t depth = 0, from = 0;
    memset(kind, 0, n);
    for (size_t i = 0; i < n;) {
        int k = slow_mark(m, p + i, n - i);
        if (k == 1) {
            kind[i] = depth++ ? 'o' : 'O';
            if (depth == 1) from = i + m->length[0];
        } else if (k == 2) {
            kind[i] = !depth ? 's' : !slow_text(p, from, i) ? 't' : --depth ? 'c' : 'C';
        }
        i += k ? m->length[k - 1] : 1;
    }
}

#endif
