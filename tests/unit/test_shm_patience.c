/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_shm_patience.c - who waits long for the lock is no reason to leave the memory; who keeps it is, stopped or not.
 */
#include <check.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run_suite.h"
#include "shm/shm.h"
#include "shm/shm_patience.h"

#define ROWS(a) (int)(sizeof(a) / sizeof *(a))
#define FOREVER 100000u

/* ---- looks ------------------------------------------------------------------------------------------------------- */

/* What look `i` sees, and the look at which patience ends; 0: at none of FOREVER. */
static uint32_t steady(uint32_t i) {
    (void)i;
    return 7;
}

static uint32_t counts(uint32_t i) { return i; }
static uint32_t counts_now_and_then(uint32_t i) { return i / (SHM_LOOKS - 1); }
static uint32_t counts_too_seldom(uint32_t i) { return i / SHM_LOOKS; }
static uint32_t takes_turns(uint32_t i) { return 7 + i % 2; }
static uint32_t stops_after_a_while(uint32_t i) { return i < 100 ? i : 100; }
static uint32_t is_free_at_first(uint32_t i) { return i < 3 ? 0 : 7; }

static const struct {
    const char *what;
    uint32_t (*holder)(uint32_t), (*turn)(uint32_t);
    uint32_t end;
} looks[] = {
    { "kept by one", steady, steady, SHM_LOOKS },
    { "others come and go", takes_turns, counts, SHM_LOOKS_MOST },
    { "one takes it again and again", steady, counts, SHM_LOOKS_MOST },
    { "handed on, and nobody counts", takes_turns, steady, SHM_LOOKS_MOST },
    { "just soon enough, each time", steady, counts_now_and_then, SHM_LOOKS_MOST },
    { "a look too late", steady, counts_too_seldom, SHM_LOOKS },
    { "others come and go, and then one keeps it", steady, stops_after_a_while, 100 + SHM_LOOKS },
    { "kept since the fourth look", is_free_at_first, steady, 3 + SHM_LOOKS },
};

START_TEST(what_ends_patience) {
    struct shm_patience p = { .still = 0 };
    uint32_t i = 0;

    while (i < FOREVER && !shm_patience_ends(&p, looks[_i].holder(i), looks[_i].turn(i))) i++;
    ck_assert_msg(i + 1 == looks[_i].end, "%s: %u looks", looks[_i].what, i + 1);
}
END_TEST

/* It is found out within what the hosts promise, as long as looks take what they should. */
START_TEST(looks_are_soon_over) {
    ck_assert_uint_le(SHM_LOOKS * (SHM_LOCK_US / SHM_LOOKS), 700000);
    ck_assert_uint_le((uint64_t)SHM_LOOKS_MOST * (SHM_LOCK_US / SHM_LOOKS), 11000000);
}
END_TEST

/* ---- processes --------------------------------------------------------------------------------------------------- */

static struct shm_view v;

static void make_segment(void) {
    struct shm_size size = { .owners = 4, .classes = 4, .tickets = 64, .area = 64 };
    struct rs_class_settings class = { .name = "all", .weight = 1 };
    struct rs_settings s;
    const char *why = NULL;

    rs_settings_default(&s);
    memset(&v, 0, sizeof v);
    v.alarm = -1;
    ck_assert_msg(shm_make(&v, &size, &s, &class, 1, &why) == 0, "%s", why);
}

static void free_segment(void) { shm_free(&v); }

static void nap(uint64_t us) {
    struct timespec t = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };
    nanosleep(&t, NULL);
}

static bool is_waited_for(void) { return atomic_load(&v.sh->lock.word) & FUTEX_WAITERS; }

/* Another process that wants the lock; it ends with 1 if it left the memory for that. */
static pid_t who_waits(void) {
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (!pid) {
        base_mutex_forked();
        shm_lock(&v);
        shm_unlock(&v);
        _exit(shm_has_left(&v));
    }
    for (uint64_t end = shm_now() + 5000000; !is_waited_for() && shm_now() < end;) nap(1000);
    ck_assert(is_waited_for());
    return pid;
}

static int outcome(pid_t pid) {
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(each_turn_is_counted) {
    uint32_t before = atomic_load(&v.sh->turns);

    for (int i = 0; i < 10; i++) {
        shm_lock(&v);
        shm_unlock(&v);
    }
    shm_pump(&v, SHM_NO_ROW);
    ck_assert_uint_eq(atomic_load(&v.sh->turns) - before, 11);
}
END_TEST

/* With hundreds of threads at it the lock was never free when one of them had the processor: others were quicker. */
START_TEST(others_are_quicker) {
    pid_t pid;

    atomic_store(&v.sh->lock.word, (uint32_t)getpid());
    pid = who_waits();
    for (uint64_t end = shm_now() + 3 * SHM_LOCK_US; shm_now() < end; nap(10000)) {
        atomic_fetch_add(&v.sh->turns, 1);
        atomic_store(&v.sh->lock.word, (uint32_t)getpid() | FUTEX_WAITERS);
    }
    atomic_store(&v.sh->lock.word, 0);
    ck_assert_int_eq(outcome(pid), 0);
}
END_TEST

/* Nor is it one that much time has gone by, when who waited was stopped meanwhile: or the machine was. */
START_TEST(who_waits_is_stopped) {
    pid_t pid;

    shm_lock(&v);
    pid = who_waits();
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    nap(2 * SHM_LOCK_US);
    ck_assert_int_eq(kill(pid, SIGCONT), 0);
    nap(SHM_LOCK_US / 7); /* it finds the lock held, and looks at the clock */
    shm_unlock(&v);
    ck_assert_int_eq(outcome(pid), 0);
    ck_assert(!shm_has_left(&v));
}
END_TEST

static pid_t who_holds(void (*then)(void)) {
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (!pid) {
        base_mutex_forked();
        shm_lock(&v);
        then();
        _exit(0);
    }
    for (uint64_t end = shm_now() + 5000000; !atomic_load(&v.sh->lock.word) && shm_now() < end;) nap(1000);
    return pid;
}

static void stops(void) { raise(SIGSTOP); }
static void sleeps(void) {
    for (;;) pause();
}
static void works(void) {
    for (volatile unsigned n = 0;; n++) continue;
}
static void ends(void) {}

static const struct {
    void (*does)(void);
    bool damage;
} holders[] = { { stops, true }, { sleeps, true }, { works, true }, { ends, false } };

START_TEST(who_holds_it_keeps_it) {
    pid_t pid = who_holds(holders[_i].does);
    uint64_t began = shm_now();
    int status;

    shm_pump(&v, SHM_NO_ROW);
    ck_assert_uint_le(shm_now() - began, 1500000);
    ck_assert(shm_has_left(&v) == holders[_i].damage);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}
END_TEST

int main(void) {
    Suite *s = suite_create("shm_patience");
    TCase *t = tcase_create("looks");

    tcase_add_loop_test(t, what_ends_patience, 0, ROWS(looks));
    tcase_add_test(t, looks_are_soon_over);
    suite_add_tcase(s, t);
    t = tcase_create("processes");
    tcase_set_timeout(t, 30);
    tcase_add_checked_fixture(t, make_segment, free_segment);
    tcase_add_test(t, each_turn_is_counted);
    tcase_add_test(t, others_are_quicker);
    tcase_add_test(t, who_waits_is_stopped);
    tcase_add_loop_test(t, who_holds_it_keeps_it, 0, ROWS(holders));
    suite_add_tcase(s, t);
    return run_suite(s);
}
