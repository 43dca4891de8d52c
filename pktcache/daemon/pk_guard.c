/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_guard.h"

#include "pk_tun.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    GUARD_MAGIC = 0x504b4755,
    LOOK_EVERY = 50 /* milliseconds */,
    STALLED = PK_GUARD_STALL / 1000 / LOOK_EVERY /* looks */
};

enum { ALIVE = 3, SHARED }; /* a guard's descriptors */

/* What both processes see. */
struct watched {
    char device[16];
    unsigned threads;
    atomic_uint beat[PK_LANES_MAX];
    atomic_bool watch;
    atomic_bool down; /* a guard has taken the device down: another one in its place must know */
    atomic_uint stalls;
};

struct pk_guard {
    unsigned magic;
    struct watched *shared;
    int memory;   /* of `shared` */
    int alive[2]; /* the daemon holds the end that is written to, and never writes */
    pid_t pid;
};

static void guard_say(const char *sentence, const char *more) {
    fprintf(stderr, "fairgate-pktcache: guard: %s%s\n", sentence, more);
}

/* Whether it could be done; what could not is said once. */
static bool device(const struct watched *w, bool up, bool failed) {
    int why = pk_tun_set_up(w->device, up);

    if (why) {
        if (!failed) guard_say("the device can't be changed: ", strerror(why));
        return false;
    }
    if (up) guard_say("the daemon goes on again", "");
    else guard_say("the daemon does not go on: ", "packets take their plain way");
    return true;
}

static void guard_watch(struct watched *w) {
    unsigned before[PK_LANES_MAX], still[PK_LANES_MAX];
    struct pollfd p = { .fd = ALIVE, .events = POLLIN };
    bool failed = false;

    /* What a guard before this one took down comes up only when all beat. */
    for (unsigned i = 0; i < PK_LANES_MAX; i++) {
        before[i] = atomic_load(&w->beat[i]);
        still[i] = atomic_load(&w->down) ? STALLED : 0;
    }
    /* Hung up: the daemon has ended, and its device with it. */
    while (poll(&p, 1, LOOK_EVERY) <= 0) {
        bool stalled = false;
        if (!atomic_load(&w->watch)) continue;
        for (unsigned i = 0; i < w->threads; i++) {
            unsigned now = atomic_load(&w->beat[i]);
            still[i] = now != before[i] ? 0 : still[i] < STALLED ? still[i] + 1 : STALLED;
            before[i] = now;
            stalled |= still[i] == STALLED;
        }
        if (stalled == atomic_load(&w->down)) continue;
        if (stalled && !pk_tun_is_up(w->device)) continue; /* somebody else took it down, and shall take it up */
        failed = !device(w, !stalled, failed);
        if (failed) continue;
        atomic_store(&w->down, stalled);
        if (stalled) atomic_fetch_add(&w->stalls, 1);
    }
}

int pk_guard_run(void) {
    struct watched *w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED, 0);
    sigset_t none;

    if (w == MAP_FAILED || w->threads > PK_LANES_MAX) {
        guard_say("is started by the daemon only", "");
        return 2;
    }
    prctl(PR_SET_NAME, "pktcache-guard");
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    guard_watch(w);
    return 0;
}

static int guard_start(pk_guard_t *g) {
    pid_t pid = fork();
    if (pid) return g->pid = pid;
    /* Only these two stay open: a descriptor of the device would keep that alive. */
    int alive = fcntl(g->alive[0], F_DUPFD, SHARED + 1), memory = fcntl(g->memory, F_DUPFD, SHARED + 1);
    if (dup2(alive, ALIVE) != ALIVE || dup2(memory, SHARED) != SHARED || syscall(SYS_close_range, SHARED + 1, ~0u, 0))
        _exit(1);
    setsid(); /* what stops the daemon's terminal must not stop its guard */
    execl("/proc/self/exe", "fairgate-pktcache", PK_GUARD_WORD, (char *)NULL);
    _exit(1);
}

pk_guard_t *pk_guard_start(const struct pk_config *c, char **error) {
    pk_guard_t *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->magic = GUARD_MAGIC;
    g->alive[0] = g->alive[1] = -1;
    g->memory = memfd_create("pktcache-guard", MFD_CLOEXEC);
    if (g->memory >= 0 && !ftruncate(g->memory, sizeof *g->shared))
        g->shared = mmap(NULL, sizeof *g->shared, PROT_READ | PROT_WRITE, MAP_SHARED, g->memory, 0);
    if (g->shared == MAP_FAILED) g->shared = NULL;
    if (g->shared) {
        snprintf(g->shared->device, sizeof g->shared->device, "%s", c->device);
        g->shared->threads = (unsigned)c->queues;
    }
    if (!g->shared || pipe2(g->alive, O_CLOEXEC) || guard_start(g) < 0) {
        if (asprintf(error, "no guard can be started: %s", strerror(errno)) < 0) *error = NULL;
        pk_guard_stop(&g);
    }
    return g;
}

void pk_guard_watch(pk_guard_t *g) { atomic_store(&g->shared->watch, true); }
void pk_guard_beat(pk_guard_t *g, unsigned thread) {
    atomic_fetch_add_explicit(&g->shared->beat[thread], 1, memory_order_relaxed);
}
unsigned pk_guard_stalls(const pk_guard_t *g) { return atomic_load(&g->shared->stalls); }

int pk_guard_look(pk_guard_t *g) {
    assert(g->magic == GUARD_MAGIC);
    if (g->pid > 0 && waitpid(g->pid, NULL, WNOHANG) == g->pid) {
        guard_say("ended by somebody; another one starts", "");
        if (guard_start(g) < 0) guard_say("none can be started now: ", strerror(errno));
    } else if (g->pid < 0) {
        guard_start(g);
    }
    return g->pid;
}

void pk_guard_stop(pk_guard_t **guard) {
    pk_guard_t *g = *guard;
    *guard = NULL;
    if (!g) return;
    assert(g->magic == GUARD_MAGIC);
    if (g->alive[1] >= 0) close(g->alive[1]);
    if (g->alive[0] >= 0) close(g->alive[0]);
    if (g->pid > 0) {
        kill(g->pid, SIGKILL); /* somebody may have stopped it */
        waitpid(g->pid, NULL, 0);
    }
    if (g->shared) munmap(g->shared, sizeof *g->shared);
    if (g->memory >= 0) close(g->memory);
    g->magic = 0;
    free(g);
}
