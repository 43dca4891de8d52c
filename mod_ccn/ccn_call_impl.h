/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_call_impl.h - one call that is in work: ccn_call.c has who waits for it and what it waits for, ccn_call_run.c its
 * run.
 */
#ifndef FAIRGATE_CCN_CALL_IMPL_H
#define FAIRGATE_CCN_CALL_IMPL_H

#include <pthread.h>

#include "ccn_call.h"
#include "ccn_class.h"
#include "ccn_threads.h"

struct ccn_call_wait {
    struct ccn_call_wait *next;
    ccn_call_done *done;
    void *of;
    bool alone;
};

struct ccn_call;

/* A parameter that is somewhere else. */
struct ccn_call_gather {
    struct ccn_call *call;
    unsigned param;
};

/* The first member: ccn_threads.h. */
struct ccn_call {
    struct ccn_task task;
    struct ccn_call *next; /* in its bucket */
    bool tabled;
    bool flies;            /* other processes know that it is in work here */
    uint64_t hash[2];      /* by which they do */
    unsigned holders;                  /* the run, and who looks after what takes too long; under `calls` */
    bool runs, slow, told;             /* counted among its service's; is one of its slow ones; its callers know */
    struct ccn_call *awaiting; /* the next one that waits for another process */
    uint64_t until;        /* and how long it does */
    uint64_t came_us;      /* since 1970: when the last of those who wait came; under `calls`, like: */
    bool fresh;            /* one of them takes no result that is kept */
    struct service_bound bound;
    struct ccn_call_wait *waits, **waits_end;
    unsigned nwaits;
    unsigned missing;                               /* parameters that are not there yet */
    struct ccn_result *content[SERVICE_PARAMS_MAX]; /* of those that were somewhere else */
    json_t *values[SERVICE_PARAMS_MAX];             /* of the others */
    struct service_problem problem;
    struct ccn_class class;
    char *url;
    uint64_t submitted;
    unsigned deep;
    enum service_over over;
    uint32_t whose;
    struct ccn_call_gather gathers[SERVICE_PARAMS_MAX];
};


/* Its turn has come, or will not: what threads are told. */
extern const struct ccn_task_kind ccn_call_kind;

/* Covers the table, who waits, and what services have in work. */
extern pthread_mutex_t ccn_calls;

/* All who wait get it.  `r` is taken. */
void ccn_call_tell(struct ccn_call *c, struct ccn_result *r);
void ccn_call_release(struct ccn_call *c);
/* The same, and the call is no more. */
void ccn_call_finish(struct ccn_call *c, struct ccn_result *r);
void ccn_call_fail(struct ccn_call *c, enum service_problem_kind kind, const char *detail);

/* ccn_call_slow.c: it is queued, or waits for its service; it will run no more; those that have waited too long. */
void ccn_call_enter(struct ccn_call *c);
void ccn_call_leave(struct ccn_call *c);
void ccn_call_drop_late(uint64_t now);
/* For ccn_turns.h. */
enum ccn_slow ccn_call_slow(struct ccn_task *t, uint64_t ran);
bool ccn_call_hold(struct ccn_task *t);
void ccn_call_late_run(struct ccn_task *t);

#endif
