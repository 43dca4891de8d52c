/* SPDX-License-Identifier: BSD-2-Clause */
/* ccn_store_rebuild.c - a store with nothing in it; all but the rows made anew from the rows (ccn_store_parts.h). */
#include <stdatomic.h>
#include <string.h>

#include "ccn_store_parts.h"

#define TAKEN (CCN_NIL - 1) /* in links[], while all is made anew */

static void clear_lists(const struct ccn_store *s) {
    struct ccn_store_area *a = s->area;

    a->free_row = a->free_block = CCN_NIL;
    a->nfree = 0;
    a->live = 0;
    a->list[CCN_LIVE] = a->list[CCN_OVER] = (struct ccn_list){ CCN_NIL, CCN_NIL, 0 };
    for (uint32_t i = 0; i <= s->mask; i++) s->buckets[i] = CCN_NIL;
    memset(a->held, 0, sizeof a->held);
    for (uint32_t h = 0; h < CCN_HOLDERS; h++) a->kept[h] = (struct ccn_list){ CCN_NIL, CCN_NIL, 0 };
}

void ccn_store_fill_empty(const struct ccn_store *s) {
    s->area->made = 1;
    clear_lists(s);
    for (uint32_t i = s->nblocks; i-- > 0;) {
        ccn_row_free(s, i);
        ccn_block_free(s, i);
    }
}

void ccn_store_empty(const struct ccn_store *s) {
    s->area->counts.emptied++;
    ccn_store_fill_empty(s);
}

/*
 * A page's index blocks and packets, one after the other; of the packets, *left that nobody has fetched.  False: one is
 * not `right`, or they are more than can be.
 */
static bool walk_page(const struct ccn_store *s, const struct ccn_row *r,
                      bool (*right)(const struct ccn_store *s, uint32_t b), uint32_t *left) {
    uint32_t n = ONCE(r->n), b = ONCE(r->first);

    *left = n == 1 && r->left;
    if (n < 1 || n > CCN_SEGMENTS_MAX || !right(s, b)) return false;
    for (uint32_t at = 0; n > 1 && at < n;) {
        const uint32_t *index = ccn_index_block(s, b);
        for (uint32_t i = 0; i < ccn_per_index(s) && at < n; i++, at++) {
            uint32_t entry = ONCE(index[i]);
            if (!right(s, entry & ~CCN_FETCHED)) return false;
            *left += !(entry & CCN_FETCHED);
        }
        b = ONCE(index[ccn_per_index(s)]);
        if (at < n && !right(s, b)) return false;
    }
    return true;
}

/* ---- making all anew --------------------------------------------------------------------------------------------- */

/* Marks it in links[]; false if it can't be, or is another's. */
static bool claim_block(const struct ccn_store *s, uint32_t b) {
    if (b >= s->nblocks || s->links[b] == TAKEN) return false;
    s->links[b] = TAKEN;
    return true;
}

static bool claim_page(const struct ccn_store *s, struct ccn_row *r) {
    uint32_t state = ONCE(r->state), left;

    if (state >= CCN_STATES || !walk_page(s, r, claim_block, &left)) return false;
    if (state == CCN_FILLING) return left == r->n && left == r->left;
    /* Who died may have marked the last packet, and not said yet that it was the last. */
    r->left = left;
    r->state = left ? CCN_KEPT : CCN_DONE;
    return true;
}

/* A holder died: what it left of rows is whole, for a row's state is what changes last, or first. */
void ccn_store_rebuild(const struct ccn_store *s) {
    clear_lists(s);
    memset(s->links, 0, s->nblocks * sizeof *s->links);
    for (uint32_t i = s->nblocks; i-- > 0;) {
        struct ccn_row *r = s->rows + i;
        if (r->state == CCN_FREE) {
            ccn_row_free(s, i);
            continue;
        }
        if (!claim_page(s, r)) {
            ccn_store_empty(s);
            return;
        }
        s->area->held[ccn_holder(&r->id)] += (uint32_t)ccn_blocks(s, r->n);
        if (r->state == CCN_FILLING) continue;
        ccn_bucket_add(s, r);
        ccn_list_add(s, r);
    }
    for (uint32_t b = s->nblocks; b-- > 0;)
        if (s->links[b] != TAKEN) ccn_block_free(s, b);
}

/* ---- invariants -------------------------------------------------------------------------------------------------- */

static bool is_block(const struct ccn_store *s, uint32_t b) { return b < s->nblocks; }

static const char *row_wrong(const struct ccn_store *s, const struct ccn_row *r) {
    uint32_t left;

    if (r->left > r->n) return "more is left of a page than it has";
    if ((r->state == CCN_DONE) != (r->left == 0)) return "a page is done and something is left of it";
    if (!walk_page(s, r, is_block, &left)) return "a page's packet is nowhere";
    if (left != r->left) return "what is left of a page is miscounted";
    if (r->state != CCN_FILLING && !ccn_bucket_find(s, &r->id)) return "a page stands in no bucket";
    return NULL;
}

/* How many pages it has, each in that state and behind the one before; more than there are: it is wrong. */
static uint32_t list_length(const struct ccn_store *s, const struct ccn_list *l, int by, uint32_t state) {
    uint32_t n = 0, before = CCN_NIL;

    for (uint32_t i = l->oldest; i < s->nblocks; i = s->rows[i].link[by].newer) {
        const struct ccn_row *r = s->rows + i;
        if (n++ == s->nblocks || r->link[by].older != before || r->state != state) return CCN_NIL;
        before = i;
    }
    return l->newest == before && l->n == n ? n : CCN_NIL;
}

static const char *lists_wrong(const struct ccn_store *s, uint32_t kept, uint32_t done) {
    uint64_t n = 0;

    if (list_length(s, &s->area->list[CCN_LIVE], CCN_BY_STATE, CCN_KEPT) != kept ||
        list_length(s, &s->area->list[CCN_OVER], CCN_BY_STATE, CCN_DONE) != done)
        return "a page stands in no list";
    for (uint32_t h = 0; h < CCN_HOLDERS; h++) {
        const struct ccn_list *l = &s->area->kept[h];
        n += list_length(s, l, CCN_BY_HOLDER, CCN_KEPT);
        for (uint32_t i = l->oldest; n <= kept && i < s->nblocks; i = s->rows[i].link[CCN_BY_HOLDER].newer)
            if (ccn_holder(&s->rows[i].id) != h) return "a page stands in another holder's list";
    }
    return n == kept ? NULL : "a page stands in no holder's list";
}

const char *ccn_store_check_locked(const struct ccn_store *s) {
    const char *wrong;
    uint32_t used = 0, n = 0, pages[CCN_STATES] = { 0 }, held[CCN_HOLDERS] = { 0 };

    for (uint32_t i = 0; i < s->nblocks; i++) {
        const struct ccn_row *r = s->rows + i;
        uint32_t state = ONCE(r->state);
        wrong = state == CCN_FREE ? NULL : row_wrong(s, r);
        if (state >= CCN_STATES) return "a page is in no state that there is";
        if (wrong) return wrong;
        pages[state]++;
        if (state == CCN_FREE) continue;
        used += r->n + ccn_indexes(s, r->n);
        held[ccn_holder(&r->id)] += (uint32_t)ccn_blocks(s, r->n);
    }
    if (memcmp(held, s->area->held, sizeof held)) return "what somebody holds is miscounted";
    if (used + s->area->nfree != s->nblocks) return "blocks are lost";
    for (uint32_t b = s->area->free_block; b < s->nblocks; b = s->links[b])
        if (n++ == s->nblocks) return "free blocks go in circles";
    if (n != s->area->nfree) return "free blocks are miscounted";
    wrong = lists_wrong(s, pages[CCN_KEPT], pages[CCN_DONE]);
    if (wrong) return wrong;
    n = 0;
    for (uint32_t i = s->area->free_row; i < s->nblocks && n <= s->nblocks; i = s->rows[i].next) n++;
    return n == pages[CCN_FREE] ? NULL : "rows are lost";
}
