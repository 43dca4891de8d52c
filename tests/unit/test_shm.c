/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared segment: wake-ups reach who waits, a dead child's slots come back, a lock whose holder died leaves nothing
 * broken, and what a child wrote over is left behind without harm.
 */
#include <check.h>
#include <fcntl.h>
#include <linux/futex.h>
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
static int stock[STOCK + 1], alarms[2]; /* one descriptor stands behind the stock and is not of it */
static char said[256];
static uint32_t lost_requests;

static void note_left(const char *why) { snprintf(said, sizeof said, "%s", why); }
static void note_lost(pid_t child, uint32_t requests) { (void)child, lost_requests += requests; }
static uint64_t told_slot[64]; /* by the ticket's index */
static void note_slot(const struct shm_view *of, uint64_t now, rs_ticket_t t, uint64_t us) {
    ck_assert((rs_state(of->engine, t) == RS_RELEASED || rs_state(of->engine, t) == RS_PARKED) && now && us);
    told_slot[rs_ticket_index(t)] += us;
}
static const struct shm_host host = { .lost = note_lost, .left = note_left, .had_slot = note_slot };

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
    for (uint32_t i = 0; i < STOCK + 1; i++) {
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
    for (uint32_t i = 0; i < STOCK + 1; i++) close(stock[i]);
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
    if (!shm_row_of(&v, t)->go) ck_assert_int_eq(shm_hold_locked(&v, t), shm_row_of(&v, t)->wake_fd);
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
    ck_assert_uint_eq(shm_row_of(&v, waiting[STOCK])->chained, 0);
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

/* Its submitter died before it wrote the row: nobody will ever run it, and it keeps no slot. */
START_TEST(a_ticket_without_a_row_takes_no_slot) {
    struct shm_wakes w;
    struct rs_stats stats;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t nobodys, first, second;

    ck_assert_int_eq(rs_submit(v.engine, shm_now(), 0, 0, 500, a + 1, 0, &nobodys), RS_OK);
    first = submit(a, &w);
    second = submit(a, &w);
    ck_assert_int_eq(go(first) && go(second), 1);
    ck_assert_int_eq(rs_state(v.engine, nobodys), RS_FREE);
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.outstanding, 2);
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
    /* Class 0 may block 2 of its own, and of the pool of 3 no more than it leaves: class 1 has its own one, and one. */
    shm_lock(&v);
    for (int i = 2; i < 10; i++) blocked += shm_block_locked(&v, tickets[i], 0, 2, 3);
    ck_assert_int_eq(blocked, 4);
    ck_assert_uint_eq(v.blocked[0], 4);
    ck_assert_int_eq(shm_block_locked(&v, tickets[9], 1, 1, 3), 1);
    ck_assert_int_eq(shm_block_locked(&v, tickets[8], 1, 1, 3), 1);
    ck_assert_int_eq(shm_block_locked(&v, tickets[7], 1, 1, 3), 0);
    ck_assert_uint_eq(sh->pooled, 3);
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

/* A slow reader of what a backend makes has no slot of the window, but its time goes on being charged. */
START_TEST(test_parked_request_occupying_its_backend_is_charged_until_the_backend_is_done) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t t = submit(a, &w);
    struct shm_row *row = shm_row_of(&v, t);
    uint64_t *told = &told_slot[rs_ticket_index(t)], since = row->slot_since;

    memset(told_slot, 0, sizeof told_slot);
    row->occupies = 1;
    row->client_since = since;
    sh->next_sweep = 0;
    shm_sweep(&v, since + SHM_SLOW_US);
    ck_assert_uint_eq(row->parked, 1);
    sh->next_sweep = 0;
    shm_sweep(&v, since + 2 * SHM_SLOW_US);
    ck_assert_uint_eq(*told, 2 * SHM_SLOW_US);
    shm_occupies_no_more(&v, t);
    ck_assert_uint_eq(row->slot_since, 0);
    ck_assert_uint_eq(row->parked, 1);
    expect_sound();
    finish(a, t, &w);
}
END_TEST

/* From its release on, while it goes on; not while it is parked. */
START_TEST(how_long_it_has_had_its_slot_is_told) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t t = submit(a, &w), other = submit(a, &w), waits = submit(a, &w);
    struct shm_row *row = shm_row_of(&v, t);
    uint64_t *told = &told_slot[rs_ticket_index(t)], since = row->slot_since;

    memset(told_slot, 0, sizeof told_slot);
    ck_assert_uint_gt(since, 0);
    ck_assert_uint_eq(shm_row_of(&v, waits)->slot_since, 0);
    sh->next_sweep = 0;
    shm_sweep(&v, since + 5000);
    ck_assert_uint_eq(*told, 5000);
    ck_assert_uint_le(told_slot[rs_ticket_index(other)], 5000);
    ck_assert_uint_eq(told_slot[rs_ticket_index(waits)], 0);
    row->client_since = since;
    sh->next_sweep = 0;
    shm_sweep(&v, since + SHM_SLOW_US);
    ck_assert_uint_eq(row->parked, 1);
    ck_assert_uint_eq(*told, SHM_SLOW_US);
    sh->next_sweep = 0;
    shm_sweep(&v, since + 2 * SHM_SLOW_US);
    ck_assert_uint_eq(*told, SHM_SLOW_US);
    row->client_since = 0;
    shm_resume(&v, t);
    ck_assert_uint_eq(row->parked, 0);
    since = row->slot_since;
    shm_lock(&v);
    ck_assert_uint_eq(shm_had_slot_locked(&v, since + 700, t), SHM_SLOW_US + 700);
    ck_assert_uint_eq(shm_had_slot_locked(&v, since, t),
                      SHM_SLOW_US + 700); /* a clock that another process read before */
    shm_unlock(&v);
    ck_assert_uint_eq(*told, SHM_SLOW_US + 700);
    finish(a, t, &w);
    ck_assert_uint_eq(row->slot_since, 0);
    expect_sound();
}
END_TEST

/* A request of a URL that is known to wait: no slot, its whole time counted, none of it charged. */
START_TEST(request_that_waits_at_the_backend_is_parked_at_its_release_and_charged_nothing) {
    uint32_t a = shm_owner_started(&v, 1001);
    struct shm_request q = { .owner = a, .estimate = 1000, .deadline = UINT64_MAX, .client_fd = -1, .waits = true };
    struct shm_wakes w = { .n = 0 };
    rs_ticket_t t;

    memset(told_slot, 0, sizeof told_slot);
    shm_lock(&v);
    ck_assert_int_eq(shm_begin_locked(&v, shm_now(), &q, &t), RS_OK);
    shm_pump_locked(&v, shm_now(), a, t, &w);
    shm_unlock(&v);
    struct shm_row *row = shm_row_of(&v, t);
    uint64_t since = row->slot_since;
    ck_assert_uint_eq(row->go, SHM_GO);
    ck_assert_uint_eq(row->parked, SHM_PARKED_LONG);
    ck_assert_int_eq(rs_state(v.engine, t), RS_PARKED);
    sh->next_sweep = 0;
    shm_sweep(&v, since + 7000000);
    shm_begins(&v, t);
    shm_lock(&v);
    ck_assert_uint_ge(shm_had_slot_locked(&v, since + 20000000, t), 20000000);
    shm_unlock(&v);
    ck_assert_uint_eq(told_slot[rs_ticket_index(t)], 0);
    finish(a, t, &w);
    expect_sound();
}
END_TEST

/* One of the backend's few workers serves it until the handler has all of the response. */
START_TEST(request_that_waits_with_a_worker_keeps_it_until_the_backend_is_done) {
    uint32_t a = shm_owner_started(&v, 1001);
    struct shm_request q = { .owner = a, .estimate = 1000, .deadline = UINT64_MAX, .client_fd = -1 };
    struct shm_wakes w = { .n = 0 };
    rs_ticket_t t[2];

    q.waits = true;
    for (int worker = 0; worker < 2; worker++) {
        q.worker = worker;
        shm_lock(&v);
        ck_assert_int_eq(shm_begin_locked(&v, shm_now(), &q, &t[worker]), RS_OK);
        shm_pump_locked(&v, shm_now(), a, t[worker], &w);
        shm_unlock(&v);
        ck_assert_uint_eq(shm_row_of(&v, t[worker])->parked, SHM_PARKED_LONG);
        shm_occupies_no_more(&v, t[worker]);
        ck_assert_int_eq(shm_row_of(&v, t[worker])->slot_since == 0, worker);
        expect_sound();
    }
    for (int i = 0; i < 2; i++) finish(a, t[i], &w);
    expect_sound();
}
END_TEST

START_TEST(a_row_has_what_its_request_asked) {
    uint32_t a = shm_owner_started(&v, 1001), b = shm_owner_started(&v, 1002);
    struct shm_request q = { .owner = b, .class = 1, .estimate = 777, .deadline = 12345678, .client_fd = 42 };
    struct rs_class_stats c;
    const struct shm_row *row;
    rs_ticket_t t;

    ck_assert_uint_ne(a, b);
    shm_lock(&v);
    memset(v.rows, 0x55, v.size.tickets * sizeof *v.rows); /* of whoever had it before */
    ck_assert_int_eq(shm_begin_locked(&v, shm_now(), &q, &t), RS_OK);
    row = shm_row_of(&v, t);
    ck_assert(row->ticket == t && row->owner == b + 1 && row->deadline == 12345678 && row->client_fd == 42);
    ck_assert(row->go == 0 && row->running == 0 && row->parked == 0 && row->client_since == 0);
    ck_assert(row->blocks == 0 && row->pooled == 0 && row->stock == 0 && row->wake_fd == -1);
    ck_assert_uint_eq(v.owners[b].held, 1);
    ck_assert_uint_eq(rs_owner(v.engine, t), b + 1);
    ck_assert(rs_class_stats(v.engine, 1, &c) && c.queued == 1);
    q.class = 2;
    ck_assert_int_eq(shm_begin_locked(&v, shm_now(), &q, &t), RS_NO_SUCH_CLASS);
    ck_assert_uint_eq(v.owners[b].held, 1);
    shm_unlock(&v);
}
END_TEST

/* What the dispatcher does when it is told: one after the other, and each is its own to wake from then on. */
START_TEST(a_dispatcher_takes_what_was_released_for_it) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001), b = shm_owner_started(&v, 1002), taken = 0;
    rs_ticket_t running[WINDOW], waiting[STOCK + 3];
    struct shm_row *row;

    for (uint32_t i = 0; i < WINDOW; i++) running[i] = submit(a, &w);
    for (uint32_t i = 0; i < STOCK + 3; i++) waiting[i] = submit(b, &w);
    for (uint32_t i = 0; i < STOCK; i++) finish(a, running[i], &w);
    for (uint32_t i = 0; i < STOCK; i++) ck_assert_int_eq(shm_end_wait(&v, waiting[i]), 0);
    for (uint32_t i = 0; i < STOCK; i++) finish(a, waiting[i], &w);
    finish(a, waiting[STOCK], &w); /* freed from the end of the chain, where it was not the first */
    shm_lock(&v);
    while ((row = shm_next_released_locked(&v, b))) {
        ck_assert_uint_eq(row->chained, 0);
        ck_assert(row == shm_row_of(&v, waiting[STOCK + 1]) || row == shm_row_of(&v, waiting[STOCK + 2]));
        taken++;
    }
    ck_assert_ptr_null(shm_next_released_locked(&v, a));
    shm_unlock(&v);
    ck_assert_uint_eq(taken, 2);
    ck_assert_int_eq(shm_has_left(&v), 0);
    for (uint32_t i = STOCK + 1; i < STOCK + 3; i++) finish(b, waiting[i], &w);
    expect_sound();
}
END_TEST

/* The owner's own releases need no dispatcher: it makes a descriptor of its own and looks. */
START_TEST(a_wait_by_a_descriptor_of_the_owners_own) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    int own = eventfd(0, EFD_NONBLOCK);
    rs_ticket_t running[WINDOW], waiting[STOCK + 1];
    struct shm_row *row;

    for (uint32_t i = 0; i < WINDOW; i++) running[i] = submit(a, &w);
    for (uint32_t i = 0; i < STOCK + 1; i++) waiting[i] = submit(a, &w);
    row = shm_row_of(&v, waiting[STOCK]);
    ck_assert_int_eq(shm_row_fd(&v, row), -1);
    row->wake_fd = own;
    ck_assert_int_eq(shm_row_fd(&v, row), -1); /* it may be anything: it has not been said to be one */
    ck_assert_int_eq(shm_own_fd(own), 1);
    ck_assert_int_eq(shm_row_fd(&v, row), own);
    row->wake_fd = own + 1;
    ck_assert_int_eq(shm_row_fd(&v, row), -1);
    row->wake_fd = -2;
    ck_assert_int_eq(shm_row_fd(&v, row), -1);
    row->wake_fd = own;
    for (uint32_t i = 0; i < STOCK; i++)
        ck_assert_int_eq(shm_row_fd(&v, shm_row_of(&v, waiting[i])), shm_row_of(&v, waiting[i])->wake_fd);
    ck_assert_int_eq(shm_own_fd(-1), 0);
    ck_assert_int_eq(shm_own_fd(SHM_OWN_FDS), 0);
    ck_assert_int_eq(shm_own_fd(SHM_OWN_FDS - 1), 1);
    for (uint32_t i = 0; i < WINDOW; i++) finish(a, running[i], &w);
    finish(a, waiting[0], &w);
    ck_assert_uint_eq(w.others, 0);
    ck_assert_uint_eq(w.n, 1);
    ck_assert_int_eq(w.wake[0].fd, own);
    ck_assert_int_eq(signalled(waiting[STOCK]), 1);
    close(own);
}
END_TEST

/* More are released at once than a list of wake-ups holds: the rest comes with the next. */
START_TEST(a_wide_window_lets_all_through) {
    enum { N = 3 * SHM_WAKES_MAX / 2 };
    struct shm_size size = { .owners = 4, .classes = 4, .tickets = 4 * SHM_WAKES_MAX, .area = 64 };
    struct rs_class_settings class = { .name = "all", .weight = 1 };
    struct rs_settings s;
    struct shm_wakes w;
    uint32_t a, number;
    rs_ticket_t t[N];
    const char *why = NULL;

    shm_free(&v);
    rs_settings_default(&s);
    s.window = 1;
    ck_assert_msg(shm_make(&v, &size, &s, &class, 1, &why) == 0, "%s", why);
    shm_stock(&v, stock, 0);
    a = shm_owner_started(&v, 1001);
    for (int i = 0; i < N; i++) {
        t[i] = submit(a, &w);
        shm_lock(&v);
        if (i) shm_block_aside_locked(&v, t[i]);
        shm_unlock(&v);
        ck_assert_int_eq(go(t[i]), i == 0);
    }
    s.window = 2 * N;
    ck_assert_int_eq(shm_configure(&v, 1, &s, &class, 1, 0, &number, &why), SHM_CONFIGURED);
    for (int i = 0; i < N; i++) ck_assert_int_eq(go(t[i]), 1);
    ck_assert_uint_eq(v.owners[a].held, 0);
    expect_sound();
}
END_TEST

START_TEST(who_was_parked_takes_a_slot_again_when_one_is_free) {
    struct shm_wakes w;
    struct rs_stats stats;
    uint32_t a = shm_owner_started(&v, 1001);
    rs_ticket_t slow = submit(a, &w), quick = submit(a, &w), third = submit(a, &w);
    uint64_t now = 10 * 1000000u;

    shm_row_of(&v, slow)->client_since = now - SHM_SLOW_US;
    shm_sweep(&v, now);
    ck_assert_uint_eq(sh->next_sweep, now + SHM_TICK_US);
    ck_assert_uint_eq(shm_row_of(&v, slow)->parked, 1);
    shm_pump(&v, a);
    ck_assert_int_eq(go(third), 1);
    shm_resume(&v, slow);
    ck_assert_uint_eq(shm_row_of(&v, slow)->parked, 1); /* two are at work in a window of two */
    finish(a, quick, &w);
    shm_resume(&v, slow);
    ck_assert_uint_eq(shm_row_of(&v, slow)->parked, 0);
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.outstanding, 2);
    ck_assert_uint_eq(stats.parked, 0);
    expect_sound();
}
END_TEST

/* Of the newest generation one process's threads, until it says so or has ended. */
START_TEST(one_process_works_in_the_background) {
    uint32_t a = shm_owner_started(&v, 1001), b = shm_owner_started(&v, 1002), c = shm_owner_started(&v, 1003);

    shm_tell_generation(&v, 1);
    ck_assert_int_eq(shm_keeps(&v, 1, a), 1);
    ck_assert_int_eq(shm_keeps(&v, 1, a), 1);
    ck_assert_int_eq(shm_keeps(&v, 1, b), 0);
    shm_keeps_no_longer(&v, 1, b); /* it never did */
    ck_assert_int_eq(shm_keeps(&v, 1, b), 0);
    shm_keeps_no_longer(&v, 1, a);
    ck_assert_int_eq(shm_keeps(&v, 1, b), 1);
    ck_assert_int_eq(shm_keeps(&v, 1, a), 0);
    child_ended(1001); /* another's end changes nothing */
    ck_assert_int_eq(shm_keeps(&v, 1, c), 0);
    child_ended(1002);
    ck_assert_int_eq(shm_keeps(&v, 1, c), 1);
    ck_assert_int_eq(shm_keeps(&v, 2, b), 0); /* its configuration is not in force yet */
    shm_tell_generation(&v, 2);
    ck_assert_int_eq(shm_keeps(&v, 1, c), 0);
    ck_assert_int_eq(shm_keeps(&v, 2, b), 1);
    shm_tell_generation(&v, 1);
    ck_assert_int_eq(shm_keeps(&v, 1, c), 0); /* nobody takes it back from a newer one */
}
END_TEST

START_TEST(a_segment_fits_what_is_no_larger) {
    struct shm_size z = v.size, large = { .owners = 4, .classes = 70000, .tickets = 64 };
    struct rs_class_settings class = { .name = "all", .weight = 0 };
    struct shm_view other = { .sh = NULL };
    struct rs_settings s;
    const char *why = "";

    ck_assert_int_eq(shm_fits(&v, &z), 1);
    z.owners++;
    ck_assert_int_eq(shm_fits(&v, &z), 0);
    z = v.size, z.classes++;
    ck_assert_int_eq(shm_fits(&v, &z), 0);
    z = v.size, z.tickets++;
    ck_assert_int_eq(shm_fits(&v, &z), 0);
    z = v.size, z.area++;
    ck_assert_int_eq(shm_fits(&v, &z), 0);
    ck_assert_uint_ge(v.ended_mask + 1, 2 * v.size.owners);
    ck_assert_uint_eq(v.ended_mask & (v.ended_mask + 1), 0);

    rs_settings_default(&s);
    ck_assert_int_eq(shm_make(&other, &large, &s, &class, 1, &why), -1);
    ck_assert_ptr_nonnull(strstr(why, "more classes"));
    ck_assert_int_eq(shm_make(&other, &v.size, &s, &class, 1, &why), -1);
    ck_assert_ptr_nonnull(strstr(why, "weight"));
    ck_assert_ptr_null(other.sh);
    z = v.size, z.area = UINT64_C(1) << 60;
    class.weight = 1;
    ck_assert_int_eq(shm_make(&other, &z, &s, &class, 1, &why), -1);
    ck_assert_ptr_nonnull(strstr(why, "no shared memory"));
    ck_assert_ptr_null(other.sh);
}
END_TEST

/* Parts of a segment do not overlap, and each can be written to its end. */
START_TEST(the_parts_stand_in_a_row) {
    const char *end[] = { (char *)(sh + 1),
                          (char *)(v.owners + v.size.owners),
                          (char *)(v.rows + v.size.tickets),
                          (char *)(v.blocked + v.size.classes),
                          (char *)(v.blocked_at + v.size.outlets),
                          (char *)(v.classes + v.size.classes),
                          (char *)(v.leads + v.size.classes * v.size.outlets),
                          (char *)(v.numbers + v.size.classes),
                          (char *)(v.ended + v.ended_mask + 1),
                          (char *)v.area + v.size.area };
    const char *begin[] = { (char *)v.owners,  (char *)v.rows,  (char *)v.blocked, (char *)v.blocked_at,
                            (char *)v.classes, (char *)v.leads, (char *)v.numbers, (char *)v.ended,
                            (char *)v.area,    (char *)v.engine };
    struct rs_capacity cap = { .classes = v.size.classes, .tickets = v.size.tickets, .outlets = v.size.outlets };

    for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
        ck_assert_int_ge(begin[i] - end[i], 0);
        ck_assert_int_lt(begin[i] - end[i], 64);
        ck_assert_uint_eq((uintptr_t)begin[i] % 64, 0);
    }
    ck_assert_uint_ge(v.bytes, (uint64_t)((char *)v.engine - (char *)sh) + rs_size(&cap));
    ck_assert_uint_eq(v.bytes % 65536, 0);
    for (uint64_t i = 0; i < v.size.area; i++) ck_assert_int_eq(((char *)v.area)[i], 0);
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
    ck_assert_int_lt(eventfd_read(stock[STOCK], &woken), 0);
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
    eventfd_t woken;
    int own = eventfd(0, EFD_NONBLOCK);

    for (uint32_t i = 0; i < WINDOW; i++) submit(b, &w);
    waiting[0] = submit(b, &w);
    submit(a, &w);
    waiting[1] = submit(b, &w);
    ck_assert_int_ge(own, 0);
    ck_assert_int_eq(shm_own_fd(own), 1);
    sh->nstock = 0x30000000;
    shm_tell_ended(&v, 1001); /* all that the parent does: it reads nothing */
    ck_assert_int_eq(shm_has_left(&v), 0);
    shm_reclaim(&v);
    ck_assert_int_eq(eventfd_read(own, &woken), 0); /* whatever it waits on is woken */
    close(own);
    expect_left("stock", waiting, 2);
}
END_TEST

/*
 * The lock is given back by whoever holds it as if by one who died with it: the next one makes all anew that only the
 * rows can tell.
 */
START_TEST(rows_are_counted_anew_after_a_death) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001), b = shm_owner_started(&v, 1002), next;
    rs_ticket_t running = submit(a, &w), untold = submit(b, &w), held = submit(b, &w), own = submit(a, &w),
                pooled = submit(a, &w), aside = submit(a, &w);
    rs_ticket_t gone = submit(a, &w), strange = submit(a, &w), unlike = submit(a, &w);

    shm_row_of(&v, running)->running = 1;
    shm_row_of(&v, running)->blocks = shm_row_of(&v, running)->pooled = 1;
    ck_assert_int_eq(shm_end_wait(&v, gone), 1);
    shm_row_of(&v, gone)->blocks = shm_row_of(&v, gone)->pooled = 1;
    shm_row_of(&v, strange)->blocks = v.size.classes + 1;
    shm_row_of(&v, strange)->pooled = 1;
    /* it says that it has a place of the stock, and waits on something else */
    shm_row_of(&v, unlike)->stock = 2;
    shm_row_of(&v, unlike)->wake_fd = stock[0];
    shm_lock(&v);
    ck_assert_int_eq(shm_block_locked(&v, own, 0, 1, 1), 1);
    ck_assert_int_eq(shm_block_locked(&v, pooled, 0, 1, 1), 1);
    shm_block_aside_locked(&v, aside);
    next = sh->nstock;
    memset(v.blocked, 0xff, v.size.classes * sizeof *v.blocked);
    sh->pooled = sh->nstock = 77;
    v.owners[a].held = v.owners[b].held = 77;
    v.owners[a].released = v.owners[b].released = 3;
    shm_row_of(&v, held)->chained = 1;
    shm_row_of(&v, untold)->go = 0;
    atomic_store(&sh->lock.word, 0x40000000u); /* as the kernel marks it: its holder died */
    shm_lock(&v);
    ck_assert_int_eq(shm_has_left(&v), 0);
    ck_assert_uint_eq(sh->rebuilding, 0);
    ck_assert_uint_eq(v.blocked[0], 2);
    ck_assert_uint_eq(v.blocked[1], 0);
    ck_assert_uint_eq(sh->pooled, 1);
    ck_assert_uint_eq(v.owners[a].held, 1); /* `unlike` */
    ck_assert_uint_eq(v.owners[b].held, 1);
    ck_assert_uint_eq(sh->nstock, next);
    ck_assert_uint_eq(shm_row_of(&v, unlike)->stock, 0);
    ck_assert_uint_eq(shm_row_of(&v, held)->chained, 0);
    ck_assert_uint_eq(shm_row_of(&v, running)->blocks + shm_row_of(&v, running)->pooled, 0);
    ck_assert_uint_eq(shm_row_of(&v, gone)->blocks + shm_row_of(&v, gone)->pooled, 0);
    ck_assert_uint_eq(shm_row_of(&v, strange)->blocks + shm_row_of(&v, strange)->pooled, 0);
    ck_assert_int_eq(go(untold), 1);
    /* whether it was told, the dead one alone knew */
    ck_assert_ptr_eq(shm_next_released_locked(&v, b), shm_row_of(&v, untold));
    ck_assert_ptr_null(shm_next_released_locked(&v, b));
    ck_assert_ptr_null(shm_next_released_locked(&v, a)); /* who runs knows */
    atomic_store(&sh->lock.word, 0x40000000u);
    shm_lock(&v);
    ck_assert_ptr_null(shm_next_released_locked(&v, a));
    shm_unlock(&v);
    finish(a, running, &w);
    finish(b, untold, &w);
    finish(b, held, &w);
    finish(a, own, &w);
    finish(a, pooled, &w);
    finish(a, aside, &w);
    finish(a, strange, &w);
    finish(a, unlike, &w);
    ck_assert_uint_eq(v.blocked[0] + sh->pooled + v.owners[a].held + v.owners[b].held, 0);
    ck_assert_uint_eq(sh->nstock, STOCK);
    expect_sound();
}
END_TEST

/*
 * After a death a place of the stock belongs to who waits on its descriptor, and to one only.  Row 0: one waits on
 * another; row 1: two claim it.
 */
START_TEST(a_place_of_the_stock_is_of_one) {
    struct shm_wakes w;
    uint32_t a = shm_owner_started(&v, 1001);
    struct shm_row *one, *two;

    for (uint32_t i = 0; i < WINDOW; i++) submit(a, &w);
    one = shm_row_of(&v, submit(a, &w));
    two = shm_row_of(&v, submit(a, &w));
    ck_assert(one->stock && two->stock && one->stock != two->stock);
    if (_i) two->stock = one->stock;
    two->wake_fd = one->wake_fd;
    atomic_store(&sh->lock.word, 0x40000000u);
    shm_pump(&v, a);
    ck_assert_int_eq(shm_has_left(&v), 0);
    ck_assert_uint_eq((one->stock != 0) + (two->stock != 0), 1);
    ck_assert_int_eq(one->stock != 0 ? one->wake_fd : two->wake_fd, stock[(one->stock ? one->stock : two->stock) - 1]);
    ck_assert_uint_eq(sh->nstock, STOCK - 1);
}
END_TEST

/*
 * One word of it at a time.  `waiting` is blocked in its thread, `held` waits by the stock's only descriptor that is
 * left, `chained` is released and its owner is to wake it.
 */
static struct {
    uint32_t owner;
    rs_ticket_t running, waiting, held, chained;
} scene;

static void released_next(void) {
    struct shm_wakes w;
    finish(0, scene.running, &w);
}
static void given_up(void) { shm_end_wait(&v, scene.waiting); }
static void held_given_up(void) { shm_end_wait(&v, scene.held); }
static void one_more(void) {
    struct shm_wakes w;
    submit(scene.owner, &w);
}
static void ended(void) {
    struct shm_wakes w;
    finish(scene.owner, scene.chained, &w);
}
static void dispatched(void) {
    shm_lock(&v);
    ck_assert_ptr_null(shm_next_released_locked(&v, scene.owner));
    shm_unlock(&v);
}

static void owner_none(void) { shm_row_of(&v, scene.waiting)->owner = 0; }
static void owner_beyond(void) { shm_row_of(&v, scene.waiting)->owner = v.size.owners + 1; }
static void class_beyond(void) { shm_row_of(&v, scene.waiting)->blocks = v.size.classes + 1; }
static void place_beyond(void) { shm_row_of(&v, scene.held)->stock = STOCK + 1; }
static void all_are_free(void) { sh->nstock = STOCK; }
static void more_are_free(void) { sh->nstock = STOCK + 1; }
static void free_one_beyond(void) { sh->nstock = 1, sh->stock[0] = STOCK; }
static void chain_beyond(void) { shm_row_of(&v, scene.chained)->chained = v.size.owners + 1; }
static void circle(void) {
    uint32_t other = rs_ticket_index(scene.held);
    v.owners[scene.owner].released = other;
    v.rows[other].next = other;
}
static void first_beyond(void) { v.owners[scene.owner].released = v.size.tickets; }
static void first_of_another(void) { shm_row_of(&v, scene.chained)->chained = scene.owner + 2; }

static const struct {
    void (*damage)(void), (*then)(void);
    const char *word;
} damages[] = {
    { owner_none, released_next, "a process or a class" },
    { owner_beyond, released_next, "a process or a class" },
    { class_beyond, released_next, "a process or a class" },
    { class_beyond, given_up, "a class" },
    { place_beyond, held_given_up, "stock" },
    { all_are_free, held_given_up, "stock" },
    { more_are_free, one_more, "stock" },
    { free_one_beyond, one_more, "stock" },
    { chain_beyond, ended, "a process that can't be" },
    { circle, ended, "circles" },
    { first_beyond, dispatched, "those that wait" },
    { first_of_another, dispatched, "those that wait" },
};

START_TEST(a_word_that_can_not_be_is_left_behind) {
    struct shm_wakes w;
    rs_ticket_t first, taken[STOCK];

    shm_owner_started(&v, 1001);
    scene.owner = shm_owner_started(&v, 1002);
    first = submit(0, &w);
    scene.running = submit(0, &w);
    for (uint32_t i = 0; i < STOCK; i++) taken[i] = submit(scene.owner, &w);
    scene.chained = submit(scene.owner, &w);
    for (uint32_t i = 0; i < STOCK; i++) shm_end_wait(&v, taken[i]);
    scene.waiting = submit(scene.owner, &w);
    shm_lock(&v);
    ck_assert_int_eq(shm_block_locked(&v, scene.waiting, 0, 1, 0), 1);
    shm_unlock(&v);
    scene.held = submit(scene.owner, &w);
    finish(0, first, &w);
    ck_assert_uint_eq(shm_row_of(&v, scene.chained)->chained, scene.owner + 1);
    ck_assert_int_eq(go(scene.waiting), 0);
    damages[_i].damage();
    ck_assert_int_eq(shm_has_left(&v), 0);
    damages[_i].then();
    ck_assert_int_eq(shm_has_left(&v), 1);
    ck_assert_msg(strstr(said, damages[_i].word) != NULL, "said \"%s\"", said);
    ck_assert_int_eq(alarmed(), 1);
    for (uint32_t i = 0; i < 3 * WINDOW; i++) ck_assert_int_eq(go(submit(0, &w)), 1);
    expect_sound();
}
END_TEST

/* The host found it, in what is its own. */
START_TEST(an_area_that_is_damaged_is_left_behind) {
    struct shm_wakes w;
    rs_ticket_t waiting;

    shm_owner_started(&v, 1001);
    for (uint32_t i = 0; i < WINDOW; i++) submit(0, &w);
    waiting = submit(0, &w);
    memset(v.area, 0xff, v.size.area);
    shm_area_damaged(&v, "a lock of the host's");
    for (uint64_t i = 0; i < v.size.area; i++) ck_assert_int_eq(((char *)v.area)[i], 0);
    for (int i = 0; i < 100; i++) shm_area_damaged(&v, "again"); /* other threads found it, too */
    expect_left("a lock of the host's", &waiting, 1);
}
END_TEST

static void *finds_the_area_damaged(void *unused) {
    shm_area_damaged(&v, "a lock of the host's");
    return unused;
}

/* A thread that is at the engine is let finish first: what it stands in does not go from under it. */
START_TEST(an_area_that_is_damaged_waits_for_the_lock) {
    struct shm_request q = { .owner = 0, .estimate = 1000, .deadline = UINT64_MAX, .client_fd = -1 };
    pthread_t finder;
    rs_ticket_t t;

    shm_owner_started(&v, 1001);
    shm_lock(&v);
    ck_assert_int_eq(pthread_create(&finder, NULL, finds_the_area_damaged, NULL), 0);
    while (!(atomic_load(&sh->lock.word) & FUTEX_WAITERS)) ck_assert_int_eq(shm_has_left(&v), 0);
    ck_assert_int_eq(shm_begin_locked(&v, shm_now(), &q, &t), RS_OK);
    ck_assert_int_eq(shm_has_left(&v), 0);
    ck_assert_uint_eq(shm_row_of(&v, t)->ticket, t);
    shm_unlock(&v);
    ck_assert_int_eq(pthread_join(finder, NULL), 0);
    expect_left("a lock of the host's", NULL, 0);
}
END_TEST

#define CROWD 4u
static _Atomic unsigned inside, crowds;
static _Atomic bool crowded;

/* Nobody else is in while it is, in this memory or that. */
static void *goes_in_and_out(void *unused) {
    while (!crowded) {
        shm_lock(&v);
        ck_assert_uint_eq(atomic_fetch_add(&inside, 1), 0);
        atomic_fetch_sub(&inside, 1);
        shm_unlock(&v);
        crowds++;
    }
    return unused;
}

START_TEST(a_crowd_is_at_an_area_that_is_damaged) {
    pthread_t thread[CROWD];
    unsigned before;

    shm_owner_started(&v, 1001);
    for (unsigned i = 0; i < CROWD; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, goes_in_and_out, NULL), 0);
    while (crowds < 100 * CROWD) continue;
    finds_the_area_damaged(NULL);
    before = crowds;
    while (crowds < before + 100 * CROWD) continue;
    crowded = true;
    for (unsigned i = 0; i < CROWD; i++) ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    expect_left("a lock of the host's", NULL, 0);
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

/* What answers taught about a class is not about the next one that has its place; those that stay keep theirs. */
START_TEST(a_new_class_begins_with_no_mean) {
    struct rs_class_settings classes[3] = { { .name = "heavy", .weight = 1 },
                                            { .name = "fresh", .weight = 1 },
                                            { .name = "light", .weight = 1 } };
    struct shm_wakes w;
    struct rs_settings s;
    uint32_t number[3], a = shm_owner_started(&v, 1001);
    const char *why = NULL;

    rs_settings_default(&s);
    finish(a, submit(a, &w), &w); /* one of "heavy" */
    for (uint32_t i = 0; i < v.size.classes; i++) v.classes[i].mean = 1000 + i;
    ck_assert_int_eq(shm_configure(&v, 1, &s, classes, 2, 0, number, &why), SHM_CONFIGURED);
    ck_assert_uint_eq(number[1], 2);
    ck_assert_uint_eq(v.classes[0].mean, 1000);
    ck_assert_uint_eq(v.classes[1].mean, 1001);
    ck_assert_uint_eq(v.classes[2].mean, 0);
}
END_TEST

/*
 * Classes that are not in force have the number of the one that stands for them; more than there is place for are
 * refused.
 */
START_TEST(unknown_classes_have_the_number_of_another) {
    struct rs_class_settings classes[5] = { { .name = "one", .weight = 1 },
                                            { .name = "light", .weight = 1 },
                                            { .name = "two", .weight = 1 },
                                            { .name = "heavy", .weight = 1 },
                                            { .name = "three", .weight = 1 } };
    struct rs_settings s;
    uint32_t number[5];
    const char *why = "";

    rs_settings_default(&s);
    ck_assert_int_eq(shm_configure(&v, 1, &s, classes, 5, 1, number, &why), SHM_NOT_CONFIGURED);
    ck_assert_ptr_nonnull(strstr(why, "more classes"));
    ck_assert(number[0] == 1 && number[1] == 1 && number[2] == 1 && number[3] == 0 && number[4] == 1);
    s.horizon_ms = 0;
    ck_assert_int_eq(shm_configure(&v, 2, &s, classes, 4, 3, number, &why), SHM_NOT_CONFIGURED);
    ck_assert_ptr_nonnull(strstr(why, "horizon_ms"));
    ck_assert(number[0] == 0 && number[1] == 1 && number[2] == 0 && number[3] == 0);
    /* One of a generation before that is slow to start. */
    ck_assert_int_eq(shm_configure(&v, 1, &s, classes, 4, 1, number, &why), SHM_CONFIGURED_BEFORE);
    ck_assert(number[0] == 1 && number[1] == 1 && number[2] == 1 && number[3] == 0);
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
    tcase_add_test(t, a_ticket_without_a_row_takes_no_slot);
    tcase_add_test(t, rows_of_children_run_out_with_a_word);
    tcase_add_test(t, killed_with_the_lock);
    tcase_add_test(t, a_crowd_can_not_take_the_last_thread_of_others);
    tcase_add_test(t, a_wait_aside_counts_against_no_bound);
    tcase_add_test(t, a_long_write_gives_its_slot_back);
    tcase_add_test(t, how_long_it_has_had_its_slot_is_told);
    tcase_add_test(t, request_that_waits_at_the_backend_is_parked_at_its_release_and_charged_nothing);
    tcase_add_test(t, request_that_waits_with_a_worker_keeps_it_until_the_backend_is_done);
    tcase_add_test(t, a_row_has_what_its_request_asked);
    tcase_add_test(t, a_dispatcher_takes_what_was_released_for_it);
    tcase_add_test(t, a_wait_by_a_descriptor_of_the_owners_own);
    tcase_add_test(t, a_wide_window_lets_all_through);
    tcase_add_test(t, who_was_parked_takes_a_slot_again_when_one_is_free);
    tcase_add_test(t, test_parked_request_occupying_its_backend_is_charged_until_the_backend_is_done);
    tcase_add_test(t, one_process_works_in_the_background);
    tcase_add_test(t, a_segment_fits_what_is_no_larger);
    tcase_add_test(t, the_parts_stand_in_a_row);
    tcase_add_test(t, a_number_of_free_descriptors_that_can_not_be);
    tcase_add_test(t, rows_are_counted_anew_after_a_death);
    tcase_add_loop_test(t, a_place_of_the_stock_is_of_one, 0, 2);
    tcase_add_loop_test(t, a_word_that_can_not_be_is_left_behind, 0, sizeof damages / sizeof *damages);
    tcase_add_test(t, an_area_that_is_damaged_is_left_behind);
    tcase_add_test(t, an_area_that_is_damaged_waits_for_the_lock);
    tcase_add_loop_test(t, a_crowd_is_at_an_area_that_is_damaged, 0, 20);
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
    tcase_add_test(t, a_new_class_begins_with_no_mean);
    tcase_add_test(t, unknown_classes_have_the_number_of_another);
    suite_add_tcase(s, t);
    return run_suite(s);
}
