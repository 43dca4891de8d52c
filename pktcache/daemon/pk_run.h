/* SPDX-License-Identifier: BSD-2-Clause */
/* pk_run.h - a program of the system's is run, for what it does or says. */
#ifndef FAIRGATE_PK_RUN_H
#define FAIRGATE_PK_RUN_H

#include <stddef.h>

/*
 * Runs argv[0], found by PATH, with `in` as its input.  What it says goes to `said`, cut to `room` bytes with the zero;
 * NULL: not wanted.  0; its status; or -1 and errno.
 */
int pk_run(char *const argv[], const char *in, char *said, size_t room);

#endif
