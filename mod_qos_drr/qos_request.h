/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_request.h - one scheduled request in the child that has it, and the child itself.
 *
 * THE STATES OF A REQUEST here, and who moves it (the engine's states stand in core/rs.h):
 *
 *     submitted ─ released at once ───────────────────────────────→ running ─ EOR, or its pool goes ─→ ended
 *         ├─ refused ─→ 503                                           ↑   │ waits for its client (qos_account.h)
 *         ├─ held    (event MPM: no thread)  ─ woken, released ───────┤   ↓
 *         │    ↑ 100 ms                                               │ parked ─ the client keeps up ─→ running
 *         └─ blocked (in its thread)         ─ woken, released ───────┘   │ its body is whole
 *              ↑                                                          ↓   (stream: running, if a slot is free)
 *              └────────────────────────────── whole (QosBody): submitted once more
 *                held or blocked ─ too long ─→ 503     ─ client left ─→ closed
 *
 * What becomes of a waiting request is decided under the shared lock: it either is picked, or its own thread, woken to
 * look, takes it out of its queue (shm_end_wait).  All else in struct qos_request belongs to the thread that serves the
 * connection.
 */
#ifndef FAIRGATE_QOS_REQUEST_H
#define FAIRGATE_QOS_REQUEST_H

#include <pthread.h>

#include <httpd.h>

#include "core/rs_paper.h"
#include "crawlers/crawlers_known.h"
#include "pages/pages_keys.h"
#include "qos_config.h"
#include "qos_heads.h"
#include "qos_inner.h"
#include "qos_people.h"
#include "qos_sizes.h"
#include "shm/shm.h"

enum qos_outcome {
    QOS_PASSED,
    QOS_WAITED,
    QOS_REFUSED,
    QOS_WAIT_TIMEOUT,
    QOS_GONE,
    QOS_OBSERVED,
    QOS_EXEMPTED,
    QOS_INNER
};
/* Why it passes beside the scheduler (qos_beside.h); QOS_UNSEEN: exempt, where QosEngine observes. */
enum qos_beside { QOS_IS_SCHEDULED, QOS_IS_OBSERVED, QOS_IS_EXEMPT, QOS_IS_UNSEEN, QOS_IS_INNER };

struct qos_conn;

struct qos_request {                        /* in r->pool */
    request_rec         *r;
    struct qos_conn     *conn;
    rs_ticket_t          ticket;            /* RS_NO_TICKET when it never had one, or has ended */
    uint32_t             class;             /* position in qos_config()->classes */
    uint32_t             rule;              /* that says so, or POLICY_NONE */
    bool                 anybody;           /* nothing says so: it is where all the rest go */
    uint32_t             outlet;            /* its number in the engine */
    enum qos_outcome     outcome;
    const char          *reason;            /* of a refusal, for the log; else NULL */
    struct pages_keys    keys;              /* of one that is observed as one of many: zeroes (qos_paper.h) */
    uint64_t             key[RS_KEY_LEVELS];    /* whose it is in its class */
    enum pages_coding    coding;            /* the most that the client takes */
    char                 crawler[CRAWLERS_NAME_ROOM];   /* verified; "": of whom nothing is */
    uint64_t             bytes;             /* that its answer is expected to have */
    uint64_t             expected_us;       /* that it is expected to have its slot; 0: nobody knows, or asks */
    bool                 by_directory;      /* that is the mean of its directory's pages */
    uint64_t             estimate;          /* what it is expected to cost */
    uint64_t             submitted, wait_us;
    struct qos_person    person;            /* who sent it */
    apr_bucket_brigade  *head;              /* of an interim answer, so far; NULL: none */

    /* while waiting */
    int                  wake_fd, client_fd;
    int                  own_fd;            /* wake_fd is this process's own, not of the stock */
    uint64_t             deadline;
    struct qos_request  *next, **before;    /* a stream, among those of this child that wait (qos_streams.h) */
    struct qos_conn     *wire;              /* of its connection, where it is counted */

    /* while running */
    uint64_t             sent, reported;    /* bytes passed to the network side; of these, charged or paid for */
    uint64_t             prepaid;           /* of what its bytes cost that go after its end, so much was charged */
    uint64_t             slot_us;           /* how long it had its slot, once it has ended */
    bool                 crowded;           /* rs_crowded, once it has ended */
    uint64_t             park_us, park_bytes;   /* when it gives its slot back; 0 = when it ends */
    bool                 waits;             /* its URL is known to wait at the backend (qos_park.h) */
    bool                 worker;            /* PHP-FPM serves it, with a worker of its own */
    const char          *parked_by;         /* it did: "time", "size", "tunnel"; else NULL */
    int                  tunnel;            /* what passes is its class's, and nobody's answer */
    uint64_t             first_byte;        /* where it begins among the bytes of its connection: qos_went.h */
    int                  length_told, broken;
    int                  whole;             /* all of it was passed on */
    /* all of it was, the slot is given back, and some of it may be in buffers: in conn->going */
    int                  going;
    struct qos_request  *next_going;
    unsigned             quick_writes;      /* in a row, since it was parked */
    int                  body_read;         /* nothing more of the request's body is to come */
    bool                 body_whole;        /* the backend gets it when it is whole (QosBody) */
    bool                 body_filter;       /* qos_body.c's filter is among those of the protocol */
    /* how long its body has been waited for of late, and when that last ended */
    uint64_t             body_lag, body_seen;

    /* beside the scheduler */
    bool                 observed;          /* nothing of it may be changed */
    enum qos_beside      beside;
    int                  beside_over;
    bool                 passing;           /* observed, and no more than counted (qos_paper.h) */
    uint32_t             exempt;            /* 1 + its place (qos_exempt.h); 0: none, or left for its body */
    uint64_t             idle_us;           /* so much of its time was its client's */
    rs_paper_id_t        paper;
    rs_ticket_t          outer;             /* its token excuses this one (qos_inner.h); RS_NO_TICKET: none */
};

/* Threads that waits of a class may block: so many always, and of those that all share while fewer are; of so many. */
struct qos_bound { uint32_t own, pool, spare; };

struct qos_conn {                           /* in c->pool */
    struct qos_request  *current;           /* whose bytes pass now */
    struct qos_request  *held;
    struct qos_head      head;              /* of the request that comes next */
    struct qos_came      came;              /* with the present request: qos_inner.h */
    apr_sockaddr_t      *meant;             /* where it was going: qos_transparent.h; NULL: here, or not known */
    bool                 meant_sought;      /* looked for: once, for what is found takes memory of the connection's */
    bool                 meant_own;         /* that is an address of this host: qos_source.h */
    int                  inside;            /* our process_connection hook runs already */
    int                  lent;              /* the socket has the wake-up descriptor in place of client_fd */
    int                  filter;            /* our output filter is in place */
    uint32_t             keeps;             /* where its thread is counted (qos_threads.h); 0: nowhere */
    /*
     * Of a connection of HTTP/2 (qos_streams.h): its streams that wait, whose class and outlet it counts for, and if
     * its thread is one of those that classes share.
     */
    uint32_t             streams, class, outlet;
    bool                 pooled;
    struct qos_request  *going;             /* in the order in which they go */
    uint64_t             passed;            /* bytes passed on here, and */
    _Atomic uint64_t     written;           /* written to the socket, by the connection's thread: qos_went.h */
    rs_paper_id_t        paper;             /* the last that was observed here, and when that ended */
    uint64_t             paper_ended, paper_think;   /* and how long its client pauses; 0: not known */
};

/* This process: set up by the parent before it forks, then by each child for itself. */
struct qos_process {
    struct shm_view      view;
    struct qos_sizes     sizes;
    struct qos_costs     costs;
    struct qos_paper    *paper;             /* qos_paper.h; NULL: nothing is observed by this child */
    _Atomic uint64_t     close;             /* a tenth of a second << 32 | requests that were observed in it */
    struct crawlers_live crawlers;          /* of this process alone */
    uint32_t             row;               /* in view.owners; SHM_NO_ROW in the parent */
    pid_t                pid;               /* of a child; to ask for it is a system call */
    int                  can_hold;          /* the MPM can let a connection wait without a thread */
    bool                 notes;             /* somebody looks at the notes for the log */
    uint32_t             threads;           /* of the whole server: what blocked waits share */
    uint32_t             threads_per_child;
    /* threads of this child that wait for a while; grows under the shared lock */
    _Atomic uint32_t     short_waits;
    pthread_t            dispatcher;
    int                  dispatching;
    _Atomic int          stop;
    pthread_t            keeper[8];         /* qos_keeper.h */
    unsigned             keepers;
    _Atomic uint32_t     keeper_stop;
    uint32_t             generation;        /* of the configuration that this process has */
};
extern struct qos_process qos_process;

struct qos_conn    *qos_conn_of(conn_rec *c);               /* made on first use */
/* of this request or one it was redirected from; NULL if not scheduled */
struct qos_request *qos_request_of(const request_rec *r);
request_rec        *qos_last_of(request_rec *r);            /* the one that it was redirected to in the end */
/* Its host is one that its virtual host names: the first one answers to any. */
bool                qos_request_names_us(request_rec *r);

#endif
