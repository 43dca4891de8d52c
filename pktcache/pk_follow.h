/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_follow.h - a connection as the parent follows it, so that pk_http gets the bytes of both directions in their
 * order.
 *
 *     LOST       Something is missing, or is no HTTP: nothing of it is kept.  A connection that was there before us
 *                begins so.
 *     JOINING    A request stands alone at the beginning of a segment, and its client has acknowledged all that the
 *                server has sent: the next byte of the server begins the response.  What was said before is not known:
 *                there may have been an Authorization.
 *     FOLLOWED   From a SYN on, or from the response that was joined.
 *
 * Whoever calls has the pieces of the server in order (pk_flow_ahead, pk_reorder.h), as far as that can be had.
 */
#ifndef FAIRGATE_PK_FOLLOW_H
#define FAIRGATE_PK_FOLLOW_H

#include "pk_config.h"
#include "pk_cut.h"
#include "pk_flows.h"
#include "pk_told.h"

struct pk_follow {
    struct pk_flow flow;
    struct pk_http http;
    struct pk_cut  cut;             /* the parent's */
    struct pk_told_flow told;       /* the parent's: which of its bytes belong to blocks that are new */
    uint32_t       from;            /* JOINING: where the response begins */
    uint32_t       ask_next;        /* behind what was seen of the client */
    bool           ask_known, joining;
    bool           lost, tls;       /* was counted; and is TLS; the caller's, */
    bool           bypassed;        /* as this is: it need not come any more */
};

/* A piece from the client.  Only those with a SYN or payload say anything. */
void pk_follow_request(struct pk_follow *f, const struct pk_packet *k);

/*
 * A piece from the server.  Whether its payload is new and the next of its flow, so that pk_follow_keep is to be
 * called.
 */
bool pk_follow_response(struct pk_follow *f, const struct pk_packet *k);

/*
 * Which of its segments, at most PK_SEGMENTS_MAX, may be kept, each by itself; how many.  What else may be kept are
 * spans: in mode train, and of HTTP only.
 */
uint32_t pk_follow_keep(struct pk_follow *f, const struct pk_packet *k, const struct pk_config *c, bool *keep,
                        struct pk_spans *spans);

static inline bool pk_follow_lost(const struct pk_follow *f) { return pk_http_lost(&f->http); }

#endif
