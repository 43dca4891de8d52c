/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service_json.h"

static const struct {
    const char *urn, *title;
    int status;
} kinds[] = {
    { "", "", 200 },
#define SERVICE_PROBLEM(kind, urn, status, title) { "urn:fairgate:problem:" urn, title, status },
#include "service_problem.def"
#undef SERVICE_PROBLEM
};

int service_fail(struct service_problem *p, enum service_problem_kind kind, const char *format, ...) {
    va_list args;
    char *detail = NULL;

    va_start(args, format);
    if (vasprintf(&detail, format, args) < 0) detail = NULL;
    va_end(args);
    service_problem_free(p);
    p->kind = kind;
    p->detail = detail;
    return -1;
}

int service_fail_with(struct service_problem *p, enum service_problem_kind kind, char **error) {
    service_problem_free(p);
    p->kind = *error ? kind : SERVICE_NO_MEMORY;
    p->detail = *error;
    *error = NULL;
    return -1;
}

void service_fail_in(struct service_problem *p, const char *service, const char *parameter) {
    if (!p->service && service) p->service = strdup(service);
    if (!p->parameter && parameter) p->parameter = strdup(parameter);
}

int service_problem_status(enum service_problem_kind kind) { return kinds[kind].status; }

/* A sentence may quote what is no UTF-8, or a character that was cut: then there is nothing in it but ASCII. */
static json_t *said_as(const char *text) {
    json_t *as = json_string(text);
    char *copy;

    if (as) return as;
    copy = strdup(text);
    for (char *p = copy; p && *p; p++)
        if (*p & 0x80) *p = '?';
    as = copy ? json_string(copy) : NULL;
    free(copy);
    return as;
}

json_t *service_problem_object(const struct service_problem *p) {
    const struct {
        const char *key, *text;
    } said[] = {
        { "type", kinds[p->kind].urn }, { "title", kinds[p->kind].title }, { "detail", p->detail },
        { "service", p->service },      { "parameter", p->parameter },     { "corrected", p->corrected },
    };
    json_t *o = json_object();
    int failed = o ? json_object_set_new(o, "status", json_integer(kinds[p->kind].status)) : -1;

    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (said[i].text && *said[i].text && !failed)
            failed = json_object_set_new(o, said[i].key, said_as(said[i].text));
    if (p->within && !failed) failed = json_object_set(o, "within", p->within);
    if (!failed) return o;
    json_decref(o);
    return NULL;
}

char *service_problem_text(const struct service_problem *p, size_t *n) {
    json_t *o = service_problem_object(p);
    char *text = o ? service_json_canonical(o, n) : NULL;

    json_decref(o);
    return text;
}

void service_problem_free(struct service_problem *p) {
    free(p->detail);
    free(p->service);
    free(p->parameter);
    free(p->corrected);
    json_decref(p->within);
    memset(p, 0, sizeof *p);
}
