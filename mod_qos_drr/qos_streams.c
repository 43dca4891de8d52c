/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_streams.h"

/* Who was woken to take over and was about to sleep just then sleeps no longer than this. */
#define OTHERS_US 1000000u

#define P qos_process

static struct {
    pthread_mutex_t lock;
    struct qos_request *first, *looks;
} waiting = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void wake(const struct qos_request *q) { base_futex_wake(&P.view.rows[rs_ticket_index(q->ticket)].go); }

void qos_streams_enter(struct qos_request *q) {
    pthread_mutex_lock(&waiting.lock);
    q->next = waiting.first;
    q->before = &waiting.first;
    if (q->next) q->next->before = &q->next;
    waiting.first = q;
    pthread_mutex_unlock(&waiting.lock);
}

uint64_t qos_streams_look(struct qos_request *q) {
    int mine;

    pthread_mutex_lock(&waiting.lock);
    if (!waiting.looks) waiting.looks = q;
    mine = waiting.looks == q;
    for (struct qos_request *s = mine ? waiting.first : NULL; s; s = s->next)
        if (s != q && s->r->connection->aborted) wake(s);
    pthread_mutex_unlock(&waiting.lock);
    return mine ? QOS_STREAM_TICK_US : OTHERS_US;
}

void qos_streams_leave(struct qos_request *q) {
    pthread_mutex_lock(&waiting.lock);
    *q->before = q->next;
    if (q->next) q->next->before = q->before;
    if (waiting.looks == q) waiting.looks = NULL;
    /* Also when it was woken to take over and found its own wait over. */
    if (!waiting.looks && waiting.first) wake(waiting.first);
    pthread_mutex_unlock(&waiting.lock);
}
