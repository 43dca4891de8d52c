/* SPDX-License-Identifier: BSD-2-Clause */
/* test_marks.h - which marks of a page count, the slow way, with the whole page at hand: for tests and fuzz targets to compare marks/ with. */
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

/* Behind an element without markup, from behind its name on. */
static inline size_t slow_raw(const unsigned char *p, size_t i, size_t to, const char *name) {
    for (size_t end; (i = slow_behind(p, i, to, "</"));) {
        end = i + strlen(name);
        if (slow_is(p, i, to, name) && end < to && slow_ends(p[end])) return end + 1;
    }
    return 0;
}

static inline size_t slow_comment(const unsigned char *p, size_t i, size_t to) {
    if (slow_is(p, i, to, ">")) return i + 1;
    if (slow_is(p, i, to, "->")) return i + 2;
    size_t a = slow_behind(p, i, to, "-->"), b = slow_behind(p, i, to, "--!>");
    return !a || (b && b < a) ? b : a;
}

/* Behind a tag's name, or behind the element. */
static inline size_t slow_tag(const unsigned char *p, size_t i, size_t to) {
    static const char *const raws[] = { "script", "style", "textarea", "title", "iframe", "noframes", "noscript" };
    size_t n = i;
    while (n < to && n - i < 8 && !slow_ends(p[n]) && p[n] != '<') n++;
    if (n == to || !slow_ends(p[n])) return n;
    for (size_t k = 0; k < sizeof raws / sizeof *raws; k++)
        if (strlen(raws[k]) == n - i && slow_is(p, i, to, raws[k])) return slow_raw(p, n + 1, to, raws[k]);
    return n + 1;
}

/* Behind what begins with this `<`; 0: it goes on beyond `to`. */
static inline size_t slow_markup(const unsigned char *p, size_t i, size_t to) {
    static const char *const begins[] = { "<![CDATA[", "<!--" };
    size_t most = 1;
    if (i + 1 < to && slow_letter(p[i + 1])) return slow_tag(p, i + 1, to);
    for (int k = 0; k < 2; k++) {
        size_t n = 0;
        while (i + n < to && begins[k][n] && p[i + n] == (unsigned char)begins[k][n]) n++;
        if (!begins[k][n]) return k ? slow_comment(p, i + n, to) : slow_behind(p, i + n, to, "]]>");
        if (n > most) most = n;
    }
    /* What may begin it before `to` does so only if nothing else begins there. */
    return i + most < to || p[to] == '<' ? i + most : 0;
}

/* Whether what is at `to` stands in text, as what is at `i` does. */
static inline bool slow_text(const unsigned char *p, size_t i, size_t to) {
    while (i < to) {
        if (p[i] != '<') i++;
        else if (!(i = slow_markup(p, i, to))) return false;
    }
    return true;
}

/* kind[i]: what the mark does that begins there. 'O' and 'C': of an outermost pair; 'o', 'c': of an inner one; 't': in a pair, but text; 's': closes nothing. Else 0. */
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
