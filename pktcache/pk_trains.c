/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_trains.h"

#include "pk_memory.h"

#include <assert.h>
#include <string.h>

enum { TRAINS_MAGIC = 0x504b5453, PLACES = 64 };

struct place {
    struct pk_train train;
    struct pk_flow  *flow;          /* NULL: it gave its place */
    uint64_t        leaves;
    uint8_t         bytes[PK_SEAL_HEAD + PK_DATAGRAM_MAX + PK_SEAL_TAG];
};

struct pk_trains {
    unsigned                magic;
    const struct pk_config *c;
    size_t                  room;
    pk_leave               *leave;
    void                   *context;
    uint8_t                 open[PLACES], opened;       /* in the order in which they leave */
    uint8_t                 spare[PLACES], spares;
    struct place            place[PLACES];
};

pk_trains_t *pk_trains_make(const struct pk_config *c, size_t room, pk_leave *leave, void *context) {
    pk_trains_t *t = pk_memory(sizeof *t);
    if (!t) return NULL;
    assert(room <= PK_DATAGRAM_MAX);
    t->magic = TRAINS_MAGIC;
    t->c = c;
    t->room = room;
    t->leave = leave;
    t->context = context;
    for (uint8_t i = PLACES; i > 0; i--) t->spare[t->spares++] = (uint8_t)(i - 1);
    return t;
}

void pk_trains_free(pk_trains_t **trains) {
    pk_trains_t *t = *trains;
    *trains = NULL;
    if (!t) return;
    assert(t->magic == TRAINS_MAGIC);
    free(t);
}

static void leave(pk_trains_t *t, uint8_t i, bool told, uint64_t now) {
    struct place *p = t->place + i;

    if (p->flow) p->flow->train = 0;
    t->leave(t->context, &p->train, p->flow, told, now);
    for (uint8_t k = 0; k < t->opened; k++) {
        if (t->open[k] != i) continue;
        memmove(t->open + k, t->open + k + 1, (size_t)(t->opened - k - 1));
        t->opened--;
        break;
    }
    t->spare[t->spares++] = i;
}

void pk_trains_leave(pk_trains_t *t, struct pk_flow *f, uint64_t now) {
    assert(t->magic == TRAINS_MAGIC);
    if (f->train) leave(t, (uint8_t)(f->train - 1), false, now);
}

void pk_trains_forget(pk_trains_t *t, struct pk_flow *f) {
    if (f->train) t->place[f->train - 1].flow = NULL;
}

/* The flow's train, a new one if it has none. */
static struct pk_train *board(pk_trains_t *t, struct pk_flow *f, const struct pk_head *first, uint64_t now) {
    struct place *p;
    uint8_t i;

    assert(t->magic == TRAINS_MAGIC);
    if (f->train) return &t->place[f->train - 1].train;
    if (!t->spares) leave(t, t->open[0], false, now);
    i = t->spare[--t->spares];
    t->open[t->opened++] = i;
    f->train = (uint8_t)(i + 1);
    p = t->place + i;
    p->flow = f;
    p->leaves = now + t->c->hold;
    pk_train_open(&p->train, p->bytes + PK_SEAL_HEAD, t->room, first);
    return &p->train;
}

static uint32_t most_tokens(const struct pk_config *c) { return c->mode == PK_MODE_TRAIN ? UINT32_MAX : c->mode == PK_MODE_WINDOW ? (uint32_t)c->window : 1; }

void pk_trains_tokens(pk_trains_t *t, struct pk_flow *f, struct pk_head h, const struct pk_fingerprint *fps, uint32_t count, uint32_t segment, uint32_t last, uint8_t flags, uint64_t now) {
    while (count) {
        struct pk_train *train = board(t, f, &h, now);
        uint32_t may = most_tokens(t->c) - train->tokens, part = count < may ? count : may;
        bool all = part == count;
        uint32_t done = part ? pk_train_tokens(train, &h, fps, part, segment, all ? last : segment, all ? flags : 0) : 0;
        if (done) {
            pk_head_advance(&h, done == count ? (done - 1) * segment + last : done * segment, done);
            fps += done;
            count -= done;
        }
        if (!done || train->tokens >= most_tokens(t->c)) pk_trains_leave(t, f, now);
    }
}

bool pk_trains_literal(pk_trains_t *t, struct pk_flow *f, const struct pk_head *h, const void *bytes, uint32_t n, uint8_t flags, uint64_t now) {
    if (pk_train_literal(board(t, f, h, now), h, bytes, n, flags)) return true;
    pk_trains_leave(t, f, now);
    if (pk_train_literal(board(t, f, h, now), h, bytes, n, flags)) return true;
    pk_trains_leave(t, f, now);
    return false;
}

void pk_trains_announce(pk_trains_t *t, struct pk_flow *f, const struct pk_head *h, uint32_t n, uint64_t now) {
    if (!pk_train_native(board(t, f, h, now), h, n)) {
        pk_trains_leave(t, f, now);
        pk_train_native(board(t, f, h, now), h, n);
    }
    leave(t, (uint8_t)(f->train - 1), true, now);
}

uint64_t pk_trains_due(const pk_trains_t *t) { return t->opened ? t->place[t->open[0]].leaves : UINT64_MAX; }

void pk_trains_tick(pk_trains_t *t, uint64_t now) {
    while (t->opened && t->place[t->open[0]].leaves <= now) leave(t, t->open[0], false, now);
}
