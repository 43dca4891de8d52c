/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_queue.h - the requests of one class that wait at one outlet, and who of them goes next.
 *
 * Always a list in order of arrival; for RS_ORDER_SHORTEST size buckets beside it.  flow->best is who goes next by the class's order; with a
 * waiting bound rs_queue_next may name the oldest instead, which schedulers that looked at best's size make good through the account.
 */
#ifndef FAIRGATE_CLASS_QUEUE_H
#define FAIRGATE_CLASS_QUEUE_H

#include "base_block.h"

void     rs_queue_clear(struct rs_flow *f);
void     rs_queue_push(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t);      /* newest by seq */
void     rs_queue_remove(const rs_engine_t *e, const struct rs_outlet *o, struct rs_flow *f, uint32_t t);
uint32_t rs_queue_next(const rs_engine_t *e, const struct rs_flow *f, uint32_t wait_bound_ms, rs_time_t now);
const char *rs_queue_check(const rs_engine_t *e, const struct rs_outlet *o, uint32_t class);

#endif
