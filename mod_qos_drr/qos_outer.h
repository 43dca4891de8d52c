/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_outer.h - the field Fairgate-Outer: it names the request for which a gateway sends another one.
 *
 * A gateway adds a token to each request that it proxies by HTTP.  If the request comes back to the same gateway, by
 * whatever way, the token shows that its outer request has a slot already (qos_inner.h).
 *
 *     Fairgate-Outer: TOKEN *( "," TOKEN )
 *     TOKEN           34 hexadecimal digits: the outer request's ticket (16), how many times this gateway has sent the
 *                     request on (2), SipHash of both by a secret of the segment (16)
 *
 * TRUST.  Clients may send any text.  A gateway believes a token if its own secret made it, and only while the ticket
 * in it has a slot: an echoed token is void when its request ends, and excuses few requests until then (qos_inner.h).
 * Tokens of other gateways look the same; this one can't verify them and passes them on, at most QOS_OUTER_OTHERS, so
 * that a chain of gateways works.
 *
 * Knows no httpd.
 */
#ifndef FAIRGATE_QOS_OUTER_H
#define FAIRGATE_QOS_OUTER_H

#include <stddef.h>
#include <stdint.h>

#include "core/rs.h"

#define QOS_OUTER_FIELD  "Fairgate-Outer"
#define QOS_OUTER_TOKEN  34u
#define QOS_OUTER_OTHERS 4u
#define QOS_OUTER_TEXT   (QOS_OUTER_OTHERS * (QOS_OUTER_TOKEN + 1) + 1) /* of those, with commas and a NUL */

struct qos_outer {
    rs_ticket_t ticket; /* RS_NO_TICKET: the field names none of ours */
    uint32_t depth;     /* times that this gateway has sent the request on */
};

/* A token and a NUL. */
void qos_outer_write(const uint64_t key[2], struct qos_outer outer, char text[QOS_OUTER_TOKEN + 1]);
/*
 * value: any n bytes.  The deepest token that `key` made; *others receives the well-formed rest, separated by commas.
 */
struct qos_outer qos_outer_read(const uint64_t key[2], const char *value, size_t n, char others[QOS_OUTER_TEXT]);

#endif
