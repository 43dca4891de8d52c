/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_inner.h - inner requests: those that another request at this server (the outer one) has caused.
 *
 * The outer request holds a slot until its inner request is answered.  If the inner one needed a second slot, enough
 * outer requests would hold every slot and wait for ever.  So an inner request takes no slot (qos_beside.h), waits for
 * nothing, and costs its class nothing: the outer one pays for the time.
 *
 * SIGNS.  One is enough:
 *
 *     connection  a child of this server opened the connection by which the request came (mod_proxy), for a request
 *                 that has a slot, is exempt, or is inner itself.  QOS_OUTGOING rows of the segment hold those
 *                 connections; each has a place in a bucket by the hash of both ends, address and port.  A row
 *                 belongs to a process (pid and row of owners[]); it is free when the connection closes or the process
 *                 ends.
 *     token       the request carries a token of ours (qos_outer.h) and the ticket in it has a slot, or is parked and
 *                 counts against its class's slots (rs_occupied.h).  It has come back by way of another gateway.  A
 *                 backend may show its request's fields to the client, so a token excuses QOS_INNER_MOST requests at
 *                 one time; others are scheduled.
 *     address     the client's address is one of this host, or one that QosSelf names.  PHP workers and other programs
 *                 send such requests.  Linux gives a connection to an address of this host that address as its
 *                 source, so that it is an address of this host if it equals that of the connection's other end, or is
 *                 a loopback address.  It does not count if a field (httpd_proxy_field) says that a proxy sent it for a
 *                 client elsewhere.
 *
 * OBSERVE.  An observed outer request holds no slot.  It makes other observed requests inner, no others, and no token
 * is added to what it sends.
 *
 * LOOPS.  A request that has passed this server QOS_INNER_DEEP times is answered 508.  It would take all threads.
 *
 * THREADS.  The handler hook notes in its thread what cause the request there is, and a filter of outgoing connections
 * copies it to the connection's row before the request's bytes leave.  So pooled connections have the right outer
 * request each time.
 */
#ifndef FAIRGATE_QOS_INNER_H
#define FAIRGATE_QOS_INNER_H

#include <httpd.h>
#include <http_config.h>

#include "qos_outer.h"

#define QOS_OUTGOING   4096u /* connections of mod_proxy that the segment has rows for */
#define QOS_INNER_DEEP 16u
#define QOS_INNER_MOST 8u /* requests that one token excuses at one time */

/*
 * What a request makes of those that it causes.  UNKNOWN: another program opened the connection.  SCHEDULED: this
 * server opened it, for a request that has no slot, or for none.
 */
enum qos_cause { QOS_CAUSES_UNKNOWN, QOS_CAUSES_SCHEDULED, QOS_CAUSES_OBSERVED, QOS_CAUSES_INNER };

struct qos_came { /* of a connection's present request: what came with it */
    enum qos_cause cause;
    struct qos_outer outer;
    const char *others; /* tokens of other gateways, in its pool; NULL: none */
};

struct qos_inner_area { /* in the segment; any child may write anything */
    struct qos_outgoing {
        _Atomic uint64_t holder; /* pid << 32 | 1 + row; 0: free */
        _Atomic uint64_t key;    /* hash of both its ends */
        _Atomic uint32_t cause;  /* enum qos_cause of the request that it carries */
    } outgoing[QOS_OUTGOING];
    _Atomic uint64_t seen; /* requests judged; of them */
    _Atomic uint64_t by_connection, by_token, by_address;
    _Atomic uint64_t loops;
};

struct qos_self { /* QosSelf */
    bool off, said;
    bool host;                    /* addresses of this host */
    apr_array_header_t *networks; /* of apr_ipsubnet_t *; NULL: none */
};

struct qos_request;

/* The directive. */
const char *qos_inner_set(cmd_parms *cmd, void *dir, int argc, char *const argv[]);

void qos_inner_register(void); /* the filter; from register_hooks */
int qos_inner_pre_connection(conn_rec *c, void *socket);
int qos_inner_post_read(request_rec *r); /* takes the field out of the request */
int qos_inner_handler(request_rec *r);   /* puts it into what mod_proxy sends */

/* In fixups.  True: q is inner. */
bool qos_inner_takes(struct qos_request *q);
/* q has come round too often: it is answered 508. */
bool qos_inner_loops(struct qos_request *q);
/* It is over: its token excuses another one.  Nothing the second time. */
void qos_inner_leaves(struct qos_request *q);

#endif
