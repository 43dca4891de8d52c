/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_log.h - sentences for whoever reads a program's log: lines on standard error, "NAME: SENTENCE".
 *
 * Where standard error is the journal's, which has the name, each begins with its priority instead, "<4>SENTENCE"
 * (sd-daemon(3)): so `journalctl -p warning` has what somebody should look at.  systemd says so in JOURNAL_STREAM,
 * device and inode of its stream; who has sent standard error elsewhere since is not taken for it.
 */
#ifndef FAIRGATE_BASE_LOG_H
#define FAIRGATE_BASE_LOG_H

#include <stdbool.h>

/* As syslog(3) has them. */
enum base_log_priority { BASE_LOG_ERROR = 3, BASE_LOG_WARNING = 4, BASE_LOG_NOTICE = 5, BASE_LOG_INFO = 6 };

#define BASE_LOG_MAX 4096u      /* bytes of a line; what is longer ends there */

/* Once, before there are threads.  name: of the program, for as long as that runs. */
void base_log_begin(const char *name);
/* Whether lines go to the journal, which has their time. */
bool base_log_is_journal(void);
/* One line, written at once, in the journal with ? for control characters; no allocation, and no other system call. */
void base_log(enum base_log_priority p, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
