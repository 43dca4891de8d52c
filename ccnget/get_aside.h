/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_aside.h - what comes in the place of that which was asked for, a refusal with its reasons: kept in memory, for
 * the caller to look at, where a page would go to the output.
 */
#ifndef FAIRGATE_GET_ASIDE_H
#define FAIRGATE_GET_ASIDE_H

#include <stdbool.h>
#include <stddef.h>

struct get_aside {
    char  *bytes;           /* the caller's room */
    size_t n, most;
    bool   cut;             /* there was more than `most` */
};

void get_aside_put(struct get_aside *a, const void *bytes, size_t n);

#endif
