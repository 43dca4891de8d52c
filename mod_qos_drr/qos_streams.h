/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_streams.h - streams of HTTP/2 that wait in their threads: hundreds in a child, and any may be reset.
 *
 * mod_http2 tells a reset only by a flag of the stream's connection.  One of those that wait looks at all flags every
 * QOS_STREAM_TICK_US and wakes whose was set; when its own wait ends, another takes over.  So a crowd costs one wake-up
 * a tick, not one for each.
 */
#ifndef FAIRGATE_QOS_STREAMS_H
#define FAIRGATE_QOS_STREAMS_H

#include "qos_request.h"

#define QOS_STREAM_TICK_US 80000u

void     qos_streams_enter(struct qos_request *q);  /* it has a ticket, and waits in this thread from now on */
uint64_t qos_streams_look(struct qos_request *q);   /* before it sleeps: how long at most, in microseconds */
void     qos_streams_leave(struct qos_request *q);

#endif
