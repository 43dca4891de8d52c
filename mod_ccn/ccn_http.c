/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_http.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ap_mpm.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>

#include "ccn_address.h"
#include "ccn_call.h"
#include "ccn_class.h"
#include "ccn_header.h"
#include "ccn_origin.h"
#include "ccn_services.h"
#include "service/service_listing.h"

APLOG_USE_MODULE(ccn);

#define P        ccn_process
#define HANDLER  "fairgate-ccn-services"
#define RESULTS  "/=/"               /* what results of calls that went on are kept under, and found below the root */
#define LATER_US UINT64_C(600000000) /* how long such a result is there for who asked */
#define RETRY_S  "2"

/* ---- what the URL asks for --------------------------------------------------------------------------------------- */

enum asks { ASKS_LISTING, ASKS_OPENAPI, ASKS_RESULT, ASKS_CALL };

/* A request's own, while it is one of ours. */
struct asked {
    enum asks what;
    const char *service; /* its name */
    const char *uri;     /* as others see it; once it is another one, the request is theirs (mod_rewrite) */
    const char *call;    /* all of it as text; NULL: the body has its parameters. ASKS_RESULT: its key */
};

static struct asked *asked_of(const request_rec *r) { return ap_get_module_config(r->request_config, &ccn_module); }

/* What stands below the path that CcnServices names, as the client wrote it; NULL: it is elsewhere. */
static const char *below_root(const request_rec *r) {
    const char *root = ccn_host_of(r->server)->services, *uri = r->unparsed_uri;
    size_t n;

    if (!root || !uri || ccn_host_of(r->server)->on == 1) return NULL;
    if (*uri != '/') { /* http://host/path */
        uri = ap_strstr_c(uri, "://");
        uri = uri ? ap_strchr_c(uri + 3, '/') : NULL;
        if (!uri) return NULL;
    }
    n = strlen(root);
    if (strncmp(uri, root, n) || (uri[n] && uri[n] != '/' && uri[n] != '?')) return NULL;
    return uri + n;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Escapes become what they stand for; NULL: one is none, or stands for NUL. */
static char *unescaped(apr_pool_t *p, const char *text) {
    char *out = apr_palloc(p, strlen(text) + 1), *to = out;

    for (; *text; text++) {
        int high, low;
        if (*text != '%') {
            *to++ = *text;
            continue;
        }
        high = hex_digit(text[1]);
        low = high < 0 ? -1 : hex_digit(text[2]);
        if (low < 0 || !(high << 4 | low)) return NULL;
        *to++ = (char)(high << 4 | low);
        text += 2;
    }
    *to = '\0';
    return out;
}

int ccn_http_pre_translate(request_rec *r) {
    const char *rest = below_root(r), *root = ccn_host_of(r->server)->services, *mark;
    struct asked *a;
    char *text;

    if (!rest) return DECLINED;
    a = apr_pcalloc(r->pool, sizeof *a);
    text = unescaped(r->pool, rest);
    if (!text) return HTTP_BAD_REQUEST;
    mark = ap_strstr_c(text, "/!");
    if (!mark) text[strcspn(text, "?")] = '\0';
    a->service = mark ? apr_pstrmemdup(r->pool, text, (apr_size_t)(mark - text)) : text;
    if (mark) a->call = text;
    if (!*text || !strcmp(text, "/")) {
        a->what = ASKS_LISTING;
        a->service = "/";
    } else if (!strcmp(text, "/openapi.json")) {
        a->what = ASKS_OPENAPI;
    } else if (!strncmp(text, RESULTS, strlen(RESULTS))) {
        a->what = ASKS_RESULT;
        a->service = "/=";
        a->call = text;
    } else {
        a->what = ASKS_CALL;
        if (service_name_wrong(a->service, strlen(a->service))) return HTTP_NOT_FOUND;
    }
    ap_set_module_config(r->request_config, &ccn_module, a);
    r->uri = apr_pstrcat(r->pool, root, a->service, NULL);
    a->uri = r->uri;
    r->parsed_uri.path = r->uri;
    r->args = NULL;
    return DONE;
}

int ccn_http_translate(request_rec *r) {
    const struct asked *a = asked_of(r);

    if (!a || strcmp(r->uri, a->uri)) return DECLINED;
    r->handler = HANDLER;
    r->filename = apr_pstrcat(r->pool, HANDLER ":", r->uri, NULL);
    return OK;
}

static bool is_call_of_ours(const request_rec *r) { return asked_of(r) && r->handler && !strcmp(r->handler, HANDLER); }

/* A file that a rule has put in its place has its <Directory>. */
int ccn_http_map_to_storage(request_rec *r) { return is_call_of_ours(r) ? OK : DECLINED; }

/* ---- who waits --------------------------------------------------------------------------------------------------- */

/*
 * Of a thread of httpd that waits, and of whoever has the result: the last one frees it.  Half of a child's threads may
 * wait, so that other requests have the rest; when one more comes, who has waited longest is answered 202.
 */
struct http_wait {
    struct http_wait *next, *before; /* in the line, under `line` */
    bool in_line;
    pthread_mutex_t lock;
    pthread_cond_t came;
    bool done, left, is_to_leave;
    char key[sizeof RESULTS + 32]; /* where its result goes, if its thread has left */
    struct ccn_result *result;
};

static pthread_mutex_t line = PTHREAD_MUTEX_INITIALIZER;
static struct http_wait *longest, *latest;
static int in_line;

static void line_unlink(struct http_wait *w) {
    if (!w->in_line) return;
    *(w->before ? &w->before->next : &longest) = w->next;
    *(w->next ? &w->next->before : &latest) = w->before;
    w->in_line = false;
    in_line--;
}

static void line_leave(struct http_wait *w) {
    pthread_mutex_lock(&line);
    line_unlink(w);
    pthread_mutex_unlock(&line);
}

static void line_join(struct http_wait *w) {
    static int most;

    pthread_mutex_lock(&line);
    if (!most) ap_mpm_query(AP_MPMQ_MAX_THREADS, &most);
    if (in_line && in_line >= most / 2) {
        struct http_wait *first = longest;
        line_unlink(first);
        /* It can't go before it has this lock once more. */
        pthread_mutex_lock(&first->lock);
        first->is_to_leave = true;
        pthread_cond_signal(&first->came);
        pthread_mutex_unlock(&first->lock);
    }
    w->next = NULL;
    w->before = latest;
    *(latest ? &latest->next : &longest) = w;
    latest = w;
    w->in_line = true;
    in_line++;
    pthread_mutex_unlock(&line);
}

static void wait_free(struct http_wait *w) {
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->came);
    ccn_result_release(&w->result);
    free(w);
}

static struct http_wait *wait_new(void) {
    struct http_wait *w = calloc(1, sizeof *w);
    pthread_condattr_t monotonic;

    if (!w) return NULL;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->came, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return w;
}

/* It is kept for another one who waited for it: a line that says where, however many come. */
static struct ccn_result *result_elsewhere(const char *where) {
    struct ccn_made m = { .status = HTTP_SEE_OTHER, .body = (uint8_t *)strdup(where), .n = strlen(where) };

    return m.body ? ccn_result_new(&m) : NULL;
}

static bool keep_copy(const char *key, struct ccn_result *r, uint64_t until) {
    struct ccn_result *elsewhere = *r->promised ? result_elsewhere(r->promised) : NULL;
    bool kept = ccn_results_put_promised(key, elsewhere ? elsewhere : r, until);

    if (kept && !elsewhere && strlen(key) < sizeof r->promised) strcpy(r->promised, key);
    ccn_result_release(&elsewhere);
    return kept;
}

/* Who was told to come again finds it, or why it is not there. */
static void keep_promise(const char *key, struct ccn_result *r) {
    uint64_t until = (uint64_t)apr_time_now() + LATER_US;
    struct service_problem problem = { 0 };
    struct ccn_result *why;

    if (r && !r->made.is_private && keep_copy(key, r, until)) return;
    if (r && r->made.is_private)
        service_fail(&problem, SERVICE_PRIVATE,
                     "the result is for one caller and is not kept, not even until it is asked for (CcnAnswerWithin)");
    else
        service_fail(&problem, SERVICE_BUSY, "there was no room to keep the result until it is asked for (CcnResults)");
    why = ccn_result_problem(&problem);
    if (why) ccn_results_put_promised(key, why, until);
    ccn_result_release(&why);
}

static void result_came(void *of, struct ccn_result *r) {
    struct http_wait *w = of;
    bool left;

    pthread_mutex_lock(&w->lock);
    w->result = r;
    w->done = true;
    left = w->left;
    pthread_cond_signal(&w->came);
    pthread_mutex_unlock(&w->lock);
    if (!left) return;
    if (*w->key) keep_promise(w->key, r);
    wait_free(w);
}

/* True: it came. */
static bool wait_for_result(struct http_wait *w, int seconds) {
    struct timespec until;
    bool done;
    int rv = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&w->lock);
    while (!w->done && !w->is_to_leave && !rv) rv = pthread_cond_timedwait(&w->came, &w->lock, &until);
    done = w->done;
    pthread_mutex_unlock(&w->lock);
    return done;
}

/*
 * Its result has a name from now on, under which it is not there yet; which is not told, for nobody else to ask for.
 * "": there is no room for results, and it will be nowhere.  False: it has come.
 */
static bool leave_place(struct http_wait *w, char *key) {
    struct ccn_made m = { .status = HTTP_ACCEPTED, .media_type = "application/json" };
    uint64_t drawn[2], holder = ccn_seat_holder();
    struct ccn_result *r;
    bool done;

    m.body = malloc(sizeof holder);
    if (m.body) memcpy(m.body, &holder, m.n = sizeof holder);
    r = ccn_result_new(&m);

    arc4random_buf(drawn, sizeof drawn);
    snprintf(w->key, sizeof w->key, RESULTS "%016" PRIx64 "%016" PRIx64, drawn[0], drawn[1]);
    if (!r || !ccn_results_put_promised(w->key, r, (uint64_t)apr_time_now() + LATER_US)) *w->key = '\0';
    ccn_result_release(&r);
    strcpy(key, w->key);
    pthread_mutex_lock(&w->lock);
    done = w->done;
    w->left = !done;
    pthread_mutex_unlock(&w->lock);
    return !done;
}

/* ---- what it gets ------------------------------------------------------------------------------------------------ */

static int send_text(request_rec *r, int status, const char *type, const char *text, size_t n) {
    if (status != HTTP_OK) r->status = status; /* a call that is an ErrorDocument has the status of what went wrong */
    ap_set_content_type(r, apr_pstrdup(r->pool, type));
    ap_set_content_length(r, (apr_off_t)n);
    if (!r->header_only) ap_rwrite(text, (int)n, r);
    return OK;
}

static int send_problem(request_rec *r, struct service_problem *problem) {
    int status = service_problem_status(problem->kind), rv;
    size_t n;
    char *text = service_problem_text(problem, &n);

    service_problem_free(problem);
    if (!text) return HTTP_SERVICE_UNAVAILABLE;
    rv = send_text(r, status, SERVICE_PROBLEM_TYPE, text, n);
    free(text);
    return rv;
}

/* What is no call that could be read, in the form of a problem as well: RFC 9457 has about:blank for a status alone. */
static int send_no_call(request_rec *r, int status, const char *detail) {
    const char *text =
        apr_psprintf(r->pool, "{\"detail\":\"%s\",\"status\":%d,\"title\":\"%s\",\"type\":\"about:blank\"}", detail,
                     status, ap_get_status_line(status) + 4);

    return send_text(r, status, SERVICE_PROBLEM_TYPE, text, strlen(text));
}

/* The body, however long, stays unread. */
static int send_not_ours(request_rec *r, int status, const char *detail) {
    if (r->method_number != M_GET) r->connection->keepalive = AP_CONN_CLOSE;
    return send_no_call(r, status, detail);
}

static int send_result(request_rec *r, const struct ccn_result *result) {
    const struct ccn_made *m = &result->made;
    uint64_t now = (uint64_t)apr_time_now();

    if (*m->encoding) apr_table_set(r->headers_out, "Content-Encoding", m->encoding);
    /* What others gave comes back from this site: nothing in it is to run as if it were the site's own. */
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    apr_table_setn(r->headers_out, "Content-Security-Policy", "sandbox");
    if (m->is_private) apr_table_setn(r->headers_out, "Cache-Control", "private");
    else if (result->is_problem || !result->fresh_us) apr_table_setn(r->headers_out, "Cache-Control", "no-cache");
    else
        apr_table_setn(
            r->headers_out, "Cache-Control",
            apr_psprintf(r->pool, "max-age=%" APR_UINT64_T_FMT, (result->fresh_us - result->at_us) / 1000000));
    if (result->from_cache)
        apr_table_setn(
            r->headers_out, "Age",
            apr_psprintf(r->pool, "%" APR_UINT64_T_FMT, now > result->at_us ? (now - result->at_us) / 1000000 : 0));
    return send_text(r, m->status, *m->media_type ? m->media_type : "application/octet-stream", (const char *)m->body,
                     m->n);
}

/* Its result will be there. */
static int send_later(request_rec *r, const char *key) {
    const char *at = apr_pstrcat(r->pool, ccn_host_of(r->server)->services, key, NULL),
               *text = apr_psprintf(r->pool, "{\"result\":\"%s\",\"retry_after\":" RETRY_S ",\"status\":202}\n", at);

    apr_table_setn(r->headers_out, "Location", at);
    apr_table_setn(r->headers_out, "Retry-After", RETRY_S);
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    return send_text(r, HTTP_ACCEPTED, "application/json", text, strlen(text));
}

/* What stands at a place as long as its result is not there: the process that has it in work. */
static bool is_in_work(const struct ccn_result *place) {
    uint64_t holder;

    if (place->made.n != sizeof holder) return false;
    memcpy(&holder, place->made.body, sizeof holder);
    /* Who has left the segment does not see the others any more. */
    return ccn_holder_lives(holder) || shm_has_left(&P.view);
}

/* It will not: its process died, or was stopped, before there was one. */
static int send_ended(request_rec *r) {
    struct service_problem problem = { 0 };

    service_fail(&problem, SERVICE_BUSY, "the process that had it in work has ended: call it again");
    return send_problem(r, &problem);
}

/* It will not: there is no room for it. */
static int send_no_room(request_rec *r) {
    struct service_problem problem = { 0 };

    service_fail(&problem, SERVICE_BUSY,
                 "it takes longer than is waited for, and there is no room to keep its result (CcnResults)");
    return send_problem(r, &problem);
}

static int send_kept(request_rec *r, const char *key) {
    struct ccn_result *result = ccn_results_get(key);
    bool ended = result && result->made.status == HTTP_ACCEPTED && !is_in_work(result);
    int rv;

    if (ended) { /* it may have left a result before it ended */
        ccn_result_release(&result);
        result = ccn_results_get(key);
        ended = result && result->made.status == HTTP_ACCEPTED;
    }
    if (result && result->made.status == HTTP_SEE_OTHER) {
        const char *where = apr_pstrmemdup(r->pool, (const char *)result->made.body, result->made.n);
        ccn_result_release(&result);
        result = ccn_results_get(where);
    }
    if (!result) return HTTP_NOT_FOUND;
    if (ended) rv = send_ended(r);
    else rv = result->made.status == HTTP_ACCEPTED ? send_later(r, key) : send_result(r, result);
    ccn_result_release(&result);
    return rv;
}

static int send_listing(request_rec *r, enum asks what) {
    const char *root = ccn_host_of(r->server)->services;
    char *text;
    size_t n;
    int rv;

    text = what == ASKS_OPENAPI ? service_openapi(ccn_services(), root, r->server->server_hostname, &n)
                                : service_listing(ccn_services(), SERVICE_HTTP, &n);
    if (!text) return HTTP_SERVICE_UNAVAILABLE;
    rv = send_text(r, HTTP_OK, "application/json", text, n);
    free(text);
    return rv;
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

/* The parameters that were posted; NULL: *status. */
static json_t *read_body(request_rec *r, int *status, struct service_problem *problem) {
    const char *type = apr_table_get(r->headers_in, "Content-Type");
    char *bytes = apr_palloc(r->pool, SERVICE_CALL_MAX + 1), *error = NULL;
    size_t n = 0;
    json_t *arguments;
    long got;

    *status = HTTP_UNSUPPORTED_MEDIA_TYPE;
    if (!type || ap_cstr_casecmpn(type, "application/json", 16) || !strchr("; \t", type[16])) return NULL;
    *status = ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK);
    if (*status != OK) return NULL;
    if (r->remaining > SERVICE_CALL_MAX) n = SERVICE_CALL_MAX + 1; /* what it says is enough */
    if (n == 0 && ap_should_client_block(r))
        while ((got = ap_get_client_block(r, bytes + n, SERVICE_CALL_MAX + 1 - n)) > 0) {
            n += (size_t)got;
            if (n > SERVICE_CALL_MAX) break;
        }
    else got = 0;
    *status = OK;
    if (n > SERVICE_CALL_MAX) {
        r->connection->keepalive = AP_CONN_CLOSE; /* the rest stays unread */
        service_fail(problem, SERVICE_TOO_MUCH, "the parameters may have %u bytes", SERVICE_CALL_MAX);
        return NULL;
    }
    if (got < 0) {
        *status = HTTP_BAD_REQUEST;
        return NULL;
    }
    arguments = service_json_read(bytes, n, &error);
    if (!arguments) service_fail_with(problem, SERVICE_NOT_JSON, &error);
    return arguments;
}

static int may_call(request_rec *r, const char *service) {
    const char *root = ccn_host_of(r->server)->services;
    request_rec *sub =
        ap_sub_req_lookup_uri(ap_escape_uri(r->pool, apr_pstrcat(r->pool, root, service, NULL)), r, NULL);
    int rv = sub->status == HTTP_OK ? OK : sub->status;

    ap_destroy_sub_req(sub);
    return rv;
}

/*
 * Calls that stand in it, as deep as they may: each is asked about, as if it came by itself.  HTTP_BAD_REQUEST, and the
 * problem: there are more than may be.
 */
static int may_call_inner(request_rec *r, const json_t *arguments, unsigned deep, unsigned *calls,
                          struct service_problem *problem) {
    const char *key;
    json_t *value;
    int rv = OK;

    json_object_foreach((json_t *)(uintptr_t)arguments, key, value) {
        struct service_problem wrong = { 0 };
        struct service_call call;
        unsigned first;

        if (rv != OK || !json_is_string(value) || deep > SERVICE_CALLS_DEEP ||
            !service_is_call(json_string_value(value), json_string_length(value)))
            continue;
        if (++*calls > SERVICE_CALLS_MAX) {
            service_fail(problem, SERVICE_TOO_DEEP, "at most %u calls may stand in one", SERVICE_CALLS_MAX);
            return HTTP_BAD_REQUEST;
        }
        if (service_call_read(json_string_value(value), json_string_length(value), &call, &wrong)) {
            service_problem_free(&wrong); /* what is wrong with it is told later */
            continue;
        }
        if (service_table_find(ccn_services(), call.service, &first)) rv = may_call(r, call.service);
        if (rv == OK) rv = may_call_inner(r, call.arguments, deep + 1, calls, problem);
        service_call_free(&call);
    }
    return rv;
}

static bool wants_fresh(const request_rec *r) {
    const char *control = apr_table_get(r->headers_in, "Cache-Control"),
               *pragma = apr_table_get(r->headers_in, "Pragma");
    return (control && ap_find_token(r->pool, control, "no-cache")) ||
           (!control && pragma && ap_find_token(r->pool, pragma, "no-cache"));
}

static int call_and_wait(request_rec *r, const struct service_call *call) {
    const struct ccn_seen_as as = { r->server, r->useragent_addr, r->connection->local_addr, r->useragent_ip,
                                    r->connection->local_ip };
    struct ccn_caller who = {
        .class = ccn_class_by_policy(&as, r->uri, (struct ndn_span){ NULL, 0 }),
        .over = SERVICE_HTTP,
        .fresh = wants_fresh(r),
        .alone = true,
        .whose =
            (uint32_t)ccn_address(P.hash_key, r->useragent_addr->ipaddr_ptr, (size_t)r->useragent_addr->ipaddr_len),
    };
    struct http_wait *w = wait_new();
    bool came;
    int rv;

    if (!w) return HTTP_SERVICE_UNAVAILABLE;
    ccn_call_read(&who, call, result_came, w);
    if (P.threaded) line_join(w);
    came = wait_for_result(w, ccn_config()->answer_within);
    line_leave(w);
    /* Where handlers can't run side by side (prefork), this thread must not go on to other requests meanwhile. */
    while (!came && !P.threaded) came = wait_for_result(w, ccn_config()->answer_within);
    if (!came) {
        char key[sizeof w->key];
        /* Whoever has the result frees it from now on. */
        if (leave_place(w, key)) return *key ? send_later(r, key) : send_no_room(r);
    }
    rv = w->result ? send_result(r, w->result) : HTTP_SERVICE_UNAVAILABLE;
    wait_free(w);
    return rv;
}

static int handle_call(request_rec *r, const struct asked *a) {
    struct service_problem problem = { 0 };
    struct service_call call;
    json_t *arguments;
    unsigned calls = 1; /* itself */
    int rv = OK;

    if (a->call) {
        if (service_call_read(a->call, strlen(a->call), &call, &problem)) return send_problem(r, &problem);
    } else {
        arguments = read_body(r, &rv, &problem);
        if (!arguments && rv == HTTP_UNSUPPORTED_MEDIA_TYPE)
            return send_no_call(r, rv, "parameters are posted as one JSON object, with Content-Type: application/json");
        if (!arguments) return problem.kind ? send_problem(r, &problem) : rv;
        rv = service_call_of(a->service, strlen(a->service), arguments, &call, &problem);
        json_decref(arguments);
        if (rv) return send_problem(r, &problem);
    }
    rv = may_call_inner(r, call.arguments, 2, &calls, &problem);
    if (rv == OK) rv = call_and_wait(r, &call);
    else if (problem.kind) rv = send_problem(r, &problem);
    service_call_free(&call);
    return rv;
}

int ccn_http_handler(request_rec *r) {
    const struct asked *a = asked_of(r);

    if (!is_call_of_ours(r)) return DECLINED;
    if (P.row == SHM_NO_ROW || !P.view.sh) return HTTP_SERVICE_UNAVAILABLE;
    if (ccn_origin_is_misdirected(r))
        return send_not_ours(r, HTTP_MISDIRECTED_REQUEST,
                             "the Host field is no name of this virtual host (ServerName, ServerAlias)");
    r->allowed = 0;
    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, a->what == ASKS_CALL && !a->call ? M_POST : -1, -1);
    if (a->what == ASKS_RESULT) return r->method_number == M_GET ? send_kept(r, a->call) : HTTP_METHOD_NOT_ALLOWED;
    if (a->what != ASKS_CALL) return r->method_number == M_GET ? send_listing(r, a->what) : HTTP_METHOD_NOT_ALLOWED;
    if (r->method_number != (a->call ? M_GET : M_POST)) {
        apr_table_setn(r->err_headers_out, "Allow", a->call ? "GET, HEAD" : "POST");
        return send_no_call(r, HTTP_METHOD_NOT_ALLOWED,
                            a->call ? "a call by its name, with parameters behind a !, is a GET"
                                    : "a service's name without parameters behind a ! is called by a POST of them");
    }
    if (ccn_origin_is_foreign(r))
        return send_not_ours(r, HTTP_FORBIDDEN, "a page of another site may not call services here");
    if (ccn_make_is_ours(r->connection)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "ccn: a page that is made in a service thread can't call a service, which needs such a thread");
        return HTTP_LOOP_DETECTED;
    }
    return handle_call(r, a);
}
