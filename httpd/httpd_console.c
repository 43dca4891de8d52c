/* SPDX-License-Identifier: BSD-2-Clause */
#include "httpd_console.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>
#include <http_log.h>
#include <http_protocol.h>

#include "console/console_page.h"

#define PARAMETER_MAX 8192

static bool comes_from_this_host(const conn_rec *c) {
    const apr_sockaddr_t *a = c->client_addr;

    if (apr_sockaddr_equal(a, c->local_addr)) return true;
    if (a->family == APR_INET) return ntohl(a->sa.sin.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
#if APR_HAVE_IPV6
    if (a->family == APR_INET6) {
        const struct in6_addr *six = &a->sa.sin6.sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET);
    }
#endif
    return false;
}

const char *httpd_proxy_field(const request_rec *r) {
    static const char *const fields[] = { "X-Forwarded-For", "X-Real-IP", "Forwarded", "Via" };

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (apr_table_get(r->headers_in, fields[i])) return fields[i];
    return NULL;
}

/* That of a proxy on this host, or NULL; mod_remoteip has not put the client's address in place. */
static const char *unprocessed_proxy_field(const request_rec *r) {
    if (r->user || r->useragent_addr != r->connection->client_addr || !comes_from_this_host(r->connection)) return NULL;
    return httpd_proxy_field(r);
}

int httpd_status_begins(request_rec *r, const char *handler) {
    const char *field;

    if (!r->handler || strcmp(r->handler, handler)) return DECLINED;
    r->allowed = AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET) return HTTP_METHOD_NOT_ALLOWED;
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    field = unprocessed_proxy_field(r);
    if (!field) return OK;
    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                  "%s: refused: a proxy on this host sent the request (%s), so `Require local` would let every client "
                  "in; set `RemoteIPHeader` and `RemoteIPInternalProxy` of mod_remoteip, or ask this server itself",
                  handler, field);
    return HTTP_FORBIDDEN;
}

enum httpd_console httpd_console_asked(const request_rec *r) {
    static const char *const words[] = { NULL, "console", "console-now", "console-all" };
    static const char explain[] = "console-explain";

    if (!r->args || strncmp(r->args, "console", strlen("console"))) return HTTPD_CONSOLE_NOT;
    for (int i = HTTPD_CONSOLE_PAGE; i <= HTTPD_CONSOLE_ALL; i++)
        if (!strcmp(r->args, words[i])) return (enum httpd_console)i;
    return !strncmp(r->args, explain, sizeof explain - 1) && strchr("&", r->args[sizeof explain - 1])
               ? HTTPD_CONSOLE_EXPLAIN
               : HTTPD_CONSOLE_NOT;
}

bool httpd_console_word(const request_rec *r, const char *word) {
    size_t n = strlen(word);
    return r->args && !strncmp(r->args, word, n) && (!r->args[n] || !strcmp(r->args + n, "="));
}

int httpd_console_page(request_rec *r) {
    char policy[CONSOLE_POLICY];

    console_policy(policy, apr_table_get(r->subprocess_env, "fairgate-consoles"));
    apr_table_setn(r->headers_out, "Content-Security-Policy", apr_pstrdup(r->pool, policy));
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    apr_table_setn(r->headers_out, "Referrer-Policy", "no-referrer");
    apr_table_setn(r->err_headers_out, "Cross-Origin-Resource-Policy", "same-origin");
    ap_set_content_type(r, "text/html; charset=utf-8");
    ap_set_content_length(r, (apr_off_t)console_page_bytes);
    ap_rwrite(console_page, (int)console_page_bytes, r);
    return OK;
}

int httpd_console_head(request_rec *r, const char *type) {
    const char *origin = apr_table_get(r->headers_in, "Origin"),
               *from = apr_table_get(r->subprocess_env, "fairgate-console-from");

    ap_set_content_type(r, type);
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    apr_table_setn(r->err_headers_out, "Cross-Origin-Resource-Policy", "same-origin");
    if (console_foreign(apr_table_get(r->headers_in, "Sec-Fetch-Site"), origin ? origin : "", from))
        return HTTP_FORBIDDEN;
    if (!from) return OK;
    apr_table_mergen(r->headers_out, "Vary", "Origin");
    if (origin && console_allows(origin, from)) apr_table_setn(r->headers_out, "Access-Control-Allow-Origin", origin);
    return OK;
}

int httpd_console_figures(request_rec *r) {
    if (httpd_console_word(r, "json")) return httpd_console_head(r, HTTPD_CONSOLE_JSON);
    if (httpd_console_word(r, "prometheus")) return httpd_console_head(r, BASE_PROMETHEUS_TYPE);
    return DECLINED;
}

/* What a process told last: all but the end.  Its memory grows to what is needed, and stays. */
static struct {
    pthread_mutex_t lock;
    uint64_t number; /* of the sample; 0: none */
    size_t n, room;
    char *text;
    bool failed;
} told = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void told_takes(void *to, const char *text, size_t bytes) {
    (void)to;
    if (bytes > told.room - told.n) {
        size_t room = 2 * (told.n + bytes);
        char *larger = realloc(told.text, room);
        if (!larger) {
            told.failed = true;
            return;
        }
        told.text = larger;
        told.room = room;
    }
    memcpy(told.text + told.n, text, bytes);
    told.n += bytes;
}

static void tell_recent(request_rec *r, const struct console_ring *ring, httpd_console_look *look) {
    uint64_t number = atomic_load(&ring->added);
    struct console_told t = { .ring = ring };
    char *copy;
    size_t n;

    pthread_mutex_lock(&told.lock);
    if (!number || told.number != number) {
        told.n = 0;
        told.failed = false;
        look(r, &t);
        console_tell((struct base_sink){ told_takes, NULL }, &t, false);
        told.number = told.failed ? 0 : number;
    }
    n = told.failed ? 0 : told.n;
    copy = apr_pmemdup(r->pool, told.text ? told.text : "", n);
    pthread_mutex_unlock(&told.lock);
    ap_rwrite(copy, (int)n, r);
}

static void client_takes(void *to, const char *text, size_t bytes) { ap_rwrite(text, (int)bytes, to); }

int httpd_console_tell(request_rec *r, const struct console_ring *ring, httpd_console_look *look,
                       enum httpd_console asked) {
    struct console_told t = { .ring = ring };
    int rv = httpd_console_head(r, HTTPD_CONSOLE_JSON);

    if (rv != OK) return rv;
    if (asked == HTTPD_CONSOLE_NOW) {
        tell_recent(r, ring, look);
    } else {
        look(r, &t);
        console_tell((struct base_sink){ client_takes, r }, &t, true);
    }
    console_tell_end((struct base_sink){ client_takes, r }, r->server->server_hostname,
                     apr_table_get(r->subprocess_env, "fairgate-consoles"));
    return OK;
}

const char *httpd_console_parameter(request_rec *r, const char *name) {
    size_t n = strlen(name);

    for (const char *at = r->args; at; at = strchr(at, '&')) {
        size_t length;
        char *value;

        at += *at == '&';
        length = strcspn(at, "&");
        if (length <= n || strncmp(at, name, n) || at[n] != '=') continue;
        if (length - n - 1 > PARAMETER_MAX) return NULL;
        value = apr_pstrmemdup(r->pool, at + n + 1, length - n - 1);
        return ap_unescape_urlencoded(value) == OK ? value : NULL;
    }
    return NULL;
}
