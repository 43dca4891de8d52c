/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_body.h"

#include <http_protocol.h>
#include <http_request.h>

#include "qos_beside.h"
#include "qos_config.h"
#include "qos_exempt.h"
#include "qos_hold.h"
#include "qos_refuse.h"
#include "qos_threads.h"

#define P qos_process

static ap_filter_rec_t *body_rec;

static struct shm_row *body_row_of(const struct qos_request *q) { return shm_row_of(&P.view, q->ticket); }

static int was_parked(const struct qos_request *q) {
    int parked = (int)atomic_load(&body_row_of(q)->parked);

    /* Who parks it may be at it right now. */
    if (parked || q->body_lag < SHM_SLOW_US / 2) return parked;
    shm_lock(&P.view);
    parked = (int)atomic_load(&body_row_of(q)->parked);
    shm_unlock(&P.view);
    return parked;
}

/*
 * Who leaves the body alone, or to the end, answers before it is whole: that needs no slot any more, and nothing can be
 * put in its place.
 */
static int has_begun(const struct qos_request *q) {
    const request_rec *last = qos_last_of(q->r);
    return q->sent || last->sent_bodyct || last->eos_sent;
}

/* There is no slot for it: whoever reads the body is told that it has been answered. */
static apr_status_t answer_instead(struct qos_request *q, apr_bucket_brigade *bb) {
    request_rec *last = qos_last_of(q->r);

    apr_brigade_cleanup(bb);
    if (q->outcome == QOS_GONE) return APR_ECONNABORTED;
    qos_threads_refuse(q);
    /* Not by an error bucket: on its way it loses the field. */
    ap_die(qos_refuse(q, last), last);
    return AP_FILTER_ERROR;
}

/*
 * The request has no slot; the time that it waits for its client is not the server's.  An exempt one leaves its place
 * until the first bytes come: a few bodies that never come would keep all places.  From then on its backend has it.
 */
static apr_status_t body_beside(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode, apr_read_type_e block,
                                apr_off_t bytes) {
    struct qos_request *q = f->ctx;
    bool leaves = q->beside == QOS_IS_EXEMPT && !q->body_seen && block == APR_BLOCK_READ && mode == AP_MODE_READBYTES;
    uint64_t began;
    apr_status_t rv;

    if (leaves && q->exempt) {
        rv = ap_get_brigade(f->next, bb, mode, APR_NONBLOCK_READ, bytes);
        if (!APR_STATUS_IS_EAGAIN(rv) && (rv != APR_SUCCESS || !APR_BRIGADE_EMPTY(bb))) {
            q->body_seen = 1;
            return rv;
        }
        qos_exempt_leaves(q);
    }
    began = shm_now_coarse();
    rv = ap_get_brigade(f->next, bb, mode, block, bytes);
    /* What reads can answer: then the request may be over. */
    if (!qos_beside_runs(q)) return rv;
    q->idle_us += shm_now_coarse() - began;
    if (!leaves || q->exempt || rv != APR_SUCCESS || has_begun(q)) return rv;
    q->body_seen = 1;
    return qos_exempt_again(q) ? rv : answer_instead(q, bb);
}

/*
 * The body is whole.  The backend has the request already, or, with QosBody whole, gets it from now on: then a request
 * that was parked waits for a slot first.  True: it goes on.
 */
static bool body_goes_on(struct qos_request *q) {
    if (q->ticket == RS_NO_TICKET || has_begun(q) || !was_parked(q)) return true;
    if (q->body_whole) return qos_hold_again(q);
    shm_resume(&P.view, q->ticket);
    return true;
}

static apr_status_t body_filter(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode, apr_read_type_e block,
                                apr_off_t bytes) {
    struct qos_request *q = f->ctx;
    apr_status_t rv;

    if (q->beside) return body_beside(f, bb, mode, block, bytes);
    if (mode == AP_MODE_INIT || q->ticket == RS_NO_TICKET || q->body_read)
        return ap_get_brigade(f->next, bb, mode, block, bytes);
    if (block == APR_BLOCK_READ) {
        uint64_t began = shm_now_coarse(), between = q->body_seen ? began - q->body_seen : 0;

        q->body_lag -= between < q->body_lag ? between : q->body_lag;
        atomic_store_explicit(&body_row_of(q)->occupies, !q->body_whole, memory_order_relaxed);
        atomic_store_explicit(&body_row_of(q)->client_since, began - q->body_lag, memory_order_relaxed);
        rv = ap_get_brigade(f->next, bb, mode, block, bytes);
        /* What reads can answer: then the request may be over. */
        if (q->ticket == RS_NO_TICKET) return rv;
        atomic_store_explicit(&body_row_of(q)->client_since, 0, memory_order_relaxed);
        q->body_seen = shm_now_coarse();
        q->body_lag += q->body_seen - began;
    } else {
        rv = ap_get_brigade(f->next, bb, mode, block, bytes);
    }
    if (rv != APR_SUCCESS || mode == AP_MODE_SPECULATIVE || APR_BRIGADE_EMPTY(bb) ||
        !APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb)))
        return rv;
    q->body_read = 1;
    return body_goes_on(q) ? rv : answer_instead(q, bb);
}

/*
 * mod_proxy_http stores a body that has a length if any content filter could change it, which it sees by a filter above
 * the protocol's.  So this filter counts as the first of the protocol's, unless bodies are to be stored.  There it
 * stays when the request is redirected inside the server; content filters do not.
 */
void qos_body_insert_filter(request_rec *r) {
    const struct qos_dir *dir = ap_get_module_config(r->per_dir_config, &qos_drr_module);
    struct qos_request *q = r->main ? NULL : qos_request_of(r);
    ap_filter_t *f;

    if (!q || (q->ticket == RS_NO_TICKET && !qos_beside_runs(q)) || q->body_read || q->body_filter) return;
    if (!ap_request_has_body(r)) return;
    q->body_whole = !q->beside && dir->body == QOS_BODY_WHOLE;
    f = ap_add_input_filter_handle(body_rec, q, r, r->connection);
    if (q->body_whole || !f || f->next != r->proto_input_filters) return;
    r->proto_input_filters = f;
    q->body_filter = true;
}

void qos_body_register(void) {
    /* Above what makes a body of the bytes of the connection, so that it sees the body's end. */
    body_rec = ap_register_input_filter("QOS_BODY", body_filter, NULL, AP_FTYPE_PROTOCOL - 1);
}
