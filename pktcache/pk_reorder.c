/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_reorder.h"

#include "pk_memory.h"

#include <assert.h>
#include <string.h>

enum { REORDER_MAGIC = 0x504b4c54, PLACES = 64 };

struct pk_reorder {
    unsigned magic;
    unsigned n;
    /* first the places of those that wait, as they came, then those that are free */
    uint8_t order[PLACES];
    struct pk_waiting place[PLACES];
};

pk_reorder_t *pk_reorder_make(void) {
    pk_reorder_t *r = pk_memory(sizeof *r);
    if (!r) return NULL;
    r->magic = REORDER_MAGIC;
    for (uint8_t i = 0; i < PLACES; i++) r->order[i] = i;
    return r;
}

void pk_reorder_free(pk_reorder_t **reorder) {
    pk_reorder_t *r = *reorder;
    *reorder = NULL;
    if (!r) return;
    assert(r->magic == REORDER_MAGIC);
    free(r);
}

struct pk_waiting *pk_reorder_add(pk_reorder_t *r, const struct pk_tuple *tuple, uint32_t seq, const void *bytes,
                                  size_t n, uint64_t now) {
    struct pk_waiting *p;

    assert(r->magic == REORDER_MAGIC);
    if (r->n == PLACES || n > sizeof p->bytes) return NULL;
    p = r->place + r->order[r->n++];
    p->tuple = *tuple;
    p->seq = seq;
    p->train = false;
    p->tos = 0;
    p->until = now + PK_REORDER_MOST;
    p->n = (uint32_t)n;
    memcpy(p->bytes, bytes, n);
    return p;
}

static bool has_its_turn(const struct pk_waiting *p, pk_flows_t *flows) {
    const struct pk_flow *f = pk_flows_find(flows, &p->tuple);
    return !f || !pk_flow_ahead(f, p->seq);
}

struct pk_waiting *pk_reorder_take(pk_reorder_t *r, uint64_t now, pk_flows_t *flows) {
    assert(r->magic == REORDER_MAGIC);
    for (unsigned i = 0; i < r->n; i++) {
        uint8_t k = r->order[i];
        struct pk_waiting *p = r->place + k;
        if (p->until > now && !has_its_turn(p, flows)) continue;
        r->n--;
        memmove(r->order + i, r->order + i + 1, PLACES - 1 - i);
        r->order[PLACES - 1] = k; /* the last of the free ones to be used again */
        return p;
    }
    return NULL;
}

uint64_t pk_reorder_due(const pk_reorder_t *r) { return r->n ? r->place[r->order[0]].until : UINT64_MAX; }
