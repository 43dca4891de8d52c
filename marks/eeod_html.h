/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_html.h - where in HTML one is: in plain text, or in a tag, an attribute's value, a comment, a CDATA section, or an element whose content is
 * no markup (script, style, textarea, title and their like).
 *
 * Fed piece by piece, from a place that is plain text; it follows the tokenizer of HTML (WHATWG, 13.2.5).  In doubt it stays longer where no plain text is: a CDATA
 * section ends with `]]>` only, and elements without markup are that in XML and SVG, too.  No allocation.
 */
#ifndef FAIRGATE_EEOD_HTML_H
#define FAIRGATE_EEOD_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EEOD_HTML_NAME 10           /* bytes; longer than any name that matters */

struct eeod_html {
    uint8_t state;
    uint8_t raw;                    /* of the elements without markup */
    uint8_t name_n;                 /* bytes of a tag's name; EEOD_HTML_NAME: and more */
    bool    ends;                   /* it is an end tag */
    char    name[EEOD_HTML_NAME];   /* in small letters */
};

void eeod_html_begin(struct eeod_html *h);
void eeod_html_feed(struct eeod_html *h, const void *data, size_t n);

/* Whether something that begins with this byte, and comes next, would stand in plain text. */
bool eeod_html_plain(const struct eeod_html *h, unsigned char first);

#endif
