/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_services.h"

#include <apr_strings.h>

#include "httpd/httpd_policy.h"

static struct service_table table;

const struct service_table *ccn_services(void) { return &table; }

static apr_status_t forget_table(void *unused) {
    (void)unused;
    service_table_free(&table);
    return APR_SUCCESS;
}

void ccn_services_begin(apr_pool_t *pconf) {
    service_table_free(&table);
    apr_pool_cleanup_register(pconf, NULL, forget_table, apr_pool_cleanup_null);
}

const char *ccn_services_declare(cmd_parms *cmd, void *dir, const char *text) {
    char *error = NULL;
    struct service *s = service_declare(text, &error);
    struct ccn_service *known = apr_pcalloc(cmd->pool, sizeof *known);

    (void)dir;
    known->server = cmd->server;
    if (!s) return httpd_take_error(cmd->pool, "CcnService: ", &error);
    s->of = known;
    if (!service_table_add(&table, s, &error)) return NULL;
    service_free(&s);
    return httpd_take_error(cmd->pool, "CcnService: ", &error);
}

bool ccn_services_want(const struct ndn_interest *i, struct ccn_wanted *w) {
    char text[SERVICE_NAME_MAX + 1];
    unsigned first;

    if (!table.n || !ccn_map_call(&w->page, text, sizeof text) || !service_table_find(&table, text, &first))
        return false;
    if (w->kind == CCN_SEGMENT) return true;
    if (w->kind != CCN_PAGE || !w->digest.n || !i->has_parameters) return false;
    w->is_call = true;
    w->arguments = i->parameters;
    return true;
}
