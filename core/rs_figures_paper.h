/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_figures_paper.h - what a schedule on paper (rs_paper.h) tells, in the same words wherever there is one.
 *
 * Shares are 0 .. 1: `due` by weight; `was` of what really was; `would` of what the schedule makes of it.
 */
#ifndef FAIRGATE_RS_FIGURES_PAPER_H
#define FAIRGATE_RS_FIGURES_PAPER_H

#include "base/base_report.h"
#include "rs_paper.h"

struct rs_paper_look {
    struct rs_paper_all    all;
    struct rs_paper_class *classes;     /* all.classes of them, the caller's memory */
    uint64_t weights, was_bytes, would_bytes, was_us, would_us;     /* sums */
};

/* Fills it from a paper schedule; look->classes has room for `room`. */
void   rs_paper_take(const rs_paper_t *p, struct rs_paper_look *look, uint32_t room);

struct rs_paper_share { double due, was_bytes, would_bytes, was_time, would_time; };
struct rs_paper_share rs_paper_share_of(const struct rs_paper_look *look, const struct rs_paper_class *c);
uint64_t rs_paper_refused(const struct rs_paper_class *c);      /* for want of a place */
double   rs_paper_mean_ms(const struct rs_paper_class *c);

/* Members of an object that is open: sums, and an array "classes". */
void rs_figures_paper_json(struct base_json *j, const struct rs_paper_look *look);
void rs_figures_paper_prometheus(struct base_sink sink, const char *prefix, const struct rs_paper_look *look);

#endif
