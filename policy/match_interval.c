/* SPDX-License-Identifier: BSD-2-Clause */
/* match_interval.c - overlapping ranges made disjoint, and looked up. */
#include <stdlib.h>

#undef NDEBUG
#include <assert.h>

#include "match_interval.h"

#define MAGIC 0x4d495456u

struct match_interval {
    uint32_t magic;
    uint32_t n;
    struct match_number *from; /* an interval ends where the next one begins */
    uint32_t *rank;
};

static int compare(struct match_number a, struct match_number b) {
    if (a.high != b.high) return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

static int by_from(const void *a, const void *b) {
    return compare(((const struct match_range *)a)->from, ((const struct match_range *)b)->from);
}

static int by_number(const void *a, const void *b) {
    return compare(*(const struct match_number *)a, *(const struct match_number *)b);
}

/*
 * The ranges open at the point that the sweep has reached, smallest rank on top.  Those that have ended are dropped
 * when they get there.
 */
struct open {
    const struct match_range **heap;
    size_t n;
};

static void open_add(struct open *o, const struct match_range *r) {
    size_t i = o->n++;

    for (; i > 0 && r->rank < o->heap[(i - 1) / 2]->rank; i = (i - 1) / 2) o->heap[i] = o->heap[(i - 1) / 2];
    o->heap[i] = r;
}

static void open_drop(struct open *o) {
    const struct match_range *r = o->heap[--o->n];
    size_t i = 0, next;

    while ((next = 2 * i + 1) < o->n) {
        if (next + 1 < o->n && o->heap[next + 1]->rank < o->heap[next]->rank) next++;
        if (r->rank <= o->heap[next]->rank) break;
        o->heap[i] = o->heap[next];
        i = next;
    }
    o->heap[i] = r;
}

struct match_interval *match_interval_new(struct match_range *ranges, size_t n) {
    struct match_interval *m = calloc(1, sizeof *m);
    struct open open = { calloc(n + 1, sizeof *open.heap), 0 };
    size_t points = 0, next = 0;

    if (m) {
        m->magic = MAGIC;
        m->from = calloc(2 * n + 1, sizeof *m->from);
        m->rank = calloc(2 * n + 1, sizeof *m->rank);
    }
    if (!m || !open.heap || !m->from || !m->rank) {
        free(open.heap);
        match_interval_free(&m);
        return NULL;
    }
    qsort(ranges, n, sizeof *ranges, by_from);
    for (size_t i = 0; i < n; i++) {
        struct match_number after = ranges[i].to;

        assert(compare(ranges[i].from, ranges[i].to) <= 0);
        m->from[points++] = ranges[i].from;
        after.low++;
        after.high += after.low == 0;
        if (after.low != 0 || after.high != 0) m->from[points++] = after;
    }
    qsort(m->from, points, sizeof *m->from, by_number);
    for (size_t i = 0; i < points; i++) {
        struct match_number here = m->from[i];
        uint32_t rank;

        while (next < n && compare(ranges[next].from, here) <= 0) open_add(&open, &ranges[next++]);
        while (open.n > 0 && compare(open.heap[0]->to, here) < 0) open_drop(&open);
        rank = open.n > 0 ? open.heap[0]->rank : UINT32_MAX;
        if (rank == (m->n > 0 ? m->rank[m->n - 1] : UINT32_MAX)) continue;
        if (m->n > 0 && compare(m->from[m->n - 1], here) == 0) m->n--;
        m->from[m->n] = here; /* never ahead of i: read before written */
        m->rank[m->n++] = rank;
    }
    free(open.heap);
    return m;
}

void match_interval_free(struct match_interval **mp) {
    struct match_interval *m = *mp;

    *mp = NULL;
    if (!m) return;
    assert(m->magic == MAGIC);
    free(m->from);
    free(m->rank);
    m->magic = 0;
    free(m);
}

uint32_t match_interval_find(const struct match_interval *m, struct match_number x) {
    uint32_t lo = 0, hi = m->n; /* the intervals before lo begin at or before x, those from hi on behind it */

    assert(m->magic == MAGIC);
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (compare(m->from[mid], x) <= 0) lo = mid + 1;
        else hi = mid;
    }
    return lo > 0 ? m->rank[lo - 1] : UINT32_MAX;
}

size_t match_interval_bytes(const struct match_interval *m) {
    return sizeof *m + m->n * (sizeof *m->from + sizeof *m->rank);
}
