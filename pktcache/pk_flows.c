/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_flows.h"

#include "pk_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <highwayhash/c_bindings.h>
#include <sys/random.h>

enum { FLOWS_MAGIC = 0x504b464c };

struct pk_flows {
    unsigned magic;
    uint8_t *all;
    size_t each;
    uint32_t count, used, heads; /* heads: a power of two */
    uint32_t *head;
    uint32_t newest, oldest, unused; /* unused: chained */
    uint64_t key[4];                 /* so that nobody can choose addresses that meet in one chain */
    void (*gone)(void *context, struct pk_flow *f);
    void *context;
};

static struct pk_flow *at(const pk_flows_t *t, uint32_t i) { return (struct pk_flow *)(t->all + i * t->each); }
static uint32_t index_of(const pk_flows_t *t, const struct pk_flow *f) {
    return (uint32_t)((size_t)((const uint8_t *)f - t->all) / t->each);
}
static uint32_t *head_of(pk_flows_t *t, const struct pk_tuple *tuple) {
    return t->head + (HighwayHash64(t->key, (const char *)tuple, sizeof *tuple) & (t->heads - 1));
}

pk_flows_t *pk_flows_make(uint32_t count, size_t each, void (*gone)(void *, struct pk_flow *), void *context) {
    pk_flows_t *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    assert(each >= sizeof(struct pk_flow) && each % sizeof(uint64_t) == 0);
    t->magic = FLOWS_MAGIC;
    t->each = each;
    t->count = count;
    for (t->heads = 1; t->heads < count;) t->heads *= 2;
    t->all = pk_memory(count * each);
    t->head = malloc(t->heads * sizeof *t->head);
    t->gone = gone;
    t->context = context;
    if (!t->all || !t->head || getrandom(t->key, sizeof t->key, 0) != sizeof t->key) {
        pk_flows_free(&t);
        return NULL;
    }
    memset(t->head, 0xff, t->heads * sizeof *t->head);
    t->newest = t->oldest = t->unused = PK_NO_FLOW;
    for (uint32_t i = count; i--;) {
        at(t, i)->chain = t->unused;
        t->unused = i;
    }
    return t;
}

void pk_flows_free(pk_flows_t **table) {
    pk_flows_t *t = *table;
    *table = NULL;
    if (!t) return;
    assert(t->magic == FLOWS_MAGIC);
    free(t->all);
    free(t->head);
    free(t);
}

static void unlink_age(pk_flows_t *t, struct pk_flow *f) {
    *(f->newer == PK_NO_FLOW ? &t->newest : &at(t, f->newer)->older) = f->older;
    *(f->older == PK_NO_FLOW ? &t->oldest : &at(t, f->older)->newer) = f->newer;
}

static void link_newest(pk_flows_t *t, struct pk_flow *f) {
    uint32_t i = index_of(t, f);
    f->newer = PK_NO_FLOW;
    f->older = t->newest;
    *(t->newest == PK_NO_FLOW ? &t->oldest : &at(t, t->newest)->newer) = i;
    t->newest = i;
}

struct pk_flow *pk_flows_find(pk_flows_t *t, const struct pk_tuple *tuple) {
    assert(t->magic == FLOWS_MAGIC);
    for (uint32_t i = *head_of(t, tuple); i != PK_NO_FLOW; i = at(t, i)->chain) {
        struct pk_flow *f = at(t, i);
        if (memcmp(&f->tuple, tuple, sizeof *tuple)) continue;
        if (t->newest != i) {
            unlink_age(t, f);
            link_newest(t, f);
        }
        return f;
    }
    return NULL;
}

void pk_flows_drop(pk_flows_t *t, struct pk_flow *f) {
    uint32_t i = index_of(t, f), *link = head_of(t, &f->tuple);
    assert(f->used);
    if (t->gone) t->gone(t->context, f);
    while (*link != i) link = &at(t, *link)->chain;
    *link = f->chain;
    unlink_age(t, f);
    memset(f, 0, t->each);
    f->chain = t->unused;
    t->unused = i;
    t->used--;
}

struct pk_flow *pk_flows_get(pk_flows_t *t, const struct pk_tuple *tuple) {
    struct pk_flow *f = pk_flows_find(t, tuple);
    uint32_t *head = head_of(t, tuple);

    if (f) return f;
    if (t->unused == PK_NO_FLOW) pk_flows_drop(t, at(t, t->oldest));
    f = at(t, t->unused);
    t->unused = f->chain;
    f->tuple = *tuple;
    f->used = true;
    f->chain = *head;
    *head = index_of(t, f);
    link_newest(t, f);
    t->used++;
    return f;
}

uint32_t pk_flows_used(const pk_flows_t *t) { return t->used; }

struct pk_flow *pk_flows_next(pk_flows_t *t, const struct pk_flow *f) {
    uint32_t i = f ? f->older : t->newest;
    return i == PK_NO_FLOW ? NULL : at(t, i);
}
