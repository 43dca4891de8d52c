/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_load.c - fairgate-ndn-load's loop: events, timers, the clock of the measurement.  ndn_load.h is the manual. */
#include "ndn_load.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>

#define NLOAD_EVENTS 256

static volatile sig_atomic_t nload_stopped;

static void nload_stop(int signal) {
    (void)signal;
    nload_stopped = 1;
}

void *nload_need(void *p) {
    if (p) return p;
    fputs("fairgate-ndn-load: out of memory\n", stderr);
    exit(1);
}

uint64_t nload_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

double nload_uniform(uint64_t *state) { return (double)(nload_random(state) >> 11) * 0x1p-53; }

static void nload_turn(struct nload *l, uint64_t until) {
    struct epoll_event events[NLOAD_EVENTS];
    uint64_t wake = lab_timers_next(&l->timers);

    if (until < wake) wake = until;
    l->now = lab_now();
    int wait = wake <= l->now ? 0 : wake - l->now > 60000000 ? 60000 : (int)((wake - l->now + 999) / 1000);
    int n = epoll_wait(l->epoll, events, NLOAD_EVENTS, wait);
    l->now = lab_now();
    for (int i = 0; i < n; i++) nload_face_ready(l, events[i].data.ptr, events[i].events);
    /* Only what is due now: a timer set from here for now waits for the next turn, so that events are not shut out. */
    uint64_t due = l->now;
    uint32_t most = l->client_count;
    for (struct lab_timer *t; most-- && (t = lab_timers_due(&l->timers, due));) nload_client_timer(l, t);
    nload_face_flush(l);
}

static void nload_measure(struct nload *l) {
    uint64_t begin = l->started + (uint64_t)(l->warmup * 1e6), end = begin + (uint64_t)(l->seconds * 1e6);

    while (!nload_stopped && l->working > 0 && l->now < begin) nload_turn(l, begin);
    if (l->warmup > 0 && l->now >= begin) {
        /* What came until now does not count; pages that are under way count if they end. */
        memset(&l->counts, 0, sizeof l->counts);
        l->done_count = 0;
        l->started = l->now;
    }
    while (!nload_stopped && l->working > 0 && l->now < end) nload_turn(l, end);
    if (l->kind == NLOAD_CLOSED) return;
    for (uint32_t i = 0; i < l->client_count; i++)
        if (l->clients[i].state != NLOAD_OVER) nload_client_fail(l, &l->clients[i], NLOAD_UNFINISHED);
}

int main(int argc, char **argv) {
    static struct nload l;
    struct rlimit files;

    nload_options(&l, argc, argv);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, nload_stop);
    signal(SIGTERM, nload_stop);
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l.epoll < 0) {
        perror("fairgate-ndn-load: epoll");
        return 1;
    }
    if (getrandom(&l.nonces, sizeof l.nonces, 0) < 0) {
        perror("fairgate-ndn-load: getrandom");
        return 1;
    }
    lab_timers_init(&l.timers);
    nload_faces_open(&l);
    struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };
    if (l.realtime && sched_setscheduler(0, SCHED_RR, &lowest) < 0)
        fprintf(stderr, "fairgate-ndn-load: runs as everything else does: --realtime is not allowed here (%s)\n",
                strerror(errno));
    l.started = l.now = lab_now();
    nload_plan(&l);
    nload_measure(&l);
    nload_report(&l, stdout);
    return 0;
}
