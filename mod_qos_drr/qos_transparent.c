/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_transparent.h"

#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/netfilter_ipv4.h>

#include <apr_portable.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>

#include "qos_classify.h"
#include "qos_refuse.h"
#include "qos_source.h"
#include "web/web_address.h"
#include "web/web_own.h"

APLOG_USE_MODULE(qos_drr);

#define IP6T_SO_ORIGINAL_DST 80 /* linux/netfilter_ipv6/ip6_tables.h, which C libraries of old don't bear */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Where it was going before it was redirected.  A socket of IPv6 may have a client of IPv4. */
static bool original(int fd, union address *a) {
    static const struct {
        int level, option;
    } ways[] = { { SOL_IP, SO_ORIGINAL_DST }, { SOL_IPV6, IP6T_SO_ORIGINAL_DST } };

    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        socklen_t n = sizeof *a;

        if (!getsockopt(fd, ways[i].level, ways[i].option, a, &n)) return true;
    }
    return false;
}

/* An IPv4 address that the kernel gives in the form of IPv6 (::ffff:a.b.c.d) becomes an IPv4 address. */
static void unmap(union address *a) {
    struct sockaddr_in v4 = { .sin_family = AF_INET };

    if (a->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr)) return;
    v4.sin_port = a->v6.sin6_port;
    memcpy(&v4.sin_addr, a->v6.sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
    a->v4 = v4;
}

static apr_sockaddr_t *transparent_address(const union address *a, apr_pool_t *p) {
    char ip[INET6_ADDRSTRLEN];
    apr_sockaddr_t *made = NULL;
    bool v6 = a->any.sa_family == AF_INET6;
    const void *bytes = v6 ? (const void *)&a->v6.sin6_addr : (const void *)&a->v4.sin_addr;

    if (!inet_ntop(a->any.sa_family, bytes, ip, sizeof ip) ||
        apr_sockaddr_info_get(&made, ip, v6 ? APR_INET6 : APR_INET, ntohs(v6 ? a->v6.sin6_port : a->v4.sin_port), 0,
                              p) != APR_SUCCESS)
        return NULL;
    return made;
}

/*
 * NULL: the connection was not redirected, or to an address to which no client may go through another host: loopback,
 * unspecified, link-local, multicast, reserved.  Private addresses are those of servers behind.
 */
static apr_sockaddr_t *find_meant(conn_rec *c, bool *own) {
    union address a;
    conn_rec *wire = c->master ? c->master : c;
    apr_socket_t *socket = ap_get_conn_socket(wire);
    apr_os_sock_t fd;
    apr_sockaddr_t *meant;

    if (!socket || apr_os_sock_get(&fd, socket) != APR_SUCCESS || !original(fd, &a)) return NULL;
    unmap(&a);
    if (web_address_is_loopback(&a.any) || web_address_range(&a.any) == WEB_NEVER) return NULL;
    meant = transparent_address(&a, c->pool);
    if (!meant || (meant->port == c->local_addr->port && apr_sockaddr_equal(meant, c->local_addr))) return NULL;
    *own = web_address_is_own(&a.any);
    return meant;
}

const apr_sockaddr_t *qos_transparent_meant(conn_rec *c) {
    const struct qos_conn *k = ap_get_module_config(c->conn_config, &qos_drr_module);

    return k && k->meant ? k->meant : c->local_addr;
}

int qos_transparent_translate(request_rec *r) {
    const struct qos_dir *dir = ap_get_module_config(r->per_dir_config, &qos_drr_module);
    struct qos_conn *k;
    const char *target;
    char ip[INET6_ADDRSTRLEN];

    /* A page of an error is this server's own. */
    if (dir->transparent != 1 || r->main || qos_refuse_is_error_page(r)) return DECLINED;
    if (r->method_number == M_OPTIONS && !strcmp(r->uri, "*")) return DECLINED; /* httpd answers for itself */
    /* As the client wrote it: httpd has decoded r->uri, and r->parsed_uri.path with it. */
    target = qos_classify_target(r);
    k = qos_conn_of(r->connection);
    if (!k->meant_sought) k->meant = find_meant(r->connection, &k->meant_own);
    k->meant_sought = true;
    if (!k->meant || r->uri[0] != '/' || r->method_number == M_CONNECT ||
        apr_sockaddr_ip_getbuf(ip, sizeof ip, k->meant) != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      "qos: QosTransparent: this connection was not redirected here from an address of a server");
        return HTTP_FORBIDDEN;
    }
    if (k->meant_own) qos_source_want(r, k->meant);
    /* "GET http://host HTTP/1.1" has no path. */
    r->filename =
        apr_psprintf(r->pool, strchr(ip, ':') ? "proxy:http://[%s]:%u%s%.*s" : "proxy:http://%s:%u%s%.*s", ip,
                     (unsigned)k->meant->port, target[0] == '/' ? "" : "/", (int)strcspn(target, "#"), target);
    r->proxyreq = PROXYREQ_REVERSE;
    r->handler = "proxy-server";
    apr_table_setn(r->notes, "proxy-nocanon", "1"); /* as its client wrote it */
    return OK;
}
