/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_step.c - for LD_PRELOAD: the wall clock of a program runs so many seconds ahead as the file $FAIRGATE_CLOCK
 * says, an int64_t that may be written at any time.  Nothing else is touched: the monotonic clock and all timers are
 * the true ones, as they are when somebody sets a clock. (libfaketime moves timers that stand on the monotonic clock as
 * well.)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none, *ahead = &none;

static void __attribute__((constructor)) begin(void) {
    const char *name = getenv("FAIRGATE_CLOCK");
    int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) ahead = at;
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *t) {
    int r = (int)syscall(SYS_clock_gettime, id, t);
    if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec += *ahead;
    return r;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}
