/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_beside.h"

#include "qos_account.h"
#include "qos_exempt.h"
#include "qos_inner.h"
#include "qos_paper.h"
#include "qos_went.h"

#define P qos_process

bool qos_beside_runs(const struct qos_request *q) { return q->beside && !q->beside_over; }

void qos_beside_begin(struct qos_request *q, enum qos_beside beside) {
    q->beside = beside;
    q->outcome = beside == QOS_IS_OBSERVED ? QOS_OBSERVED : beside == QOS_IS_INNER ? QOS_INNER : QOS_EXEMPTED;
    qos_account_watch(q);
    if (beside == QOS_IS_OBSERVED && qos_paper_passes(q)) {
        q->beside_over = 1;
        return;
    }
    q->submitted = shm_now();
    if (beside == QOS_IS_OBSERVED) qos_paper_came(q);
    qos_account_begin(q);
}

/* Its class and its key pay for it without having waited. */
static void charge_exempt(const struct qos_request *q, uint64_t now, uint64_t bytes) {
    uint32_t class = qos_config()->number[q->class];
    uint64_t cost;

    shm_lock(&P.view);
    cost =
        qos_cost_bytes(&P.costs, class, q->outlet, now, bytes) + qos_cost_time(&P.costs, class, q->outlet, q->slot_us);
    if (cost) rs_charge_keyed(P.view.engine, now, class, q->outlet, q->key, cost);
    shm_unlock(&P.view);
}

void qos_beside_end(struct qos_request *q, int whole) {
    uint64_t now = shm_now(), took = now - q->submitted, bytes;

    if (q->beside_over) return;
    q->beside_over = 1;
    q->whole = whole && !q->broken && !q->r->connection->aborted;
    bytes = q->whole ? q->sent : qos_went(q);
    q->slot_us = took > q->idle_us ? took - q->idle_us : 1;
    if (q->beside == QOS_IS_OBSERVED) qos_paper_went(q, now, bytes);
    else if (q->beside == QOS_IS_EXEMPT) charge_exempt(q, now, bytes);
    qos_exempt_leaves(q);
    qos_inner_leaves(q);
}
