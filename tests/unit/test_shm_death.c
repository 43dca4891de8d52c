/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_shm_death.c - who dies while it gives back what a dead process held: the next one does it again, and nothing is
 * lost.  The linker puts calls of ours between those of shm/ (--wrap), which end the process at that moment.
 */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_suite.h"
#include "shm/shm_internal.h"

#define ROWS(a) (int)(sizeof(a) / sizeof *(a))
#define DEAD    1001 /* pids of nobody whom we know */
#define LIVING  1002

static const struct moment {
    uint32_t row;        /* dies at the row that is freed as the n-th; 0: at none */
    bool before, behind; /* what the engine gives back */
    uint32_t lost;       /* requests that the next one finds */
} moments[] = { { 0, false, false, 3 }, { 1, false, false, 3 }, { 2, false, false, 3 },
                { 3, false, false, 3 }, { 0, true, false, 3 },  { 0, false, true, 0 } };
static const struct moment *dies; /* NULL: it lives */

uint32_t __real_rs_reclaim(rs_engine_t *e, rs_time_t now, uint32_t owner);
uint32_t __wrap_rs_reclaim(rs_engine_t *e, rs_time_t now, uint32_t owner);
void __real_shm_free_row_locked(const struct shm_view *v, struct shm_row *row);
void __wrap_shm_free_row_locked(const struct shm_view *v, struct shm_row *row);

uint32_t __wrap_rs_reclaim(rs_engine_t *e, rs_time_t now, uint32_t owner) {
    uint32_t lost;

    if (dies && dies->before) raise(SIGKILL);
    lost = __real_rs_reclaim(e, now, owner);
    if (dies && dies->behind) raise(SIGKILL);
    return lost;
}

void __wrap_shm_free_row_locked(const struct shm_view *v, struct shm_row *row) {
    static uint32_t rows;

    if (dies && ++rows == dies->row) raise(SIGKILL);
    __real_shm_free_row_locked(v, row);
}

static struct shm_view v;
static uint32_t lost_requests;

static void note_lost(pid_t process, uint32_t requests) { (void)process, lost_requests += requests; }
static void note_left(const char *why) { ck_abort_msg("%s", why); }
static const struct shm_host host = { .lost = note_lost, .left = note_left };

static void make_segment(void) {
    struct shm_size size = { .owners = 4, .classes = 4, .tickets = 64, .area = 64 };
    struct rs_class_settings class = { .name = "all", .weight = 1 };
    struct rs_settings s;
    const char *why = NULL;

    rs_settings_default(&s);
    s.sched = RS_SCHED_FIFO;
    s.gate = RS_GATE_WINDOW;
    s.window = 2;
    memset(&v, 0, sizeof v);
    v.alarm = -1;
    ck_assert_msg(shm_make(&v, &size, &s, &class, 1, &why) == 0, "%s", why);
    v.host = &host;
    lost_requests = 0;
}

static void free_segment(void) { shm_free(&v); }

static rs_ticket_t submit(uint32_t owner) {
    struct shm_request q = { .owner = owner, .estimate = 1000, .deadline = UINT64_MAX, .client_fd = -1 };
    struct shm_wakes w = { .n = 0 };
    rs_ticket_t t;

    shm_lock(&v);
    ck_assert_int_eq(shm_begin_locked(&v, shm_now(), &q, &t), RS_OK);
    shm_pump_locked(&v, shm_now(), owner, t, &w);
    shm_unlock(&v);
    return t;
}

START_TEST(who_gives_back_dies) {
    const struct moment *m = &moments[_i];
    uint32_t dead = shm_owner_started(&v, DEAD), living = shm_owner_started(&v, LIVING);
    struct rs_stats all;
    const char *broken;
    rs_ticket_t waits;
    int status;
    pid_t pid;

    for (int i = 0; i < 3; i++) submit(dead);
    waits = submit(living);
    ck_assert_uint_eq(shm_row_of(&v, waits)->go, SHM_WAITS);
    shm_tell_generation(&v, 1);
    ck_assert(shm_keeps(&v, 1, dead));
    shm_tell_ended(&v, DEAD);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        base_mutex_forked();
        if (_i) dies = m;
        shm_reclaim(&v);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(_i ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : WIFEXITED(status));

    shm_reclaim(&v);
    ck_assert_uint_eq(lost_requests, _i ? m->lost : 0);
    ck_assert_uint_eq(shm_row_of(&v, waits)->go, SHM_GO);
    ck_assert(shm_keeps(&v, 1, living));
    shm_lock(&v);
    rs_stats(v.engine, &all);
    broken = rs_check(v.engine);
    shm_unlock(&v);
    ck_assert_msg(!broken, "%s", broken);
    ck_assert_uint_eq(all.rebuilds, _i ? 1 : 0);
    ck_assert_uint_eq(all.outstanding, 1);
    ck_assert_uint_eq(all.queued, 0);
    ck_assert_uint_eq(shm_owner_started(&v, 1003), dead);
}
END_TEST

int main(void) {
    Suite *s = suite_create("shm_death");
    TCase *t = tcase_create("moments");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, make_segment, free_segment);
    tcase_add_loop_test(t, who_gives_back_dies, 0, ROWS(moments));
    suite_add_tcase(s, t);
    return run_suite(s);
}
