/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim_events.h"

#include <assert.h>
#include <stdlib.h>

static int before(const struct sim_event *a, const struct sim_event *b) {
    return a->key < b->key || (a->key == b->key && a->order < b->order);
}

void sim_events_add(struct sim_events *q, double key, uint32_t kind, uint32_t index, uint32_t serial) {
    if (q->count == q->room) {
        q->room = q->room ? q->room * 2 : 256;
        q->heap = realloc(q->heap, q->room * sizeof *q->heap);
        assert(q->heap);
    }
    struct sim_event e = { .key = key, .order = q->added++, .kind = kind, .index = index, .serial = serial };
    size_t i = q->count++;
    for (; i > 0 && before(&e, &q->heap[(i - 1) / 2]); i = (i - 1) / 2) q->heap[i] = q->heap[(i - 1) / 2];
    q->heap[i] = e;
}

double sim_events_next(const struct sim_events *q) { return q->count ? q->heap[0].key : SIM_NEVER; }

int sim_events_take(struct sim_events *q, double until, struct sim_event *out) {
    if (q->count == 0 || q->heap[0].key > until) return 0;
    *out = q->heap[0];
    struct sim_event last = q->heap[--q->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < q->count; i = child) {
        if (child + 1 < q->count && before(&q->heap[child + 1], &q->heap[child])) child++;
        if (!before(&q->heap[child], &last)) break;
        q->heap[i] = q->heap[child];
    }
    q->heap[i] = last;
    return 1;
}

void sim_events_free(struct sim_events *q) {
    free(q->heap);
    *q = (struct sim_events){ 0 };
}
