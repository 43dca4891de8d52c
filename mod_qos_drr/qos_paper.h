/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_paper.h - the schedule on paper of what QosEngine observe looks at (core/rs_paper.h): where it stands in the
 * segment, and what children tell it.
 *
 *     struct qos_paper | what is counted | rs_paper
 *
 * stands behind the sizes in the gateway's area.  It belongs to one generation of the configuration: the first of its
 * children makes it, and those of another leave it alone.  The segment's lock covers all but what is atomic.  A child
 * that died in it leaves it unfit, and the next one makes it anew: what it said until then is lost, and nothing else.
 *
 * Who looks on must not slow the server down.  All requests are classified and counted, without the lock; on paper come
 * those of a part of the time where they are many (core/rs_paper_part.h).
 */
#ifndef FAIRGATE_QOS_PAPER_H
#define FAIRGATE_QOS_PAPER_H

#include "core/rs_figures_paper.h"
#include "core/rs_paper_part.h"
#include "qos_request.h"

#define QOS_PAPER_RULES 4096u       /* rules that are counted one by one */

struct qos_paper {
    _Atomic uint32_t generation;    /* whose it is; 0: nobody's */
    uint32_t         reclaimed;     /* processes that had ended when somebody last looked */
    _Atomic uint64_t apart_until;   /* till then what comes passes beside it; changed under the lock */
    struct rs_paper_part part;
};

/* Bytes of the area for it, for segments of so many classes, tickets and owners. */
uint64_t qos_paper_bytes(uint32_t classes, uint32_t tickets, uint32_t owners);
/* In a child, when its configuration is in force. */
void     qos_paper_child_init(server_rec *s);

/*
 * Is it one whose page is looked at: which it is, how large and slow that is expected to be, what it teaches?  In a
 * child that observes more than a hundred requests a second, of the rest one of 16; the others are expected to cost
 * what their class does.
 */
bool qos_paper_is_close(const request_rec *r);

/* A request that is observed has come, and the server is through with it. */
void qos_paper_came(struct qos_request *q);
void qos_paper_went(struct qos_request *q, uint64_t now, uint64_t bytes);

/* A look, in `p`; NULL: nothing is observed. */
struct qos_paper_look {
    struct rs_paper_look paper;
    /* most requests first */
    struct qos_paper_rule { uint32_t rule, class; uint64_t requests, bytes; const char *text; } *rules;
    uint32_t nrules, one_in;    /* of as many stretches one is on paper */
};
const struct qos_paper_look *qos_paper_look(apr_pool_t *p);

#endif
