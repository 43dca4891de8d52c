/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DIGITS_MAX     15 /* RFC 9651, 3.3.1 */
#define PARAMETERS_MAX 16 /* of what is written: each is compared with the others */

bool bots_text_same(struct bots_text a, struct bots_text b) { return a.n == b.n && !memcmp(a.at, b.at, a.n); }
bool bots_text_is(struct bots_text text, const char *word) {
    return text.n == strlen(word) && !memcmp(text.at, word, text.n);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool fields_is_digit(char c) { return c >= '0' && c <= '9'; }
static bool fields_is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool fields_is_letter(char c) { return fields_is_lower(c) || (c >= 'A' && c <= 'Z'); }
/* memchr, since a NUL is no character of any. */
static bool fields_is_one_of(char c, const char *set, size_t n) { return memchr(set, c, n) != NULL; }
#define ONE_OF(c, set) fields_is_one_of(c, set, sizeof set - 1)

static bool fields_at(const struct bots_text *in, char c) { return in->n && *in->at == c; }

static void fields_skip(struct bots_text *in, size_t n) {
    in->at += n;
    in->n -= n;
}

static bool fields_take(struct bots_text *in, char c) {
    if (!fields_at(in, c)) return false;
    fields_skip(in, 1);
    return true;
}

static void fields_skip_spaces(struct bots_text *in) {
    while (fields_take(in, ' ')) continue;
}

static void fields_skip_blanks(struct bots_text *in) {
    while (fields_take(in, ' ') || fields_take(in, '\t')) continue;
}

static bool fields_read_key(struct bots_text *in, struct bots_text *key) {
    size_t n = 0;

    if (!in->n || !(fields_is_lower(*in->at) || *in->at == '*')) return false;
    while (n < in->n && (fields_is_lower(in->at[n]) || fields_is_digit(in->at[n]) || ONE_OF(in->at[n], "_-.*"))) n++;
    *key = bots_text(in->at, n);
    fields_skip(in, n);
    return true;
}

static bool fields_read_number(struct bots_text *in, struct bots_item *item) {
    size_t minus = fields_at(in, '-'), n = minus, point;

    item->kind = BOTS_WHOLE;
    item->whole = 0;
    for (; n < in->n && fields_is_digit(in->at[n]); n++) {
        if (n - minus == DIGITS_MAX) return false;
        item->whole = item->whole * 10 + (in->at[n] - '0');
    }
    if (n == minus) return false;
    if (minus) item->whole = -item->whole;
    if (n < in->n && in->at[n] == '.') {
        point = n++;
        while (n < in->n && fields_is_digit(in->at[n])) n++;
        if (point - minus > 12 || n - point < 2 || n - point > 4) return false;
        item->kind = BOTS_DECIMAL;
    }
    fields_skip(in, n);
    return true;
}

static bool fields_read_string(struct bots_text *in, struct bots_item *item) {
    size_t n = 1;

    for (; n < in->n && in->at[n] != '"'; n++) {
        if (in->at[n] < ' ' || in->at[n] > '~') return false;
        if (in->at[n] == '\\' && (++n == in->n || !ONE_OF(in->at[n], "\"\\"))) return false;
    }
    if (n >= in->n) return false;
    item->kind = BOTS_STRING;
    fields_skip(in, n + 1);
    return true;
}

static bool fields_read_token(struct bots_text *in, struct bots_item *item) {
    size_t n = 1;

    while (n < in->n &&
           (fields_is_letter(in->at[n]) || fields_is_digit(in->at[n]) || ONE_OF(in->at[n], "!#$%&'*+-.^_`|~:/")))
        n++;
    item->kind = BOTS_TOKEN;
    fields_skip(in, n);
    return true;
}

static bool fields_read_bytes(struct bots_text *in, struct bots_item *item) {
    size_t n = 1;

    while (n < in->n && (fields_is_letter(in->at[n]) || fields_is_digit(in->at[n]) || ONE_OF(in->at[n], "+/="))) n++;
    if (n >= in->n || in->at[n] != ':') return false;
    item->kind = BOTS_BYTES;
    fields_skip(in, n + 1);
    return true;
}

static bool fields_read_truth(struct bots_text *in, struct bots_item *item) {
    if (in->n < 2 || !ONE_OF(in->at[1], "01")) return false;
    item->kind = in->at[1] == '1' ? BOTS_TRUE : BOTS_FALSE;
    fields_skip(in, 2);
    return true;
}

static bool fields_read_bare(struct bots_text *in, struct bots_item *item) {
    const char *begin = in->at;
    bool read;

    if (!in->n) return false;
    if (*begin == '-' || fields_is_digit(*begin)) read = fields_read_number(in, item);
    else if (*begin == '"') read = fields_read_string(in, item);
    else if (*begin == '*' || fields_is_letter(*begin)) read = fields_read_token(in, item);
    else if (*begin == ':') read = fields_read_bytes(in, item);
    else if (*begin == '?') read = fields_read_truth(in, item);
    else return false;
    item->text = bots_text(begin, (size_t)(in->at - begin));
    item->parameters = bots_text(in->at, 0);
    return read;
}

static bool fields_read_parameter(struct bots_text *in, struct bots_member *p) {
    fields_skip(in, 1);
    fields_skip_spaces(in);
    if (!fields_read_key(in, &p->key)) return false;
    p->item.kind = BOTS_TRUE;
    p->item.text = p->item.parameters = bots_text(in->at, 0);
    return !fields_take(in, '=') || fields_read_bare(in, &p->item);
}

static bool fields_read_parameters(struct bots_text *in, struct bots_item *item) {
    const char *begin = in->at;
    struct bots_member p;

    while (fields_at(in, ';'))
        if (!fields_read_parameter(in, &p)) return false;
    item->parameters = bots_text(begin, (size_t)(in->at - begin));
    return true;
}

static bool fields_read_item(struct bots_text *in, struct bots_item *item) {
    return fields_read_bare(in, item) && fields_read_parameters(in, item);
}

static bool fields_read_list(struct bots_text *in, struct bots_item *item) {
    const char *begin = in->at;
    struct bots_item one;

    fields_skip(in, 1);
    for (fields_skip_spaces(in); !fields_at(in, ')'); fields_skip_spaces(in))
        if (!fields_read_item(in, &one) || (!fields_at(in, ' ') && !fields_at(in, ')'))) return false;
    fields_skip(in, 1);
    item->kind = BOTS_LIST;
    item->text = bots_text(begin, (size_t)(in->at - begin));
    return fields_read_parameters(in, item);
}

static bool fields_read_member(struct bots_text *in, struct bots_member *m) {
    fields_skip_spaces(in);
    if (!fields_read_key(in, &m->key)) return false;
    m->item.kind = BOTS_TRUE;
    m->item.text = bots_text(in->at, 0);
    if (!fields_take(in, '=')) {
        if (!fields_read_parameters(in, &m->item)) return false;
    } else if (!(fields_at(in, '(') ? fields_read_list(in, &m->item) : fields_read_item(in, &m->item))) return false;
    fields_skip_blanks(in);
    if (!in->n) return true;
    if (!fields_take(in, ',')) return false;
    fields_skip_blanks(in);
    return in->n > 0;
}

bool bots_fields_member(struct bots_text *left, struct bots_member *m) {
    if (!left->at || !left->n) return false;
    if (fields_read_member(left, m)) return true;
    left->at = NULL;
    return false;
}

int bots_fields_find(struct bots_text dictionary, struct bots_text key, struct bots_member *m) {
    struct bots_member one;
    int found = 0;

    while (bots_fields_member(&dictionary, &one)) {
        if (!bots_text_same(one.key, key)) continue;
        *m = one;
        if (++found > 1) return -1;
    }
    return dictionary.at ? found : -1;
}

bool bots_fields_item(struct bots_text field, struct bots_item *item) {
    fields_skip_spaces(&field);
    if (!fields_read_item(&field, item)) return false;
    fields_skip_spaces(&field);
    return !field.n;
}

bool bots_fields_parameter(struct bots_text *left, struct bots_member *p) {
    return left->n && fields_read_parameter(left, p);
}

bool bots_fields_inner(struct bots_text *left, struct bots_item *item) {
    fields_skip_spaces(left);
    return left->n && fields_read_item(left, item);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

int bots_fields_string(const struct bots_item *item, char *out, size_t room) {
    size_t n = 0;

    if (item->kind != BOTS_STRING) return -1;
    for (size_t i = 1; i + 1 < item->text.n; i++) {
        if (item->text.at[i] == '\\') i++;
        if (n == room) return -1;
        out[n++] = item->text.at[i];
    }
    return (int)n;
}

static int fields_base64_digit(char c, bool url) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == (url ? '-' : '+')) return 62;
    return c == (url ? '_' : '/') ? 63 : -1;
}

int bots_base64(struct bots_text text, bool url, uint8_t *out, size_t room) {
    uint32_t bits = 0;
    unsigned have = 0;
    size_t n = 0, pads = 0;

    if (!url) {
        if (text.n % 4) return -1;
        while (pads < 2 && pads < text.n && text.at[text.n - 1 - pads] == '=') pads++;
    }
    if ((text.n - pads) % 4 == 1) return -1;
    for (size_t i = 0; i < text.n - pads; i++) {
        int digit = fields_base64_digit(text.at[i], url);

        if (digit < 0) return -1;
        bits = bits << 6 | (uint32_t)digit;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        if (n == room) return -1;
        out[n++] = (uint8_t)(bits >> have);
    }
    /* What is left over says nothing, and must: else the same bytes have two forms. */
    return bits & ((1u << have) - 1) ? -1 : (int)n;
}

int bots_fields_bytes(const struct bots_item *item, uint8_t *out, size_t room) {
    if (item->kind != BOTS_BYTES) return -1;
    return bots_base64(bots_text(item->text.at + 1, item->text.n - 2), false, out, room);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct writing {
    char *out;
    size_t n, room;
    bool failed;
};

static void fields_write_text(struct writing *w, const char *at, size_t n) {
    if (w->failed || n > w->room - w->n) {
        w->failed = true;
        return;
    }
    memcpy(w->out + w->n, at, n);
    w->n += n;
}

static void fields_write_bare(struct writing *w, const struct bots_item *item) {
    char number[24];
    uint8_t decoded[3];

    switch (item->kind) {
    case BOTS_WHOLE:
        fields_write_text(w, number, (size_t)snprintf(number, sizeof number, "%" PRId64, item->whole));
        return;
    case BOTS_TRUE: fields_write_text(w, "?1", 2); return;
    case BOTS_BYTES:
        /* Its last group has two forms or more; in front of it, what is no digit was refused when it was read. */
        if ((item->text.n - 2) % 4) w->failed = true;
        else if (item->text.n > 2) {
            struct bots_text last = bots_text(item->text.at + item->text.n - 5, 4);
            if (bots_base64(last, false, decoded, sizeof decoded) < 0 || memchr(item->text.at, '=', item->text.n - 5))
                w->failed = true;
        }
        break;
    case BOTS_STRING:
    case BOTS_TOKEN:
    case BOTS_FALSE: break;
    default: w->failed = true; return;
    }
    fields_write_text(w, item->text.at, item->text.n);
}

/* The last of those with one name would have to move to the place of the first: nobody writes that. */
static bool fields_one_of_each(struct bots_text parameters) {
    struct bots_text keys[PARAMETERS_MAX];
    struct bots_member p;

    for (unsigned n = 0; bots_fields_parameter(&parameters, &p); keys[n++] = p.key) {
        if (n == PARAMETERS_MAX) return false;
        for (unsigned i = 0; i < n; i++)
            if (bots_text_same(keys[i], p.key)) return false;
    }
    return true;
}

static void fields_write_parameters(struct writing *w, struct bots_text left) {
    struct bots_member p;

    if (!fields_one_of_each(left)) w->failed = true;
    while (!w->failed && bots_fields_parameter(&left, &p)) {
        fields_write_text(w, ";", 1);
        fields_write_text(w, p.key.at, p.key.n);
        if (p.item.kind == BOTS_TRUE) continue;
        fields_write_text(w, "=", 1);
        fields_write_bare(w, &p.item);
    }
}

int bots_fields_write(const struct bots_item *item, char *out, size_t room) {
    struct writing w = { out, 0, room, false };
    struct bots_item one;

    if (item->kind == BOTS_LIST) {
        struct bots_text left = bots_fields_inside(item);
        const char *gap = "(";

        for (; bots_fields_inner(&left, &one); gap = " ") {
            fields_write_text(&w, gap, 1);
            fields_write_bare(&w, &one);
            fields_write_parameters(&w, one.parameters);
        }
        if (*gap == '(') fields_write_text(&w, gap, 1);
        fields_write_text(&w, ")", 1);
    } else {
        fields_write_bare(&w, item);
    }
    fields_write_parameters(&w, item->parameters);
    return w.failed ? -1 : (int)w.n;
}
