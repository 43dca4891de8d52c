/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_warn.h"

#include <stdlib.h>

#include <ap_mpm.h>
#include <apr_lib.h>
#include <apr_strings.h>
#include <http_log.h>

#include "httpd/httpd_segment.h"
#include "policy/policy_warn.h"
#include "qos_pools.h"
#include "qos_signers.h"

APLOG_USE_MODULE(qos_drr);

#define CLASS_NAMED "qos-class"

struct warn_look {
    apr_pool_t *p;
    server_rec *s;
    const struct qos_server *conf;
    const char *wanted; /* what a directive is searched for */
    bool found;
};

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static bool warn_has_class(const struct qos_server *conf, const char *name) {
    for (uint32_t i = 0; i < conf->nclasses; i++)
        if (!strcasecmp(conf->classes[i].name, name)) return true;
    return false;
}

static const char *warn_names(const struct warn_look *is) {
    const char *names = "";

    for (uint32_t i = 0; i < is->conf->nclasses && i < 20; i++)
        names = apr_pstrcat(is->p, names, i ? ", " : "", is->conf->classes[i].name, NULL);
    return names;
}

/* qos-class=NAME of SetEnvIf and BrowserMatch, E=qos-class:NAME of RewriteRule, "qos-class NAME" of SetEnv. */
static void warn_named_class(void *of, const char *args) {
    const struct warn_look *is = of;

    for (const char *at = strstr(args, CLASS_NAMED); at; at = strstr(at + 1, CLASS_NAMED)) {
        const char *value = at + strlen(CLASS_NAMED), *name;

        if (at > args && (apr_isalnum(at[-1]) || strchr("_-{!", at[-1]))) continue;
        if (*value != '=' && *value != ':' && !apr_isspace(*value)) continue;
        while (*value && strchr("=: \t\"'", *value)) value++;
        name = apr_pstrmemdup(is->p, value, strcspn(value, " \t\"',]"));
        /* What is made of the request is known when that comes. */
        if (!*name || strpbrk(name, "$%") || warn_has_class(is->conf, name)) continue;
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, is->s,
                     "qos: qos-class names the class %s, and there is none of that name: the rules decide instead; the "
                     "classes are %s",
                     name, warn_names(is));
    }
}

static void warn_classes(const struct warn_look *is) {
    static const char *const setters[] = { "SetEnv",       "SetEnvIf",           "SetEnvIfNoCase", "SetEnvIfExpr",
                                           "BrowserMatch", "BrowserMatchNoCase", "RewriteRule" };

    if (!is->conf->policy_file && !is->conf->keys_said)
        ap_log_error(
            APLOG_MARK, APLOG_WARNING, 0, is->s,
            "qos: there are no classes, so all requests are in one; set QosPolicy FILE, or QosClass and QosRule");
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++)
        qos_config_each(setters[i], warn_named_class, (void *)(uintptr_t)is);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static void rule_tell(void *to, const char *sentence) {
    const struct warn_look *is = to;

    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, is->s, "qos: %s: %s",
                 is->conf->policy_file ? is->conf->policy_file : "QosRule", sentence);
}

static bool warn_knows(const void *of, const char *crawler) {
    const struct qos_server *conf = of;

    for (unsigned i = 0; i < qos_signers_count(conf->signers); i++)
        if (!strcasecmp(qos_signers_at(conf->signers, i)->name, crawler)) return true;
    return false;
}

static void warn_word(void *of, const char *args) {
    struct warn_look *is = of;

    is->found |= ap_strcasestr(args, is->wanted) != NULL;
}

static bool warn_says(struct warn_look *is, const char *directive, const char *word) {
    is->wanted = word;
    is->found = false;
    qos_config_each(directive, warn_word, is);
    return is->found;
}

static void warn_rules(struct warn_look *is) {
    const struct qos_server *conf = is->conf;

    policy_warn(conf->policy, &(struct policy_warn){ rule_tell, is, warn_knows, conf });
    if (policy_uses(conf->policy, POLICY_CRAWLER) && !conf->bots && !conf->signers)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, is->s,
                     "qos: rules about crawlers match nobody: set QosBots, which knows them by addresses and names, or "
                     "QosSigned");
    if (policy_uses(conf->policy, POLICY_SRC_DN) && !warn_says(is, "HostnameLookups", "double"))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, is->s,
                     "qos: rules with src_dn never match: httpd looks up no client's name; set HostnameLookups Double, "
                     "or use src_ip_addr or crawler");
    if (policy_uses(conf->policy, POLICY_SSL_ID) && !warn_says(is, "SSLOptions", "StdEnvVars"))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, is->s,
                     "qos: rules with ssl_id never match: mod_ssl does not export the session's id; set SSLOptions "
                     "+StdEnvVars");
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static uint32_t warn_most(uint32_t gate, uint32_t window, uint32_t most) {
    return gate == RS_GATE_AUTO ? most : window;
}

static uint32_t warn_workers(void) {
    return (uint32_t)(httpd_query(AP_MPMQ_MAX_DAEMONS, 1) * httpd_query(AP_MPMQ_MAX_THREADS, 1));
}

/* The smallest window that requests for PHP-FPM may be in, as far as there are workers. */
static uint32_t warn_least_window(const struct qos_server *conf) {
    uint32_t least = warn_most(conf->settings.gate, conf->settings.window, conf->settings.window_max);

    if (least > warn_workers()) least = warn_workers();
    for (uint32_t i = 0; i < conf->outlets.n && i < QOS_OUTLETS_OWN; i++) {
        const struct rs_outlet_settings *w = &conf->outlets.all[i].settings;
        uint32_t most = warn_most(w->gate, w->window, w->window_max);

        if (most < least && !qos_outlet_is_never_php(conf->outlets.all + i)) least = most;
    }
    return least;
}

static void warn_window(const struct warn_look *is) {
    const struct rs_settings *w = &is->conf->settings;
    uint32_t threads = warn_workers();

    if (w->gate == RS_GATE_WINDOW && w->window >= threads)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, is->s,
                     "qos: QosWindow %u never fills, since this server has %u workers (MaxRequestWorkers): no request "
                     "waits, and no class has its share; set QosWindow auto, or less than %u",
                     w->window, threads, threads / 2 > 1 ? threads / 2 : 2);
}

/* ---- PHP-FPM ----------------------------------------------------------------------------------------------------- */

static void warn_pool(void *of, const struct qos_pool *pool) {
    const struct warn_look *is = of;
    uint32_t window = warn_least_window(is->conf);

    if (window <= pool->children) return;
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, is->s,
                 "qos: the window may let %u requests in, and PHP-FPM's pool %s serves %u at one time (pm.max_children "
                 "in %s): the others wait there in the order of arrival, without classes; set QosWindow %s%u in the "
                 "section that passes requests to PHP, or pm.max_children %u",
                 window, pool->name, pool->children, pool->file, pool->children > 1 ? "auto max=" : "", pool->children,
                 window);
}

void qos_warn(apr_pool_t *p, server_rec *s, const struct qos_server *conf) {
    struct warn_look is = { p, s, conf, NULL, false };

    warn_classes(&is);
    warn_rules(&is);
    warn_window(&is);
    qos_pools(p, warn_pool, &is);
}
