/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ccn_store_death.c - pages that processes share, of which any may be killed at any instruction: the next one goes
 * on with everything that was kept, and no block is lost.
 */
#include "run_suite.h"
#include "test_ccn_store.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS     24u
#define OWNER      0x3fffffffu /* bits of a futex: who holds it, and that who held it died */
#define OWNER_DIED 0x40000000u

static struct place place, copy; /* of the same size and keys */
static struct ccn_draft draft;

enum { UNTOUCHED = 1, TOUCHED, OVER, SINGLE, DRAFT, NEW };
static const uint32_t sizes[] = { [UNTOUCHED] = 3, [TOUCHED] = 3, [OVER] = 2, [SINGLE] = 1, [DRAFT] = 2 };

static void make_stores(void) {
    uint32_t left;

    place_make(&place, BLOCKS, KEEP);
    place_make(&copy, BLOCKS, KEEP);
    memcpy(copy.s.key, place.s.key, sizeof copy.s.key);
    for (uint64_t page = UNTOUCHED; page <= SINGLE; page++) ck_assert(put_page(&place.s, page, page, sizes[page]));
    get_page(&place.s, 10, OVER, sizes[OVER]);
    for (uint32_t i = 0; i < 2; i++) ck_assert_int_eq(get_packet(&place.s, 11, TOUCHED, i, &left), CCN_GOT);
    ck_assert(begin_page(&place.s, 12, DRAFT, sizes[DRAFT], &draft));
    for (uint32_t i = 0; i < sizes[DRAFT]; i++) put_packet(&place.s, &draft, DRAFT, i);
    expect_sound(&place.s);
}

static void free_stores(void) {
    place_free(&place);
    place_free(&copy);
}

/* ---- what a process is killed in --------------------------------------------------------------------------------- */

static uint32_t left_of;

static void begins(void) {
    struct ccn_draft d;
    begin_page(&place.s, 20, NEW, 3, &d);
}

static void begins_where_room_is_made(void) {
    struct ccn_draft d;
    begin_page(&place.s, 20, NEW, 11, &d);
}

static void begins_a_small_one(void) {
    struct ccn_draft d;
    begin_page(&place.s, 20, NEW, 1, &d);
}

static void publishes(void) { ccn_store_publish(&place.s, 20, &draft); }
static void drops(void) { ccn_store_drop(&place.s, &draft); }
static void forgets(void) { ccn_store_forget(&place.s, MAKER); }
static void sweeps(void) { ccn_store_sweep(&place.s, UINT64_C(100) * SECOND); }
static void gets_a_first_one(void) { get_packet(&place.s, 20, UNTOUCHED, 0, &left_of); }
static void gets_a_last_one(void) { get_packet(&place.s, 20, TOUCHED, 2, &left_of); }
static void gets_the_only_one(void) { get_packet(&place.s, 20, SINGLE, 0, &left_of); }
static void gets_one_again(void) { get_packet(&place.s, 20, OVER, 1, &left_of); }

/* Somebody died before, and this one dies while it makes all anew. */
static void makes_all_anew(void) {
    place.s.area->lock.word = OWNER_DIED;
    place.s.area->list[CCN_LIVE] = (struct ccn_list){ 3, 3, 1 };
    ccn_store_check(&place.s);
}

static const struct {
    void (*does)(void);
    unsigned may_go; /* pages: 1 << page */
} calls[] = {
    { begins, 0 },
    { begins_where_room_is_made, 1 << OVER },
    { begins_a_small_one, 0 },
    { publishes, 0 },
    { drops, 0 },
    { forgets, 0 },
    { sweeps, 1 << UNTOUCHED | 1 << TOUCHED | 1 << OVER | 1 << SINGLE },
    { gets_a_first_one, 0 },
    { gets_a_last_one, 0 },
    { gets_the_only_one, 0 },
    { gets_one_again, 0 },
    { makes_all_anew, 0 },
};

/* ---- what the next one finds ------------------------------------------------------------------------------------- */

/* All of it is there, and it is done then; or nothing is, and it may be so. */
static void expect_whole_or_gone(const struct ccn_store *s, uint64_t page, uint32_t n, bool may_go) {
    uint32_t left = 0;

    if (!has_page(s, page)) {
        ck_assert_msg(may_go, "page %u is gone", (unsigned)page);
        return;
    }
    get_page(s, 30, page, n);
    ck_assert_int_eq(get_packet(s, 30, page, n - 1, &left), CCN_GOT);
    ck_assert_uint_eq(left, 0);
}

static void expect_all_kept(const struct ccn_store *s, unsigned may_go) {
    const char *wrong = ccn_store_check(s);

    ck_assert_msg(!wrong, "%s", wrong);
    ck_assert_uint_eq(counts_of(s).emptied, 0);
    ck_assert(!has_page(s, NEW));
    for (uint64_t page = UNTOUCHED; page <= DRAFT; page++)
        expect_whole_or_gone(s, page, sizes[page], page == DRAFT || may_go >> page & 1);
    expect_sound(s);
    /* It goes on: pages come and go, and with the dead maker's nothing of theirs is left. */
    ccn_store_forget(s, MAKER);
    ck_assert(put_page(s, 30, 99, 10));
    get_page(s, 30, 99, 10);
    ccn_store_sweep(s, UINT64_C(1000) * SECOND);
    ck_assert_uint_eq(counts_of(s).blocks_free, BLOCKS);
    expect_sound(s);
}

/* ---- one instruction after the other ----------------------------------------------------------------------------- */

static pid_t start_stepped(void (*does)(void)) {
    int status;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (!pid) {
        base_mutex_forked();
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(2);
        raise(SIGSTOP);
        does();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSTOPPED(status), "a process must be allowed to trace its child");
    return pid;
}

/* False: it has ended. */
static bool step(pid_t pid) {
    int status;

    ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status)) ck_assert_int_eq(WEXITSTATUS(status), 0);
    return WIFSTOPPED(status);
}

static void kill_now(pid_t pid) {
    int status;

    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
}

static bool is_held(void) { return place.s.area->lock.word & OWNER; }

/* As if it died just now: a copy of what it has written so far, and of a lock that is marked as the kernel does it. */
static void expect_survived(unsigned may_go) {
    memcpy(copy.s.area, place.s.area, place.bytes);
    if (is_held()) copy.s.area->lock.word = OWNER_DIED;
    expect_all_kept(&copy.s, may_go);
}

START_TEST(dead_at_any_instruction) {
    uint8_t *seen = malloc(place.bytes);
    pid_t pid = start_stepped(calls[_i].does);
    unsigned states = 0;

    ck_assert_ptr_nonnull(seen);
    memcpy(seen, place.s.area, place.bytes);
    while (step(pid)) {
        if (!memcmp(seen, place.s.area, place.bytes)) continue;
        memcpy(seen, place.s.area, place.bytes);
        states++;
        expect_survived(calls[_i].may_go);
    }
    ck_assert_uint_gt(states, 3);
    free(seen);
}
END_TEST

static uint64_t wall_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Really killed, a few instructions after it has taken the lock: who comes next need not wait for it. */
START_TEST(killed_with_the_lock) {
    pid_t pid = start_stepped(calls[_i / 4].does);
    unsigned more = (unsigned)(_i % 4) * 60;
    uint64_t began;

    while (!is_held()) ck_assert(step(pid));
    while (more-- && is_held()) ck_assert(step(pid));
    if (is_held()) {
        kill_now(pid);
        ck_assert_uint_eq(place.s.area->lock.word & (OWNER | OWNER_DIED), OWNER_DIED);
    } else {
        kill_now(pid);
    }
    began = wall_us();
    ck_assert(has_page(&place.s, UNTOUCHED) || calls[_i / 4].may_go);
    ck_assert_uint_lt(wall_us() - began, 500000);
    expect_all_kept(&place.s, calls[_i / 4].may_go);
}
END_TEST

/* ---- the lock ---------------------------------------------------------------------------------------------------- */

/* Somebody who lives keeps it, or says so: nobody waits for long, and nothing is there. */
START_TEST(a_lock_that_is_kept) {
    struct ccn_store_counts c;
    struct ccn_draft d;
    uint32_t left = 5;
    uint64_t began = wall_us();

    place.s.area->lock.word = (uint32_t)getppid();
    switch (_i) {
    case 0: ck_assert_int_eq(get_packet(&place.s, 0, SINGLE, 0, &left), CCN_NO_PAGE); break;
    case 1: ck_assert(!begin_page(&place.s, 0, 99, 1, &d)); break;
    case 2: ck_assert(!ccn_store_publish(&place.s, 0, &draft)); break;
    case 3: ccn_store_drop(&place.s, &draft); break;
    case 4: ccn_store_sweep(&place.s, UINT64_MAX); break;
    case 5: ccn_store_forget(&place.s, MAKER); break;
    case 6: ck_assert_str_eq(ccn_store_check(&place.s), "not locked"); break;
    case 7: ck_assert(!has_page(&place.s, SINGLE)); break;
    default:
        memset(&c, 1, sizeof c);
        ccn_store_counts(&place.s, &c);
        ck_assert(c.kept == 0 && c.stored == 0 && c.blocks_free == 0);
    }
    ck_assert_uint_lt(wall_us() - began, 1500000);
    ck_assert_uint_eq(place.s.area->lock.word & OWNER, (uint32_t)getppid());
    place.s.area->lock.word = 0;
    ck_assert_uint_eq(left, 5);
    ck_assert_uint_eq(counts_of(&place.s).kept, 3); /* and nothing was changed */
    ck_assert(ccn_store_publish(&place.s, 0, &draft));
    expect_sound(&place.s);
}
END_TEST

static unsigned stuck; /* how often */

/* As the segment's owner does it: zeroes in the place of what was there. */
static void put_zeroes(const char *why) {
    ck_assert_ptr_nonnull(strstr(why, "not given back"));
    stuck++;
    memset(place.s.area, 0, place.bytes);
}

/* Nobody waits for it twice: there is other memory, a page that was being filled is gone, and all goes on. */
START_TEST(a_lock_that_is_never_given_back) {
    uint64_t began = wall_us();
    uint32_t left;

    place.s.stuck = put_zeroes;
    place.s.area->lock.word = (uint32_t)getppid();
    ck_assert_int_eq(get_packet(&place.s, 0, SINGLE, 0, &left), CCN_NO_PAGE);
    ck_assert_uint_eq(stuck, 1);
    ck_assert_uint_ge(wall_us() - began, 700000);
    ck_assert_uint_lt(wall_us() - began, 1500000);
    began = wall_us();
    ck_assert(!ccn_store_publish(&place.s, 0, &draft));
    ck_assert(put_page(&place.s, 0, 99, 3));
    get_page(&place.s, 0, 99, 3);
    ck_assert_uint_lt(wall_us() - began, 500000);
    ck_assert_uint_eq(stuck, 1);
    expect_sound(&place.s);
}
END_TEST

static _Atomic bool over;

/* It counts as if others took it all the time; and holds it for a second of all that, or for ever. */
static void *pass_on(void *ms) {
    uint64_t until = wall_us() + (uintptr_t)ms * 1000;

    while (!over && wall_us() < until) {
        ONCE(place.s.area->turns)++;
        usleep(1000);
    }
    if (!over) place.s.area->lock.word = 0;
    return NULL;
}

/* Where others take turns it is waited for; but not for ever, since whoever holds it can say so, too. */
START_TEST(a_lock_that_goes_from_hand_to_hand) {
    uint64_t began = wall_us();
    pthread_t thread;
    uint32_t left;

    place.s.stuck = put_zeroes;
    place.s.area->lock.word = (uint32_t)getppid();
    ck_assert_int_eq(pthread_create(&thread, NULL, pass_on, (void *)(uintptr_t)(_i ? 60000 : 1000)), 0);
    ck_assert_int_eq(get_packet(&place.s, 0, SINGLE, 0, &left), _i ? CCN_NO_PAGE : CCN_GOT);
    ck_assert_uint_eq(stuck, _i);
    ck_assert_uint_ge(wall_us() - began, _i ? 2000000 : 900000);
    over = true;
    pthread_join(thread, NULL);
}
END_TEST

/* ---- many, who are killed one after the other -------------------------------------------------------------------- */

#define WORKERS 3u
#define ANCHORS 8u
#define KILLS   60

static struct place busy;
static _Atomic uint64_t *called; /* by each worker, how often it called */

static uint32_t anchor_size(uint64_t page) { return page % 2 ? 1 : 2 + (uint32_t)page * 9; }

/* Makes pages of its own, fetches them, gives some up; and at what others are doing it looks on. */
static void work(unsigned which, uint64_t seed) {
    base_mutex_forked();
    for (uint64_t page = (uint64_t)getpid() << 20;; page++) {
        uint32_t n = 1 + (uint32_t)chance_below(&seed, 30), left;
        struct ccn_store_id id = id_of(&busy.s, page);
        struct ccn_draft d;

        atomic_fetch_add(&called[which], 1);
        get_packet(&busy.s, SECOND, chance_below(&seed, ANCHORS), 0, &left);
        if (!ccn_store_begin(&busy.s, SECOND, getpid(), &id, n, &d)) continue;
        for (uint32_t i = 0; i < n; i++) put_packet(&busy.s, &d, page, i);
        if (chance_below(&seed, 5) == 0) {
            ccn_store_drop(&busy.s, &d);
            continue;
        }
        if (!ccn_store_publish(&busy.s, SECOND, &d)) _exit(3);
        for (uint32_t i = 0; i < n; i++)
            if (get_packet(&busy.s, SECOND, page, i, &left) != CCN_GOT || left != n - 1 - i) _exit(4);
    }
}

static pid_t start_worker(unsigned which, uint64_t seed) {
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) work(which, seed);
    return pid;
}

/* What one has published and nobody has fetched stays, whoever else is killed; its own pages go when it is known. */
START_TEST(one_after_the_other_is_killed) {
    uint64_t seed = 1;
    pid_t pid[WORKERS];

    place_make(&busy, 400, KEEP);
    called = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(called, MAP_FAILED);
    for (uint64_t page = 0; page < ANCHORS; page++) ck_assert(put_page(&busy.s, SECOND, page, anchor_size(page)));
    for (unsigned i = 0; i < WORKERS; i++) pid[i] = start_worker(i, i);
    for (unsigned kills = 0; kills < KILLS; kills++) {
        unsigned i = kills % WORKERS;
        uint64_t until = atomic_load(&called[i]) + 1 + chance_below(&seed, 50);
        uint32_t left;

        while (atomic_load(&called[i]) < until) ck_assert_int_eq(waitpid(pid[i], NULL, WNOHANG), 0);
        kill_now(pid[i]);
        for (uint64_t page = 0; page < ANCHORS; page += 2)
            for (uint32_t k = 0; k + 1 < anchor_size(page); k++)
                ck_assert_int_eq(get_packet(&busy.s, SECOND, page, k, &left), CCN_GOT);
        ccn_store_forget(&busy.s, pid[i]);
        expect_sound(&busy.s);
        pid[i] = start_worker(i, kills + WORKERS);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        kill_now(pid[i]);
        ccn_store_forget(&busy.s, pid[i]);
    }
    expect_sound(&busy.s);
    ck_assert_uint_eq(counts_of(&busy.s).emptied, 0);
    ccn_store_sweep(&busy.s, UINT64_C(100) * SECOND);
    ck_assert_uint_eq(counts_of(&busy.s).blocks_free, 400);
    munmap(called, PAGE_SIZE);
    place_free(&busy);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccn_store_death");
    TCase *t = tcase_create("processes");
    tcase_set_timeout(t, 300);

    tcase_add_checked_fixture(t, make_stores, free_stores);
    tcase_add_loop_test(t, dead_at_any_instruction, 0, ROWS(calls));
    tcase_add_loop_test(t, killed_with_the_lock, 0, 4 * ROWS(calls));
    tcase_add_loop_test(t, a_lock_that_is_kept, 0, 9);
    tcase_add_test(t, a_lock_that_is_never_given_back);
    tcase_add_loop_test(t, a_lock_that_goes_from_hand_to_hand, 0, 2);
    tcase_add_test(t, one_after_the_other_is_killed);
    suite_add_tcase(s, t);
    return run_suite(s);
}
