/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_host.h - a host of the engine in simulated time: clients in front, a server behind, and what the clients saw.
 *
 * It holds requests and calls rs_* as httpd or Squid would: submit on arrival, pick after every change, header,
 * progress as bytes come, finish; reclaim when an owner dies.  sim_run makes an engine, runs it from 0 to setup.until,
 * and checks rs_check at the end and every setup.check_every seconds; a broken invariant ends the program with its
 * sentence.
 *
 * Everything counted begins at setup.warm.  Shares are of the bytes that clients received.
 */
#ifndef FAIRGATE_SIM_HOST_H
#define FAIRGATE_SIM_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "rs.h"
#include "sim_rng.h"
#include "sim_server.h"

/*
 * `bytes` each; lognormal pages (sim_rng_page); `bytes`, but one of twenty is `large`; lognormal pages out of a deck
 * (sim_rng_deck), each once before any comes again: their mean needs no long run
 */
enum sim_size { SIM_FIXED, SIM_PAGES, SIM_TWO, SIM_DECK };

enum sim_estimate {
    SIM_EXACT,      /* a page-size table that is right */
    SIM_MEAN,       /* a page never seen: the mean of the class's responses so far */
    SIM_WRONG       /* the size times a factor e^(normal x spread) of its own */
};

struct sim_class {
    const char       *name;
    uint32_t          weight;           /* 0 is taken as 1 */
    uint32_t          level;
    enum rs_order     order;
    uint32_t          wait_bound_ms;    /* of RS_ORDER_SHORTEST; 0 = none */
    uint32_t          slots;            /* at the server at one time; 0 = no bound */
    uint32_t          clients;          /* closed loop: each asks, receives, thinks, asks again */
    double            think;            /* seconds, exponential; 0 = at once */
    uint32_t          slow;             /* the last so many clients ask for `large` each time, and at once */
    double            arrivals;         /* open loop: requests a second besides, Poisson */
    double            step_at, step_to; /* from step_at on (0: never) so many arrivals instead */
    uint32_t          delay_ms;         /* who is refused by it asks again a second later, if it is a client */
    enum sim_size     size;
    double            bytes, large;
    enum sim_estimate estimate;
    double            spread;           /* of SIM_WRONG */
    int               length_hidden;    /* no Content-Length: rs_header is never called */
    int               timed;            /* what is counted is microseconds: a worker takes so long for a response */
    int               slot_timed;       /* the engine is charged what a slot was held for, as by mod_qos_drr */
    double            pause_from, pause_to;     /* asks nothing in between */
    /*
     * A client gives up a request after so many seconds, exponential (0 = never), and asks again.  One that waits is
     * cancelled then.  One that was released is aborted when the server has made it: that is when a handler sees it.
     */
    double            patience;
    /* With a server of workers: its client reads slowly, and is parked for the last so many seconds of each response */
    double            reading;
    uint32_t          within;           /* levels of keys that share it */
    /* whose a request is: the client's number in its class (UINT32_MAX: open loop), and how many it had before */
    void            (*key)(uint32_t client, uint32_t asked, uint64_t key[RS_KEY_LEVELS]);
};

struct sim_job;

struct sim_setup {
    struct rs_settings      settings;
    const struct sim_class *classes;
    uint32_t                nclasses;
    struct sim_server      *server;     /* not owned */
    uint64_t                seed;
    double                  warm, until;
    double                  bin;        /* seconds of a bin for sim_jain; 0 = no bins */
    double                  check_every;    /* 0 = at the end only */
    uint32_t                owners;     /* processes that hold the clients; 0 = 1 */
    double                  hook_every; /* hook is called so often, in seconds */
    void                  (*hook)(struct sim *sim, void *arg);
    /* NULL, or: one was released, or refused since its queue stands, after so many seconds */
    void                  (*left_queue)(const struct sim *sim, uint32_t of_class, double waited, bool refused,
                                        void *arg);
    /* NULL, or: the whole of a response has come, so many seconds after it was asked for */
    void                  (*ended)(const struct sim_job *j, double took, void *arg);
    void                   *arg;
};

struct sim_class_result {
    uint64_t bytes, responses;
    double   share;             /* of all bytes, 0 .. 1 */
    double   time_sum, time_max;    /* of the whole responses: submit to end, seconds */
    double   gap_max;           /* longest time without a byte while it waited for some */
};

struct sim_client_result { uint64_t bytes, responses; double time_sum, time_max; };

struct sim_result {
    struct sim_class_result *classes;   /* nclasses */
    struct sim_client_result *clients;  /* of closed loops: those of the first class, of the second, and so on */
    uint32_t  nclasses, bins;
    uint64_t *bin_bytes;        /* bins x nclasses: whole bins after warm */
    uint64_t  bytes, responses;
    double    rate;             /* bytes a second */
    double    time_mean;        /* seconds, all responses */
    double    window_mean;      /* of the gate, over time */
    uint32_t  window_last;
    double    outstanding_mean; /* responses, over time */
    struct rs_counts counts;    /* of the engine, from 0 */
};

struct sim_job {
    rs_ticket_t ticket;         /* RS_NO_TICKET: free */
    uint32_t    index, serial, class, client, owner;
    uint64_t    size, unread, received;
    double      work;           /* seconds of a worker; 0 = the server's own figure */
    double      submitted, released;
    uint8_t     sent;           /* the server has no more of it */
    uint8_t     parked, given_up;
};

struct sim_result sim_run(const struct sim_setup *setup);
void              sim_result_free(struct sim_result *r);

/*
 * Jain's index of the classes' bytes over their weights, mean over the bins; 1 = all classes have just their share in
 * every bin.
 */
double sim_jain(const struct sim_result *r, const struct sim_class *classes);

/* For hooks. */
double       sim_now(const struct sim *sim);
rs_engine_t *sim_engine(struct sim *sim);
/* one request besides, by nobody's client */
void         sim_ask(struct sim *sim, uint32_t of_class, uint64_t bytes, uint64_t estimate);
/* its requests are lost; its clients ask again through the others */
void         sim_kill(struct sim *sim, uint32_t owner);

/* For servers.  The job may be gone after sim_on_end.  sim_on_begin: a worker has begun it, for so many seconds. */
void sim_on_begin(struct sim *sim, struct sim_job *j, double seconds);
void sim_on_header(struct sim *sim, struct sim_job *j);
void sim_on_bytes(struct sim *sim, struct sim_job *j, uint64_t bytes);
void sim_on_end(struct sim *sim, struct sim_job *j);
struct sim_job *sim_job_at(struct sim *sim, uint32_t index, uint32_t serial);  /* NULL when that job has ended */
uint64_t sim_allowance(struct sim *sim, const struct sim_job *j);       /* rs_allowance */

#endif
