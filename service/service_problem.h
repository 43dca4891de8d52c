/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_problem.h - what a caller gets in the place of a result: one object, over HTTP and in Data (RFC 9457).
 *
 *     {"type":"urn:fairgate:problem:wrong-type","title":"...","status":400,"detail":"a sentence",
 *      "service":"/unibe/cds/scaleImage","parameter":"width","corrected":"/unibe/...","within":{...}}
 *
 * `service`, `parameter` and `corrected` stand there if they are known.  `within` is the problem of a call that stands
 * in that parameter: who made the mistake sees where.
 */
#ifndef FAIRGATE_SERVICE_PROBLEM_H
#define FAIRGATE_SERVICE_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define SERVICE_PROBLEM_TYPE "application/problem+json"     /* its media type */

enum service_problem_kind {
    SERVICE_FINE,
#define SERVICE_PROBLEM(kind, urn, status, title) kind,
#include "service_problem.def"
#undef SERVICE_PROBLEM
};

struct service_problem {                /* zeroed: none */
    enum service_problem_kind kind;
    char   *detail, *service, *parameter, *corrected;       /* malloc'ed, or NULL */
    json_t *within;                     /* or NULL */
};

/* There is one now; what was there before is freed.  -1. */
int  service_fail(struct service_problem *p, enum service_problem_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* It is of that service, or parameter; who says so first is nearest to it and is believed. */
void service_fail_in(struct service_problem *p, const char *service, const char *parameter);
/* Where a sentence is there already (base/base_error.h): it is freed. */
int  service_fail_with(struct service_problem *p, enum service_problem_kind kind, char **error);

/*
 * What a service itself says of a call that it rejects, by its answer's status and content: of 4xx, but for those that
 * are about who asks, how often, or the way between (401, 403, 407, 408, 429), up to SERVICE_SAID_MAX bytes of
 * text/plain, or of `detail` in application/problem+json, in one line without control characters.  False, and there is
 * no problem: it says nothing of the kind.
 */
#define SERVICE_SAID_MAX 200u
bool    service_rejects(struct service_problem *p, int status, const char *media_type, const char *content, size_t n);

int     service_problem_status(enum service_problem_kind kind);
/* The object; NULL: no memory. */
json_t *service_problem_object(const struct service_problem *p);
/* The object as text, malloc'ed; NULL: no memory. */
char   *service_problem_text(const struct service_problem *p, size_t *n);
void    service_problem_free(struct service_problem *p);

#endif
