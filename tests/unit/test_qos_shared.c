/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared segment: wake-ups reach who waits, a dead child's slots come back, a lock whose holder died leaves nothing broken. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mod_qos_drr/qos_shared.h"
#include "run_suite.h"

#define STOCK  2u
#define WINDOW 2u

static struct qos_shared *sh;
static struct qos_view v;
static int stock[STOCK];

static void make_segment(void) {
    struct qos_size size = { .children = 4, .classes = 4, .tickets = 64, .pages = 1024 };
    struct rs_class_settings classes[2] = { { .name = "heavy", .weight = 3 }, { .name = "light", .weight = 1 } };
    struct rs_settings s;
    const char *why = NULL;

    rs_settings_default(&s);
    s.sched = RS_SCHED_FIFO;
    s.gate = RS_GATE_WINDOW;
    s.window = WINDOW;
    sh = qos_shared_make(&size, &s, classes, 2, &why);
    ck_assert_msg(sh != NULL, "%s", why);
    ck_assert_int_eq(qos_shared_view(sh, &v), 0);
    for (uint32_t i = 0; i < STOCK; i++) {
        stock[i] = eventfd(0, EFD_NONBLOCK);
        ck_assert_int_ge(stock[i], 0);
        sh->stock[sh->nstock++] = (uint16_t)i;
    }
    v.stock = stock;
    v.nstock = STOCK;
}

static void free_segment(void) {
    for (uint32_t i = 0; i < STOCK; i++) close(stock[i]);
    qos_shared_free(&sh);
    ck_assert_ptr_null(sh);
}

/* A request of child `child`, held if it must wait.  What a host does, without the host. */
static rs_ticket_t submit(uint32_t child, struct qos_wakes *w) {
    rs_ticket_t t;
    struct qos_row *row;

    memset(w, 0, sizeof *w);
    qos_lock(&v);
    ck_assert_int_eq(rs_submit(v.engine, qos_now(), 0, 0, 1000, child + 1, 0, &t), RS_OK);
    row = &v.rows[rs_ticket_index(t)];
    row->go = 0;
    row->blocks = 0;
    row->wake_fd = -1;
    row->stock = 0;
    row->owner = child + 1;
    row->client_fd = -1;
    row->deadline = UINT64_MAX;
    row->ticket = t;
    v.children[child].held++;
    qos_pump_locked(&v, qos_now(), child, t, w);
    if (!row->go) qos_row_wait_locked(&v, row);
    qos_unlock(&v);
    return t;
}

static void finish(uint32_t child, rs_ticket_t t, struct qos_wakes *w) {
    memset(w, 0, sizeof *w);
    qos_lock(&v);
    ck_assert_int_eq(rs_finish(v.engine, qos_now(), t), 1);
    qos_row_free_locked(&v, &v.rows[rs_ticket_index(t)]);
    qos_pump_locked(&v, qos_now(), child, RS_NO_TICKET, w);
    qos_unlock(&v);
    qos_wake(&v, w);
}

static int go(rs_ticket_t t) { return (int)v.rows[rs_ticket_index(t)].go; }
static int signalled(rs_ticket_t t) {
    eventfd_t n;
    return v.rows[rs_ticket_index(t)].wake_fd >= 0 && eventfd_read(v.rows[rs_ticket_index(t)].wake_fd, &n) == 0;
}

static void expect_sound(void) {
    const char *broken;
    qos_lock(&v);
    broken = rs_check(v.engine);
    qos_unlock(&v);
    ck_assert_msg(broken == NULL, "%s", broken);
}

START_TEST(a_release_wakes_who_waits_in_whatever_child) {
    struct qos_wakes w;
    uint32_t a = qos_child_started(&v, 1001), b = qos_child_started(&v, 1002);
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
    struct qos_wakes w;
    uint32_t a = qos_child_started(&v, 1001), b = qos_child_started(&v, 1002), before;
    rs_ticket_t running[WINDOW], waiting[STOCK + 1];

    for (uint32_t i = 0; i < WINDOW; i++) running[i] = submit(a, &w);
    for (uint32_t i = 0; i < STOCK + 1; i++) waiting[i] = submit(b, &w);
    ck_assert_int_eq(v.rows[rs_ticket_index(waiting[STOCK])].wake_fd, -1);
    for (uint32_t i = 0; i < STOCK; i++) {
        finish(a, running[i], &w);
        ck_assert_uint_eq(w.others, 0);
    }
    before = v.children[b].wake;
    finish(a, waiting[0], &w);
    ck_assert_int_eq(go(waiting[STOCK]), 1);
    ck_assert_uint_eq(w.others, 1);
    ck_assert_uint_eq(w.other[0], b);
    ck_assert_uint_eq(v.children[b].released, rs_ticket_index(waiting[STOCK]));
    ck_assert_uint_ne(v.children[b].wake, before);
    /* Over before the dispatcher came to it: its place may be somebody else's by then, so it must not stay in the chain. */
    finish(b, waiting[STOCK], &w);
    ck_assert_uint_eq(v.children[b].released, QOS_NO_ROW);
    expect_sound();
}
END_TEST

START_TEST(who_waits_may_leave_but_not_after_its_release) {
    struct qos_wakes w;
    uint32_t a = qos_child_started(&v, 1001);
    rs_ticket_t one = submit(a, &w), two = submit(a, &w), three = submit(a, &w), four = submit(a, &w);

    ck_assert_int_eq(qos_end_wait(&v, three), 1);
    ck_assert_int_eq(qos_end_wait(&v, three), 0);
    ck_assert_uint_eq(v.children[a].held, 1);
    finish(a, one, &w);
    ck_assert_int_eq(go(four), 1);
    ck_assert_int_eq(qos_end_wait(&v, four), 0);
    finish(a, two, &w);
    finish(a, four, &w);
    ck_assert_uint_eq(v.children[a].held, 0);
    expect_sound();
}
END_TEST

START_TEST(a_dead_childs_slots_come_back) {
    struct qos_wakes w;
    struct rs_stats stats;
    uint32_t a = qos_child_started(&v, 1001), b = qos_child_started(&v, 1002);
    rs_ticket_t waiting, behind;

    submit(a, &w);
    submit(a, &w);
    submit(a, &w);
    waiting = submit(b, &w);
    behind = submit(b, &w);
    ck_assert_uint_eq(qos_child_ended(&v, 1001), 3);
    ck_assert_int_eq(go(waiting) + go(behind), 2);
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.outstanding, 2);
    ck_assert_uint_eq(stats.queued, 0);
    ck_assert_uint_eq(qos_child_ended(&v, 1001), 0);
    ck_assert_uint_eq(qos_child_started(&v, 1003), a);
    expect_sound();
}
END_TEST

START_TEST(rows_of_children_run_out_with_a_word) {
    for (uint32_t i = 0; i < sh->children; i++) ck_assert_uint_eq(qos_child_started(&v, (pid_t)(1000 + i)), i);
    ck_assert_uint_eq(qos_child_started(&v, 2000), QOS_NO_ROW);
}
END_TEST

/* Killed while it holds the lock, in the middle of whatever: nothing that others had is lost. */
START_TEST(killed_with_the_lock) {
    struct qos_wakes w;
    struct rs_stats stats;
    uint32_t a = qos_child_started(&v, 1001);
    rs_ticket_t one = submit(a, &w), two, three;
    int ready[2], status;
    pid_t pid;
    char c;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        rs_ticket_t t;
        uint32_t me = qos_child_started(&v, getpid());

        submit(me, &w);
        qos_lock(&v);
        rs_submit(v.engine, qos_now(), 1, 0, 500, me + 1, 0, &t);   /* its row is never written */
        v.children[me].released = 12345678;                         /* half a change of a list */
        sh->nstock = 77;
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);

    two = submit(a, &w);    /* takes the lock: the rebuild is here */
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.rebuilds, 1);
    expect_sound();
    ck_assert_uint_le(sh->nstock, STOCK);
    ck_assert_int_eq(go(one), 1);
    ck_assert_int_eq(go(two), 0);
    ck_assert_uint_ge(qos_child_ended(&v, pid), 1);
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
    struct qos_wakes w;
    uint32_t a = qos_child_started(&v, 1001);
    rs_ticket_t tickets[10];
    int blocked = 0;

    for (int i = 0; i < 10; i++) tickets[i] = submit(a, &w);
    /* Class 0 may block 2 of its own and the pool of 3; then class 1 still has its own one. */
    qos_lock(&v);
    for (int i = 2; i < 10; i++) blocked += qos_row_block_locked(&v, &v.rows[rs_ticket_index(tickets[i])], 0, 2, 3);
    ck_assert_int_eq(blocked, 5);
    ck_assert_uint_eq(v.blocked[0], 5);
    ck_assert_int_eq(qos_row_block_locked(&v, &v.rows[rs_ticket_index(tickets[9])], 1, 1, 3), 1);
    ck_assert_int_eq(qos_row_block_locked(&v, &v.rows[rs_ticket_index(tickets[8])], 1, 1, 3), 0);
    qos_unlock(&v);
    for (int i = 2; i < 10; i++) ck_assert_int_eq(qos_end_wait(&v, tickets[i]), 1);
    ck_assert_uint_eq(v.blocked[0] + v.blocked[1] + sh->pooled, 0);
}
END_TEST

/* A wait in a thread that no other could have is woken as a futex, and counts against nobody's bound. */
START_TEST(a_wait_aside_counts_against_no_bound) {
    struct qos_wakes w;
    uint32_t a = qos_child_started(&v, 1001);
    rs_ticket_t first = submit(a, &w), second = submit(a, &w), aside = submit(a, &w);
    struct qos_row *row = &v.rows[rs_ticket_index(aside)];

    ck_assert_int_eq(go(first) && go(second) && !go(aside), 1);
    qos_lock(&v);
    v.children[a].held--;
    qos_row_block_aside_locked(row);
    ck_assert_uint_eq(v.blocked[0] + sh->pooled, 0);
    qos_unlock(&v);
    finish(a, first, &w);
    ck_assert_int_eq(go(aside), 1);
    ck_assert_uint_eq(w.n, 1);
    ck_assert_int_eq(w.wake[0].fd, -1);
    ck_assert_uint_eq(v.children[a].held, 0);
    ck_assert_uint_eq(row->blocks + v.blocked[0] + sh->pooled, 0);
}
END_TEST

START_TEST(a_long_write_gives_its_slot_back) {
    struct qos_wakes w;
    struct rs_stats stats;
    uint32_t a = qos_child_started(&v, 1001);
    rs_ticket_t slow = submit(a, &w), quick = submit(a, &w);
    uint64_t now = 10 * 1000000u;

    v.rows[rs_ticket_index(slow)].client_since = now - QOS_SLOW_US;
    v.rows[rs_ticket_index(quick)].client_since = now - QOS_SLOW_US + 1;
    sh->next_sweep = now + 1;
    qos_sweep(&v, now);
    ck_assert_uint_eq(v.rows[rs_ticket_index(slow)].parked, 0);     /* not due yet */
    sh->next_sweep = now;
    qos_sweep(&v, now);
    ck_assert_uint_eq(v.rows[rs_ticket_index(slow)].parked, 1);
    ck_assert_uint_eq(v.rows[rs_ticket_index(quick)].parked, 0);
    rs_stats(v.engine, &stats);
    ck_assert_uint_eq(stats.outstanding, 1);
    ck_assert_uint_eq(stats.parked, 1);
    expect_sound();
}
END_TEST

int main(void) {
    Suite *s = suite_create("qos_shared");
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
    suite_add_tcase(s, t);
    return run_suite(s);
}
