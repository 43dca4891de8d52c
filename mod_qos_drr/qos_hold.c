/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_hold.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
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
#include "qos_classify.h"

APLOG_USE_MODULE(qos_drr);

#define IDLE_TICK_US 1000000u       /* the dispatcher's tick while nothing is held */
#define IDLE_FDS     1024u          /* wake-up descriptors kept for the next wait */
#define BATCH        256u
#define CLIENT_CLOSED_REQUEST 499

struct qos_process qos_process = { .row = QOS_NO_ROW, .mutex = PTHREAD_MUTEX_INITIALIZER };
#define P qos_process

struct qos_conn *qos_conn_of(conn_rec *c) {
    struct qos_conn *k = ap_get_module_config(c->conn_config, &qos_drr_module);
    if (!k) {
        k = apr_pcalloc(c->pool, sizeof *k);
        ap_set_module_config(c->conn_config, &qos_drr_module, k);
    }
    return k;
}

struct qos_request *qos_request_of(const request_rec *r) {
    while (r->prev) r = r->prev;
    return ap_get_module_config(r->request_config, &qos_drr_module);
}

/* ---- wake-up descriptors ---------------------------------------------------------------------------------------------------------------- */

/* Before the shared lock is taken: make sure that holding a request will need no system call.  -1 if there is no descriptor to be had. */
static int reserve_wake_fd(void) {
    int fd = -1;

    pthread_mutex_lock(&P.mutex);
    if (P.nwake_fds) fd = P.wake_fds[--P.nwake_fds];
    pthread_mutex_unlock(&P.mutex);
    return fd >= 0 ? fd : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

static void return_wake_fd(int fd) {
    pthread_mutex_lock(&P.mutex);
    if (P.nwake_fds < IDLE_FDS) {
        P.wake_fds[P.nwake_fds++] = fd;
        fd = -1;
    }
    pthread_mutex_unlock(&P.mutex);
    if (fd >= 0) close(fd);
}

static void drain(int fd) {
    eventfd_t n;
    eventfd_read(fd, &n);   /* nothing to read is fine: the MPM may have woken it for its own reasons */
}

/* ---- the child's table of held requests -------------------------------------------------------------------------------------------------- */

static void keep(struct qos_request *q) {
    uint32_t index = rs_ticket_index(q->ticket);

    pthread_mutex_lock(&P.mutex);
    assert(!P.by_ticket[index]);
    P.by_ticket[index] = q;
    q->prev = P.newest;
    q->next = NULL;
    if (P.newest) P.newest->next = q;
    else P.oldest = q;
    P.newest = q;
    P.nheld++;
    pthread_mutex_unlock(&P.mutex);
}

static enum qos_verdict unkeep(struct qos_request *q) {
    enum qos_verdict v;

    pthread_mutex_lock(&P.mutex);
    P.by_ticket[rs_ticket_index(q->ticket)] = NULL;
    if (q->prev) q->prev->next = q->next;
    else P.oldest = q->next;
    if (q->next) q->next->prev = q->prev;
    else P.newest = q->prev;
    P.nheld--;
    v = q->verdict;
    pthread_mutex_unlock(&P.mutex);
    return v;
}

static enum qos_verdict verdict_on(const struct qos_request *q) {
    enum qos_verdict v;
    pthread_mutex_lock(&P.mutex);
    v = q->verdict;
    pthread_mutex_unlock(&P.mutex);
    return v;
}

/* Write the verdict on held requests and wake them. */
static void wake(const rs_ticket_t *tickets, uint32_t n, enum qos_verdict verdict) {
    int fds[QOS_WAKES_MAX];

    while (n) {
        uint32_t nfds = 0, some = n < QOS_WAKES_MAX ? n : QOS_WAKES_MAX;

        pthread_mutex_lock(&P.mutex);
        for (uint32_t i = 0; i < some; i++) {
            struct qos_request *q = P.by_ticket[rs_ticket_index(tickets[i])];
            if (!q || q->ticket != tickets[i] || q->verdict != QOS_WAITING) continue;
            q->verdict = verdict;
            fds[nfds++] = q->wake_fd;
        }
        pthread_mutex_unlock(&P.mutex);
        /* A descriptor may serve another wait by now: that one finds no verdict and goes on waiting. */
        for (uint32_t i = 0; i < nfds; i++) eventfd_write(fds[i], 1);
        tickets += some;
        n -= some;
    }
}

void qos_hold_wake(const struct qos_wakes *w) {
    if (w->own) wake(w->tickets, w->own, QOS_RELEASED);
    if (w->rows + w->others) qos_wake_others(&P.view, w);
}

void qos_hold_pump(void) {
    struct qos_wakes w;

    do {
        w.own = w.rows = w.others = 0;
        qos_lock(&P.view);
        qos_pump_locked(&P.view, qos_now(), P.row, &w);
        qos_unlock(&P.view);
        qos_hold_wake(&w);
    } while (w.own + w.rows + w.others > 0);
}

/* ---- the dispatcher ------------------------------------------------------------------------------------------------------------------------ */

/* What other children's releases left for this one. */
static void wake_released(void) {
    struct qos_child *me = &P.view.children[P.row];
    rs_ticket_t tickets[BATCH];
    uint32_t n;

    do {
        n = 0;
        qos_lock(&P.view);
        while (me->released != QOS_NO_ROW && n < BATCH) {
            struct qos_row *row = &P.view.rows[me->released];
            tickets[n++] = row->ticket;
            me->released = row->next;
        }
        qos_unlock(&P.view);
        wake(tickets, n, QOS_RELEASED);
    } while (n == BATCH);
}

/* Take a request out of its queue.  0 if it has been released meanwhile. */
static int cancel(rs_ticket_t ticket) {
    struct qos_row *row = &P.view.rows[rs_ticket_index(ticket)];
    int done;

    qos_lock(&P.view);
    done = rs_cancel(P.view.engine, qos_now(), ticket);
    if (done) {
        row->ticket = RS_NO_TICKET;
        if (row->blocks) P.view.blocked[row->blocks - 1]--;
        else P.view.children[P.row].held--;
        row->blocks = 0;
    }
    qos_unlock(&P.view);
    return done;
}

static void end_waits(const rs_ticket_t *tickets, uint32_t n, enum qos_verdict verdict) {
    for (uint32_t i = 0; i < n; i++) {
        if (!cancel(tickets[i])) continue;
        atomic_fetch_add(verdict == QOS_TIMED_OUT ? &P.view.sh->timed_out : &P.view.sh->gone, 1);
        wake(&tickets[i], 1, verdict);
    }
}

/* Waits that are over and clients that left, oldest first, in batches so that the mutex is not held over poll(). */
static void look_after_held(uint64_t now) {
    uint64_t after = 0;     /* submit time of the last one seen */
    rs_ticket_t last = RS_NO_TICKET;

    for (;;) {
        struct pollfd fds[BATCH];
        rs_ticket_t tickets[BATCH], late[BATCH], gone[BATCH];
        uint32_t n = 0, nlate = 0, ngone = 0;
        struct qos_request *q;

        pthread_mutex_lock(&P.mutex);
        q = P.oldest;
        if (last != RS_NO_TICKET) {
            struct qos_request *l = P.by_ticket[rs_ticket_index(last)];
            /* The last one seen may be gone from the list: then go by time. */
            if (l && l->ticket == last) q = l->next;
            else while (q && q->submitted <= after) q = q->next;
        }
        /* Who came within the last tick is left for the next: most never wait so long, and cost nothing here. */
        for (; q && n < BATCH && q->submitted + QOS_TICK_US <= now; q = q->next) {
            last = q->ticket;
            after = q->submitted;
            if (q->verdict != QOS_WAITING) continue;
            if (now >= q->deadline) late[nlate++] = q->ticket;
            fds[n] = (struct pollfd){ .fd = q->client_fd, .events = POLLRDHUP };
            tickets[n++] = q->ticket;
        }
        pthread_mutex_unlock(&P.mutex);
        if (n && poll(fds, n, 0) > 0)
            for (uint32_t i = 0; i < n; i++)
                if (fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) gone[ngone++] = tickets[i];
        end_waits(gone, ngone, QOS_CLIENT_GONE);
        end_waits(late, nlate, QOS_TIMED_OUT);
        if (n < BATCH) return;
    }
}

static void *dispatch(void *unused) {
    struct qos_child *me = &P.view.children[P.row];
    uint64_t tick = 0;

    (void)unused;
    while (!atomic_load(&P.stop)) {
        uint32_t seen = atomic_load(&me->wake), held;
        uint64_t now;

        wake_released();
        now = qos_now();
        pthread_mutex_lock(&P.mutex);
        held = P.nheld;
        pthread_mutex_unlock(&P.mutex);
        if (held && now >= tick) {
            struct qos_wakes w = { .own = 0 };

            look_after_held(now);
            qos_sweep(&P.view, now, P.row, &w);
            qos_hold_wake(&w);
            qos_hold_pump();    /* a gate may let more through as time goes */
            tick = now + QOS_TICK_US;
        }
        qos_futex_wait(&me->wake, seen, held ? (tick > now ? tick - now : 1) : IDLE_TICK_US);
    }
    return NULL;
}

static apr_status_t stop_dispatcher(void *unused) {
    (void)unused;
    if (P.dispatching) {
        atomic_store(&P.stop, 1);
        atomic_fetch_add(&P.view.children[P.row].wake, 1);
        qos_futex_wake(&P.view.children[P.row].wake);
        pthread_join(P.dispatcher, NULL);
        P.dispatching = 0;
    }
    return APR_SUCCESS;
}

void qos_hold_child_init(apr_pool_t *pchild, server_rec *s) {
    sigset_t all, before;
    int rc;

    if (!P.view.sh) return;
    P.row = qos_child_started(&P.view, getpid());
    if (P.row == QOS_NO_ROW) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "qos: more children than were planned for; requests of this one pass unscheduled. "
                     "A full restart takes a larger ServerLimit in");
        return;
    }
    if (!P.can_hold) return;
    P.by_ticket = calloc(P.view.sh->tickets, sizeof *P.by_ticket);
    P.wake_fds = calloc(IDLE_FDS, sizeof *P.wake_fds);
    /* Signals are for the MPM's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = P.by_ticket && P.wake_fds ? pthread_create(&P.dispatcher, NULL, dispatch, NULL) : ENOMEM;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rc, s, "qos: no dispatcher thread; waiting requests of this child block their threads");
        P.can_hold = 0;
        return;
    }
    P.dispatching = 1;
    apr_pool_pre_cleanup_register(pchild, NULL, stop_dispatcher);
}

/* ---- submitting ------------------------------------------------------------------------------------------------------------------------------ */

static int refuse(struct qos_request *q, enum qos_outcome outcome) {
    q->outcome = outcome;
    q->ticket = RS_NO_TICKET;
    q->wait_us = qos_now() - q->submitted;
    apr_table_setn(q->r->err_headers_out, "Retry-After", qos_config()->retry_after_text);
    return HTTP_SERVICE_UNAVAILABLE;
}

/* Nobody is there to answer; the log gets the status that other servers write for it. */
static int leave(struct qos_request *q) {
    q->outcome = QOS_GONE;
    q->ticket = RS_NO_TICKET;
    q->wait_us = qos_now() - q->submitted;
    q->r->status = CLIENT_CLOSED_REQUEST;
    q->r->header_only = 1;
    q->r->connection->aborted = 1;
    return DONE;
}

static void run(struct qos_request *q, uint64_t now, enum qos_outcome outcome) {
    q->outcome = outcome;
    q->wait_us = now - q->submitted;
    qos_account_begin(q);
}

/* Threads that class `position` may block: its share of those that the window leaves over. */
static uint32_t blocked_max(uint32_t position) {
    const struct qos_server *conf = qos_config();
    uint64_t weights = 0, spare = P.threads > conf->settings.window ? P.threads - conf->settings.window : 1, most;

    for (uint32_t i = 0; i < conf->nclasses; i++) weights += conf->classes[i].weight;
    most = spare * conf->classes[position].weight / weights;
    return most ? (uint32_t)most : 1;
}

static int client_left(const struct qos_request *q) {
    struct pollfd fd = { .fd = q->client_fd, .events = POLLRDHUP };
    return q->client_fd >= 0 && poll(&fd, 1, 0) > 0;
}

/* Wait in this thread.  The verdict; QOS_RELEASED has a slot. */
static enum qos_verdict wait_blocking(struct qos_request *q) {
    struct qos_row *row = &P.view.rows[rs_ticket_index(q->ticket)];

    for (;;) {
        struct qos_wakes w = { .own = 0 };
        uint64_t now;
        enum qos_verdict end = QOS_WAITING;

        if (atomic_load(&row->verdict) != QOS_WAITING) return QOS_RELEASED;
        qos_futex_wait(&row->verdict, QOS_WAITING, QOS_TICK_US);
        if (atomic_load(&row->verdict) != QOS_WAITING) return QOS_RELEASED;
        now = qos_now();
        if (client_left(q)) end = QOS_CLIENT_GONE;
        else if (now >= q->deadline) end = QOS_TIMED_OUT;
        if (end != QOS_WAITING && cancel(q->ticket)) {
            atomic_fetch_add(end == QOS_TIMED_OUT ? &P.view.sh->timed_out : &P.view.sh->gone, 1);
            return end;
        }
        qos_sweep(&P.view, now, P.row, &w);
        qos_hold_wake(&w);
        qos_hold_pump();
    }
}

static int took(const struct qos_wakes *w, rs_ticket_t t) {
    for (uint32_t i = 0; i < w->own; i++)
        if (w->tickets[i] == t) return 1;
    return 0;
}

/* Into the engine and, if the window is open, out of it again.  QOS_PASSED, QOS_WAITED (must wait now) or QOS_REFUSED. */
static enum qos_outcome submit(struct qos_request *q, int hold) {
    uint32_t class = qos_config()->number[q->class];
    enum qos_outcome outcome = QOS_REFUSED;
    struct qos_wakes w = { .own = 0 };
    struct qos_row *row;

    qos_lock(&P.view);
    if (rs_submit(P.view.engine, q->submitted, class, 0, q->estimate, P.row + 1, 0, &q->ticket) == RS_OK) {
        row = &P.view.rows[rs_ticket_index(q->ticket)];
        row->ticket = q->ticket;
        row->blocks = 0;
        atomic_store_explicit(&row->write_since, 0, memory_order_relaxed);
        atomic_store_explicit(&row->parked, 0, memory_order_relaxed);
        P.view.children[P.row].held++;
        qos_pump_locked(&P.view, q->submitted, P.row, &w);
        if (took(&w, q->ticket)) {
            outcome = QOS_PASSED;
        } else if (hold) {
            keep(q);
            outcome = QOS_WAITED;
        } else if (P.view.blocked[class] < blocked_max(q->class)) {
            P.view.children[P.row].held--;
            P.view.blocked[class]++;
            row->blocks = class + 1;
            atomic_store(&row->verdict, QOS_WAITING);
            outcome = QOS_WAITED;
        } else {
            rs_cancel(P.view.engine, q->submitted, q->ticket);
            P.view.children[P.row].held--;
            row->ticket = RS_NO_TICKET;
        }
    }
    qos_unlock(&P.view);
    if (w.own + w.rows + w.others > (outcome == QOS_PASSED)) qos_hold_wake(&w);
    return outcome;
}

/* The wait ends before the server's TimeOut would close the connection. */
static uint64_t longest_wait_us(const struct qos_request *q) {
    uint64_t wait = (uint64_t)qos_config()->wait_s[q->class] * 1000000u, timeout = (uint64_t)q->r->server->timeout;
    return wait < timeout - timeout / 8 ? wait : timeout - timeout / 8;
}

int qos_hold_fixups(request_rec *r) {
    const struct qos_dir *dir = ap_get_module_config(r->per_dir_config, &qos_drr_module);
    conn_rec *c = r->connection;
    apr_os_sock_t fd = -1;
    struct qos_request *q;
    enum qos_outcome outcome;
    int hold;

    if (dir->on != 1 || r->main || r->prev || P.row == QOS_NO_ROW || !qos_classify_wanted(r)) return DECLINED;
    q = apr_pcalloc(r->pool, sizeof *q);
    q->r = r;
    q->conn = qos_conn_of(c);
    q->wake_fd = -1;
    q->client_fd = -1;
    qos_classify(q);
    q->submitted = qos_now();
    ap_set_module_config(r->request_config, &qos_drr_module, q);

    hold = P.can_hold && c->cs && !c->master && !c->clogging_input_filters;
    if (hold) {
        q->wake_fd = reserve_wake_fd();
        if (q->wake_fd < 0) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, errno, r, "qos: no descriptor to wait on; raise the limit of open files");
            return refuse(q, QOS_REFUSED);
        }
    }
    if (!c->master && apr_os_sock_get(&fd, ap_get_conn_socket(c)) == APR_SUCCESS) q->client_fd = fd;
    q->deadline = q->submitted + longest_wait_us(q);
    outcome = submit(q, hold);
    if (hold && outcome != QOS_WAITED) return_wake_fd(q->wake_fd);
    if (outcome == QOS_REFUSED) return refuse(q, QOS_REFUSED);
    if (outcome == QOS_PASSED) {
        run(q, q->submitted, QOS_PASSED);
        return DECLINED;
    }
    if (hold) {
        q->conn->held = q;
        return SUSPENDED;
    }
    switch (wait_blocking(q)) {
    case QOS_RELEASED:
        run(q, qos_now(), QOS_WAITED);
        return DECLINED;
    case QOS_TIMED_OUT:
        return refuse(q, QOS_WAIT_TIMEOUT);
    default:
        return leave(q);
    }
}

/* ---- held and resumed ------------------------------------------------------------------------------------------------------------------------ */

/* The rest of ap_process_async_request, for a request that has been held at fixups. */
static int go_on(conn_rec *c, struct qos_request *q, enum qos_verdict verdict) {
    request_rec *r = q->r;
    int rc;

    if (ap_extended_status) ap_time_process_request(c->sbh, START_PREQUEST);
    ap_update_child_status(c->sbh, SERVER_BUSY_WRITE, r);
    c->cs->state = CONN_STATE_HANDLER;
    apr_thread_mutex_lock(r->invoke_mtx);
    switch (verdict) {
    case QOS_RELEASED:
        run(q, qos_now(), QOS_WAITED);
        rc = ap_invoke_handler(r);
        break;
    case QOS_TIMED_OUT:
        rc = refuse(q, QOS_WAIT_TIMEOUT);
        break;
    default:
        rc = leave(q);
        break;
    }
    apr_thread_mutex_unlock(r->invoke_mtx);
    if (rc == SUSPENDED) {
        if (ap_extended_status) ap_time_process_request(c->sbh, STOP_PREQUEST);
        c->cs->state = CONN_STATE_SUSPENDED;
        return OK;
    }
    ap_die(rc, r);
    ap_process_request_after_handler(r);
    if (c->cs->state != CONN_STATE_WRITE_COMPLETION && c->cs->state != CONN_STATE_SUSPENDED) c->cs->state = CONN_STATE_LINGER;
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

    if (!P.can_hold || P.row == QOS_NO_ROW || !c->cs || c->master || c->outgoing) return DECLINED;
    k = qos_conn_of(c);
    if (k->inside) return DECLINED;
    q = k->held;
    if (q) {
        drain(q->wake_fd);
        if (verdict_on(q) == QOS_WAITING) return wait_again(c);
        k->held = NULL;
        rc = (int)unkeep(q);
        return_wake_fd(q->wake_fd);
        return go_on(c, q, (enum qos_verdict)rc);
    }
    k->inside = 1;
    rc = ap_run_process_connection(c);
    k->inside = 0;
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
    if (!k || !k->lent) return;
    q = k->held;
    sock = ap_get_conn_socket(c);
    apr_os_sock_put(&sock, &q->client_fd, c->pool);
    k->lent = 0;
    if (c->cs->state == CONN_STATE_PROCESSING) return;

    /* The MPM closes the connection over our head: shutting down, or its own time limit. */
    k->held = NULL;
    unkeep(q);
    return_wake_fd(q->wake_fd);
    if (!cancel(q->ticket)) qos_account_end(q, 0);
    q->ticket = RS_NO_TICKET;
    q->outcome = QOS_GONE;
    atomic_fetch_add(&P.view.sh->gone, 1);
}
