/* SPDX-License-Identifier: BSD-2-Clause */
/* test_shm_outlets.c - windows of their own in a segment that processes share; slots that are given back for good. */
#include "run_suite.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base_mutex.h"
#include "shm/shm.h"

#define WINDOW 2u

static struct shm_view v;
static uint32_t child;
static uint64_t told; /* microseconds */

static void note_left(const char *why) { ck_abort_msg("it was left: %s", why); }
static void note_lost(pid_t pid, uint32_t requests) { (void)pid, (void)requests; }
static void note_slot(const struct shm_view *of, uint64_t now, rs_ticket_t t, uint64_t us) {
    (void)now;
    ck_assert_int_ne(rs_state(of->engine, t), RS_FREE);
    told += us;
}
static unsigned long_parked, park_most;
static void note_long(const struct shm_view *of, rs_ticket_t t, uint64_t us) {
    (void)of, (void)t, (void)us;
    long_parked++;
}
static bool may_park(const struct shm_view *of, uint32_t at) { return rs_parked_at(of->engine, at) < park_most; }
static const struct shm_host host = {
    .lost = note_lost,
    .left = note_left,
    .had_slot = note_slot,
    .parked_long = note_long,
    .may_park = may_park,
};

static void set_up(void) {
    const struct shm_size size = { .owners = 2, .classes = 2, .tickets = 64, .outlets = 3 };
    const struct rs_class_settings classes[2] = { { .name = "people", .weight = 3 }, { .name = "rest", .weight = 1 } };
    struct rs_settings s;
    const char *why = "";

    rs_settings_default(&s);
    s.window = WINDOW;
    memset(&v, 0, sizeof v);
    v.alarm = -1;
    v.host = &host;
    ck_assert_msg(!shm_make(&v, &size, &s, classes, 2, &why), "%s", why);
    child = shm_owner_started(&v, getpid());
    told = 0;
    long_parked = 0;
    park_most = UINT32_MAX;
}

static void tear_down(void) { shm_free(&v); }

static void sound(void) {
    const char *broken;

    shm_lock(&v);
    broken = rs_check(v.engine);
    shm_unlock(&v);
    ck_assert_msg(!broken, "%s", broken);
}

static struct rs_outlet_settings outlet(const char *name, uint32_t window) {
    struct rs_outlet_settings o = { .gate = RS_GATE_WINDOW, .window = window, .window_max = 256 };

    snprintf(o.name, sizeof o.name, "%s", name);
    return o;
}

static rs_ticket_t submit_at(uint32_t at, uint64_t park_us) {
    struct shm_request q = {
        .owner = child, .outlet = at, .estimate = 1000, .deadline = UINT64_MAX, .client_fd = -1, .park_us = park_us
    };
    struct shm_wakes w = { .n = 0 };
    rs_ticket_t t;

    shm_lock(&v);
    ck_assert_int_eq(shm_begin_locked(&v, shm_now(), &q, &t), RS_OK);
    shm_pump_locked(&v, shm_now(), child, t, &w);
    shm_unlock(&v);
    return t;
}

static void finish(rs_ticket_t t) {
    shm_lock(&v);
    ck_assert(rs_finish(v.engine, shm_now(), t));
    shm_end_locked(&v, t);
    shm_unlock(&v);
    shm_pump(&v, child);
}

static bool goes(rs_ticket_t t) { return shm_row_of(&v, t)->go; }

START_TEST(the_first_of_a_generation_puts_windows_in_force) {
    struct rs_outlet_settings two[2] = { outlet("a", 1), outlet("b", 3) },
                              three[3] = { two[1], outlet("c", 1), outlet("d", 1) };
    uint32_t number[3] = { 9, 9, 9 };
    const char *why = "";
    bool left_out = true;

    ck_assert_int_eq(shm_configure_outlets(&v, 1, two, 2, number, &left_out, &why), SHM_CONFIGURED);
    ck_assert(number[0] == 1 && number[1] == 2 && !left_out);
    memset(number, 9, sizeof number);
    ck_assert_int_eq(shm_configure_outlets(&v, 1, two, 2, number, &left_out, &why), SHM_CONFIGURED_BEFORE);
    ck_assert(number[0] == 1 && number[1] == 2);
    rs_ticket_t t = submit_at(1, 0), waits = submit_at(1, 0);
    ck_assert(goes(t) && !goes(waits));
    v.leads[2 * 1] = v.leads[2 * 2] = 77;
    /* a's place is taken by who waits there; one of the two that come has none */
    ck_assert_int_eq(shm_configure_outlets(&v, 3, three, 3, number, &left_out, &why), SHM_CONFIGURED);
    ck_assert(number[0] == 2 && number[1] == 0 && number[2] == 0 && left_out);
    ck_assert(v.leads[2 * 1] == 0 && v.leads[2 * 2] == 77);
    /* a child of before that was slow to start */
    ck_assert_int_eq(shm_configure_outlets(&v, 2, two, 2, number, &left_out, &why), SHM_CONFIGURED_BEFORE);
    ck_assert(number[0] == 0 && number[1] == 2 && left_out);
    two[0].window = 0;
    ck_assert_int_eq(shm_configure_outlets(&v, 4, two, 2, number, &left_out, &why), SHM_NOT_CONFIGURED);
    ck_assert(strstr(why, "out of bounds"));
    finish(t);
    ck_assert(goes(waits));
    sound();
}
END_TEST

/* A wider window lets more through at once. */
START_TEST(a_wider_window_is_filled) {
    struct rs_outlet_settings o = outlet("a", 1);
    uint32_t number;
    const char *why = "";
    bool left_out;

    shm_configure_outlets(&v, 1, &o, 1, &number, &left_out, &why);
    rs_ticket_t first = submit_at(number, 0), second = submit_at(number, 0), third = submit_at(number, 0);
    ck_assert(goes(first) && !goes(second));
    o.window = 2;
    shm_configure_outlets(&v, 2, &o, 1, &number, &left_out, &why);
    ck_assert(goes(second) && !goes(third));
}
END_TEST

static void die_with_the_lock(void) {
    pid_t pid = fork();
    int status;

    if (!pid) {
        base_mutex_forked();
        shm_lock(&v);
        raise(SIGKILL);
    }
    ck_assert(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

START_TEST(threads_that_wait_are_counted_by_outlet) {
    struct rs_outlet_settings o = outlet("a", 1);
    uint32_t number;
    const char *why = "";
    bool left_out;
    rs_ticket_t t[6];

    shm_configure_outlets(&v, 1, &o, 1, &number, &left_out, &why);
    for (int i = 0; i < 6; i++) t[i] = submit_at(i % 2 ? number : 0, 0);
    shm_lock(&v);
    ck_assert(shm_block_locked(&v, t[3], 0, 5, 0) && shm_block_locked(&v, t[5], 0, 0, 5));
    ck_assert(shm_block_locked(&v, t[4], 0, 5, 0));
    ck_assert(v.blocked_at[0] == 1 && v.blocked_at[number] == 2 && v.sh->blocked == 3 && v.sh->pooled == 1);
    shm_unlock(&v);
    die_with_the_lock();
    sound();
    ck_assert(v.blocked_at[0] == 1 && v.blocked_at[number] == 2 && v.sh->blocked == 3 && v.sh->pooled == 1);
    for (int i = 3; i < 6; i++) ck_assert(shm_end_wait(&v, t[i]));
    ck_assert(!v.blocked_at[0] && !v.blocked_at[number] && !v.sh->blocked && !v.sh->pooled);
}
END_TEST

static void sweep(uint64_t now) {
    v.sh->next_sweep = 0;
    shm_sweep(&v, now);
    shm_pump(&v, child);
}

START_TEST(who_has_had_it_long_enough_gives_it_back) {
    rs_ticket_t t = submit_at(0, 5000000), ever = submit_at(0, 0), waits = submit_at(0, 0);
    struct shm_row *row = shm_row_of(&v, t);
    uint64_t since = row->slot_since;

    ck_assert_uint_eq(row->park_at, since + 5000000);
    sweep(since + 4900000);
    ck_assert(row->parked == SHM_NOT_PARKED && !goes(waits));
    told = 0;
    sweep(since + 5000000);
    ck_assert(row->parked == SHM_PARKED_LONG && goes(waits));
    ck_assert_uint_eq(v.sh->parked_long, 1);
    ck_assert_uint_eq(shm_row_of(&v, ever)->parked, SHM_NOT_PARKED);
    sound();
    /* It is worked at, and that is told of until its answer begins. */
    finish(waits);
    finish(ever);
    told = 0;
    sweep(since + 6000000);
    ck_assert_uint_eq(told, 1000000);
    row->slot_since = shm_now() - 1000;
    shm_begins(&v, t);
    ck_assert_uint_ge(told, 1001000);
    ck_assert_uint_eq(row->slot_since, 0);
    /* For good: a client that keeps up changes nothing. */
    shm_resume(&v, t);
    ck_assert(row->parked == SHM_PARKED_LONG && rs_state(v.engine, t) == RS_PARKED);
    sweep(since + 20000000);
    ck_assert_uint_eq(v.sh->parked_long, 1);
    finish(t);
    ck_assert_uint_eq(row->park_at, 0);
    sound();
}
END_TEST

/* A stream has begun before its time is over; then only what it sends is told of. */
START_TEST(who_has_begun_is_not_told_of) {
    rs_ticket_t t = submit_at(0, 1000000);
    struct shm_row *row = shm_row_of(&v, t);
    uint64_t since = row->slot_since;

    shm_begins(&v, t);
    ck_assert_uint_eq(row->slot_since, since);
    sweep(since + 1000000);
    ck_assert(row->parked == SHM_PARKED_LONG);
    ck_assert_uint_eq(told, 1000000);
    sweep(since + 9000000);
    ck_assert_uint_eq(told, 1000000);
    finish(t);
    /* The next one in its place has not. */
    t = submit_at(0, 1000000);
    ck_assert_uint_eq(shm_row_of(&v, t)->begun, 0);
}
END_TEST

/* Who was parked for its client meanwhile does not come back either. */
START_TEST(parked_for_its_client_then_for_good) {
    rs_ticket_t t = submit_at(0, 1000000);
    struct shm_row *row = shm_row_of(&v, t);
    uint64_t since = row->slot_since;

    row->client_since = since;
    sweep(since + SHM_SLOW_US);
    ck_assert_uint_eq(row->parked, SHM_PARKED);
    sweep(since + 1000000);
    ck_assert_uint_eq(row->parked, SHM_PARKED_LONG);
    shm_resume(&v, t);
    ck_assert_int_eq(rs_state(v.engine, t), RS_PARKED);
    ck_assert_uint_eq(told, SHM_SLOW_US);
    sound();
    finish(t);
}
END_TEST

START_TEST(test_time_of_a_slow_client_that_occupies_its_backend_is_charged_and_teaches_nothing) {
    rs_ticket_t t = submit_at(0, 1000000);
    struct shm_row *row = shm_row_of(&v, t);
    uint64_t since = row->slot_since;

    row->occupies = 1;
    row->client_since = since;
    sweep(since + SHM_SLOW_US);
    ck_assert_uint_eq(row->parked, SHM_PARKED);
    sweep(since + 1000000);
    ck_assert_uint_eq(row->parked, SHM_PARKED_LONG);
    sweep(since + 3000000);
    ck_assert_uint_eq(told, 3000000);
    ck_assert_uint_eq(row->slot_us, SHM_SLOW_US);
    ck_assert_uint_eq(long_parked, 0);
    sound();
    finish(t);
    /* Beside it, one that the backend makes last. */
    t = submit_at(0, 1000000);
    sweep(shm_row_of(&v, t)->slot_since + 1000000);
    ck_assert_uint_eq(long_parked, 1);
    finish(t);
}
END_TEST

START_TEST(test_request_beyond_those_that_may_be_parked_keeps_its_slot_until_another_one_ends) {
    rs_ticket_t first = submit_at(0, 1000000), second = submit_at(0, 1000000), waits = submit_at(0, 0);
    uint64_t late = shm_row_of(&v, second)->slot_since + 1000000;

    park_most = 1;
    sweep(late);
    ck_assert_uint_eq(rs_parked_at(v.engine, 0), 1);
    ck_assert(goes(waits));
    finish(shm_row_of(&v, first)->parked ? first : second);
    ck_assert_uint_eq(rs_parked_at(v.engine, 0), 0);
    sweep(late + SHM_TICK_US);
    ck_assert_uint_eq(rs_parked_at(v.engine, 0), 1);
    sound();
}
END_TEST

START_TEST(who_has_brought_enough_gives_it_back) {
    rs_ticket_t t = submit_at(0, 0), other = submit_at(0, 0), waits = submit_at(0, 0);

    shm_park(&v, child, t, SHM_PARKED_LARGE);
    ck_assert(goes(waits) && shm_row_of(&v, t)->parked == SHM_PARKED_LARGE);
    shm_park(&v, child, t, SHM_PARKED_LARGE);
    ck_assert_uint_eq(v.sh->parked_large, 1);
    ck_assert_uint_eq(shm_row_of(&v, t)->slot_since, 0);
    finish(other);
    shm_resume(&v, t);
    ck_assert_int_eq(rs_state(v.engine, t), RS_PARKED);
    finish(t);
    shm_park(&v, child, t, SHM_PARKED_LARGE);
    ck_assert_uint_eq(v.sh->parked_large, 1);
    sound();
}
END_TEST

START_TEST(test_park_soon_takes_the_first_of_its_outlet_and_no_more_than_that_many) {
    struct rs_outlet_settings one[1] = { outlet("a", 2) };
    uint32_t number[1];
    const char *why = "";
    bool left_out;

    ck_assert_int_eq(shm_configure_outlets(&v, 1, one, 1, number, &left_out, &why), SHM_CONFIGURED);
    ck_assert(!shm_park_soon(&v, 1, 9));
    rs_ticket_t other = submit_at(0, 0), first = submit_at(1, 0), second = submit_at(1, 0), third = submit_at(1, 0),
                fourth = submit_at(1, 0);
    shm_row_of(&v, other)->running = shm_row_of(&v, first)->running = shm_row_of(&v, second)->running = 1;
    /* Without a time after which it is parked, a request keeps its slot. */
    shm_row_of(&v, first)->park_us = shm_row_of(&v, second)->park_us = 0;
    ck_assert(!shm_park_soon(&v, 1, 9));
    shm_row_of(&v, first)->park_us = shm_row_of(&v, second)->park_us = 600000000;
    ck_assert(goes(second) && !goes(third) && !goes(fourth));
    ck_assert(shm_park_soon(&v, 1, 1));
    ck_assert(!goes(third));
    sweep(shm_now());
    ck_assert_uint_eq(shm_row_of(&v, first)->parked, SHM_PARKED_LONG);
    ck_assert(goes(third) && !goes(fourth));
    ck_assert_uint_eq(shm_row_of(&v, other)->parked, SHM_NOT_PARKED);
    ck_assert(!shm_park_soon(&v, 1, 1));
    ck_assert(shm_park_soon(&v, 1, 2));
    sweep(shm_now());
    ck_assert(shm_row_of(&v, second)->parked == SHM_PARKED_LONG && goes(fourth));
    /* The last two have not begun to run. */
    ck_assert(!shm_park_soon(&v, 1, 9));
    sound();
}
END_TEST

int main(void) {
    Suite *s = suite_create("shm: outlets");
    TCase *c = tcase_create("outlets");

    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, the_first_of_a_generation_puts_windows_in_force);
    tcase_add_test(c, a_wider_window_is_filled);
    tcase_add_test(c, threads_that_wait_are_counted_by_outlet);
    tcase_add_test(c, who_has_had_it_long_enough_gives_it_back);
    tcase_add_test(c, who_has_begun_is_not_told_of);
    tcase_add_test(c, parked_for_its_client_then_for_good);
    tcase_add_test(c, test_time_of_a_slow_client_that_occupies_its_backend_is_charged_and_teaches_nothing);
    tcase_add_test(c, test_request_beyond_those_that_may_be_parked_keeps_its_slot_until_another_one_ends);
    tcase_add_test(c, who_has_brought_enough_gives_it_back);
    tcase_add_test(c, test_park_soon_takes_the_first_of_its_outlet_and_no_more_than_that_many);
    suite_add_tcase(s, c);
    return run_suite(s);
}
