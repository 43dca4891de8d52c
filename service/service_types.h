/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_types.h - whether a value is of a parameter's type and within its bounds.
 *
 * Who writes a name by hand writes texts: "300" is an int as 300 is (nextserve paper, Fig. 3), "true" a bool.
 */
#ifndef FAIRGATE_SERVICE_TYPES_H
#define FAIRGATE_SERVICE_TYPES_H

#include "service_declare.h"
#include "service_problem.h"

/* The value as services get it: a number for an int, whichever way it was written.  NULL: the problem says why. */
json_t *service_literal(const struct service_param *p, const json_t *value, struct service_problem *problem);
/* The same from bytes that something else gave: a result, a file.  Blanks around a number or truth are none of it. */
json_t *service_literal_of(const struct service_param *p, const char *bytes, size_t n,
                           struct service_problem *problem);

#endif
