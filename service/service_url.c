/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_url.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_error.h"
#include "service_json.h"
#include "service_text.h"

static struct service_piece *url_piece(struct service *s) {
    struct service_piece *more = realloc(s->pieces, (s->npieces + 1) * sizeof *more);

    if (!more) return NULL;
    s->pieces = more;
    more += s->npieces++;
    memset(more, 0, sizeof *more);
    return more;
}

static int piece_of_text(struct service *s, const char *text, size_t n, char **error) {
    struct service_piece *p;

    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] > '~' || strchr("#\"<>\\^`|}", text[i]))
            return base_fail(error, "%s: a URL must have that character escaped", base_quote(text + i, 1).s);
    if (!n) return 0;
    p = url_piece(s);
    if (p) p->text = strndup(text, n);
    return p && p->text ? 0 : base_fail(error, "no memory");
}

static int piece_of_param(struct service *s, const char *name, size_t n, bool in_path, char before, char **error) {
    struct base_quoted quoted = base_quote(name, n);
    struct service_piece *p;
    unsigned i = 0;

    while (i < s->nparams && (strlen(s->params[i].name) != n || memcmp(s->params[i].name, name, n))) i++;
    if (i == s->nparams) return base_fail(error, "{%s}: there is no such parameter", quoted.s);
    if (s->params[i].type == SERVICE_CONTENT || s->params[i].type == SERVICE_JSON)
        return base_fail(error, "{%s}: %s can't stand in a URL: leave it out there, and it is the body", quoted.s,
                         service_type_word(s->params[i].type));
    if (!in_path && before != '=')
        return base_fail(error, "{%s}: in a query a value stands behind =, as in ?key={%s}", quoted.s, quoted.s);
    p = url_piece(s);
    if (!p) return base_fail(error, "no memory");
    p->param = i;
    p->in_path = in_path;
    s->params[i].in_url = true;
    return 0;
}

int service_url_read(struct service *s, const char *text, char **error) {
    const char *query = strchr(text, '?');

    if (*text != '/' || text[1] == '/')
        return base_fail(error, "%s: the URL is a path of this server, with a slash at its beginning",
                         base_quote(text, strlen(text)).s);
    if (text[1] == '{') return base_fail(error, "the path's first piece must be written, not a parameter's value");
    for (const char *p = text; *p;) {
        const char *open = strchr(p, '{'), *close = open ? strchr(open, '}') : NULL;
        size_t n = open ? (size_t)(open - p) : strlen(p);

        if (open && !close) return base_fail(error, "} is missing in the URL");
        if (piece_of_text(s, p, n, error)) return -1;
        if (!open) break;
        if (piece_of_param(s, open + 1, (size_t)(close - open - 1), !query || open < query, open[-1], error)) return -1;
        p = close + 1;
    }
    return 0;
}

/* Nor does one that begins with a dot stand for what a server hides. */
static bool leads_elsewhere(const char *s, size_t n) {
    return !n || *s == '.' || memchr(s, '/', n) || memchr(s, '\\', n) || memchr(s, '\0', n) || memchr(s, ';', n);
}

/* A value as it stands in a URL, before it is escaped: a text's bytes, else its JSON; malloc'ed. */
static char *url_text(const json_t *value, size_t *n) {
    char *bytes;

    if (!json_is_string(value)) return service_json_canonical(value, n);
    *n = json_string_length(value);
    bytes = malloc(*n + 1);
    if (bytes) memcpy(bytes, json_string_value(value), *n + 1);
    return bytes;
}

char *service_url_of(const struct service *s, json_t *const *values, struct service_problem *problem) {
    struct service_text t = { 0 };
    char *url;

    for (unsigned i = 0; i < s->npieces; i++) {
        const struct service_piece *p = s->pieces + i;
        size_t n = 0;
        char *value = p->text ? NULL : url_text(values[p->param], &n);

        if (p->text) {
            service_text_put(&t, p->text, strlen(p->text));
        } else if (value && p->in_path && leads_elsewhere(value, n)) {
            free(value);
            service_text_free(&t);
            service_fail(problem, SERVICE_OUT_OF_BOUNDS,
                         "it stands in a path, where it must not be empty, begin with a dot, or hold /, \\ or ;");
            service_fail_in(problem, s->name, s->params[p->param].name);
            return NULL;
        } else if (value) {
            service_text_put_escaped(&t, value, n);
        } else {
            t.failed = true;
        }
        free(value);
    }
    url = service_text_take(&t, NULL);
    if (!url) service_fail(problem, SERVICE_NO_MEMORY, "no memory for the URL");
    return url;
}
