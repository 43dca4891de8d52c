/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ccn_store_hostile.c - pages in memory that another process writes over: no call leads outside of it, none goes
 * in circles, and what can't be empties the store, which is sound then.
 */
#include "run_suite.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base_mutex.h"

/* Of what is read once, somebody may have written another value just before. */
static void meanwhile(const volatile void *at, size_t bytes);
#define ONCE(x) (meanwhile(&(x), sizeof(x)), *(volatile __typeof__(x) *)&(x))
static unsigned locked; /* how often */
static uint64_t looks;  /* words that were read */
#define base_mutex_take(lock, us) (locked++, base_mutex_take(lock, us))
#include "mod_ccn/ccn_store.c"
#include "mod_ccn/ccn_store_parts.c"
#include "mod_ccn/ccn_store_rebuild.c"
#include "mod_ccn/ccn_store_take.c"

#include "test_ccn_store.h"

#define BLOCKS     600u
#define OWNER_DIED 0x40000000u

static struct place place;
static struct ccn_draft draft; /* of a page of 2 packets */
static uint64_t *writes;       /* while calls are under way: by chance; NULL: nobody writes */

enum { ONE = 1, FEW, MANY, OVER, DRAFT };
static const uint32_t sizes[] = { [ONE] = 1, [FEW] = 3, [MANY] = PER_INDEX + 5, [OVER] = 2, [DRAFT] = 2 };

static void make_store(void) {
    uint32_t left;

    place_make(&place, BLOCKS, KEEP);
    for (uint64_t page = ONE; page <= OVER; page++) ck_assert(put_page(&place.s, page, page, sizes[page]));
    get_page(&place.s, 10, OVER, sizes[OVER]);
    ck_assert_int_eq(get_packet(&place.s, 10, FEW, 1, &left), CCN_GOT);
    ck_assert(begin_page(&place.s, 12, DRAFT, sizes[DRAFT], &draft));
}

static void free_store(void) { place_free(&place); }

static struct ccn_row *row_of(uint64_t page) {
    struct ccn_store_id id = id_of(&place.s, page);
    struct ccn_row *r = ccn_bucket_find(&place.s, &id);
    ck_assert_ptr_nonnull(r);
    return r;
}

static struct ccn_row *row_of_draft(void) { return place.s.rows + draft.row; }
static uint32_t *index_of(uint64_t page) { return ccn_index_block(&place.s, row_of(page)->first); }

/* ---- a word that can't be, and who finds it ---------------------------------------------------------------------- */

static void packet_nowhere(void) { index_of(FEW)[2] = BLOCKS; }
static void index_nowhere(void) { row_of(FEW)->first = BLOCKS; }
static void next_index_nowhere(void) { index_of(MANY)[PER_INDEX] = BLOCKS; }
static void only_packet_nowhere(void) { row_of(ONE)->first = CCN_NIL; }
static void packet_too_long(void) { place.s.lengths[index_of(FEW)[2]] = BLOCK + 1; }
static void page_too_long(void) { row_of(FEW)->n = UINT32_MAX; }
static void page_too_long_in_circles(void) {
    page_too_long();
    index_of(FEW)[PER_INDEX] = row_of(FEW)->first;
}
static void page_of_none(void) { row_of(FEW)->n = 0; }
static void free_blocks_nowhere(void) { place.s.area->free_block = BLOCKS; }
static void second_free_block_nowhere(void) { place.s.links[place.s.area->free_block] = BLOCKS; }
static void third_free_block_nowhere(void) { place.s.links[place.s.links[place.s.area->free_block]] = BLOCKS; }
static void more_is_free_than_there_is(void) { place.s.area->nfree = BLOCKS; }
static void state_of_none(void) { row_of(FEW)->state = CCN_STATES; }
static void a_block_of_two_pages(void) { index_of(FEW)[1] = index_of(MANY)[1]; }
static void an_index_that_is_its_own_packet(void) { index_of(FEW)[1] = row_of(FEW)->first; }
static void a_page_of_another_ones_block(void) { row_of(ONE)->first = index_of(FEW)[0]; }
static void a_draft_that_was_fetched(void) { ccn_index_block(&place.s, row_of_draft()->first)[1] |= CCN_FETCHED; }
static void a_draft_that_is_too_long(void) { row_of_draft()->n = CCN_SEGMENTS_MAX + 1; }

static void gets(void) {
    uint32_t left;
    ck_assert_int_eq(get_packet(&place.s, 20, FEW, 2, &left), CCN_NO_PAGE);
}

static void gets_the_only_one(void) {
    uint32_t left;
    ck_assert_int_eq(get_packet(&place.s, 20, ONE, 0, &left), CCN_NO_PAGE);
}

static void gets_a_late_one(void) {
    uint32_t left;
    ck_assert_int_eq(get_packet(&place.s, 20, MANY, PER_INDEX + 1, &left), CCN_NO_PAGE);
}

static void gets_one_far_behind(void) {
    uint32_t left;
    ck_assert_int_eq(get_packet(&place.s, 20, FEW, CCN_SEGMENTS_MAX, &left), CCN_NO_PAGE);
}

static void begins(void) { ck_assert(!put_page(&place.s, 20, 99, 3)); }
static void begins_a_small_one(void) { ck_assert(!put_page(&place.s, 20, 99, 1)); }
static void begins_a_large_one(void) { ck_assert(!put_page(&place.s, 20, 99, BLOCKS - 20)); }
static void sweeps(void) { ccn_store_sweep(&place.s, UINT64_C(100) * SECOND); }
static void forgets(void) { ccn_store_forget(&place.s, MAKER); }

static void comes_behind_a_dead_one(void) {
    place.s.area->lock.word = OWNER_DIED;
    ck_assert(!has_page(&place.s, FEW));
}

static const struct {
    void (*writes)(void), (*finds)(void);
} damages[] = {
    { packet_nowhere, gets },
    { packet_nowhere, sweeps },
    { packet_nowhere, comes_behind_a_dead_one },
    { index_nowhere, gets },
    { index_nowhere, sweeps },
    { index_nowhere, comes_behind_a_dead_one },
    { next_index_nowhere, gets_a_late_one },
    { next_index_nowhere, sweeps },
    { next_index_nowhere, comes_behind_a_dead_one },
    { only_packet_nowhere, gets_the_only_one },
    { only_packet_nowhere, sweeps },
    { only_packet_nowhere, comes_behind_a_dead_one },
    { packet_too_long, gets },
    { page_too_long, gets_one_far_behind },
    { page_too_long_in_circles, gets_one_far_behind },
    { page_too_long, sweeps },
    { page_too_long_in_circles, sweeps },
    { page_too_long, comes_behind_a_dead_one },
    { page_of_none, sweeps },
    { page_of_none, comes_behind_a_dead_one },
    { free_blocks_nowhere, begins },
    { free_blocks_nowhere, begins_a_small_one },
    { second_free_block_nowhere, begins },
    { third_free_block_nowhere, begins },
    { more_is_free_than_there_is, begins_a_large_one },
    { more_is_free_than_there_is, sweeps },
    { state_of_none, comes_behind_a_dead_one },
    { a_block_of_two_pages, comes_behind_a_dead_one },
    { an_index_that_is_its_own_packet, comes_behind_a_dead_one },
    { a_page_of_another_ones_block, comes_behind_a_dead_one },
    { a_draft_that_was_fetched, comes_behind_a_dead_one },
    { a_draft_that_is_too_long, forgets },
};

START_TEST(what_can_not_be_empties_the_store) {
    damages[_i].writes();
    damages[_i].finds();
    expect_sound(&place.s);
    ck_assert_uint_eq(counts_of(&place.s).emptied, 1);
    ck_assert_uint_eq(counts_of(&place.s).blocks_free, BLOCKS);
    ck_assert(!ccn_store_publish(&place.s, 20, &draft)); /* whoever fills a page finds that it is gone */
    ccn_store_drop(&place.s, &draft);
    ck_assert(put_page(&place.s, 20, 99, 500));
    get_page(&place.s, 20, 99, 500);
    expect_sound(&place.s);
}
END_TEST

/* A check that finds something says what, and does not go in circles itself. */
static void list_in_circles(void) { row_of(FEW)->link[CCN_BY_STATE].newer = row_of(ONE) - place.s.rows; }
static void list_ends_early(void) { row_of(ONE)->link[CCN_BY_STATE].newer = CCN_NIL; }
static struct ccn_link *kept_link(void) { return &row_of(FEW)->link[CCN_BY_HOLDER]; }
static void kept_in_circles(void) { kept_link()->newer = row_of(ONE) - place.s.rows; }
static void kept_ends_early(void) { place.s.area->kept[0].newest = kept_link()->older; }
static void kept_by_another(void) {
    place.s.area->kept[1] = place.s.area->kept[0];
    place.s.area->kept[0] = (struct ccn_list){ CCN_NIL, CCN_NIL, 0 };
}
static void free_rows_in_circles(void) { place.s.rows[place.s.area->free_row].next = place.s.area->free_row; }
static void free_rows_end_early(void) { place.s.rows[place.s.area->free_row].next = CCN_NIL; }
static void free_blocks_in_circles(void) { place.s.links[place.s.area->free_block] = place.s.area->free_block; }
static void free_blocks_end_early(void) { place.s.links[place.s.area->free_block] = CCN_NIL; }
static void not_in_its_bucket(void) { place.s.buckets[row_of(FEW)->id.half[0] & place.s.mask] = CCN_NIL; }
static void fewer_are_free(void) { place.s.area->nfree--; }
static void held_and_not_counted(void) { place.s.area->held[0]--; }
static void more_left_than_there_is(void) { row_of(FEW)->left = 4; }
static void done_and_something_left(void) { row_of(OVER)->left = 1; }
static void kept_and_nothing_left(void) { row_of(FEW)->left = 0; }
static void fetched_and_not_counted(void) { index_of(FEW)[2] |= CCN_FETCHED; }
static void counted_and_not_fetched(void) { index_of(FEW)[1] &= ~CCN_FETCHED; }

static const struct {
    void (*writes)(void);
    const char *says;
} unsound[] = {
    { state_of_none, "a page is in no state that there is" },
    { list_in_circles, "a page stands in no list" },
    { list_ends_early, "a page stands in no list" },
    { kept_in_circles, "a page stands in no holder's list" },
    { kept_ends_early, "a page stands in no holder's list" },
    { kept_by_another, "a page stands in another holder's list" },
    { free_rows_in_circles, "rows are lost" },
    { free_rows_end_early, "rows are lost" },
    { free_blocks_in_circles, "free blocks go in circles" },
    { free_blocks_end_early, "free blocks are miscounted" },
    { not_in_its_bucket, "a page stands in no bucket" },
    { fewer_are_free, "blocks are lost" },
    { more_left_than_there_is, "more is left of a page than it has" },
    { done_and_something_left, "a page is done and something is left of it" },
    { kept_and_nothing_left, "a page is done and something is left of it" },
    { fetched_and_not_counted, "what is left of a page is miscounted" },
    { counted_and_not_fetched, "what is left of a page is miscounted" },
    { held_and_not_counted, "what somebody holds is miscounted" },
    { packet_nowhere, "a page's packet is nowhere" },
    { next_index_nowhere, "a page's packet is nowhere" },
};

START_TEST(a_check_that_finds_something) {
    const char *wrong;

    unsound[_i].writes();
    wrong = ccn_store_check(&place.s);
    ck_assert_ptr_nonnull(wrong);
    ck_assert_str_eq(wrong, unsound[_i].says);
}
END_TEST

/* Whose number is the first that is nobody's has no row: what would be written there stands in other memory. */
static void newer_is_just_behind(void) { row_of(FEW)->link[CCN_BY_STATE].newer = BLOCKS; }
static void older_is_just_behind(void) { row_of(FEW)->link[CCN_BY_STATE].older = BLOCKS; }
static void newest_is_just_behind(void) { place.s.area->list[CCN_LIVE].newest = BLOCKS; }
static void oldest_are_just_behind(void) {
    place.s.area->list[CCN_LIVE].oldest = place.s.area->list[CCN_OVER].oldest = BLOCKS;
}

static void kept_newer_is_just_behind(void) { kept_link()->newer = BLOCKS; }
static void kept_older_is_just_behind(void) { kept_link()->older = BLOCKS; }
static void kept_newest_is_just_behind(void) { place.s.area->kept[0].newest = BLOCKS; }
static void kept_oldest_is_just_behind(void) { place.s.area->kept[0].oldest = BLOCKS; }

static void gets_another(void) {
    uint32_t left;
    ck_assert_int_eq(get_packet(&place.s, 20, FEW, 2, &left), CCN_GOT);
}
static void sweeps_at_last(void) { ccn_store_sweep(&place.s, UINT64_MAX); }
/* All but what is being filled, of which the holder holds more than the newcomer asks for. */
static bool another_asks(uint32_t n) {
    struct ccn_store_id id = id_of(&place.s, 99);
    struct ccn_draft d;

    id.holder = 1;
    return ccn_store_begin(&place.s, 20, MAKER, &id, n, &d);
}
static void another_finds_none(void) {
    struct ccn_draft d;
    ck_assert(begin_page(&place.s, 20, 98, (uint32_t)counts_of(&place.s).blocks_free - 2, &d));
    ck_assert(!another_asks(10));
}
static void finds_no_room(void) { ck_assert(!put_page(&place.s, UINT64_MAX, 99, BLOCKS - 20)); }

static const struct {
    void (*writes)(void), (*does)(void);
} just_behind[] = {
    { newer_is_just_behind, gets_another },
    { older_is_just_behind, gets_another },
    { newest_is_just_behind, gets_another },
    { oldest_are_just_behind, sweeps_at_last },
    { oldest_are_just_behind, finds_no_room },
    { kept_newer_is_just_behind, gets_another },
    { kept_older_is_just_behind, gets_another },
    { kept_newest_is_just_behind, gets_another },
    { kept_oldest_is_just_behind, another_finds_none },
};

START_TEST(a_row_just_behind) {
    size_t n = (size_t)(place.s.blocks - (uint8_t *)(place.s.rows + BLOCKS));
    uint8_t *before = malloc(n);

    ck_assert_ptr_nonnull(before);
    just_behind[_i].writes();
    memcpy(before, place.s.rows + BLOCKS, n);
    just_behind[_i].does();
    ck_assert_mem_eq(place.s.rows + BLOCKS, before, n);
    free(before);
}
END_TEST

START_TEST(no_page_is_found_just_behind) {
    struct ccn_row behind = { .id = id_of(&place.s, 99), .state = CCN_KEPT, .n = 1, .left = 1 };
    uint32_t left;

    memcpy(place.s.rows + BLOCKS, &behind, sizeof behind);
    place.s.buckets[behind.id.half[0] & place.s.mask] = BLOCKS;
    ck_assert_int_eq(get_packet(&place.s, 20, 99, 0, &left), CCN_NO_PAGE);
}
END_TEST

/* Nor has a block of that number: nothing is there to read or to write. */
START_TEST(a_block_just_behind) {
    struct place much;
    struct ccn_draft d;
    uint16_t *behind;

    place_make(&much, 3 * PER_INDEX, KEEP);
    behind = much.s.lengths + 3 * PER_INDEX;
    ck_assert(begin_page(&much.s, 0, 99, PER_INDEX + 2, &d));
    ccn_index_block(&much.s, d.index)[0] = 3 * PER_INDEX;
    *behind = 0;
    ck_assert_ptr_null(ccn_store_room(&much.s, &d, 0));
    ccn_store_put(&much.s, &d, 100);
    ck_assert_uint_eq(*behind, 0);
    ck_assert_ptr_nonnull(ccn_store_room(&much.s, &d, 1));
    ccn_index_block(&much.s, d.index)[PER_INDEX] = 3 * PER_INDEX;
    d.n = CCN_SEGMENTS_MAX;
    for (uint32_t i = PER_INDEX; i < d.n; i += PER_INDEX - 1) ck_assert_ptr_null(ccn_store_room(&much.s, &d, i));
    place_free(&much);
}
END_TEST

/* A number of rows that does not come out even: what stands behind the last may look like a page of the dead one's. */
START_TEST(no_row_behind_the_last_is_forgotten) {
    const uint32_t blocks = ROWS_AT_ONCE + 16;
    struct ccn_row behind = { .state = CCN_FILLING, .maker = MAKER, .n = 1 };
    struct place much;
    struct ccn_draft d;

    place_make(&much, blocks, KEEP);
    ck_assert(begin_page(&much.s, 0, 99, 2, &d));
    for (uint32_t i = 1; i < 16; i++) memcpy(much.s.rows + blocks + i, &behind, sizeof behind);
    ccn_store_forget(&much.s, MAKER);
    for (uint32_t i = 1; i < 16; i++) ck_assert_mem_eq(much.s.rows + blocks + i, &behind, sizeof behind);
    ck_assert_int_eq(much.s.rows[d.row].state, CCN_FREE);
    place_free(&much);
}
END_TEST

/* Who makes room comes to what is no page that is kept: nobody's page goes that is being filled. */
START_TEST(a_holders_list_leads_elsewhere) {
    struct ccn_draft d;

    ck_assert(begin_page(&place.s, 20, 98, (uint32_t)counts_of(&place.s).blocks_free - 2, &d));
    place.s.area->kept[0].oldest = _i ? draft.row : place.s.area->free_row;
    if (_i) another_asks(5);
    else place.s.rows[place.s.area->free_row].n = 9, another_asks(5);
    expect_sound(&place.s);
    ck_assert_uint_eq(counts_of(&place.s).emptied, 1);
}
END_TEST

/* ---- any words --------------------------------------------------------------------------------------------------- */

/* Where there is something, or just not; a bit that means something; or anything. */
static uint32_t likely_word(uint64_t *seed) {
    switch (chance_below(seed, 8)) {
    case 0: return (uint32_t)chance(seed);
    case 1: return BLOCKS - 1 + (uint32_t)chance_below(seed, 3);
    case 2: return CCN_NIL - (uint32_t)chance_below(seed, 3);
    case 3: return CCN_FETCHED | (uint32_t)chance_below(seed, BLOCKS + 2);
    case 4: return (uint32_t)chance_below(seed, 5);
    case 5: return CCN_SEGMENTS_MAX - 1 + (uint32_t)chance_below(seed, 3);
    default: return (uint32_t)chance_below(seed, BLOCKS);
    }
}

/* Anywhere but in the lock; more often where links are than in what packets say. */
static void write_a_word(uint64_t *seed) {
    volatile uint32_t *words = (volatile uint32_t *)(void *)place.s.area;
    size_t all = place.bytes / 4,
           links = (size_t)((uint32_t *)(void *)place.s.blocks - (uint32_t *)(void *)place.s.area),
           head = sizeof *place.s.area / 4, at;
    static const size_t heads = 8;

    at = chance_below(seed, heads) == 0 ? chance_below(seed, head)
                                        : chance_below(seed, chance_below(seed, 4) ? links : all);
    if (at) words[at] = likely_word(seed);
}

static void meanwhile(const volatile void *at, size_t bytes) {
    uint32_t word;

    looks++;
    if (!writes || chance_below(writes, 16)) return;
    word = likely_word(writes);
    memcpy((void *)(uintptr_t)at, &word, bytes < sizeof word ? bytes : sizeof word);
}

/* Calls of all kinds, whatever they find. */
static void call_something(uint64_t *seed, struct ccn_draft drafts[4], uint8_t *out) {
    static const uint32_t likely[] = { 1, 1, 2, 3, 7, PER_INDEX, PER_INDEX + 1, BLOCKS - 2, CCN_SEGMENTS_MAX };
    struct ccn_draft *d = &drafts[chance_below(seed, 4)];
    uint64_t page = chance_below(seed, 40), now = chance_below(seed, 20) * SECOND;
    struct ccn_store_id id = id_of(&place.s, page);
    struct ccn_store_counts c;
    uint32_t left, n = likely[chance_below(seed, sizeof likely / sizeof *likely)];
    size_t bytes = 0;
    uint8_t *room;

    id.holder = chance_below(seed, 4);
    switch (chance_below(seed, 10)) {
    case 0:
    case 1:
        if (ccn_store_begin(&place.s, now, MAKER, &id, n, d)) ck_assert_uint_lt(d->row, BLOCKS);
        break;
    case 2:
    case 3:
        for (uint32_t i = 0; i < d->n && i < 1000; i++) {
            room = ccn_store_room(&place.s, d, i);
            if (!room) break;
            ck_assert(room >= place.s.blocks && room <= place.s.blocks + (size_t)(BLOCKS - 1) * BLOCK);
            memset(room, (int)page, BLOCK);
            ccn_store_put(&place.s, d, chance_below(seed, BLOCK + 2));
        }
        break;
    case 4: ccn_store_publish(&place.s, now, d); break;
    case 5: ccn_store_drop(&place.s, d); break;
    case 6: ccn_store_sweep(&place.s, now); break;
    case 7:
        if (chance_below(seed, 4) == 0) ccn_store_forget(&place.s, MAKER);
        ccn_store_counts(&place.s, &c);
        ck_assert_uint_le(ccn_store_live(&place.s), BLOCKS);
        break;
    case 8: ccn_store_look(&place.s, &id, chance(seed), &left); break;
    default:
        if (ccn_store_get(&place.s, now, &id,
                          chance_below(seed, 4) ? chance_below(seed, 8) : chance(seed) % CCN_SEGMENTS_MAX, out, BLOCK,
                          &bytes, &left) == CCN_GOT)
            ck_assert_uint_le(bytes, BLOCK);
        break;
    }
}

/* Then somebody dies, and all is sound again: whatever rows say, they are pages, or there is none. */
static void expect_sound_behind_a_death(void) {
    place.s.area->lock.word = OWNER_DIED;
    expect_sound(&place.s);
    for (uint64_t page = 0; page < 40; page++) {
        uint32_t left;
        struct ccn_store_id id = id_of(&place.s, page);
        uint8_t out[BLOCK];
        size_t n;
        ccn_store_get(&place.s, 1, &id, 0, out, sizeof out, &n, &left);
    }
    ccn_store_sweep(&place.s, UINT64_MAX);
    expect_sound(&place.s);
}

START_TEST(written_over_between_calls_and_in_them) {
    uint8_t *out = malloc(BLOCK), *pristine = malloc(place.bytes);
    uint64_t seed = (uint64_t)_i;

    ck_assert(out && pristine);
    memcpy(pristine, place.s.area, place.bytes);
    for (int tries = 0; tries < 60; tries++) {
        struct ccn_draft drafts[4] = { draft, draft, draft, draft };
        memcpy(place.s.area, pristine, place.bytes);
        for (int calls = 0; calls < 300; calls++) {
            if (chance_below(&seed, 1 + (size_t)_i % 8 * 4) == 0) write_a_word(&seed);
            writes = _i % 2 ? &seed : NULL;
            call_something(&seed, drafts, out);
            writes = NULL;
        }
        expect_sound_behind_a_death();
    }
    free(out);
    free(pristine);
}
END_TEST

START_TEST(written_over_with_random_words) {
    uint64_t seed = (uint64_t)_i;
    uint8_t *out = malloc(BLOCK);
    struct ccn_draft drafts[4] = { draft, draft, draft, draft };

    ck_assert_ptr_nonnull(out);
    for (size_t at = 1; at < place.bytes / 4; at++)
        ((uint32_t *)(void *)place.s.area)[at] = _i % 2 ? (uint32_t)chance(&seed) : likely_word(&seed);
    for (int calls = 0; calls < 300; calls++) call_something(&seed, drafts, out);
    expect_sound_behind_a_death();
    free(out);
}
END_TEST

/* Another process writes all the time: what was judged is what is used. */
START_TEST(written_over_all_the_time) {
    uint8_t *out = malloc(BLOCK);
    struct ccn_draft drafts[4] = { draft, draft, draft, draft };
    uint64_t seed = (uint64_t)_i;
    int status;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (!pid)
        for (uint64_t theirs = (uint64_t)_i + 1000;;) write_a_word(&theirs);
    ck_assert_ptr_nonnull(out);
    for (int calls = 0; calls < 20000; calls++) call_something(&seed, drafts, out);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    expect_sound_behind_a_death();
    free(out);
}
END_TEST

/* ---- the lock ---------------------------------------------------------------------------------------------------- */

/* However much there is to do, others come in between. */
START_TEST(the_lock_is_given_back_in_between) {
    struct place much;
    struct ccn_draft d;

    place_make(&much, 3 * ROWS_AT_ONCE, KEEP);
    ck_assert(begin_page(&much.s, 0, 1000, 2, &d));
    for (uint64_t page = 0; page < 100; page++) put_page(&much.s, 0, page, 2);
    locked = 0;
    ccn_store_sweep(&much.s, UINT64_C(100) * SECOND);
    ck_assert_uint_ge(locked, 100);
    ck_assert_uint_eq(counts_of(&much.s).blocks_free, 3 * ROWS_AT_ONCE - 3);
    locked = 0;
    ccn_store_forget(&much.s, MAKER);
    ck_assert_uint_eq(locked, 3);
    ck_assert_uint_eq(counts_of(&much.s).blocks_free, 3 * ROWS_AT_ONCE);
    place_free(&much);
}
END_TEST

/*
 * Pages of one packet that thousands of others keep stand before the ones of who holds most.  A newcomer's page costs
 * as many looks as it has blocks, times a few, and for each holder a few.
 */
START_TEST(the_work_is_that_of_the_page) {
    static const uint32_t sizes_of_pages[] = { 1, 2, 50, PER_INDEX + 1, 3000 };
    const uint32_t others = 10000, blocks = 3 * others;
    struct ccn_store_id id;
    struct ccn_draft d;
    struct place much;

    place_make(&much, blocks, KEEP);
    for (uint32_t page = 0; page < blocks; page++) {
        id = id_of(&much.s, page);
        id.holder = page < others ? 2 + page % 200 : 1;
        ck_assert(ccn_store_begin(&much.s, 0, MAKER, &id, 1, &d) && ccn_store_publish(&much.s, 0, &d));
    }
    for (size_t i = 0; i < ROWS(sizes_of_pages); i++) {
        id = id_of(&much.s, blocks + i);
        id.holder = 250 + i;
        looks = 0;
        ck_assert(ccn_store_begin(&much.s, 0, MAKER, &id, sizes_of_pages[i], &d));
        ck_assert_uint_lt(looks, 4 * CCN_HOLDERS + 32 * blocks_of(sizes_of_pages[i]));
    }
    for (uint32_t page = 0; page < others; page++) ck_assert(has_page(&much.s, page));
    expect_sound(&much.s);
    place_free(&much);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccn_store_hostile");
    TCase *t = tcase_create("memory");
    tcase_set_timeout(t, 120);

    tcase_add_checked_fixture(t, make_store, free_store);
    tcase_add_loop_test(t, what_can_not_be_empties_the_store, 0, ROWS(damages));
    tcase_add_loop_test(t, a_check_that_finds_something, 0, ROWS(unsound));
    tcase_add_loop_test(t, a_row_just_behind, 0, ROWS(just_behind));
    tcase_add_test(t, no_page_is_found_just_behind);
    tcase_add_test(t, a_block_just_behind);
    tcase_add_test(t, no_row_behind_the_last_is_forgotten);
    tcase_add_loop_test(t, a_holders_list_leads_elsewhere, 0, 2);
    tcase_add_loop_test(t, written_over_between_calls_and_in_them, 0, 24);
    tcase_add_loop_test(t, written_over_with_random_words, 0, 100);
    tcase_add_loop_test(t, written_over_all_the_time, 0, 5);
    tcase_add_test(t, the_lock_is_given_back_in_between);
    tcase_add_test(t, the_work_is_that_of_the_page);
    suite_add_tcase(s, t);
    return run_suite(s);
}
