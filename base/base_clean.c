/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_clean.h"

#include <stdbool.h>

/* Bytes of the character that begins so; 0: none does. */
static unsigned clean_size(unsigned char first) {
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The second byte is what overlong forms, surrogates and what is beyond U+10FFFF are seen by. */
static bool clean_continues(const unsigned char *held, unsigned n, unsigned char next) {
    if ((next & 0xc0) != 0x80) return false;
    if (n > 1) return true;
    switch (held[0]) {
    case 0xe0: return next >= 0xa0;
    case 0xed: return next < 0xa0;
    case 0xf0: return next >= 0x90;
    case 0xf4: return next < 0x90;
    default: return true;
    }
}

static bool clean_is_harmless(unsigned c) {
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return c == '\n' || c == '\t';
    return c != 0x61c && c != 0x200e && c != 0x200f && !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

static size_t clean_hex(const unsigned char *bytes, unsigned n, char *out) {
    size_t used = 0;

    for (unsigned i = 0; i < n; i++) used += (size_t)sprintf(out + used, "\\x%02x", bytes[i]);
    return used;
}

/* A whole character is held. */
static size_t clean_character(struct base_clean *c, char *out) {
    unsigned n = c->n, code = n == 1 ? c->held[0] : c->held[0] & (0x7fu >> n);

    c->n = 0;
    for (unsigned i = 1; i < n; i++) code = code << 6 | (c->held[i] & 0x3f);
    if (!clean_is_harmless(code)) return n == 1 ? clean_hex(c->held, 1, out) : (size_t)sprintf(out, "\\u%04x", code);
    for (unsigned i = 0; i < n; i++) out[i] = (char)c->held[i];
    return n;
}

size_t base_clean_end(struct base_clean *c, char *out) {
    unsigned n = c->n;

    c->n = 0;
    return clean_hex(c->held, n, out);
}

size_t base_clean(struct base_clean *c, const void *bytes, size_t n, char *out) {
    const unsigned char *p = bytes;
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        if (c->n && !clean_continues(c->held, c->n, p[i])) used += base_clean_end(c, out + used);
        c->held[c->n++] = p[i];
        if (c->n == 1 && !clean_size(p[i])) used += base_clean_end(c, out + used);
        else if (c->n == clean_size(c->held[0])) used += clean_character(c, out + used);
    }
    return used;
}

void base_clean_line(const char *text, size_t n, FILE *out) {
    struct base_clean c = { .n = 0 };
    char piece[BASE_CLEAN_GROWS + BASE_CLEAN_MORE];

    for (size_t i = 0; i < n; i++) {
        size_t used = base_clean(&c, text + i, 1, piece);
        if (used && (piece[used - 1] == '\n' || piece[used - 1] == '\t')) {
            fwrite(piece, 1, used - 1, out);
            fputs(piece[used - 1] == '\n' ? "\\n" : "\\t", out);
        } else {
            fwrite(piece, 1, used, out);
        }
    }
    fwrite(piece, 1, base_clean_end(&c, piece), out);
}
