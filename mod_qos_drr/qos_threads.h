/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_threads.h - where a connection keeps a thread of the MPM for as long as it is open (worker, prefork): no crowd of
 * connections of one class has them all.
 *
 * Waits are bounded elsewhere (qos_hold.h); but a client that was answered, or refused, and keeps its connection keeps
 * its thread, and whoever stands in the kernel's queue of connections stays there.  Nothing is known of those before a
 * thread reads what they ask for.  So threads must turn over: an answer is the last one of its connection where its
 * class has connections beyond its part by weight of one half of all threads, and more beyond that than there are
 * threads left; and so is every refusal.
 *
 * A connection counts for the class of its last request, from that on until it is closed.  In the segment each process
 * has a row of counts, which it alone adds to; those of one that has ended do not count.  Whoever writes something else
 * there has connections of others closed after an answer, or kept, and nothing else.
 */
#ifndef FAIRGATE_QOS_THREADS_H
#define FAIRGATE_QOS_THREADS_H

#include "qos_request.h"

uint64_t qos_threads_bytes(uint32_t owners, uint32_t classes);      /* of the gateway's area of the segment */
void     qos_threads_child_init(void);
/* Its request has its class, and is this connection's latest. */
void     qos_threads_meet(struct qos_request *q);
/* It is refused. */
void     qos_threads_refuse(const struct qos_request *q);
/* Are there enough of them?  Says so in the log; also at `configtest`. */
void     qos_threads_check(server_rec *s, const struct qos_server *conf);

#endif
