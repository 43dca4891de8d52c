/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk_impl.h - what the files of a walk share: walk.c (the loop and the manners), visit.c (one URL), walk_table.c (the
 * file).
 */
#ifndef FAIRGATE_WALK_IMPL_H
#define FAIRGATE_WALK_IMPL_H

#include <signal.h>
#include <stdbool.h>

#include "fetch.h"
#include "links.h"
#include "report.h"
#include "robots.h"
#include "scope.h"
#include "settings.h"
#include "traps.h"
#include "urls.h"

#define WALK_ORIGINS   1024     /* the scope's, and others that the table holds already */
#define WALK_IDLE      (-1.0)   /* nothing to wait for */
#define WALK_NOTHING_S 2592000  /* 30 days: so long a URL that has no size is asked for on each walk */
#define WALK_SAMPLES   8        /* earlier runs count as at most so many answers: pages change */

/* How an origin is to be treated. */
struct manners {
    struct robots *robots;
    enum { ROBOTS_UNKNOWN, ROBOTS_ASKED, ROBOTS_READY, ORIGIN_LOST } state;
    double         next;        /* by --rate and Crawl-delay: not before, seconds on the monotonic clock */
    double         paused;      /* by 429, 503 or no answer: not before */
    double         interval;    /* between two requests */
    double         backoff;     /* the next pause after 429, 503 or no answer */
    unsigned       failures;    /* in a row */
    char          *text;        /* robots.txt as it comes */
    size_t         length;
    unsigned       redirects;
};

struct again { uint32_t url; double when; };

struct walk {
    const struct settings *s;
    const struct scope    *scope;
    struct report         *report;
    const volatile sig_atomic_t *stop;
    struct fetch          *fetch;
    struct urls           *urls;
    struct traps          *traps;
    struct manners         manners[SCOPE_ORIGINS];
    /* origins of the old table that are not the scope's: numbers from scope->n on */
    char                 (*others)[PAGES_ORIGIN_MAX + 1];
    uint16_t               nothers;
    uint64_t               rules[WALK_ORIGINS];     /* by which links were followed; 0: not all were */
    uint64_t               rules_before[WALK_ORIGINS];  /* the same of what was loaded */
    struct visit          *visits;              /* s->connections of them */
    uint32_t               next;                /* the first URL that was not looked at yet */
    struct again          *again;
    uint32_t               nagain, again_room;
    uint32_t               known_before;
    uint32_t               in_scope;            /* URLs of the scope's origins */
    struct base_list       include, exclude;    /* spelt */
    char                  *patterns;            /* their text */
    double                 until;               /* by --max-time, on the monotonic clock */
    int                    over;
    int                    bounded, out_of_memory;
    int64_t                now;                 /* wall clock, seconds */
};

const char *walk_origin(const struct walk *w, uint16_t origin);
double      walk_clock(void);
/*
 * The walk must end now: a signal came, or its time is up.  Whatever may take long asks inside: the links of a
 * document, the URLs of a table.
 */
bool walk_is_over(struct walk *w);

/*
 * A link of the document at `from` (depth: of what it leads to) that lies in the scope: into the set, if it may be
 * asked for.
 */
void walk_found(struct walk *w, struct scope_place *place, unsigned depth, int document, const char *from);
/* The URL could not be asked for just now: once more, later.  0 if it counts as a try and there have been enough. */
int  walk_later(struct walk *w, uint32_t url, double seconds, int counts);
/* An answer of this origin: it is there, or it asks for (retry_after > 0) or needs a pause. */
void walk_answered(struct walk *w, uint16_t origin);
void walk_pause(struct walk *w, uint16_t origin, uint32_t retry_after, const char *why);
/* Seconds until the origin may be asked for something. */
double walk_may_ask(const struct walk *w, uint16_t origin, double now);

/* visit.c */
struct visit;
struct visit *visits_new(struct walk *w);
void          visits_free(struct walk *w);
/* A visit is free to begin.  It keeps its connection until it is over, between its requests too. */
bool visit_is_free(const struct walk *w);
void          visit_start(struct walk *w, uint32_t url);
void          visit_start_robots(struct walk *w, uint16_t origin, const char *target);
/*
 * A visit that has another request to make and may: it makes it.  The origin, or -1 if there is none; *wait as of
 * take_next.
 */
int           visit_go_on(struct walk *w, double now, double *wait);
int           visits_running(const struct walk *w);
extern const struct fetch_calls visit_calls;

/* walk_table.c: 0, or -1 and the report has a line. */
int walk_load(struct walk *w, const char *path, int checkpoint);
int walk_save(struct walk *w, const char *path, int checkpoint);
int walk_number_of_origin(struct walk *w, const char *name, uint16_t *out);     /* 0, or -1 when there are too many */
/* a new URL; 0, or -1 when out of memory */
int walk_take_row(struct walk *w, uint16_t origin, const struct pages_row *row);

bool walk_same_rules(const struct walk *w, uint16_t origin);     /* as those of the walk that made what was loaded */

/* A walk that goes nowhere: URLs, origins and files only.  NULL: out of memory. */
struct walk *walk_blank(struct report *r);
void         walk_blank_free(struct walk **w);

#endif
