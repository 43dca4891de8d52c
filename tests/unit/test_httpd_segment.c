/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_httpd_segment.c - the segment of a module over restarts and damage: what the parent does, without httpd.
 *
 * Signals are real; where a pause is to be over, the time of the last renewal is put back.
 */
#include "test_httpd.h"

#include <errno.h>
#include <fcntl.h>
#include <mpm_common.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "httpd/httpd_segment.h"

#define SECOND UINT64_C(1000000)

static int mpm_answer, mpm_says; /* apr_status_t, and what */

apr_status_t ap_mpm_query(int what, int *result) {
    (void)what;
    *result = mpm_says;
    return mpm_answer;
}

void ap_log_assert(const char *what, const char *file, int line) { ck_abort_msg("%s:%d: %s", file, line, what); }

static struct httpd_segment *k;
static struct rs_class_settings classes[3] = { { .name = "people", .weight = 6 },
                                               { .name = "crawlers", .weight = 1 },
                                               { .name = "other", .weight = 1 } };
static struct httpd_segment_wants wants;
static volatile sig_atomic_t restarts, others; /* graceful ones that were asked for; signals for another module */
static unsigned forgotten, filled;
static bool no_fill;

static void note_restart(int signal) { (void)signal, restarts++; }
static void note_other(int signal) { (void)signal, others++; }
static void note_forgotten(struct httpd_segment *of) { (void)of, forgotten++; }

static int fill(struct httpd_segment *of, const char **why) {
    if (no_fill) {
        *why = "nothing to fill it with";
        return -1;
    }
    memset(of->view.area, 'a', 8);
    filled++;
    return 0;
}

static void begin(void) {
    begin_httpd();
    signal(AP_SIG_GRACEFUL, note_restart);
    k = httpd_segment_kept(process_pool, "test-segment-1", sizeof *k);
    k->name = "lab";
    k->module = 0;
    k->forget = note_forgotten;
    wants = (struct httpd_segment_wants){
        .size = { .owners = 4, .classes = 4, .tickets = 64, .area = 64 },
        .classes = classes,
        .nclasses = 2,
        .grows_with = "LabQueue",
        .fill = fill,
    };
    rs_settings_default(&wants.settings);
    restarts = others = 0;
    forgotten = filled = 0;
    no_fill = false;
}

static void end(void) {
    restart_httpd();
    shm_free(&k->view);
    end_httpd();
}

static int configure(void) { return httpd_segment_begin(k, &server, pconf, &wants); }

static void start(void) {
    ck_assert_int_eq(configure(), OK);
    ck_assert_str_eq(logged, "");
}

static void configure_again(void) {
    restart_httpd();
    logged[0] = 0;
    ck_assert_int_eq(configure(), OK);
}

/* A child finds damage. */
static void alarm_parent(void) { ck_assert_int_eq(write(k->view.alarm, "!", 1), 1); }

static void time_passes(uint64_t us) { k->renewed -= us; }

static bool fresh(void) { return times_logged("fresh memory takes its place") == 1; }

static void child_started(pid_t pid) { httpd_segment_child_status(&server, pid, MPM_CHILD_STARTED, true); }
static void child_ended(pid_t pid) { httpd_segment_child_status(&server, pid, MPM_CHILD_EXITED, true); }

/* ---- one segment at all times ------------------------------------------------------------------------------------ */

START_TEST(it_is_kept_by_its_key) {
    static const char zeroes[sizeof *k];
    struct httpd_segment *again = httpd_segment_kept(process_pool, "test-segment-1", sizeof *k),
                         *newer = httpd_segment_kept(process_pool, "test-segment-2", sizeof *k);

    ck_assert_ptr_eq(again, k);
    ck_assert_ptr_ne(newer, k);
    ck_assert(newer->alarm[0] == -1 && newer->alarm[1] == -1 && newer->view.alarm == -1);
    ck_assert_ptr_eq(newer->process, process_pool);
    newer->alarm[0] = newer->alarm[1] = newer->view.alarm = 0;
    newer->process = NULL;
    ck_assert_int_eq(memcmp(newer, zeroes, sizeof *newer), 0);
}
END_TEST

START_TEST(it_stays_over_restarts) {
    struct shm_segment *sh;
    uint64_t seal;

    start();
    sh = k->view.sh;
    seal = k->view.seal;
    ck_assert_uint_eq(filled, 1);
    ck_assert(k->view.numbers[0] == 0 && k->view.numbers[1] == 1);
    ck_assert_uint_eq(sh->configured, 1);
    for (uint32_t generation = 2; generation < 5; generation++) {
        configure_again();
        ck_assert(k->view.sh == sh && k->view.seal == seal);
        ck_assert_uint_eq(sh->generation, generation);
        ck_assert_uint_eq(sh->configured, 1); /* the children's to change */
    }
    ck_assert_uint_eq(filled, 1);
    ck_assert_str_eq(logged, "");
}
END_TEST

START_TEST(what_can_not_be_filled_is_none) {
    no_fill = true;
    ck_assert_int_ne(configure(), OK);
    ck_assert_ptr_null(k->view.sh);
    ck_assert_str_eq(logged, "lab: nothing to fill it with\n");
}
END_TEST

START_TEST(what_can_not_be_made_is_none) {
    wants.size.tickets = UINT32_MAX;
    ck_assert_int_ne(configure(), OK);
    ck_assert_ptr_null(k->view.sh);
    ck_assert_msg(strncmp(logged, "lab: ", 5) == 0, "%s", logged);
}
END_TEST

/* A larger one is made when nobody has the old one. */
START_TEST(it_grows_when_no_child_is_left) {
    uint64_t seal;

    start();
    seal = k->view.seal;
    child_started(getpid());
    wants.size.tickets *= 2;
    configure_again();
    ck_assert_uint_eq(k->view.seal, seal);
    ck_assert_uint_eq(times_logged("LabQueue"), 1);
    child_ended(getpid());
    configure_again();
    ck_assert_uint_ne(k->view.seal, seal);
    ck_assert_uint_eq(k->view.size.tickets, wants.size.tickets);
    ck_assert(forgotten == 1 && filled == 2);
    ck_assert_str_eq(logged, "");
}
END_TEST

/* The stock must leave descriptors for all else, and is made once. */
START_TEST(the_stock_is_a_part_of_what_may_be_open) {
    struct rlimit l = { 64, 64 };
    uint32_t n;

    wants.stock = true;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
    start();
    n = k->nstock;
    ck_assert(n > 0 && n <= 16);
    ck_assert(k->view.nstock == n && k->view.sh->nstock == n);
    for (uint32_t i = 0; i < n; i++) ck_assert_int_ge(fcntl(k->stock[i], F_GETFD), 0);
    wants.size.tickets *= 2;
    configure_again();
    ck_assert(k->nstock == n && k->view.sh->nstock == n);
}
END_TEST

START_TEST(without_a_stock_there_is_none) {
    start();
    ck_assert(k->nstock == 0 && k->view.nstock == 0 && k->view.sh->nstock == 0);
}
END_TEST

/* ---- children ---------------------------------------------------------------------------------------------------- */

START_TEST(the_segment_is_told_who_ended) {
    start();
    for (pid_t pid = 1000; pid < 1200; pid++) child_started(pid);
    httpd_segment_child_status(&server, 3000, MPM_CHILD_STARTED, false); /* the module is off in it */
    ck_assert_uint_eq(k->nalive, 200);
    child_ended(3000);
    child_ended(4000);
    ck_assert_uint_eq(k->view.sh->ended, 0);
    for (uint32_t n = 0; n < 50; n++) {
        child_ended((pid_t)(1199 - 2 * n));
        ck_assert_int_eq(k->view.ended[n], (pid_t)(1199 - 2 * n));
    }
    child_ended(1199); /* it was told */
    ck_assert_uint_eq(k->view.sh->ended, 50);
    ck_assert_uint_eq(k->nalive, 150);
}
END_TEST

/* While the module is not loaded, in a restart, nobody tells of ends. */
START_TEST(ends_that_nobody_told_of) {
    int status;
    pid_t pid;

    start();
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) _exit(0);
    child_started(pid);
    child_started(getpid());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    configure_again();
    ck_assert_uint_eq(k->view.sh->ended, 1);
    ck_assert_int_eq(k->view.ended[0], pid);
    ck_assert(k->nalive == 1 && k->alive[0] == getpid());
}
END_TEST

/* A module that is switched off has children of before. */
START_TEST(off_and_children_of_before_end) {
    struct shm_segment *sh;

    httpd_segment_off(k, pconf);
    child_started(1001); /* there is no segment */
    start();
    sh = k->view.sh;
    child_started(1001);
    restart_httpd();
    httpd_segment_off(k, pconf);
    ck_assert(k->view.sh == sh);
    child_ended(1001);
    ck_assert_uint_eq(sh->ended, 1);
    ck_assert_uint_eq(k->nalive, 0);
}
END_TEST

START_TEST(a_child_is_no_parent) {
    struct sigaction now;

    start();
    httpd_segment_child_init();
    ck_assert_int_eq(sigaction(SIGIO, NULL, &now), 0);
    ck_assert(now.sa_handler == SIG_DFL);
    ck_assert_int_eq(k->alarm[0], -1); /* it was closed by fork, and the number may be another's now */
    k->wanted = 1;
    child_started(1001);
    ck_assert_int_eq(httpd_segment_monitor(&server), DECLINED);
    ck_assert(restarts == 0 && k->nalive == 0);
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------------------------ */

START_TEST(fresh_memory_takes_the_place_of_damaged) {
    uint64_t seal;

    start();
    seal = k->view.seal;
    child_started(1001);
    alarm_parent();
    ck_assert_int_eq(restarts, 1);
    configure_again();
    ck_assert(fresh());
    ck_assert_uint_ne(k->view.seal, seal);
    ck_assert(forgotten == 1 && filled == 2 && k->nalive == 0);
    ck_assert_uint_eq(k->view.sh->generation, 2);
    ck_assert_uint_eq(k->view.sh->configured, 2);
    child_ended(1001); /* of the memory of before */
    ck_assert_uint_eq(k->view.sh->ended, 0);
    configure_again();
    ck_assert_str_eq(logged, "");
    ck_assert_int_eq(restarts, 1);
}
END_TEST

/* A child writes there from where it is. */
START_TEST(a_child_tells_and_can_not_listen) {
    int status;
    pid_t pid;

    start();
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) _exit(fcntl(k->alarm[0], F_GETFD) < 0 && errno == EBADF && write(k->view.alarm, "!", 1) == 1 ? 0 : 1);
    while (waitpid(pid, &status, 0) < 0) ck_assert_int_eq(errno, EINTR);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(restarts, 1);
    ck_assert_int_eq(k->wanted, 1);
}
END_TEST

/* Who damages it again and again does not keep the server restarting: each pause is twice as long. */
START_TEST(a_pause_between_two_renewals) {
    uint64_t pause = 10 * SECOND;

    start();
    alarm_parent();
    configure_again();
    for (int i = 0; i < 9; i++) {
        ck_assert_uint_eq(k->pause, pause);
        restarts = 0;
        logged[0] = 0;
        alarm_parent();
        ck_assert_int_eq(restarts, 0);
        for (int looks = 0; looks < 3; looks++) httpd_segment_monitor(&server);
        ck_assert_int_eq(restarts, 0);
        ck_assert_uint_eq(times_logged("soon after it was replaced"), 1);
        time_passes(pause - SECOND);
        httpd_segment_monitor(&server);
        ck_assert_int_eq(restarts, 0);
        time_passes(SECOND);
        httpd_segment_monitor(&server);
        ck_assert_int_eq(restarts, 1);
        configure_again();
        ck_assert(fresh());
        pause = pause < 640 * SECOND ? pause * 2 : pause;
    }
    ck_assert_uint_eq(k->pause, 640 * SECOND);
    restarts = 0;
    time_passes(640 * SECOND + 3600 * SECOND);
    alarm_parent();
    ck_assert_int_eq(restarts, 1);
    configure_again();
    ck_assert_uint_eq(k->pause, 10 * SECOND);
}
END_TEST

/* The child's end brings the parent to look, too. */
START_TEST(an_end_ends_the_pause) {
    start();
    alarm_parent();
    configure_again();
    child_started(1001);
    restarts = 0;
    alarm_parent();
    time_passes(10 * SECOND);
    child_ended(1001);
    ck_assert_int_eq(restarts, 1);
}
END_TEST

/* In a restart our code is not there, and the signal finds nobody; what was said is not forgotten. */
START_TEST(told_while_nobody_listens) {
    sigset_t io;

    start();
    sigemptyset(&io);
    sigaddset(&io, SIGIO);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &io, NULL), 0);
    alarm_parent();
    restart_httpd();
    ck_assert_int_eq(sigprocmask(SIG_UNBLOCK, &io, NULL), 0);
    ck_assert_int_eq(raise(SIGIO), 0); /* we live */
    ck_assert_int_eq(restarts, 0);
    ck_assert(k->wanted && k->alarm[0] < 0 && k->alarm[1] < 0 && k->view.alarm < 0);
    logged[0] = 0;
    ck_assert_int_eq(configure(), OK);
    ck_assert(fresh());
}
END_TEST

/* One byte says it; who writes as much as there is room for keeps nobody reading. */
START_TEST(more_than_one_byte) {
    char bytes[4096] = { 0 };

    start();
    while (write(k->view.alarm, bytes, sizeof bytes) > 0) continue;
    configure_again();
    ck_assert(fresh());
    configure_again();
    ck_assert_str_eq(logged, "");
}
END_TEST

START_TEST(off_when_it_is_damaged) {
    start();
    alarm_parent();
    restart_httpd();
    httpd_segment_off(k, pconf);
    ck_assert_ptr_null(k->view.sh);
    ck_assert_uint_eq(forgotten, 1);
    ck_assert_int_eq(httpd_segment_monitor(&server), DECLINED);
    ck_assert_int_eq(restarts, 1);
    logged[0] = 0;
    ck_assert_int_eq(configure(), OK);
    ck_assert_str_eq(logged, "");
    ck_assert_uint_eq(filled, 2);
}
END_TEST

/* Two modules that have one each share the signal. */
START_TEST(whoever_listened_before_is_told_too) {
    signal(SIGIO, note_other);
    start();
    alarm_parent();
    ck_assert(restarts == 1 && others == 1);
    ck_assert_int_eq(raise(SIGIO), 0);
    ck_assert_int_eq(others, 2);
}
END_TEST

START_TEST(what_the_mpm_says) {
    mpm_answer = APR_SUCCESS;
    mpm_says = 7;
    ck_assert_int_eq(httpd_query(AP_MPMQ_MAX_DAEMONS, 3), 7);
    mpm_says = 0;
    ck_assert_int_eq(httpd_query(AP_MPMQ_MAX_DAEMONS, 3), 3);
    mpm_says = 7;
    mpm_answer = APR_ENOTIMPL;
    ck_assert_int_eq(httpd_query(AP_MPMQ_MAX_DAEMONS, 3), 3);
}
END_TEST

int main(void) {
    Suite *s = suite_create("httpd_segment");
    TCase *t = tcase_create("segment");

    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, it_is_kept_by_its_key);
    tcase_add_test(t, it_stays_over_restarts);
    tcase_add_test(t, what_can_not_be_filled_is_none);
    tcase_add_test(t, what_can_not_be_made_is_none);
    tcase_add_test(t, it_grows_when_no_child_is_left);
    tcase_add_test(t, the_stock_is_a_part_of_what_may_be_open);
    tcase_add_test(t, without_a_stock_there_is_none);
    tcase_add_test(t, the_segment_is_told_who_ended);
    tcase_add_test(t, ends_that_nobody_told_of);
    tcase_add_test(t, off_and_children_of_before_end);
    tcase_add_test(t, a_child_is_no_parent);
    tcase_add_test(t, fresh_memory_takes_the_place_of_damaged);
    tcase_add_test(t, a_child_tells_and_can_not_listen);
    tcase_add_test(t, a_pause_between_two_renewals);
    tcase_add_test(t, an_end_ends_the_pause);
    tcase_add_test(t, told_while_nobody_listens);
    tcase_add_test(t, more_than_one_byte);
    tcase_add_test(t, off_when_it_is_damaged);
    tcase_add_test(t, whoever_listened_before_is_told_too);
    tcase_add_test(t, what_the_mpm_says);
    suite_add_tcase(s, t);
    return run_suite(s);
}
