/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_store.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "ccn_store_parts.h"
#include "shm/shm_patience.h"

#define ROWS_AT_ONCE 4096u /* that are looked at before the lock is given back */

static bool store_lock(const struct ccn_store *s) {
    enum base_taken taken = shm_take(&s->area->lock, &s->area->turns);

    if (taken == BASE_NOT_TAKEN && s->stuck) {
        s->stuck("the lock of the pages that are kept is not given back");
        taken = shm_take(&s->area->lock, &s->area->turns);
    }
    if (taken == BASE_NOT_TAKEN) return false;
    if (taken == BASE_TAKEN_DIED) ccn_store_rebuild(s);
    else if (!s->area->made) ccn_store_fill_empty(s);
    return true;
}

static void store_unlock(const struct ccn_store *s) { base_mutex_give(&s->area->lock); }

uint64_t ccn_store_bytes(uint64_t bytes, uint32_t segment) {
    struct ccn_store s;
    return ccn_store_lay_out(&s, NULL, bytes, segment);
}

int ccn_store_make(struct ccn_store *s, void *area, uint64_t bytes, uint32_t segment, uint64_t keep, const char **why) {
    if (!ccn_store_lay_out(s, area, bytes, segment)) {
        *why = "more pages than can be kept";
        return -1;
    }
    if (getrandom(s->key, sizeof s->key, 0) != sizeof s->key) {
        *why = "no random numbers";
        return -1;
    }
    s->keep = keep;
    ccn_store_fill_empty(s);
    return 0;
}

struct ccn_store_id ccn_store_id(const struct ccn_store *s, const void *name, size_t n) {
    struct ccn_store_id id;

    id.holder = 0;
    for (int i = 0; i < 2; i++) {
        struct base_hash h;
        base_hash_begin(&h, s->key[i]);
        base_hash_add(&h, name, n);
        id.half[i] = base_hash_end(h);
    }
    return id;
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

bool ccn_store_begin(const struct ccn_store *s, uint64_t now, int32_t maker, const struct ccn_store_id *id, uint32_t n,
                     struct ccn_draft *d) {
    struct ccn_row *r;
    uint32_t row;
    bool made = false;

    if (n < 1 || n > CCN_SEGMENTS_MAX || ccn_blocks(s, n) > s->nblocks || !store_lock(s)) return false;
    if (!ccn_make_room(s, now, id, ccn_blocks(s, n))) {
        s->area->counts.full++;
    } else {
        row = ONCE(s->area->free_row);
        r = s->rows + row;
        if (row < s->nblocks && ccn_blocks_take(s, r, n)) {
            s->area->free_row = r->next;
            r->id = *id;
            r->n = r->left = n;
            s->area->held[ccn_holder(&r->id)] += (uint32_t)ccn_blocks(s, n);
            r->maker = maker;
            r->touched = now;
            atomic_signal_fence(memory_order_seq_cst);
            r->state = CCN_FILLING;
            *d = (struct ccn_draft){ *id, row, n, r->first, n > 1 ? r->first : CCN_NIL, 0 };
            made = true;
        } else {
            ccn_store_empty(s);
        }
    }
    store_unlock(s);
    return made;
}

uint8_t *ccn_store_room(const struct ccn_store *s, struct ccn_draft *d, uint32_t i) {
    if (i >= d->n) return NULL;
    if (d->index != CCN_NIL) {
        if (d->index >= s->nblocks) return NULL;
        if (i >= d->index_at + ccn_per_index(s)) {
            d->index = ONCE(ccn_index_block(s, d->index)[ccn_per_index(s)]);
            d->index_at += ccn_per_index(s);
        }
        if (d->index >= s->nblocks || i < d->index_at || i - d->index_at >= ccn_per_index(s)) return NULL;
        d->block = ONCE(ccn_index_block(s, d->index)[i - d->index_at]) & ~CCN_FETCHED;
    }
    return d->block < s->nblocks ? s->blocks + (uint64_t)d->block * s->block : NULL;
}

void ccn_store_put(const struct ccn_store *s, const struct ccn_draft *d, size_t bytes) {
    if (d->block < s->nblocks && bytes <= s->block) s->lengths[d->block] = (uint16_t)bytes;
}

/* Its row, if all was not emptied meanwhile. */
static struct ccn_row *draft_row(const struct ccn_store *s, const struct ccn_draft *d) {
    struct ccn_row *r = s->rows + d->row;
    return r->state == CCN_FILLING && r->id.half[0] == d->id.half[0] && r->id.half[1] == d->id.half[1] ? r : NULL;
}

bool ccn_store_publish(const struct ccn_store *s, uint64_t now, struct ccn_draft *d) {
    struct ccn_row *r;

    if (!store_lock(s)) return false;
    r = draft_row(s, d);
    if (r) {
        r->touched = now;
        r->state = CCN_KEPT;
        ccn_bucket_add(s, r);
        ccn_list_add(s, r);
        s->area->counts.stored++;
    }
    store_unlock(s);
    return r != NULL;
}

void ccn_store_drop(const struct ccn_store *s, struct ccn_draft *d) {
    struct ccn_row *r;

    if (!store_lock(s)) return;
    r = draft_row(s, d);
    if (r) ccn_page_free(s, r);
    store_unlock(s);
}

void ccn_store_forget(const struct ccn_store *s, int32_t maker) {
    for (uint32_t i = 0; i < s->nblocks && store_lock(s);) {
        for (uint32_t end = s->nblocks - i < ROWS_AT_ONCE ? s->nblocks : i + ROWS_AT_ONCE; i < end; i++)
            if (s->rows[i].state == CCN_FILLING && s->rows[i].maker == maker) ccn_page_free(s, s->rows + i);
        store_unlock(s);
    }
}

/* ---- fetching ---------------------------------------------------------------------------------------------------- */

/* It goes out.  Who comes for what was fetched before does not keep the rest from others' pages. */
static void touch(const struct ccn_store *s, struct ccn_row *r, uint64_t now, uint32_t *entry) {
    bool first_time = entry ? !(*entry & CCN_FETCHED) : r->left != 0;

    s->area->counts.fetched++;
    s->area->counts.refetched += !first_time;
    if (!first_time && r->state != CCN_DONE) return;
    ccn_list_remove(s, r);
    r->touched = now;
    if (entry) *entry |= CCN_FETCHED;
    if (first_time && r->left && --r->left == 0) r->state = CCN_DONE;
    ccn_list_add(s, r);
}

static void keep_longer(const struct ccn_store *s, struct ccn_row *r, uint64_t now) {
    ccn_list_remove(s, r);
    r->touched = now;
    ccn_list_add(s, r);
}

/* `left`: NULL if it does not go out. */
static enum ccn_got copy_packet(const struct ccn_store *s, uint64_t now, const struct ccn_store_id *id,
                                uint64_t segment, void *out, size_t room, size_t *bytes, uint32_t *left) {
    enum ccn_got got = CCN_NO_PAGE;
    struct ccn_row *r;
    uint32_t b, *entry;

    if (!store_lock(s)) return CCN_NO_PAGE;
    r = ccn_bucket_find(s, id);
    if (r && segment >= r->n) got = CCN_NO_SEGMENT;
    else if (r) {
        b = ccn_block_of(s, r, (uint32_t)segment, &entry);
        *bytes = b < s->nblocks ? ONCE(s->lengths[b]) : 0;
        if (b >= s->nblocks || *bytes > s->block) {
            ccn_store_empty(s);
        } else if (*bytes > room) {
            got = CCN_NO_ROOM;
        } else {
            memcpy(out, s->blocks + (uint64_t)b * s->block, *bytes);
            if (left) touch(s, r, now, entry);
            else keep_longer(s, r, now);
            if (left) *left = r->left;
            got = CCN_GOT;
        }
    }
    store_unlock(s);
    return got;
}

enum ccn_got ccn_store_get(const struct ccn_store *s, uint64_t now, const struct ccn_store_id *id, uint64_t segment,
                           void *out, size_t room, size_t *bytes, uint32_t *left) {
    return copy_packet(s, now, id, segment, out, room, bytes, left);
}

enum ccn_got ccn_store_read(const struct ccn_store *s, uint64_t now, const struct ccn_store_id *id, uint64_t segment,
                            void *out, size_t room, size_t *bytes) {
    return copy_packet(s, now, id, segment, out, room, bytes, NULL);
}

enum ccn_got ccn_store_look(const struct ccn_store *s, const struct ccn_store_id *id, uint64_t segment,
                            uint32_t *left) {
    enum ccn_got got = CCN_NO_PAGE;
    const struct ccn_row *r;

    if (!store_lock(s)) return CCN_NO_PAGE;
    r = ccn_bucket_find(s, id);
    if (r) {
        got = segment < r->n ? CCN_GOT : CCN_NO_SEGMENT;
        *left = r->left;
    }
    store_unlock(s);
    return got;
}

uint32_t ccn_store_live(const struct ccn_store *s) {
    uint32_t live = atomic_load_explicit(&s->area->live, memory_order_relaxed);
    return live < s->nblocks ? live : s->nblocks;
}

static uint64_t ago(uint64_t now, uint64_t us) { return now > us ? now - us : 0; }

static bool sweep_one(const struct ccn_store *s, uint64_t now) {
    struct ccn_row *r;

    if (!store_lock(s)) return false;
    r = ccn_stale(s, CCN_OVER, ago(now, CCN_STORE_LINGER));
    if (!r) r = ccn_stale(s, CCN_LIVE, ago(now, s->keep));
    if (r) ccn_let_go(s, r);
    store_unlock(s);
    return r != NULL;
}

void ccn_store_sweep(const struct ccn_store *s, uint64_t now) {
    for (uint32_t pages = 0; pages < s->nblocks && sweep_one(s, now); pages++) continue;
}

void ccn_store_counts(const struct ccn_store *s, struct ccn_store_counts *c) {
    memset(c, 0, sizeof *c);
    if (!store_lock(s)) return;
    *c = s->area->counts;
    c->kept = s->area->list[CCN_LIVE].n;
    c->done = s->area->list[CCN_OVER].n;
    c->blocks_free = s->area->nfree;
    store_unlock(s);
}

const char *ccn_store_check(const struct ccn_store *s) {
    const char *wrong;

    if (!store_lock(s)) return "not locked";
    wrong = ccn_store_check_locked(s);
    store_unlock(s);
    return wrong;
}
