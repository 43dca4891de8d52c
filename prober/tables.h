/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tables.h - the commands about a page-size table: each returns the program's exit status (base_command.h) and says on
 * standard error what is wrong.
 */
#ifndef FAIRGATE_TABLES_H
#define FAIRGATE_TABLES_H

#include <stdio.h>

enum tables_format { TABLES_TSV, TABLES_JSON };     /* JSON: an object a line */

int tables_show(const char *path, const char *prefix);      /* prefix: of URLs, or NULL: all */
int tables_diff(const char *before, const char *after);     /* as diff(1): 0 equal, 1 not, 2 trouble */
int tables_look(const char *path, FILE *found, char **error);       /* base_look */
int tables_export(const char *path, enum tables_format format);     /* to standard output */
int tables_import(const char *path, enum tables_format format);     /* from standard input */

#endif
