/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links.h - the links that a document holds: HTML, CSS, sitemaps.
 *
 * Documents are anything at all.  What a reader keeps is bounded, whatever comes: a link by LINKS_REF_MAX, HTML and CSS
 * by LINKS_TEXT_MAX, nesting by LINKS_DEPTH_MAX, all links by LINKS_MAX; beyond them it stops or leaves out, and
 * links_wrong says so.
 */
#ifndef FAIRGATE_LINKS_H
#define FAIRGATE_LINKS_H

#include <stdbool.h>
#include <stddef.h>

#define LINKS_REF_MAX   8192u
#define LINKS_TEXT_MAX  (4u << 20)
#define LINKS_DEPTH_MAX 512u
#define LINKS_MAX       50000u      /* of one document: as many as a sitemap may have */

enum links_type { LINKS_HTML, LINKS_CSS, LINKS_SITEMAP };

/*
 * What it leads to: something that may hold links itself, something that holds none.  BASE: later ones are relative to
 * it (<base href>).
 */
enum links_kind { LINKS_DOCUMENT, LINKS_OBJECT, LINKS_BASE };

/* ref: n bytes as written, entities and CSS escapes resolved, not NUL-terminated. */
typedef void links_found(void *context, const char *ref, size_t n, enum links_kind kind);
/* Is there no more time?  Asked again and again inside of a document; once it says yes, reading ends. */
typedef int links_over(void *context);

struct links;

/* over may be NULL.  NULL: out of memory. */
struct links *links_new(enum links_type type, links_found *found, links_over *over, void *context);
void          links_feed(struct links *l, const char *data, size_t n);              /* any pieces, any bytes */
void          links_end(struct links *l);       /* nothing more comes; HTML and CSS are read now */
const char   *links_wrong(const struct links *l);       /* why not all of it was read, or NULL */
bool links_ended(const struct links *l);       /* `over` said yes: what was found is not all */
bool links_nofollow(
    const struct links *l); /* <meta name="robots" content="nofollow">: its links are not to be followed */
void          links_free(struct links **l);

#endif
