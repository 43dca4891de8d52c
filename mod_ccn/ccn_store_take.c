/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_store_take.c - room for a new page, made of pages that are kept (ccn_store.h, SHARES): first it is found out
 * which must go, and where they do not suffice none does.
 *
 * A page has a block at least, so that no more rows are looked at than blocks are asked for, however many there are.
 */
#include "ccn_store_parts.h"

/* Its state first: who dies behind that leaves blocks that are nobody's. */
void ccn_page_free(const struct ccn_store *s, struct ccn_row *r) {
    uint32_t n = ONCE(r->n), b = ONCE(r->first), *held = &s->area->held[ccn_holder(&r->id)];
    uint64_t blocks = ccn_blocks(s, n);

    *held = *held > blocks ? *held - (uint32_t)blocks : 0;
    if (r->state != CCN_FILLING) {
        ccn_list_remove(s, r);
        ccn_bucket_remove(s, r);
    }
    ccn_row_free(s, (uint32_t)(r - s->rows));
    ccn_blocks_free(s, n, b);
}

struct ccn_row *ccn_stale(const struct ccn_store *s, int list, uint64_t before) {
    uint32_t i = ONCE(s->area->list[list].oldest);
    return i < s->nblocks && s->rows[i].touched < before ? s->rows + i : NULL;
}

void ccn_let_go(const struct ccn_store *s, struct ccn_row *r) {
    if (r->state == CCN_KEPT) s->area->counts.evicted++;
    ccn_page_free(s, r);
}

/* Which pages are to go: so many, the oldest, of each list; and what there is then. */
struct taking {
    uint64_t need, free, rows; /* blocks, blocks; rows that were looked at */
    uint32_t over, idle, of[CCN_HOLDERS];
    uint64_t held[CCN_HOLDERS];
    uint32_t next[CCN_HOLDERS]; /* of those that a holder keeps, the oldest that is to stay */
};

/* False: it suffices, or no page is there. */
static bool looks_on(const struct ccn_store *s, const struct taking *t, uint32_t i) {
    return t->free < t->need && t->rows < t->need && i < s->nblocks;
}

static void count_page(const struct ccn_store *s, struct taking *t, const struct ccn_row *r) {
    uint64_t blocks = ccn_blocks(s, ONCE(r->n)), *held = &t->held[ccn_holder(&r->id)];

    t->rows++;
    t->free += blocks;
    *held = *held > blocks ? *held - blocks : 0;
}

/* What is over, and then what nobody came for since `before`, whose ever it is. */
static void count_idle(const struct ccn_store *s, struct taking *t, uint64_t before) {
    uint32_t i;

    for (i = ONCE(s->area->list[CCN_OVER].oldest); looks_on(s, t, i); i = ONCE(s->rows[i].link[CCN_BY_STATE].newer)) {
        count_page(s, t, s->rows + i);
        t->over++;
    }
    for (i = ONCE(s->area->list[CCN_LIVE].oldest); looks_on(s, t, i) && s->rows[i].touched < before;
         i = ONCE(s->rows[i].link[CCN_BY_STATE].newer)) {
        count_page(s, t, s->rows + i);
        t->next[ccn_holder(&s->rows[i].id)] = ONCE(s->rows[i].link[CCN_BY_HOLDER].newer);
        t->idle++;
    }
}

/* Who holds most of those who keep a page and hold more than `mine`; CCN_HOLDERS: nobody. */
static uint32_t who_holds_most(const struct ccn_store *s, const struct taking *t, uint64_t mine) {
    uint32_t most = CCN_HOLDERS;

    for (uint32_t h = 0; h < CCN_HOLDERS; h++)
        if (t->held[h] > (most < CCN_HOLDERS ? t->held[most] : mine) && t->next[h] < s->nblocks) most = h;
    return most;
}

/* What others hold beyond what this one would. */
static void count_others(const struct ccn_store *s, struct taking *t, uint32_t holder) {
    uint64_t mine = t->held[holder] + t->need;

    while (looks_on(s, t, 0)) {
        uint32_t h = who_holds_most(s, t, mine);
        const struct ccn_row *r;
        if (h == CCN_HOLDERS) return;
        r = s->rows + t->next[h];
        count_page(s, t, r);
        t->next[h] = ONCE(r->link[CCN_BY_HOLDER].newer);
        t->of[h]++;
    }
}

/* The oldest pages of a list; what stands there and is none of it empties the store. */
static void take_from(const struct ccn_store *s, const struct ccn_list *l, uint32_t pages, uint32_t state) {
    while (pages--) {
        uint32_t i = ONCE(l->oldest);
        if (i >= s->nblocks) return;
        if (ONCE(s->rows[i].state) != state) {
            ccn_store_empty(s);
            return;
        }
        ccn_let_go(s, s->rows + i);
    }
}

static bool has_room(const struct ccn_store *s, uint64_t blocks) {
    return s->area->nfree >= blocks && ONCE(s->area->free_row) < s->nblocks;
}

bool ccn_make_room(const struct ccn_store *s, uint64_t now, const struct ccn_store_id *id, uint64_t blocks) {
    struct taking t = { .need = blocks, .free = s->area->nfree };

    if (has_room(s, blocks)) return true;
    for (uint32_t h = 0; h < CCN_HOLDERS; h++) {
        t.held[h] = ONCE(s->area->held[h]);
        t.next[h] = ONCE(s->area->kept[h].oldest);
    }
    count_idle(s, &t, now > CCN_STORE_IDLE ? now - CCN_STORE_IDLE : 0);
    count_others(s, &t, ccn_holder(id));
    if (t.free < t.need) return false;
    take_from(s, &s->area->list[CCN_OVER], t.over, CCN_DONE);
    take_from(s, &s->area->list[CCN_LIVE], t.idle, CCN_KEPT);
    for (uint32_t h = 0; h < CCN_HOLDERS; h++) take_from(s, &s->area->kept[h], t.of[h], CCN_KEPT);
    if (!has_room(s, blocks)) ccn_store_empty(s);
    return has_room(s, blocks);
}
