/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_command.h - the frame of a program with subcommands: one table makes dispatch and usage, and all our
 * programs answer alike.
 *
 *     PROGRAM WORD ARGUMENTS...       runs that row of the table
 *     PROGRAM check [--json] FILE...  whether files are right, where there is such a row
 *     PROGRAM -h, --help, help        help on standard output; behind a word, too
 *     PROGRAM --version
 *
 * A program that does one thing has one row, whose word is empty: PROGRAM ARGUMENTS... runs it, of which there must be
 * one at least, and help may be asked for among them.
 *
 * Exit status: 0 all is right, 1 what was looked at is wrong or something failed, 2 wrong usage.  A sentence on
 * standard error begins with the program's name (base_log.h); one about a file with the file's.
 */
#ifndef FAIRGATE_BASE_COMMAND_H
#define FAIRGATE_BASE_COMMAND_H

#include "base_report.h"

#include <limits.h>
#include <stdio.h>

enum { BASE_RIGHT = 0, BASE_WRONG = 1, BASE_MISUSED = 2 };

enum { BASE_ANY_NUMBER = INT_MAX };

struct base_command {
    const char *word, *arguments;               /* as usage writes them */
    const char *sentence;                       /* NULL: an old name, or our own: not listed */
    int         least, most;                    /* how many arguments */
    int       (*run)(int argc, char **argv);    /* argv[0] is the word, or the program; an exit status */
};

struct base_program {
    const char                *name, *version;
    const struct base_command *command;
    size_t                     n;
    void                     (*more)(FILE *out);        /* what --help says besides; NULL: nothing */
};

/* The whole of main(). */
int base_program_main(const struct base_program *p, int argc, char **argv);

/* Of the program that runs: "NAME: SENTENCE; NAME --help says more"; BASE_MISUSED. */
int base_misused(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "NAME: SENTENCE", of base_error.h, NULL for want of memory; frees it; BASE_WRONG. */
int base_failed(char *error);

/*
 * Looks at a file.  0, and what it found goes to `found`, the first line behind "FILE: right; "; or -1 and *error
 * (base_error.h), which begins with the file's name.
 */
typedef int base_look(const char *file, FILE *found, char **error);
/*
 * The whole of `check [--json] FILE...`; argv[0] is its word.  With --json a line for each: {"file": , "right": ,
 * "error": }.
 */
int base_check(int argc, char **argv, base_look *look);

/* For base_report.h. */
struct base_sink base_to_file(FILE *f);

#endif
