/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_error.h - sentences about somebody else's input: where, what was wrong, what would be right.
 *
 * `char **error` is NULL, or where the sentence goes: what it leads to is NULL or an earlier sentence, which is freed.
 * Who asked frees the last one.  Where memory lacks for a sentence NULL stands there.
 */
#ifndef FAIRGATE_BASE_ERROR_H
#define FAIRGATE_BASE_ERROR_H

#include <stddef.h>
#include <stdint.h>

/* Words *error; -1. */
int base_fail(char **error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Puts "NAME:LINE: " in front of the sentence; line 0: "NAME: ". */
void base_place(char **error, const char *name, uint64_t line);
/* Somebody else's bytes, cut short and with unprintable ones escaped, fit for a sentence. */
struct base_quoted { char s[100]; };
struct base_quoted base_quote(const char *p, size_t n);

#endif
