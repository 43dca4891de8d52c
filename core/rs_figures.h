/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rs_figures.h - what an engine and its classes have to tell, in the same words at every host: JSON, and names for
 * Prometheus.
 *
 * The table of a class's figures is rs_figures.def.  A host takes a look (struct rs_figures) under its lock, lets go of
 * that, and writes; the figures that only it has (its threads, its pages) are struct base_figure and follow.  What
 * refuses requests is a label, the same words in both forms.
 *
 * A class's names hold letters, digits, '-', '_' and '.' (policy.h), but what writes them escapes all the same.
 */
#ifndef FAIRGATE_RS_FIGURES_H
#define FAIRGATE_RS_FIGURES_H

#include <stdbool.h>

#include "base/base_report.h"
#include "rs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a request was answered 503: the engine's reasons, then those of hosts. */
enum rs_why {
    RS_WHY_CLASS_FULL,
    RS_WHY_SHARE_FULL,
    RS_WHY_QUEUE_FULL,
    RS_WHY_NO_THREAD,
    RS_WHY_NO_DESCRIPTOR,
    RS_WHY_TOO_LONG,
    RS_WHY_STANDING,
    RS_WHYS
};
const char *rs_why_name(enum rs_why why);       /* "class-full" */

/* Whose names of the version before go on; there are none of mod_ccn's. */
enum rs_at { RS_AT_HTTPD, RS_AT_SQUID, RS_AT_CCN };

struct rs_figures_class {
    struct rs_class_stats s;
    uint64_t              refused[RS_WHYS];
    double                wait_s;               /* who waits longer is refused */
    double                descriptors;          /* NAN: the host does not count them by class */
    double                slot_s;               /* seconds in which its requests had slots; NAN likewise */
};

struct rs_figures {
    enum rs_at                     at;
    bool                           on;
    const char                    *state;               /* a word for that; NULL: on or off */
    struct rs_stats                all;
    const struct rs_figures_class *classes;
    uint32_t                       nclasses;
    uint64_t                       refused[RS_WHYS];    /* of all classes, also of those that are gone */
    uint32_t                       whys_by_class;       /* 1 << RS_WHY_... of what the host knows of each class */
    /* the first one and those with windows of their own; 0: this host has none of these, and nothing is said */
    const struct rs_outlet_stats  *outlets;
    uint32_t                       noutlets;
    const struct base_figure      *own;                 /* figures that only this host has; */
    size_t                         nown;
    const char                    *own_prefix;          /* their names' beginning: "fairgate_qos_" */
    /* NULL, or members of the JSON's object that only this host has */
    void                         (*more)(struct base_json *j, const void *of);
    const void                    *of;
};

/* What an outlet is called: its name, or "server" for the first one, which has none. */
const char *rs_figures_outlet(const struct rs_outlet_stats *o);

/* One object, with an array "classes", and perhaps one "outlets"; the line's end. */
void rs_figures_json(struct base_sink sink, const struct rs_figures *f);
void rs_figures_prometheus(struct base_sink sink, const struct rs_figures *f);
/* The same two of a host that schedules nothing: `state` a word ("off"), `sentence` why. */
void rs_figures_none_json(struct base_sink sink, enum rs_at at, const char *state, const char *sentence);
void rs_figures_none_prometheus(struct base_sink sink, enum rs_at at, const char *state);

/* For those who write pages for people. */
uint64_t rs_figures_refused(const uint64_t *refused);       /* not let in at all: all reasons but the last two */
uint64_t rs_figures_bytes(const struct rs_figures *f);
double   rs_figures_mean_ms(uint64_t sum_us, uint64_t n);           /* 0 of none */
double   rs_figures_share(const struct rs_figures_class *c, uint64_t bytes_of_all);

#ifdef __cplusplus
}
#endif

#endif
