/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_gather.h"

static uint64_t gather_id(struct pk_gather *g, struct pk_gather_flow *f) {
    if (!f->told.id) f->told = (struct pk_told_flow){ .id = ++g->ids, .passed = f->next };
    return f->told.id;
}

static void put_in(struct pk_gather *g, const void *bytes, uint32_t n) {
    struct pk_fingerprint fp;

    pk_fingerprint_of(g->key, bytes, n, &fp);
    g->counters->stored += pk_store_put(g->store, &fp, bytes, n);
    g->found |= pk_missing_drop(g->missing, &fp);
}

/* Bytes that belong to blocks, from `place` on. */
static void gather_bytes(struct pk_gather *g, struct pk_gather_flow *f, uint32_t place, const uint8_t *bytes,
                         uint32_t n, bool ends) {
    do {
        uint32_t most = PK_BLOCK - place % PK_BLOCK, part = n < most ? n : most, length;
        const uint8_t *whole =
            pk_blocks_add(g->blocks, gather_id(g, f), place, bytes, part, ends && part == n, &length);
        if (whole) put_in(g, whole, length);
        place += part;
        bytes += part;
        n -= part;
    } while (n);
}

void pk_gather_begin(struct pk_gather_flow *f, uint32_t seq) {
    *f = (struct pk_gather_flow){ .next = seq + 1, .store.passed = seq };
}

void pk_gather_pass(struct pk_gather *g, struct pk_gather_flow *f, uint32_t next) {
    f->next = next;
    pk_ranges_pass(&f->store, next);
    if (f->told.id) pk_told_pass(g->told, &f->told, next);
}

bool pk_gather_orders(struct pk_gather *g, struct pk_gather_flow *f, struct pk_reader r) {
    struct pk_part_reader orders;
    struct pk_read_part order;
    struct pk_record record;
    bool more = false;

    while (pk_train_next(&r, &record) == PK_RECORD) {
        uint32_t seq = pk_head_seq(&record.head);
        if (record.kind == PK_NATIVE) pk_ranges_add(&f->store, seq, record.n);
        else if (record.kind != PK_GATHER) more = true;
        if (record.kind != PK_GATHER) continue;
        pk_parts_read(&orders, &record);
        while (pk_orders_next(&orders, &order)) {
            struct pk_told_part part = { seq + order.at, seq + order.at + order.n, order.place, order.ends };
            gather_id(g, f);
            if (order.n) pk_told_add(g->told, &f->told, &part);
            else if (order.ends) gather_bytes(g, f, order.place, record.bytes, 0, true);
        }
    }
    return more;
}

void pk_gather_packet(struct pk_gather *g, struct pk_gather_flow *f, const struct pk_packet *k) {
    const uint8_t *payload = k->ip + k->headers;
    struct pk_told_part part;

    for (uint64_t at = f->told.last; pk_told_next(g->told, &f->told, &at, k->seq, k->payload, &part);)
        gather_bytes(g, f, part.place, payload + (part.from - k->seq), part.to - part.from, part.ends);
    for (uint32_t i = 0; i < k->segments; i++) {
        uint32_t n;
        const uint8_t *bytes = pk_packet_segment(k, i, &n);
        if (pk_ranges_have(&f->store, k->seq + i * k->segment, n)) put_in(g, bytes, n);
    }
}

void pk_gather_parts(struct pk_gather *g, struct pk_gather_flow *f, const struct pk_record *record) {
    struct pk_part_reader r;
    struct pk_read_part part;

    pk_parts_read(&r, record);
    while (pk_parts_next(&r, &part))
        if (part.kind == PK_PART_KEPT) gather_bytes(g, f, part.place, part.bytes, part.n, part.ends);
}
