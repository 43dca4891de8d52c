/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_make.h"

#include <stdlib.h>

#include <ap_mpm.h>
#include <apr_strings.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <mod_core.h>
#include <util_filter.h>

#include "ccn_header.h"
#include "ccn_private.h"
#include "ccn_turns.h"

APLOG_USE_MODULE(ccn);

#define PAGE_FILTER "CCN_PAGE"
#define NO_MORE     "CCN_NO_MORE"
#define NOWHERE     "CCN_NOWHERE"

static module *event;            /* the event MPM; NULL: another one */
static apr_allocator_t **memory; /* of each service thread, which keeps some of what a page took for the next one */

static apr_sockaddr_t *host_address, *nobodys_address; /* of requests that no client makes */

static APR_OPTIONAL_FN_TYPE(ap_logio_add_bytes_out) * logio_add; /* mod_logio's, if it is there */

static struct ccn_made *made_of(const conn_rec *c) { return ap_get_module_config(c->conn_config, &ccn_module); }

bool ccn_make_is_ours(const conn_rec *c) { return made_of(c) != NULL; }

/* ---- what the header says ---------------------------------------------------------------------------------------- */

/* All that the page's header will say there: both tables, each with as many as there are. */
static const char *header_of(const request_rec *r, const char *name) {
    const char *a = apr_table_getm(r->pool, r->headers_out, name),
               *b = apr_table_getm(r->pool, r->err_headers_out, name);
    return a && b ? apr_pstrcat(r->pool, a, ", ", b, NULL) : a ? a : b;
}

static const char *one_of(const request_rec *r, const char *name) {
    const char *value = apr_table_get(r->headers_out, name);
    return value ? value : apr_table_get(r->err_headers_out, name);
}

static void take_text(char *to, size_t room, const char *text) {
    size_t n = text ? strlen(text) : 0;
    if (n >= room) n = 0;
    if (n) memcpy(to, text, n);
    to[n] = '\0';
}

static void take_header(request_rec *r, struct ccn_made *m) {
    const char *control = header_of(r, "Cache-Control");

    m->status = r->status;
    take_text(m->media_type, sizeof m->media_type, ap_make_content_type(r, r->content_type));
    take_text(m->location, sizeof m->location, one_of(r, "Location"));
    take_text(m->encoding, sizeof m->encoding,
              r->content_encoding ? r->content_encoding : header_of(r, "Content-Encoding"));
    m->freshness_ms = r->status == HTTP_OK || control ? ccn_freshness(control, one_of(r, "Age")) : 0;
    m->says_freshness = control || one_of(r, "Expires");
    m->is_private = ccn_is_private(control) || header_of(r, "Set-Cookie") || r->user;
    m->whole = true;
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

static bool take_bytes(struct ccn_made *m, const char *p, size_t n) {
    if (!n) return true;
    if (m->too_large) return false;
    if (n > m->most - m->n) {
        m->too_large = true;
        return false;
    }
    if (n > m->room - m->n) {
        size_t room = m->room ? m->room * 2 : 16384;
        uint8_t *more;
        while (room < m->n + n) room *= 2;
        if (room > m->most) room = m->most;
        more = realloc(m->body, room);
        if (!more) {
            m->too_large = true;
            return false;
        }
        m->body = more;
        m->room = room;
    }
    memcpy(m->body + m->n, p, n);
    m->n += n;
    return true;
}

/* For the access log: what the filters that are not there would have said of bytes that were sent. */
static void account(request_rec *r, const struct ccn_made *m) {
    r->sent_bodyct = 1;
    r->bytes_sent = (apr_off_t)m->n;
    if (logio_add) logio_add(r->connection, (apr_off_t)m->n);
}

/* Of a page that broke off in the middle there is its status, and whether it was for one visitor. */
static void take_broken(request_rec *r, struct ccn_made *m, int status) {
    take_header(r, m);
    m->status = status;
    m->freshness_ms = 0;
    m->n = 0;
    m->media_type[0] = m->location[0] = m->encoding[0] = '\0';
}

/* Whether a client of HTTP would see that it is cut: the header promises more than came. */
static bool is_cut(const request_rec *r, const struct ccn_made *m, apr_off_t *promised) {
    const char *length = one_of(r, "Content-Length");

    if (r->status == HTTP_NO_CONTENT || r->status == HTTP_NOT_MODIFIED) return false;
    return length && ap_parse_strict_length(promised, length) && (uint64_t)*promised > m->n;
}

static void take_whole(request_rec *r, struct ccn_made *m) {
    apr_off_t promised;

    if (is_cut(r, m, &promised)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "ccn: the page is cut: its Content-Length is %" APR_OFF_T_FMT ", and %" APR_SIZE_T_FMT
                      " bytes came",
                      promised, m->n);
        r->status = HTTP_BAD_GATEWAY; /* for the access log */
        take_broken(r, m, r->status);
    } else {
        take_header(r, m);
    }
    account(r, m);
}

/* `n`: what would not go in. */
static void tell_too_large(request_rec *r, const struct ccn_made *m, size_t n) {
    const char *length = one_of(r, "Content-Length"), *name = apr_table_get(r->notes, "ccn-name"),
               *more = apr_psprintf(r->pool, "more than %" APR_SIZE_T_FMT, m->most);

    r->status = HTTP_INSUFFICIENT_STORAGE; /* for the access log */
    if (n <= m->most - m->n)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "ccn: no memory for the page: it is answered 507");
    else
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "ccn: the page %s (%s%s%s) is answered 507: it has %s bytes, and a page may have %" APR_SIZE_T_FMT
                      ": a quarter of CcnPages",
                      name ? name : "", r->uri, r->args ? "?" : "", r->args ? r->args : "", length ? length : more,
                      m->most);
}

/* Where the header would become text: takes the page, and lets nothing through but the end of the request. */
static apr_status_t page_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    struct ccn_made *m = f->ctx;

    for (apr_bucket *b = APR_BRIGADE_FIRST(bb), *next; b != APR_BRIGADE_SENTINEL(bb); b = next) {
        next = APR_BUCKET_NEXT(b);
        if (AP_BUCKET_IS_ERROR(b) && !m->whole) {
            take_broken(f->r, m, ((ap_bucket_error *)b->data)->status);
        } else if (APR_BUCKET_IS_EOS(b)) {
            if (!m->whole) take_whole(f->r, m);
        } else if (!APR_BUCKET_IS_METADATA(b) && !m->whole) {
            const char *p;
            apr_size_t n;
            apr_status_t rv = apr_bucket_read(b, &p, &n, APR_BLOCK_READ);
            if (rv == APR_SUCCESS && !take_bytes(m, p, n)) {
                if (!f->c->aborted) tell_too_large(f->r, m, n);
                rv = APR_ENOSPC;
            }
            if (rv != APR_SUCCESS) {
                f->c->aborted = 1;
                return rv;
            }
            next = APR_BUCKET_NEXT(b); /* reading may have split it */
        } else if (APR_BUCKET_IS_METADATA(b)) {
            continue;
        }
        apr_bucket_delete(b);
    }
    return APR_BRIGADE_EMPTY(bb) ? APR_SUCCESS : ap_pass_brigade(f->next, bb);
}

static apr_status_t nowhere_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    (void)f;
    if (bb) apr_brigade_cleanup(bb); /* and with the EOR bucket the request ends */
    return APR_SUCCESS;
}

/* What is left of a body that is posted is the filter's context; behind it nothing comes. */
static apr_status_t no_more_filter(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode, apr_read_type_e block,
                                   apr_off_t bytes) {
    struct ndn_span *left = f->ctx;
    size_t n = left ? left->n : 0;

    (void)block;
    if (mode == AP_MODE_INIT) return APR_SUCCESS;
    if (!n || (mode != AP_MODE_READBYTES && mode != AP_MODE_SPECULATIVE && mode != AP_MODE_EXHAUSTIVE)) return APR_EOF;
    if (mode != AP_MODE_EXHAUSTIVE && bytes >= 0 && (uint64_t)bytes < n) n = (size_t)bytes;
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_transient_create((const char *)left->at, n, bb->bucket_alloc));
    if (mode == AP_MODE_SPECULATIVE) return APR_SUCCESS;
    left->at += n;
    left->n -= n;
    return APR_SUCCESS;
}

int ccn_make_post_read_request(request_rec *r) {
    struct ccn_made *m = made_of(r->connection);

    if (!m || !ap_is_initial_req(r)) return DECLINED;
    ap_remove_output_filter_byhandle(r->output_filters, "HTTP_HEADER");
    ap_add_output_filter(PAGE_FILTER, m, r, r->connection);
    return DECLINED;
}

void ccn_make_register(void) {
    ap_register_output_filter(PAGE_FILTER, page_filter, NULL, AP_FTYPE_PROTOCOL);
    ap_register_output_filter(NOWHERE, nowhere_filter, NULL, AP_FTYPE_NETWORK);
    ap_register_input_filter(NO_MORE, no_more_filter, NULL, AP_FTYPE_NETWORK);
}

int ccn_make_child_init(apr_pool_t *pchild, server_rec *s) {
    (void)s;
    logio_add = APR_RETRIEVE_OPTIONAL_FN(ap_logio_add_bytes_out);
    event = ap_find_linked_module("event.c");
    memory = apr_pcalloc(pchild, ((apr_size_t)ccn_config()->threads + CCN_SPARES) * sizeof *memory);
    if (apr_sockaddr_info_get(&host_address, "127.0.0.1", APR_INET, 0, 0, pchild) != APR_SUCCESS ||
        apr_sockaddr_info_get(&nobodys_address, "0.0.0.0", APR_INET, 0, 0, pchild) != APR_SUCCESS)
        return APR_EGENERAL;
    return APR_SUCCESS;
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

/*
 * An address keeps what names were looked up for it, in its own pool, and several threads make pages for one face: each
 * page has addresses of its own.
 */
static apr_sockaddr_t *address_in(apr_pool_t *p, const apr_sockaddr_t *from) {
    apr_sockaddr_t *own = NULL;

    apr_sockaddr_info_copy(&own, from, p); /* fails never, or with the pool */
    return own;
}

static conn_rec *new_connection(const struct ccn_seen_as *from, apr_socket_t *socket, apr_pool_t *p,
                                apr_thread_t *thread, unsigned number) {
    static _Atomic long ids;
    conn_rec *c = apr_pcalloc(p, sizeof *c);

    c->pool = p;
    c->base_server = from->server;
    c->conn_config = ap_create_conn_config(p);
    c->notes = apr_table_make(p, 5);
    c->bucket_alloc = apr_bucket_alloc_create(p);
    c->client_addr = address_in(p, from->client);
    c->client_ip = (char *)from->client_ip;
    c->local_addr = address_in(p, from->local);
    c->local_ip = (char *)from->local_ip;
    c->id = (atomic_fetch_add(&ids, 1) << 10 | (long)(number & 1023)) & 0x7fffffff;
    c->keepalives = 1; /* others do what they do at a connection's beginning when there are none */
    c->keepalive = AP_CONN_CLOSE;
    c->clogging_input_filters = 1;
    c->current_thread = thread;
    ap_set_module_config(c->conn_config, &core_module, socket);
    return c;
}

/*
 * Modules use a master connection as that of a client: its socket, notes, pool and bucket allocator.  Each request has
 * one of its own, since other requests run in other threads.  The event MPM copies a state from it, which means
 * nothing here; the MPM alone knows its size.
 */
static conn_rec *new_master(const struct ccn_seen_as *from, apr_socket_t *socket, apr_pool_t *p, apr_thread_t *thread,
                            unsigned number) {
    conn_rec *master = new_connection(from, socket, p, thread, number);

    if (event) ap_set_module_config(master->conn_config, event, apr_pcalloc(p, 4096));
    return master;
}

/* NULL: there is no socket.  It is not connected: it carries no byte, and ends with the pool. */
static conn_rec *make_connection(const struct ccn_seen_as *from, const struct ndn_span *body, struct ccn_made *m,
                                 apr_pool_t *p, apr_thread_t *thread, unsigned number) {
    apr_socket_t *socket;
    conn_rec *c;

    if (apr_socket_create(&socket, APR_INET, SOCK_STREAM, APR_PROTO_TCP, p) != APR_SUCCESS) return NULL;
    c = new_connection(from, socket, p, thread, number);
    c->master = new_master(from, socket, p, thread, number);
    ap_set_module_config(c->conn_config, &ccn_module, m);
    ap_add_input_filter(NO_MORE, body->n ? apr_pmemdup(p, body, sizeof *body) : NULL, NULL, c);
    ap_add_output_filter(NOWHERE, NULL, NULL, c);
    ap_run_pre_connection(c, socket);
    return c;
}

static void seen_as(server_rec *s, apr_sockaddr_t *address, const char *ip, struct ccn_seen_as *as) {
    *as = (struct ccn_seen_as){ s, address, host_address, ip, "127.0.0.1" };
}
void ccn_make_as_host(server_rec *s, struct ccn_seen_as *as) { seen_as(s, host_address, "127.0.0.1", as); }
void ccn_make_as_nobody(server_rec *s, struct ccn_seen_as *as) { seen_as(s, nobodys_address, "0.0.0.0", as); }

static void add_fields(request_rec *r, const char *fields) {
    struct ndn_span rest = { (const uint8_t *)fields, fields ? strlen(fields) : 0 }, name, value;

    while (ccn_private_next(&rest, &name, &value))
        if (ccn_field_allowed((const char *)name.at, name.n))
            apr_table_mergen(r->headers_in, apr_pstrmemdup(r->pool, (const char *)name.at, name.n),
                             apr_pstrmemdup(r->pool, (const char *)value.at, value.n));
}

static void end_request(request_rec *r) {
    conn_rec *c = r->connection;
    apr_bucket_brigade *bb = apr_brigade_create(c->pool, c->bucket_alloc);

    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_eor_create(c->bucket_alloc, r));
    ap_pass_brigade(c->output_filters, bb);
}

static void run_request(conn_rec *c, const struct ccn_order *o) {
    request_rec *r = ap_create_request(c);
    int access;

    ap_run_pre_read_request(r, c);
    r->request_time = apr_time_now();
    r->method = o->media_type ? "POST" : "GET";
    r->method_number = o->media_type ? M_POST : M_GET;
    r->protocol = (char *)"HTTP/1.1";
    r->proto_num = HTTP_VERSION(1, 1);
    r->the_request = apr_psprintf(r->pool, "%s %s HTTP/1.1", r->method, o->url);
    r->hostname = r->server->server_hostname ? r->server->server_hostname : "localhost";
    apr_table_setn(r->headers_in, "Host", r->hostname);
    add_fields(r, o->fields);
    if (o->media_type) {
        apr_table_set(r->headers_in, "Content-Type", o->media_type);
        apr_table_setn(r->headers_in, "Content-Length", apr_psprintf(r->pool, "%" APR_SIZE_T_FMT, o->body.n));
    }
    ap_parse_uri(r, o->url);
    r->per_dir_config = r->server->lookup_defaults;
    apr_table_set(r->notes, "ccn-name", o->name);
    apr_table_setn(r->notes, "ccn-class", o->class);
    apr_table_setn(r->notes, "ccn-wait", apr_psprintf(r->pool, "%" APR_UINT64_T_FMT, o->waited_us));
    apr_table_setn(r->notes, "ccn-joined", apr_psprintf(r->pool, "%u", o->joined));
    apr_table_set(r->subprocess_env, "CCN_NAME", o->name);
    if (o->signer) apr_table_set(r->subprocess_env, "CCN_SIGNER", o->signer);
    ap_add_input_filter_handle(ap_http_input_filter_handle, NULL, r, c);
    access = r->status != HTTP_OK ? r->status : ap_run_post_read_request(r);
    if (access == OK || access == DECLINED) {
        ap_process_request(r);
    } else {
        r->status = HTTP_OK;
        ap_die(access, r);
        end_request(r);
    }
}

static void say_too_large(struct ccn_made *m) {
    static const char why[] = "This page is larger than this server can keep (a quarter of CcnPages).\n";

    m->status = HTTP_INSUFFICIENT_STORAGE;
    m->n = 0;
    m->too_large = false;
    take_bytes(m, why, sizeof why - 1);
    strcpy(m->media_type, "text/plain; charset=utf-8");
    m->location[0] = m->encoding[0] = '\0';
    m->freshness_ms = 0;
}

void ccn_make(const struct ccn_order *o, struct ccn_made *m, apr_thread_t *thread, unsigned number) {
    apr_allocator_t **mine = &memory[number];
    apr_pool_t *p;
    conn_rec *c;

    m->status = HTTP_INTERNAL_SERVER_ERROR;
    if (!*mine) {
        if (apr_allocator_create(mine) != APR_SUCCESS) {
            *mine = NULL;
            return;
        }
        apr_allocator_max_free_set(*mine, 1 << 20);
    }
    if (apr_pool_create_ex(&p, NULL, NULL, *mine) != APR_SUCCESS) return;
    apr_pool_tag(p, "ccn_make");
    c = make_connection(o->from, &o->body, m, p, thread, number);
    if (c) run_request(c, o);
    apr_pool_destroy(p);
    if (!m->whole && !m->too_large) m->n = 0; /* nobody has said for whom it is */
    if (m->too_large) say_too_large(m);
}
