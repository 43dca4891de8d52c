/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_load.h - fairgate-ndn-load: many clients of a named-data network, on one thread and one epoll.
 *
 * A client wants a page: it asks for the page's name with CanBePrefix and MustBeFresh, which brings the first segment
 * of a version of its own, and then for the others by their exact names, as many at one time as its window allows
 * (ndn/ndn_fetch.h).  What counts is what the client saw: a page's time runs from the moment when it is wanted to the
 * last segment; a retransmission is an Interest for a segment that was asked for before.
 *
 * WHO ASKS WHEN.  In a closed loop a client asks, thinks, asks again.  In an open one (a spike, intermittent or
 * alternating load) each request is drawn before the first is sent, time and page, and has a client of its own: the
 * same seed gives the same requests, whatever becomes of them.  Their times are random (Poisson), or, of alternating
 * load with --even, as far apart as the rate says; with --own the i-th of them is for the i-th name of the list.
 *
 * STATES of a client, moved by ndn_load_client.c only:
 *
 *     RESTING ──timer──> FIRST ──its Data──> OTHERS ──whole──> RESTING (think time) or OVER
 *                          └──────────────────┴──failed──┘
 *
 * FACES are TCP connections, which the clients share in turn; one Data is for all clients of its face that asked for
 * it, as a forwarder sends it only once.  A Data is found by its name without the segment, in a table by hash; that of
 * a first segment by the page's name, too.  A face that breaks fails all its clients' pages, from then on.
 *
 * No PIT token is sent, for one forwarder falls over those that are not its own.  Nothing is allocated per packet.
 * Everything belongs to struct nload and lives as long as the process.  Input from servers never ends the program.
 */
#ifndef FAIRGATE_NDN_LOAD_H
#define FAIRGATE_NDN_LOAD_H

#include "lab_timer.h"
#include "ndn/ndn_fetch.h"
#include "ndn/ndn_packet.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

#define NLOAD_NAME_MAX  512u        /* bytes of a page's name, or of a version's */
#define NLOAD_IN        (256u * 1024)
#define NLOAD_TAG       "{n}"       /* in a name: replaced by a number that no other request of this run has */
#define NLOAD_TAG_WIDTH 10u         /* digits of that number */
#define NLOAD_KINDS_MAX 16u         /* kinds of pages */

/* What became of a page that did not come whole: name in the report, meaning. */
#define NLOAD_ERRORS(X) \
    X(LOST,       "lost")       /* a segment was asked for as often as may be */ \
    X(GONE,       "gone")       /* a segment was refused */ \
    X(STRANGE,    "strange")    /* the first Data is none of a page */ \
    X(FACE,       "face")       /* the connection broke */ \
    X(UNFINISHED, "unfinished") /* an open load's, when the time was up */

enum nload_error {
#define X(name, text) NLOAD_##name,
    NLOAD_ERRORS(X)
#undef X
    NLOAD_ERROR_COUNT
};

enum nload_kind { NLOAD_CLOSED, NLOAD_SPIKE, NLOAD_INTERMITTENT, NLOAD_ALTERNATING };

struct nload_page {                 /* of the list of names */
    uint32_t kind;
    double   upto;                  /* weights of it and those before */
    size_t   n, tag_at;             /* bytes of its name; where the number goes, 0: nowhere */
    uint8_t  name[NLOAD_NAME_MAX];
};

struct nload_done {                 /* a page that came whole */
    uint64_t asked, took, first;    /* us: since the measurement began; to the last segment; to the first */
    uint32_t kind, segments, status, interests, retransmissions;
    uint32_t window;                /* that the server told; 0: none */
};

struct nload_face {
    int      fd;                    /* -1: broken */
    uint32_t number, interest;      /* what epoll watches for */
    uint8_t *in, *out;
    size_t   have, sent, to_send, room;     /* of in; of out: gone, to go, bytes that it has */
    bool     dirty;                 /* among those that have something to send */
    struct nload_face *next_dirty;
};

enum nload_state { NLOAD_RESTING, NLOAD_FIRST, NLOAD_OTHERS, NLOAD_OVER };

struct nload_client {
    enum nload_state state;
    struct nload_face *face;
    const struct nload_page *page;  /* open loads: drawn before */
    struct nload_client *next;      /* in its bucket */
    uint64_t key, rng, begun, begun_first, done;
    uint32_t number, status, window;
    struct lab_timer timer;
    struct ndn_fetch fetch;
    struct ndn_asked *places;
    size_t   n;                     /* of name: the page's, then the version's */
    uint8_t  name[NLOAD_NAME_MAX + 32];
};

struct nload_counts {
    uint64_t interests, retransmissions, losses, marks, nacks, segments, bytes, strays, unverified;
    uint64_t failed[NLOAD_ERROR_COUNT];
};

struct nload {
    /* settings */
    enum nload_kind kind;
    double   seconds, warmup, spread, between, rate, low_rate;
    uint64_t seed, think_us, lifetime_ms, serial, requests;
    uint32_t client_count, face_count, spikes, turns;
    struct ndn_fetch_settings window;
    bool     each, realtime, own, even;
    struct sockaddr_storage address;
    socklen_t address_n;
    const char *address_text;
    /* what is asked for */
    struct nload_page *pages;
    uint32_t page_count, kind_count;
    char    *kinds[NLOAD_KINDS_MAX];
    /* at work */
    int      epoll;
    uint64_t now, started;
    uint64_t nonces;                /* their random numbers, of no seed: forwarders remember nonces */
    uint32_t working;               /* clients that are not OVER */
    uint32_t mask;
    struct nload_client *clients, **bucket;
    struct nload_face *faces, *dirty;
    struct lab_timers timers;
    struct nload_counts counts;
    struct nload_done *done;
    size_t   done_count, done_room;
};

void *nload_need(void *p);          /* p; the end of the program if it is NULL */
uint64_t nload_random(uint64_t *state);
double   nload_uniform(uint64_t *state);    /* from 0 to 1 */

/* ndn_load_options.c: fills *l from command line and list of names.  Says what is wrong and ends the program. */
void nload_options(struct nload *l, int argc, char **argv);

/* ndn_load_plan.c: makes clients, and of an open load its requests. */
void nload_plan(struct nload *l);
const struct nload_page *nload_draw(const struct nload *l, uint64_t *rng);

/* ndn_load_face.c */
void nload_faces_open(struct nload *l);     /* waits for them; the end of the program if one can't be */
void nload_face_ready(struct nload *l, struct nload_face *f, uint32_t events);
uint8_t *nload_face_room(struct nload_face *f, size_t n);       /* where n bytes may be put */
void nload_face_put(struct nload *l, struct nload_face *f, size_t n);   /* they are there */
void nload_face_flush(struct nload *l);                         /* sends what all of them have */

/* ndn_load_client.c */
void nload_client_timer(struct nload *l, struct lab_timer *t);
void nload_client_data(struct nload *l, const struct nload_face *f, const struct ndn_data *d, bool marked);
void nload_client_nack(struct nload *l, const struct nload_face *f, const struct ndn_interest *i, uint64_t reason);
void nload_client_fail(struct nload *l, struct nload_client *c, enum nload_error why);

/* ndn_load_report.c: the JSON document. */
void nload_report(struct nload *l, FILE *out);

#endif
