/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int base_fail(char **error, const char *format, ...) {
    va_list ap;
    char *sentence = NULL;

    if (!error) return -1;
    va_start(ap, format);
    if (vasprintf(&sentence, format, ap) < 0) sentence = NULL;
    va_end(ap);
    free(*error); /* now: it may be among what the new one is made of */
    *error = sentence;
    return -1;
}

struct base_quoted base_quote(const char *p, size_t n) {
    struct base_quoted q;
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];

        if (used + 4 + sizeof "..." > sizeof q.s) {
            memcpy(q.s + used, "...", 3);
            used += 3;
            break;
        }
        if (c >= 0x20 && c < 0x7f) q.s[used++] = (char)c;
        else used += (size_t)snprintf(q.s + used, sizeof q.s - used, "\\x%02x", c);
    }
    q.s[used] = 0;
    return q;
}

void base_place(char **error, const char *name, uint64_t line) {
    char *placed = NULL;
    const char *sentence;
    int n;

    if (!error) return;
    sentence = *error ? *error : "out of memory; give the process more";
    n = line ? asprintf(&placed, "%s:%" PRIu64 ": %s", name, line, sentence)
             : asprintf(&placed, "%s: %s", name, sentence);
    if (n < 0) return;
    free(*error);
    *error = placed;
}
