/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_name_text.c - names as people write them (ndn_name.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base_error.h"
#include "ndn_name.h"

static const struct name_word {
    const char *word;
    uint32_t type;
    bool digest; /* hexadecimal digits stand behind it, and else a number */
} name_words[] = {
    { "seg", NDN_SEGMENT_COMPONENT, false },
    { "off", NDN_OFFSET_COMPONENT, false },
    { "v", NDN_VERSION_COMPONENT, false },
    { "t", NDN_TIMESTAMP_COMPONENT, false },
    { "seq", NDN_SEQUENCE_COMPONENT, false },
    { "sha256digest", NDN_DIGEST_COMPONENT, true },
    { "params-sha256", NDN_PARAMETERS_COMPONENT, true },
};
enum { NAME_WORDS = sizeof name_words / sizeof *name_words };

struct name_text {
    const char *at;
    size_t n;
};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int name_text_hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Two hexadecimal digits as a byte; -1: they are none. */
static int name_text_byte(const char *digits) {
    int high = name_text_hex(digits[0]), low = high < 0 ? -1 : name_text_hex(digits[1]);
    return low < 0 ? -1 : high << 4 | low;
}

static const struct name_word *name_word_of(struct name_text type) {
    for (size_t i = 0; i < NAME_WORDS; i++)
        if (strlen(name_words[i].word) == type.n && !memcmp(name_words[i].word, type.at, type.n)) return name_words + i;
    return NULL;
}

/* Decimal digits and nothing else. */
static bool name_text_decimal(struct name_text text, uint64_t *n) {
    *n = 0;
    for (size_t i = 0; i < text.n; i++) {
        uint64_t digit = (uint64_t)(text.at[i] - '0');
        if (text.at[i] < '0' || text.at[i] > '9' || __builtin_mul_overflow(*n, 10, n) ||
            __builtin_add_overflow(*n, digit, n))
            return false;
    }
    return text.n;
}

/* A type as a number, which is written in one way only. */
static bool name_text_type(struct name_text text, uint32_t *type) {
    uint64_t n;
    if (!text.n || *text.at == '0' || !name_text_decimal(text, &n) || n > UINT16_MAX) return false;
    *type = (uint32_t)n;
    return true;
}

/* How many bytes escaped text stands for, and whether all of these are dots.  NULL, or what is wrong. */
static const char *name_text_measure(struct name_text text, size_t *n, bool *dots) {
    *n = 0;
    *dots = true;
    for (size_t i = 0; i < text.n; i++, ++*n) {
        int c = (unsigned char)text.at[i];

        if (c == '%') {
            c = text.n - i > 2 ? name_text_byte(text.at + i + 1) : -1;
            if (c < 0) return "two hexadecimal digits must stand behind %";
            i += 2;
        } else if (c <= ' ' || c == 0x7f || c == '?' || c == '#') {
            return "?, #, blanks and control characters must be escaped, as in %3F";
        }
        *dots &= c == '.';
    }
    return NULL;
}

static const char *name_text_put(struct ndn_out *out, uint32_t type, struct name_text text) {
    bool dots;
    size_t n;
    const char *wrong = name_text_measure(text, &n, &dots);

    if (wrong) return wrong;
    if (dots) {
        if (!n) return "write ... if it is meant to be empty, and leave the slash out if not";
        if (n < 3) return "a component of nothing but dots has three more: . is written ....";
        n -= 3;
    }
    if ((type == NDN_DIGEST_COMPONENT || type == NDN_PARAMETERS_COMPONENT) && n != NDN_DIGEST)
        return "a digest has 32 bytes";
    ndn_put_head(out, type, n);
    for (size_t i = 0; n; i++, n--) {
        uint8_t c = (uint8_t)text.at[i];
        if (c == '%') {
            c = (uint8_t)name_text_byte(text.at + i + 1);
            i += 2;
        }
        ndn_put(out, &c, 1);
    }
    return NULL;
}

static const char *name_text_put_digest(struct ndn_out *out, uint32_t type, struct name_text text) {
    uint8_t digest[NDN_DIGEST];

    if (text.n != 2 * NDN_DIGEST) return "a digest has 64 hexadecimal digits";
    for (size_t i = 0; i < NDN_DIGEST; i++) {
        int byte = name_text_byte(text.at + 2 * i);
        if (byte < 0) return "a digest has 64 hexadecimal digits";
        digest[i] = (uint8_t)byte;
    }
    ndn_put_element(out, type, digest, sizeof digest);
    return NULL;
}

/* NULL, or what is wrong with the component. */
static const char *name_text_component(struct ndn_out *out, struct name_text text) {
    const char *equals = memchr(text.at, '=', text.n);
    struct name_text before, behind;
    const struct name_word *w;
    uint32_t type;
    uint64_t number;

    if (!equals) return name_text_put(out, NDN_GENERIC_COMPONENT, text);
    before = (struct name_text){ text.at, (size_t)(equals - text.at) };
    behind = (struct name_text){ equals + 1, text.n - before.n - 1 };
    if ((w = name_word_of(before))) {
        if (w->digest) return name_text_put_digest(out, w->type, behind);
        if (!name_text_decimal(behind, &number)) return "a number from 0 to 18446744073709551615 must stand behind =";
        ndn_put_component_number(out, w->type, number);
        return NULL;
    }
    if (!name_text_type(before, &type))
        return "a type must stand before =, as in 32=metadata, v=1 or seg=0; where = is meant write %3D";
    return name_text_put(out, type, behind);
}

int ndn_name_parse(const char *text, struct ndn_out *out, struct ndn_name *name, char **error) {
    const struct ndn_out before = *out;
    const char *at = text, *wrong = NULL;
    struct name_text c = { NULL, 0 };

    if (!strncasecmp(at, "ndn:", 4)) at += 4;
    else if (!strncasecmp(at, "ccnx:", 5)) at += 5;
    if (*at != '/')
        return base_fail(error, "name %s: must begin with a slash, as in /example/site",
                         base_quote(text, strlen(text)).s);
    name->n = 0;
    for (; !wrong && *at == '/' && (at[1] || name->n); at += 1 + c.n) {
        c = (struct name_text){ at + 1, strcspn(at + 1, "/") };
        wrong = name_text_component(out, c);
        if (!wrong && name->n++ == NDN_COMPONENTS_MAX) wrong = "a name has 128 components at most";
        if (!wrong && out->full) wrong = "the name is too long";
    }
    if (wrong) {
        *out = before;
        return base_fail(error, "name %s: component \"%s\": %s", base_quote(text, strlen(text)).s,
                         base_quote(c.at, c.n).s, wrong);
    }
    name->bytes = (struct ndn_span){ out->at + before.n, out->n - before.n };
    return 0;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

struct name_print {
    char *out;
    size_t room, n; /* n: what it has whole */
};

static void name_print_text(struct name_print *p, const char *text) {
    for (; *text; text++, p->n++)
        if (p->n + 1 < p->room) p->out[p->n] = *text;
}

static bool name_is_plain(uint8_t c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

static void name_print_escaped(struct name_print *p, struct ndn_span value) {
    static const char digits[] = "0123456789ABCDEF";
    bool dots = true;

    for (size_t i = 0; i < value.n; i++) {
        uint8_t c = value.at[i];
        char text[] = { name_is_plain(c) ? (char)c : '%', name_is_plain(c) ? 0 : digits[c >> 4], digits[c & 15], 0 };
        name_print_text(p, text);
        dots &= c == '.';
    }
    if (dots) name_print_text(p, "...");
}

static void name_print_digest(struct name_print *p, struct ndn_span value) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < value.n; i++) {
        char text[] = { digits[value.at[i] >> 4], digits[value.at[i] & 15], 0 };
        name_print_text(p, text);
    }
}

static void name_print_component(struct name_print *p, const struct ndn_element *c) {
    char number[32];
    uint64_t n;

    name_print_text(p, "/");
    for (size_t i = 0; i < NAME_WORDS; i++) {
        const struct name_word *w = name_words + i;

        if (c->type != w->type || (!w->digest && !ndn_component_number(c, w->type, &n))) continue;
        name_print_text(p, w->word);
        name_print_text(p, "=");
        if (w->digest) {
            name_print_digest(p, c->value);
        } else {
            snprintf(number, sizeof number, "%" PRIu64, n);
            name_print_text(p, number);
        }
        return;
    }
    if (c->type != NDN_GENERIC_COMPONENT) {
        snprintf(number, sizeof number, "%u=", (unsigned)c->type);
        name_print_text(p, number);
    }
    name_print_escaped(p, c->value);
}

size_t ndn_name_print(const struct ndn_name *name, char *out, size_t room) {
    struct name_print p = { out, room, 0 };
    struct ndn_span rest = name->bytes;
    struct ndn_element c;

    if (!name->n) name_print_text(&p, "/");
    while (ndn_next(&rest, &c)) name_print_component(&p, &c);
    if (room) out[p.n < room ? p.n : room - 1] = 0;
    return p.n;
}
