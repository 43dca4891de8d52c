/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_told.h - what a server tells, in sentences for people: what is wrong with a call (service/service_problem.h),
 * and what is published (service/service_listing.h).
 *
 * Both come from strangers: whatever is in them, no control character goes out as one (base_clean.h), and what is not
 * as it should be is left out.
 */
#ifndef FAIRGATE_CALL_TOLD_H
#define FAIRGATE_CALL_TOLD_H

#include <stdint.h>
#include <stdio.h>

#include "get_aside.h"

/*
 * "PROGRAM: TITLE: DETAIL (service S, parameter P)", a line for each problem that stands within, and the call that was
 * meant.  What is no such object is told by its status, and by its first line if it is a plain text; `status` is
 * NDN_NO_NUMBER if there was none.
 */
void call_told_problem(const char *program, uint64_t status, const char *media_type, const struct get_aside *said,
                       FILE *out);

/*
 * A row for each service: its name, its parameters as they are declared (width=int(1..4096):300), its sentence.
 * 0, or -1 and *error (base_error.h): it is no list.
 */
int call_told_list(const struct get_aside *said, FILE *out, char **error);

#endif
