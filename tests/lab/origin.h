/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * origin.h - fairgate-origin: a backend that behaves as badly, as slowly or as exactly as a test needs.
 *
 * It has N workers.  A request waits for a worker, is held by it for the service time, is answered, and frees its
 * worker when the last byte is out (as a process of prefork would).  The service time sleeps: it costs no CPU, so that
 * what is measured beside it is undisturbed.  With a knee K the service time is multiplied by 1 + slope x (requests
 * present - K), when more than K are present: the server thrashes.  With --alternate S it is the fast one and the slow
 * one for S seconds each in turn, fast first.  With --tls-port it listens for TLS, too, and serves the same there.
 *
 * URLS, with what may be said behind the "?", joined by "&":
 *
 *   /size/N            N bytes with Content-Length
 *     chunked          ... in chunks without Content-Length
 *     close            ... without either: the end of the connection is the end of the page
 *     delay=MS         the service time of this request
 *     status=NNN       the status (200)
 *     retry=S          a Retry-After field
 *     etag             an ETag; 304 when the request has If-None-Match
 *     truncate         half the bytes, then an orderly end, whatever length was announced
 *     reset            half the bytes, then the connection breaks
 *     never            no answer, until the client leaves
 *     stall            header and half the bytes, then nothing, until the client leaves
 *     gate             the service time begins when the gate is open; it is shut at the start
 *     trickle=N        while the gate is shut, N bytes of the page every 100 ms
 *     assets=N         an HTML page: in front of the N bytes, a script that loads N images, scripts and style sheets,
 *                      each of 2,000 bytes
 *     each=MS          ... whose service time is this (5)
 *   /open  /shut       open and shut the gate; the answer is that of /stat
 *   /stat              JSON: {"requests", "answered", "aborted", "bytes", "current", "serving", "max", "max_serving",
 *                      "connections"};
 *     reset            ... and counts and maxima begin anew
 *
 * Anything else is 404.  /stat needs no worker and is not counted.
 *
 * STATES of a connection, moved by origin.c only, freed there only:
 *
 *     READING ──request──> QUEUED ──worker──> SERVING ──service time──> WRITING ──all out──> READING or closed
 *                                 gate ⇅         └──never──> HELD <──stall──┘    (left by the client's end only)
 *                                GATED
 *     a client that leaves: any state ──> closed; the worker, if it has one, is free again.
 */
#ifndef FAIRGATE_ORIGIN_H
#define FAIRGATE_ORIGIN_H

#include "lab_http.h"
#include "lab_timer.h"
#include "lab_tls.h"

#include <stdbool.h>
#include <stdint.h>

#define ORIGIN_IN   8192        /* bytes of requests read at a time */
#define ORIGIN_HEAD 1024        /* room for an answer's header, or for all of /stat */

enum origin_state { ORIGIN_READING, ORIGIN_QUEUED, ORIGIN_GATED, ORIGIN_SERVING, ORIGIN_WRITING, ORIGIN_HELD };
enum origin_end   { ORIGIN_END_FINE, ORIGIN_END_CLOSE, ORIGIN_END_RESET, ORIGIN_END_STALL };

struct origin_conn {
    uint32_t magic;
#define ORIGIN_CONN_MAGIC 0x4f434f4eu
    int fd;
    SSL *tls;                   /* NULL = as it is */
    enum origin_state state;
    bool counted;               /* it is among the requests present */
    bool worker;                /* it has one */
    bool keep_alive;
    bool chunked;
    bool never;
    bool gated;                 /* asked for with "gate" */
    bool left;                  /* to be freed at the end of this turn */
    enum origin_end end;
    int64_t delay_us;           /* -1 = the server's */
    uint32_t trickle;           /* bytes at a time; 0 = all */
    uint64_t budget;            /* of them, bytes still to go out this time */
    uint32_t interest;
    char head[ORIGIN_HEAD];
    uint32_t head_length, head_sent;
    uint64_t body;              /* bytes still to send */
    uint64_t position;          /* bytes of the page sent */
    uint64_t chunk;             /* of them in the chunk that is begun */
    char frame[32];             /* chunk framing that is to go out before more body */
    uint32_t frame_length, frame_sent;
    bool last_chunk;
    struct origin_conn *next, *before; /* in the queue for a worker, or at the gate */
    struct origin_conn *next_left;
    struct lab_timer timer;
    struct lab_request request;
    char in[ORIGIN_IN];
    uint32_t in_at, in_length;
};

struct origin_list {
    struct origin_conn *first, *last;
};

struct origin {
    uint32_t magic;
#define ORIGIN_MAGIC 0x4f524947u
    /* settings */
    uint32_t workers;           /* 0 = no limit */
    uint64_t delay_us, fast_us;
    double alternate_s;         /* 0 = always slow */
    uint32_t knee;              /* 0 = none */
    double slope;
    double spread;              /* service times vary by +- this fraction */
    /* state */
    int epoll;
    int listener, tls_listener;
    SSL_CTX *tls;               /* NULL = nobody listens for it */
    uint64_t now, started;
    uint64_t rng;
    struct lab_timers timers;
    bool open;                  /* the gate */
    struct origin_list queue, gate;
    struct origin_conn *left;
    /* counts */
    uint64_t requests, answered, aborted, bytes;
    uint32_t current, serving, max, max_serving, connections;
};

/*
 * origin_answer.c: turns the request just read into an answer to be sent: head, body bytes and their end.  For /stat
 * *immediate is set.
 */
void origin_answer_prepare(struct origin *o, struct origin_conn *c, bool *immediate);

/*
 * Sends what can be sent of it.  Returns 1 when all is out, 0 when the socket is full, -1 when the client is gone, 2
 * when no more may go for the moment, of one that trickles.
 * Bytes sent are counted in o->bytes.
 */
int origin_answer_send(struct origin *o, struct origin_conn *c);

#endif
