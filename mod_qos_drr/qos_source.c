/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_source.h"

#include <stdbool.h>
#include <string.h>

#include <ap_listen.h>
#include <apr_hash.h>
#include <apr_optional_hooks.h>
#include <http_config.h>
#include <http_connection.h>
#include <http_log.h>
#include <mod_proxy.h>

#include "qos_config.h"

APLOG_USE_MODULE(qos_drr);

static const char note[] = "fairgate-source";

/* Of one server and family. */
struct source {
    server_rec server;
    char later_fields[512]; /* zeros, where a newer httpd has more fields than the one of this build */
    server_rec *of;
    const char *text;
    const apr_sockaddr_t *address;
};

/* Of this child; only read after child_init. */
static struct {
    apr_hash_t *of4, *of6; /* by the server that it is a copy of */
    apr_hash_t *copies;    /* by the copy */
} sources;

void qos_source_want(request_rec *r, const apr_sockaddr_t *backend) {
    apr_table_setn(r->notes, note, backend->family == APR_INET6 ? QOS_SOURCE6 : QOS_SOURCE4);
}

static struct source *source_copied(const server_rec *s) {
    return sources.copies ? apr_hash_get(sources.copies, &s, sizeof s) : NULL;
}

/* The server's configuration, but for mod_proxy's: bound to that address, and without workers. */
static ap_conf_vector_t *source_config(apr_pool_t *p, server_rec *s, module *proxy, apr_sockaddr_t *address) {
    ap_conf_vector_t *made = ap_create_request_config(p);
    proxy_server_conf *own = proxy->create_server_config(p, s), *merged;

    own->source_address = address;
    own->source_address_set = 1;
    /* mod_proxy's own function knows how large its structure is today. */
    merged = proxy->merge_server_config(p, ap_get_module_config(s->module_config, proxy), own);
    merged->workers = own->workers;
    for (module *m = ap_top_module; m; m = m->next)
        ap_set_module_config(made, m, m == proxy ? merged : ap_get_module_config(s->module_config, m));
    return made;
}

static void source_make(apr_pool_t *p, server_rec *s, module *proxy, apr_hash_t *by_server, const char *text,
                        int family) {
    struct source *made = apr_pcalloc(p, sizeof *made);
    server_rec **keys = apr_palloc(p, 2 * sizeof *keys);
    apr_sockaddr_t *address;

    if (apr_sockaddr_info_get(&address, text, family, 0, 0, p) != APR_SUCCESS) return;
    made->server = *s;
    made->server.module_config = source_config(p, s, proxy, address);
    made->of = s;
    made->text = text;
    made->address = address;
    keys[0] = s;
    keys[1] = &made->server;
    apr_hash_set(by_server, &keys[0], sizeof keys[0], made);
    apr_hash_set(sources.copies, &keys[1], sizeof keys[1], made);
}

static void source_child_init(apr_pool_t *p, server_rec *s) {
    module *proxy = ap_find_linked_module("mod_proxy.c");

    if (!proxy || !qos_config()->transparent) return;
    sources.of4 = apr_hash_make(p);
    sources.of6 = apr_hash_make(p);
    sources.copies = apr_hash_make(p);
    for (; s; s = s->next) {
        source_make(p, s, proxy, sources.of4, QOS_SOURCE4, APR_INET);
        source_make(p, s, proxy, sources.of6, QOS_SOURCE6, APR_INET6);
    }
}

static int source_handler(request_rec *r) {
    const char *wanted = r->proxyreq == PROXYREQ_REVERSE ? apr_table_get(r->notes, note) : NULL;
    struct source *found;

    if (!wanted) return DECLINED;
    found = apr_hash_get(strchr(wanted, ':') ? sources.of6 : sources.of4, &r->server, sizeof r->server);
    if (!found) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "qos: QosTransparent: no connection from %s is possible in this child", wanted);
        return HTTP_SERVICE_UNAVAILABLE;
    }
    r->server = &found->server;
    return DECLINED;
}

static int source_restore(int *status, request_rec *r) {
    const struct source *found = source_copied(r->server);

    (void)status;
    if (found) r->server = found->of;
    return DECLINED;
}

/* mod_proxy has connected, and has sent nothing yet. */
static int source_pre_connection(conn_rec *c, void *socket) {
    const struct source *wanted = source_copied(c->base_server);

    (void)socket;
    if (!wanted || apr_sockaddr_equal(c->local_addr, wanted->address)) return OK;
    ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, c,
                  "qos: QosTransparent: %s is not on lo, so the server at %pI would take every client for a local one: "
                  "request refused; fairgate-transparent --mode site start adds the address",
                  wanted->text, c->client_addr);
    return HTTP_SERVICE_UNAVAILABLE;
}

/* ---- mod_remoteip ------------------------------------------------------------------------------------------------ */

struct named {
    apr_pool_t *p;
    apr_sockaddr_t *address[2];
    bool is[2];
};

static void source_named(void *named, const char *args) {
    struct named *n = named;
    char *word;

    while (*(word = ap_getword_conf(n->p, &args))) {
        char *mask = strchr(word, '/');
        apr_ipsubnet_t *net;

        if (mask) *mask++ = 0;
        if (apr_ipsubnet_create(&net, word, mask, n->p) != APR_SUCCESS) continue;
        for (int i = 0; i < 2; i++)
            if (n->address[i] && apr_ipsubnet_test(net, n->address[i])) n->is[i] = true;
    }
}

static bool serves_port_80(void) {
    for (const ap_listen_rec *l = ap_listeners; l; l = l->next)
        if (l->bind_addr && l->bind_addr->port == 80) return true;
    return false;
}

/* A list in a file may name them. */
static void source_check(apr_pool_t *p, server_rec *s) {
    struct named n = { .p = p };

    if (!qos_config()->transparent || !serves_port_80() || qos_config_find("RemoteIPInternalProxyList") ||
        qos_config_find("RemoteIPTrustedProxyList"))
        return;
    if (apr_sockaddr_info_get(&n.address[0], QOS_SOURCE4, APR_INET, 0, 0, p) != APR_SUCCESS) n.is[0] = true;
    if (apr_sockaddr_info_get(&n.address[1], QOS_SOURCE6, APR_INET6, 0, 0, p) != APR_SUCCESS) n.is[1] = true;
    qos_config_each("RemoteIPInternalProxy", source_named, &n);
    qos_config_each("RemoteIPTrustedProxy", source_named, &n);
    if (n.is[0] && n.is[1] && qos_config_find("RemoteIPHeader")) return;
    ap_log_error(
        APLOG_MARK, APLOG_WARNING, 0, s,
        "qos: QosTransparent: the sites of this httpd see the gateway's address in place of their clients': load "
        "mod_remoteip, and set RemoteIPHeader X-Forwarded-For and RemoteIPInternalProxy " QOS_SOURCE4 " " QOS_SOURCE6);
}

static int source_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s) {
    (void)pconf;
    (void)plog;
    if (ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_CREATE_PRE_CONFIG) source_check(ptemp, s);
    return OK;
}

void qos_source_register(void) {
    static const char *const proxy[] = { "mod_proxy.c", NULL };

    ap_hook_test_config(source_check, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(source_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    /* After mod_proxy's own, which makes the worker of requests that no other worker is for. */
    ap_hook_child_init(source_child_init, proxy, NULL, APR_HOOK_MIDDLE);
    /* Before mod_proxy's, which reads the server's configuration. */
    ap_hook_handler(source_handler, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_pre_connection(source_pre_connection, NULL, NULL, APR_HOOK_REALLY_FIRST);
    APR_OPTIONAL_HOOK(proxy, request_status, source_restore, NULL, NULL, APR_HOOK_MIDDLE);
}
