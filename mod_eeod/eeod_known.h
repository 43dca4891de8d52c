/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_known.h - files that are known to have no marks, so that they are sent without being read.  A table of each
 * process's own: 1,024 places, lost when they are needed by another file.  A place holds a keyed hash (SipHash) of the
 * file's device, inode, size and times.  A file that has changed in the last two seconds may change again unseen, and
 * is not remembered.
 */
#ifndef FAIRGATE_EEOD_KNOWN_H
#define FAIRGATE_EEOD_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include <apr_buckets.h>
#include <apr_time.h>
#include <httpd.h>

#include "marks/eeod_scan.h"

struct eeod_known {
    uint64_t   key;         /* 0: it can't be remembered */
    apr_time_t changed;
};

void eeod_known_child_init(void);       /* the key of the hash */

/*
 * 1: this file, which is all of r's body, has none of these marks; should another have taken its name while r went
 * through httpd, with the same length, it is the former that is meant, as it is by httpd's own Content-Length.  Else
 * fills *id for eeod_known_remember.
 */
bool eeod_known_unmarked(request_rec *r, const apr_bucket *file, const struct eeod_marks *m, struct eeod_known *id);
void eeod_known_remember(const struct eeod_known *id, apr_time_t now);

#endif
