/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_name.h - the name of a call: a service's name, "!", and its parameters (nextserve paper 3.1, Fig. 2).
 *
 *     /unibe/cds/scaleImage/!{"file":"ccnx:/dir/imgs/profile.bmp","height":"200","width":"300"}
 *
 * A service's name is components with a slash before each: UTF-8 without control characters, none empty, "." or "..",
 * none with a "!" at its beginning, which is where parameters begin.
 *
 * Departure: the paper prints typographic quotes, and a call in a call without a \ before its quotes, which no JSON
 * reader takes.  Such a name is refused; the problem says what was meant (`corrected`).
 */
#ifndef FAIRGATE_SERVICE_NAME_H
#define FAIRGATE_SERVICE_NAME_H

#include <stdbool.h>

#include "service_json.h"
#include "service_problem.h"

#define SERVICE_NAME_MAX 1024u      /* bytes of a service's name */
#define SERVICE_CALL_MAX 65536u     /* bytes of a call as text, that is of all calls that stand in it */

struct service_call {
    char   *service;            /* begins with a slash */
    json_t *arguments;          /* an object */
    char   *text;               /* the whole name in its one form */
};

/* NULL, or a static sentence: why it is no name of a service. */
const char *service_name_wrong(const char *name, size_t n);
/* Whether such a text is the name of a call rather than anything else: a slash at its beginning, and "/!" in it. */
bool service_is_call(const char *text, size_t n);

/* 0; or -1 and the problem.  A call must be freed. */
int  service_call_read(const char *text, size_t n, struct service_call *call, struct service_problem *problem);
/* The same from parts; `arguments` is read, and stays the caller's. */
int  service_call_of(const char *service, size_t n, const json_t *arguments, struct service_call *call,
                     struct service_problem *problem);
void service_call_free(struct service_call *call);

/* What somebody meant who wrote a call as the paper prints them: malloc'ed; NULL: that is not seen. */
char *service_paper_corrected(const char *text, size_t n);

#endif
