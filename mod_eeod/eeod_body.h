/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_body.h - what the content filters of a response must know of it, and do alike: eeod_key.h, eeod_page.h.
 */
#ifndef FAIRGATE_EEOD_BODY_H
#define FAIRGATE_EEOD_BODY_H

#include <stdbool.h>

#include <httpd.h>
#include <apr_buckets.h>
#include <util_filter.h>

#include "marks/eeod_scan.h"

#define EEOD_AT_ONCE (1 << 18)      /* bytes: a file up to this size may be in memory as a whole */

/* The header by which an application says that its page has marks, and this module that it vouches for them. */
#define EEOD_WORD "Eeod"

/* Whether the application says that its page has these marks: that and nothing else. */
bool eeod_body_asks(const request_rec *r, const struct eeod_marks *marks);

/* What its bytes are not, those of the page, is encoded. */
bool eeod_body_encoded(const request_rec *r);

/*
 * The page gets another length, and other bytes: a strong tag, by which parts of it are put together, must not name
 * both.
 */
void eeod_body_changes(request_rec *r);

/* The one file of which this brigade consists, besides its end; or NULL. */
apr_bucket *eeod_body_file(apr_bucket_brigade *bb);

/*
 * The response is here as a whole, is in memory or small enough for that, and is to be sent as a whole: httpd will find
 * out its length.
 */
bool eeod_body_here(apr_bucket_brigade *bb);

/* There is nothing but its end. */
bool eeod_body_empty(apr_bucket_brigade *bb);

/*
 * A scan that stops at the first mark.  1: there is one; 0: there is none; -1: it can't be read.  What was read is
 * deleted unless it is to be kept.
 */
int  eeod_body_scan(const struct eeod_marks *m, apr_bucket_brigade *bb, bool keep);
bool eeod_body_file_has_marks(ap_filter_t *f, const struct eeod_marks *m, apr_bucket *file);

/*
 * Reads a bucket of data, a file by portions.  *b: it, or what stands in its place then: while its bytes are looked at
 * some may have been passed on, and only what can be split is still there.
 */
apr_status_t eeod_body_read(apr_bucket **b, const char **bytes, apr_size_t *len, apr_read_type_e mode);

/* The first n bytes of `from` go to the end of `to`, or away: NULL.  They have been read. */
void eeod_body_move(apr_bucket_brigade *from, apr_size_t n, apr_bucket_brigade *to);

#endif
