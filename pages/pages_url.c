/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages_url.h"

#include <string.h>

static int is_unreserved(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

/* Sub-delimiters and what else may stand in a path or query without an escape. */
static int may_stand(unsigned char c) { return c && strchr("!$&'()*+,;=:@/?", c) != NULL; }

static int hex(unsigned char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t escape(unsigned char c, char *out) {
    static const char digits[] = "0123456789ABCDEF";
    out[0] = '%';
    out[1] = digits[c >> 4];
    out[2] = digits[c & 15];
    return 3;
}

/* The next character of in[*at..n), spelt: 1 or 3 bytes. */
static size_t spell(const char *in, size_t n, size_t *at, char *out) {
    unsigned char c = (unsigned char)in[*at];
    int high, low;

    if (c == '%') {
        high = n - *at > 2 ? hex((unsigned char)in[*at + 1]) : -1;
        low = high < 0 ? -1 : hex((unsigned char)in[*at + 2]);
        if (low >= 0) {
            *at += 3;
            c = (unsigned char)(high << 4 | low);
            if (!is_unreserved(c)) return escape(c, out);
            *out = (char)c;
            return 1;
        }
    }
    ++*at;
    if (!is_unreserved(c) && !may_stand(c)) return escape(c, out);
    *out = (char)c;
    return 1;
}

size_t pages_url_spell(const char *target, size_t n, char *out, size_t room) {
    const char *fragment = n ? memchr(target, '#', n) : NULL;
    size_t at = 0, used = 0;
    int more = 1;

    if (fragment) n = (size_t)(fragment - target);
    if (room < PAGES_URL_ROOM(n)) return 0;
    out[used++] = '/';
    if (n && target[0] == '/') at = 1;
    while (more) {
        size_t segment = used, length;      /* behind its slash */

        while (at < n && target[at] != '/' && target[at] != '?') used += spell(target, n, &at, out + used);
        more = at < n && target[at] == '/';
        at += (size_t)more;
        length = used - segment;
        if (length == 1 && out[segment] == '.') {
            used = segment;
        } else if (length == 2 && out[segment] == '.' && out[segment + 1] == '.') {
            used = segment;
            if (segment > 1)
                for (used--; out[used - 1] != '/'; used--) continue;
        } else if (more) {
            out[used++] = '/';
        }
    }
    while (at < n) used += spell(target, n, &at, out + used);
    out[used] = 0;
    return used;
}
