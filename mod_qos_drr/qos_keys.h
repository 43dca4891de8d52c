/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_keys.h - whose part of its class is a request of?  The keys that share a class (core/class_keys.h).
 *
 * A level of keys is the client's address, of which so many bits count, the visitor (qos_visitor.h), or the text that
 * an expression of httpd gives for a request.  What it gives is hashed with the segment's secret, the same as that of
 * pages: nobody aims at a row.
 *
 * Where an expression gives nothing, a cookie that is not there, or the visitor is not known, the client's address
 * stands for it, or all who have none would be one.  Of an expression on the first of two levels they are one: of a
 * network that nobody knows only the addresses can tell who is who, and that is what the second is for.
 */
#ifndef FAIRGATE_QOS_KEYS_H
#define FAIRGATE_QOS_KEYS_H

#include <httpd.h>
#include <ap_expr.h>
#include <http_config.h>

#include "core/rs.h"
#include "policy/policy.h"

struct qos_request;

/* Of one class; in pconf. */
struct qos_keys {
    uint32_t levels;
    struct {
        const ap_expr_info_t *expr;     /* NULL: the client's address, or the visitor */
        struct policy_within  address;  /* how much of it counts */
    } level[RS_KEY_LEVELS];
};

/* One more level, as it stands behind within= in a directive.  NULL, or a sentence. */
const char *qos_keys_add(struct qos_keys *k, cmd_parms *cmd, const char *text);

/* q->key by the levels of q->class. */
void qos_keys_of(struct qos_request *q);

#endif
