/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_services.h - the services of this server (CcnService), and under which URLs they are called over HTTP
 * (CcnServices).
 */
#ifndef FAIRGATE_CCN_SERVICES_H
#define FAIRGATE_CCN_SERVICES_H

#include <httpd.h>
#include <http_config.h>

#include "ccn_map.h"
#include "service/service_bind.h"

struct ccn_call;

/* What this process knows of a service, beside what was declared (service.of). */
struct ccn_service {
    server_rec      *server;            /* whose URL it has */
    _Atomic int      in_work;           /* its calls, whatever each waits for */
    /* under `calls` (ccn_call.h): */
    unsigned         running, slow;     /* runs, from being queued on; of these, those that gave up their slots */
    struct ccn_call *waiting;           /* for one of them to end */
};

static inline struct ccn_service *ccn_service_of(const struct service *s) { return s->of; }

/* CcnService, in any server: its URL is one of that server's. */
const char *ccn_services_declare(cmd_parms *cmd, void *dir, const char *text);
/* A line that says what a result is made from, CcnService's or another; and a digest of all of them. */
void        ccn_services_line(const char *directive, const char *text);
uint64_t    ccn_services_lines(void);
/* Of the whole server; empty if there is none. */
const struct service_table *ccn_services(void);
/*
 * A name that ccn_map_read made nothing of: true if it is a service's, with its parameters in ApplicationParameters or
 * 32=services behind it, or a segment of what that brought; `w` is right then.
 */
bool        ccn_services_want(const struct ndn_interest *i, struct ccn_wanted *w);
/* pre_config: a fresh table, which goes with the pool. */
void        ccn_services_begin(apr_pool_t *pconf);

#endif
