/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_request.h"

#include <http_config.h>
#include <http_vhost.h>

struct qos_process qos_process = { .row = SHM_NO_ROW };

struct qos_conn *qos_conn_of(conn_rec *c) {
    struct qos_conn *k = ap_get_module_config(c->conn_config, &qos_drr_module);
    if (!k) {
        k = apr_pcalloc(c->pool, sizeof *k);
        ap_set_module_config(c->conn_config, &qos_drr_module, k);
    }
    return k;
}

struct qos_request *qos_request_of(const request_rec *r) {
    struct qos_request *q = NULL;
    for (; r && !q; r = r->prev) q = ap_get_module_config(r->request_config, &qos_drr_module);
    return q;
}

request_rec *qos_last_of(request_rec *r) {
    while (r->next) r = r->next;
    return r;
}

bool qos_request_names_us(request_rec *r) {
    return r->hostname && ap_matches_request_vhost(r, r->hostname, r->server->port);
}
