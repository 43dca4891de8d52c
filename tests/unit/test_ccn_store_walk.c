/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ccn_store_walk.c - random calls of a store, beside a plain model of it: after each both say the same of every
 * page.
 */
#include "run_suite.h"
#include "test_ccn_store.h"

#define BLOCKS 1200u
#define PAGES  64u
#define STEPS  6000u
#define WHO    5u

static struct place place;

struct page {
    uint64_t id;
    uint32_t state, n, left, put;
    uint64_t touched, turn; /* the smaller its turn, the sooner it goes */
    uint64_t published, holder;
    bool goes; /* if that makes room enough */
    int32_t maker;
    struct ccn_draft d;
    uint32_t filled[BLOCKS]; /* of packets: whether they were put */
    bool fetched[BLOCKS];
};

static struct {
    struct page page[PAGES];
    uint64_t now, turns, next, crowded;
    struct ccn_store_counts c;
} model;

static uint64_t model_free(void) {
    uint64_t used = 0;
    for (unsigned i = 0; i < PAGES; i++)
        if (model.page[i].state != CCN_FREE) used += blocks_of(model.page[i].n);
    return BLOCKS - used;
}

static struct page *model_next(uint32_t state) {
    struct page *first = NULL;
    for (struct page *p = model.page; p < model.page + PAGES; p++)
        if (p->state == state && !p->goes && (!first || p->turn < first->turn)) first = p;
    return first;
}

static struct page *model_stale(uint32_t state, uint64_t us) {
    struct page *p = model_next(state);
    return p && p->touched + us < model.now ? p : NULL;
}

static void model_evict(struct page *p) {
    model.c.evicted += p->state == CCN_KEPT;
    p->state = CCN_FREE;
}

static struct page *model_find(uint64_t id) {
    struct page *last = NULL;
    for (struct page *p = model.page; p < model.page + PAGES; p++)
        if (p->id == id && (p->state == CCN_KEPT || p->state == CCN_DONE) && (!last || p->published > last->published))
            last = p;
    return last;
}

static uint64_t model_held(uint64_t holder) {
    uint64_t blocks = 0;
    for (struct page *p = model.page; p < model.page + PAGES; p++)
        if (p->state != CCN_FREE && p->holder == holder && !p->goes) blocks += blocks_of(p->n);
    return blocks;
}

/* Of who keeps a page and holds most, if that is more than `mine`. */
static struct page *model_crowding(uint64_t mine) {
    struct page *most = NULL;

    for (uint64_t h = 0; h < WHO; h++) {
        struct page *first = NULL;
        for (struct page *p = model.page; p < model.page + PAGES; p++)
            if (p->state == CCN_KEPT && p->holder == h && !p->goes && (!first || p->turn < first->turn)) first = p;
        if (first && model_held(h) > (most ? model_held(most->holder) : mine)) most = first;
    }
    return most;
}

/* All of it, or nothing. */
static bool model_room(uint64_t holder, uint64_t blocks) {
    uint64_t room = model_free();

    while (room < blocks) {
        struct page *p = model_next(CCN_DONE);
        if (!p) p = model_stale(CCN_KEPT, CCN_STORE_IDLE);
        if (!p) p = model_crowding(model_held(holder) + blocks);
        if (!p) break;
        model.crowded += p->state == CCN_KEPT && p->touched + CCN_STORE_IDLE >= model.now;
        p->goes = true;
        room += blocks_of(p->n);
    }
    for (struct page *p = model.page; p < model.page + PAGES; p++) {
        if (p->goes && room >= blocks) model_evict(p);
        p->goes = false;
    }
    return room >= blocks;
}

static struct page *any_page(uint64_t *seed, uint32_t state) {
    for (int tries = 0; tries < 20; tries++) {
        struct page *p = model.page + chance_below(seed, PAGES);
        if (p->state == state) return p;
    }
    return NULL;
}

static void walk_begin(uint64_t *seed) {
    static const uint32_t likely[] = {
        1, 1, 1, 2, 3, 5, 20, 100, PER_INDEX - 1, PER_INDEX, PER_INDEX + 1, 2 * PER_INDEX, BLOCKS - 4, BLOCKS - 3
    };
    struct page *p = any_page(seed, CCN_FREE), *kept = any_page(seed, CCN_KEPT);
    uint32_t n = likely[chance_below(seed, sizeof likely / sizeof *likely)];
    uint64_t id = kept && chance_below(seed, 20) == 0 ? kept->id : model.next++;
    struct ccn_store_id store_id = id_of(&place.s, id);
    int32_t maker = (int32_t)chance_below(seed, 3);
    uint64_t holder = chance_below(seed, WHO);
    bool fits = blocks_of(n) <= BLOCKS;
    struct ccn_draft d;

    if (!p) return;
    store_id.holder = CCN_HOLDERS * chance_below(seed, 3) + holder;
    if (fits && !model_room(holder, blocks_of(n))) {
        model.c.full++;
        fits = false;
    }
    ck_assert_int_eq(ccn_store_begin(&place.s, model.now, maker, &store_id, n, &d), fits);
    if (!fits) return;
    memset(p, 0, sizeof *p);
    p->id = id;
    p->state = CCN_FILLING;
    p->n = p->left = n;
    p->maker = maker;
    p->holder = holder;
    p->d = d;
}

/* Some packets more, now and then not this one. */
static void walk_fill(uint64_t *seed) {
    struct page *p = any_page(seed, CCN_FILLING);
    uint32_t more = (uint32_t)chance_below(seed, 400);

    for (; p && more-- && p->put < p->n; p->put++) {
        ck_assert_ptr_nonnull(ccn_store_room(&place.s, &p->d, p->put));
        p->filled[p->put] = chance_below(seed, 100) != 0;
        if (p->filled[p->put]) put_packet(&place.s, &p->d, p->id, p->put);
    }
}

static void walk_publish(uint64_t *seed) {
    struct page *p = any_page(seed, CCN_FILLING);

    if (!p || (p->put < p->n && chance_below(seed, 10))) return;
    ck_assert(ccn_store_publish(&place.s, model.now, &p->d));
    model.c.stored++;
    p->state = CCN_KEPT;
    p->touched = model.now;
    p->turn = p->published = ++model.turns;
}

static void walk_drop(uint64_t *seed) {
    struct page *p = any_page(seed, CCN_FILLING);

    if (!p) return;
    ccn_store_drop(&place.s, &p->d);
    p->state = CCN_FREE;
}

static void walk_get(uint64_t *seed) {
    struct page *any = any_page(seed, chance_below(seed, 4) ? CCN_KEPT : CCN_DONE), *p;
    uint64_t id = any && chance_below(seed, 50) ? any->id : chance_below(seed, model.next + 2), i;
    struct ccn_store_id store_id = id_of(&place.s, id);
    uint8_t out[BLOCK];
    uint32_t left = 0;
    size_t n = 0;
    enum ccn_got got;

    p = model_find(id);
    i = chance_below(seed, p ? p->n + (p->n > 20 ? 5 : 1) : 3);
    ck_assert_int_eq(ccn_store_look(&place.s, &store_id, i, &left), !p         ? CCN_NO_PAGE
                                                                    : i < p->n ? CCN_GOT
                                                                               : CCN_NO_SEGMENT);
    if (p) ck_assert_uint_eq(left, p->left);
    got = ccn_store_get(&place.s, model.now, &store_id, i, out, sizeof out, &n, &left);
    ck_assert_int_eq(got, !p ? CCN_NO_PAGE : i < p->n ? CCN_GOT : CCN_NO_SEGMENT);
    if (got != CCN_GOT) return;
    if (p->filled[i]) ck_assert(packet_is(id, (uint32_t)i, out, n));
    else ck_assert_uint_eq(n, 0);
    model.c.fetched++;
    model.c.refetched += p->fetched[i];
    ck_assert_uint_eq(left, p->left - !p->fetched[i]);
    if (p->fetched[i] && p->left) return; /* who comes again keeps from nobody the room of what others left */
    p->left -= !p->fetched[i];
    p->fetched[i] = true;
    p->touched = model.now;
    p->turn = ++model.turns;
    if (!p->left) p->state = CCN_DONE;
}

static void walk_get_many(uint64_t *seed) {
    for (size_t n = chance_below(seed, 60); n; n--) walk_get(seed);
}

static void walk_sweep(uint64_t *seed) {
    struct page *p;

    model.now += chance_below(seed, 3 * SECOND);
    ccn_store_sweep(&place.s, model.now);
    while ((p = model_stale(CCN_DONE, CCN_STORE_LINGER)) != NULL || (p = model_stale(CCN_KEPT, KEEP)) != NULL)
        model_evict(p);
}

static void walk_forget(uint64_t *seed) {
    int32_t maker = (int32_t)chance_below(seed, 3);

    ccn_store_forget(&place.s, maker);
    for (struct page *p = model.page; p < model.page + PAGES; p++)
        if (p->state == CCN_FILLING && p->maker == maker) p->state = CCN_FREE;
}

static void expect_as_the_model(void) {
    struct ccn_store_counts c = counts_of(&place.s);
    uint32_t live = 0;

    model.c.kept = model.c.done = 0;
    for (struct page *p = model.page; p < model.page + PAGES; p++) {
        model.c.kept += p->state == CCN_KEPT;
        model.c.done += p->state == CCN_DONE;
        live += p->state == CCN_KEPT && p->n > 1;
    }
    model.c.blocks_free = model_free();
    ck_assert_mem_eq(&c, &model.c, sizeof c);
    ck_assert_uint_eq(ccn_store_live(&place.s), live);
    expect_sound(&place.s);
}

START_TEST(a_random_walk) {
    static void (*const steps[])(uint64_t *) = { walk_begin,    walk_begin,   walk_fill, walk_fill,
                                                 walk_publish,  walk_publish, walk_get,  walk_get_many,
                                                 walk_get_many, walk_sweep,   walk_drop };
    uint64_t seed = (uint64_t)_i;

    memset(&model, 0, sizeof model);
    for (unsigned i = 0; i < STEPS; i++) {
        model.now += chance_below(&seed, 20000);
        if (chance_below(&seed, 200) == 0) walk_forget(&seed);
        else steps[chance_below(&seed, sizeof steps / sizeof *steps)](&seed);
        expect_as_the_model();
    }
    /* It has seen all that it is to see. */
    ck_assert_uint_gt(model.c.full, 0);
    ck_assert_uint_gt(model.c.evicted, 0);
    ck_assert_uint_gt(model.crowded, 0);
    ck_assert_uint_gt(model.c.refetched, 0);
    ck_assert_uint_gt(model.c.stored, 100);
    ck_assert_uint_eq(model.c.emptied, 0);
}
END_TEST

static void make_store(void) { place_make(&place, BLOCKS, KEEP); }
static void free_store(void) { place_free(&place); }

int main(void) {
    Suite *s = suite_create("ccn_store_walk");
    TCase *t = tcase_create("chance");
    tcase_set_timeout(t, 120);

    tcase_add_checked_fixture(t, make_store, free_store);
    tcase_add_loop_test(t, a_random_walk, 0, 5);
    suite_add_tcase(s, t);
    return run_suite(s);
}
