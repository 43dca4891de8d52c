/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_hold.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ap_mpm.h>
#include <apr_portable.h>
#include <apr_strings.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <scoreboard.h>

#include "qos_account.h"
#include "qos_beside.h"
#include "qos_classify.h"
#include "qos_dispatch.h"
#include "qos_exempt.h"
#include "qos_park.h"
#include "qos_refuse.h"
#include "qos_stall.h"
#include "qos_streams.h"
#include "qos_threads.h"

APLOG_USE_MODULE(qos_drr);

#define SHORT_US              100000u /* how long a wait may keep its thread before it is held without one */
#define CLIENT_CLOSED_REQUEST 499

#define P qos_process

void qos_hold_child_init(apr_pool_t *pchild, server_rec *s) {
    int rc;

    P.pid = getpid();
    P.row = shm_owner_started(&P.view, P.pid);
    if (P.row == SHM_NO_ROW) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "qos: more children than were planned for; requests of this one pass unscheduled. "
                     "A full restart takes a larger ServerLimit in");
        return;
    }
    qos_streams_child_init(pchild);
    if (!P.can_hold) return;
    rc = qos_dispatch_start(pchild);
    if (rc == 0) return;
    ap_log_error(APLOG_MARK, APLOG_ERR, rc, s,
                 "qos: no dispatcher thread; waiting requests of this child block their threads");
    P.can_hold = 0;
}

/* ---- submitting -------------------------------------------------------------------------------------------------- */

/* BLOCK: a thread of the MPM.  ASIDE: a thread that no other request could have. */
enum way { BLOCK, ASIDE, HOLD, SHORT_THEN_HOLD };

static int hold_refuse(struct qos_request *q, enum qos_outcome outcome) {
    q->outcome = outcome;
    if (outcome == QOS_WAIT_TIMEOUT) q->reason = "too-long";
    q->ticket = RS_NO_TICKET;
    q->wait_us = shm_now() - q->submitted;
    qos_threads_refuse(q);
    return qos_refuse(q, q->r);
}

/* Nobody is there to answer; the log gets the status that other servers write for it. */
static int hold_leave(struct qos_request *q) {
    q->outcome = QOS_GONE;
    q->ticket = RS_NO_TICKET;
    q->wait_us = shm_now() - q->submitted;
    q->r->status = CLIENT_CLOSED_REQUEST;
    q->r->header_only = 1;
    q->r->connection->aborted = 1;
    return DONE;
}

static void hold_run(struct qos_request *q, uint64_t now, enum qos_outcome outcome) {
    q->outcome = outcome;
    q->wait_us = now - q->submitted;
    qos_stall_released(q->outlet);
    qos_account_begin(q);
}

/* Of its outlet no more wait in threads than there are threads left: half of them if nobody waits for others. */
static bool leaves_threads_locked(const struct qos_request *q, uint32_t spare) {
    uint32_t here = P.view.blocked_at[q->outlet], all = P.view.sh->blocked;

    return !here || here < (spare > all ? spare - all : 0);
}

/*
 * Of the threads that the windows leave over, one half is set aside for the classes by weight, so that a crowd of one
 * class can't take the last thread of another; the other half is for whoever comes.
 */
static struct qos_bound hold_bound(const struct qos_request *q, uint32_t threads, uint32_t window) {
    const struct qos_server *conf = qos_config();
    uint32_t spare = threads > window ? threads - window : 1;
    uint32_t own = (uint32_t)((uint64_t)(spare / 2) * conf->classes[q->class].weight / conf->weights);

    return (struct qos_bound){ own ? own : 1, spare - spare / 2, spare };
}

/* May it block its thread? */
static int may_block_locked(const struct qos_request *q) {
    struct qos_bound b = hold_bound(q, P.threads, rs_windows(P.view.engine));

    if (qos_config()->outlets.n && !leaves_threads_locked(q, b.spare)) return 0;
    return shm_block_locked(&P.view, q->ticket, qos_config()->number[q->class], b.own, b.pool);
}

/* The same for a stream's connection, of this child's threads, with its part of the window. */
static struct qos_bound stream_bound(const struct qos_request *q) {
    uint64_t window;

    shm_lock(&P.view);
    window = rs_windows(P.view.engine);
    shm_unlock(&P.view);
    return hold_bound(q, P.threads_per_child, (uint32_t)((window * P.threads_per_child + P.threads - 1) / P.threads));
}

static int client_left(const struct qos_request *q) {
    struct pollfd fd = { .fd = q->client_fd, .events = POLLRDHUP };

    /* Of a stream mod_http2 tells, from the thread of its connection. */
    if (q->r->connection->aborted) return 1;
    return q->client_fd >= 0 && poll(&fd, 1, 0) > 0;
}

static struct shm_row *hold_row_of(const struct qos_request *q) { return shm_row_of(&P.view, q->ticket); }

/* Is the wait over?  QOS_WAITED: it has a slot.  QOS_REFUSED: its class's queue stands.  QOS_PASSED: it is not. */
static enum qos_outcome hold_told(struct qos_request *q) {
    uint32_t go = atomic_load(&hold_row_of(q)->go);

    if (go == SHM_WAITS) return QOS_PASSED;
    if (go != SHM_REFUSED || !shm_end_wait(&P.view, q->ticket)) return QOS_WAITED;
    q->reason = "standing";
    return QOS_REFUSED;
}

/* Woken, for whatever reason. */
static enum qos_outcome hold_look(struct qos_request *q) {
    enum qos_outcome end = hold_told(q);

    if (end != QOS_PASSED) return end;
    if (client_left(q)) end = QOS_GONE;
    else if (shm_now() >= q->deadline) end = QOS_WAIT_TIMEOUT;
    else return QOS_PASSED;
    if (!shm_end_wait(&P.view, q->ticket)) return QOS_WAITED;
    atomic_fetch_add(end == QOS_GONE ? &P.view.sh->gone : &P.view.sh->timed_out, 1);
    return end;
}

/* Why there was no place for it: RS_OK, because it had one and there was no thread to wait with. */
static void note_refusal(struct qos_request *q, enum rs_refusal refusal) {
    q->ticket = RS_NO_TICKET;
    q->reason = refusal == RS_OK           ? "no-thread"
                : refusal == RS_CLASS_FULL ? "class-full"
                : refusal == RS_SHARE_FULL ? "share-full"
                                           : "queue-full";
    if (refusal == RS_OK) atomic_fetch_add(&P.view.sh->no_thread, 1);
}

/* Wait in this thread. */
static enum qos_outcome wait_blocking(struct qos_request *q) {
    bool stream = q->r->connection->master;
    enum qos_outcome end;

    if (stream && !qos_streams_enter(q, stream_bound(q))) {
        if (!shm_end_wait(&P.view, q->ticket)) return QOS_WAITED;
        note_refusal(q, RS_OK);
        return QOS_REFUSED;
    }
    while (end = hold_look(q), end == QOS_PASSED) {
        uint64_t sleep = stream ? qos_streams_look(q) : SHM_TICK_US, now = shm_now();
        /* The dispatcher looks that often only while requests are held without a thread. */
        if (sleep <= SHM_TICK_US) {
            shm_reclaim(&P.view);
            shm_sweep(&P.view, now);
            shm_pump(&P.view, P.row);
        }
        if (q->deadline < now + sleep) sleep = q->deadline > now ? q->deadline - now : 1;
        base_futex_wait(&hold_row_of(q)->go, 0, sleep);
    }
    if (stream) qos_streams_leave(q);
    return end;
}

/*
 * Descriptors for waits beyond the stock.  They are kept and used again, never closed: a wake-up that comes too late
 * must meet a descriptor of ours, not a number that has become somebody's socket.
 */
static struct {
    pthread_mutex_t lock;
    int *fds;
    uint32_t n, room;
} spare = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int spare_fd(void) {
    int fd = -1;
    pthread_mutex_lock(&spare.lock);
    if (spare.n) fd = spare.fds[--spare.n];
    pthread_mutex_unlock(&spare.lock);
    if (fd >= 0) return fd;
    fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0 || shm_own_fd(fd)) return fd;
    close(fd);
    errno = EMFILE;
    return -1;
}

static void keep_spare(int fd) {
    pthread_mutex_lock(&spare.lock);
    if (spare.n == spare.room) {
        uint32_t room = spare.room ? spare.room * 2 : 256;
        int *fds = realloc(spare.fds, room * sizeof *fds);
        ap_assert(fds);
        spare.fds = fds;
        spare.room = room;
    }
    spare.fds[spare.n++] = fd;
    pthread_mutex_unlock(&spare.lock);
}

/*
 * The stock is used up: find a descriptor for this wait.  QOS_WAITED if a release came meanwhile, QOS_REFUSED if there
 * is none to be had.
 */
static enum qos_outcome make_wake_fd(struct qos_request *q) {
    q->wake_fd = spare_fd();
    q->own_fd = 1;
    if (q->wake_fd < 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, errno, q->r,
                      "qos: no descriptor to wait on; raise the limit of open files");
        if (!shm_end_wait(&P.view, q->ticket)) return QOS_WAITED;
        q->reason = "no-descriptor";
        atomic_fetch_add(&P.view.sh->no_descriptor, 1);
        return QOS_REFUSED;
    }
    shm_lock(&P.view);
    hold_row_of(q)->wake_fd = q->wake_fd;
    shm_unlock(&P.view);
    return hold_told(q);
}

static void put_wake_fd(struct qos_request *q) {
    if (q->wake_fd >= 0 && q->own_fd) keep_spare(q->wake_fd);
    q->wake_fd = -1;
    q->own_fd = 0;
}

/*
 * Keep one of this child's threads for a wait that is short: waking a thread costs a third of a hand-over through the
 * MPM's listener and queue.  Two of three threads never wait, so that requests go on to be read and served: what is not
 * read yet has no class, and shares suffer.  In a crowd none does, since the MPM takes in connections by its idle
 * threads.
 */
static int spare_thread_locked(void) {
    uint32_t threads = P.threads_per_child;

    if (P.view.owners[P.row].held > threads ||
        atomic_load_explicit(&P.short_waits, memory_order_relaxed) >= threads / 3)
        return 0;
    atomic_fetch_add_explicit(&P.short_waits, 1, memory_order_relaxed);
    return 1;
}

/*
 * Into the engine and, if the window is open, out of it again.  QOS_PASSED: it has a slot.  QOS_WAITED: it must wait.
 * QOS_REFUSED.
 */
static enum qos_outcome submit(struct qos_request *q, uint64_t now, enum way *way) {
    uint32_t class = qos_config()->number[q->class];
    enum qos_outcome outcome = QOS_REFUSED;
    struct shm_request begun = {
        .owner = P.row,
        .class = class,
        .outlet = q->outlet,
        .estimate =
            q->estimate | (q->by_directory && q->r->handler ? RS_UNSURE : 0) | (q->waits && q->worker ? RS_LONG : 0),
        .deadline = q->deadline,
        .client_fd = q->client_fd,
        .park_us = q->park_us,
        .waits = q->waits,
        .worker = q->worker,
        .tag = pages_key_timed(q->keys.url, q->r->method_number),
        .key = { q->key[0], q->key[1] },
    };
    struct shm_wakes w;
    enum rs_refusal refusal;
    int more = 0;

    w.n = w.others = 0;
    shm_reclaim(&P.view);
    shm_lock(&P.view);
    refusal = shm_begin_locked(&P.view, now, &begun, &q->ticket);
    if (refusal == RS_OK) {
        more = shm_pump_locked(&P.view, now, P.row, q->ticket, &w);
        outcome = QOS_WAITED;
        if (hold_row_of(q)->go) {
            outcome = QOS_PASSED;
        } else if (*way == HOLD && spare_thread_locked()) {
            shm_block_locked(&P.view, q->ticket, class, UINT32_MAX, 0);
            *way = SHORT_THEN_HOLD;
        } else if (*way == HOLD) {
            q->wake_fd = shm_hold_locked(&P.view, q->ticket);
        } else if (*way == ASIDE) {
            shm_block_aside_locked(&P.view, q->ticket);
        } else if (!may_block_locked(q)) {
            shm_cancel_locked(&P.view, now, q->ticket);
            outcome = QOS_REFUSED;
        }
    }
    shm_unlock(&P.view);
    shm_wake(&P.view, &w);
    if (more) shm_pump(&P.view, P.row);
    if (outcome == QOS_REFUSED) note_refusal(q, refusal);
    return outcome;
}

/* Some milliseconds in this thread.  QOS_PASSED: from now on it is held. */
static enum qos_outcome wait_shortly(struct qos_request *q) {
    struct shm_row *row = hold_row_of(q);
    uint64_t until = q->submitted + SHORT_US, now = q->submitted;
    int go, first = 0;

    for (; now < until && !atomic_load(&row->go); now = shm_now()) base_futex_wait(&row->go, 0, until - now);
    atomic_fetch_sub_explicit(&P.short_waits, 1, memory_order_relaxed);
    if (atomic_load(&row->go)) return hold_told(q);
    shm_lock(&P.view);
    go = (int)row->go;
    if (!go) {
        q->wake_fd = shm_hold_locked(&P.view, q->ticket);
        first = P.view.owners[P.row].held == 1;
    }
    shm_unlock(&P.view);
    if (first) qos_dispatch_wake();
    return go ? hold_told(q) : QOS_PASSED;
}

/* The wait ends before the server's TimeOut would close the connection. */
static uint64_t longest_wait_us(const struct qos_request *q) {
    const conn_rec *c = q->r->connection;
    uint64_t wait = (uint64_t)qos_config()->wait_s[q->class] * 1000000u, timeout = (uint64_t)q->r->server->timeout;

    /* The MPM keeps a connection's time by the server of its address, or by that of its request: who is sooner. */
    if ((uint64_t)c->base_server->timeout < timeout) timeout = (uint64_t)c->base_server->timeout;
    return wait < timeout - timeout / 8 ? wait : timeout - timeout / 8;
}

/* What the end of a wait (or none) means for the request: DECLINED lets it go on. */
static int hold_conclude(struct qos_request *q, enum qos_outcome outcome) {
    switch (outcome) {
    case QOS_PASSED: hold_run(q, q->submitted, outcome); return DECLINED;
    case QOS_WAITED: hold_run(q, shm_now(), outcome); return DECLINED;
    case QOS_GONE: return hold_leave(q);
    default: return hold_refuse(q, outcome);
    }
}

static int hold_loop(struct qos_request *q) {
    q->outcome = QOS_REFUSED;
    q->ticket = RS_NO_TICKET;
    return HTTP_LOOP_DETECTED;
}

int qos_hold_fixups(request_rec *r) {
    const struct qos_dir *dir = ap_get_module_config(r->per_dir_config, &qos_drr_module);
    conn_rec *c = r->connection;
    apr_os_sock_t fd = -1;
    struct qos_request *q;
    enum qos_outcome outcome;
    enum way way = BLOCK;

    if (dir->on == QOS_ENGINE_ON) qos_people_arrive(r);
    if (dir->on <= QOS_ENGINE_OFF && !r->main) qos_people_pass(r);
    if (dir->on <= QOS_ENGINE_OFF || r->main || P.row == SHM_NO_ROW || !qos_classify_wanted(r)) return DECLINED;
    /* Redirected inside the server: once is enough, and none yet means that it comes from where QosEngine is off. */
    if (r->prev && qos_request_of(r)) return DECLINED;
    q = apr_pcalloc(r->pool, sizeof *q);
    q->r = r;
    q->conn = qos_conn_of(c);
    q->wake_fd = -1;
    q->client_fd = -1;
    q->outlet = qos_outlet_number(&qos_config()->outlets, dir->outlet);
    q->observed = dir->on == QOS_ENGINE_OBSERVE;
    qos_people_meet(q);
    qos_classify(q);
    qos_park_set(q, &dir->park);
    if (!q->observed) q->submitted = shm_now();
    ap_set_module_config(r->request_config, &qos_drr_module, q);
    /* Also of what is exempt: its connection keeps a thread like any other. */
    if (!q->observed) qos_threads_meet(q);
    if (qos_inner_takes(q)) {
        if (qos_inner_loops(q)) return hold_loop(q);
        qos_beside_begin(q, QOS_IS_INNER);
        return DECLINED;
    }
    if (qos_exempt_takes(q)) {
        qos_beside_begin(q, q->observed ? QOS_IS_UNSEEN : QOS_IS_EXEMPT);
        return DECLINED;
    }
    if (q->observed) {
        qos_beside_begin(q, QOS_IS_OBSERVED);
        return DECLINED;
    }

    if (c->master) way = ASIDE;
    /* Nobody carries on for a redirected request whose fixups answered "suspended". */
    else if (P.can_hold && c->cs && !c->clogging_input_filters && !r->prev) way = HOLD;
    if (!c->master && apr_os_sock_get(&fd, ap_get_conn_socket(c)) == APR_SUCCESS) q->client_fd = fd;
    q->deadline = q->submitted + longest_wait_us(q);
    outcome = submit(q, q->submitted, &way);
    if (outcome != QOS_REFUSED) qos_account_watch(q);
    if (outcome == QOS_WAITED && (way == BLOCK || way == ASIDE)) {
        outcome = wait_blocking(q);
    } else if (outcome == QOS_WAITED) {
        outcome = way == SHORT_THEN_HOLD ? wait_shortly(q) : QOS_PASSED;
        if (outcome == QOS_PASSED && q->wake_fd < 0) outcome = make_wake_fd(q);
        if (outcome == QOS_PASSED) {
            q->conn->held = q;
            return SUSPENDED;
        }
        put_wake_fd(q);
    }
    return hold_conclude(q, outcome);
}

int qos_hold_again(struct qos_request *q) {
    rs_ticket_t parked = q->ticket;
    uint64_t now = shm_now();
    enum qos_outcome end;
    enum way way = ASIDE;

    q->deadline = now + longest_wait_us(q);
    end = submit(q, now, &way);
    qos_account_leave(parked);
    if (end == QOS_WAITED) end = wait_blocking(q);
    q->wait_us += shm_now() - now;
    if (end == QOS_PASSED || end == QOS_WAITED) {
        atomic_store_explicit(&hold_row_of(q)->running, 1, memory_order_relaxed);
        return 1;
    }
    q->outcome = end;
    if (end == QOS_WAIT_TIMEOUT) q->reason = "too-long";
    q->ticket = RS_NO_TICKET;
    return 0;
}

/* ---- held and resumed -------------------------------------------------------------------------------------------- */

/* The rest of ap_process_async_request, for a request that has been held at fixups. */
static int go_on(conn_rec *c, struct qos_request *q, enum qos_outcome outcome) {
    request_rec *r = q->r;
    int rc;

    if (ap_extended_status) ap_time_process_request(c->sbh, START_PREQUEST);
    ap_update_child_status(c->sbh, SERVER_BUSY_WRITE, r);
    c->cs->state = CONN_STATE_HANDLER;
    apr_thread_mutex_lock(r->invoke_mtx);
    rc = hold_conclude(q, outcome);
    if (rc == DECLINED) rc = ap_invoke_handler(r);
    apr_thread_mutex_unlock(r->invoke_mtx);
    if (rc == SUSPENDED) {
        if (ap_extended_status) ap_time_process_request(c->sbh, STOP_PREQUEST);
        c->cs->state = CONN_STATE_SUSPENDED;
        return OK;
    }
    if (ap_is_HTTP_ERROR(rc)) r->status = HTTP_OK; /* or ap_die takes it for an error within an error */
    ap_die(rc, r);
    ap_process_request_after_handler(r);
    if (c->cs->state != CONN_STATE_WRITE_COMPLETION && c->cs->state != CONN_STATE_SUSPENDED)
        c->cs->state = CONN_STATE_LINGER;
    return OK;
}

static int wait_again(conn_rec *c) {
    c->cs->state = CONN_STATE_ASYNC_WAITIO;
    c->cs->sense = CONN_SENSE_WANT_READ;
    return OK;
}

int qos_hold_process_connection(conn_rec *c) {
    struct qos_conn *k;
    struct qos_request *q;
    int rc;

    if (!P.can_hold || !qos_config()->holds || P.row == SHM_NO_ROW || !c->cs || c->master || c->outgoing)
        return DECLINED;
    k = qos_conn_of(c);
    if (k->inside) return DECLINED;
    q = k->held;
    if (q) {
        enum qos_outcome outcome;
        eventfd_t n;

        eventfd_read(q->wake_fd, &n);
        outcome = hold_look(q);
        if (outcome == QOS_PASSED) return wait_again(c);
        k->held = NULL;
        put_wake_fd(q);
        return go_on(c, q, outcome);
    }
    if (qos_heads_wait(c)) return wait_again(c);
    k->inside = 1;
    rc = ap_run_process_connection(c);
    k->inside = 0;
    qos_heads_leave(&k->head);
    if (k->held && c->cs->state == CONN_STATE_SUSPENDED) return wait_again(c);
    return rc;
}

void qos_hold_suspend_connection(conn_rec *c, request_rec *unused) {
    struct qos_conn *k = ap_get_module_config(c->conn_config, &qos_drr_module);
    apr_socket_t *sock;

    (void)unused;
    if (!k || !k->held || k->lent || c->cs->state != CONN_STATE_ASYNC_WAITIO) return;
    sock = ap_get_conn_socket(c);
    k->lent = 1;
    apr_os_sock_put(&sock, &k->held->wake_fd, c->pool);
}

void qos_hold_resume_connection(conn_rec *c, request_rec *unused) {
    struct qos_conn *k = ap_get_module_config(c->conn_config, &qos_drr_module);
    struct qos_request *q;
    apr_socket_t *sock;

    (void)unused;
    if (k) qos_heads_resume(&k->head);
    if (!k || !k->lent) return;
    q = k->held;
    sock = ap_get_conn_socket(c);
    apr_os_sock_put(&sock, &q->client_fd, c->pool);
    k->lent = 0;
    if (c->cs->state == CONN_STATE_PROCESSING) return;

    /* The MPM closes the connection over our head: shutting down, or its own time limit. */
    k->held = NULL;
    put_wake_fd(q);
    if (!shm_end_wait(&P.view, q->ticket)) qos_account_end(q, 0);
    q->ticket = RS_NO_TICKET;
    q->outcome = QOS_GONE;
    atomic_fetch_add(&P.view.sh->gone, 1);
}
