/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_http2.h - what mod_http2 must have for streams to wait in it.
 *
 * A stream runs in a worker of mod_http2, and keeps it while it waits: httpd has no way to carry on with a stream
 * later.  What a connection sends beyond that needs no thread: mod_http2 does not start a stream without a worker, and
 * HTTP/2's own bound (H2MaxSessionStreams) makes the client keep what is beyond.  But mod_http2 serves connections in
 * turn, whoever they belong to: with its usual number of workers, 1.5 for each thread of the MPM, the waiting streams
 * of one crawler have them all, and other classes' streams don't even come to be scheduled.
 *
 * How many can there be?  A connection with an open stream keeps a thread of the MPM, so a child has at most
 * ThreadsPerChild of them at a time, each with H2MaxSessionStreams streams; and no more wait than QosQueue allows.
 * With so many workers no stream ever waits outside the scheduler.  They are started when they are needed and end when
 * they are idle.  Where H2MaxWorkers is not said, that number is set; where it says less, the log tells.
 */
#ifndef FAIRGATE_QOS_HTTP2_H
#define FAIRGATE_QOS_HTTP2_H

#include "qos_config.h"

/*
 * In post_config, after the MPM's: how many streams can be served at a time, in all children.  Each may be one that is
 * parked, because its client takes nothing: so many tickets there are beside those of the queue, or such streams would
 * take the queue's.
 */
uint32_t qos_http2_streams(server_rec *s, const struct qos_server *conf);
void     qos_http2_config(server_rec *s, const struct qos_server *conf);    /* post_config, after the MPM's */

#endif
