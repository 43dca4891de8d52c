/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_again.h"

#include "pk_memory.h"

#include <assert.h>
#include <string.h>

enum { AGAIN_MAGIC = 0x504b4147, TOLD_AGAIN = 64 /* parts of a piece, at most */ };

struct pk_again {
    unsigned magic;
    pk_train_queue_t *queue;
    pk_told_t *told; /* which bytes belong to new blocks */
    uint64_t flows;  /* connections of which the child was told something */
    struct pk_parts parts;
};

pk_again_t *pk_again_make(pk_train_queue_t *queue) {
    pk_again_t *a = pk_memory(sizeof *a);

    if (!a) return NULL;
    a->magic = AGAIN_MAGIC;
    a->queue = queue;
    a->told = pk_told_make();
    if (!a->told) pk_again_free(&a);
    return a;
}

void pk_again_free(pk_again_t **again) {
    pk_again_t *a = *again;
    *again = NULL;
    if (!a) return;
    assert(a->magic == AGAIN_MAGIC);
    pk_told_free(&a->told);
    free(a);
}

void pk_again_forget(struct pk_follow *f) { f->told.id = 0; }

void pk_again_kept(pk_again_t *a, struct pk_follow *f, const struct pk_packet *k, const struct pk_parts *parts) {
    assert(a->magic == AGAIN_MAGIC);
    for (uint32_t i = 0; i < parts->n; i++) {
        const struct pk_part *part = parts->part + i;
        struct pk_told_part told = { k->seq + part->at, k->seq + part->at + part->n, part->place, part->ends };
        if (part->kind != PK_PART_KEPT || !part->n) continue;
        if (!f->told.id) f->told = (struct pk_told_flow){ .id = ++a->flows, .passed = k->seq };
        pk_told_add(a->told, &f->told, &told);
    }
    if (f->told.id) pk_told_pass(a->told, &f->told, k->next);
}

void pk_again_tell(pk_again_t *a, struct pk_follow *f, const struct pk_head *h, uint32_t n, uint64_t now) {
    uint32_t seq = pk_head_seq(h), from = TOLD_AGAIN;
    struct pk_parts *parts = &a->parts;
    struct pk_told_part told;

    assert(a->magic == AGAIN_MAGIC);
    if (!f->told.id) return;
    for (uint64_t at = f->told.last; from && pk_told_next(a->told, &f->told, &at, seq, n, &told);)
        parts->part[--from] = (struct pk_part){ .kind = PK_PART_KEPT,
                                                .at = told.from - seq,
                                                .n = told.to - told.from,
                                                .place = told.place,
                                                .ends = told.ends };
    if (from == TOLD_AGAIN) return;
    parts->n = TOLD_AGAIN - from;
    memmove(parts->part, parts->part + from, parts->n * sizeof *parts->part);
    pk_train_queue_gather(a->queue, &f->flow, h, parts, 0, n, now);
}

bool pk_again_is_half(const struct pk_follow *f, const struct pk_packet *k) {
    return k->payload && k->segments <= PK_SEGMENTS_MAX && pk_flow_behind(&f->flow, k->seq) &&
           (int32_t)(k->seq + k->payload - f->flow.next) > 0 && !(k->flags & (PK_SYN | PK_RST | PK_URG | PK_CWR));
}

void *pk_again_rest(const struct pk_packet *k, void *piece, uint32_t old, const struct pk_head *h, uint8_t flags,
                    size_t *n) {
    uint8_t head[PK_OUT_ROOM], *rest = (uint8_t *)piece + sizeof(struct virtio_net_hdr) + k->headers + old;
    uint32_t payload = k->payload - old;
    size_t room = pk_head_write(h, payload, k->segment, flags, head);

    memcpy(rest - room, head, room);
    *n = room + payload;
    return rest - room;
}
