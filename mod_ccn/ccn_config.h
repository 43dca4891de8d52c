/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_config.h - the module's directives and what they make.
 *
 * One engine, one set of service threads and one store of pages serve the whole server; which virtual host speaks NDN,
 * which names it has, and with which key it signs is each one's own.
 */
#ifndef FAIRGATE_CCN_CONFIG_H
#define FAIRGATE_CCN_CONFIG_H

#include <httpd.h>
#include <http_config.h>

#include "ccn_map.h"
#include "ccn_seats.h"
#include "core/rs.h"
#include "httpd/httpd_policy.h"

extern module AP_MODULE_DECLARE_DATA ccn_module;

#define CCN_UNKNOWN "unknown"       /* the class of names that never brought a page */
#define CCN_MAPS_MAX 256
#define CCN_PREFIXES_MAX 1024
#define CCN_FETCH_BYTES (UINT64_C(64) << 20)

enum ccn_scheduler { CCN_FIFO, CCN_IDSRS, CCN_SERPT };
/* CcnPrivate: what Interests with parameters get. */
enum ccn_privacy { CCN_PRIVATE_UNSAID, CCN_PRIVATE_OFF, CCN_PRIVATE_SEALED, CCN_PRIVATE_OPEN };

/* Of the whole server; lives in pconf. */
struct ccn_site {
    const char          *policy_file;
    policy_t            *policy;            /* frozen after ccn_config_finish */
    struct httpd_classes classes;           /* of the policy, and CCN_UNKNOWN as the last one */
    struct rs_settings   settings;
    enum ccn_scheduler   scheduler;
    int                  threads, queue, keep, segment;
    int                  connections;       /* of one address; 0: a quarter of httpd's threads */
    uint32_t             seats;             /* threads that httpd can ever have */
    struct ccn_seat_bounds bounds;          /* of these, those that connections may hold */
    uint64_t             pages;             /* bytes of packets that are kept */
    int                  divisor, window_max;   /* APDSFC's q, 0: no hint; and its cap */
    bool                 used;              /* some CcnEngine On was seen, or CcnServices */
    const char          *results;           /* directory of results; NULL: beside httpd's runtime files */
    uint64_t             results_most;      /* bytes in it */
    apr_array_header_t  *fetch_hosts, *fetch_addresses;     /* of const char *: web_rules.h */
    int                  answer_within;     /* seconds; a call that takes longer is answered 202 */
};

struct ccn_forwarder {
    const char *host;                       /* NULL: a unix socket */
    const char *path;                       /* of a unix socket */
    int         family;                     /* of its address; AF_UNSPEC: any */
    apr_port_t  port;
    const char *text;                       /* as it was written */
};

/* Of a virtual host. */
struct ccn_host {
    int                 on;                 /* -1 not said */
    bool                tls;                /* SSLEngine is on beside CcnEngine */
    apr_array_header_t *maps;               /* of struct ccn_map */
    apr_array_header_t *prefixes;           /* of struct ndn_name: those of maps, and services' names */
    apr_array_header_t *forwarders;         /* of struct ccn_forwarder */
    apr_array_header_t *listens;            /* of const char *: paths of unix sockets */
    apr_array_header_t *trusted;            /* of const struct ndn_key *: whose Interests are believed */
    enum ccn_privacy    gives_private;      /* not said: sealed */
    const char         *services;           /* path below which services are called over HTTP; NULL: nowhere */
    const struct ndn_key *key;              /* what Data is signed with; NULL not said: digests */
};

extern const command_rec ccn_commands[];

void *ccn_config_create_host(apr_pool_t *p, server_rec *s);
void *ccn_config_merge_host(apr_pool_t *p, void *base, void *add);

struct ccn_site *ccn_config_begin(apr_pool_t *pconf);       /* pre_config: a fresh one, defaults filled in */
struct ccn_site *ccn_config(void);                          /* the one in force */
/* OK, or an error that was logged. */
int              ccn_config_finish(struct ccn_site *c, apr_pool_t *pconf, server_rec *s);

/* What this host's Data is signed with. */
static inline const struct ndn_key *ccn_key_of(const struct ccn_host *h) { return h->key ? h->key : ndn_key_none(); }
static inline const struct ccn_host *ccn_host_of(const server_rec *s) {
    return ap_get_module_config(s->module_config, &ccn_module);
}

#endif
