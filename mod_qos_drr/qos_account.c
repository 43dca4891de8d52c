/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_account.h"

#include <string.h>

#include <apr_strings.h>
#include <http_protocol.h>
#include <http_request.h>

#include "qos_beside.h"
#include "qos_paper.h"
#include "qos_park.h"
#include "qos_went.h"

#define REPORT_BYTES 65536u  /* tell the engine of progress in such steps */
#define INTERIM_MOST 262144u /* bytes of an interim head that is written in pieces, and passes when it is whole */
#define NEWS         32u     /* a mean that moves by more than such a part is told to other gateways */
#define QUICK_US     20000u  /* a write that takes less is one of a client that keeps up */
#define QUICK_WRITES 16u     /* so many in a row, and a parked response takes a slot again */
#define LEFT_US      100000u /* what is on its way of an answer that is given up: of a slot, */
#define LEFT_BYTES   65536u  /* and as a window of TCP usually has it */

#define P qos_process

static ap_filter_rec_t *filter_rec;

static struct shm_row *account_row_of(const struct qos_request *q) { return shm_row_of(&P.view, q->ticket); }

/* ---- the page-size table ----------------------------------------------------------------------------------------- */

/*
 * Only a complete 200 answer to a plain GET tells how big a page is, and only when it has gone to its client.  Of a
 * stream that is known only roughly, and by the time its request is over its end may stand in buffers of the connection
 * still.
 */
static int teaches(const struct qos_request *q) {
    const request_rec *last = qos_last_of(q->r);
    uint64_t least = q->r->connection->master ? q->sent / 2 : q->sent;
    return q->whole && qos_went(q) >= least && !q->broken && q->r->method_number == M_GET && !q->r->header_only &&
           last->status == HTTP_OK && !q->r->connection->aborted && q->sent > 0;
}

/* Would a client that takes other codings have got another answer? */
static int is_coded(const struct qos_request *q) {
    const request_rec *last = qos_last_of(q->r);
    const char *vary = apr_table_get(last->headers_out, "Vary");
    return apr_table_get(last->headers_out, "Content-Encoding") || (vary && ap_strcasestr(vary, "Accept-Encoding"));
}

/* `is`: bytes, or microseconds of a key of those. */
static void learn_key(uint64_t key, uint64_t is, int tell) {
    bool asked = tell && qos_config()->share;
    uint64_t before = asked ? pages_learnt_mean(P.sizes.learnt, P.sizes.pages, key) : 0, after;

    pages_learnt_add(P.sizes.learnt, P.sizes.pages, key, is);
    if (!asked) return;
    after = pages_learnt_mean(P.sizes.learnt, P.sizes.pages, key);
    if (!before || after > before + before / NEWS || after < before - before / NEWS)
        pages_ring_put(&P.sizes.area->share.news, key);
}

static void learn(const struct qos_request *q) {
    uint64_t coded_url = pages_key_coded(q->keys.url, q->coding);
    _Atomic uint64_t *mean = &P.view.classes[qos_config()->number[q->class]].mean;
    uint64_t old = atomic_load_explicit(mean, memory_order_relaxed);
    int64_t step = ((int64_t)q->sent - (int64_t)old) / 16;
    uint64_t first = q->sent < 16 * QOS_MEAN_DEFAULT ? q->sent : 16 * QOS_MEAN_DEFAULT;

    /* Where the prober has a size for this coding, what teaches must be found before it. */
    learn_key(is_coded(q) || pages_known_mean(&P.sizes.area->known, &P.sizes.file, coded_url) ? coded_url : q->keys.url,
              q->sent, 1);
    if (q->keys.pattern) learn_key(pages_key_coded(q->keys.pattern, q->coding), q->sent, 1);
    /* A directory's mean moves with every page: no news. */
    learn_key(pages_key_coded(q->keys.dir, q->coding), q->sent, 0);
    /* A giant doubles it and no more.  A lost update among children costs nothing: it is a running mean. */
    if (step > (int64_t)old) step = (int64_t)old;
    atomic_store_explicit(mean, old ? (uint64_t)((int64_t)old + step) : first, memory_order_relaxed);
}

/* Of all pages of a pattern or a directory, which differ. */
static void learn_key_timed(const struct qos_request *q, uint64_t key, int tell) {
    uint64_t usual = q->crowded ? pages_learnt_mean(P.sizes.learnt, P.sizes.pages, key) : 0;
    learn_key(key, qos_cost_taught(usual, q->slot_us, q->crowded), tell);
}

/*
 * What somebody does not wait for to its end, or whose answer is an error, takes its time all the same.  But an end
 * before the end says nothing of pages that take longer.
 */
static void learn_time(const struct qos_request *q) {
    int method = q->r->method_number;
    uint64_t url = pages_key_timed(q->keys.url, method), usual;

    if (!q->slot_us) return;
    usual = pages_learnt_mean(P.sizes.learnt, P.sizes.pages, url);
    if (!q->whole && q->slot_us < usual) return;
    learn_key(url, qos_cost_taught(usual, q->slot_us, q->crowded), 1);
    if (q->keys.pattern) learn_key_timed(q, pages_key_timed(q->keys.pattern, method), 1);
    learn_key_timed(q, pages_key_timed(q->keys.dir, method), 0);
}

/* ---- what goes after the end ------------------------------------------------------------------------------------- */

static void goes(struct qos_request *q) {
    struct qos_request **end = &q->conn->going;

    q->going = 1;
    while (*end) end = &(*end)->next_going;
    *end = q;
}

static void no_longer_goes(struct qos_request *q) {
    struct qos_request **at = &q->conn->going;

    q->going = 0;
    while (*at && *at != q) at = &(*at)->next_going;
    if (*at) *at = q->next_going;
}

/* Its ticket has ended: what goes now is its class's all the same. */
static void charge_gone(struct qos_request *q, uint64_t least) {
    uint64_t went = qos_went(q), bytes = went - q->reported, now = shm_now(), cost, paid;
    uint32_t class = qos_config()->number[q->class];

    if (went < q->reported || bytes < least) return;
    q->reported = went;
    shm_lock(&P.view);
    cost = qos_cost_bytes(&P.costs, class, q->outlet, now, bytes);
    paid = cost < q->prepaid ? cost : q->prepaid;
    q->prepaid -= paid;
    if (cost > paid) rs_charge_keyed(P.view.engine, now, class, q->outlet, q->key, cost - paid);
    shm_unlock(&P.view);
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

static apr_status_t pool_goes(void *data) {
    struct qos_request *q = data;

    if (q->conn->current == q) q->conn->current = NULL;
    if (q->conn->held == q) q->conn->held = NULL;
    if (q->passing) qos_paper_passed(q);
    if (q->beside_over && !q->going && !q->keys.url) return APR_SUCCESS;
    /* A signal handler that ends the process in the middle of our own call: another child gives back what is left. */
    if (shm_lock_is_ours(&P.view)) return APR_SUCCESS;
    if (q->ticket != RS_NO_TICKET) {
        if (shm_end_wait(&P.view, q->ticket)) q->ticket = RS_NO_TICKET;
        else qos_account_end(q, 0);
    }
    if (q->beside) qos_beside_end(q, 0);
    if (q->going) {
        no_longer_goes(q);
        charge_gone(q, 1);
    }
    if (!q->keys.url) return APR_SUCCESS;
    /* Beside a scheduler that is On, only what it schedules; else what the dry run looks at. */
    if (!q->observed || !qos_config()->holds) qos_console_had(q);
    if (teaches(q)) learn(q);
    if (qos_config()->charge != QOS_CHARGE_BYTES) learn_time(q);
    return APR_SUCCESS;
}

void qos_account_watch(struct qos_request *q) {
    apr_pool_cleanup_register(q->r->pool, q, pool_goes, apr_pool_cleanup_null);
}

void qos_account_begin(struct qos_request *q) {
    conn_rec *c = q->r->connection;

    if (q->ticket != RS_NO_TICKET) atomic_store_explicit(&account_row_of(q)->running, 1, memory_order_relaxed);
    q->conn->current = q;
    if (!q->conn->filter) {
        ap_add_output_filter_handle(filter_rec, q->conn, q->r, c);
        q->conn->filter = 1;
    }
}

static void tell_bytes_locked(const struct qos_request *q, uint64_t now, rs_ticket_t ticket, uint64_t bytes) {
    uint64_t cost = qos_cost_bytes(&P.costs, qos_config()->number[q->class], q->outlet, now, bytes);

    if (cost) rs_progress(P.view.engine, now, ticket, cost);
}

/* Its client hung up in the middle of a backend's answer. */
static int is_given_up(const struct qos_request *q) {
    const request_rec *last = qos_last_of(q->r);
    const char *field = apr_table_get(last->headers_out, "Content-Length");
    apr_off_t length;
    char *end;

    if (!q->r->connection->aborted || !q->sent || last->header_only || last->proxyreq == PROXYREQ_NONE) return 0;
    return !field || apr_strtoff(&length, field, &end, 10) != APR_SUCCESS || *end || (apr_off_t)q->sent < length;
}

/*
 * What the backend has sent then, or is about to: as much again as came, since senders double, and a window at most.
 * It crosses the backend's link and keeps its worker when the slot is somebody else's; so a class that only ever begins
 * answers would have more of both than its part.
 */
static uint64_t left_on_its_way(const struct qos_request *q) {
    uint64_t us = q->slot_us < LEFT_US ? q->slot_us : LEFT_US, bytes = q->sent < LEFT_BYTES ? q->sent : LEFT_BYTES;
    return qos_cost_expected(&P.costs, q->outlet, us, bytes);
}

void qos_account_end(struct qos_request *q, int whole) {
    struct shm_wakes w;
    int more;
    rs_ticket_t ticket = q->ticket;
    uint64_t now, bytes;
    int given_up;

    if (q->beside) qos_beside_end(q, whole);
    if (ticket == RS_NO_TICKET) return;
    q->ticket = RS_NO_TICKET;
    whole = whole && !q->broken && !q->r->connection->aborted;
    q->whole = whole;
    bytes = whole ? q->sent : qos_went(q);
    given_up = !whole && is_given_up(q);
    now = shm_now();
    shm_lock(&P.view);
    if (shm_row_of(&P.view, ticket)->parked > SHM_PARKED)
        q->parked_by = shm_row_of(&P.view, ticket)->parked == SHM_PARKED_LONG ? "time" : "size";
    q->slot_us = shm_had_slot_locked(&P.view, now, ticket);
    q->crowded = rs_crowded(P.view.engine, ticket);
    if (whole && q->sent >= REPORT_BYTES) {
        bytes = q->sent > q->reported ? q->sent - q->reported : 0;
        q->prepaid = rs_hand_over(P.view.engine, now, ticket, qos_cost_of_bytes(&P.costs, q->outlet, bytes));
        goes(q);
    } else {
        if (bytes > q->reported) tell_bytes_locked(q, now, ticket, bytes - q->reported);
        if (given_up) rs_progress(P.view.engine, now, ticket, left_on_its_way(q));
        if (whole) rs_finish(P.view.engine, now, ticket);
        else rs_abort(P.view.engine, now, ticket);
    }
    shm_end_locked(&P.view, ticket);
    w.n = w.others = 0;
    more = shm_pump_locked(&P.view, now, P.row, RS_NO_TICKET, &w);
    shm_unlock(&P.view);
    shm_wake(&P.view, &w);
    if (more) shm_pump(&P.view, P.row);
}

/* ---- bytes on their way ------------------------------------------------------------------------------------------ */

/*
 * The whole response's size once its header is made, when that is worth a call: small ones are over before it would
 * matter.
 */
static void tell_length(struct qos_request *q) {
    const request_rec *last = qos_last_of(q->r);
    const char *field = apr_table_get(last->headers_out, "Content-Length");
    char *end;
    apr_off_t body;
    uint64_t cost;

    q->length_told = 1;
    /* Four digits are less than it takes to matter. */
    if (!field || (q->bytes < REPORT_BYTES && strnlen(field, 5) < 5)) return;
    if (last->header_only || apr_strtoff(&body, field, &end, 10) != APR_SUCCESS || *end || body < 0) return;
    if ((uint64_t)body < REPORT_BYTES && q->bytes < REPORT_BYTES) return;
    cost = qos_cost_of_bytes(&P.costs, q->outlet, (uint64_t)body + QOS_HEADER_DEFAULT);
    /* Where time counts, too, it may be the larger part. */
    if (qos_config()->charge != QOS_CHARGE_BYTES && cost <= q->estimate) return;
    shm_lock(&P.view);
    rs_header(P.view.engine, shm_now(), q->ticket, cost);
    shm_unlock(&P.view);
}

static void tell_progress(struct qos_request *q) {
    uint64_t went, bytes;

    if (q->sent < q->reported + REPORT_BYTES) return;
    went = qos_went(q);
    bytes = went - q->reported;
    if (went < q->reported + REPORT_BYTES) return;
    q->reported = went;
    shm_lock(&P.view);
    tell_bytes_locked(q, shm_now(), q->ticket, bytes);
    shm_unlock(&P.view);
}

void qos_account_went(struct qos_conn *k) {
    if (k->going) charge_gone(k->going, REPORT_BYTES);
    else if (k->current && k->current->ticket != RS_NO_TICKET) tell_progress(k->current);
}

void qos_account_had_slot(const struct shm_view *v, uint64_t now, rs_ticket_t t, uint64_t us) {
    uint64_t cost = qos_cost_time(&P.costs, rs_class(v->engine, t), rs_outlet_of(v->engine, t), us);

    if (cost) rs_progress(v->engine, now, t, cost);
}

void qos_account_leave(rs_ticket_t ticket) {
    shm_lock(&P.view);
    rs_abort(P.view.engine, shm_now(), ticket);
    shm_end_locked(&P.view, ticket);
    shm_unlock(&P.view);
}

/* The write is over: a parked response whose client keeps up takes a slot again. */
static void write_ended(struct qos_request *q, uint64_t began) {
    struct shm_row *row = account_row_of(q);

    atomic_store_explicit(&row->client_since, 0, memory_order_relaxed);
    if (!atomic_load_explicit(&row->parked, memory_order_relaxed)) return;
    q->quick_writes = shm_now_coarse() - began < QUICK_US ? q->quick_writes + 1 : 0;
    if (q->quick_writes < QUICK_WRITES) return;
    q->quick_writes = 0;
    shm_resume(&P.view, q->ticket);
}

/*
 * The handler has more to get from its backend.  So has that of a CGI program: it passes a pipe on, and the end behind
 * it at once.
 */
static bool occupies_backend(const struct qos_request *q, bool end) {
    const request_rec *last = qos_last_of(q->r);

    if (end || !last->eos_sent) return !end;
    return last->handler && (!strcmp(last->handler, "cgi-script") || !strcmp(last->handler, CGI_MAGIC_TYPE));
}

enum begins { ANSWER, INTERIM, TUNNEL };

/*
 * What the first bytes of a response are.  Neither r->status nor a bucket tells: modules write interim answers and the
 * other side's 101 straight to the connection's filters.
 */
static enum begins what_begins(apr_bucket_brigade *bb) {
    apr_bucket *b = APR_BRIGADE_FIRST(bb);
    const char *text;
    apr_size_t n;

    while (b != APR_BRIGADE_SENTINEL(bb) && (APR_BUCKET_IS_METADATA(b) || b->length == 0)) b = APR_BUCKET_NEXT(b);
    if (b == APR_BRIGADE_SENTINEL(bb) ||
        !(APR_BUCKET_IS_HEAP(b) || APR_BUCKET_IS_TRANSIENT(b) || APR_BUCKET_IS_POOL(b)))
        return ANSWER;
    if (apr_bucket_read(b, &text, &n, APR_NONBLOCK_READ) != APR_SUCCESS || n < sizeof "HTTP/1.1 100" - 1) return ANSWER;
    if (memcmp(text, "HTTP/1.", 7) || text[8] != ' ' || text[9] != '1') return ANSWER;
    return text[10] == '0' && text[11] == '1' ? TUNNEL : INTERIM;
}

/* From here on nobody works at an answer. */
static int is_tunnel(const struct qos_request *q, enum begins begins) {
    const request_rec *last = qos_last_of(q->r);
    return begins == TUNNEL || last->status == HTTP_SWITCHING_PROTOCOLS ||
           last->proto_output_filters == last->connection->output_filters;
}

/* It has no slot to give back; but what its client takes its time for is not the server's. */
static apr_status_t pass_beside(ap_filter_t *f, apr_bucket_brigade *bb, struct qos_request *q) {
    const struct qos_conn *k = q->conn;
    uint64_t began = shm_now_coarse(), took;
    apr_status_t rv = ap_pass_brigade(f->next, bb);

    if (k->current != q) return rv;
    took = shm_now_coarse() - began;
    if (took >= SHM_SLOW_US) q->idle_us += took;
    return rv;
}

/* From now on nobody answers, and what passes is charged to the class as it goes. */
static void tunnel_begins(struct qos_request *q) {
    qos_account_end(q, 0);
    q->parked_by = "tunnel";
    q->tunnel = 1;
    if (!q->sent) qos_went_begins(q);
    q->reported = qos_went(q);
    goes(q);
}

static apr_status_t tunnel_passes(struct qos_request *q, uint64_t bytes, ap_filter_t *next, apr_bucket_brigade *bb,
                                  int end) {
    struct qos_conn *k = q->conn;

    qos_went_passes(k, bytes);
    q->sent += bytes;
    if (end) k->current = NULL;
    else if (q->sent >= q->reported + REPORT_BYTES) charge_gone(q, REPORT_BYTES);
    return ap_pass_brigade(next, bb);
}

static apr_status_t count_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    struct qos_conn *k = f->ctx;
    struct qos_request *q = k->current;
    uint64_t bytes = 0, began;
    enum begins begins = ANSWER;
    apr_size_t hushed;
    apr_status_t rv;
    int end = 0, broken = 0, eos = 0;

    /* What only passes: its connection counts it. */
    if (!q && !qos_config()->holds) return ap_pass_brigade(f->next, bb);
    if (q && q->head) {
        APR_BRIGADE_PREPEND(bb, q->head);
        q->head = NULL;
    }
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
        if (!APR_BUCKET_IS_METADATA(b)) {
            if (b->length != (apr_size_t)-1) bytes += b->length;
        } else if (AP_BUCKET_IS_EOR(b)) {
            end = 1;
            break;
        } else if (APR_BUCKET_IS_EOS(b)) {
            eos = 1;
        } else if (AP_BUCKET_IS_ERROR(b)) {
            broken = 1;
        }
    }
    if (q && q->tunnel) return tunnel_passes(q, bytes, f->next, bb, end);
    if (!q || (q->ticket == RS_NO_TICKET && !qos_beside_runs(q))) {
        qos_went_passes(k, bytes);
        return ap_pass_brigade(f->next, bb);
    }
    q->broken |= broken;
    if (bytes && !q->sent && !qos_last_of(q->r)->sent_bodyct) begins = what_begins(bb);
    if (begins != ANSWER && !q->observed) {
        if (!qos_people_hush(bb, &hushed) && !end && begins == INTERIM && bytes <= INTERIM_MOST)
            return ap_save_brigade(f, &q->head, &bb, q->r->pool);
        bytes -= hushed;
    }
    if (!end && is_tunnel(q, begins)) {
        if (!q->beside) {
            tunnel_begins(q);
            return tunnel_passes(q, bytes, f->next, bb, 0);
        }
        k->current = NULL;
        qos_account_end(q, 0);
        return ap_pass_brigade(f->next, bb);
    }
    if (begins == INTERIM) {
        qos_went_passes(k, bytes);
        bytes = 0;
    }
    if (bytes && !q->sent && !q->length_told && !q->beside) tell_length(q);
    if (!q->sent && begins != INTERIM) qos_went_begins(q);
    if (bytes && !q->sent && q->park_us && !q->beside) {
        shm_begins(&P.view, q->ticket);
        if (!end && qos_park_is_stream(q)) shm_park(&P.view, P.row, q->ticket, SHM_PARKED_LONG);
    }
    qos_went_passes(k, bytes);
    q->sent += bytes;
    if (end) {
        k->current = NULL;
        qos_account_end(q, 1);
        return ap_pass_brigade(f->next, bb);
    }
    if (q->beside) return pass_beside(f, bb, q);
    tell_progress(q);
    if (q->park_bytes && q->sent >= q->park_bytes) shm_park(&P.view, P.row, q->ticket, SHM_PARKED_LARGE);
    if (occupies_backend(q, eos)) atomic_store_explicit(&account_row_of(q)->occupies, 1, memory_order_relaxed);
    else shm_occupies_no_more(&P.view, q->ticket);
    began = shm_now_coarse();
    atomic_store_explicit(&account_row_of(q)->client_since, began, memory_order_relaxed);
    rv = ap_pass_brigade(f->next, bb);
    /*
     * Passing a brigade on can end the request (its pool went with the bucket): then there is nothing to look at any
     * more.
     */
    if (k->current == q && q->ticket != RS_NO_TICKET) write_ended(q, began);
    return rv;
}

void qos_account_register(void) {
    /* Below all filters of the content and the protocol, above TLS: what passes is what the client is meant to read. */
    filter_rec = ap_register_output_filter("QOS_ACCOUNT", count_filter, NULL, AP_FTYPE_CONNECTION);
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* Milliseconds as "%.3f" writes them, at a twentieth of what that costs: it is asked twice for each request. */
static const char *account_ms(apr_pool_t *p, uint64_t us) {
    char *text = apr_palloc(p, 24), *at = text + 23;

    *at = '\0';
    for (int digits = 0; us || digits < 4; digits++) {
        if (digits == 3) *--at = '.';
        *--at = (char)('0' + us % 10);
        us /= 10;
    }
    return at;
}

int qos_account_log(request_rec *r) {
    static const char *const outcomes[] = { "passed", "waited",   "refused", "timeout",
                                            "gone",   "observed", "exempt",  "inner" };
    const struct qos_request *q;
    request_rec *last = r;

    if (!P.notes) return DECLINED;
    /* LogFormat reads notes of the last request in a chain of internal redirects. */
    while (last->next) last = last->next;
    q = qos_request_of(last);
    if (!q || apr_table_get(last->notes, "qos-class")) return DECLINED;
    /* Nobody else has any of that name: to look for them each time costs more than all the rest. */
    apr_table_addn(last->notes, "qos-class", qos_config()->classes[q->class].name);
    apr_table_addn(last->notes, "qos-outcome", outcomes[q->outcome]);
    if (q->reason) apr_table_addn(last->notes, "qos-reason", q->reason);
    if (*q->crawler) apr_table_addn(last->notes, "qos-crawler", q->crawler);
    if (q->parked_by) apr_table_addn(last->notes, "qos-parked", q->parked_by);
    apr_table_addn(last->notes, "qos-estimate", apr_off_t_toa(r->pool, (apr_off_t)q->bytes));
    apr_table_addn(last->notes, "qos-slot", account_ms(r->pool, q->slot_us));
    apr_table_addn(last->notes, "qos-slot-expected", account_ms(r->pool, q->expected_us));
    /* Of one that was not on paper nobody knows. */
    if (q->beside != QOS_IS_OBSERVED || q->paper)
        apr_table_addn(last->notes, "qos-wait", q->wait_us ? account_ms(r->pool, q->wait_us) : "0");
    return DECLINED;
}
