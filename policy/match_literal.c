/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_literal.c - the automaton of match_literal.h.
 *
 * Building needs no linked trie: the patterns are sorted, so that a node is a range of them, its children are the runs
 * of equal symbols at its depth, and nodes can be made in their final, breadth-first order.  Until a node is visited,
 * its range stands in `first` and `sub`.
 *
 * Source:  Aho and Corasick, "Efficient string matching: an aid to bibliographic search", CACM 18(6), 1975.
 * Departures: prefix and exact patterns count only on the walk from the root that has not left the trie yet, suffix and
 * exact ones only at the end; a node keeps the smallest rank of its whole suffix chain instead of a list of outputs,
 * because only the smallest is asked for.
 */
#include <stdlib.h>
#include <string.h>

#undef NDEBUG
#include <assert.h>

#include "match_literal.h"

#define MAGIC 0x4d4c4954u

struct node {
    uint32_t first; /* first child */
    uint32_t fail;  /* longest proper suffix that is a node */
    uint32_t sub;   /* smallest rank of the substring patterns that end here */
};

struct match_literal {
    uint32_t magic;
    uint32_t nodes, dense, symbols;
    uint32_t least; /* of all patterns */
    /* there are substring or suffix patterns: the scan cannot stop when it leaves the trie */
    int everywhere;
    uint8_t symbol_of[256];
    struct node *node; /* nodes + 1: the last one only ends the children of the one before */
    uint8_t *symbol;   /* of the edge to a node */
    uint32_t *row;     /* dense * symbols */
    /* smallest rank by node, for kinds that occur; [MATCH_SUBSTRING] is node.sub */
    uint32_t *end[MATCH_KINDS];
};

struct work {
    const uint8_t *p; /* symbols, not bytes */
    uint32_t n, rank;
    enum match_kind kind;
};

static uint8_t match_literal_folded(uint8_t c, int fold) {
    return fold && c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

static int by_text(const void *a, const void *b) {
    const struct work *x = a, *y = b;
    uint32_t n = x->n < y->n ? x->n : y->n;
    int d = memcmp(x->p, y->p, n);

    return d != 0 ? d : (x->n > y->n) - (x->n < y->n);
}

/* Symbols for the bytes that occur; if a byte does not, one more symbol that stands for all such. */
static void number_symbols(struct match_literal *m, const struct match_pattern *patterns, size_t n, int fold) {
    uint8_t used[256] = { 0 };
    unsigned next = 0;

    for (size_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < patterns[i].n; j++) used[match_literal_folded((uint8_t)patterns[i].p[j], fold)] = 1;
    for (unsigned c = 0; c < 256; c++)
        if (used[c]) m->symbol_of[c] = (uint8_t)next++;
    m->symbols = next;
    for (unsigned c = 0; c < 256; c++)
        if (!used[c]) {
            uint8_t f = match_literal_folded((uint8_t)c, fold);

            m->symbol_of[c] = used[f] ? m->symbol_of[f] : (uint8_t)next;
            if (!used[f]) m->symbols = next + 1;
        }
}

static uint32_t match_literal_child(const struct match_literal *m, uint32_t state, uint8_t symbol) {
    uint32_t first = m->node[state].first, n = m->node[state + 1].first - first;
    const uint8_t *s = m->symbol + first, *hit;

    if (n <= 4) {
        for (uint32_t i = 0; i < n; i++)
            if (s[i] == symbol) return first + i;
        return 0;
    }
    hit = memchr(s, symbol, n);
    return hit != NULL ? first + (uint32_t)(hit - s) : 0;
}

static inline uint32_t match_literal_step(const struct match_literal *m, uint32_t state, uint8_t symbol) {
    while (state >= m->dense) {
        uint32_t next = match_literal_child(m, state, symbol);

        if (next != 0) return next;
        state = m->node[state].fail;
    }
    return m->row[(size_t)state * m->symbols + symbol];
}

static void match_literal_lower(uint32_t *rank, uint32_t other) {
    if (other < *rank) *rank = other;
}

/*
 * Gives node u its ends, its children (from *next on) and, if it is one of the first, its row.  All nodes before u are
 * complete.
 */
static void visit(struct match_literal *m, uint32_t u, uint32_t depth, const struct work *w, uint32_t *next) {
    uint32_t lo = m->node[u].first, hi = m->node[u].sub, fail = m->node[u].fail;
    uint32_t *row = u < m->dense ? m->row + (size_t)u * m->symbols : NULL;

    m->node[u].first = *next;
    m->node[u].sub = u > 0 ? m->node[fail].sub : MATCH_NO_RANK;
    if (m->end[MATCH_SUFFIX] && u > 0) m->end[MATCH_SUFFIX][u] = m->end[MATCH_SUFFIX][fail];
    for (; lo < hi && w[lo].n == depth; lo++)
        match_literal_lower(w[lo].kind == MATCH_SUBSTRING ? &m->node[u].sub : &m->end[w[lo].kind][u], w[lo].rank);

    if (row && u > 0) memcpy(row, m->row + (size_t)fail * m->symbols, m->symbols * sizeof *row);
    while (lo < hi) {
        uint8_t symbol = w[lo].p[depth];
        uint32_t v = (*next)++, from = lo;

        while (lo < hi && w[lo].p[depth] == symbol) lo++;
        m->symbol[v] = symbol;
        m->node[v].first = from;
        m->node[v].sub = lo;
        m->node[v].fail = u > 0 ? match_literal_step(m, fail, symbol) : 0;
        if (row) row[symbol] = v;
    }
}

static int allocate(struct match_literal *m, const struct work *w, size_t n) {
    uint64_t rows;

    m->nodes = 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t same = 0;

        while (i > 0 && same < w[i].n && same < w[i - 1].n && w[i].p[same] == w[i - 1].p[same]) same++;
        m->nodes += w[i].n - same;
        if (w[i].kind != MATCH_SUBSTRING && m->end[w[i].kind] == NULL) {
            /* Sized when the count is known; a place of one rank marks the need. */
            m->end[w[i].kind] = malloc(sizeof(uint32_t));
            if (m->end[w[i].kind] == NULL) return -1;
        }
    }
    rows = MATCH_DENSE_BYTES / (m->symbols * sizeof *m->row);
    m->dense = rows < m->nodes ? (uint32_t)rows : m->nodes;
    m->node = calloc((size_t)m->nodes + 1, sizeof *m->node);
    m->symbol = calloc(m->nodes, 1);
    m->row = calloc((size_t)m->dense * m->symbols, sizeof *m->row);
    if (!m->node || !m->symbol || !m->row) return -1;
    for (int k = 0; k < MATCH_KINDS; k++)
        if (m->end[k]) {
            free(m->end[k]);
            m->end[k] = malloc(m->nodes * sizeof(uint32_t));
            if (!m->end[k]) return -1;
            memset(m->end[k], 0xff, m->nodes * sizeof(uint32_t));
        }
    return 0;
}

static void match_literal_build(struct match_literal *m, const struct work *w, size_t n) {
    uint32_t next = 1, level_end = 1, depth = 0;

    m->node[0].sub = (uint32_t)n;
    for (uint32_t u = 0; u < m->nodes; u++) {
        if (u == level_end) {
            level_end = next;
            depth++;
        }
        /*
         * The range of u + 1 may be read as its parent's end until it is visited: match_literal_step() only looks at
         * nodes before u.
         */
        visit(m, u, depth, w, &next);
    }
    assert(next == m->nodes);
    m->node[m->nodes].first = m->nodes;
}

struct match_literal *match_literal_new(const struct match_pattern *patterns, size_t n, int fold) {
    struct match_literal *m = calloc(1, sizeof *m);
    struct work *w = calloc(n, sizeof *w);
    uint8_t *text, *t;
    size_t bytes = 0;

    assert(n > 0);
    for (size_t i = 0; i < n; i++) bytes += patterns[i].n;
    assert(bytes < (1u << 31));
    text = t = malloc(bytes);
    if (!m || !w || !text) goto fail;
    m->magic = MAGIC;
    m->least = MATCH_NO_RANK;
    number_symbols(m, patterns, n, fold);
    for (size_t i = 0; i < n; i++) {
        assert(patterns[i].n > 0);
        w[i] = (struct work){ t, patterns[i].n, patterns[i].rank, patterns[i].kind };
        for (uint32_t j = 0; j < patterns[i].n; j++) *t++ = m->symbol_of[(uint8_t)patterns[i].p[j]];
        match_literal_lower(&m->least, patterns[i].rank);
        m->everywhere |= patterns[i].kind == MATCH_SUBSTRING || patterns[i].kind == MATCH_SUFFIX;
    }
    qsort(w, n, sizeof *w, by_text);
    if (allocate(m, w, n) != 0) goto fail;
    match_literal_build(m, w, n);
    free(text);
    free(w);
    return m;
fail:
    free(text);
    free(w);
    if (m) {
        m->magic = MAGIC;
        match_literal_free(&m);
    }
    return NULL;
}

void match_literal_free(struct match_literal **mp) {
    struct match_literal *m = *mp;

    *mp = NULL;
    if (!m) return;
    assert(m->magic == MAGIC);
    for (int k = 0; k < MATCH_KINDS; k++) free(m->end[k]);
    free(m->node);
    free(m->symbol);
    free(m->row);
    m->magic = 0;
    free(m);
}

size_t match_literal_bytes(const struct match_literal *m) {
    size_t ends = 0;

    for (int k = 0; k < MATCH_KINDS; k++) ends += m->end[k] != NULL;
    return sizeof *m + m->nodes * (sizeof *m->node + 1 + ends * sizeof(uint32_t)) +
           (size_t)m->dense * m->symbols * sizeof *m->row;
}

uint32_t match_literal_least(const struct match_literal *m) { return m->least; }

struct match_scan match_scan_begin(const struct match_literal *m, uint32_t best) {
    assert(m->magic == MAGIC);
    return (struct match_scan){ .m = m, .best = best, .at_start = 1, .over = best <= m->least };
}

void match_scan_feed(struct match_scan *s, const char *p, size_t n) {
    const struct match_literal *m = s->m;
    const uint8_t *text = (const uint8_t *)p, *end = text + n;
    const uint32_t *prefix = m->end[MATCH_PREFIX];
    uint32_t state = s->state, best = s->best;

    if (s->over) return;
    while (s->at_start && text < end) {
        uint32_t next = match_literal_child(m, state, m->symbol_of[*text]);

        if (next == 0) {
            s->at_start = 0;
            s->over = !m->everywhere;
            break;
        }
        state = next;
        text++;
        match_literal_lower(&best, m->node[state].sub);
        if (prefix) match_literal_lower(&best, prefix[state]);
    }
    if (!s->over)
        for (; text < end; text++) {
            state = match_literal_step(m, state, m->symbol_of[*text]);
            match_literal_lower(&best, m->node[state].sub);
        }
    s->state = state;
    s->best = best;
    s->over |= best <= m->least;
}

uint32_t match_scan_end(struct match_scan *s) {
    const struct match_literal *m = s->m;

    if (!s->over) {
        if (m->end[MATCH_SUFFIX]) match_literal_lower(&s->best, m->end[MATCH_SUFFIX][s->state]);
        if (s->at_start && m->end[MATCH_EXACT]) match_literal_lower(&s->best, m->end[MATCH_EXACT][s->state]);
    }
    return s->best;
}
