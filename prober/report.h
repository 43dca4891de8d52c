/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what a walk says: events and refusals as lines of a log, progress on a terminal, a summary at the end.
 *
 * Text from a site is shown as printable ASCII, whatever it holds.
 */
#ifndef FAIRGATE_REPORT_H
#define FAIRGATE_REPORT_H

#include <stdint.h>

#include "base/base_log.h"

struct report;

struct report_progress {
    uint64_t requests, bytes;
    uint32_t done, known;       /* URLs: of `known` so many have been asked for */
};

/* log: a file to append to, or NULL: standard error.  NULL and errno if it can't be opened. */
struct report *report_new(const char *log, int quiet);
/* Its priority is the journal's to know; a file and a terminal have the sentence alone. */
void           report_line(struct report *r, enum base_log_priority p, const char *format, ...)
                   __attribute__((format(printf, 3, 4)));
/* Something that is not asked for, or whose answer was not taken: one line for each URL, after
 * 500 of one reason only counts.  why: a constant. */
void           report_refused(struct report *r, const char *what, int length, const char *why, const char *from);
void           report_progress(struct report *r, const struct report_progress *p);     /* as often as you like */
void           report_refusals(struct report *r);       /* the counts of report_refused, a line for each reason */
void           report_free(struct report **r);

#endif
