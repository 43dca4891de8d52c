/* SPDX-License-Identifier: BSD-2-Clause */
#include "web_header.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void web_header_end(struct web_header *h, web_header_take *take, void *of) {
    if (h->n) take(of, h->line, h->n);
    h->n = 0;
}

bool web_header_add(struct web_header *h, const char *line, size_t n, web_header_take *take, void *of) {
    char *more;

    if (*line != ' ' && *line != '\t') web_header_end(h, take, of);
    while (h->n && (h->line[h->n - 1] == '\r' || h->line[h->n - 1] == '\n')) h->n--;
    more = n <= WEB_HEADER_LINE_MAX - h->n ? realloc(h->line, h->n + n) : NULL;
    if (!more) return false;
    h->line = more;
    memcpy(more + h->n, line, n);
    h->n += n;
    return true;
}

const char *web_header_value(const char *line, size_t n, const char *name, size_t *length) {
    size_t k = strlen(name);

    if (n <= k || line[k] != ':' || strncasecmp(line, name, k)) return NULL;
    line += k + 1;
    n -= k + 1;
    while (n && (*line == ' ' || *line == '\t')) line++, n--;
    while (n && (unsigned char)line[n - 1] <= ' ') n--;
    *length = n;
    return line;
}
