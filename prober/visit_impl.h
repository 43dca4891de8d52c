/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * visit_impl.h - what the files of a visit share: visit.c (its requests), visit_links.c (what a document holds),
 * visit_robots.c.
 */
#ifndef FAIRGATE_VISIT_IMPL_H
#define FAIRGATE_VISIT_IMPL_H

#include <zlib.h>

#include "walk_impl.h"

enum step { ASK, BODY, PLAIN, GZIP, AGAIN };

struct visit {
    struct walk        *w;
    struct links       *links;
    z_stream            gz;
    int                 busy, waiting, head, conditional, gz_open, gz_looked, base_set, base_outside;
    int                 ended;                  /* its document was not read to its end: there was no more time */
    int                 robots;                 /* it is robots.txt of `origin` that is asked for */
    enum step           step;
    enum pages_coding   coding;                 /* accepted */
    uint32_t            url;
    uint16_t            origin;
    unsigned            samples, packed_samples, times;
    /* of the answer that is being learnt from: the table's only when its size is known */
    char                etag[PAGES_ETAG_MAX + 1];
    uint32_t            header, modified;
    int                 cookie;
    double              sum, squares, packed_sum, time_sum;
    enum pages_coding   packed;                 /* what its answers come with */
    uint64_t            size[PAGES_CODINGS], last;
    uint64_t            unpacked;
    struct scope_place  base, found;
};

void visit_url(const struct visit *v, char *out, size_t room);         /* what it asks for */
void visit_refused(const struct visit *v, const char *why);            /* a line of the report */
void visit_fetch(struct visit *v, const char *target, const char *etag, uint32_t modified);

/* Where a link of the document leads: into the set, or a line of the report. */
void visit_follow(struct visit *v, const char *ref, size_t n, int document);
/* A piece of a document's body.  0, or 1 if it is to be broken off. */
int  visit_feed_links(struct visit *v, const struct fetch_answer *a, const char *data, size_t n);
void visit_end_links(struct visit *v, int whole);

int  visit_robots_body(struct visit *v, const struct fetch_answer *a, const char *data, size_t n);
void visit_robots_done(struct visit *v, const struct fetch_answer *a);

#endif
