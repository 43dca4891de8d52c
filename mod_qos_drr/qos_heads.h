/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_heads.h - heads of requests that come slowly: they are waited for without a thread (event MPM).
 *
 * httpd 2.4's event MPM gives a connection a thread at its first byte, and httpd reads the head in it, however long
 * that takes: as many slow clients as there are threads keep everybody out.  So before httpd reads, our
 * process_connection hook (qos_hold.h) peeks at what has come.  What httpd can read without waiting (qos_whole.h) it
 * reads, as ever: then nothing was done but a look.  Else the connection goes back to the MPM (CONN_STATE_ASYNC_WAITIO)
 * until more has come.  Nothing is read meanwhile, so httpd and its filters see the bytes that they always saw.
 *
 * While no more than a quarter of the child's threads are busy nobody looks, and nobody pays: so a quarter may wait for
 * slow heads as ever, and another for those that can't be waited for so (BOUNDS).
 *
 *     a look ─┬─ it is whole, or the client has closed its end ────────→ httpd reads
 *       ↑     ├─ its time is over, or there are too many ──────────────→ httpd reads what there is, and answers 408
 *       │     ├─ it can't be waited for so, or httpd is thought to
 *       │     │  answer what there is, and there is a thread for it ───→ httpd reads, and waits as ever
 *       │     └─ polled ─┐
 *       └──── woken ─────┘
 *
 * What was peeked at is still there, so poll() would return at once.  It is told to wait for one byte more than there
 * are (SO_RCVLOWAT, as Linux has it since 4.18); the end of what the client sends wakes it, too.
 *
 * TIME.  mod_reqtimeout's clock does not run while nobody reads.  Ours does, by its numbers: RequestReadTimeout
 * header=, the longest in the configuration, since a virtual host is not known yet; 20-40,MinRate=500, as it has by
 * itself, where none is said.  The dispatcher (qos_dispatch.h) looks once a second; of a crowd that came at one time it
 * ends no more than a 64th in each 0.1 s, or answering them would keep everybody waiting.  Whose time is over httpd
 * reads through a filter that waits for nothing, so that it answers and logs as it does when mod_reqtimeout ends one.
 *
 * BOUNDS.  Of the connections that the MPM lets into a child no more than a quarter are such heads: one more ends the
 * one that has been silent for longest.  A head of QOS_HEADS_ROOM bytes and more can't be waited for so, nor one whose
 * poll() returns at once though nothing has come (the kernel is short of memory; a byte out of band stands first): a
 * quarter of the child's threads may wait for those, and one more has no more time.  What is refused before it is whole
 * (QOS_ANSWERED) counts among them, should httpd wait for more nevertheless.
 *
 * NOT FOR connections with TLS, whose bytes say nothing here, of HTTP/2 or another protocol (Listen's second word),
 * with filters that we do not know, or to an address whose first virtual host has not QosEngine On.  What mod_remoteip
 * reads before the head (PROXY protocol) is waited for likewise.
 */
#ifndef FAIRGATE_QOS_HEADS_H
#define FAIRGATE_QOS_HEADS_H

#include <stdbool.h>
#include <stdint.h>

#include <httpd.h>

#define QOS_HEADS_ROOM 16384u

struct qos_head {                           /* of a connection, while the head of its next request comes */
    struct qos_head    *before, *behind;    /* in the ring of those that are polled, by when they began to be */
    int                 fd;
    bool                polled, over;       /* it is in the ring; its time is over: both by the ring's lock */
    bool                reads;              /* it is counted among those that a thread waits for */
    bool                filtered;           /* our input filter is in place */
    uint32_t            buffered;           /* bytes that httpd has read already, with the request before */
    uint32_t            seen;               /* bytes at the last look, with those */
    uint32_t            lowat;              /* of its socket; 0: as usual */
    uint64_t            begun, deadline;    /* 0: not looked at yet */
    apr_bucket_brigade *bb;                 /* what `buffered` is copied by; NULL: it never was */
};

void qos_heads_register(void);                  /* the filter; from register_hooks */
void qos_heads_config(uint64_t connections);    /* post_config: so many a child lets in */
void qos_heads_child_init(void);

/* In process_connection, before all others: true if the connection is to be polled for more. */
bool qos_heads_wait(conn_rec *c);
void qos_heads_leave(struct qos_head *h);       /* behind all others, if it is not */
int  qos_heads_post_read(request_rec *r);       /* post_read_request */
void qos_heads_resume(struct qos_head *h);      /* resume_connection */
uint64_t qos_heads_look(uint64_t now);          /* the dispatcher's: ends whose time is over; when to look again */

#endif
