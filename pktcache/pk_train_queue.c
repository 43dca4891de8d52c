/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_train_queue.h"

#include "pk_memory.h"

#include <assert.h>
#include <string.h>

enum { TRAIN_QUEUE_MAGIC = 0x504b5453, PLACES = 64 };

struct place {
    struct pk_train train;
    struct pk_flow *flow; /* NULL: it gave its place */
    uint64_t leaves;
    uint8_t bytes[PK_SEAL_HEAD + PK_DATAGRAM_MAX + PK_SEAL_TAG];
};

struct pk_train_queue {
    unsigned magic;
    const struct pk_config *c;
    size_t room;
    pk_train_leaves *leave;
    void *context;
    uint8_t open[PLACES], opened; /* in the order in which they leave */
    uint8_t spare[PLACES], spares;
    struct place place[PLACES];
};

pk_train_queue_t *pk_train_queue_make(const struct pk_config *c, size_t room, pk_train_leaves *leave, void *context) {
    pk_train_queue_t *q = pk_memory(sizeof *q);
    if (!q) return NULL;
    assert(room <= PK_DATAGRAM_MAX);
    q->magic = TRAIN_QUEUE_MAGIC;
    q->c = c;
    q->room = room;
    q->leave = leave;
    q->context = context;
    for (uint8_t i = PLACES; i > 0; i--) q->spare[q->spares++] = (uint8_t)(i - 1);
    return q;
}

void pk_train_queue_free(pk_train_queue_t **queue) {
    pk_train_queue_t *q = *queue;
    *queue = NULL;
    if (!q) return;
    assert(q->magic == TRAIN_QUEUE_MAGIC);
    free(q);
}

static void train_queue_leave(pk_train_queue_t *q, uint8_t i, bool told, uint64_t now) {
    struct place *p = q->place + i;

    if (p->flow) p->flow->train = 0;
    q->leave(q->context, &p->train, p->flow, told, now);
    for (uint8_t k = 0; k < q->opened; k++) {
        if (q->open[k] != i) continue;
        memmove(q->open + k, q->open + k + 1, (size_t)(q->opened - k - 1));
        q->opened--;
        break;
    }
    q->spare[q->spares++] = i;
}

void pk_train_queue_leave(pk_train_queue_t *q, struct pk_flow *f, uint64_t now) {
    assert(q->magic == TRAIN_QUEUE_MAGIC);
    if (f->train) train_queue_leave(q, (uint8_t)(f->train - 1), false, now);
}

void pk_train_queue_forget(pk_train_queue_t *q, struct pk_flow *f) {
    if (f->train) q->place[f->train - 1].flow = NULL;
}

/* The flow's train, a new one if it has none. */
static struct pk_train *train_of(pk_train_queue_t *q, struct pk_flow *f, const struct pk_head *first, uint64_t now) {
    struct place *p;
    uint8_t i;

    assert(q->magic == TRAIN_QUEUE_MAGIC);
    if (f->train) return &q->place[f->train - 1].train;
    if (!q->spares) train_queue_leave(q, q->open[0], false, now);
    i = q->spare[--q->spares];
    q->open[q->opened++] = i;
    f->train = (uint8_t)(i + 1);
    p = q->place + i;
    p->flow = f;
    p->leaves = now + q->c->hold;
    pk_train_open(&p->train, p->bytes + PK_SEAL_HEAD, q->room, first);
    return &p->train;
}

static uint32_t most_tokens(const struct pk_config *c) {
    return c->mode == PK_MODE_TRAIN ? UINT32_MAX : c->mode == PK_MODE_WINDOW ? (uint32_t)c->window : 1;
}

void pk_train_queue_tokens(pk_train_queue_t *q, struct pk_flow *f, struct pk_head h, const struct pk_fingerprint *fps,
                           uint32_t count, uint32_t segment, uint32_t last, uint8_t flags, uint64_t now) {
    while (count) {
        struct pk_train *train = train_of(q, f, &h, now);
        uint32_t may = most_tokens(q->c) - train->tokens, part = count < may ? count : may;
        bool all = part == count;
        uint32_t done =
            part ? pk_train_tokens(train, &h, fps, part, segment, all ? last : segment, all ? flags : 0) : 0;
        if (done) {
            pk_head_advance(&h, done == count ? (done - 1) * segment + last : done * segment, done);
            fps += done;
            count -= done;
        }
        if (!done || train->tokens >= most_tokens(q->c)) pk_train_queue_leave(q, f, now);
    }
}

bool pk_train_queue_literal(pk_train_queue_t *q, struct pk_flow *f, const struct pk_head *h, const void *bytes,
                            uint32_t n, uint8_t flags, uint64_t now) {
    if (pk_train_literal(train_of(q, f, h, now), h, bytes, n, flags)) return true;
    pk_train_queue_leave(q, f, now);
    if (pk_train_literal(train_of(q, f, h, now), h, bytes, n, flags)) return true;
    pk_train_queue_leave(q, f, now);
    return false;
}

void pk_train_queue_announce(pk_train_queue_t *q, struct pk_flow *f, const struct pk_head *h, uint32_t n,
                             uint64_t now) {
    if (!pk_train_native(train_of(q, f, h, now), h, n)) {
        pk_train_queue_leave(q, f, now);
        pk_train_native(train_of(q, f, h, now), h, n);
    }
    train_queue_leave(q, (uint8_t)(f->train - 1), true, now);
}

uint32_t pk_train_queue_parts(pk_train_queue_t *q, struct pk_flow *f, struct pk_head h, const uint8_t *payload,
                              const struct pk_parts *parts, uint32_t at, uint32_t count, uint32_t segment,
                              uint32_t last, uint8_t flags, uint64_t now) {
    uint32_t done = 0;

    while (done < count) {
        struct pk_train *train = train_of(q, f, &h, now);
        bool empty = !train->saved;
        uint32_t part = count - done;
        for (; part; part /= 2) {
            bool all = done + part == count;
            if (pk_train_parts(train, &h, payload, parts, at, part, segment, all ? last : segment, all ? flags : 0))
                break;
        }
        if (part) {
            pk_head_advance(&h, part * segment, part);
            at += part * segment;
            done += part;
        }
        if (done < count) pk_train_queue_leave(q, f, now);
        if (!part && empty) break;
    }
    return done;
}

void pk_train_queue_gather(pk_train_queue_t *q, struct pk_flow *f, const struct pk_head *h,
                           const struct pk_parts *parts, uint32_t at, uint32_t n, uint64_t now) {
    if (!pk_train_gather(train_of(q, f, h, now), h, parts, at, n)) {
        pk_train_queue_leave(q, f, now);
        pk_train_gather(train_of(q, f, h, now), h, parts, at, n);
    }
    train_queue_leave(q, (uint8_t)(f->train - 1), true, now);
}

uint64_t pk_train_queue_due(const pk_train_queue_t *q) { return q->opened ? q->place[q->open[0]].leaves : UINT64_MAX; }

void pk_train_queue_tick(pk_train_queue_t *q, uint64_t now) {
    while (q->opened && q->place[q->open[0]].leaves <= now) train_queue_leave(q, q->open[0], false, now);
}
