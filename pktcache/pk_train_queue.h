/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_train_queue.h - trains (pk_train.h) that wait at the parent for more of their flow, one of a flow at most.  A
 * train leaves when it is full, when it has waited for `hold`, when its flow says so, or when another one needs its
 * place.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_TRAIN_QUEUE_H
#define FAIRGATE_PK_TRAIN_QUEUE_H

#include "pk_config.h"
#include "pk_flows.h"
#include "pk_session.h"
#include "pk_train.h"

typedef struct pk_train_queue pk_train_queue_t;

/*
 * A train leaves.  Its bytes stand behind PK_SEAL_HEAD bytes of room, with PK_SEAL_TAG behind them.  f: its flow, or
 * NULL if that is gone.  told: it tells what follows it, so it must go before that.
 */
typedef void pk_train_leaves(void *context, const struct pk_train *t, struct pk_flow *f, bool told, uint64_t now);

/* room: bytes of what is sealed, so that the datagram fits the link.  NULL: no memory. */
pk_train_queue_t *pk_train_queue_make(const struct pk_config *c, size_t room, pk_train_leaves *leave, void *context);
void     pk_train_queue_free(pk_train_queue_t **q);

/* Segments that follow each other, with the header of the first; flags: of the last one, which has `last` bytes. */
void pk_train_queue_tokens(pk_train_queue_t *q, struct pk_flow *f, struct pk_head h, const struct pk_fingerprint *fps,
                           uint32_t count, uint32_t segment, uint32_t last, uint8_t flags, uint64_t now);
/* false: it is too long for any train; the flow's has left. */
bool pk_train_queue_literal(pk_train_queue_t *q, struct pk_flow *f, const struct pk_head *h, const void *bytes,
                            uint32_t n, uint8_t flags, uint64_t now);
/* Segments that follow each other, `at` in the payload that has these parts; how many went, the others are too long. */
uint32_t pk_train_queue_parts(pk_train_queue_t *q, struct pk_flow *f, struct pk_head h, const uint8_t *payload,
                              const struct pk_parts *parts, uint32_t at, uint32_t count, uint32_t segment,
                              uint32_t last, uint8_t flags, uint64_t now);
/* Tells the child what of the n bytes that follow is KEPT, and leaves. */
void pk_train_queue_gather(pk_train_queue_t *q, struct pk_flow *f, const struct pk_head *h,
                           const struct pk_parts *parts, uint32_t at, uint32_t n, uint64_t now);
/* Tells the child to store the n bytes that follow, each segment by itself, and leaves. */
void pk_train_queue_announce(pk_train_queue_t *q, struct pk_flow *f, const struct pk_head *h, uint32_t n, uint64_t now);

void     pk_train_queue_leave(pk_train_queue_t *q, struct pk_flow *f, uint64_t now);    /* the flow's, if it has one */
/* f is gone; its train goes on without it */
void     pk_train_queue_forget(pk_train_queue_t *q, struct pk_flow *f);
uint64_t pk_train_queue_due(const pk_train_queue_t *q);
void     pk_train_queue_tick(pk_train_queue_t *q, uint64_t now);

#endif
