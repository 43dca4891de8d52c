/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base_clean.h - text of strangers, fit for a terminal: nothing in it moves the cursor, sets a title, answers in the
 * user's place, or is read in another order than it stands in.
 *
 *     \n \t                                       as they are
 *     other control characters, C0 and C1         \x1b, \u009b
 *     what turns the direction of text (bidi)     \u202e
 *     bytes that are no UTF-8                     \xff
 *
 * A backslash stays one: this is for eyes, not to be read back.
 */
#ifndef FAIRGATE_BASE_CLEAN_H
#define FAIRGATE_BASE_CLEAN_H

#include <stddef.h>
#include <stdio.h>

struct base_clean {                  /* zeroed: at the beginning */
    unsigned char held[4];          /* of a character whose end has not come */
    unsigned      n;
};

enum { BASE_CLEAN_GROWS = 4, BASE_CLEAN_MORE = 16 };

/* `out` has room for BASE_CLEAN_GROWS * n + BASE_CLEAN_MORE bytes; how many went there. */
size_t base_clean(struct base_clean *c, const void *bytes, size_t n, char *out);
/* What was held at the end. */
size_t base_clean_end(struct base_clean *c, char *out);
/* The whole of a text, on one line: line ends and tabs are escaped, too. */
void   base_clean_line(const char *text, size_t n, FILE *out);

#endif
