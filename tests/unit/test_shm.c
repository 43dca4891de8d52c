/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared segment: wake-ups reach who waits, a dead child's slots come back, a lock whose holder died leaves nothing
 * broken, and what a child wrote over is left behind without harm.
 */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_suite.h"
#include "shm/shm.h"

#define STOCK  2u
#define WINDOW 2u

static struct shm_segment *sh;
static struct shm_view v;
static int stock[STOCK], alarms[2];
static char said[256];
static uint32_t lost_requests;

static void note_left(const char *why) { snprintf(said, sizeof said, "%s", why); }
static void note_lost(pid_t child, uint32_t requests) { (void)child, lost_requests += requests; }
static const struct shm_host host = { note_lost, note_left };

static void make_segment(void) {
    struct shm_size size = { .owners = 4, .classes = 4, .tickets = 64, .area = 1024 };
    struct rs_class_settings classes[2] = { { .name = "heavy", .weight = 3 }, { .name = "light", .weight = 1 } };
    struct rs_settings s;
    const char *why = NULL;

    rs_settings_default(&s);
    s.sched = RS_SCHED_FIFO;
    s.gate = RS_GATE_WINDOW;
    s.window = WINDOW;
    memset(&v, 0, sizeof v);
    ck_assert_msg(shm_make(&v, &size, &s, classes, 2, &why) == 0, "%s", why);
    for (uint32_t i = 0; i < STOCK; i++) {
        stock[i] = eventfd(0, EFD_NONBLOCK);
        ck_assert_int_ge(stock[i], 0);
    }
    shm_stock(&v, stock, STOCK);
    ck_assert_int_eq(pipe2(alarms, O_NONBLOCK), 0);
    v.alarm = alarms[1];
    v.host = &host;
    sh = v.sh;
    said[0] = 0;
    lost_requests = 0;
}

/* As the parent does it, and then whoever looks next. */
static uint32_t child_ended(pid_t pid) {
    uint32_t before = lost_requests;

    shm_tell_ended(&v, pid);
    shm_reclaim(&v);
    return lost_requests - before;
}

static void free_segment(void) {
    for (uint32_t i = 0; i < STOCK; i++) close(stock[i]);
    for (uint32_t i = 0; i < 2; i++) close(alarms[i]);
    shm_free(&v);
    ck_assert_ptr_null(v.sh);
}

/* A request of child `child`, held if it must wait.  What a host does, without the host. */
static rs_ticket_t submit(uint32_t child, struct shm_wakes *w) {
    struct shm_request q = { .owner = child, .estimate = 1000, .deadline = UINT64_MAX, .client_fd = -1 };
    rs_ticket_t t;

    memset(w, 0, sizeof *w);
    shm_lock(&v);
    ck_assert_int_eq(shm_begin_locked(&v, shm_now(), &q, &t), RS_OK);
    shm_pump_locked(&v, shm_now(), child, t, w);
    if (!shm_row_of(&v, t)->go) shm_hold_locked(&v, t);
    shm_unlock(&v);
    return t;
}

static void finish(uint32_t child, rs_ticket_t t, struct shm_wakes *w) {
    memset(w, 0, sizeof *w);
    shm_lock(&v);
    ck_assert_int_eq(rs_finish(v.engine, shm_now(), t), 1);
    shm_end_locked(&v, t);
    shm_pump_locked(&v, shm_now(), child, RS_NO_TICKET, w);
    shm_unlock(&v);
    shm_wake(&v, w);
}

static int go(rs_ticket_t t) { return (int)v.rows[rs_ticket_index(t)].go; }
static int signalled(rs_ticket_t t) {
    eventfd_t n;
    return v.rows[rs_ticket_index(t)].wake_fd >= 0 && eventfd_read(v.rows[rs_ticket_index(t)].wake_fd, &n) == 0;
}

static void expect_sound(void) {
    const char *broken;
    shm_lock(&v);
    broken = rs_check(v.engine);
    shm_unlock(&v);
    ck_assert_msg(broken == NULL, "%s", broken);
}

START_TEST(a_release_wakes_who_waits_in_whatever_child) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001), b = shm_owner_started(&v, 1002);
    rs_ticket_t first = submit(a, &w), second = submit(a, &w), third = submit(b, &w);

    ck_assert_int_eq(go(first) + go(second), 2);
    ck_assert_int_eq(go(third), 0);
    ck_assert_int_eq(signalled(third), 0);
    finish(a, first, &w);
    ck_assert_int_eq(go(third), 1);
    ck_assert_int_eq(signalled(third), 1);
    ck_assert_uint_eq(w.others, 0);
    finish(a, second, &w);
    finish(b, third, &w);
    ck_assert_uint_eq(sh->nstock, STOCK);
    expect_sound();
}
END_TEST

START_TEST(beyond_the_stock_the_owners_dispatcher_is_told) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001), b = shm_owner_started(&v, 1002), before;
    rs_ticket_t running[WINDOW], waiting[STOCK + 1];

    for (uint32_t i = 0; i < WINDOW; i++) running[i] = submit(a, &w);
    for (uint32_t i = 0; i < STOCK + 1; i++) waiting[i] = submit(b, &w);
    ck_assert_int_eq(v.rows[rs_ticket_index(waiting[STOCK])].wake_fd, -1);
    for (uint32_t i = 0; i < STOCK; i++) {
        finish(a, running[i], &w);
        ck_assert_uint_eq(w.others, 0);
    }
    before = v.owners[b].wake;
    finish(a, waiting[0], &w);
    ck_assert_int_eq(go(waiting[STOCK]), 1);
    ck_assert_uint_eq(w.others, 1);
    ck_assert_uint_eq(w.other[0], b);
    ck_assert_uint_eq(v.owners[b].released, rs_ticket_index(waiting[STOCK]));
    ck_assert_uint_ne(v.owners[b].wake, before);
    /*
     * Over before the dispatcher came to it: its place may be somebody else's by then, so it must not stay in the
     * chain.
     */
    finish(b, waiting[STOCK], &w);
    ck_assert_uint_eq(v.owners[b].released, SHM_NO_ROW);
    expect_sound();
}
END_TEST

START_TEST(who_waits_may_leave_but_not_after_its_release) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t one = submit(a, &w), two = submit(a, &w), three = submit(a, &w), four = submit(a, &w);

    ck_assert_int_eq(shm_end_wait(&v, three), 1);
    ck_assert_int_eq(shm_end_wait(&v, three), 0);
    ck_assert_uint_eq(v.owners[a].held, 1);
    finish(a, one, &w);
    ck_assert_int_eq(go(four), 1);
    ck_assert_int_eq(shm_end_wait(&v, four), 0);
    finish(a, two, &w);
    finish(a, four, &w);
    ck_assert_uint_eq(v.owners[a].held, 0);
    expect_sound();
}
END_TEST

START_TEST(a_dead_childs_slots_come_back) {
    struct shm_wakes w;
    struct rs_stats stats;
    uint32_t a = shm_owner_started(&v, 1001), b = shm_owner_started(&v, 1002);
    rs_ticket_t waiting, behind;

    submit(a, &w);
    submit(a, &w);
    submit(a, &w);
    waiting = submit(b, &w);
    behind = submit(b, &w);
    ck_assert_uint_eq(child_ended(1001), 3);
    ck_assert_int_eq(go(waiting) + go(behind), 2);
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.outstanding, 2);
    ck_assert_uint_eq(stats.queued, 0);
    ck_assert_uint_eq(child_ended(1001), 0);
    ck_assert_uint_eq(shm_owner_started(&v, 1003), a);
    expect_sound();
}
END_TEST

START_TEST(rows_of_children_run_out_with_a_word) {
    for (uint32_t i = 0; i < v.size.owners; i++) ck_assert_uint_eq(shm_owner_started(&v, (pid_t)(1000 + i)), i);
    ck_assert_uint_eq(shm_owner_started(&v, 2000), SHM_NO_ROW);
}
END_TEST

/* Killed while it holds the lock, in the middle of whatever: nothing that others had is lost. */
START_TEST(killed_with_the_lock) {
    struct shm_wakes w;
    struct rs_stats stats;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t one = submit(a, &w), two, three;
    int ready[2], status;
    pid_t pid;
    char c;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        rs_ticket_t t;
        uint32_t me = shm_owner_started(&v, getpid());

        submit(me, &w);
        shm_lock(&v);
        rs_submit(v.engine, shm_now(), 1, 0, 500, me + 1, 0, &t); /* its row is never written */
        v.owners[me].released = 12345678;                         /* half a change of a list */
        sh->nstock = 1;
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);

    two = submit(a, &w); /* takes the lock: the rebuild is here */
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.rebuilds, 1);
    expect_sound();
    ck_assert_uint_le(sh->nstock, STOCK);
    ck_assert_int_eq(go(one), 1);
    ck_assert_int_eq(go(two), 0);
    ck_assert_uint_ge(child_ended(pid), 1);
    ck_assert_int_eq(go(two), 1);
    three = submit(a, &w);
    finish(a, one, &w);
    ck_assert_int_eq(go(three), 1);
    finish(a, two, &w);
    finish(a, three, &w);
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.queued + stats.outstanding + stats.parked, 0);
    ck_assert_uint_eq(sh->nstock, STOCK);
    expect_sound();
    close(ready[0]);
    close(ready[1]);
}
END_TEST

START_TEST(a_crowd_can_not_take_the_last_thread_of_others) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t tickets[10];
    int blocked = 0;

    for (int i = 0; i < 10; i++) tickets[i] = submit(a, &w);
    /* Class 0 may block 2 of its own and the pool of 3; then class 1 still has its own one. */
    shm_lock(&v);
    for (int i = 2; i < 10; i++) blocked += shm_block_locked(&v, tickets[i], 0, 2, 3);
    ck_assert_int_eq(blocked, 5);
    ck_assert_uint_eq(v.blocked[0], 5);
    ck_assert_int_eq(shm_block_locked(&v, tickets[9], 1, 1, 3), 1);
    ck_assert_int_eq(shm_block_locked(&v, tickets[8], 1, 1, 3), 0);
    shm_unlock(&v);
    for (int i = 2; i < 10; i++) ck_assert_int_eq(shm_end_wait(&v, tickets[i]), 1);
    ck_assert_uint_eq(v.blocked[0] + v.blocked[1] + sh->pooled, 0);
}
END_TEST

/* A wait in a thread that no other could have is woken as a futex, and counts against nobody's bound. */
START_TEST(a_wait_aside_counts_against_no_bound) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t first = submit(a, &w), second = submit(a, &w), aside = submit(a, &w);
    struct shm_row *row = &v.rows[rs_ticket_index(aside)];

    ck_assert_int_eq(go(first) && go(second) && !go(aside), 1);
    shm_lock(&v);
    shm_block_aside_locked(&v, aside);
    ck_assert_uint_eq(v.blocked[0] + sh->pooled, 0);
    shm_unlock(&v);
    finish(a, first, &w);
    ck_assert_int_eq(go(aside), 1);
    ck_assert_uint_eq(w.n, 1);
    ck_assert_int_eq(w.wake[0].fd, -1);
    ck_assert_uint_eq(v.owners[a].held, 0);
    ck_assert_uint_eq(row->blocks + v.blocked[0] + sh->pooled, 0);
}
END_TEST

START_TEST(a_long_write_gives_its_slot_back) {
    struct shm_wakes w;
    struct rs_stats stats;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t slow = submit(a, &w), quick = submit(a, &w);
    uint64_t now = 10 * 1000000u;

    v.rows[rs_ticket_index(slow)].client_since = now - SHM_SLOW_US;
    v.rows[rs_ticket_index(quick)].client_since = now - SHM_SLOW_US + 1;
    sh->next_sweep = now + 1;
    shm_sweep(&v, now);
    ck_assert_uint_eq(v.rows[rs_ticket_index(slow)].parked, 0); /* not due yet */
    sh->next_sweep = now;
    shm_sweep(&v, now);
    ck_assert_uint_eq(v.rows[rs_ticket_index(slow)].parked, 1);
    ck_assert_uint_eq(v.rows[rs_ticket_index(quick)].parked, 0);
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.outstanding, 1);
    ck_assert_uint_eq(stats.parked, 1);
    expect_sound();
}
END_TEST

/* ---- memory that a child wrote over ------------------------------------------------------------------------------ */

static int alarmed(void) {
    char c;
    return read(alarms[0], &c, 1) == 1;
}

/*
 * Whatever was in the way: this process goes on, its requests are released, its waiters woken, the parent and the log
 * know.
 */
static void expect_left(const char *word, const rs_ticket_t *waiting, uint32_t n) {
    struct shm_wakes w;
    eventfd_t woken;

    ck_assert_int_eq(shm_has_left(&v), 1);
    ck_assert_msg(strstr(said, word) != NULL, "said \"%s\"", said);
    ck_assert_int_eq(alarmed(), 1);
    for (uint32_t i = 0; i < STOCK; i++) ck_assert_int_eq(eventfd_read(stock[i], &woken), 0);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_int_eq(go(waiting[i]), 1);
        ck_assert_int_eq(shm_end_wait(&v, waiting[i]), 0);
    }
    for (uint32_t i = 0; i < 3 * WINDOW; i++) ck_assert_int_eq(go(submit(0, &w)), 1);
    expect_sound();
}

/*
 * The reported attack: a child sets the number of free descriptors and ends.  Whoever takes its things back would write
 * where that says.
 */
START_TEST(a_number_of_free_descriptors_that_can_not_be) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001), b = shm_owner_started(&v, 1002);
    rs_ticket_t waiting[2];

    for (uint32_t i = 0; i < WINDOW; i++) submit(b, &w);
    waiting[0] = submit(b, &w);
    submit(a, &w);
    waiting[1] = submit(b, &w);
    sh->nstock = 0x30000000;
    shm_tell_ended(&v, 1001); /* all that the parent does: it reads nothing */
    ck_assert_int_eq(shm_has_left(&v), 0);
    shm_reclaim(&v);
    expect_left("stock", waiting, 2);
}
END_TEST

static void scribble(uint64_t seed) {
    uint64_t *word = (uint64_t *)sh;

    for (uint64_t i = 0; i < v.bytes / 8; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        word[i] = z ^ (z >> 27);
    }
}

/*
 * Random words all over it, the lock's among them: the parent tells what it has to tell, a child finds out and goes on,
 * within 1.5 s.
 */
START_TEST(written_over_with_random_words) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t waiting[WINDOW + 2];
    uint64_t began;

    for (uint32_t i = 0; i < WINDOW + 2; i++) waiting[i] = submit(a, &w);
    scribble((uint64_t)_i);
    began = shm_now();
    shm_tell_ended(&v, 1002);
    shm_tell_generation(&v, 2);
    shm_reclaim(&v);
    shm_pump(&v, a);
    ck_assert_uint_le(shm_now() - began, 1500000);
    expect_left("", waiting + WINDOW, 2);
}
END_TEST

/*
 * Who leaves lets the others know: they find out as soon as they come, and nobody waits for a lock that was left
 * behind.
 */
START_TEST(one_leaves_and_all_do) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t waiting[WINDOW + 1];
    uint64_t began;
    int status;
    pid_t pid;

    for (uint32_t i = 0; i < WINDOW + 1; i++) waiting[i] = submit(a, &w);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        uint32_t me = shm_owner_started(&v, getpid());

        sh->nstock = UINT32_MAX;
        submit(me, &w);
        _exit(shm_has_left(&v) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(alarmed(), 1);
    ck_assert_int_eq(shm_has_left(&v), 0);
    began = shm_now();
    shm_pump(&v, a);
    ck_assert_uint_le(shm_now() - began, 500000);
    for (uint32_t i = 0; i < STOCK; i++) eventfd_write(stock[i], 1); /* the child took what was in them */
    expect_left("another process", waiting + WINDOW, 1);
}
END_TEST

/* A thread that ends with the lock, and one that never gives it: the others wait for neither for long. */
START_TEST(a_lock_that_is_kept) {
    uint64_t began = shm_now();

    atomic_store(&sh->lock.word, (uint32_t)getppid()); /* somebody lives who has that number */
    shm_pump(&v, SHM_NO_ROW);
    ck_assert_uint_le(shm_now() - began, 1500000);
    ck_assert_int_eq(shm_has_left(&v), 1);
    ck_assert_msg(strstr(said, "lock") != NULL, "%s", said);
}
END_TEST

/*
 * Many threads wait for it, and all find at one time that it does not come: one of them leaves, the others are none the
 * worse for it.
 */
static pthread_barrier_t together;

static void *take_and_give(void *unused) {
    (void)unused;
    pthread_barrier_wait(&together);
    shm_pump(&v, SHM_NO_ROW);
    return NULL;
}

START_TEST(a_lock_that_is_kept_from_a_crowd) {
    struct shm_size size = { .owners = 4, .classes = 4, .tickets = 200000, .area = 1024 };
    struct rs_class_settings class = { .name = "all", .weight = 1 };
    struct rs_settings s;
    const char *why = NULL;
    pthread_t t[200];

    /* As large as in use: it takes a while to make another. */
    shm_free(&v);
    rs_settings_default(&s);
    ck_assert_msg(shm_make(&v, &size, &s, &class, 1, &why) == 0, "%s", why);
    atomic_store(&v.sh->lock.word, (uint32_t)getppid());
    ck_assert_int_eq(pthread_barrier_init(&together, NULL, 200), 0);
    for (int i = 0; i < 200; i++) ck_assert_int_eq(pthread_create(&t[i], NULL, take_and_give, NULL), 0);
    for (int i = 0; i < 200; i++) ck_assert_int_eq(pthread_join(t[i], NULL), 0);
    ck_assert_int_eq(shm_has_left(&v), 1);
    pthread_barrier_destroy(&together);
}
END_TEST

START_TEST(a_lock_of_nobody) {
    uint64_t began = shm_now();

    atomic_store(&sh->lock.word, 0x3ffffff0u);
    shm_pump(&v, SHM_NO_ROW);
    ck_assert_uint_le(shm_now() - began, 500000);
    ck_assert_int_eq(shm_has_left(&v), 0);
    expect_sound();
}
END_TEST

/* What stands in it decides how long somebody waits, not where anything is written: no list goes through it. */
START_TEST(the_lock_is_a_word) { ck_assert_uint_eq(sizeof sh->lock, 4); }
END_TEST

static void *take_and_end(void *unused) {
    (void)unused;
    shm_lock(&v);
    return NULL;
}

START_TEST(a_thread_ends_with_the_lock) {
    struct rs_stats stats;
    pthread_t t;
    uint64_t began;

    ck_assert_int_eq(pthread_create(&t, NULL, take_and_end, NULL), 0);
    ck_assert_int_eq(pthread_join(t, NULL), 0);
    began = shm_now();
    shm_lock(&v);
    shm_unlock(&v);
    ck_assert_uint_le(shm_now() - began, 500000);
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.rebuilds, 1);
    ck_assert_int_eq(shm_has_left(&v), 0);
}
END_TEST

/* What is left is judged: tickets that nobody can have made are not taken for requests. */
START_TEST(killed_with_the_lock_and_garbage) {
    struct rs_class_stats c;
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    int status;
    pid_t pid;

    submit(a, &w);
    rs_class_stats(v.engine, 0, &c);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        unsigned char *engine = (unsigned char *)v.engine;

        base_mutex_forked();
        shm_lock(&v);
        for (size_t i = RS_CONSTANT; i < 16384; i++) engine[i] = (unsigned char)(i * 167);
        kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    shm_pump(&v, a);
    ck_assert_int_eq(shm_has_left(&v), 1);
    ck_assert_int_eq(alarmed(), 1);
}
END_TEST

/* Who rebuilds and dies of it would be followed by the next, and the next. */
START_TEST(killed_while_it_rebuilt) {
    sh->rebuilding = 1;
    atomic_store(&sh->lock.word, 0x40000000u); /* as the kernel marks it: its holder died */
    shm_pump(&v, SHM_NO_ROW);
    ck_assert_int_eq(shm_has_left(&v), 1);
    ck_assert_msg(strstr(said, "rebuilt") != NULL, "%s", said);
}
END_TEST

/*
 * A process that ends in a signal handler must not wait for the lock that it holds; nor may it lose its place when it
 * holds none.
 */
static volatile sig_atomic_t held_in_handler;
static void look_for_lock(int unused) {
    (void)unused;
    held_in_handler = shm_lock_is_ours(&v);
}

START_TEST(a_signal_at_any_instruction_knows_whose_lock_it_is) {
    struct sigaction act = { .sa_handler = look_for_lock };

    sigaction(SIGALRM, &act, NULL);
    for (int i = 0; i < 1000; i++) {
        shm_lock(&v);
        raise(SIGALRM);
        ck_assert_int_eq(held_in_handler, 1);
        shm_unlock(&v);
        raise(SIGALRM);
        ck_assert_int_eq(held_in_handler, 0);
    }
}
END_TEST

/* A ring of pids that ended has room for all that can be; a number that says more is not believed. */
START_TEST(more_ends_than_can_be) {
    shm_owner_started(&v, 1001);
    atomic_store(&sh->ended, v.ended_mask + 2);
    shm_reclaim(&v);
    ck_assert_int_eq(shm_has_left(&v), 1);
}
END_TEST

START_TEST(ends_come_in_any_number) {
    for (uint32_t i = 0; i < 10 * (v.ended_mask + 1); i++) {
        struct shm_wakes w;
        uint32_t a = shm_owner_started(&v, (pid_t)(2000 + i));

        ck_assert_uint_eq(a, 0);
        submit(a, &w);
        shm_tell_ended(&v, (pid_t)(2000 + i));
    }
    shm_reclaim(&v);
    ck_assert_uint_eq(lost_requests, 10 * (v.ended_mask + 1));
    ck_assert_uint_eq(sh->lost_owners, 10 * (v.ended_mask + 1));
    expect_sound();
}
END_TEST

/* A descriptor's number that another process wrote into a row is not written to: it might be a client's socket. */
START_TEST(only_descriptors_to_wait_on_are_written_to) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t running[WINDOW], waiting[STOCK + 1];
    int other[2];
    char c;

    ck_assert_int_eq(pipe2(other, O_NONBLOCK), 0);
    for (uint32_t i = 0; i < WINDOW; i++) running[i] = submit(a, &w);
    for (uint32_t i = 0; i < STOCK + 1; i++) waiting[i] = submit(a, &w);
    v.rows[rs_ticket_index(waiting[STOCK])].wake_fd = other[1];
    v.rows[rs_ticket_index(waiting[0])].wake_fd = other[1];
    v.rows[rs_ticket_index(waiting[1])].stock = 12345;
    for (uint32_t i = 0; i < WINDOW; i++) finish(a, running[i], &w);
    finish(a, waiting[0], &w);
    ck_assert_int_eq(go(waiting[STOCK]), 1);
    ck_assert_int_eq(read(other[0], &c, 1) < 0, 1);
    close(other[0]);
    close(other[1]);
}
END_TEST

/* Whatever 32 bits stand for an index, behind the segment is no memory. */
START_TEST(behind_the_segment_is_no_memory) {
    static const uint64_t at[] = { 0, 4096, UINT64_C(1) << 32, (UINT64_C(1) << 32) * 96, RS_REACH - 4096 };

    ck_assert_uint_eq(v.reserved, v.bytes + RS_REACH);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        unsigned char in;
        ck_assert_int_eq(mincore((char *)sh + v.bytes + at[i], 4096, &in), 0); /* ours: nothing else comes there */
    }
}
END_TEST

START_TEST(a_configuration_is_taken_over_once) {
    struct rs_class_settings classes[3] = { { .name = "light", .weight = 1 },
                                            { .name = "fresh", .weight = 7 },
                                            { .name = "heavy", .weight = 4 } };
    struct rs_class_settings twice[2] = { { .name = "heavy", .weight = 1 }, { .name = "heavy", .weight = 1 } };
    struct rs_settings s;
    struct rs_class_stats c;
    uint32_t number[3] = { 9, 9, 9 };
    const char *why = NULL;

    rs_settings_default(&s);
    s.window = WINDOW;
    ck_assert_int_eq(shm_configure(&v, 1, &s, classes, 3, 0, number, &why), SHM_CONFIGURED);
    ck_assert(number[0] == 1 && number[1] == 2 && number[2] == 0);
    memset(number, 9, sizeof number);
    ck_assert_int_eq(shm_configure(&v, 1, &s, classes, 3, 0, number, &why), SHM_CONFIGURED_BEFORE);
    ck_assert(number[0] == 1 && number[1] == 2 && number[2] == 0);
    ck_assert(rs_class_stats(v.engine, 0, &c) && c.settings.weight == 4);
    ck_assert_int_eq(shm_configure(&v, 2, &s, twice, 2, 0, number, &why), SHM_NOT_CONFIGURED);
    ck_assert_ptr_nonnull(strstr(why, "same name"));
    ck_assert(number[0] == 0 && number[1] == 0);
    v.numbers[0] = 0x30000000;
    ck_assert_int_eq(shm_configure(&v, 2, &s, twice, 2, 0, number, &why), SHM_CONFIGURED_BEFORE);
    ck_assert(number[0] == 0 && number[1] == 0);
    expect_sound();
}
END_TEST

/*
 * A child of before that was slow to start comes when the next configuration is in force: it takes nothing back, and
 * finds its classes by their names.
 */
START_TEST(a_late_child_of_before_configures_nothing) {
    struct rs_class_settings before[2] = { { .name = "heavy", .weight = 3 }, { .name = "light", .weight = 1 } };
    struct rs_class_settings after[3] = { { .name = "fresh", .weight = 7 },
                                          { .name = "light", .weight = 2 },
                                          { .name = "heavy", .weight = 9 } };
    struct rs_settings s, wide;
    struct rs_class_stats c;
    struct rs_stats all;
    uint32_t number[3] = { 9, 9, 9 };
    const char *why = NULL;

    rs_settings_default(&s);
    s.window = WINDOW;
    wide = s;
    wide.window = 50;
    ck_assert_int_eq(shm_configure(&v, 2, &s, after, 3, 0, number, &why), SHM_CONFIGURED);
    ck_assert(number[0] == 2 && number[1] == 1 && number[2] == 0);
    memset(number, 9, sizeof number);
    ck_assert_int_eq(shm_configure(&v, 1, &wide, before, 2, 0, number, &why), SHM_CONFIGURED_BEFORE);
    ck_assert(number[0] == 0 && number[1] == 1);
    rs_stats(v.engine, &all);
    ck_assert_uint_eq(all.settings.window, WINDOW);
    ck_assert(rs_class_stats(v.engine, 0, &c) && c.settings.weight == 9);
    ck_assert_int_eq(shm_configure(&v, 2, &s, after, 3, 0, number, &why), SHM_CONFIGURED_BEFORE);
    ck_assert(number[0] == 2 && number[1] == 1 && number[2] == 0);
    expect_sound();
}
END_TEST

int main(void) {
    Suite *s = suite_create("shm");
    TCase *t = tcase_create("segment");
    tcase_set_timeout(t, 60);

    tcase_add_checked_fixture(t, make_segment, free_segment);
    tcase_add_test(t, a_release_wakes_who_waits_in_whatever_child);
    tcase_add_test(t, beyond_the_stock_the_owners_dispatcher_is_told);
    tcase_add_test(t, who_waits_may_leave_but_not_after_its_release);
    tcase_add_test(t, a_dead_childs_slots_come_back);
    tcase_add_test(t, rows_of_children_run_out_with_a_word);
    tcase_add_test(t, killed_with_the_lock);
    tcase_add_test(t, a_crowd_can_not_take_the_last_thread_of_others);
    tcase_add_test(t, a_wait_aside_counts_against_no_bound);
    tcase_add_test(t, a_long_write_gives_its_slot_back);
    tcase_add_test(t, a_number_of_free_descriptors_that_can_not_be);
    tcase_add_loop_test(t, written_over_with_random_words, 0, 20);
    tcase_add_test(t, one_leaves_and_all_do);
    tcase_add_test(t, a_lock_that_is_kept);
    tcase_add_test(t, a_lock_that_is_kept_from_a_crowd);
    tcase_add_test(t, a_lock_of_nobody);
    tcase_add_test(t, the_lock_is_a_word);
    tcase_add_test(t, a_thread_ends_with_the_lock);
    tcase_add_test(t, killed_with_the_lock_and_garbage);
    tcase_add_test(t, killed_while_it_rebuilt);
    tcase_add_test(t, a_signal_at_any_instruction_knows_whose_lock_it_is);
    tcase_add_test(t, more_ends_than_can_be);
    tcase_add_test(t, ends_come_in_any_number);
    tcase_add_test(t, only_descriptors_to_wait_on_are_written_to);
    tcase_add_test(t, behind_the_segment_is_no_memory);
    tcase_add_test(t, a_configuration_is_taken_over_once);
    tcase_add_test(t, a_late_child_of_before_configures_nothing);
    suite_add_tcase(s, t);
    return run_suite(s);
}
