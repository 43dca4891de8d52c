/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_literal.h - many literal patterns against one text, in one pass.
 *
 * An Aho-Corasick automaton over bytes.  Each pattern is a substring, prefix, suffix or exact pattern and has a rank; a
 * scan answers the smallest rank of all patterns that match.  The text may come in pieces, which are not copied: a
 * match may lie across them.
 *
 *     struct match_scan s = match_scan_begin(m, UINT32_MAX);
 *     match_scan_feed(&s, "http://", 7);
 *     match_scan_feed(&s, host, host_len);
 *     rank = match_scan_end(&s);
 *
 * SHAPE.  Bytes are first mapped to symbols: those that some pattern uses, and one for all others.  Nodes are numbered
 * breadth first, so the children of a node are neighbours, and the shallow nodes, where ordinary text spends its time,
 * come first.  The first `dense` nodes have a row with the next state for each symbol; a deeper node has only its
 * children's symbols and a link to the longest proper suffix of its text that is a node too.  13 to 25 bytes a node,
 * and at most MATCH_DENSE_BYTES of rows.
 *
 * COST.  One step a byte, whatever the number of patterns; suffix links followed are fewer than bytes read.
 */
#ifndef FAIRGATE_MATCH_LITERAL_H
#define FAIRGATE_MATCH_LITERAL_H

#include <stddef.h>
#include <stdint.h>

#define MATCH_DENSE_BYTES (1u << 20)
#define MATCH_NO_RANK     UINT32_MAX

struct match_literal;

enum match_kind { MATCH_SUBSTRING, MATCH_PREFIX, MATCH_SUFFIX, MATCH_EXACT, MATCH_KINDS };

struct match_pattern {
    const char     *p;
    uint32_t        n;          /* at least 1 */
    uint32_t        rank;
    enum match_kind kind;
};

/*
 * fold: ASCII letters match in either case.  The patterns are copied.  NULL: out of memory.  At least one pattern;
 * fewer than 2^31 bytes of patterns in all.
 */
struct match_literal *match_literal_new(const struct match_pattern *patterns, size_t n, int fold);
void                  match_literal_free(struct match_literal **m);
size_t                match_literal_bytes(const struct match_literal *m);
/* the smallest rank that it could answer */
uint32_t              match_literal_least(const struct match_literal *m);

struct match_scan {
    const struct match_literal *m;
    uint32_t state, best;
    /* the state's text is all of the text so far: prefixes and exact patterns may still match */
    int      at_start;
    int      over;              /* nothing better can follow */
};

/* `best`: a rank already found elsewhere; only smaller ones are of interest. */
struct match_scan match_scan_begin(const struct match_literal *m, uint32_t best);
void              match_scan_feed(struct match_scan *s, const char *p, size_t n);
uint32_t          match_scan_end(struct match_scan *s);

#endif
