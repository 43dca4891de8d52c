/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_pairs.h - which marks of a page count, and what they do.  Who makes boundaries of them and who keeps what stands
 * between them read them by the same rules.
 *
 * A visitor's text may have marks in it.  Nothing here tells them from the page writer's; but whatever is not as a
 * writer sets marks makes more of the page unique, never less:
 *
 * - Every opening mark counts, wherever it stands.  Marks nest; an outermost pair bounds what is unique.
 * - A closing mark counts only in text (eeod_html.h), seen from where its outermost pair begins: in a script, a style
 *   sheet, a textarea, a title, a comment, a CDATA section or a tag that began behind the opening mark it is text.
 * - A closing mark that closes nothing is text, too.  It may be the writer's own, whose place another one has taken:
 *   from it on all that follows is unique (`odd`).
 *
 * What this does not find: in text a closing mark that a visitor wrote ends the block.  Writers escape what visitors
 * write (docs/mod_eeod.md).
 *
 * Pieces and offsets are those of eeod_scan.h.  What is read here comes from outside.
 */
#ifndef FAIRGATE_EEOD_PAIRS_H
#define FAIRGATE_EEOD_PAIRS_H

#include "eeod_html.h"
#include "eeod_scan.h"

enum eeod_pair {
    EEOD_PAIR_NONE,
    EEOD_PAIR_OPENS,            /* begins an outermost pair */
    EEOD_PAIR_OPENS_INNER,
    EEOD_PAIR_CLOSES,           /* ends it */
    EEOD_PAIR_CLOSES_INNER,
    EEOD_PAIR_TEXT,             /* within a pair, a closing mark that does not count */
    EEOD_PAIR_STRAY             /* a closing mark that closes nothing */
};

struct eeod_pairs {
    struct eeod_scan scan;
    struct eeod_html html;      /* within a pair */
    uint32_t         depth;     /* of opening marks */
    bool             odd;       /* all that follows is unique */
};

void eeod_pairs_begin(struct eeod_pairs *p, const struct eeod_marks *m);

/* The next mark, as eeod_scan_next; *length: its bytes. */
enum eeod_pair eeod_pairs_next(struct eeod_pairs *p, const void *data, size_t len, ptrdiff_t *at, size_t *length);

/* Whether what comes next is unique. */
static inline bool eeod_pairs_unique(const struct eeod_pairs *p) { return p->depth || p->odd; }

#endif
