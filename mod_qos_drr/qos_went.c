/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_went.h"

#include <apr_optional.h>
#include <http_core.h>

#include "qos_account.h"

#define NAME "ap_logio_add_bytes_out"

static APR_OPTIONAL_FN_TYPE(ap_logio_add_bytes_out) * others;
static int hooked;

static void wrote(conn_rec *c, apr_off_t bytes) {
    struct qos_conn *k;

    if (others) others(c, bytes);
    if (c->outgoing) return;
    k = qos_conn_of(c);
    atomic_store_explicit(&k->written, atomic_load_explicit(&k->written, memory_order_relaxed) + (uint64_t)bytes,
                          memory_order_relaxed);
    qos_account_went(k);
}

/* The table of such functions goes with the configuration. */
static apr_status_t unhook(void *unused) {
    (void)unused;
    others = NULL;
    hooked = 0;
    return APR_SUCCESS;
}

void qos_went_hook(apr_pool_t *pconf) {
    if (hooked) return;
    others = (APR_OPTIONAL_FN_TYPE(ap_logio_add_bytes_out) *)apr_dynamic_fn_retrieve(NAME);
    apr_dynamic_fn_register(NAME, (apr_opt_fn_t *)wrote);
    apr_pool_cleanup_register(pconf, NULL, unhook, apr_pool_cleanup_null);
    hooked = 1;
}

static uint64_t written_to(const struct qos_conn *k) {
    return atomic_load_explicit(&((struct qos_conn *)k)->written, memory_order_relaxed);
}

/* Of the connection that is written to.  NULL: nothing has been yet. */
static const struct qos_conn *wire_of(const struct qos_request *q) {
    conn_rec *c = q->r->connection;
    return c->master ? ap_get_module_config(c->master->conn_config, &qos_drr_module) : q->conn;
}

void qos_went_passes(struct qos_conn *k, uint64_t bytes) { k->passed += bytes; }

void qos_went_begins(struct qos_request *q) {
    const struct qos_conn *wire = wire_of(q);
    uint64_t written = wire ? written_to(wire) : 0;

    if (q->r->connection->master) {
        q->first_byte = written;
        return;
    }
    if (q->conn->passed < written) q->conn->passed = written;
    q->first_byte = q->conn->passed;
}

uint64_t qos_went_until_now(const struct qos_request *q) {
    return hooked && !q->r->connection->master ? written_to(q->conn) : UINT64_MAX;
}

uint64_t qos_went(const struct qos_request *q) {
    const struct qos_conn *wire = wire_of(q);
    uint64_t written;

    if (!hooked) return q->sent;
    written = wire ? written_to(wire) : 0;
    if (written < q->first_byte) return 0;
    written -= q->first_byte;
    return written < q->sent ? written : q->sent;
}
