/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_answer.h - who waits for a page, and what they get when it is there.
 */
#ifndef FAIRGATE_CCN_ANSWER_H
#define FAIRGATE_CCN_ANSWER_H

#include "ccn_cut.h"
#include "ccn_face.h"

/* An Interest that has no answer yet; holds its face. */
struct ccn_waiter {
    struct ccn_waiter *next;
    struct ccn_face   *face;
    struct ccn_token   token;
    bool               metadata, exact; /* how it asks: for the page's metadata; under just that name */
    uint64_t           deadline;
};

/* `w`: NULL for a segment.  NULL: no memory. */
struct ccn_waiter    *ccn_waiter_new(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_wanted *w,
                                     const struct ccn_token *t);
void                  ccn_waiter_free(struct ccn_waiter *w);
void                  ccn_waiters_free(struct ccn_waiter *all);
const struct ndn_key *ccn_waiter_key(const struct ccn_waiter *w);   /* what its answer is signed with */

/* What all who wait for one page get: the page as it was cut, or a sentence in its place. */
struct ccn_answer {
    struct ndn_name        page;
    struct ndn_span        digest;      /* of the Interest's parameters; n = 0: none */
    const struct ccn_made *made;        /* with `cut` */
    const struct ccn_cut  *cut;         /* NULL: there is only the sentence */
    int                    status;
    const char            *why;
};

/* In how many ways an Interest may ask for a page: for its metadata or not, under just that name or not. */
#define CCN_WAYS 4u
unsigned ccn_waiter_way(const struct ccn_waiter *w);

/*
 * The Data for one of them, where made->body is the first segment's content alone; its bytes, 0: there is none.
 */
size_t ccn_answer_make(const struct ccn_answer *r, const struct ccn_waiter *w, uint8_t bytes[NDN_PACKET_MAX]);
/* Those who asked in the same way get the same Data, which is made and signed once.  Frees them. */
void ccn_answer_all(const struct ccn_answer *r, struct ccn_waiter *all);

#endif
