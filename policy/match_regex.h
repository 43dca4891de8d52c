/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match_regex.h - one regular expression, for the few rules that need one.
 *
 * PCRE2 over bytes (no UTF mode), compiled by its JIT where there is one.  A search allocates nothing: its match block
 * lies on the caller's stack.  It is bounded:  MATCH_REGEX_TEXT bytes of the text are looked at, and a search that
 * needs more than MATCH_REGEX_STEPS match steps, or more stack than there is, has not matched.
 */
#ifndef FAIRGATE_MATCH_REGEX_H
#define FAIRGATE_MATCH_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#define MATCH_REGEX_TEXT  8192
#define MATCH_REGEX_STEPS 20000

struct match_regex;

/* NULL and *error ("what is wrong; what would be right"): the expression is not one, or is too large. */
struct match_regex *match_regex_new(const char *pattern, size_t len, int fold, char **error);
void                match_regex_free(struct match_regex **m);
/* In a text that is cut, $ does not match at the cut. */
bool match_regex_find(const struct match_regex *m, const char *text, size_t len);

#endif
