/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_bind.h - which service a call means, and where each of its parameters comes from.
 *
 * A parameter that is `content` may be given in its call, or say where it is (nextserve paper 3.1, "service parameter
 * values can be simple values, content names, JSON objects, or even service names"):
 *
 *     /name/!{...}            the result of that call
 *     ccnx:/name ndn:/name /name      of a named-data network
 *     http: https: ftp:       there
 *     data:                   in the text itself (RFC 2397)
 *     SCHEME:...              anything else is refused
 *     any other text          itself
 *
 * An int, number or bool may be a call, too, since no such value has a slash at its beginning.  A text is always
 * itself: what somebody types into a form must never be run because it reads like a call.
 */
#ifndef FAIRGATE_SERVICE_BIND_H
#define FAIRGATE_SERVICE_BIND_H

#include "service_declare.h"
#include "service_name.h"
#include "service_problem.h"

#define SERVICE_CALLS_DEEP 8u       /* calls in calls */
#define SERVICE_CALLS_MAX  64u      /* that one call holds, itself among them */

enum service_source { SERVICE_GIVEN, SERVICE_OF_CALL, SERVICE_OF_NAME, SERVICE_OF_URI, SERVICE_OF_DATA };

struct service_value {
    enum service_source from;
    json_t *literal;                /* SERVICE_GIVEN: as service_literal gives it; a default, too */
    char   *text;                   /* the call in its one form; "ndn:/name"; the URI */
};

struct service_bound {
    const struct service *service;
    struct service_value  values[SERVICE_PARAMS_MAX];       /* one for each of its parameters */
    /* what equal calls have in common, however they were written: defaults are in it; malloc'ed */
    char *key;
};

/* `over`: how it came; what is not called that way is not there.  0, or -1 and the problem.  It views the table. */
int  service_bind(const struct service_table *t, enum service_over over, const struct service_call *call,
                  struct service_bound *bound, struct service_problem *problem);
void service_bound_free(struct service_bound *bound);

/* The bytes and the media type of a data: URI; malloc'ed.  0, or -1 and the problem. */
int  service_data_read(const char *uri, char **bytes, size_t *n, char **media_type, struct service_problem *problem);

#endif
