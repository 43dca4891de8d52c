/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two kinds of server at one engine: one whose threads sleep on futexes, one that is an event loop over descriptors.
 * Together they keep the window, all get through, and when one is killed the other goes on with what it had.
 */
#include "run_suite.h"
#include "shm/shm.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WINDOW  2u
#define THREADS 4
#define FLIGHT  8u    /* requests that the event loop has at a time; as many descriptors */
#define EACH    2000u /* requests of a tenant */
#define BYTES   1000u /* of a response */
#define FOREVER UINT32_MAX

static struct shm_view v;
static int stock[FLIGHT];
static struct counts { _Atomic uint32_t inside, most, done[2]; } * seen; /* by both processes */

/* What the window is for. */
static void work(uint32_t tenant) {
    uint32_t now = atomic_fetch_add(&seen->inside, 1) + 1, most = atomic_load(&seen->most);

    while (now > most && !atomic_compare_exchange_weak(&seen->most, &most, now)) continue;
    sched_yield();
    atomic_fetch_sub(&seen->inside, 1);
    atomic_fetch_add(&seen->done[tenant], 1);
}

static rs_ticket_t begin(uint32_t owner, uint32_t class, struct shm_wakes *w) {
    struct shm_request q = {
        .owner = owner, .class = class, .estimate = BYTES, .deadline = UINT64_MAX, .client_fd = -1
    };
    rs_ticket_t t;

    if (shm_begin_locked(&v, shm_now(), &q, &t) != RS_OK) abort();
    shm_pump_locked(&v, shm_now(), owner, t, w);
    return t;
}

static void finish(uint32_t owner, rs_ticket_t t) {
    struct shm_wakes w = { .n = 0 };

    shm_lock(&v);
    rs_progress(v.engine, shm_now(), t, BYTES);
    if (!rs_finish(v.engine, shm_now(), t)) abort();
    shm_end_locked(&v, t);
    shm_pump_locked(&v, shm_now(), owner, RS_NO_TICKET, &w);
    shm_unlock(&v);
    shm_wake(&v, &w);
}

/* ---- a server of threads ----------------------------------------------------------------------------------------- */

struct thread {
    uint32_t owner, requests;
};

static void *serve(void *argument) {
    const struct thread *me = argument;

    for (uint32_t i = 0; i < me->requests; i++) {
        struct shm_wakes w = { .n = 0 };
        struct shm_row *row;
        rs_ticket_t t;

        shm_reclaim(&v);
        shm_lock(&v);
        t = begin(me->owner, 0, &w);
        row = shm_row_of(&v, t);
        if (!row->go && !shm_block_locked(&v, t, 0, THREADS, 0)) abort();
        shm_unlock(&v);
        shm_wake(&v, &w);
        while (!row->go) {
            base_futex_wait(&row->go, 0, SHM_TICK_US);
            shm_reclaim(&v);
        }
        row->running = 1;
        work(0);
        finish(me->owner, t);
    }
    return NULL;
}

static void threads(uint32_t requests) {
    struct thread me = { shm_owner_started(&v, getpid()), requests / THREADS };
    pthread_t t[THREADS];

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, serve, &me)) abort();
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
}

/* ---- an event loop ----------------------------------------------------------------------------------------------- */

struct flight {
    rs_ticket_t ticket;
    struct pollfd fd;
};

/* Released at once, or a descriptor to wait on. */
static void start(uint32_t owner, struct flight *f) {
    struct shm_wakes w = { .n = 0 };

    f->fd = (struct pollfd){ .fd = -1, .events = POLLIN };
    shm_lock(&v);
    f->ticket = begin(owner, 1, &w);
    if (!shm_row_of(&v, f->ticket)->go && (f->fd.fd = shm_hold_locked(&v, f->ticket)) < 0) abort();
    shm_unlock(&v);
    shm_wake(&v, &w);
}

static int is_released(struct flight *f) {
    eventfd_t n;

    if (f->fd.revents) eventfd_read(f->fd.fd, &n);
    return shm_row_of(&v, f->ticket)->go != 0;
}

static void event_loop(uint32_t requests) {
    uint32_t owner = shm_owner_started(&v, getpid()), started = 0, ended = 0;
    struct flight flights[FLIGHT] = { 0 };

    for (uint32_t i = 0; i < FLIGHT; i++, started++) start(owner, &flights[i]);
    while (ended < requests) {
        struct pollfd fds[FLIGHT];

        for (uint32_t i = 0; i < FLIGHT; i++) {
            struct flight *f = &flights[i];

            if (f->ticket == RS_NO_TICKET || !is_released(f)) continue;
            shm_row_of(&v, f->ticket)->running = 1;
            work(1);
            finish(owner, f->ticket);
            ended++;
            f->ticket = RS_NO_TICKET;
            f->fd = (struct pollfd){ .fd = -1 };
            if (started < requests) start(owner, f), started++;
        }
        shm_reclaim(&v);
        for (uint32_t i = 0; i < FLIGHT; i++) {
            fds[i] = flights[i].fd;
            if (flights[i].ticket != RS_NO_TICKET && shm_row_of(&v, flights[i].ticket)->go)
                fds[i] = (struct pollfd){ .fd = stock[0], .events = POLLOUT };
        }
        poll(fds, FLIGHT, SHM_TICK_US / 1000);
        for (uint32_t i = 0; i < FLIGHT; i++)
            flights[i].fd.revents = fds[i].fd == flights[i].fd.fd ? fds[i].revents : 0;
    }
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static void set_up(void) {
    struct shm_size size = { .owners = 4, .classes = 2, .tickets = 64 };
    struct rs_class_settings classes[2] = { { .name = "threads", .weight = 1 }, { .name = "events", .weight = 1 } };
    struct rs_settings s;
    const char *why = NULL;

    rs_settings_default(&s);
    s.window = WINDOW;
    memset(&v, 0, sizeof v);
    v.alarm = -1;
    ck_assert_msg(shm_make(&v, &size, &s, classes, 2, &why) == 0, "%s", why);
    for (uint32_t i = 0; i < FLIGHT; i++) ck_assert_int_ge(stock[i] = eventfd(0, EFD_NONBLOCK), 0);
    shm_stock(&v, stock, FLIGHT);
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(seen, MAP_FAILED);
}

static void tear_down(void) {
    for (uint32_t i = 0; i < FLIGHT; i++) close(stock[i]);
    munmap(seen, sizeof *seen);
    shm_free(&v);
}

static pid_t tenant(void (*serves)(uint32_t), uint32_t requests) {
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid) return pid;
    alarm(60);
    serves(requests);
    _exit(0);
}

static void expect_end(pid_t pid) {
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d ended with %#x", (int)pid, (unsigned)status);
}

static void expect_empty(void) {
    struct rs_stats s;

    shm_lock(&v);
    ck_assert_ptr_null(rs_check(v.engine));
    rs_stats(v.engine, &s);
    shm_unlock(&v);
    ck_assert_uint_eq(s.queued + s.outstanding + s.parked, 0);
    ck_assert_uint_eq(v.blocked[0] + v.blocked[1] + v.sh->pooled, 0);
    for (uint32_t i = 0; i < v.size.owners; i++) ck_assert_uint_eq(v.owners[i].held, 0);
    ck_assert_uint_eq(v.sh->nstock, FLIGHT);
}

START_TEST(both_get_through_the_one_window) {
    pid_t first = tenant(threads, EACH), second = tenant(event_loop, EACH);

    expect_end(first);
    expect_end(second);
    ck_assert_uint_eq(seen->done[0], EACH);
    ck_assert_uint_eq(seen->done[1], EACH);
    ck_assert_uint_eq(seen->most, WINDOW);
    expect_empty();
}
END_TEST

/* Row 0: the threads are killed, row 1: the event loop. */
START_TEST(one_is_killed_and_the_other_goes_on) {
    pid_t victim = tenant(_i ? event_loop : threads, FOREVER), other;

    while (atomic_load(&seen->done[_i]) < EACH / 10) usleep(100);
    other = tenant(_i ? threads : event_loop, EACH);
    while (atomic_load(&seen->done[!_i]) < EACH / 10) usleep(100);
    ck_assert_int_eq(kill(victim, SIGKILL), 0);
    ck_assert_int_eq(waitpid(victim, NULL, 0), victim);
    shm_tell_ended(&v, victim);
    expect_end(other);
    ck_assert_uint_eq(seen->done[!_i], EACH);
    shm_reclaim(&v);
    expect_empty();
}
END_TEST

int main(void) {
    Suite *s = suite_create("shm_tenants");
    TCase *t = tcase_create("tenants");

    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, both_get_through_the_one_window);
    tcase_add_loop_test(t, one_is_killed_and_the_other_goes_on, 0, 2);
    return run_suite(s);
}
