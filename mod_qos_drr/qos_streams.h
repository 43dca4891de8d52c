/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_streams.h - streams of HTTP/2 that wait in their threads: hundreds in a child, and any may be reset.
 *
 * mod_http2 tells a reset only by a flag of the stream's connection.  One of those that wait looks at all flags every
 * QOS_STREAM_TICK_US and wakes whose was set; when its own wait ends, another takes over.  So a crowd costs one wake-up
 * a tick, not one for each.
 *
 * Their threads are mod_http2's, but a connection keeps one of the MPM's while a stream of it is unanswered, and those
 * are for everybody.  So connections with waiting streams are bounded per class, as blocked waits are, in each child by
 * itself: where a class has its part of the child's threads, streams of further connections of it are refused.
 */
#ifndef FAIRGATE_QOS_STREAMS_H
#define FAIRGATE_QOS_STREAMS_H

#include "qos_request.h"

#define QOS_STREAM_TICK_US 80000u

/* In a child, before there are streams. */
void     qos_streams_child_init(apr_pool_t *pchild);
/*
 * It waits from now on, if its connection may keep its thread: `bound` says which part of the child's threads its class
 * has.  false: it may not, and nothing is to be left.
 */
bool     qos_streams_enter(struct qos_request *q, struct qos_bound bound);
uint64_t qos_streams_look(struct qos_request *q);   /* before it sleeps: how long at most, in microseconds */
void     qos_streams_leave(struct qos_request *q);

#endif
