/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_lp.h - NDNLPv2: what forwarders put around packets on a link.
 *
 * Bare Interests and Data are right in both directions.  Fragments of packets are not put together: links that are
 * streams carry packets whole, and over datagrams nothing of ours is spoken to.
 */
#ifndef FAIRGATE_NDN_LP_H
#define FAIRGATE_NDN_LP_H

#include "ndn_tlv.h"

#define NDN_PIT_TOKEN_MAX 32u
#define NDN_LP_HEAD_MAX   64u           /* bytes that ndn_lp_head writes, at most */

enum ndn_nack { NDN_NACK_CONGESTION = 50, NDN_NACK_DUPLICATE = 100, NDN_NACK_NO_ROUTE = 150 };

struct ndn_lp {
    struct ndn_span fragment;           /* an Interest or Data; n = 0: an idle packet, which says nothing */
    struct ndn_span pit_token;          /* n = 0: none; what answers has the same */
    bool            nack;               /* the Interest in `fragment` is refused */
    uint64_t        nack_reason;        /* 0: not said */
    uint64_t        congestion_mark;    /* 0: none */
};

/* `packet`: one whole element.  NULL, or a static sentence: what is wrong, and it is to be passed over. */
const char *ndn_lp_read(struct ndn_span packet, struct ndn_lp *lp);

/*
 * All that stands before a packet of `n` bytes with that token (n = 0: none) and mark (0: none); nothing if it has
 * neither.  Bytes written to `out`, NDN_LP_HEAD_MAX at most.
 */
size_t ndn_lp_head(struct ndn_span pit_token, uint64_t congestion_mark, size_t n, uint8_t out[NDN_LP_HEAD_MAX]);
/* A Nack of that Interest, whole.  Bytes written; 0: no room. */
size_t ndn_lp_nack(struct ndn_span pit_token, enum ndn_nack reason, struct ndn_span interest, void *out, size_t room);

#endif
