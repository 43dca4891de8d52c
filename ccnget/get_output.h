/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_output.h - where a page goes: a file, or standard output.
 *
 * A file is opened when there is something for it, so that what stood in it stays if nothing comes.  All functions but
 * the first return 0, or -1 and *error (base_error.h).
 *
 * Bytes go as they came, but to a terminal: that gets them as base_clean.h has it.
 */
#ifndef FAIRGATE_GET_OUTPUT_H
#define FAIRGATE_GET_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base_clean.h"

enum { GET_OUTPUT_ROOM = 1 << 16 };

struct get_output {
    const char *file;                   /* NULL: standard output */
    int         fd;                     /* -1: not open yet */
    uint64_t    bytes;                  /* of the page, those that were kept included */
    bool        went;                   /* to somebody who can't give it back: a pipe, a terminal */
    bool        terminal;
    struct base_clean clean;             /* for a terminal */
    size_t      n;
    char        room[GET_OUTPUT_ROOM];
};

void get_output_init(struct get_output *o, const char *file);
/* A page begins: all is thrown away but the first `keep` bytes of the file.  Not if some went. */
int  get_output_begin(struct get_output *o, uint64_t keep, char **error);
int  get_output_put(struct get_output *o, const void *bytes, size_t n, char **error);
int  get_output_flush(struct get_output *o, bool to_disk, char **error);
int  get_output_end(struct get_output *o, char **error);     /* flushes and closes */

#endif
