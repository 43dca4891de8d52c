/* SPDX-License-Identifier: BSD-2-Clause */
/* Size of the block, its carving, and finding one that stands. */
#include "rs_engine.h"
#include "base_arena.h"
#include "class_keys.h"

#include <string.h>

#define CLASSES_MAX 65536u
#define TICKETS_MAX 16777216u
#define OUTLETS_MAX 64u

static const char *capacity_wrong(const struct rs_capacity *c) {
    if (c->classes < 1 || c->classes > CLASSES_MAX) return "the capacity is out of bounds: classes go from 1 to 65,536";
    if (c->tickets < 1 || c->tickets > TICKETS_MAX)
        return "the capacity is out of bounds: tickets go from 1 to 16,777,216";
    if (c->outlets < 1 || c->outlets > OUTLETS_MAX) return "the capacity is out of bounds: outlets go from 1 to 64";
    if (c->keys > RS_KEYS_MAX || c->keys % 8)
        return "the capacity is out of bounds: keys go from 0 to 2,097,152, in steps of 8";
    return NULL;
}

/* Fills in capacity, sizes and offsets of *e, and nothing else. */
static uint64_t carve(struct rs_engine *e, const struct rs_capacity *cap) {
    uint64_t used = RS_TICKETS_AT + (uint64_t)cap->tickets * sizeof(struct rs_ticket_row),
             flows = (uint64_t)cap->outlets * cap->classes;
    e->capacity = *cap;
    e->sched_size = 0;
    for (uint32_t i = 0; i < RS_SCHED_COUNT; i++) {
        uint64_t size = rs_round_up(rs_scheds[i]->size(cap->classes));
        if (size > e->sched_size) e->sched_size = (uint32_t)size;
    }
    e->hash_size = 2;
    while (e->hash_size < 2 * cap->classes) e->hash_size *= 2;
    e->outlets_at =
        (uint32_t)rs_carve(&used, cap->outlets, sizeof(struct rs_outlet) + 2 * sizeof(struct rs_outlet_row));
    e->classes_at = (uint32_t)rs_carve(&used, cap->classes, sizeof(struct rs_class_row));
    e->flows_at = (uint32_t)rs_carve(&used, flows, sizeof(struct rs_flow));
    e->scheds_at = (uint32_t)rs_carve(&used, cap->outlets, e->sched_size);
    e->journal_at = (uint32_t)rs_carve(&used, cap->classes, sizeof(struct rs_journal_row));
    e->hash_at = (uint32_t)rs_carve(&used, e->hash_size, sizeof(uint32_t));
    e->key_rows = (uint32_t)rs_key_rows(cap);
    e->key_tickets_at = (uint32_t)rs_carve(&used, cap->keys ? cap->tickets : 0, sizeof(struct rs_key_ticket));
    e->key_cans_at = (uint32_t)rs_carve(&used, rs_key_cans(cap), sizeof(uint32_t));
    e->rests_at8 = (uint32_t)(rs_carve(&used, cap->classes, sizeof(struct rs_rests)) / 8);
    /* The largest come last: of the largest capacity the buckets alone begin beyond the 4 GiB of offsets in bytes. */
    RS_ASSERT(used <= UINT32_MAX);
    e->key_rows_at = (uint32_t)rs_carve(&used, e->key_rows, sizeof(struct rs_key_row));
    e->buckets_at8 = (uint32_t)(rs_carve(&used, flows * RS_BUCKETS, sizeof(struct rs_bucket)) / 8);
    e->size = rs_round_up(used);
    return e->size;
}

size_t rs_size(const struct rs_capacity *cap) {
    struct rs_engine e;
    return capacity_wrong(cap) ? 0 : (size_t)carve(&e, cap);
}

static rs_engine_t *create_refuse(const char **why, const char *sentence) {
    *why = sentence;
    return NULL;
}

rs_engine_t *rs_create(void *mem, size_t len, const struct rs_capacity *cap, const struct rs_settings *s,
                       const struct rs_class_settings *classes, uint32_t nclasses, rs_time_t now, const char **why) {
    const char *wrong = capacity_wrong(cap);
    if (wrong) return create_refuse(why, wrong);
    if ((uintptr_t)mem % RS_ALIGN) return create_refuse(why, "the memory for an engine must be aligned to 64 bytes");
    if (len < rs_size(cap))
        return create_refuse(why, "the memory is too small for the engine: rs_size says how much it needs");

    rs_engine_t *e = mem;
    memset(e, 0, sizeof *e);
    carve(e, cap);
    e->version = RS_VERSION;
    e->seq = 1;
    e->now = now;
    e->built_sched = RS_NIL;
    memset(rs_outlet(e, 0), 0, sizeof(struct rs_outlet) * cap->outlets);
    memset(rs_outlet_row(e, 0), 0, 2 * sizeof(struct rs_outlet_row) * cap->outlets);
    for (uint32_t n = 0; n < cap->outlets; n++) rs_outlet_row(e, n)->built_gate = RS_NIL;
    memset(rs_class_row(e, 0), 0, sizeof(struct rs_class_row) * cap->classes);
    for (uint32_t t = 0; t < cap->tickets; t++) {
        struct rs_ticket_row *r = rs_row(e, t);
        memset(r, 0, sizeof *r);
        r->life = rs_life_after(t);
    }
    e->magic = RS_ENGINE_MAGIC;
    if (rs_configure(e, s, classes, nclasses, NULL, now, why) < 0) {
        e->magic = 0;
        return NULL;
    }
    return e;
}

const char *rs_shape_wrong(const rs_engine_t *e) {
    struct rs_engine is;
    memset(&is, 0, sizeof is);
    if (capacity_wrong(&e->capacity)) return "the engine in this memory has a capacity that none can have";
    is.magic = RS_ENGINE_MAGIC;
    is.version = RS_VERSION;
    carve(&is, &e->capacity);
    return memcmp(&is, e, RS_CONSTANT) ? "the engine in this memory has not the parts that its capacity makes" : NULL;
}

rs_engine_t *rs_attach(void *mem, size_t len, const struct rs_capacity *cap, const char **why) {
    rs_engine_t *e = mem;
    if ((uintptr_t)mem % RS_ALIGN) return create_refuse(why, "the memory of an engine must be aligned to 64 bytes");
    if (len < sizeof *e) return create_refuse(why, "the memory is too small to hold an engine");
    if (e->magic != RS_ENGINE_MAGIC)
        return create_refuse(why, "there is no engine in this memory: its magic number is missing");
    if (e->version != RS_VERSION)
        return create_refuse(why, "the engine in this memory is of another version: stop its users, and make it anew");
    if (memcmp(&e->capacity, cap, sizeof *cap))
        return create_refuse(why, "the engine in this memory is not of the capacity that it was made with");
    if (rs_shape_wrong(e)) return create_refuse(why, rs_shape_wrong(e));
    if (e->size > len) return create_refuse(why, "the engine in this memory has not the size that it says");
    return e;
}
