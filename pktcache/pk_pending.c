/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_pending.h"

#include "pk_memory.h"

#include <assert.h>

enum { PENDING_MAGIC = 0x504b5045, PENDING = 256 };

struct pk_pending {
    unsigned magic;
    unsigned n;
    uint8_t order[PENDING]; /* first the places of those that wait, as they came, then those that are free */
    struct pk_pending_train train[PENDING];
};

pk_pending_t *pk_pending_make(void) {
    pk_pending_t *p = pk_memory(sizeof *p);
    if (!p) return NULL;
    p->magic = PENDING_MAGIC;
    for (unsigned i = 0; i < PENDING; i++) p->order[i] = (uint8_t)i;
    return p;
}

void pk_pending_free(pk_pending_t **pending) {
    pk_pending_t *p = *pending;
    *pending = NULL;
    if (!p) return;
    assert(p->magic == PENDING_MAGIC);
    free(p);
}

bool pk_pending_add(pk_pending_t *p, const struct pk_tuple *tuple, const void *bytes, size_t n, uint8_t tos,
                    uint32_t done, const struct pk_fingerprint *lacks, uint64_t until) {
    struct pk_pending_train *t;

    assert(p->magic == PENDING_MAGIC);
    if (p->n == PENDING || n > sizeof t->bytes) return false;
    t = p->train + p->order[p->n++];
    t->tuple = *tuple;
    t->done = done;
    t->tos = tos;
    t->lacking = lacks;
    if (lacks) t->lacks = *lacks;
    t->n = (uint32_t)n;
    t->until = until;
    memcpy(t->bytes, bytes, n);
    return true;
}

static bool waits_before(const pk_pending_t *p, const struct pk_tuple *tuple, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (!memcmp(&p->train[p->order[i]].tuple, tuple, sizeof *tuple)) return true;
    return false;
}

bool pk_pending_has(const pk_pending_t *p, const struct pk_tuple *tuple) { return waits_before(p, tuple, p->n); }

struct pk_pending_train *pk_pending_at(pk_pending_t *p, unsigned i) {
    return i < p->n ? p->train + p->order[i] : NULL;
}

bool pk_pending_is_next(const pk_pending_t *p, unsigned i) { return !waits_before(p, &p->train[p->order[i]].tuple, i); }

void pk_pending_release(pk_pending_t *p, unsigned i) {
    uint8_t place = p->order[i];

    assert(p->magic == PENDING_MAGIC && i < p->n);
    p->n--;
    memmove(p->order + i, p->order + i + 1, PENDING - 1 - i);
    p->order[PENDING - 1] = place;
}

uint64_t pk_pending_due(const pk_pending_t *p) { return p->n ? p->train[p->order[0]].until : UINT64_MAX; }
