/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_classify.h - whose request is it, and how much will it cost?
 *
 * The class: the environment variable qos-class (SetEnvIf, SetEnvIfExpr) if it names one, else the policy's first
 * match, else the default class.
 * The estimate: what is learnt (pages/pages_learnt.h) or known (pages/pages_known.h) of the URL, else of its pattern,
 * else of its directory (pages/pages_keys.h), for the codings that the client takes; else the class's running mean;
 * else the mean of the paper's pages.  Of that, what the request asks for:  HEAD a header; Range its parts;
 * If-None-Match and If-Modified-Since a header.
 */
#ifndef FAIRGATE_QOS_CLASSIFY_H
#define FAIRGATE_QOS_CLASSIFY_H

#include <stdbool.h>

#include "qos_request.h"

/*
 * 0 for what must not wait: our own and mod_status's pages, which are wanted most when the queues are long.
 */
bool qos_classify_wanted(const request_rec *r);
/* Path and query as the client wrote them; does httpd take %2F for a slash there? */
const char *qos_classify_target(const request_rec *r);
int         qos_classify_slashes(const request_rec *r);
/* Fills q->class, q->rule, q->keys and q->estimate from q->r and q->person. */
void qos_classify(struct qos_request *q);

#endif
