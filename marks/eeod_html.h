/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_html.h - where in HTML one is: in text, or in a tag, an attribute's value, a comment, a CDATA section, or an
 * element whose content is no markup (script, style, textarea, title and their like).
 *
 * Fed piece by piece, from a place that is text; it follows the tokenizer of HTML (WHATWG, 13.2.5).  In doubt it stays
 * longer where no text is: a CDATA section ends with `]]>` only, and elements without markup are that in XML and SVG,
 * too.  No allocation.
 */
#ifndef FAIRGATE_EEOD_HTML_H
#define FAIRGATE_EEOD_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eeod_html {
    uint8_t state;
    uint8_t element;                /* of those without markup, and where the tag ends */
    uint8_t n;                      /* bytes of what may become a name or another word */
    uint8_t name[10];               /* of a tag; longer than those that matter */
};

void eeod_html_begin(struct eeod_html *h);
void eeod_html_feed(struct eeod_html *h, const void *data, size_t n);

/* Whether what comes next, and begins with this byte, stands in text. */
bool eeod_html_text(const struct eeod_html *h, unsigned char first);

#endif
