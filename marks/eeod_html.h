/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_html.h - where in HTML one is: in text and tags, or in what is no markup: a comment, a CDATA section, or a script, style, textarea, title, iframe, noframes or
 * noscript element.
 *
 * Fed piece by piece, from a place that is text; it follows the tokenizer of HTML (WHATWG, 13.2.5) as far as these go.  Tags are not looked into, for that takes as long as all the
 * rest of a page's way: an attribute's value is text, and what begins in one as if it were outside is taken to have begun.  In doubt it stays longer where no text is: a CDATA section ends with
 * `]]>` only, and elements without markup are that in XML and SVG, too.  No allocation.
 */
#ifndef FAIRGATE_EEOD_HTML_H
#define FAIRGATE_EEOD_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eeod_html {
    uint8_t state;
    uint8_t element;                /* of those without markup */
    uint8_t n;                      /* bytes of what may become its name, or another word */
    char    name[8];                /* of an element, as long as one can be */
};

void eeod_html_begin(struct eeod_html *h);
void eeod_html_feed(struct eeod_html *h, const void *data, size_t n);

/* Whether what comes next, and begins with this byte, stands in text. */
bool eeod_html_text(const struct eeod_html *h, unsigned char first);

#endif
