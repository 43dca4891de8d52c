/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_keyed.h - of marks in a page those with the key of its response become the usual ones, and the usual ones that
 * were in it become none, in a stream that comes in pieces.
 *
 *     <!--EEOD K-->    <!--/EEOD K-->      with the key K, 16 digits:    <!--EEOD-->   <!--/EEOD-->
 *     <!--EEOD-->      <!--/EEOD-->        whoever wrote them:           <!--EEOd-->   <!--/EEOd-->
 *
 * All else stays as it is, also marks with other keys: they are comments.  TRUST: the page is what applications make of
 * what strangers write.  The key alone says which marks are an application's own.
 *
 * WHAT COMES OUT has the usual marks where the page had those with the key, and nowhere else; no mark is formed by what
 * is taken out and its neighbours.  For each of these texts begins with the only `<` that it has and ends with the only
 * `>`: so no two of them overlap in a stream unless they begin at the same byte, and there what stands behind `EEOD`
 * tells them apart.  A usual mark in what comes out begins with a `<`, which stood in the page; from there on to its
 * `>` it has bytes that were passed on (then it was a usual mark in the page: its D is another letter now), or some was
 * taken out among them (then the text from that `<` to that `>` was a mark with the key).  By the same reason it does
 * not matter which of the two is done first, and one pass does both.
 *
 * The page is fed in pieces.  What becomes of it is told in steps, in the order of its bytes and without gaps.  A step
 * may concern bytes of earlier pieces: whoever feeds keeps what no step has taken yet, which is fewer than
 * EEOD_KEYED_HELD bytes once a piece is fed.  No allocation.
 */
#ifndef FAIRGATE_EEOD_KEYED_H
#define FAIRGATE_EEOD_KEYED_H

#include "marks/eeod_scan.h"

#include <stdbool.h>

#define EEOD_KEY_DIGITS 16
#define EEOD_KEYED_HELD 32

/* What all marks begin with, whatever their key: where none of these is, there is nothing to do. */
extern const struct eeod_marks eeod_keyed_beginnings;

/* n: bytes.  EEOD_KEYED_SPOIL: EEOD_KEYED_LETTER goes on in place of one byte. */
enum eeod_keyed_step { EEOD_KEYED_PASS, EEOD_KEYED_DROP, EEOD_KEYED_SPOIL };
#define EEOD_KEYED_LETTER "d"

typedef void eeod_keyed_take(void *context, enum eeod_keyed_step step, size_t n);

struct eeod_keyed {
    struct eeod_scan scan;
    char             rest[1 + EEOD_KEY_DIGITS + sizeof "-->"];  /* of a mark with the key, behind its beginning */
    size_t           beginning;         /* bytes of the one that is followed; 0: none is */
    size_t           seen;              /* bytes behind it that are as in a mark */
    bool             usual;             /* in one without a key */
    size_t           held;              /* bytes fed and not told of */
    eeod_keyed_take *take;
    void            *context;
    /* counts */
    uint64_t         ours, spoiled;
};

void eeod_keyed_begin(struct eeod_keyed *k, const char key[EEOD_KEY_DIGITS], eeod_keyed_take *take, void *context);
void eeod_keyed_feed(struct eeod_keyed *k, const void *data, size_t len);
void eeod_keyed_end(struct eeod_keyed *k);      /* all is told then */

#endif
