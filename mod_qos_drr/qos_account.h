/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_account.h - what a running request gets, and when it is over.
 *
 * A connection-level output filter counts the bytes of the response on their way to the network, header included.  A
 * slot stands for work at the server, so it is given back when the end-of-request bucket passes the filter, not when
 * the client has drained what stands in buffers.  If the thread of a request waits for its client to take the answer, a
 * process that waits for the slot parks the request (shm_sweep).  The filter marks since when the thread waits, and
 * whether the handler has more to get from its backend: such a request goes on occupying a worker (rs_occupied.h).  It
 * takes a slot again once its client keeps up and a slot is free; until then it goes on without.
 *
 * A tunnel (WebSocket, CONNECT) gives its slot back when it stands, and an answer when it has gone on for as long, or
 * has brought as much, as QosPark says; what comes of either goes on being charged to its class.  Interim answers (100,
 * 103) are not counted: they are neither the answer's length nor its bytes.
 *
 * What is passed on may go for long after the slot came back, or never: an answer is charged to its class as its bytes
 * go to the network (qos_went.h), but for what any answer is charged at its release, and teaches its size only when it
 * has gone.  One of less than 64 KB is charged when it is passed on: it fits into the socket's buffer.
 *
 * The slot comes back once, by the first of: the end-of-request bucket; the request's pool going (whatever happened to
 * the bucket); the parent, when the child died.
 */
#ifndef FAIRGATE_QOS_ACCOUNT_H
#define FAIRGATE_QOS_ACCOUNT_H

#include <util_filter.h>

#include "qos_request.h"

void         qos_account_register(void);                /* the filter; from register_hooks */
/* it has a ticket: whatever becomes of it, its pool going gives it back */
void         qos_account_watch(struct qos_request *q);
void         qos_account_begin(struct qos_request *q);  /* it has its slot: from here on its bytes are counted */
/* gives the slot back; does nothing the second time */
void         qos_account_end(struct qos_request *q, int whole);
void         qos_account_went(struct qos_conn *k);      /* bytes have been written to this connection */
/* shm_host.had_slot */
void         qos_account_had_slot(const struct shm_view *v, uint64_t now, rs_ticket_t t, uint64_t us);
void         qos_account_leave(rs_ticket_t ticket);                 /* gives a ticket back that nothing was made for */
int          qos_account_log(request_rec *r);           /* log_transaction hook: notes for LogFormat */

#endif
