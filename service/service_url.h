/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_url.h - the URL of a service, with the values of its parameters in it.
 *
 * In a query a value stands behind "=", or what is there could become arguments of a program's command line (RFC 3875,
 * 4.4).  In a path it is what lies between two slashes, or a part of that: a value that others may read as a way
 * elsewhere (empty, with a dot at its beginning, with "/", "\", ";" or NUL in it) is refused there.
 */
#ifndef FAIRGATE_SERVICE_URL_H
#define FAIRGATE_SERVICE_URL_H

#include "service_declare.h"
#include "service_problem.h"

/* As it is declared; the parameters are known already.  0, or -1 and *error. */
int   service_url_read(struct service *s, const char *text, char **error);
/* `values`: one of each parameter, as service_literal gives them; those that are in no URL may be NULL.  malloc'ed. */
char *service_url_of(const struct service *s, json_t *const *values, struct service_problem *problem);

#endif
