/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_store_parts.h"

static uint64_t store_aligned(uint64_t n) { return (n + 63) & ~UINT64_C(63); }

uint64_t ccn_store_lay_out(struct ccn_store *s, void *area, uint64_t bytes, uint32_t segment) {
    uint64_t at = store_aligned(sizeof *s->area), n;
    uintptr_t base = (uintptr_t)area;

    s->block = (uint32_t)store_aligned(segment + CCN_STORE_EXTRA);
    n = bytes / s->block;
    if (n < 16) n = 16;
    if (n >= CCN_FETCHED / 2) return 0;
    s->nblocks = (uint32_t)n;
    for (s->mask = 15; s->mask < s->nblocks; s->mask = s->mask * 2 + 1) continue;
    s->area = area;
    s->buckets = (uint32_t *)(base + at);
    at = store_aligned(at + ((uint64_t)s->mask + 1) * sizeof *s->buckets);
    s->rows = (struct ccn_row *)(base + at);
    at = store_aligned(at + n * sizeof *s->rows);
    s->links = (uint32_t *)(base + at);
    at = store_aligned(at + n * sizeof *s->links);
    s->lengths = (uint16_t *)(base + at);
    at = store_aligned(at + n * sizeof *s->lengths);
    s->blocks = (uint8_t *)(base + at);
    return at + n * s->block;
}

/* ---- lists and buckets ------------------------------------------------------------------------------------------- */

static struct ccn_list *list_of(const struct ccn_store *s, const struct ccn_row *r) {
    return &s->area->list[r->state == CCN_DONE ? CCN_OVER : CCN_LIVE];
}

static void add_to(const struct ccn_store *s, struct ccn_list *l, struct ccn_row *r, int by) {
    uint32_t i = (uint32_t)(r - s->rows), newest = ONCE(l->newest);

    l->n++;
    r->link[by] = (struct ccn_link){ newest, CCN_NIL };
    if (newest < s->nblocks) s->rows[newest].link[by].newer = i;
    else l->oldest = i;
    l->newest = i;
}

static void remove_from(const struct ccn_store *s, struct ccn_list *l, struct ccn_row *r, int by) {
    uint32_t older = ONCE(r->link[by].older), newer = ONCE(r->link[by].newer);

    l->n--;
    if (older < s->nblocks) s->rows[older].link[by].newer = newer;
    else l->oldest = newer;
    if (newer < s->nblocks) s->rows[newer].link[by].older = older;
    else l->newest = older;
}

void ccn_list_add(const struct ccn_store *s, struct ccn_row *r) {
    if (r->state == CCN_KEPT && r->n > 1) s->area->live++;
    add_to(s, list_of(s, r), r, CCN_BY_STATE);
    if (r->state == CCN_KEPT) add_to(s, &s->area->kept[ccn_holder(&r->id)], r, CCN_BY_HOLDER);
}

void ccn_list_remove(const struct ccn_store *s, struct ccn_row *r) {
    if (r->state == CCN_KEPT && r->n > 1) s->area->live--;
    remove_from(s, list_of(s, r), r, CCN_BY_STATE);
    if (r->state == CCN_KEPT) remove_from(s, &s->area->kept[ccn_holder(&r->id)], r, CCN_BY_HOLDER);
}

void ccn_bucket_add(const struct ccn_store *s, struct ccn_row *r) {
    uint32_t *head = &s->buckets[r->id.half[0] & s->mask];
    r->next = *head;
    *head = (uint32_t)(r - s->rows);
}

void ccn_bucket_remove(const struct ccn_store *s, struct ccn_row *r) {
    uint32_t *at = &s->buckets[r->id.half[0] & s->mask], self = (uint32_t)(r - s->rows), steps = 0, i;

    while ((i = ONCE(*at)) != self && i < s->nblocks && steps++ < s->nblocks) at = &s->rows[i].next;
    if (i == self) *at = r->next;
}

struct ccn_row *ccn_bucket_find(const struct ccn_store *s, const struct ccn_store_id *id) {
    uint32_t i = ONCE(s->buckets[id->half[0] & s->mask]), steps = 0;

    while (i < s->nblocks && steps++ < s->nblocks) {
        struct ccn_row *r = s->rows + i;
        if (r->id.half[0] == id->half[0] && r->id.half[1] == id->half[1]) return r;
        i = ONCE(r->next);
    }
    return NULL;
}

/* ---- rows and blocks --------------------------------------------------------------------------------------------- */

void ccn_row_free(const struct ccn_store *s, uint32_t i) {
    s->rows[i].state = CCN_FREE;
    s->rows[i].next = s->area->free_row;
    s->area->free_row = i;
}

void ccn_block_free(const struct ccn_store *s, uint32_t b) {
    s->links[b] = s->area->free_block;
    s->area->free_block = b;
    s->area->nfree++;
}

uint32_t ccn_block_take(const struct ccn_store *s) {
    uint32_t b = ONCE(s->area->free_block);

    if (b >= s->nblocks) return CCN_NIL;
    s->area->free_block = s->links[b];
    s->area->nfree--;
    return b;
}

bool ccn_blocks_take(const struct ccn_store *s, struct ccn_row *r, uint32_t n) {
    uint32_t *index = NULL, first = CCN_NIL;

    if (n == 1) {
        uint32_t b = ccn_block_take(s);
        if (b == CCN_NIL) return false;
        s->lengths[b] = 0;
        r->first = b;
        return true;
    }
    for (uint32_t at = 0; at < n; at++) {
        uint32_t b;
        if (at % ccn_per_index(s) == 0) {
            b = ccn_block_take(s);
            if (b == CCN_NIL) return false;
            if (index) index[ccn_per_index(s)] = b;
            else first = b;
            index = ccn_index_block(s, b);
            index[ccn_per_index(s)] = CCN_NIL;
        }
        b = ccn_block_take(s);
        if (b == CCN_NIL) return false;
        s->lengths[b] = 0;
        index[at % ccn_per_index(s)] = b;
    }
    r->first = first;
    return true;
}

/* False: one of them is nowhere, or they are more than can be. */
static bool free_chain(const struct ccn_store *s, uint32_t n, uint32_t b) {
    if (n < 1 || n > CCN_SEGMENTS_MAX || b >= s->nblocks) return false;
    if (n == 1) ccn_block_free(s, b);
    for (uint32_t at = 0; n > 1 && at < n;) {
        const uint32_t *index = ccn_index_block(s, b);
        uint32_t next = ONCE(index[ccn_per_index(s)]);
        for (uint32_t i = 0; i < ccn_per_index(s) && at < n; i++, at++) {
            uint32_t p = ONCE(index[i]) & ~CCN_FETCHED;
            if (p >= s->nblocks) return false;
            ccn_block_free(s, p);
        }
        ccn_block_free(s, b);
        b = next;
        if (b >= s->nblocks && at < n) return false;
    }
    return s->area->nfree <= s->nblocks;
}

void ccn_blocks_free(const struct ccn_store *s, uint32_t n, uint32_t b) {
    if (!free_chain(s, n, b)) ccn_store_empty(s);
}

uint32_t ccn_block_of(const struct ccn_store *s, const struct ccn_row *r, uint32_t at, uint32_t **entry) {
    uint32_t b = ONCE(r->first);

    *entry = NULL;
    if (at >= CCN_SEGMENTS_MAX) return CCN_NIL;
    if (r->n == 1) return b;
    for (; b < s->nblocks; b = ONCE(ccn_index_block(s, b)[ccn_per_index(s)])) {
        if (at < ccn_per_index(s)) {
            *entry = ccn_index_block(s, b) + at;
            return ONCE(**entry) & ~CCN_FETCHED;
        }
        at -= ccn_per_index(s);
    }
    return CCN_NIL;
}
