/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c - fairgate-load's loop: events, timers, the clock of the measurement.  load.h is the manual. */
#include "load.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define EVENTS      256
#define WATCH_EVERY 500000 /* us between two looks for requests that took too long */

static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static void make_clients(struct load *l) {
    l->clients = calloc(l->client_count ? l->client_count : 1, sizeof l->clients[0]);
    if (!l->clients) {
        perror("fairgate-load: clients");
        exit(1);
    }
    uint64_t seed = l->seed * 0x9e3779b97f4a7c15ull;
    uint32_t n = 0;
    for (uint32_t k = 0; k < l->class_count; k++) {
        for (uint32_t i = 0; i < l->classes[k].clients; i++, n++) {
            struct load_client *c = &l->clients[n];
            c->magic = LOAD_CLIENT_MAGIC;
            c->fd = -1;
            c->class = &l->classes[k];
            c->rng = seed + (uint64_t)n * 0xd1342543de82ef95ull;
            uint64_t at = l->now + (uint64_t)(l->ramp * 1e6 * i / l->classes[k].clients);
            if (c->class->from_s > 0) at = l->started + (uint64_t)(c->class->from_s * 1e6);
            load_client_start(l, c, at);
        }
    }
    l->working = n;
    for (uint32_t k = 0; k < l->class_count; k++)
        if (l->classes[k].arrivals > 0)
            lab_timer_set(&l->arrivals, &l->classes[k].arrival, l->now + load_client_gap(&l->classes[k]));
}

static void turn(struct load *l, uint64_t until) {
    struct epoll_event events[EVENTS];
    uint64_t wake = lab_timers_next(&l->timers);
    if (lab_timers_next(&l->aborts) < wake) wake = lab_timers_next(&l->aborts);
    if (lab_timers_next(&l->arrivals) < wake) wake = lab_timers_next(&l->arrivals);
    if (until < wake) wake = until;
    l->now = lab_now();
    int wait = wake <= l->now ? 0 : wake - l->now > 60000000 ? 60000 : (int)((wake - l->now + 999) / 1000);
    int n = epoll_wait(l->epoll, events, EVENTS, wait);
    l->now = lab_now();
    for (int i = 0; i < n; i++) load_client_ready(l, events[i].data.ptr, events[i].events);
    /* Only what is due now: a timer set from here for now waits for the next turn, so that events are not shut out. */
    uint64_t due = l->now;
    for (struct lab_timer *t; (t = lab_timers_due(&l->aborts, due));) load_client_abort(l, t);
    for (struct lab_timer *t; (t = lab_timers_due(&l->arrivals, due));) load_client_arrive(l, t);
    uint32_t most = l->client_count;
    for (struct lab_timer *t; most-- && (t = lab_timers_due(&l->timers, due));) load_client_timer(l, t);
}

static void report(struct load *l, bool final, uint64_t from) {
    uint64_t to = l->now > from ? l->now : from + 1;
    if (l->table) load_report_table(l, stderr, final, from, to);
    load_report_json(l, stdout, final, from, to);
}

static void measure(struct load *l) {
    uint64_t step = (uint64_t)(l->interval * 1e6);
    uint64_t end = l->started + (uint64_t)(l->seconds * 1e6);
    uint64_t mark = l->warmup > 0 ? 0 : l->started; /* when the present interval began; 0 = still warming up */
    uint64_t watch_at = l->now + WATCH_EVERY;
    while (!stopped && l->working > 0 && l->now < end) {
        uint64_t until = mark == 0 ? l->started : step ? mark + step : end;
        turn(l, until < watch_at ? until : watch_at);
        if (l->now >= watch_at) {
            for (uint32_t i = 0; i < l->client_count; i++) load_client_check_timeout(l, &l->clients[i]);
            watch_at = l->now + WATCH_EVERY;
        }
        if (mark == 0 && l->now >= l->started) {
            load_report_clear(l);
            l->started = mark = l->now;
            end = l->started + (uint64_t)(l->seconds * 1e6);
        } else if (mark && step && l->now >= mark + step) {
            report(l, false, mark);
            load_report_roll(l);
            mark = l->now;
        }
    }
    /* Clients that were through with their requests before the warm-up was: what they did is the measurement. */
    if (mark == 0) l->started -= (uint64_t)(l->warmup * 1e6);
    load_report_roll(l);
    report(l, true, l->started);
}

int main(int argc, char **argv) {
    static struct load l = { .magic = LOAD_MAGIC };
    load_options(&l, argc, argv);

    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        if (files.rlim_cur < (rlim_t)l.client_count + 16) {
            fprintf(stderr,
                    "fairgate-load: %u clients need more than the %llu files this process may open; see ulimit -Hn\n",
                    l.client_count, (unsigned long long)files.rlim_cur);
            return 2;
        }
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l.epoll < 0) {
        perror("fairgate-load: epoll");
        return 1;
    }
    lab_timers_init(&l.timers);
    lab_timers_init(&l.aborts);
    lab_timers_init(&l.arrivals);
    l.now = lab_now();
    l.started = l.now + (uint64_t)(l.warmup * 1e6);
    make_clients(&l);
    struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };
    if (l.realtime && sched_setscheduler(0, SCHED_RR, &lowest) < 0)
        fprintf(stderr, "fairgate-load: runs as everything else does: --realtime is not allowed here (%s)\n",
                strerror(errno));
    measure(&l);
    return 0;
}
