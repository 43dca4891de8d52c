/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_check.h"

#include <string.h>

#include <ap_mpm.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>

#include "ccn_child.h"
#include "ccn_services.h"

APLOG_USE_MODULE(ccn);

static const char *place_of(const server_rec *s) {
    return s->defn_name ? apr_psprintf(s->process->pconf, "%s:%u", s->defn_name, s->defn_line_number)
                        : "the main server";
}

static void warn_host(server_rec *s, const char *what) {
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_WARNING, 0, s, "ccn: %s: %s", place_of(s), what);
}

/* ---- CcnMap ------------------------------------------------------------------------------------------------------ */

static bool is_directory(apr_pool_t *p, const char *path) {
    apr_finfo_t found;
    apr_status_t rv = apr_stat(&found, path, APR_FINFO_TYPE, p);
    return (rv == APR_SUCCESS || rv == APR_INCOMPLETE) && found.filetype == APR_DIR;
}

/*
 * The path of a URL may well be that of a directory, too, such as /home; DocumentRoot is none, nor is what has two
 * pieces and is not there below it.
 */
static bool is_of_the_disk(apr_pool_t *p, server_rec *s, const char *path) {
    const core_server_config *core = ap_get_core_module_config(s->module_config);
    const char *root = core->ap_document_root ? core->ap_document_root : "";
    size_t n = strlen(path) - 1; /* it ends with a slash */
    bool is_root = n && strlen(root) >= n && !strncmp(root, path, n) && (!root[n] || !strcmp(root + n, "/"));

    if (is_root) return true;
    return n && memchr(path + 1, '/', n - 1) && is_directory(p, path) &&
           !is_directory(p, apr_pstrcat(p, root, path, NULL));
}

static void warn_of_maps(apr_pool_t *p, server_rec *s) {
    const struct ccn_map *maps = (const struct ccn_map *)(void *)ccn_host_of(s)->maps->elts;
    char name[3 * CCN_NAME_MAX];

    for (int i = 0; i < ccn_host_of(s)->maps->nelts; i++) {
        int k = 0;
        ndn_name_print(&maps[i].prefix, name, sizeof name);
        while (!ndn_name_equal(&maps[i].prefix, &maps[k].prefix)) k++;
        if (k < i)
            warn_host(
                s, apr_psprintf(p, "CcnMap has the prefix %s twice, and the first counts: not %s", name, maps[i].path));
        if (is_of_the_disk(p, s, maps[i].path))
            warn_host(s, apr_psprintf(p,
                                      "CcnMap %s %s: that is a directory of the disk, and the path of a URL is wanted: "
                                      "/ is the whole site",
                                      name, maps[i].path));
    }
}

/* ---- who has the connections ------------------------------------------------------------------------------------- */

/* On such a port the first host has every connection: nothing in a packet says for which it is. */
static bool share_port(const server_rec *a, const server_rec *b) {
    for (const server_addr_rec *x = a->addrs; x; x = x->next)
        for (const server_addr_rec *y = b->addrs; y; y = y->next)
            if (x->host_port == y->host_port &&
                (!strcmp(x->virthost, y->virthost) || apr_sockaddr_equal(x->host_addr, y->host_addr)))
                return true;
    return false;
}

static void warn_of_neighbours(apr_pool_t *p, server_rec *main_server, server_rec *s) {
    bool before = false;

    /* In httpd's list of them the last one comes first. */
    for (server_rec *v = main_server->next; v; v = v->next) {
        bool speaks = ccn_host_of(v)->on == 1;
        if (v == s) before = true;
        if (v == s || !share_port(v, s) || (!before && speaks)) continue;
        if (speaks)
            warn_host(s, "another virtual host with CcnEngine has the same address and port: it takes all connections");
        else if (before)
            warn_host(s, apr_psprintf(p,
                                      "CcnEngine is on in vain: the virtual host %s has the same address and port and "
                                      "stands before it, and HTTP is spoken there: it wants a port of its own",
                                      place_of(v)));
        else
            warn_host(s, apr_psprintf(p,
                                      "CcnEngine is on, and the virtual host %s has the same address and port: HTTP is "
                                      "not spoken there any more",
                                      place_of(v)));
    }
}

static void warn_of_process(server_rec *s) {
    int threaded = AP_MPMQ_NOT_SUPPORTED;

    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    if (threaded != AP_MPMQ_NOT_SUPPORTED) return;
    if (ccn_host_of(s)->forwarders->nelts)
        warn_host(s, "CcnForwarder does nothing with the prefork MPM: no connection is made; use event or worker");
    if (ccn_host_of(s)->listens->nelts)
        warn_host(s, "CcnListen does nothing with the prefork MPM: nobody is heard there; use event or worker");
}

/* ---- services ---------------------------------------------------------------------------------------------------- */

/* The first service that is called only by that way; NULL: there is none.  SERVICE_ALL: that is called by either. */
static const struct service *service_over(enum service_over over) {
    const struct service_table *t = ccn_services();

    for (unsigned i = 0; i < t->n; i++)
        if (t->all[i]->over == over) return t->all[i];
    return NULL;
}

static void warn_of_service(apr_pool_t *p, const struct service *of, const char *what) {
    warn_host(ccn_service_of(of)->server, apr_psprintf(p, "CcnService %s: %s", of->name, what));
}

/* Its path stands in that host, and not in the main server, whose settings all have. */
static bool has_own_path(const server_rec *main_server, const server_rec *s) {
    const char *path = ccn_host_of(s)->services;
    return path && (s == main_server || path != ccn_host_of(main_server)->services);
}

static void warn_of_services(apr_pool_t *p, server_rec *main_server) {
    const struct service *http_alone = service_over(SERVICE_HTTP), *ndn_alone = service_over(SERVICE_NDN),
                         *both = service_over(SERVICE_ALL);
    bool http = false, ndn = false;

    for (server_rec *s = main_server; s; s = s->next) {
        const struct ccn_host *h = ccn_host_of(s);
        http |= h->services && h->on != 1;
        ndn |= h->on == 1;
        if (!has_own_path(main_server, s)) continue;
        if (h->on == 1)
            warn_host(s, "CcnServices does nothing beside CcnEngine On, where HTTP is not spoken: it belongs into the "
                         "virtual host of the website");
        else if (!ccn_services()->n) warn_host(s, "CcnServices without any CcnService: nothing is published there");
    }
    if (!http && !ndn && ccn_services()->n) {
        warn_of_service(p, ccn_services()->all[0],
                        "nobody can call a service: CcnServices PATH is missing, for calls over HTTP, and CcnEngine "
                        "On, for calls on a named-data network");
        return;
    }
    if (http_alone && !http) warn_of_service(p, http_alone, "nobody can call it: over=http wants CcnServices PATH");
    if (ndn_alone && !ndn) warn_of_service(p, ndn_alone, "nobody can call it: over=ndn wants CcnEngine On");
    if (both && !http)
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_NOTICE, 0, main_server,
                     "ccn: CcnService without CcnServices PATH: services are not called over HTTP, but on the "
                     "named-data network alone; over=ndn says that so it is meant");
}

/* ---- each host --------------------------------------------------------------------------------------------------- */

static void check_silent_host(server_rec *s, const struct ccn_host *h) {
    if (h->maps->nelts) warn_host(s, "CcnMap without CcnEngine On: no name leads to a page");
    if (h->forwarders->nelts) warn_host(s, "CcnForwarder without CcnEngine On: nothing is connected");
    if (h->listens->nelts) warn_host(s, "CcnListen without CcnEngine On: nobody is heard there");
}

int ccn_check_hosts(server_rec *main_server) {
    apr_pool_t *p = main_server->process->pconf;

    for (server_rec *s = main_server; s; s = s->next) {
        const struct ccn_host *h = ccn_host_of(s);
        if (h->on != 1) {
            check_silent_host(s, h);
            continue;
        }
        if (!h->maps->nelts && !service_over(SERVICE_ALL) && !service_over(SERVICE_NDN)) {
            ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s,
                         "ccn: CcnEngine is on in %s, and no name leads to a page: CcnMap is missing, or CcnService "
                         "that is not over=http alone",
                         place_of(s));
            return HTTP_INTERNAL_SERVER_ERROR;
        }
        if (s == main_server)
            warn_host(s, "CcnEngine is on outside of all virtual hosts, and so in each that does not switch it off: "
                         "HTTP is not spoken there any more");
        else warn_of_neighbours(p, main_server, s);
        if (h->tls) warn_host(s, "SSLEngine is on, and CcnEngine speaks without TLS all the same");
        warn_of_maps(p, s);
        warn_of_process(s);
    }
    warn_of_services(p, main_server);
    return OK;
}
