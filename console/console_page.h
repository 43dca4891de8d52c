/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console_page.h - the page itself, as bytes: console.html with its style and its script in it, put together by `embed`
 * when it is built.  It asks nobody but its host, and those whose addresses the host names.
 *
 * The policy (Content-Security-Policy) lets that one style and that one script run, by their hashes, and nothing else.
 */
#ifndef FAIRGATE_CONSOLE_PAGE_H
#define FAIRGATE_CONSOLE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

extern const char   console_page[];
extern const size_t console_page_bytes;

enum { CONSOLE_POLICY = 2048, CONSOLE_OTHERS = 16 };

/*
 * The policy into `to`; the page may ask the sites of `others`, too: at most CONSOLE_OTHERS addresses, or paths of the
 * host's own, with spaces between; or NULL.  0: one of them is none, or too many, and is not in it.
 */
int console_policy(char to[CONSOLE_POLICY], const char *others);
/*
 * The next of `others` that the page may be told of: an address whose site the policy can hold, or a path of the host's
 * own.  Its length, and *at goes behind it; 0: no more, or CONSOLE_OTHERS were told.
 */
size_t console_other(const char **at, const char **one, int *told);
/*
 * A browser says that a page of another site asks (Sec-Fetch-Site: `site`, or NULL), and its `origin`, or "", is none
 * of `from`: it could read nothing, and is not to make work.
 */
bool console_foreign(const char *site, const char *origin, const char *from);
/* Is `origin`, as a browser sends it, the site of one of these addresses? */
int console_allows(const char *origin, const char *sites);

#endif
