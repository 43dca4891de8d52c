/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_services.h"

#include <apr_strings.h>

#include "base/base_hash.h"
#include "httpd/httpd_policy.h"

static struct service_table table;
static struct base_hash lines;

const struct service_table *ccn_services(void) { return &table; }

static apr_status_t forget_table(void *unused) {
    (void)unused;
    service_table_free(&table);
    return APR_SUCCESS;
}

void ccn_services_begin(apr_pool_t *pconf) {
    static const uint64_t anybody[2];

    service_table_free(&table);
    base_hash_begin(&lines, anybody);
    apr_pool_cleanup_register(pconf, NULL, forget_table, apr_pool_cleanup_null);
}

void ccn_services_line(const char *directive, const char *text) {
    base_hash_add(&lines, directive, strlen(directive) + 1);
    base_hash_add(&lines, text, strlen(text) + 1);
}

uint64_t ccn_services_lines(void) { return base_hash_end(lines); }

const char *ccn_services_declare(cmd_parms *cmd, void *dir, const char *text) {
    char *error = NULL;
    struct service *s = service_declare(text, &error);
    struct ccn_service *known = apr_pcalloc(cmd->pool, sizeof *known);

    (void)dir;
    known->server = cmd->server;
    if (!s) return httpd_take_error(cmd->pool, "CcnService: ", &error);
    s->of = known;
    ccn_services_line(cmd->cmd->name, text);
    if (!service_table_add(&table, s, &error)) return NULL;
    service_free(&s);
    return httpd_take_error(cmd->pool, "CcnService: ", &error);
}

/* The name without "services" at its end; `is`: whether it stood there. */
static struct ndn_name without_keyword(const struct ndn_name *name, bool *is) {
    struct ndn_element c;

    *is = name->n && ndn_name_at(name, name->n - 1, &c) && ndn_component_is(&c, NDN_KEYWORD_COMPONENT, "services");
    return *is ? ndn_name_first(name, name->n - 1) : *name;
}

bool ccn_services_want(const struct ndn_interest *i, struct ccn_wanted *w) {
    const struct ndn_name *asked = w->kind == CCN_SEGMENT ? &w->page : &i->name;
    char text[SERVICE_NAME_MAX + 1];
    struct ndn_name service;
    unsigned first;

    if (!table.n) return false;
    service = without_keyword(asked, &w->is_listing);
    if (!w->is_listing) service = w->page;
    if (!ccn_map_call(&service, text, sizeof text) || !service_table_find(&table, text, &first)) return false;
    if (w->kind == CCN_SEGMENT) {
        w->is_result = true;
        return true;
    }
    if (w->is_listing) {
        w->kind = CCN_PAGE;
        w->page = i->name;
        w->exact = !i->can_be_prefix;
        return true;
    }
    if (w->kind != CCN_PAGE || !w->digest.n || !i->has_parameters) return false;
    w->is_call = true;
    w->arguments = i->parameters;
    return true;
}
