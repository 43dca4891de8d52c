/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_blocks.h"

#include "pk_memory.h"

#include <assert.h>
#include <string.h>

enum { BLOCKS_MAGIC = 0x504b424c, SETS = 128, WAYS = 8, RUNS = 6 };

struct run {
    uint32_t from, to;
};

struct block {
    uint64_t id;
    uint32_t first;  /* place of its first byte */
    uint32_t length; /* 0: not known yet */
    uint64_t used_at;
    unsigned runs; /* what is here, in their order, none next to another */
    struct run run[RUNS];
    uint8_t bytes[PK_BLOCK];
};

struct pk_blocks {
    unsigned magic;
    uint64_t turn;
    struct block block[SETS][WAYS];
};

pk_blocks_t *pk_blocks_make(void) {
    pk_blocks_t *b = pk_memory(sizeof *b);
    if (b) b->magic = BLOCKS_MAGIC;
    return b;
}

void pk_blocks_free(pk_blocks_t **blocks) {
    pk_blocks_t *b = *blocks;
    *blocks = NULL;
    if (!b) return;
    assert(b->magic == BLOCKS_MAGIC);
    free(b);
}

/* The one that begins there, a new one if there is none. */
static struct block *block_at(pk_blocks_t *b, uint64_t id, uint32_t first) {
    struct block *set = b->block[(id * 0x9e3779b97f4a7c15 + first / PK_BLOCK) % SETS], *oldest = set;

    for (struct block *k = set; k < set + WAYS; k++) {
        if (k->id == id && k->first == first) return k;
        if (k->used_at < oldest->used_at) oldest = k;
    }
    oldest->id = id;
    oldest->first = first;
    oldest->length = 0;
    oldest->runs = 0;
    return oldest;
}

/* false: there are too many holes; these bytes are as if they had not come. */
static bool add_run(struct block *k, struct run r) {
    unsigned i = 0, j;

    while (i < k->runs && k->run[i].to < r.from) i++;
    for (j = i; j < k->runs && k->run[j].from <= r.to; j++) {
        if (k->run[j].from < r.from) r.from = k->run[j].from;
        if (k->run[j].to > r.to) r.to = k->run[j].to;
    }
    if (j == i && k->runs == RUNS) return false;
    memmove(k->run + i + 1, k->run + j, (k->runs - j) * sizeof r);
    k->run[i] = r;
    k->runs = k->runs + 1 - (j - i);
    return true;
}

const uint8_t *pk_blocks_add(pk_blocks_t *b, uint64_t id, uint32_t place, const uint8_t *bytes, uint32_t n, bool ends,
                             uint32_t *length) {
    uint32_t offset = place % PK_BLOCK;
    struct block *k;

    assert(b->magic == BLOCKS_MAGIC && id && n <= PK_BLOCK - offset);
    if (!offset && n && (ends || n == PK_BLOCK)) {
        *length = n;
        return bytes;
    }
    k = block_at(b, id, place - offset);
    k->used_at = ++b->turn;
    if (n && add_run(k, (struct run){ offset, offset + n })) memcpy(k->bytes + offset, bytes, n);
    if (ends) k->length = offset + n;
    else if (k->runs && k->run[k->runs - 1].to == PK_BLOCK) k->length = PK_BLOCK;
    if (!k->length || k->runs != 1 || k->run[0].from || k->run[0].to != k->length) return NULL;
    *length = k->length;
    k->id = 0;
    k->used_at = 0;
    return k->bytes;
}
