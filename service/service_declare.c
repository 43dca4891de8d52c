/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_declare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_error.h"
#include "base/base_number.h"
#include "service_json.h"
#include "service_name.h"
#include "service_types.h"
#include "service_url.h"
#include "service_words.h"

#define NAME_MAX_BYTES 64u
#define TEXT_BYTES     4096u
#define CONTENT_BYTES  (UINT64_C(16) << 20)
#define BYTES_MOST     (UINT64_C(1) << 30)
#define TIMEOUT_S      60u

static const char *const type_words[] = { "int", "number", "text", "bool", "content", "json" };

const char *service_type_word(enum service_type type) { return type_words[type]; }

/* ---- a parameter ------------------------------------------------------------------------------------------------- */

static bool is_param_name(const char *s, size_t n) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", more[] = "0123456789-.";

    if (!n || n > NAME_MAX_BYTES || !strchr(letters, *s)) return false;
    for (size_t i = 0; i < n; i++)
        if (!s[i] || (!strchr(letters, s[i]) && !strchr(more, s[i]))) return false;
    return true;
}

static int bound_of(const struct service_param *p, const char *text, size_t n, double *bound, char **error) {
    char copy[64], *end;

    if (n && n < sizeof copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
        errno = 0;
        *bound = strtod(copy, &end);
        if (!errno && !*end && isfinite(*bound) &&
            (p->type == SERVICE_NUMBER || (*bound == floor(*bound) && fabs(*bound) <= (double)SERVICE_JSON_WHOLE)))
            return 0;
    }
    return base_fail(error, "%s: %s is no bound for %s: write LEAST..MOST", p->name, base_quote(text, n).s,
                     service_type_word(p->type));
}

static int range_of(struct service_param *p, const char *text, size_t n, char **error) {
    const char *dots = memmem(text, n, "..", 2);
    size_t before = dots ? (size_t)(dots - text) : n;

    if (!dots) return base_fail(error, "%s: bounds of %s are LEAST..MOST", p->name, service_type_word(p->type));
    if (bound_of(p, text, before, &p->least, error) || bound_of(p, dots + 2, n - before - 2, &p->most, error))
        return -1;
    p->bounded = true;
    return p->least <= p->most ? 0 : base_fail(error, "%s: its least bound is above its most", p->name);
}

static int choices_of(struct service_param *p, const char *text, size_t n, char **error) {
    p->choices = json_array();
    for (size_t at = 0, end; at <= n; at = end + 1) {
        const char *bar = memchr(text + at, '|', n - at);

        end = bar ? (size_t)(bar - text) : n;
        if (end == at) return base_fail(error, "%s: one of its choices is empty", p->name);
        if (json_array_append_new(p->choices, json_stringn(text + at, end - at)))
            return base_fail(error, "%s: its choices are no UTF-8", p->name);
    }
    return 0;
}

static int bounds_of(struct service_param *p, const char *text, size_t n, char **error) {
    char *copy;
    int rv;

    if (p->type == SERVICE_BOOL) return base_fail(error, "%s: bool has no bounds", p->name);
    if (p->type == SERVICE_INT || p->type == SERVICE_NUMBER) return range_of(p, text, n, error);
    if (p->type == SERVICE_TEXT && memchr(text, '|', n)) return choices_of(p, text, n, error);
    copy = strndup(text, n);
    rv = copy ? base_number(p->name, copy, "bytes", 1, BYTES_MOST, &p->bytes, error) : base_fail(error, "no memory");
    free(copy);
    return rv;
}

static int type_of(struct service_param *p, const char *word, size_t n, char **error) {
    for (size_t i = 0; i < sizeof type_words / sizeof *type_words; i++)
        if (strlen(type_words[i]) == n && !memcmp(type_words[i], word, n)) {
            p->type = (enum service_type)i;
            p->bytes = p->type == SERVICE_CONTENT ? CONTENT_BYTES : TEXT_BYTES;
            return 0;
        }
    return base_fail(error, "%s: %s is no type: it is int, number, text, bool, content or json", p->name,
                     base_quote(word, n).s);
}

/* A default is read as JSON where that is what it is, else as a text. */
static int default_of(struct service_param *p, const char *text, char **error) {
    struct service_problem problem = { 0 };
    char *wrong = NULL;
    json_t *value =
        p->type == SERVICE_TEXT || p->type == SERVICE_CONTENT ? NULL : service_json_read(text, strlen(text), &wrong);

    if (!value) value = json_string(text);
    free(wrong);
    if (!value) return base_fail(error, "%s: its default is no UTF-8", p->name);
    p->otherwise = service_literal(p, value, &problem);
    json_decref(value);
    if (p->otherwise) return 0;
    base_fail(error, "%s: its default: %s", p->name, problem.detail ? problem.detail : "no memory");
    service_problem_free(&problem);
    return -1;
}

static int param_read(struct service *s, const char *word, char **error) {
    struct service_param *p = s->params + s->nparams;
    const char *equals = strchr(word, '='), *type, *end;
    size_t n = equals ? (size_t)(equals - word) : 0;

    if (!equals) return base_fail(error, "%s: a parameter is NAME=TYPE", base_quote(word, strlen(word)).s);
    if (!is_param_name(word, n))
        return base_fail(error, "%s: a parameter's name is a letter, and letters, digits, _, - and . behind it",
                         base_quote(word, n).s);
    if (s->nparams == SERVICE_PARAMS_MAX) return base_fail(error, "more than %u parameters", SERVICE_PARAMS_MAX);
    p->name = strndup(word, n);
    if (!p->name) return base_fail(error, "no memory");
    s->nparams++;
    if (service_param_of(s, p->name) != s->nparams - 1)
        return base_fail(error, "%s: a parameter of that name stands there already", p->name);
    type = equals + 1;
    n = strcspn(type, "(:");
    if (type_of(p, type, n, error)) return -1;
    end = type + n;
    if (*end == '(') {
        const char *close = strchr(end, ')');
        if (!close) return base_fail(error, "%s: ) is missing behind its bounds", p->name);
        if (bounds_of(p, end + 1, (size_t)(close - end - 1), error)) return -1;
        end = close + 1;
    }
    if (*end == ':') return default_of(p, end + 1, error);
    return *end ? base_fail(error, "%s: %s behind its type: there may be only :DEFAULT", p->name,
                            base_quote(end, strlen(end)).s)
                : 0;
}

unsigned service_param_of(const struct service *s, const char *name) {
    unsigned i = 0;

    while (i < s->nparams && strcmp(s->params[i].name, name)) i++;
    return i;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static int doc_read(struct service *s, const char *text, char **error) {
    json_t *as = json_string(text);

    json_decref(as);
    free(s->doc);
    s->doc = as ? strdup(text) : NULL;
    return s->doc ? 0 : base_fail(error, "doc: it is no UTF-8");
}

static int option_read(struct service *s, const char *word, char **error) {
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : 0;

    if (n == 3 && !memcmp(word, "doc", n)) return doc_read(s, equals + 1, error);
    if (n == 5 && !memcmp(word, "fresh", n))
        return base_number("fresh", equals + 1, "seconds", 0, 31536000, &s->fresh_s, error);
    if (n == 7 && !memcmp(word, "timeout", n))
        return base_number("timeout", equals + 1, "seconds", 1, 86400, &s->timeout_s, error);
    if (n == 6 && !memcmp(word, "result", n))
        return base_number("result", equals + 1, "bytes", 1, BYTES_MOST, &s->result, error);
    if (n == 4 && !memcmp(word, "over", n)) {
        s->over = !strcmp(equals + 1, "http") ? SERVICE_HTTP : !strcmp(equals + 1, "ndn") ? SERVICE_NDN : 0;
        return s->over ? 0 : base_fail(error, "over: it is http or ndn; without it a service is called both ways");
    }
    return base_fail(
        error, "%s: behind the URL stand fresh=, timeout=, result=, over= and doc=", base_quote(word, strlen(word)).s);
}

/* What is not in the URL is the body. */
static void body_of(struct service *s) {
    unsigned rest = 0, content = 0;

    for (unsigned i = 0; i < s->nparams; i++) {
        if (s->params[i].in_url) continue;
        rest++;
        if (s->params[i].type != SERVICE_CONTENT) continue;
        content++;
        s->body_param = i;
    }
    s->body = !rest ? SERVICE_NO_BODY : !content ? SERVICE_OBJECT : rest > 1 ? SERVICE_FORM : SERVICE_BYTES;
}

static int declare_words(struct service *s, struct service_words *w, char **error) {
    const char *word = service_words_next(w, error), *wrong;

    if (!word) return *error ? -1 : base_fail(error, "a service is NAME PARAMETER=TYPE ... => URL");
    wrong = service_name_wrong(word, strlen(word));
    if (wrong) return base_fail(error, "%s: %s", base_quote(word, strlen(word)).s, wrong);
    s->name = strdup(word);
    if (!s->name) return base_fail(error, "no memory");
    while ((word = service_words_next(w, error)) != NULL && strcmp(word, "=>"))
        if (param_read(s, word, error)) return -1;
    if (word) word = service_words_next(w, error);
    if (!word) return *error ? -1 : base_fail(error, "%s: => and the URL that does the work are missing", s->name);
    if (service_url_read(s, word, error)) return -1;
    while ((word = service_words_next(w, error)) != NULL)
        if (option_read(s, word, error)) return -1;
    body_of(s);
    return *error ? -1 : 0;
}

struct service *service_declare(const char *text, char **error) {
    struct service *s = calloc(1, sizeof *s);
    struct service_words w = { 0 };
    int rv;

    if (!s || !service_words_begin(&w, text)) {
        free(s);
        base_fail(error, "no memory");
        return NULL;
    }
    s->fresh_s = UINT64_MAX;
    s->timeout_s = TIMEOUT_S;
    s->result = CONTENT_BYTES;
    s->over = SERVICE_ALL;
    rv = declare_words(s, &w, error);
    service_words_end(&w);
    if (rv) service_free(&s);
    return s;
}

void service_free(struct service **s) {
    if (!*s) return;
    for (unsigned i = 0; i < (*s)->nparams; i++) {
        free((*s)->params[i].name);
        json_decref((*s)->params[i].choices);
        json_decref((*s)->params[i].otherwise);
    }
    for (unsigned i = 0; i < (*s)->npieces; i++) free((*s)->pieces[i].text);
    free((*s)->pieces);
    free((*s)->name);
    free((*s)->doc);
    free(*s);
    *s = NULL;
}
