/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_dispatch.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "qos_request.h"

#define IDLE_TICK_US 1000000u /* its tick while nothing is held */
#define BATCH        256u

#define P qos_process

static void wake_fd(int fd) {
    if (fd >= 0) eventfd_write(fd, 1);
}

/* What other children's releases left for this one. */
static void wake_released(void) {
    struct shm_row *row;
    int fds[BATCH];
    uint32_t n;

    do {
        n = 0;
        shm_lock(&P.view);
        while (n < BATCH && (row = shm_next_released_locked(&P.view, P.row)) != NULL)
            fds[n++] = row->owner == P.row + 1 ? shm_row_fd(&P.view, row) : -1;
        shm_unlock(&P.view);
        for (uint32_t i = 0; i < n; i++) wake_fd(fds[i]);
    } while (n == BATCH);
}

/* Wake the request of this row, if it still is the one and still waits, to look for itself. */
static void wake_to_look(uint32_t index, rs_ticket_t ticket) {
    struct shm_row *row = &P.view.rows[index];
    int fd = -1;

    shm_lock(&P.view);
    if (row->ticket == ticket && !row->running && !row->blocks) fd = shm_row_fd(&P.view, row);
    shm_unlock(&P.view);
    wake_fd(fd);
}

static void look_at_clients(const struct pollfd *fds, const uint32_t *index, const rs_ticket_t *ticket, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) wake_to_look(index[i], ticket[i]);
}

/*
 * Waits that are over, and clients that left.  Rows are read without the lock: what is wrong by the time of
 * wake_to_look is not woken.
 */
static void look_after_held(uint64_t now) {
    struct pollfd fds[BATCH];
    rs_ticket_t tickets[BATCH];
    uint32_t rows[BATCH], n = 0;

    for (uint32_t i = 0; i < P.view.size.tickets; i++) {
        const struct shm_row *row = &P.view.rows[i];
        rs_ticket_t ticket = atomic_load_explicit(&row->ticket, memory_order_relaxed);
        uint64_t deadline;

        if (ticket == RS_NO_TICKET || atomic_load_explicit(&row->owner, memory_order_relaxed) != P.row + 1 ||
            atomic_load_explicit(&row->running, memory_order_relaxed))
            continue;
        if (atomic_load_explicit(&row->go, memory_order_relaxed)) {
            /* Released and not seen: who released it may have died before it could wake it. */
            wake_to_look(i, ticket);
            continue;
        }
        deadline = atomic_load_explicit(&row->deadline, memory_order_relaxed);
        if (now >= deadline) wake_to_look(i, ticket);
        fds[n] =
            (struct pollfd){ .fd = atomic_load_explicit(&row->client_fd, memory_order_relaxed), .events = POLLRDHUP };
        tickets[n] = ticket;
        rows[n++] = i;
        if (n < BATCH) continue;
        if (poll(fds, n, 0) > 0) look_at_clients(fds, rows, tickets, n);
        n = 0;
    }
    if (n && poll(fds, n, 0) > 0) look_at_clients(fds, rows, tickets, n);
}

static int any_held(void) {
    int any;
    shm_lock(&P.view);
    any = P.view.owners[P.row].held > 0;
    shm_unlock(&P.view);
    return any;
}

static void *dispatch(void *unused) {
    struct shm_owner *me = &P.view.owners[P.row];
    uint64_t last = 0;

    (void)unused;
    while (!atomic_load(&P.stop)) {
        uint32_t seen = atomic_load(&me->wake);
        uint64_t every = any_held() ? SHM_TICK_US : IDLE_TICK_US, now, pump_at, next, heads_at;

        wake_released();
        now = shm_now();
        if (now >= last + every) {
            shm_reclaim(&P.view);
            look_after_held(now);
            shm_sweep(&P.view, now);
            shm_pump(&P.view, P.row); /* a sweep, or time itself, may let more through */
            last = now;
        }
        pump_at = atomic_load(&P.view.sh->pump_at);
        if (pump_at && now >= pump_at) {
            shm_pump(&P.view, P.row);
            pump_at = 0;
        }
        heads_at = qos_heads_look(now);
        next = pump_at && pump_at < last + every ? pump_at : last + every;
        base_futex_wait(&me->wake, seen, (heads_at < next ? heads_at : next) - now);
    }
    return NULL;
}

void qos_dispatch_wake(void) {
    atomic_fetch_add(&P.view.owners[P.row].wake, 1);
    base_futex_wake(&P.view.owners[P.row].wake);
}

static apr_status_t dispatch_stop(void *unused) {
    (void)unused;
    if (P.dispatching) {
        atomic_store(&P.stop, 1);
        qos_dispatch_wake();
        pthread_join(P.dispatcher, NULL);
        P.dispatching = 0;
    }
    return APR_SUCCESS;
}

int qos_dispatch_start(apr_pool_t *pchild) {
    sigset_t all, before;
    int rc;

    /* Signals are for the MPM's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&P.dispatcher, NULL, dispatch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) return rc;
    P.dispatching = 1;
    apr_pool_pre_cleanup_register(pchild, NULL, dispatch_stop);
    return 0;
}
