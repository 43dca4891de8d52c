/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_hold.h - letting a request wait.
 *
 * In the event MPM (httpd 2.4.63 or newer) a held request has no thread: our fixups hook returns SUSPENDED, our
 * process_connection hook turns that into CONN_STATE_ASYNC_WAITIO, and our suspend_connection hook lends the connection
 * an eventfd, so that the MPM's listener waits for us instead of the client.  Writing to the eventfd brings the
 * connection to a worker, resume_connection puts the client's socket back, and the handler runs.  Nothing of this needs
 * more than the public interface.
 *
 * That hand-over through the MPM's listener and queue costs as much as a small request, so a wait begins in its thread
 * while the child has threads to spare, and is held without one when it has lasted 100 ms: what is over sooner costs
 * one wake-up, and no crowd keeps a thread for longer.
 *
 * Elsewhere (worker, prefork, filters that clog the input, internal redirects) the wait blocks its thread on a futex.
 * Such waits are bounded per class, so that a crowd of one class can't take the last thread of another.
 *
 * A stream of HTTP/2 blocks a worker of mod_http2, which are beside the MPM's threads: no request of another kind could
 * have it, and there is one for every stream that can be (qos_http2.h).  What is bounded there is how many connections
 * keep threads of the MPM meanwhile.  A stream that was reset leaves within 0.1 s (qos_streams.h).
 *
 * A child that holds requests has a dispatcher thread that looks after them (qos_dispatch.h).
 */
#ifndef FAIRGATE_QOS_HOLD_H
#define FAIRGATE_QOS_HOLD_H

#include "qos_request.h"

/*
 * A request that was parked while its body was awaited has it now: it waits for a slot once more, in this thread, like
 * any other of its class.  0 if its client left, the wait was too long or the queue had no room: q->outcome tells
 * which, and its ticket is gone.  No room is no way in: who fills the queue of its own class would bring all that it
 * has parked to the server at one time.
 */
int  qos_hold_again(struct qos_request *q);

void qos_hold_child_init(apr_pool_t *pchild, server_rec *s);

/* Hooks. */
int  qos_hold_fixups(request_rec *r);
int  qos_hold_process_connection(conn_rec *c);
void qos_hold_suspend_connection(conn_rec *c, request_rec *r);
void qos_hold_resume_connection(conn_rec *c, request_rec *r);

#endif
