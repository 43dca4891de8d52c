/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_stats.h - what the module counts, in memory that all children share: a block of counters, each of which only
 * grows, from the start of the server on and over its graceful restarts.
 */
#ifndef FAIRGATE_EEOD_STATS_H
#define FAIRGATE_EEOD_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#include <httpd.h>

#include "console/console_ring.h"

/* name, sentence */
#define EEOD_COUNTERS(X)                                                                                               \
    X(responses, "Responses that went out in blocks.")                                                                 \
    X(files, "Files and downloads among them that are one cacheable block (EeodFiles).")                               \
    X(unmarked, "Responses of a type with marks that had none; with EeodFiles they are blocks all the same.")          \
    X(cacheable_blocks, "Cacheable blocks in them.")                                                                   \
    X(unique_blocks, "Blocks unique to a visitor in them.")                                                            \
    X(joined_blocks, "Cacheable blocks that were too small to be one (EeodMinBlock).")                                 \
    X(odd_marks, "Marks that were nested, closed nothing, or stood where they do not count.")                          \
    X(keyed_marks, "Marks that had the key of their response (EeodKey).")                                              \
    X(spoiled_marks, "Marks that had none, and were made comments (EeodKey).")                                         \
    X(boundaries, "Segment boundaries made.")                                                                          \
    X(missed, "Boundaries that could not be made.")                                                                    \
    X(extra_segments, "Segments more than the same bytes without boundaries would have taken.")                        \
    X(aside_tls, "Responses left alone because the connection is encrypted.")                                          \
    X(aside_http2, "Responses left alone because they went over HTTP/2.")                                              \
    X(aside_encoded, "Responses left alone because their body is encoded (compressed).")                               \
    X(aside_other, "Responses left alone for another reason (multiple ranges, a large file with ranges, a network "    \
                   "filter in the way).")

enum eeod_counter {
#define X(name, help) EEOD_##name,
    EEOD_COUNTERS(X)
#undef X
    EEOD_NCOUNTERS
};

struct eeod_stats {
    _Atomic uint64_t n[EEOD_NCOUNTERS];
    struct console_ring ring;                   /* of these, while somebody looks */
};

/* post_config: maps the counters, or finds those of before the restart.  0, or a status of apr. */
apr_status_t eeod_stats_open(apr_pool_t *process);

void eeod_count(enum eeod_counter which, uint64_t n);

/* The handler eeod-status (text, ?json, ?prometheus, ?console) and the lines on mod_status's page. */
int eeod_status_handler(request_rec *r);
int eeod_status_lines(request_rec *r, int flags);

#endif
