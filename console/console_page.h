/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console_page.h - the page itself, as bytes: console.html with its style and its script in it, put together by `embed`
 * when it is built.  It asks nobody but its host, and those whose addresses the host names.
 *
 * The policy (Content-Security-Policy) lets that one style and that one script run, by their hashes, and nothing else.
 */
#ifndef FAIRGATE_CONSOLE_PAGE_H
#define FAIRGATE_CONSOLE_PAGE_H

#include <stddef.h>

extern const char   console_page[];
extern const size_t console_page_bytes;

enum { CONSOLE_POLICY = 2048, CONSOLE_OTHERS = 16 };

/*
 * The policy into `to`; the page may ask the sites of `others`, too: at most CONSOLE_OTHERS addresses with spaces
 * between, or NULL.  0: one of them is none, or too many, and is not in it.
 */
int console_policy(char to[CONSOLE_POLICY], const char *others);
/* Is `origin`, as a browser sends it, the site of one of these addresses? */
int console_allows(const char *origin, const char *sites);

#endif
