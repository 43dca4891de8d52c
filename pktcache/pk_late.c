/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_late.h"

#include "pk_memory.h"

#include <assert.h>
#include <string.h>

enum { LATE_MAGIC = 0x504b4c54, PLACES = 64 };

struct pk_late {
    unsigned          magic;
    unsigned          n;
    uint8_t           order[PLACES];        /* first the places of those that wait, as they came, then those that are free */
    struct pk_waiting place[PLACES];
};

pk_late_t *pk_late_make(void) {
    pk_late_t *l = pk_memory(sizeof *l);
    if (!l) return NULL;
    l->magic = LATE_MAGIC;
    for (uint8_t i = 0; i < PLACES; i++) l->order[i] = i;
    return l;
}

void pk_late_free(pk_late_t **late) {
    pk_late_t *l = *late;
    *late = NULL;
    if (!l) return;
    assert(l->magic == LATE_MAGIC);
    free(l);
}

bool pk_late_add(pk_late_t *l, const struct pk_tuple *tuple, uint32_t seq, bool train, const void *bytes, size_t n, uint64_t now) {
    struct pk_waiting *p;

    assert(l->magic == LATE_MAGIC);
    if (l->n == PLACES || n > sizeof p->bytes) return false;
    p = l->place + l->order[l->n++];
    p->tuple = *tuple;
    p->seq = seq;
    p->train = train;
    p->until = now + PK_LATE_MOST;
    p->n = (uint32_t)n;
    memcpy(p->bytes, bytes, n);
    return true;
}

static bool has_its_turn(const struct pk_waiting *p, pk_flows_t *flows) {
    const struct pk_flow *f = pk_flows_find(flows, &p->tuple);
    return !f || !pk_flow_ahead(f, p->seq);
}

struct pk_waiting *pk_late_take(pk_late_t *l, uint64_t now, pk_flows_t *flows) {
    assert(l->magic == LATE_MAGIC);
    for (unsigned i = 0; i < l->n; i++) {
        uint8_t k = l->order[i];
        struct pk_waiting *p = l->place + k;
        if (p->until > now && !has_its_turn(p, flows)) continue;
        l->n--;
        memmove(l->order + i, l->order + i + 1, PLACES - 1 - i);
        l->order[PLACES - 1] = k;       /* the last of the free ones to be used again */
        return p;
    }
    return NULL;
}

uint64_t pk_late_due(const pk_late_t *l) { return l->n ? l->place[l->order[0]].until : UINT64_MAX; }
