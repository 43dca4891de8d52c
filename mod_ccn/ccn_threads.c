/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <http_log.h>

#include "ccn_call.h"
#include "ccn_results.h"
#include "ccn_room.h"
#include "ccn_status.h"
#include "ccn_turns.h"

APLOG_USE_MODULE(ccn);

#define P          ccn_process
#define BATCH      256u
#define RESULTS_US UINT64_C(10000000) /* between two looks at results that are kept */
#define BEHIND     1024u              /* of a connection, where pages are made one after the other */

static struct ccn_task **tasks; /* by the index of the ticket; under the segment's lock */
static uint32_t room;           /* of it; 0: no child's */

static pthread_mutex_t ready = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct ccn_task *first, **last = &first;          /* those released that no thread has taken */
static struct ccn_task *behind, **behind_last = &behind; /* prefork: those that are not in the engine yet */
static uint32_t nbehind;
static bool engaged; /* prefork: one is in the engine, or has a turn */

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static apr_pool_t *pool;
static server_rec *server;
static apr_thread_t **threads;
static apr_threadattr_t *attributes;
static _Atomic unsigned nthreads;
static pthread_t chores;
static bool started, has_chores;
static _Atomic bool stopping; /* faces have ended, and so do the threads */

/* ---- released tasks ---------------------------------------------------------------------------------------------- */

/* Released tasks of this process, taken under the segment's lock. */
struct picked {
    struct ccn_task *first, **last;
    unsigned n;
};

static void picked_add(struct picked *p, uint32_t index) {
    struct ccn_task *t = index < room ? tasks[index] : NULL;

    if (!t || t->ready) return;
    t->ready = true;
    t->next = NULL;
    *p->last = t;
    p->last = &t->next;
    p->n++;
    atomic_store_explicit(&P.view.rows[index].running, 1, memory_order_relaxed);
}

/* `takers`: threads that will look for tasks without being woken. */
static void hand_out(struct picked *p, unsigned takers) {
    if (!p->first) return;
    pthread_mutex_lock(&ready);
    *last = p->first;
    last = p->last;
    pthread_mutex_unlock(&ready);
    for (unsigned i = takers; i < p->n; i++) pthread_cond_signal(&more);
}

/* Others that were released are woken, not we ourselves. */
static void forget_self(struct shm_wakes *w) {
    for (uint32_t i = 0; i < w->others; i++)
        if (w->other[i] == P.row) w->other[i--] = w->other[--w->others];
}

/* Under the lock, which it gives back: releases what may go, and takes ours. */
static void pump_and_unlock(unsigned takers) {
    const struct shm_view *v = &P.view;
    struct picked p = { NULL, &p.first, 0 };
    struct shm_wakes w;
    int again;

    for (;;) {
        struct shm_row *row;
        w.n = w.others = 0;
        again = shm_pump_locked(v, shm_now(), SHM_NO_ROW, RS_NO_TICKET, &w);
        while ((row = shm_next_released_locked(v, P.row)) != NULL) picked_add(&p, (uint32_t)(row - v->rows));
        shm_unlock(v);
        forget_self(&w);
        shm_wake(v, &w);
        if (!again) break;
        shm_lock(v);
    }
    hand_out(&p, takers);
}

/* ---- joining the queue ------------------------------------------------------------------------------------------- */

/* Its place is another one's now; it goes to the list that the caller drops.  Another process finds its own. */
static bool make_room_locked(const struct shm_request *q, uint64_t now, struct picked *gone) {
    rs_ticket_t t = ccn_room_locked(&P.view, q->class, q->tag);
    uint32_t index = rs_ticket_index(t);
    struct ccn_task *ours;

    if (t == RS_NO_TICKET || !shm_cancel_locked(&P.view, now, t)) return false;
    ccn_count(&P.area->displaced);
    ours = index < room ? tasks[index] : NULL;
    if (!ours || ours->ticket != t) return true;
    tasks[index] = NULL;
    *gone->last = ours;
    gone->last = &ours->next;
    return true;
}

static void drop_all(struct picked *gone) {
    *gone->last = NULL;
    for (struct ccn_task *t = gone->first, *next; t; t = next) {
        next = t->next;
        t->kind->drop(t);
    }
}

static enum rs_refusal submit_now(struct ccn_task *t) {
    const struct httpd_classes *c = &ccn_config()->classes;
    struct shm_request q = { .owner = P.row,
                             .class = c->number[t->class],
                             .estimate = t->estimate,
                             .deadline = atomic_load(&t->deadline),
                             .client_fd = -1,
                             .tag = t->whose };
    struct picked before = { NULL, &before.first, 0 }, gone = { NULL, &gone.first, 0 };
    enum rs_refusal refusal;
    uint64_t now;

    t->ready = t->displaced = false;
    shm_lock(&P.view);
    now = shm_now();
    refusal = shm_begin_locked(&P.view, now, &q, &t->ticket);
    if (refusal != RS_OK && refusal != RS_NO_SUCH_CLASS && make_room_locked(&q, now, &gone))
        refusal = shm_begin_locked(&P.view, now, &q, &t->ticket);
    if (refusal == RS_OK && rs_ticket_index(t->ticket) >= room) refusal = RS_TOTAL_FULL;
    if (refusal == RS_OK) {
        struct ccn_task **at = &tasks[rs_ticket_index(t->ticket)];
        if (*at && !(*at)->ready && !shm_has_left(&P.view)) {
            /* Another process made room with it, and the place is given out anew. */
            *gone.last = *at;
            gone.last = &(*at)->next;
        } else {
            /* A task of a segment that this process has left: its place is given out anew. */
            picked_add(&before, rs_ticket_index(t->ticket));
        }
        *at = t;
    }
    pump_and_unlock(0);
    hand_out(&before, 0);
    drop_all(&gone);
    return refusal;
}

/* The task that was in the engine is not any more: the next one that somebody waits for. */
static void submit_next(void) {
    struct ccn_task *t;

    do {
        pthread_mutex_lock(&ready);
        t = behind;
        if (t) {
            behind = t->next;
            if (!behind) behind_last = &behind;
            nbehind--;
        }
        engaged = t != NULL;
        pthread_mutex_unlock(&ready);
        if (!t || stopping || (!t->kind->late(t, shm_now()) && submit_now(t) == RS_OK)) return;
        t->kind->drop(t);
    } while (true);
}

enum rs_refusal ccn_threads_submit(struct ccn_task *t) {
    enum rs_refusal refusal = RS_OK;
    bool waits;

    if (P.threaded) return submit_now(t);
    pthread_mutex_lock(&ready);
    waits = engaged;
    engaged = true;
    if (waits && nbehind >= BEHIND) {
        refusal = RS_TOTAL_FULL;
    } else if (waits) {
        t->next = NULL;
        *behind_last = t;
        behind_last = &t->next;
        nbehind++;
    }
    pthread_mutex_unlock(&ready);
    if (!waits) refusal = submit_now(t);
    if (!waits && refusal != RS_OK) submit_next();
    return refusal;
}

void ccn_threads_end(struct ccn_task *t, uint64_t work, bool whole) {
    const struct shm_view *v = &P.view;
    uint64_t now = shm_now();

    ccn_turn_end(t);
    shm_lock(v);
    if (tasks[rs_ticket_index(t->ticket)] == t) tasks[rs_ticket_index(t->ticket)] = NULL;
    if (rs_state(v->engine, t->ticket) != RS_FREE) {
        if (whole) {
            rs_header(v->engine, now, t->ticket, work);
            rs_progress(v->engine, now, t->ticket, work);
            rs_finish(v->engine, now, t->ticket);
        } else {
            rs_abort(v->engine, now, t->ticket);
        }
        shm_end_locked(v, t->ticket);
    }
    pump_and_unlock(1);
    if (!P.threaded) submit_next();
}

uint32_t ccn_threads_busy(void) {
    struct rs_stats all;

    shm_lock(&P.view);
    rs_stats(P.view.engine, &all);
    shm_unlock(&P.view);
    return all.queued + all.outstanding;
}

void ccn_threads_hold_signals(sigset_t *before) {
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, before);
}

void ccn_threads_settle(void) {
    sigset_t before;

    for (bool any = true; any;) {
        ccn_threads_hold_signals(&before);
        pthread_mutex_lock(&ready);
        any = engaged;
        pthread_mutex_unlock(&ready);
        shm_lock(&P.view);
        for (uint32_t i = 0; i < room; i++) {
            if (!tasks[i]) continue;
            any = true;
            /* Who waits for its turn need not: its connection is closed. */
            atomic_store(&tasks[i]->deadline, 0);
        }
        shm_unlock(&P.view);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (any) usleep(2000);
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* Its turn comes when the process ends: who waited has gone. */
static void abandon(struct ccn_task *t) {
    ccn_threads_end(t, 0, false);
    t->kind->drop(t);
}

static void run_turn(struct ccn_task *t, apr_thread_t *thread, unsigned number) {
    ccn_turn_begin(number, t);
    t->kind->run(t, thread, number);
}

static void *APR_THREAD_FUNC serve(apr_thread_t *thread, void *number) {
    for (;;) {
        struct ccn_task *t;

        pthread_mutex_lock(&ready);
        while (!first && !stopping) pthread_cond_wait(&more, &ready);
        t = first;
        if (t) {
            first = t->next;
            if (!first) last = &first;
        }
        pthread_mutex_unlock(&ready);
        if (!t) break;
        if (stopping) abandon(t);
        else run_turn(t, thread, (unsigned)(uintptr_t)number);
    }
    return NULL;
}

/* Under `starting`. */
static apr_status_t start_thread(void) {
    unsigned n = nthreads;
    apr_status_t rv = apr_thread_create(&threads[n], attributes, serve, (void *)(uintptr_t)n, pool);

    nthreads += rv == APR_SUCCESS;
    return rv;
}

/* Tasks of ours that were released and nobody told us; those displaced; and those that nobody waits for any more. */
static uint32_t look_at_tasks(uint64_t now, struct ccn_task **late) {
    const struct shm_view *v = &P.view;
    struct picked p = { NULL, &p.first, 0 };
    uint32_t n = 0;

    shm_lock(v);
    for (uint32_t i = 0; i < room && n < BATCH; i++) {
        struct ccn_task *t = tasks[i];
        if (!t || t->ready) continue;
        if (rs_state(v->engine, t->ticket) == RS_FREE && !shm_has_left(v)) {
            t->displaced = true;
            tasks[i] = NULL;
            late[n++] = t;
        } else if (atomic_load_explicit(&v->rows[i].go, memory_order_relaxed)) {
            picked_add(&p, i);
        } else if (atomic_load_explicit(&t->deadline, memory_order_relaxed) <= now &&
                   shm_cancel_locked(v, now, t->ticket)) {
            tasks[i] = NULL;
            late[n++] = t;
        }
    }
    shm_unlock(v);
    hand_out(&p, 0);
    return n;
}

static void drop_late(uint64_t now) {
    struct ccn_task *late[BATCH];
    uint32_t n;

    do {
        n = look_at_tasks(now, late);
        for (uint32_t i = 0; i < n; i++) {
            struct ccn_task *t = late[i];
            /* Somebody may have joined at the last moment: it waits once more, or is no longer wanted. */
            if (!t->displaced && !t->kind->late(t, now) && submit_now(t) == RS_OK) continue;
            t->kind->drop(t);
            if (!P.threaded) submit_next();
        }
    } while (n == BATCH);
}

/* Threads for others' tasks, while slow ones have theirs. */
static void have_spares(unsigned spares) {
    unsigned n = (unsigned)ccn_config()->threads + (spares < CCN_SPARES ? spares : CCN_SPARES);
    sigset_t all, before;

    if (stopping || nthreads >= n) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&starting);
    while (nthreads < n && start_thread() == APR_SUCCESS) continue;
    pthread_mutex_unlock(&starting);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void *look_after(void *unused) {
    struct shm_owner *me = &P.view.owners[P.row];
    uint64_t next = 0, next_sweep = 0, next_results = 0;
    apr_pool_t *samples = NULL;

    (void)unused;
    if (apr_pool_create_unmanaged(&samples) != APR_SUCCESS) samples = NULL;
    while (!stopping) {
        uint32_t seen = atomic_load(&me->wake);
        uint64_t now;

        shm_lock(&P.view);
        pump_and_unlock(0);
        ccn_call_look_after();
        now = shm_now();
        if (samples) {
            ccn_status_second(samples);
            apr_pool_clear(samples);
        }
        if (now >= next) {
            shm_reclaim(&P.view);
            drop_late(now);
            if (P.threaded) have_spares(ccn_turns_look(now));
            next = now + SHM_TICK_US;
        }
        if (now >= next_sweep) {
            ccn_store_sweep(&P.store, now);
            ccn_seats_sweep(&P.seats, ccn_seat_holder());
            next_sweep = now + 5 * SHM_TICK_US;
        }
        if (now >= next_results) {
            ccn_results_sweep();
            next_results = now + RESULTS_US;
        }
        base_futex_wait(&me->wake, seen, SHM_TICK_US);
    }
    if (samples) apr_pool_destroy(samples);
    return NULL;
}

static bool start_threads(void) {
    sigset_t all, before;
    unsigned n = P.threaded ? (unsigned)ccn_config()->threads : 1;
    int rc;

    if (!attributes && apr_threadattr_create(&attributes, pool) != APR_SUCCESS) return false;
    if (!threads) threads = calloc(n + CCN_SPARES, sizeof *threads);
    if (!threads) return false;
    /* Signals are for the MPM's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = has_chores ? 0 : pthread_create(&chores, NULL, look_after, NULL);
    has_chores = rc == 0;
    while (!rc && nthreads < n) rc = start_thread();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) ap_log_error(APLOG_MARK, APLOG_ERR, rc, server, "ccn: only %u of %u service threads", nthreads, n);
    return has_chores && nthreads > 0;
}

bool ccn_threads_start(void) {
    bool good;

    pthread_mutex_lock(&starting);
    if (!started && room) started = start_threads();
    good = started;
    pthread_mutex_unlock(&starting);
    return good;
}

/* What waits, others need not wait behind until somebody finds that this process has ended. */
static void cancel_all(void) {
    struct picked gone = { NULL, &gone.first, 0 };

    shm_lock(&P.view);
    for (uint32_t i = 0; i < room; i++) {
        struct ccn_task *t = tasks[i];
        if (!t || t->ready || !shm_cancel_locked(&P.view, shm_now_coarse(), t->ticket)) continue;
        tasks[i] = NULL;
        *gone.last = t;
        gone.last = &t->next;
    }
    shm_unlock(&P.view);
    drop_all(&gone);
}

/* The child ends: those that run are waited for, as the MPM waits for its own. */
static apr_status_t stop_threads(void *unused) {
    apr_status_t rv;

    (void)unused;
    atomic_store(&P.stop, true);
    stopping = true;
    pthread_mutex_lock(&ready);
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&ready);
    if (has_chores) {
        atomic_fetch_add(&P.view.owners[P.row].wake, 1);
        base_futex_wake(&P.view.owners[P.row].wake);
        pthread_join(chores, NULL);
    }
    if (nthreads) cancel_all();
    for (unsigned i = 0; i < nthreads; i++) apr_thread_join(&rv, threads[i]);
    if (has_chores) ccn_call_end_all();
    if (nthreads) cancel_all();
    nthreads = 0;
    has_chores = false;
    return APR_SUCCESS;
}

void ccn_threads_child_init(apr_pool_t *pchild, server_rec *s) {
    tasks = calloc(P.view.size.tickets, sizeof *tasks);
    room = tasks ? P.view.size.tickets : 0;
    /* Threads begin when others use the child's pool. */
    if (apr_pool_create_unmanaged_ex(&pool, NULL, NULL) != APR_SUCCESS) room = 0;
    server = s;
    apr_pool_pre_cleanup_register(pchild, NULL, stop_threads);
}
