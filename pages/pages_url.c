/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages_url.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Letters, digits, - . _ and ~: a bit for each. */
static bool is_unreserved(unsigned char c) {
    static const uint64_t set[] = { UINT64_C(0x03ff600000000000), UINT64_C(0x47fffffe87fffffe), 0, 0 };
    return set[c >> 6] >> (c & 63) & 1;
}

/* Sub-delimiters and what else may stand in a path or query without an escape. */
static int may_stand(unsigned char c) { return c && strchr("!$&'()*+,;=:@/?", c) != NULL; }

static int pages_url_hex(unsigned char c) {
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

/*
 * How a target is spelt.  plain: which reserved characters are themselves whether they came escaped or not, in the path
 * and behind it; merge: a run of slashes is one; one_mark: of question marks only that in front of the query stands
 * unescaped.
 */
struct spelling {
    const char *plain[2];
    int merge, one_mark;
};

static const struct spelling exactly = { { "", "" }, 0, 0 };
/* In a query & = + ; take it apart, so that there an escape makes a difference to whoever reads it. */
static const struct spelling plainly = { { "!$&'()*+,;=:@", "!$'()*,:@/" }, 1, 1 };

/* The next character of in[*at..n), spelt: 1 or 3 bytes. */
static size_t url_spell(const struct spelling *how, int in_query, const char *in, size_t n, size_t *at, char *out) {
    unsigned char c = (unsigned char)in[*at];
    int high, low;

    if (c == '%') {
        high = n - *at > 2 ? pages_url_hex((unsigned char)in[*at + 1]) : -1;
        low = high < 0 ? -1 : pages_url_hex((unsigned char)in[*at + 2]);
        if (low >= 0) {
            *at += 3;
            c = (unsigned char)(high << 4 | low);
            if (!is_unreserved(c) && (!c || !strchr(how->plain[in_query], c))) return escape(c, out);
            *out = (char)c;
            return 1;
        }
    }
    ++*at;
    if ((!is_unreserved(c) && !may_stand(c)) || (c == '?' && in_query && how->one_mark)) return escape(c, out);
    *out = (char)c;
    return 1;
}

/* Of in[*at..n) what is spelt as it is, whatever the spelling, and most of it is. */
static size_t copy_unreserved(const char *in, size_t n, size_t *at, char *out) {
    size_t used = 0;

    for (; *at < n && is_unreserved((unsigned char)in[*at]); ++*at) out[used++] = in[*at];
    return used;
}

/* out may be target itself when that is spelt already: then nothing grows. */
static size_t write_spelt(const struct spelling *how, const char *target, size_t n, char *out) {
    size_t at = 0, used = 0;
    int more = 1;

    out[used++] = '/';
    if (n && target[0] == '/') at = 1;
    while (more) {
        size_t segment = used, length; /* behind its slash */

        used += copy_unreserved(target, n, &at, out + used);
        while (at < n && target[at] != '/' && target[at] != '?') {
            used += url_spell(how, 0, target, n, &at, out + used);
            used += copy_unreserved(target, n, &at, out + used);
        }
        more = at < n && target[at] == '/';
        at += (size_t)more;
        length = used - segment;
        if (length == 1 && out[segment] == '.') {
            used = segment;
        } else if (length == 2 && out[segment] == '.' && out[segment + 1] == '.') {
            used = segment;
            if (segment > 1)
                for (used--; out[used - 1] != '/'; used--) continue;
        } else if (more && (length || !how->merge)) {
            out[used++] = '/';
        }
    }
    if (at < n) out[used++] = target[at++]; /* the question mark */
    while (at < n) {
        used += copy_unreserved(target, n, &at, out + used);
        if (at < n) used += url_spell(how, 1, target, n, &at, out + used);
    }
    out[used] = 0;
    return used;
}

/* What is in front of a fragment. */
static size_t without_fragment(const char *target, size_t n) {
    const char *fragment = n ? memchr(target, '#', n) : NULL;
    return fragment ? (size_t)(fragment - target) : n;
}

size_t pages_url_spell(const char *target, size_t n, char *out, size_t room) {
    n = without_fragment(target, n);
    return room < PAGES_URL_ROOM(n) ? 0 : write_spelt(&exactly, target, n, out);
}

/* %2F of a spelt path becomes a slash. */
static size_t decode_slashes(char *out, size_t n) {
    size_t at = 0, used = 0;

    while (at < n && out[at] != '?') {
        int slash = n - at > 2 && out[at] == '%' && out[at + 1] == '2' && out[at + 2] == 'F';
        out[used++] = slash ? '/' : out[at];
        at += slash ? 3 : 1;
    }
    memmove(out + used, out + at, n - at);
    return used + n - at;
}

size_t pages_url_plain(const char *target, size_t n, int slashes, char *out, size_t room) {
    size_t used;

    n = without_fragment(target, n);
    if (room < PAGES_URL_ROOM(n)) return 0;
    used = write_spelt(&plainly, target, n, out);
    /* After the dots are resolved, and then once more: that is what httpd does. */
    return slashes ? write_spelt(&plainly, out, decode_slashes(out, used), out) : used;
}

size_t pages_url_plain_piece(const char *piece, size_t n, char *out, size_t room) {
    size_t at = 0, used = 0;
    int in_query = 0;

    if (room < PAGES_URL_ROOM(n)) return 0;
    while (at < n) {
        if (!in_query && piece[at] == '?') {
            in_query = 1;
            out[used++] = piece[at++];
        } else if (!in_query && piece[at] == '/' && used && out[used - 1] == '/') {
            at++;
        } else {
            used += url_spell(&plainly, in_query, piece, n, &at, out + used);
        }
    }
    out[used] = 0;
    return used;
}
