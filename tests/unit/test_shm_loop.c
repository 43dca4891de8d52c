/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The segment for processes that are one main loop each: programs that were started attach to it, hear of releases by
 * their bell, and what a dead one held comes back, whether somebody tells of its end or not.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base_block.h"
#include "run_suite.h"
#include "shm/shm.h"
#include "shm/shm_loop.h"

#define VARIABLE "TEST_SHM_LOOP"
#define AREA     4096u

static const struct shm_loop_size size = { .processes = 4, .classes = 8, .tickets = 64, .area = AREA };
static const struct rs_class_settings two[2] = { { .name = "heavy", .weight = 3 }, { .name = "light", .weight = 1 } };
static char text[SHM_LOOP_TEXT];
static shm_loop_t *parent, *me;
static uint32_t lost_requests;
static char said[128];

static void note_lost(pid_t process, uint32_t requests) { (void)process, lost_requests += requests; }
static void note_left(const char *why) { snprintf(said, sizeof said, "%s", why); }
static const struct shm_loop_host host = { note_lost, note_left };

static struct rs_settings window(uint32_t n) {
    struct rs_settings s;

    rs_settings_default(&s);
    s.sched = RS_SCHED_FIFO;
    s.gate = RS_GATE_WINDOW;
    s.window = n;
    return s;
}

static rs_ticket_t submit(shm_loop_t *l, uint32_t in_class) {
    rs_ticket_t t = RS_NO_TICKET;

    shm_loop_lock(l);
    ck_assert_int_eq(shm_loop_submit_locked(l, shm_now(), in_class, 1000, NULL, 0, &t), RS_OK);
    shm_loop_unlock(l);
    return t;
}

/* What a main loop does when it was woken: one that was let go. */
static rs_ticket_t next(shm_loop_t *l) {
    rs_ticket_t t;

    shm_loop_lock(l);
    shm_loop_pump_locked(l, shm_now());
    t = shm_loop_next_locked(l);
    shm_loop_unlock(l);
    return t;
}

static bool end(shm_loop_t *l, rs_ticket_t t) {
    bool done;

    shm_loop_lock(l);
    done = shm_loop_end_locked(l, shm_now(), t, true);
    shm_loop_pump_locked(l, shm_now());
    shm_loop_unlock(l);
    return done;
}

static bool rings(const shm_loop_t *l, int ms) {
    struct pollfd p = { .fd = shm_loop_bell(l), .events = POLLIN };
    return poll(&p, 1, ms) == 1;
}

/* The next one that is let go; RS_NO_TICKET if that takes longer than anything may. */
static rs_ticket_t await(shm_loop_t *l) {
    rs_ticket_t t;

    while ((t = next(l)) == RS_NO_TICKET && rings(l, 20000)) shm_loop_silence(l);
    return t;
}

static void expect_sound(void) {
    const char *broken = rs_check(shm_loop_lock(me));
    shm_loop_unlock(me);
    ck_assert_msg(!broken, "%s", broken);
}

/* Which kernel this is to be; the linker puts calls of ours between (--wrap). */
static enum { THIS_ONE, BEFORE_6_3, HARDENED, KERNELS, BEFORE_5_3 } kernel;

int __real_pidfd_open(pid_t pid, unsigned flags);
int __wrap_pidfd_open(pid_t pid, unsigned flags);

int __wrap_pidfd_open(pid_t pid, unsigned flags) {
    if (kernel != BEFORE_5_3) return __real_pidfd_open(pid, flags);
    errno = ENOSYS;
    return -1;
}

/* ---- the program that is started --------------------------------------------------------------------------------- */

/* It says one letter when it has got so far, and waits for one. */
static void meet(char letter) {
    char c;
    if (write(STDOUT_FILENO, &letter, 1) != 1 || read(STDIN_FILENO, &c, 1) != 1) _exit(20);
}

static int play_in(shm_loop_t *l, const char *role) {
    rs_ticket_t t = RS_NO_TICKET;

    if (!shm_loop_join(l)) return 10;
    ((char *)shm_loop_area(l))[AREA - 1] = *role;
    shm_loop_lock(l);
    if (shm_loop_submit_locked(l, shm_now(), 0, 1000, NULL, 0, &t) != RS_OK) return 11;
    if (!strcmp(role, "dies locked")) raise(SIGKILL);
    if (!strcmp(role, "stops locked")) raise(SIGSTOP);
    shm_loop_unlock(l);
    if (!strcmp(role, "waits")) {
        if (next(l) != RS_NO_TICKET) return 12;
        meet('w');
        if (!rings(l, 20000)) return 13;
        shm_loop_silence(l);
        if (rings(l, 0) || next(l) != t) return 14;
        return end(l, t) ? 0 : 15;
    }
    if (await(l) != t) return 16;
    meet('h'); /* holds its slot, until it is killed */
    return end(l, t) ? 0 : 17;
}

static int play(const char *role) {
    const char *why = NULL;
    shm_loop_t *l = shm_loop_attach(getenv(VARIABLE), &host, &why);
    int status = l ? play_in(l, role) : 9;

    shm_loop_free(&l);
    return status;
}

struct started {
    pid_t pid;
    int to, from;
};

static struct started start_program(const char *role) {
    struct started s;
    int in[2], out[2];

    ck_assert(!pipe(in) && !pipe(out));
    s.pid = fork();
    ck_assert_int_ge(s.pid, 0);
    if (!s.pid) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        /* The test has attached, too, after which no program that it starts would have the descriptors. */
        for (int fd = 3; fd < 64; fd++) fcntl(fd, F_SETFD, 0);
        execl("/proc/self/exe", "test_shm_loop", role, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    s.to = in[1];
    s.from = out[0];
    return s;
}

static void has_come(const struct started *s, char letter) {
    char c = 0;
    ck_assert_int_eq(read(s->from, &c, 1), 1);
    ck_assert_int_eq(c, letter);
}

static int ended(const struct started *s) {
    int status;

    ck_assert_int_eq(waitpid(s->pid, &status, 0), s->pid);
    close(s->to);
    close(s->from);
    return status;
}

static void make_segment(void) {
    struct rs_settings s = window(1);
    const char *why = NULL;

    parent = shm_loop_make(&size, &s, two, 2, text, &why);
    ck_assert_msg(parent != NULL, "%s", why);
    ck_assert(!setenv(VARIABLE, text, 1));
    lost_requests = 0;
    said[0] = 0;
}

/* The test is a process of its own, too.  Check's runner is its parent: nobody who tells of ends. */
static void join_segment(void) {
    const char *why = NULL;

    me = shm_loop_attach(text, &host, &why);
    ck_assert_msg(me != NULL, "%s", why);
    ck_assert(shm_loop_join(me));
}

static void setup(void) {
    make_segment();
    join_segment();
}

/* Each test is a process of its own, with which all of it goes. */

START_TEST(a_program_that_was_started_shares_the_window) {
    struct started s = start_program("holds");
    rs_ticket_t t;

    has_come(&s, 'h');
    ck_assert_int_eq(((char *)shm_loop_area(me))[AREA - 1], 'h');
    t = submit(me, 1);
    ck_assert_uint_eq(next(me), RS_NO_TICKET);
    ck_assert(!rings(me, 0));
    ck_assert_int_eq(write(s.to, "x", 1), 1);
    ck_assert_int_eq(ended(&s), 0);
    ck_assert(rings(me, 0));
    ck_assert_uint_eq(next(me), t);
    ck_assert(end(me, t));
    ck_assert_str_eq(said, "");
    expect_sound();
}
END_TEST

START_TEST(its_bell_rings_when_another_lets_its_request_go) {
    struct started s;
    rs_ticket_t t = submit(me, 0);

    ck_assert_uint_eq(next(me), t);
    s = start_program("waits");
    has_come(&s, 'w');
    ck_assert_int_eq(write(s.to, "x", 1), 1);
    ck_assert(end(me, t));
    ck_assert_int_eq(ended(&s), 0);
    expect_sound();
}
END_TEST

START_TEST(what_a_process_held_comes_back_when_the_parent_tells) {
    struct started s = start_program("holds");
    rs_ticket_t t;

    has_come(&s, 'h');
    t = submit(me, 0);
    ck_assert_uint_eq(next(me), RS_NO_TICKET);
    shm_loop_reclaim(me);
    ck_assert_uint_eq(lost_requests, 0);
    shm_loop_ended(parent, s.pid); /* while it is still there: nobody can have seen for himself */
    shm_loop_reclaim(me);
    ck_assert_uint_eq(lost_requests, 1);
    ck_assert(rings(me, 0));
    ck_assert_uint_eq(next(me), t);
    kill(s.pid, SIGKILL);
    ended(&s);
    expect_sound();
}
END_TEST

START_TEST(and_when_nobody_tells) {
    struct started s = start_program("holds");
    rs_ticket_t t;

    if (_i) kernel = BEFORE_5_3;
    has_come(&s, 'h');
    t = submit(me, 0);
    shm_loop_reclaim(me);
    ck_assert_uint_eq(lost_requests, 0);
    kill(s.pid, SIGKILL);
    ck_assert(WIFSIGNALED(ended(&s)));
    shm_loop_reclaim(me);
    ck_assert_uint_eq(lost_requests, 1);
    ck_assert_uint_eq(next(me), t);
    expect_sound();
}
END_TEST

/* As those are whose parent is stopped, or died while nobody else waits for them; and the next one in that place. */
START_TEST(and_when_nobody_has_waited_for_it) {
    for (uint32_t i = 1; i <= 2; i++) {
        struct started s = start_program("holds");
        siginfo_t info;
        rs_ticket_t t;

        has_come(&s, 'h');
        t = submit(me, 0);
        if (i == 1) shm_loop_reclaim(me); /* seen alive, or not at all */
        kill(s.pid, SIGKILL);
        ck_assert(!waitid(P_PID, (id_t)s.pid, &info, WEXITED | WNOWAIT));
        shm_loop_reclaim(me);
        ck_assert_uint_eq(lost_requests, i);
        ck_assert_uint_eq(next(me), t);
        ck_assert(end(me, t));
        ended(&s);
    }
    expect_sound();
}
END_TEST

START_TEST(one_that_dies_with_the_lock_leaves_nothing_broken) {
    struct started s = start_program("dies locked");
    struct rs_stats all;
    rs_ticket_t t;

    ck_assert(WIFSIGNALED(ended(&s)));
    t = submit(me, 0);
    shm_loop_reclaim(me);
    ck_assert_uint_eq(next(me), t);
    rs_stats(shm_loop_lock(me), &all);
    shm_loop_unlock(me);
    ck_assert_uint_eq(all.rebuilds, 1);
    ck_assert_uint_eq(all.queued, 0);
    ck_assert_uint_eq(all.outstanding, 1);
    ck_assert_str_eq(said, "");
    expect_sound();
}
END_TEST

/* Far more than the segment has room to note; nobody looked meanwhile. */
START_TEST(many_ends_that_nobody_looked_at_do_no_harm) {
    struct started s = start_program("holds");
    rs_ticket_t t;

    has_come(&s, 'h');
    t = submit(me, 0);
    kill(s.pid, SIGKILL);
    ended(&s);
    shm_loop_ended(parent, s.pid);
    for (int i = 0; i < 1000; i++) shm_loop_ended(parent, s.pid);
    shm_loop_reclaim(me);
    ck_assert_uint_eq(lost_requests, 1);
    ck_assert_uint_eq(next(me), t);
    ck_assert_str_eq(said, "");
    expect_sound();
}
END_TEST

START_TEST(a_place_is_free_again) {
    for (uint32_t i = 0; i < 3 * size.processes; i++) {
        struct started s = start_program("holds");
        has_come(&s, 'h');
        kill(s.pid, SIGKILL);
        ended(&s);
        shm_loop_ended(parent, s.pid);
    }
    shm_loop_reclaim(me);
    ck_assert_uint_eq(next(me), RS_NO_TICKET);
    expect_sound();
}
END_TEST

START_TEST(who_gives_up_when_it_was_just_let_go_gives_the_slot_back) {
    rs_ticket_t first = submit(me, 0), second = submit(me, 0), third = submit(me, 0);
    bool waited;

    ck_assert_uint_eq(next(me), first);
    ck_assert(end(me, first)); /* the second is let go, and nobody has heard of it */
    shm_loop_lock(me);
    waited = shm_loop_cancel_locked(me, shm_now(), second);
    shm_loop_unlock(me);
    ck_assert(!waited);
    ck_assert_uint_eq(next(me), third);
    shm_loop_lock(me);
    waited = shm_loop_cancel_locked(me, shm_now(), third);
    shm_loop_unlock(me);
    ck_assert(!waited);
    ck_assert_uint_eq(next(me), RS_NO_TICKET);
    expect_sound();
}
END_TEST

START_TEST(a_ticket_that_ended_ends_nobody_elses) {
    rs_ticket_t first = submit(me, 0), second;

    ck_assert_uint_eq(next(me), first);
    ck_assert(end(me, first));
    second = submit(me, 0);
    ck_assert(!end(me, first));
    ck_assert_uint_eq(next(me), second);
    ck_assert(end(me, second));
    expect_sound();
}
END_TEST

static uint32_t class_of(const char *name, const struct rs_class_settings *classes, uint32_t n,
                         const uint32_t *number) {
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(classes[i].name, name)) return number[i];
    return RS_NO_CLASS;
}

START_TEST(a_configuration_is_put_in_force_once) {
    static const struct rs_class_settings three[3] = { { .name = "light", .weight = 2 },
                                                       { .name = "new", .weight = 5 },
                                                       { .name = "heavy", .weight = 9 } };
    struct rs_settings s = window(2);
    struct rs_class_stats c;
    uint32_t number[3], late[2];
    const char *why = NULL;

    ck_assert_int_eq(shm_loop_configure(me, 7, &s, two, 2, 1, late, &why), 1);
    ck_assert_int_eq(shm_loop_configure(me, 7, &s, two, 2, 1, late, &why), 0);
    ck_assert_uint_eq(late[0], 0);
    ck_assert_uint_eq(late[1], 1);
    ck_assert_uint_eq(shm_loop_configured(me), 7);
    ck_assert_int_eq(shm_loop_configure(me, 8, &s, three, 3, 0, number, &why), 1);
    ck_assert_uint_eq(class_of("light", three, 3, number), late[1]);
    ck_assert_uint_eq(class_of("heavy", three, 3, number), late[0]);
    ck_assert(rs_class_stats(shm_loop_lock(me), number[1], &c));
    shm_loop_unlock(me);
    ck_assert_str_eq(c.settings.name, "new");
    ck_assert_uint_eq(shm_loop_configured(me), 8);
}
END_TEST

START_TEST(who_comes_late_finds_its_classes_by_name) {
    static const struct rs_class_settings other[2] = { { .name = "none of yours", .weight = 1 },
                                                       { .name = "light", .weight = 1 } };
    static const struct rs_class_settings mine[3] = { { .name = "gone", .weight = 1 },
                                                      { .name = "light", .weight = 1 },
                                                      { .name = "none of yours", .weight = 1 } };
    struct rs_settings s = window(2);
    uint32_t number[2], late[3];
    const char *why = NULL;

    ck_assert_int_eq(shm_loop_configure(me, 9, &s, other, 2, 0, number, &why), 1);
    shm_loop_number(me, mine, 3, 1, late);
    ck_assert_uint_eq(late[0], number[1]); /* that of the class for the rest */
    ck_assert_uint_eq(late[1], number[1]);
    ck_assert_uint_eq(late[2], number[0]);
}
END_TEST

#define CLASSES 20000u

/* Names with nothing in common, or all in another order: while they are looked for the others wait for the lock. */
START_TEST(thousands_of_names_are_found_in_a_moment) {
    const struct shm_loop_size large = { .processes = 1, .classes = CLASSES, .tickets = 8, .area = 64 };
    struct rs_class_settings *theirs = calloc(CLASSES, sizeof *theirs), *mine = calloc(CLASSES, sizeof *mine);
    uint32_t *number = calloc(CLASSES, sizeof *number);
    struct rs_settings s = window(1);
    const char *why = NULL;
    shm_loop_t *l;
    clock_t began;

    ck_assert(theirs && mine && number);
    for (uint32_t i = 0; i < CLASSES; i++) {
        snprintf(theirs[i].name, sizeof theirs[i].name, "class-%u", i);
        snprintf(mine[i].name, sizeof mine[i].name, _i ? "class-%u" : "other-%u", CLASSES - 1 - i);
        theirs[i].weight = mine[i].weight = 1;
    }
    l = shm_loop_alone(&large, &host, &s, theirs, CLASSES, &why);
    ck_assert_msg(l != NULL, "%s", why);
    ck_assert_int_eq(shm_loop_configure(l, 1, &s, theirs, CLASSES, 7, number, &why), 1);
    for (uint32_t i = 0; i < CLASSES; i++) ck_assert_uint_eq(number[i], i);
    began = clock();
    shm_loop_number(l, mine, CLASSES, 7, number);
    ck_assert_int_le((long)(clock() - began), CLOCKS_PER_SEC / 4);
    for (uint32_t i = 0; i < CLASSES; i++) ck_assert_uint_eq(number[i], _i ? CLASSES - 1 - i : 0);
    shm_loop_free(&l);
    free(theirs);
    free(mine);
    free(number);
}
END_TEST

START_TEST(what_the_engine_refuses_changes_nothing) {
    static const struct rs_class_settings wrong[1] = { { .name = "weightless", .weight = 0 } };
    struct rs_settings s = window(2);
    struct rs_stats all;
    uint32_t number[1];
    const char *why = NULL;

    ck_assert_int_eq(shm_loop_configure(me, 5, &s, wrong, 1, 0, number, &why), -1);
    ck_assert_ptr_nonnull(why);
    rs_stats(shm_loop_lock(me), &all);
    shm_loop_unlock(me);
    ck_assert_uint_eq(all.settings.window, 1);
    ck_assert_uint_lt(number[0], size.classes);
}
END_TEST

START_TEST(a_text_that_is_not_of_this_segment_is_refused) {
    char other[SHM_LOOP_TEXT + 16], *behind;
    const char *why;
    static const char *const wrong[] = { "",
                                         " ",
                                         "x",
                                         "-1",
                                         "3",
                                         "3 4 8 64 0 4096 1",
                                         "3 300 8 64 0 4096 1",
                                         "3 4 8 64 0 4096 99999999999999999999 4 5 6 7",
                                         "0 1 8 64 0 4096 1 0" };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        why = NULL;
        ck_assert_msg(!shm_loop_attach(wrong[i], &host, &why) && why, "\"%s\"", wrong[i]);
    }
    snprintf(other, sizeof other, "%s 3", text);
    ck_assert_ptr_null(shm_loop_attach(other, &host, &why));
    snprintf(other, sizeof other, "%s", text);
    behind = strchr(other, ' ') + 1;
    *behind = '3'; /* processes: another size, and a descriptor too many */
    ck_assert_ptr_null(shm_loop_attach(other, &host, &why));
    snprintf(other, sizeof other, "%s", text);
    behind = strstr(other, " 4096 ") + 6;
    *behind = *behind == '1' ? '2' : '1'; /* the seal */
    ck_assert_ptr_null(shm_loop_attach(other, &host, &why));
    ck_assert(!rings(me, 0));
    expect_sound();
}
END_TEST

#define NOEXEC_SEAL 8u

/* What the kernel says to a file in memory. */
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);

int __wrap_memfd_create(const char *name, unsigned flags) {
    int fd;

    if (kernel == THIS_ONE) return __real_memfd_create(name, flags);
    if (kernel == BEFORE_6_3 && flags & NOEXEC_SEAL) {
        errno = EINVAL;
        return -1;
    }
    if (kernel == HARDENED && !(flags & NOEXEC_SEAL)) {
        errno = EACCES;
        return -1;
    }
    fd = __real_memfd_create(name, flags | NOEXEC_SEAL); /* whatever this one is */
    return fd >= 0 ? fd : __real_memfd_create(name, flags & ~NOEXEC_SEAL);
}

START_TEST(every_kernel_gives_the_memory) {
    shm_loop_t *made, *attached;
    struct rs_settings s = window(1);
    char other[SHM_LOOP_TEXT];
    const char *why = NULL;
    struct stat is;
    int fd;

    kernel = _i;
    made = shm_loop_make(&size, &s, two, 2, other, &why);
    ck_assert_msg(made != NULL, "%s", why);
    attached = shm_loop_attach(other, &host, &why);
    ck_assert_msg(attached != NULL, "%s", why);
    if (kernel == THIS_ONE && !access("/proc/sys/vm/memfd_noexec", F_OK)) { /* it knows what is asked of it */
        ck_assert_int_eq(sscanf(other, "%d", &fd), 1);
        ck_assert(!fstat(fd, &is) && !(is.st_mode & 0111));
    }
    shm_loop_free(&attached);
    shm_loop_free(&made);
}
END_TEST

/* The same memory, as somebody sees it who writes what he likes. */
static struct shm_view strangers_view(void) {
    struct shm_size z = {
        .owners = size.processes, .classes = size.classes, .tickets = size.tickets, .outlets = 1, .area = size.area
    };
    struct shm_view v = { .alarm = -1 };
    const char *why = NULL;
    unsigned long long seal;
    int fd;

    ck_assert_int_eq(sscanf(text, "%d %*u %*u %*u %*u %*u %llu", &fd, &seal), 2);
    ck_assert_msg(!shm_attach(&v, fd, &z, seal, &why), "%s", why);
    return v;
}

/* What is handed out is the place of a request in a table that the host has for itself. */
START_TEST(no_place_is_handed_out_that_cannot_be) {
    struct shm_view v = strangers_view();
    rs_ticket_t t = submit(me, 0), other;

    if (_i == 0) {
        shm_loop_lock(me);
        shm_loop_pump_locked(me, shm_now());
        v.rows[rs_ticket_index(t)].ticket = t + size.tickets;
        ck_assert_uint_eq(shm_loop_next_locked(me), RS_NO_TICKET);
        shm_loop_unlock(me);
        ck_assert_str_eq(said, "a request that was let go is not in its place");
    } else {
        rs_engine_t *e = shm_loop_lock(me);
        rs_row(e, e->free_first)->life += size.tickets;
        shm_loop_unlock(me);
        other = submit(me, 0);
        ck_assert_uint_lt(rs_ticket_index(other), size.tickets);
        ck_assert_str_eq(said, "the scheduler took a request in a place that can't be");
    }
    ck_assert(shm_loop_has_left(me));
    ck_assert(!end(me, t));
    other = submit(me, 0);
    ck_assert_uint_eq(next(me), other); /* and nobody waits */
    ck_assert(end(me, other));
    shm_free(&v);
}
END_TEST

/* ---- away -------------------------------------------------------------------------------------------------------- */

static void nap(void) {
    struct timespec t = { 0, 10000000 };
    nanosleep(&t, NULL);
}

/* As a host does it, ten times a second or so: false if that takes longer than anything may. */
static bool comes_back(void) {
    uint64_t until = shm_now() + 20000000;

    while (!shm_loop_return(me) && shm_now() < until) nap();
    return !shm_loop_has_left(me);
}

static void stays_away(uint64_t us) {
    for (uint64_t until = shm_now() + us; shm_now() < until; nap()) {
        ck_assert(!shm_loop_return(me));
        ck_assert(shm_loop_is_away(me) && shm_loop_has_left(me));
    }
}

static struct started stopped_with_the_lock(void) {
    struct started s = start_program("stops locked");
    int status;

    ck_assert_int_eq(waitpid(s.pid, &status, WUNTRACED), s.pid);
    ck_assert(WIFSTOPPED(status));
    return s;
}

/* Nobody waits meanwhile; then all is as before, and what it held when it left has been given back. */
START_TEST(who_cannot_have_the_lock_leaves_for_a_while) {
    uint32_t place = shm_loop_place(me);
    rs_ticket_t held, t;
    struct started s;

    shm_loop_comes_back(me);
    held = submit(me, 0);
    ck_assert_uint_eq(next(me), held);
    s = stopped_with_the_lock();
    t = submit(me, 1);
    ck_assert_str_eq(said, "the lock is not given back");
    ck_assert(shm_loop_is_away(me));
    ck_assert_uint_eq(next(me), t);
    ck_assert(end(me, t));
    stays_away(1500000);
    ck_assert(!kill(s.pid, SIGCONT));
    ck_assert(comes_back());
    ck_assert(!shm_loop_is_away(me));
    ck_assert_uint_eq(shm_loop_place(me), place);
    has_come(&s, 'h'); /* which it does not before `held` is given back */
    ck_assert_int_eq(((char *)shm_loop_area(me))[AREA - 1], 's');
    t = submit(me, 1);
    ck_assert_uint_eq(next(me), RS_NO_TICKET);
    ck_assert_int_eq(write(s.to, "x", 1), 1);
    ck_assert_int_eq(ended(&s), 0);
    ck_assert(rings(me, 0));
    ck_assert_uint_eq(next(me), t);
    ck_assert(end(me, t));
    ck_assert_uint_eq(lost_requests, 0);
    expect_sound();
}
END_TEST

START_TEST(who_is_away_comes_back_when_that_one_has_died) {
    struct rs_stats all;
    struct started s;
    rs_ticket_t t;

    shm_loop_comes_back(me);
    s = stopped_with_the_lock();
    submit(me, 0);
    ck_assert(shm_loop_is_away(me));
    kill(s.pid, SIGKILL);
    ck_assert(WIFSIGNALED(ended(&s)));
    ck_assert(comes_back());
    shm_loop_reclaim(me);
    ck_assert_uint_eq(lost_requests, 1);
    rs_stats(shm_loop_lock(me), &all);
    shm_loop_unlock(me);
    ck_assert_uint_eq(all.rebuilds, 1);
    ck_assert_uint_eq(all.queued + all.outstanding, 0);
    t = submit(me, 0);
    ck_assert_uint_eq(next(me), t);
    expect_sound();
}
END_TEST

/* Whoever does not promise to come back leaves for good, and the others with it, as ever. */
START_TEST(who_does_not_come_back_leaves_for_good) {
    struct shm_view v = strangers_view();

    atomic_store(&v.sh->lock.word, (uint32_t)getppid()); /* somebody lives who has that number */
    submit(me, 0);
    ck_assert(shm_loop_has_left(me) && !shm_loop_is_away(me));
    ck_assert_uint_eq(atomic_load(&v.sh->seal), 0);
    atomic_store(&v.sh->lock.word, 0);
    ck_assert(!shm_loop_return(me));
    shm_free(&v);
}
END_TEST

/* Found damaged by others while it was away, or by itself. */
START_TEST(from_damage_nobody_comes_back) {
    struct shm_view v = strangers_view();
    uint64_t until = shm_now() + 20000000;

    shm_loop_comes_back(me);
    if (_i) {
        atomic_store(&v.sh->lock.word, (uint32_t)getppid());
        submit(me, 0);
        ck_assert(shm_loop_is_away(me));
        ck_assert_uint_eq(atomic_load(&v.sh->seal), v.seal);
        atomic_store(&v.sh->lock.word, 0);
    }
    atomic_store(&v.sh->seal, 0);
    if (!_i) submit(me, 0);
    for (; shm_loop_is_away(me) && shm_now() < until; nap()) ck_assert(!shm_loop_return(me));
    ck_assert(shm_loop_has_left(me) && !shm_loop_is_away(me));
    ck_assert(!shm_loop_return(me));
    shm_free(&v);
}
END_TEST

START_TEST(who_must_leave_again_stays_away_for_longer) {
    struct shm_view v = strangers_view();
    uint64_t began;

    shm_loop_comes_back(me);
    for (uint64_t least = 1000000; least <= 2000000; least *= 2) {
        atomic_store(&v.sh->lock.word, (uint32_t)getppid());
        began = shm_now();
        submit(me, 0);
        ck_assert(shm_loop_is_away(me));
        atomic_store(&v.sh->lock.word, 0);
        ck_assert(comes_back());
        ck_assert_uint_ge(shm_now() - began, 600000 + least); /* it waits for nearly as long as SHM_LOCK_US first */
    }
    expect_sound();
    shm_free(&v);
}
END_TEST

/* A place in memory of its own is none. */
START_TEST(who_is_away_takes_no_place) {
    static shm_loop_t *late;
    struct shm_view v = strangers_view();
    const char *why = NULL;
    uint64_t until = shm_now() + 20000000;

    late = shm_loop_attach(text, &host, &why);
    ck_assert_msg(late != NULL, "%s", why);
    shm_loop_comes_back(late);
    atomic_store(&v.sh->lock.word, (uint32_t)getppid());
    ck_assert(!shm_loop_join(late));
    ck_assert(shm_loop_is_away(late));
    atomic_store(&v.sh->lock.word, 0);
    while (!shm_loop_join(late) && shm_now() < until) nap();
    ck_assert(!shm_loop_has_left(late));
    ck_assert_uint_ne(shm_loop_place(late), shm_loop_place(me));
    shm_free(&v);
}
END_TEST

START_TEST(behind_what_is_attached_is_no_memory) {
    struct shm_view v = strangers_view();
    static const uint64_t at[] = { 0, UINT64_C(1) << 32, RS_REACH - 4096 };

    ck_assert_uint_eq(v.reserved, v.bytes + RS_REACH);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        unsigned char in;
        ck_assert_int_eq(mincore((char *)v.sh + v.bytes + at[i], 4096, &in), 0); /* ours: nothing else comes there */
    }
    shm_free(&v);
}
END_TEST

START_TEST(a_process_alone_has_no_bell) {
    const struct shm_loop_size one = { .processes = 1, .classes = 2, .tickets = 8, .area = 64 };
    struct rs_settings s = window(2);
    const char *why = NULL;
    rs_ticket_t first, second, third;
    shm_loop_t *l = shm_loop_alone(&one, &host, &s, two, 2, &why);

    ck_assert_msg(l != NULL, "%s", why);
    ck_assert(shm_loop_join(l));
    ck_assert_int_eq(shm_loop_bell(l), -1);
    first = submit(l, 0);
    second = submit(l, 0);
    third = submit(l, 1);
    ck_assert_uint_eq(next(l), second); /* the latest that was let go comes first */
    ck_assert_uint_eq(next(l), first);
    ck_assert_uint_eq(next(l), RS_NO_TICKET);
    ck_assert(end(l, first));
    ck_assert_uint_eq(next(l), third);
    shm_loop_reclaim(l);
    shm_loop_free(&l);
    ck_assert_ptr_null(l);
}
END_TEST

int main(int argc, char **argv) {
    Suite *s;
    TCase *c;

    if (argc > 1) return play(argv[1]);
    s = suite_create("shm_loop");
    c = tcase_create("shared");
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, a_program_that_was_started_shares_the_window);
    tcase_add_test(c, its_bell_rings_when_another_lets_its_request_go);
    tcase_add_test(c, what_a_process_held_comes_back_when_the_parent_tells);
    tcase_add_loop_test(c, and_when_nobody_tells, 0, 2);
    tcase_add_test(c, and_when_nobody_has_waited_for_it);
    tcase_add_test(c, one_that_dies_with_the_lock_leaves_nothing_broken);
    tcase_add_test(c, many_ends_that_nobody_looked_at_do_no_harm);
    tcase_add_test(c, a_place_is_free_again);
    tcase_add_test(c, who_gives_up_when_it_was_just_let_go_gives_the_slot_back);
    tcase_add_test(c, a_ticket_that_ended_ends_nobody_elses);
    tcase_add_test(c, a_configuration_is_put_in_force_once);
    tcase_add_test(c, who_comes_late_finds_its_classes_by_name);
    tcase_add_loop_test(c, thousands_of_names_are_found_in_a_moment, 0, 2);
    tcase_add_test(c, what_the_engine_refuses_changes_nothing);
    tcase_add_test(c, a_text_that_is_not_of_this_segment_is_refused);
    tcase_add_loop_test(c, every_kernel_gives_the_memory, 0, KERNELS);
    tcase_add_loop_test(c, no_place_is_handed_out_that_cannot_be, 0, 2);
    tcase_add_test(c, behind_what_is_attached_is_no_memory);
    tcase_add_test(c, a_process_alone_has_no_bell);
    suite_add_tcase(s, c);
    c = tcase_create("away");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, who_cannot_have_the_lock_leaves_for_a_while);
    tcase_add_test(c, who_is_away_comes_back_when_that_one_has_died);
    tcase_add_test(c, who_does_not_come_back_leaves_for_good);
    tcase_add_loop_test(c, from_damage_nobody_comes_back, 0, 2);
    tcase_add_test(c, who_must_leave_again_stays_away_for_longer);
    tcase_add_test(c, who_is_away_takes_no_place);
    suite_add_tcase(s, c);
    return run_suite(s);
}
