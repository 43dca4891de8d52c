/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages/pages_learnt.h"

#include <stdatomic.h>

#define WAYS       4
#define SETS_MAX   (1u << 28)
#define COUNT_BITS 20
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)
#define COUNT_MAX  4096 /* who is asked for so often is as good as who is more often */
#define MEAN_MAX   (UINT64_MAX >> COUNT_BITS)
#define AGES_WITH  64 /* one of so many new keys */
#define MEMORY     8  /* the mean follows the last so many answers: pages change */

struct page {
    _Atomic uint64_t key;   /* 0 = free */
    _Atomic uint64_t value; /* mean << COUNT_BITS | times seen */
};

/* The least power of two that is enough; asked for by each look. */
static uint32_t sets_of(uint32_t pages) {
    uint32_t sets = pages > WAYS ? 1u << (32 - __builtin_clz((pages - 1) / WAYS)) : 1;
    return sets < SETS_MAX ? sets : SETS_MAX;
}

size_t pages_learnt_bytes(uint32_t pages) { return (size_t)sets_of(pages) * WAYS * sizeof(struct page); }

static struct page *learnt_set_of(const void *table, uint32_t pages, uint64_t key) {
    return (struct page *)table + (size_t)(key & (sets_of(pages) - 1)) * WAYS;
}

uint64_t pages_learnt_mean(const void *table, uint32_t pages, uint64_t key) {
    struct page *set = learnt_set_of(table, pages, key);
    for (int i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&set[i].key, memory_order_relaxed) == key)
            return atomic_load_explicit(&set[i].value, memory_order_relaxed) >> COUNT_BITS;
    return 0;
}

void pages_learnt_add(void *table, uint32_t pages, uint64_t key, uint64_t bytes) {
    struct page *set = learnt_set_of(table, pages, key), *row = NULL, *least = set;
    uint64_t value, count, mean, fewest = UINT64_MAX;

    if (bytes > MEAN_MAX) bytes = MEAN_MAX;
    for (int i = 0; i < WAYS && !row; i++) {
        uint64_t k = atomic_load_explicit(&set[i].key, memory_order_relaxed);
        count = k ? atomic_load_explicit(&set[i].value, memory_order_relaxed) & COUNT_MASK : 0;
        if (k == key) row = &set[i];
        else if (count < fewest) {
            fewest = count;
            least = &set[i];
        }
    }
    if (!row) {
        /*
         * Others of the set age as it takes in new keys, so that what was popular once does not stay for ever; not with
         * each, or a crowd of keys that come once would take the rows of all the others.
         */
        for (int i = 0; i < WAYS && (key >> 32) % AGES_WITH == 0; i++) {
            value = atomic_load_explicit(&set[i].value, memory_order_relaxed);
            count = value & COUNT_MASK;
            if (&set[i] != least && count > 1)
                atomic_store_explicit(&set[i].value, value - (count - count / 2), memory_order_relaxed);
        }
        atomic_store_explicit(&least->value, bytes << COUNT_BITS | 1, memory_order_relaxed);
        atomic_store_explicit(&least->key, key, memory_order_relaxed);
        return;
    }
    value = atomic_load_explicit(&row->value, memory_order_relaxed);
    count = value & COUNT_MASK;
    mean = value >> COUNT_BITS;
    if (count < COUNT_MAX) count++;
    if (bytes != mean) {
        int64_t step = ((int64_t)bytes - (int64_t)mean) / (int64_t)(count < MEMORY ? count : MEMORY);
        /* a giant doubles it and no more: a directory's mean is for all its pages */
        if (step > (int64_t)mean && mean) step = (int64_t)mean;
        mean = (uint64_t)((int64_t)mean + step);
    }
    /* What is written, other processors must fetch. */
    if (value != (mean << COUNT_BITS | count))
        atomic_store_explicit(&row->value, mean << COUNT_BITS | count, memory_order_relaxed);
}

uint32_t pages_learnt_used(const void *table, uint32_t pages) {
    const struct page *p = table;
    uint32_t used = 0;
    for (size_t i = 0, n = (size_t)sets_of(pages) * WAYS; i < n; i++)
        used += atomic_load_explicit(&((struct page *)p)[i].key, memory_order_relaxed) != 0;
    return used;
}
