/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_http.h - a call over HTTP: one POST, and where that is answered 202 a GET of its Location, again and again,
 * until the result is there.
 *
 * TRUST.  The server is somebody else.  Nothing here follows a redirect, or a Location that leads to another scheme,
 * host or port; what is no result is bounded, and so is the time for all of it.
 */
#ifndef FAIRGATE_CALL_HTTP_H
#define FAIRGATE_CALL_HTTP_H

#include "call_settings.h"
#include "get_aside.h"
#include "get_run.h"

struct call_figures {
    uint64_t status;                        /* NDN_NO_NUMBER: there was no answer */
    uint64_t bytes, looked;                 /* of the result; how often it was looked for after 202 */
    uint64_t connected, first, whole;       /* microseconds since the beginning; 0: it did not come to that */
    char     media_type[128], encoding[32]; /* "": not said */
};

struct call_asked {
    const char *path;                       /* behind --http's URL, escaped; it begins with a slash */
    const char *body;                       /* JSON, posted; NULL: a GET */
};

/* NULL, or a static sentence: why --http can't be that. */
const char *call_http_url_wrong(const char *url);
/* A service's name as it stands in a URL; malloc'ed, NULL: no memory. */
char *call_http_path(const char *service);

/*
 * What comes with 200 to 299 goes to the output, or aside if `to_output` is false; what comes with 400 or more aside,
 * and then it ends with GET_EXIT_STATUS and no sentence.  *error, *stop: get_run.h.
 */
enum get_exit call_http(const struct call_settings *s, const struct call_asked *a, bool to_output,
                        const volatile sig_atomic_t *stop, struct get_aside *aside, struct call_figures *f,
                        char **error);

/* As --json has it. */
void call_http_report(const struct call_figures *f, FILE *out);

#endif
