/* SPDX-License-Identifier: BSD-2-Clause */
/* get_report.h - what people and programs are told of a fetch: progress on a terminal, timings, a line of JSON. */
#ifndef FAIRGATE_GET_REPORT_H
#define FAIRGATE_GET_REPORT_H

#include <stdio.h>

#include "ndn/ndn_page.h"

struct get_figures {
    uint64_t               status, version, hint;       /* NDN_NO_NUMBER: not known */
    uint64_t               segments, bytes;     /* that came, and those that were there before */
    uint64_t               connected, first, whole;     /* microseconds since it began; 0: it did not come to that */
    uint32_t               window;              /* at the end */
    /* what HTTP says of the bytes; "": not known */
    char                   media_type[NDN_MEDIA_TYPE_MAX + 1], encoding[NDN_ENCODING_MAX + 1];
    struct ndn_page_counts counts;              /* of all that was asked for on the way, redirects and all */
};

void get_report_timings(const struct get_figures *f, FILE *out);
void get_report_json(const struct get_figures *f, FILE *out);

struct base_json;
/* What HTTP says; null for "". */
void get_report_said(struct base_json *j, const char *key, const char *text);
/* As seconds; null for 0. */
void get_report_time(struct base_json *j, const char *key, uint64_t microseconds);

/* Ten times a second at most, and never unless standard error is a terminal. */
struct get_progress {
    bool     terminal, drawn;
    uint64_t shown;
};

void get_progress_init(struct get_progress *p, bool quiet);
/* `last`: NDN_NO_NUMBER if it is not known. */
void get_progress_draw(struct get_progress *p, uint64_t now, uint64_t segments, uint64_t last, uint64_t bytes);
void get_progress_clear(struct get_progress *p);

#endif
