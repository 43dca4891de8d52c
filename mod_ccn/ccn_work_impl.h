/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_work_impl.h - one page or result that is wanted: ccn_work.c has the table of all of them, and pages;
 * ccn_work_call.c has results of calls.
 */
#ifndef FAIRGATE_CCN_WORK_IMPL_H
#define FAIRGATE_CCN_WORK_IMPL_H

#include "ccn_answer.h"
#include "ccn_class.h"
#include "ccn_results.h"
#include "ccn_threads.h"
#include "ccn_work.h"

/* The first member: ccn_threads.h. */
struct ccn_work {
    struct ccn_task task;
    struct ccn_work *next; /* in its bucket */
    struct ccn_store_id id;
    struct ccn_waiter *waiters;
    uint32_t nwaiters;
    struct ccn_face *face; /* of the first Interest: the page is made as for that face */
    struct ccn_class class;
    uint64_t submitted;
    struct ndn_name page; /* in bytes[] */
    struct ndn_span digest;
    bool sealed; /* for this key */
    uint8_t key[NDN_SEAL_KEY];
    bool is_segment; /* CcnScheduler fifo; of_call: a segment of a result that has to be signed */
    struct ccn_store_id kept;
    uint32_t segment;
    bool of_call;              /* the result of a call, or a listing */
    bool shared;               /* by all callers (ccn_object.h) */
    bool lost;                 /* what was kept is not any more: the service runs */
    unsigned way;              /* in which the first Interest asks (ccn_answer.h) */
    struct ccn_result *result; /* NULL: the one that is kept */
    char *call_key;            /* under this; of these times */
    uint64_t at_us, fresh_us;
    char *url, *fields, *signer; /* in bytes[]; the latter two may be NULL */
    uint8_t bytes[];
};

const struct ndn_key *ccn_work_key(struct ccn_face *f); /* the key that signs for that face */
void ccn_work_free(struct ccn_work *w);
/* Takes it out of the table, so that later Interests do not join it; returns its waiters, which are the caller's. */
struct ccn_waiter *ccn_work_take(struct ccn_work *w);
/* Answers all waiters with a sentence. */
void ccn_work_refuse(struct ccn_work *w, int status, const char *why);
/* Queues it; if the queue refuses it, its waiters are answered 503 and it is freed. */
void ccn_work_submit(struct ccn_work *w);
/* True if one of its waiters asks for metadata. */
bool ccn_work_has_metadata(struct ccn_work *w);
/* Calls the service, or finds that a result is kept: ccn_work_called or ccn_work_kept follows. */
void ccn_work_call(struct ccn_work *w);

/* ---- ccn_work_call.c --------------------------------------------------------------------------------------------- */

/* For ccn_call.h. */
void ccn_work_called(void *of, struct ccn_result *r);
bool ccn_work_kept(void *of, const char *key, uint64_t at_us, uint64_t fresh_us);
/* Answers with the listing of services, or queues that. */
void ccn_work_list(struct ccn_work *w);
/* In a service thread.  Returns the work that it was; *lost: the caller calls the service again. */
uint64_t ccn_work_run_call(struct ccn_work *w, bool *lost);
void ccn_work_run_segment(struct ccn_work *w);

#endif
