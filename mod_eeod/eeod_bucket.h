/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_bucket.h - a metadata bucket that says: here the block before ends, and one of this kind begins.  The content
 * filter puts it into the stream of a response, the network end of the connection makes a segment boundary of it;
 * filters between let it pass as they do with any metadata they do not know.
 */
#ifndef FAIRGATE_EEOD_BUCKET_H
#define FAIRGATE_EEOD_BUCKET_H

#include <apr_buckets.h>

#include "eeod_blocks.h"

apr_bucket *eeod_boundary_create(enum eeod_block kind, apr_bucket_alloc_t *list);

/* The kind of the block that begins at this bucket; EEOD_NOTHING when it is no boundary. */
enum eeod_block eeod_boundary_kind(const apr_bucket *b);

/*
 * A file's bucket is to be read in portions of this size into memory of the bucket allocator, which uses it again: for
 * what is sent at once that costs less than to map the file, and a file that becomes shorter is an error and no SIGBUS.
 */
#define EEOD_PORTION 32768      /* httpd blocks when more than FlushMaxThreshold, 64 kB, waits in memory */
void eeod_read_by_portions(apr_bucket *file);

/*
 * Splits a bucket of data that has been read, so that it has so many bytes and another has the rest.  Returns the first
 * of both: the bucket itself, or what stands in its place when its type can't be split.
 */
apr_bucket *eeod_split(apr_bucket *b, apr_size_t at);

#endif
