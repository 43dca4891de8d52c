/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_paper.c - calls as the paper prints them (nextserve paper 3.1, Fig. 2 to 4), to tell who copied one what to
 * write.
 *
 * There, quotes are typographic, and a call in a call stands between plain quotes with its own quotes in it, so that
 * where a text ends is known only by counting braces.  Values are texts there; a bare word up to a comma or a brace is
 * read as the JSON that it is.
 */
#include <stdlib.h>
#include <string.h>

#include "service_name.h"
#include "service_text.h"

#define PAPER_DEEP 8u

struct paper {
    const char *p, *end;
};

static void skip_blanks(struct paper *s) {
    while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p) s->p++;
}

static bool take_char(struct paper *s, char c) {
    skip_blanks(s);
    if (s->p == s->end || *s->p != c) return false;
    s->p++;
    return true;
}

/* Of either kind: bytes of the quote at p, or 0. */
static size_t quote_at(const struct paper *s) {
    static const char *const quotes[] = { "\"", "\xe2\x80\x9c", "\xe2\x80\x9d", "\xe2\x80\x9e", "\xe2\x80\x9f" };

    for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++) {
        size_t n = strlen(quotes[i]);
        if ((size_t)(s->end - s->p) >= n && !memcmp(s->p, quotes[i], n)) return n;
    }
    return 0;
}

static json_t *paper_object(struct paper *s, unsigned deep);

/* A call's name up to its mark, and its parameters; the text of it in its one form. */
static json_t *paper_call(struct paper *s, const char *mark, unsigned deep) {
    const char *name = s->p;
    struct service_problem problem = { 0 };
    struct service_call call = { 0 };
    json_t *arguments, *text = NULL;

    s->p = mark + 1;
    skip_blanks(s);
    arguments = paper_object(s, deep);
    if (arguments && !service_call_of(name, (size_t)(mark - 1 - name), arguments, &call, &problem))
        text = json_string(call.text);
    json_decref(arguments);
    service_call_free(&call);
    service_problem_free(&problem);
    return text;
}

/* Up to the quote that ends it, which is taken, too. */
static json_t *paper_string(struct paper *s, unsigned deep) {
    const char *begin = s->p;
    json_t *text;

    if (s->p < s->end && *s->p == '/')
        for (const char *p = s->p; p < s->end && *p != '"' && *p != '\xe2'; p++)
            if (*p == '!' && p[-1] == '/') {
                text = paper_call(s, p, deep);
                skip_blanks(s);
                if (text && quote_at(s)) {
                    s->p += quote_at(s);
                    return text;
                }
                json_decref(text);
                return NULL;
            }
    while (s->p < s->end && !quote_at(s)) {
        if (*s->p == '\\' || (unsigned char)*s->p < ' ') return NULL; /* who escapes knows JSON */
        s->p++;
    }
    if (s->p == s->end) return NULL;
    text = json_stringn(begin, (size_t)(s->p - begin));
    s->p += quote_at(s);
    return text;
}

static json_t *paper_value(struct paper *s, unsigned deep) {
    const char *begin;
    char *error = NULL;
    json_t *value;

    skip_blanks(s);
    if (s->p < s->end && *s->p == '{') return paper_object(s, deep);
    if (quote_at(s)) {
        s->p += quote_at(s);
        return paper_string(s, deep);
    }
    begin = s->p;
    while (s->p < s->end && *s->p != ',' && *s->p != '}') s->p++;
    value = service_json_read(begin, (size_t)(s->p - begin), &error);
    free(error);
    return value;
}

static bool paper_member(struct paper *s, json_t *object, unsigned deep) {
    const char *begin;
    json_t *value;
    size_t n;

    skip_blanks(s);
    if (!quote_at(s)) return false;
    s->p += quote_at(s);
    begin = s->p;
    while (s->p < s->end && !quote_at(s))
        if ((unsigned char)*s->p++ < ' ') return false;
    if (s->p == s->end) return false;
    n = (size_t)(s->p - begin);
    s->p += quote_at(s);
    if (!take_char(s, ':') || json_object_getn(object, begin, n)) return false;
    value = paper_value(s, deep);
    return value && !json_object_setn_new(object, begin, n, value);
}

static json_t *paper_object(struct paper *s, unsigned deep) {
    json_t *object;
    bool good;

    if (!deep || !take_char(s, '{')) return NULL;
    object = json_object();
    if (!object || take_char(s, '}')) return object;
    do good = paper_member(s, object, deep - 1);
    while (good && take_char(s, ','));
    if (good && take_char(s, '}')) return object;
    json_decref(object);
    return NULL;
}

char *service_paper_corrected(const char *text, size_t n) {
    struct paper s = { text, text + n };
    char *corrected = NULL;
    json_t *call = NULL;

    if (n > SERVICE_CALL_MAX || !n || *text != '/') return NULL;
    for (const char *p = text + 1; p < s.end && !call; p++)
        if (*p == '!' && p[-1] == '/') {
            call = paper_call(&s, p, PAPER_DEEP);
            break;
        }
    skip_blanks(&s);
    if (call && s.p == s.end) corrected = strdup(json_string_value(call));
    json_decref(call);
    return corrected;
}
