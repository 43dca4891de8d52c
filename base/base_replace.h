/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_replace.h - a file that comes in the place of another whole, or not at all.
 *
 * What is written goes to PATH.new, a new file (what had that name goes, and nothing is written through it), readable
 * by all whatever the umask.  `commit` puts it in PATH's place when all of it is on the disk: PATH is the old file or
 * the new one at any moment.  One writer at a time: the caller holds a lock of its own.
 */
#ifndef FAIRGATE_BASE_REPLACE_H
#define FAIRGATE_BASE_REPLACE_H

#include <stdio.h>

struct base_replace {
    FILE *stream;           /* written by the caller; NULL: nothing is begun */
    char *path, *path_new;
};

/* 0; or -1, nothing is begun, and *error: "PATH: what the system says" (base_error.h). */
int  base_replace_begin(struct base_replace *f, const char *path, char **error);
/* The end in either case.  0; or -1, PATH is as it was, and *error. */
int  base_replace_commit(struct base_replace *f, char **error);
void base_replace_abort(struct base_replace *f);        /* if something is begun */

#endif
