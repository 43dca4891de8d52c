/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_scan.h - the marks that a page writer sets (EEOD paper II-D), found in a stream that comes in pieces.
 *
 * A stream is fed piece by piece.  Offsets count from the first byte of the piece that is being fed; what came before
 * it has negative ones, down to -(EEOD_MARK_MAX - 1).  Marks do not overlap: the search goes on behind each.  Whatever
 * the pieces, the marks found are those of the stream as a whole.  No allocation; a piece is looked at only during the
 * call.
 */
#ifndef FAIRGATE_EEOD_SCAN_H
#define FAIRGATE_EEOD_SCAN_H

#include <stddef.h>
#include <stdint.h>

#define EEOD_MARK_MIN 4
#define EEOD_MARK_MAX 64
#define EEOD_USUAL_OPEN  "<!--EEOD-->"
#define EEOD_USUAL_CLOSE "<!--/EEOD-->"
#define EEOD_SAYS_MAX (sizeof "marks  " + 2 * EEOD_MARK_MAX)

enum eeod_mark { EEOD_NO_MARK, EEOD_OPEN, EEOD_CLOSE };

struct eeod_marks {
    unsigned char text[2][EEOD_MARK_MAX];   /* of EEOD_OPEN, of EEOD_CLOSE */
    size_t        length[2];
    size_t        common;                   /* bytes with which both begin */
    /*
     * The header `Eeod` of a page with them: "marks" for the usual ones, "marks OPEN CLOSE"; empty: they can't stand in
     * a header.
     */
    char          says[EEOD_SAYS_MAX];
};

struct eeod_scan {
    const struct eeod_marks *marks;
    size_t        fed;                      /* bytes of the present piece that are behind us */
    size_t        held;                     /* bytes before it that may begin a mark */
    unsigned char tail[EEOD_MARK_MAX];      /* those */
};

/* NULL, or a static sentence that says why these two can't be marks: too short, too long, one contains the other. */
const char *eeod_marks_set(struct eeod_marks *m, const char *open, const char *close);

void eeod_scan_begin(struct eeod_scan *s, const struct eeod_marks *m);

/*
 * The next mark of the stream of which `data` is the present piece; to be called with the same piece until it returns
 * EEOD_NO_MARK, which ends the piece.  *at is where the mark begins; without a mark, where the bytes begin that may be
 * the beginning of one (len when there are none).  What stands before the end of a mark that was told is not looked at
 * again: the caller may have passed it on, and it may be gone.
 */
enum eeod_mark eeod_scan_next(struct eeod_scan *s, const void *data, size_t len, ptrdiff_t *at);

#endif
