/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_streams.h"

/* Who was woken to take over and was about to sleep just then sleeps no longer than this. */
#define OTHERS_US 1000000u

#define P qos_process

static struct {
    pthread_mutex_t lock;
    struct qos_request *first, *looks;
    /* connections with streams that wait: of each class, and beyond what is kept for it; for each outlet; all */
    uint32_t *connections, pooled, at[QOS_OUTLETS], all;
} waiting = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void wake(const struct qos_request *q) { base_futex_wake(&P.view.rows[rs_ticket_index(q->ticket)].go); }

void qos_streams_child_init(apr_pool_t *pchild) {
    waiting.connections = apr_pcalloc(pchild, qos_config()->nclasses * sizeof *waiting.connections);
}

/* NULL before anything was written to it, and nothing is counted then. */
static struct qos_conn *streams_wire(const struct qos_request *q) {
    return ap_get_module_config(q->r->connection->master->conn_config, &qos_drr_module);
}

/* As for threads that wait elsewhere (qos_hold.c), by the outlet of the first stream of a connection. */
static bool leaves_threads(uint32_t outlet, uint32_t spare) {
    uint32_t here = waiting.at[outlet];

    return !qos_config()->outlets.n || !here || here < (spare > waiting.all ? spare - waiting.all : 0);
}

static bool take_thread(const struct qos_request *q, struct qos_conn *wire, struct qos_bound bound) {
    if (wire->streams++) return true;
    wire->class = q->class;
    wire->outlet = q->outlet % QOS_OUTLETS;
    wire->pooled = waiting.connections[q->class] >= bound.own;
    if ((wire->pooled && waiting.pooled + (waiting.connections[q->class] - bound.own) >= bound.pool) ||
        !leaves_threads(wire->outlet, bound.spare)) {
        wire->streams = 0;
        return false;
    }
    waiting.at[wire->outlet]++;
    waiting.all++;
    waiting.connections[q->class]++;
    waiting.pooled += wire->pooled;
    return true;
}

static void give_thread(struct qos_conn *wire) {
    if (--wire->streams) return;
    waiting.at[wire->outlet]--;
    waiting.all--;
    waiting.connections[wire->class]--;
    waiting.pooled -= wire->pooled;
}

bool qos_streams_enter(struct qos_request *q, struct qos_bound bound) {
    struct qos_conn *wire = streams_wire(q);
    bool may;

    pthread_mutex_lock(&waiting.lock);
    may = !wire || take_thread(q, wire, bound);
    if (!may) {
        pthread_mutex_unlock(&waiting.lock);
        return false;
    }
    q->wire = wire;
    q->next = waiting.first;
    q->before = &waiting.first;
    if (q->next) q->next->before = &q->next;
    waiting.first = q;
    pthread_mutex_unlock(&waiting.lock);
    return true;
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
    if (q->wire) give_thread(q->wire);
    *q->before = q->next;
    if (q->next) q->next->before = q->before;
    if (waiting.looks == q) waiting.looks = NULL;
    /* Also when it was woken to take over and found its own wait over. */
    if (!waiting.looks && waiting.first) wake(waiting.first);
    pthread_mutex_unlock(&waiting.lock);
}
