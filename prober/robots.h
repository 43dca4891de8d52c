/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * robots.h - what a site's robots.txt lets us fetch (RFC 9309).
 *
 * Groups that name our product token count, together; without one, those of "*".  Of the rules that match a path the
 * longest pattern decides, and of two equal ones Allow.  "*" in a pattern stands for any characters, "$" at its end for
 * the end.  Patterns and paths are compared in the spelling of pages_url.h.  What comes after the first 500 KiB does
 * not count (2.5); nor do lines that say nothing known.
 */
#ifndef FAIRGATE_ROBOTS_H
#define FAIRGATE_ROBOTS_H

#include <stdbool.h>
#include <stddef.h>

#define ROBOTS_MAX       (500u * 1024u)
#define ROBOTS_RULES_MAX 5000u      /* of one walker; more are not looked at */

struct robots;

/* text: n bytes, anything.  token: our product token, as "fairgate-prober".  NULL: out of memory. */
struct robots *robots_parse(const char *text, size_t n, const char *token);
void           robots_free(struct robots **r);

/*
 * target: spelt path and query.  r NULL: there is no robots.txt, and everything is allowed.
 * 5,000 rules with stars and a long target take a good part of a second.  So `over` (NULL: never) is asked every few
 * rules; once it says that there is no more time, nothing is allowed.
 */
typedef int    robots_over(void *context);
bool robots_allow(const struct robots *r, const char *target, robots_over *over, void *context);

/* Does a pattern of n bytes, spelt, match the target of so many? */
bool robots_pattern_matches(const char *pattern, size_t n, const char *target, size_t length);

/*
 * Seconds between two requests that the site asks for (Crawl-delay, not in the RFC but in use); at most 120; 0 = none.
 */
double         robots_delay(const struct robots *r);

/*
 * Sitemap lines, whoever they are for; as written, each a NUL-terminated string of this object's.  NULL after the last.
 */
const char    *robots_sitemap(const struct robots *r, size_t i);

#endif
