/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_threads.h"

#include <ap_mpm.h>
#include <apr_strings.h>
#include <http_log.h>

#include "httpd/httpd_segment.h"
#include "qos_paper.h"

APLOG_USE_MODULE(qos_drr);

#define P qos_process

/*
 * Connections that keep a thread: [0] of a process in all, [1 + class] of a class, each a row of as many words as there
 * are owners.  NULL: waits need no thread here, or this segment has no room.
 */
static _Atomic uint16_t *threads_counts;

static uint64_t threads_rounded(uint64_t n) { return (n + 63) & ~UINT64_C(63); }

uint64_t qos_threads_bytes(uint32_t owners, uint32_t classes) {
    return 64 + threads_rounded((uint64_t)owners * (1 + classes) * sizeof *threads_counts);
}

static _Atomic uint16_t *threads_row(uint32_t row) { return threads_counts + (size_t)row * P.view.size.owners; }

/* Behind the sizes and the paper. */
void qos_threads_child_init(void) {
    const struct shm_size *z = &P.view.size;
    uint64_t at = threads_rounded(qos_sizes_bytes(P.sizes.pages)) +
                  threads_rounded(qos_paper_bytes(z->classes, z->tickets, z->owners));

    threads_counts = NULL;
    if (httpd_query(AP_MPMQ_IS_ASYNC, 0) || P.row == SHM_NO_ROW ||
        at + qos_threads_bytes(z->owners, z->classes) - 64 > z->area)
        return;
    threads_counts = (void *)((char *)P.view.area + at);
    for (uint32_t i = 0; i <= z->classes; i++) atomic_store(&threads_row(i)[P.row], 0);
}

static void threads_count(uint32_t row, int more) { atomic_fetch_add(&threads_row(row)[P.row], (uint16_t)more); }

static uint32_t threads_of(uint32_t row) {
    const _Atomic uint16_t *at = threads_row(row);
    uint32_t sum = 0;

    for (uint32_t i = 0; i < P.view.size.owners; i++) {
        uint32_t n = atomic_load_explicit(&at[i], memory_order_relaxed);
        if (n && P.view.owners[i].pid) sum += n;
    }
    return sum;
}

static bool has_too_many(uint32_t position) {
    const struct qos_server *conf = qos_config();
    uint32_t own = (uint32_t)((uint64_t)(P.threads / 2) * conf->classes[position].weight / conf->weights), all;
    uint32_t mine = threads_of(1 + conf->number[position]);

    if (mine <= own) return false;
    all = threads_of(0);
    return mine - own > (P.threads > all ? P.threads - all : 0);
}

/* As if its client had asked for that: so an answer whose length is not known still goes in chunks, and has an end. */
static void threads_close(request_rec *r) {
    apr_table_mergen(r->headers_in, "Connection", "close");
    /* Who does not close his end is not waited for long. */
    apr_table_setn(r->connection->notes, "short-lingering-close", "1");
}

static apr_status_t threads_give(void *conn) {
    const struct qos_conn *k = conn;

    threads_count(0, -1);
    threads_count(k->keeps, -1);
    return APR_SUCCESS;
}

void qos_threads_meet(struct qos_request *q) {
    conn_rec *c = q->r->connection;
    uint32_t row = 1 + qos_config()->number[q->class];

    if (!threads_counts || c->master || row > P.view.size.classes) return;
    if (!q->conn->keeps) {
        threads_count(0, 1);
        apr_pool_cleanup_register(c->pool, q->conn, threads_give, apr_pool_cleanup_null);
    } else {
        threads_count(q->conn->keeps, -1);
    }
    q->conn->keeps = row;
    threads_count(row, 1);
    if (has_too_many(q->class)) threads_close(q->r);
}

void qos_threads_refuse(const struct qos_request *q) {
    if (threads_counts && !q->r->connection->master) threads_close(q->r);
}

/*
 * Shares hold while of each class as many wait as are at the server of it; where waits are bounded by threads that is
 * so while what the window leaves is twice the window, since half of that is the classes' by weight.
 */
void qos_threads_check(server_rec *s, const struct qos_server *conf) {
    uint32_t threads = (uint32_t)(httpd_query(AP_MPMQ_MAX_DAEMONS, 1) * httpd_query(AP_MPMQ_MAX_THREADS, 1));
    uint32_t window = conf->settings.window, need = window + 2 * (window > conf->nclasses ? window : conf->nclasses);

    if (threads >= need) return;
    ap_log_error(
        APLOG_MARK, APLOG_WARNING, 0, s,
        "qos: with this MPM requests wait in threads, and MaxRequestWorkers %u leaves too few beside a window of "
        "%u for %u classes to have their shares: set MaxRequestWorkers %u or more, or take %s",
        threads, window, conf->nclasses, need, httpd_query(AP_MPMQ_IS_ASYNC, 0) ? "a newer httpd" : "the event MPM");
}
