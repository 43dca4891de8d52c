/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_inner.h"

#include <string.h>

#include <netinet/in.h>

#include <apr_strings.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_log.h>
#include <util_filter.h>

#include "base/base_hash.h"
#include "httpd/httpd_console.h"
#include "qos_request.h"
#include "web/web_address.h"

APLOG_USE_MODULE(qos_drr);

#define BUCKET    8u
#define CAME_WITH "fairgate-qos-came" /* of a request's pool: the field came, and what it says is kept */

#define P qos_process

static ap_filter_rec_t *outgoing_rec;

/* Of the request that this thread handles. */
static __thread enum qos_cause causes = QOS_CAUSES_SCHEDULED;

/* ---- the directive ----------------------------------------------------------------------------------------------- */

static const char *add_network(cmd_parms *cmd, struct qos_self *s, const char *word) {
    char *address = apr_pstrdup(cmd->temp_pool, word), *bits = strchr(address, '/');
    apr_ipsubnet_t *network;

    if (bits) *bits++ = '\0';
    if (apr_ipsubnet_create(&network, address, bits, cmd->pool) != APR_SUCCESS)
        return apr_psprintf(cmd->pool, "QosSelf %s: must be Off, or host and CIDR...", word);
    if (!s->networks) s->networks = apr_array_make(cmd->pool, 4, sizeof network);
    APR_ARRAY_PUSH(s->networks, apr_ipsubnet_t *) = network;
    return NULL;
}

const char *qos_inner_set(cmd_parms *cmd, void *dir, int argc, char *const argv[]) {
    struct qos_self *s = &qos_config()->self;
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (bad) return bad;
    if (!argc) return "QosSelf: write Off, or host and CIDR...";
    *s = (struct qos_self){ .said = true, .off = argc == 1 && !strcasecmp(argv[0], "off") };
    for (int i = 0; i < argc && !s->off && !bad; i++) {
        if (!strcasecmp(argv[i], "host")) s->host = true;
        else bad = add_network(cmd, s, argv[i]);
    }
    return bad;
}

/* ---- by its address ---------------------------------------------------------------------------------------------- */

static bool inner_is_loopback(const apr_sockaddr_t *a) {
    return web_address_is_loopback((const struct sockaddr *)&a->sa);
}

static bool is_of_host(const conn_rec *wire, const apr_sockaddr_t *a) {
    return inner_is_loopback(a) || apr_sockaddr_equal(a, wire->local_addr);
}

static bool is_named(const struct qos_self *s, apr_sockaddr_t *a) {
    for (int i = 0; s->networks && i < s->networks->nelts; i++)
        if (apr_ipsubnet_test(APR_ARRAY_IDX(s->networks, i, apr_ipsubnet_t *), a)) return true;
    return false;
}

static bool inner_by_address(const request_rec *r) {
    const struct qos_self *s = &qos_config()->self;
    const conn_rec *wire = r->connection->master ? r->connection->master : r->connection;
    apr_sockaddr_t *client = r->useragent_addr;

    /* Without a peer it is no connection of TCP: another module made it. */
    if (s->off || !client || !wire->client_addr || !wire->local_addr) return false;
    if (!is_named(s, client)) {
        if (!s->host && s->said) return false;
        if (!is_of_host(wire, client)) return false;
        /* What a proxy elsewhere calls a loopback address is its own. */
        if (inner_is_loopback(client) && !is_of_host(wire, wire->client_addr)) return false;
    }
    return !httpd_proxy_field(r);
}

/* ---- by its connection ------------------------------------------------------------------------------------------- */

static void add_end(struct base_hash *h, const apr_sockaddr_t *a) {
    const unsigned char *bytes = a->ipaddr_ptr;
    size_t n = (size_t)a->ipaddr_len;
    uint16_t port = a->port;

    /* A socket of IPv6 may have a peer of IPv4. */
    if (a->family == APR_INET6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)a->ipaddr_ptr)) {
        bytes += 12;
        n = 4;
    }
    base_hash_add(h, bytes, n);
    base_hash_add(h, &port, sizeof port);
}

/* Both ends: connections from one port may lead to several servers. */
static uint64_t ends_key(const apr_sockaddr_t *opener, const apr_sockaddr_t *server) {
    struct base_hash h;

    base_hash_begin(&h, P.sizes.outer_key);
    add_end(&h, opener);
    add_end(&h, server);
    return base_hash_end(h);
}

static struct qos_outgoing *bucket_of(uint64_t key) {
    return P.sizes.area->inner.outgoing + (size_t)(key % (QOS_OUTGOING / BUCKET)) * BUCKET;
}

static uint64_t inner_me(void) { return (uint64_t)P.pid << 32 | (P.row + 1); }

static bool inner_is_live(uint64_t holder) {
    uint32_t row = (uint32_t)holder - 1;
    return holder && row < P.view.size.owners && *(volatile pid_t *)&P.view.owners[row].pid == (pid_t)(holder >> 32);
}

static apr_status_t outgoing_closes(void *row) {
    uint64_t me = inner_me();

    atomic_compare_exchange_strong(&((struct qos_outgoing *)row)->holder, &me, 0);
    return APR_SUCCESS;
}

/* A connection of ours begins.  Without a free row its requests are known by their tokens. */
int qos_inner_pre_connection(conn_rec *c, void *socket) {
    struct qos_outgoing *bucket;
    uint64_t key;

    (void)socket;
    if (!c->outgoing || P.row == SHM_NO_ROW || !c->local_addr || !c->client_addr || c->client_addr->family == APR_UNIX)
        return OK;
    key = ends_key(c->local_addr, c->client_addr);
    bucket = bucket_of(key);
    for (uint32_t i = 0; i < BUCKET; i++) {
        uint64_t holder = atomic_load_explicit(&bucket[i].holder, memory_order_relaxed);

        if (inner_is_live(holder) || !atomic_compare_exchange_strong(&bucket[i].holder, &holder, inner_me())) continue;
        atomic_store_explicit(&bucket[i].cause, QOS_CAUSES_SCHEDULED, memory_order_relaxed);
        atomic_store_explicit(&bucket[i].key, key, memory_order_release);
        apr_pool_cleanup_register(c->pool, &bucket[i], outgoing_closes, apr_pool_cleanup_null);
        ap_add_output_filter_handle(outgoing_rec, &bucket[i], NULL, c);
        break;
    }
    return OK;
}

static apr_status_t outgoing_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    struct qos_outgoing *row = f->ctx;

    if (atomic_load_explicit(&row->cause, memory_order_relaxed) != causes) atomic_store(&row->cause, causes);
    return ap_pass_brigade(f->next, bb);
}

void qos_inner_register(void) {
    outgoing_rec = ap_register_output_filter("QOS_OUTGOING", outgoing_filter, NULL, AP_FTYPE_CONNECTION);
}

static enum qos_cause cause_by_connection(const conn_rec *c) {
    const conn_rec *wire = c->master ? c->master : c;
    const struct qos_outgoing *bucket;
    uint64_t key;

    /* Only this host's own addresses are among those that its connections have. */
    if (!wire->client_addr || !wire->local_addr || !is_of_host(wire, wire->client_addr)) return QOS_CAUSES_UNKNOWN;
    key = ends_key(wire->client_addr, wire->local_addr);
    bucket = bucket_of(key);
    for (uint32_t i = 0; i < BUCKET; i++) {
        uint32_t cause;

        if (atomic_load_explicit(&bucket[i].key, memory_order_acquire) != key ||
            !inner_is_live(atomic_load_explicit(&bucket[i].holder, memory_order_relaxed)))
            continue;
        cause = atomic_load(&bucket[i].cause);
        return cause == QOS_CAUSES_INNER || cause == QOS_CAUSES_OBSERVED ? (enum qos_cause)cause : QOS_CAUSES_SCHEDULED;
    }
    return QOS_CAUSES_UNKNOWN;
}

/* ---- by its token ------------------------------------------------------------------------------------------------ */

/* Its request has a slot, or a place among those of its class.  Else it keeps nothing from those that it causes. */
static bool has_slot(rs_ticket_t ticket) {
    uint32_t i = rs_ticket_index(ticket);
    const struct shm_row *row;

    if (ticket == RS_NO_TICKET || i >= P.view.size.tickets) return false;
    row = &P.view.rows[i];
    return atomic_load_explicit(&row->ticket, memory_order_acquire) == ticket &&
           atomic_load_explicit(&row->running, memory_order_relaxed) &&
           (!atomic_load_explicit(&row->parked, memory_order_relaxed) ||
            (atomic_load_explicit(&row->slow, memory_order_relaxed) &&
             atomic_load_explicit(&row->occupies, memory_order_relaxed)));
}

/* It is one of QOS_INNER_MOST that this token excuses now. */
static bool token_takes(struct qos_request *q, rs_ticket_t ticket) {
    _Atomic uint32_t *inner;
    uint32_t n;

    if (ticket == RS_NO_TICKET) return false;
    inner = &P.view.rows[rs_ticket_index(ticket)].inner;
    n = atomic_load_explicit(inner, memory_order_relaxed);
    do {
        if (n >= QOS_INNER_MOST) return false;
    } while (!atomic_compare_exchange_weak(inner, &n, n + 1));
    q->outer = ticket;
    return true;
}

/* If its process dies, the place is free when the outer request ends. */
void qos_inner_leaves(struct qos_request *q) {
    struct shm_row *row;
    uint32_t n;

    if (q->outer == RS_NO_TICKET) return;
    row = &P.view.rows[rs_ticket_index(q->outer)];
    n = atomic_load_explicit(&row->inner, memory_order_relaxed);
    while (n && atomic_load(&row->ticket) == q->outer && !atomic_compare_exchange_weak(&row->inner, &n, n - 1)) {}
    q->outer = RS_NO_TICKET;
}

int qos_inner_post_read(request_rec *r) {
    struct qos_came *came;
    void *before = NULL;
    const char *field;
    char others[QOS_OUTER_TEXT];

    if (P.row == SHM_NO_ROW) return DECLINED;
    /* An internal redirect uses the pool of the first request.  The field was taken out of that one already. */
    apr_pool_userdata_get(&before, CAME_WITH, r->pool);
    if (before) return DECLINED;
    came = &qos_conn_of(r->connection)->came;
    *came = (struct qos_came){ .cause = cause_by_connection(r->connection) };
    field = apr_table_get(r->headers_in, QOS_OUTER_FIELD);
    if (!field) return DECLINED;
    came->outer = qos_outer_read(P.sizes.outer_key, field, strlen(field), others);
    if (!has_slot(came->outer.ticket)) came->outer = (struct qos_outer){ RS_NO_TICKET, 0 };
    if (*others) came->others = apr_pstrdup(r->pool, others);
    apr_table_unset(r->headers_in, QOS_OUTER_FIELD);
    apr_pool_userdata_setn(came, CAME_WITH, NULL, r->pool);
    return DECLINED;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void count(_Atomic uint64_t *n) { atomic_fetch_add_explicit(n, 1, memory_order_relaxed); }

bool qos_inner_takes(struct qos_request *q) {
    const struct qos_came *came = &q->conn->came;
    struct qos_inner_area *a = &P.sizes.area->inner;

    count(&a->seen);
    if (came->cause == QOS_CAUSES_INNER || (came->cause == QOS_CAUSES_OBSERVED && q->observed)) {
        count(&a->by_connection);
    } else if (token_takes(q, came->outer.ticket)) {
        count(&a->by_token);
    } else if (came->cause == QOS_CAUSES_UNKNOWN && inner_by_address(q->r)) {
        count(&a->by_address);
    } else {
        return false;
    }
    return true;
}

bool qos_inner_loops(struct qos_request *q) {
    if (q->observed || q->conn->came.outer.depth < QOS_INNER_DEEP) return false;
    qos_inner_leaves(q);
    count(&P.sizes.area->inner.loops);
    ap_log_rerror(
        APLOG_MARK, APLOG_ERR, 0, q->r,
        "qos: this request has passed this server %u times: a proxy sends it back here (loop); it is answered "
        "508. Look at what ProxyPass, RewriteRule or another gateway does with %s",
        q->conn->came.outer.depth, q->r->uri);
    q->reason = "loop";
    return true;
}

static enum qos_cause cause_of(const request_rec *r, const struct qos_request *q) {
    const struct qos_came *came = &qos_conn_of(r->connection)->came;

    if (q && (q->ticket != RS_NO_TICKET || q->beside == QOS_IS_EXEMPT)) return QOS_CAUSES_INNER;
    if (q && (q->beside == QOS_IS_OBSERVED || q->beside == QOS_IS_UNSEEN)) return QOS_CAUSES_OBSERVED;
    if (came->outer.ticket != RS_NO_TICKET) return QOS_CAUSES_INNER;
    if (came->cause != QOS_CAUSES_UNKNOWN) return came->cause;
    if (q && q->beside == QOS_IS_INNER) return q->observed ? QOS_CAUSES_OBSERVED : QOS_CAUSES_INNER;
    return !q && inner_by_address(r) ? QOS_CAUSES_INNER : QOS_CAUSES_SCHEDULED;
}

/* mod_proxy sends it by HTTP, on behalf of this server. */
static bool goes_by_http(const request_rec *r) {
    static const char *const schemes[] = { "http:", "https:", "h2:", "h2c:", "ws:", "wss:", "balancer:" };
    const char *url = NULL;

    /* TRACE would show it to the client. */
    if (r->method_number == M_TRACE) return false;
    if (r->proxyreq == PROXYREQ_REVERSE && r->filename && !strncmp(r->filename, "proxy:", 6)) url = r->filename + 6;
    else if (r->proxyreq == PROXYREQ_NONE && r->handler && !strncmp(r->handler, "proxy:", 6)) url = r->handler + 6;
    for (unsigned i = 0; url && i < sizeof schemes / sizeof *schemes; i++)
        if (!strncasecmp(url, schemes[i], strlen(schemes[i]))) return true;
    return false;
}

static void add_token(request_rec *r, const struct qos_request *q) {
    const struct qos_came *came = &qos_conn_of(r->connection)->came;
    struct qos_outer outer = came->outer;
    char token[QOS_OUTER_TOKEN + 1] = "";

    /* A scheduled request has a token of its own, also if an outer request came with it. */
    if (q && q->ticket != RS_NO_TICKET) outer.ticket = q->ticket;
    outer.depth++;
    if (outer.ticket != RS_NO_TICKET) qos_outer_write(P.sizes.outer_key, outer, token);
    if (!*token && !came->others) return;
    apr_table_setn(r->headers_in, QOS_OUTER_FIELD,
                   apr_pstrcat(r->pool, token, *token && came->others ? ", " : "", came->others, NULL));
}

int qos_inner_handler(request_rec *r) {
    const struct qos_request *q;

    causes = QOS_CAUSES_SCHEDULED;
    if (P.row == SHM_NO_ROW) return DECLINED;
    q = qos_request_of(r->main ? r->main : r);
    causes = cause_of(r, q);
    /* A program that an internal redirect leads to has no business with it. */
    apr_table_unset(r->headers_in, QOS_OUTER_FIELD);
    if (goes_by_http(r)) add_token(r, q);
    return DECLINED;
}
