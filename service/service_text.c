/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t service_text_character(const char *s, size_t n) {
    const unsigned char *p = (const unsigned char *)s;
    unsigned c = n ? *p : 0, more = c < 0x80 ? 0 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    static const unsigned least[] = { 0x20, 0xa0, 0x800, 0x10000 };

    if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || more >= n) return 0;
    c &= more ? 0x3fu >> more : 0x7f;
    for (unsigned i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[more] || c == 0x7f || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return 0;
    return more + 1;
}

static char *text_room(struct service_text *t, size_t n) {
    size_t room = t->room ? t->room : 256;
    char *more;

    while (room < t->n + n + 1) room *= 2;
    if (room != t->room) {
        more = t->failed ? NULL : realloc(t->bytes, room);
        if (!more) {
            t->failed = true;
            return NULL;
        }
        t->bytes = more;
        t->room = room;
    }
    return t->failed ? NULL : t->bytes + t->n;
}

void service_text_put(struct service_text *t, const char *bytes, size_t n) {
    char *at = text_room(t, n);

    if (!at) return;
    if (n) memcpy(at, bytes, n);
    t->n += n;
    t->bytes[t->n] = '\0';
}

void service_text_print(struct service_text *t, const char *format, ...) {
    char line[512];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line) t->failed = true;
    else service_text_put(t, line, (size_t)n);
}

void service_text_put_escaped(struct service_text *t, const char *bytes, size_t n) {
    static const char hex[] = "0123456789ABCDEF", kept[] = "-._~";

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z', digit = c >= '0' && c <= '9';
        char escaped[3] = { '%', hex[c >> 4], hex[c & 15] };

        if (letter || digit || (c && strchr(kept, c))) service_text_put(t, bytes + i, 1);
        else service_text_put(t, escaped, sizeof escaped);
    }
}

char *service_text_take(struct service_text *t, size_t *n) {
    char *bytes;

    service_text_put(t, "", 0);
    bytes = t->failed ? NULL : t->bytes;
    if (t->failed) free(t->bytes);
    if (n) *n = bytes ? t->n : 0;
    *t = (struct service_text){ 0 };
    return bytes;
}

void service_text_free(struct service_text *t) {
    free(t->bytes);
    *t = (struct service_text){ 0 };
}
