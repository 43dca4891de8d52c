/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Most of a page is nowhere near a mark, so most of the time goes into finding the next place where the first two bytes
 * of a mark stand: 128 places at a time.  A mark that lies across pieces is looked for in a small buffer, in which the
 * end of one meets the beginning of the next.
 */
#include "eeod_scan.h"

#include "eeod_lanes.h"

#include <stdio.h>
#include <string.h>

static int printable(const char *p) {
    while (*p > ' ' && *p <= '~') p++;
    return !*p;
}

const char *eeod_marks_set(struct eeod_marks *m, const char *open, const char *close) {
    const char *text[2] = { open, close };
    memset(m, 0, sizeof *m);
    for (int i = 0; i < 2; i++) {
        m->length[i] = strlen(text[i]);
        if (m->length[i] < EEOD_MARK_MIN) return "a mark has 4 characters at least";
        if (m->length[i] > EEOD_MARK_MAX) return "a mark has 64 characters at most";
        memcpy(m->text[i], text[i], m->length[i]);
    }
    /* So at one place there is one mark at most, and no whole one in the beginning of another. */
    if (strstr(open, close) || strstr(close, open)) return "one of the two marks contains the other";
    while (open[m->common] == close[m->common]) m->common++;
    if (!strcmp(open, EEOD_USUAL_OPEN) && !strcmp(close, EEOD_USUAL_CLOSE)) strcpy(m->says, "marks");
    else if (printable(open) && printable(close)) snprintf(m->says, sizeof m->says, "marks %s %s", open, close);
    return NULL;
}

void eeod_scan_begin(struct eeod_scan *s, const struct eeod_marks *m) {
    memset(s, 0, sizeof *s);
    s->marks = m;
}

static size_t longest(const struct eeod_marks *m) { return m->length[0] > m->length[1] ? m->length[0] : m->length[1]; }

/*
 * The first place from `i` on before one in which the byte stands; or one that is too near to the end for another step.
 */
CLONED static size_t skip_to(unsigned char byte, const unsigned char *p, size_t i, size_t n) {
    const lanes x = ALL(byte);
    for (; i + STEP + 1 <= n; i += STEP) {
        const unsigned char *q = p + i;
#define HERE(k) (AT(q + 1, k) == x)
        lanes hit[] = FOUR(HERE);
#undef HERE
        if (any_place(hit)) return i + first_place(hit);
    }
    return i;
}

/* The same for two bytes. */
CLONED static size_t skip_one(const unsigned char *two, const unsigned char *p, size_t i, size_t n) {
    const lanes x = ALL(two[0]), y = ALL(two[1]);
    for (; i + STEP + 1 <= n; i += STEP) {
        const unsigned char *q = p + i;
#define HERE(k) ((AT(q, k) == x) & (AT(q + 1, k) == y))
        lanes hit[] = FOUR(HERE);
#undef HERE
        if (any_place(hit)) return i + first_place(hit);
    }
    return i;
}

/* The same for marks that begin differently. */
CLONED static size_t skip_two(const unsigned char *a, const unsigned char *b, const unsigned char *p, size_t i,
                              size_t n) {
    const lanes a0 = ALL(a[0]), a1 = ALL(a[1]), b0 = ALL(b[0]), b1 = ALL(b[1]);
    for (; i + STEP + 1 <= n; i += STEP) {
        const unsigned char *q = p + i;
#define HERE(k) (((AT(q, k) == a0) & (AT(q + 1, k) == a1)) | ((AT(q, k) == b0) & (AT(q + 1, k) == b1)))
        lanes hit[] = FOUR(HERE);
#undef HERE
        if (any_place(hit)) return i + first_place(hit);
    }
    return i;
}

static size_t steps(const struct eeod_marks *m, const unsigned char *p, size_t i, size_t n) {
    const unsigned char *a = m->text[0], *b = m->text[1];
    if (memcmp(a, b, 2)) return skip_two(a, b, p, i, n);
    /*
     * The second byte alone takes half the time, and is the rarer one in pages; but where it stands without the first,
     * it may not be.
     */
    i = skip_to(a[1], p, i, n);
    return i + STEP + 1 <= n && p[i] != a[0] ? skip_one(a, p, i, n) : i;
}

/*
 * The first place from `i` on where a mark may begin, or n.  What stands before `i` is not looked at: it may be gone.
 */
static size_t candidate(const struct eeod_marks *m, const unsigned char *p, size_t i, size_t n) {
    const unsigned char *a = m->text[0], *b = m->text[1];
    size_t last = n > STEP ? n - STEP - 1 : 0;

    if (n - i > STEP) {
        i = steps(m, p, i, n);
        /* the last step overlaps the one before, and leaves a byte */
        if (n - i <= STEP) i = steps(m, p, last, n);
    }
    for (; i < n; i++)
        if ((p[i] == a[0] && (i + 1 == n || p[i + 1] == a[1])) || (p[i] == b[0] && (i + 1 == n || p[i + 1] == b[1])))
            break;
    return i;
}

/* Whether a mark begins at p, of which n bytes are there; *more: one may, when more is known. */
static enum eeod_mark mark_at(const struct eeod_marks *m, const unsigned char *p, size_t n, int *more) {
    /* Most comments end here. */
    if (n > m->common && p[m->common] != m->text[0][m->common] && p[m->common] != m->text[1][m->common])
        return EEOD_NO_MARK;
    for (int i = 0; i < 2; i++) {
        size_t known = m->length[i] < n ? m->length[i] : n;
        if (memcmp(p, m->text[i], known)) continue;
        if (known == m->length[i]) return i ? EEOD_CLOSE : EEOD_OPEN;
        *more = 1;
    }
    return EEOD_NO_MARK;
}

/* From *i on: a mark at *i; or none, and at *i begins what may become one (n: nothing does). */
static enum eeod_mark search(const struct eeod_marks *m, const unsigned char *p, size_t *i, size_t n) {
    while ((*i = candidate(m, p, *i, n)) < n) {
        int more = 0;
        enum eeod_mark mark = mark_at(m, p + *i, n - *i, &more);
        if (mark || more) return mark;
        ++*i;
    }
    return EEOD_NO_MARK;
}

enum eeod_mark eeod_scan_next(struct eeod_scan *s, const void *data, size_t len, ptrdiff_t *at) {
    const struct eeod_marks *m = s->marks;
    const unsigned char *p = data;
    size_t i;

    while (s->held) {
        /* Enough of the piece to know what becomes of what begins in the tail. */
        unsigned char seam[2 * EEOD_MARK_MAX];
        size_t new = longest(m) - 1 < len ? longest(m) - 1 : len, n = s->held + new;
        memcpy(seam, s->tail, s->held);
        if (new) memcpy(seam + s->held, p, new);
        i = 0;
        enum eeod_mark mark = search(m, seam, &i, n);
        if (mark && i < s->held) {
            *at = (ptrdiff_t)i - (ptrdiff_t)s->held;
            s->fed = i + m->length[mark - EEOD_OPEN] - s->held;
            s->held = 0;
            return mark;
        }
        if (!mark && i < s->held) { /* the piece is too short to tell */
            *at = (ptrdiff_t)i - (ptrdiff_t)s->held;
            memmove(s->tail, seam + i, n - i);
            s->held = n - i;
            s->fed = 0;
            return EEOD_NO_MARK;
        }
        s->held = 0;
    }
    i = s->fed;
    enum eeod_mark mark = search(m, p, &i, len);
    *at = (ptrdiff_t)i;
    if (mark) {
        s->fed = i + m->length[mark - EEOD_OPEN];
        return mark;
    }
    s->held = len - i;
    if (s->held) memcpy(s->tail, p + i, s->held);
    s->fed = 0;
    return EEOD_NO_MARK;
}
