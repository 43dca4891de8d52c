/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load.h - fairgate-load: HTTP/1.1 clients of several classes, on one thread and one epoll.
 *
 * A client sends a request, reads the whole response, thinks, sends the next one: a closed loop.  It keeps its
 * connection.  In a class with `arrivals` requests come at random (Poisson) whatever became of those before: an open
 * loop; each takes a client that is free, and one that finds none is counted as "missed".  What counts is what the
 * client saw: bytes are received bytes with their headers, counted as they arrive; a request counts when its response
 * is complete; latency runs from the moment a client wants the page (connecting included) to the last byte.
 *
 * STATES of a client, moved by load_client.c only:
 *
 *     RESTING ──timer──> CONNECTING ──> SENDING ──> READING ──whole response──> RESTING (think time) or SENDING
 *        ↑                  │   └──────────────┴───────────┴──any error──┘
 *        └── back-off       └──> ASKING ──> SHAKING ──> SENDING     OVER: its number of requests is done
 *
 * ASKING waits for the answer to CONNECT, where a proxy is to be gone through; SHAKING is TLS's beginning; either is
 * left out where it has no place.  A CONNECT that is refused is the answer to the request.  Bytes are counted as they
 * come from the network: TLS's own are among them, the proxy's answer to CONNECT is not.
 *
 * A kept connection that the server closes before one byte of the answer is tried once more on a new one and counted as
 * "stale", not as an error: every browser does so, because a server may close an idle connection whenever it likes.
 *
 * On a machine that the clients share with what they measure, their one thread waits for the CPU behind many threads of
 * the servers, whole answers lie unread meanwhile, and no class has requests waiting at the gateway any more: its
 * shares are those of the CPU's scheduler then. So --realtime runs before everything else, as clients on machines of
 * their own would.
 *
 * Everything belongs to struct load and lives as long as the process.  Input from servers never ends the program.
 */
#ifndef FAIRGATE_LOAD_H
#define FAIRGATE_LOAD_H

#include "lab_hist.h"
#include "lab_http.h"
#include "lab_timer.h"
#include "lab_tls.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

#define LOAD_READ      65536    /* bytes read at a time */
#define LOAD_TAG       "{n}"    /* in a URL: replaced by a number that no other request of this run has */
#define LOAD_TAG_WIDTH 10       /* digits of that number */

/* Kinds of errors: name in the report, meaning. */
#define LOAD_ERRORS(X) \
    X(CONNECT, "connect") /* no connection */ \
    X(RESET,   "reset")   /* the connection broke */ \
    X(CUT,     "cut")     /* closed before the response was complete */ \
    X(BAD,     "bad")     /* not HTTP */ \
    X(TIMEOUT, "timeout") /* no complete response in time */

enum load_error {
#define X(name, text) LOAD_ERR_##name,
    LOAD_ERRORS(X)
#undef X
    LOAD_ERR_COUNT
};

struct load_counts {
    uint64_t requests;          /* complete responses of any status */
    uint64_t bytes;
    uint64_t connects;
    uint64_t stale;
    uint64_t aborted;           /* given up by the client, as told by abort= */
    uint64_t missed;            /* arrivals that found no free client */
    uint64_t gap_most;          /* us: longest time without a byte for the class */
    uint64_t errors[LOAD_ERR_COUNT];
    uint64_t status[600];
    struct lab_hist latency;    /* of complete responses below 400, or of the others */
};

struct load_request {
    char *bytes;
    size_t length;
    const struct load_target *to; /* whom to connect to: the server, or the proxy */
    char *ask;                  /* the CONNECT that goes first; NULL = none */
    bool tls;
    size_t tag_at;              /* where the running number goes; 0 = nowhere */
};

struct load_target {
    char *text;                 /* HOST:PORT */
    struct sockaddr_storage address;
    socklen_t length;
};

struct load_class {
    const char *name;
    uint32_t clients;
    uint64_t rate;              /* bytes/s that a client reads; 0 = as fast as they come */
    uint64_t rcvbuf;            /* 0 = the system's, or small when rate is set */
    uint64_t think_us;
    uint64_t every_us;          /* from one request of a client to its next, at the least */
    uint64_t retry_us;          /* most that is waited after a 503 */
    uint64_t abort_us;          /* a client closes this long after its request; 0 = never */
    uint64_t per_client;        /* requests per client; 0 = no end */
    double from_s, until_s;     /* this class works between these seconds of the measurement; until 0 = to the end */
    const char *method;
    const char *proxy;          /* HOST:PORT; NULL = none */
    bool tunnel;                /* http:// URLs go through it by CONNECT, too */
    uint64_t body;
    uint64_t send;              /* bytes/s of the body that a client sends; 0 = as fast as they go */
    double arrivals;            /* requests/s of an open loop; 0 = a closed one */
    bool deck;                  /* URLs in a random order, each once before any comes again */
    bool refusals;              /* latency is that of answers of 400 and more */
    bool close;                 /* a connection for every request */
    bool source_set;
    struct sockaddr_storage source;
    uint32_t source_bits;       /* of an IPv4 network, all of whose addresses connections come from; 0 = the one */
    uint32_t source_turn;       /* how many came */
    const char **headers;
    uint32_t header_count;
    struct load_request *requests;
    uint32_t request_count;
    uint32_t *order;            /* deck: the requests' indices */
    uint32_t dealt;             /* deck: how many of them were dealt in this round */
    uint64_t rng;
    struct load_class *kin;     /* the first of its name: it has their gaps */
    uint64_t byte_at;           /* when the last byte came, of all of its name */
    struct load_client *free;   /* open loop: clients without a request */
    struct lab_timer arrival;
    struct load_counts now, all; /* this interval; intervals before it */
};

enum load_state { LOAD_RESTING, LOAD_CONNECTING, LOAD_ASKING, LOAD_SHAKING, LOAD_SENDING, LOAD_READING, LOAD_OVER };

struct load_client {
    uint32_t magic;
#define LOAD_CLIENT_MAGIC 0x4c434c49u
    int fd;                     /* -1 = no connection */
    SSL *tls;                   /* NULL = as it is */
    enum load_state state;
    bool reused;                /* the connection has served a request before */
    bool may_move;              /* this request went out on a kept connection: if that is dead, it moves to a new one */
    bool paused;                /* not asked to read until the timer */
    uint32_t interest;          /* what epoll watches for */
    uint32_t failures;          /* in a row */
    uint64_t rng;
    uint64_t begun_at;          /* when it wanted the page */
    uint64_t done;              /* requests */
    const struct load_request *request;
    char *own;                  /* its copy of the request when it carries a running number */
    size_t sent;
    struct load_class *class;
    struct load_client *next_free;
    struct lab_timer timer;     /* think, back-off, slow reading */
    struct lab_timer abort;
    struct lab_reply reply;
};

struct load {
    uint32_t magic;
#define LOAD_MAGIC 0x4c4f4144u
    double seconds, warmup, interval, timeout, ramp;
    uint64_t seed;
    bool table;
    bool realtime;
    const char *host;           /* for the Host header */
    struct load_target **targets; /* the first one is where paths go; whole URLs go to their own */
    uint32_t target_count;
    struct load_class *classes;
    uint32_t class_count;
    struct load_client *clients;
    uint32_t client_count;
    uint32_t working;           /* clients that are not OVER */
    int epoll;
    uint64_t now;
    uint64_t started;           /* of the measurement, after the warm-up */
    uint64_t serial;            /* the next running number */
    struct lab_timers timers;
    struct lab_timers aborts;
    struct lab_timers arrivals;
    SSL_CTX *tls;               /* NULL = nobody needs it */
    char buffer[LOAD_READ];
    char plain[LAB_TLS_RECORD];
};

/*
 * load_options.c: fills *l from the command line, reads URL lists, builds requests.  Prints what is wrong and ends the
 * program.
 */
void load_options(struct load *l, int argc, char **argv);

/* load_client.c */
void load_client_start(struct load *l, struct load_client *c, uint64_t at);
void load_client_arrive(struct load *l, struct lab_timer *t);
uint64_t load_client_gap(struct load_class *k);           /* microseconds until its next arrival */
void load_client_ready(struct load *l, struct load_client *c, uint32_t events);
void load_client_timer(struct load *l, struct lab_timer *t);
void load_client_abort(struct load *l, struct lab_timer *t);
void load_client_check_timeout(struct load *l, struct load_client *c);
bool load_client_busy(const struct load_client *c);       /* it has a request outstanding */

/*
 * load_report.c: one line of JSON over the time from..to (us), of the interval or of the whole run; the table of the
 * interval.
 */
void load_report_json(struct load *l, FILE *out, bool final, uint64_t from, uint64_t to);
void load_report_table(struct load *l, FILE *out, bool final, uint64_t from, uint64_t to);
void load_report_roll(struct load *l);      /* the interval ends: its counts join those before */
void load_report_clear(struct load *l);     /* the warm-up ends: nothing happened yet */

#endif
