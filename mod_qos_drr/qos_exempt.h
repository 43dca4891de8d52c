/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_exempt.h - what is never kept waiting and never refused (QosExempt, <exempt>): health checks, the challenges by
 * which certificates are had, sign-in pages.
 *
 * No hole: so many of them may be at the server at one time (QosExempt limit=N), and one more is scheduled as the
 * class that it would have.  What they cost is charged to that class all the same.  A request has no place before the
 * first bytes of its body come (qos_body.c).
 *
 * Places are words in the segment, each with the process that has it and its row of owners[]: one whose process has
 * ended is free.  What another process writes there can give a place to who has none, or take it, and nothing else.
 */
#ifndef FAIRGATE_QOS_EXEMPT_H
#define FAIRGATE_QOS_EXEMPT_H

#include <httpd.h>
#include <http_config.h>

#include "policy/policy_exempt.h"

#define QOS_EXEMPT_MOST  POLICY_EXEMPT_LIMIT_MAX
#define QOS_EXEMPT_USUAL 8

/* What directives and the policy's <exempt> say counts alike; the limit is the directive's, if it says one. */
struct qos_exempt {
    struct policy_exempt       *said;           /* NULL: none */
    const struct policy_exempt *in_policy;      /* NULL: none */
    int                         most;           /* at one time; 0 until all is read: not said */
};

/* In the gateway's area of the segment. */
struct qos_exempt_places {
    _Atomic uint64_t holder[QOS_EXEMPT_MOST];   /* pid << 32 | 1 + row; 0: nobody */
    _Atomic uint64_t passed, beyond;            /* requests that had a place, and that found none */
};

struct qos_request;

/* The directive: "limit=N"; "method NAME..."; "path PREFIX"; "address CIDR".  NULL, or what is wrong. */
const char *qos_exempt_set(cmd_parms *cmd, void *dir, int argc, char *const argv[]);
/* When all is read.  0, or -1 and *why. */
int         qos_exempt_finish(struct qos_exempt *e, const policy_t *policy, const char **why);
/* 1: q is exempt and has a place, q->exempt. */
int         qos_exempt_takes(struct qos_request *q);
void        qos_exempt_leaves(struct qos_request *q);
/* Its body has come, for which it left its place: one again, or false after a second; then it is to be refused. */
bool        qos_exempt_again(struct qos_request *q);

#endif
