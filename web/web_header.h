/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * web_header.h - lines of a response's header as libcurl's callback brings them, each to be read whole.
 *
 * A line that begins with a blank continues the line before (RFC 9112, 5.2), and libcurl hands both over.  So a line is
 * taken when the next one has come, or the header has ended.
 */
#ifndef FAIRGATE_WEB_HEADER_H
#define FAIRGATE_WEB_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#define WEB_HEADER_LINE_MAX 65536u /* bytes of a line and of those that continue it */

/* Of zeroes at first; line is the caller's to free. */
struct web_header {
    char *line;
    size_t n; /* 0: no line is waiting */
};

typedef void web_header_take(void *of, const char *line, size_t n);

/* A line that came, not the empty one.  False: it is too long, or there is no memory. */
bool web_header_add(struct web_header *h, const char *line, size_t n, web_header_take *take, void *of);
/* The empty line came. */
void web_header_end(struct web_header *h, web_header_take *take, void *of);

/* The value of a line that has this name, without the blanks around it; NULL: it has another one. */
const char *web_header_value(const char *line, size_t n, const char *name, size_t *length);

#endif
