/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_exempt.h"

#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>
#include <http_core.h>

#include "httpd/httpd_policy.h"
#include "pages/pages_url.h"
#include "qos_classify.h"

#define P qos_process

/* ---- the directive ----------------------------------------------------------------------------------------------- */

static const char *exempt_rule(struct qos_exempt *e, apr_pool_t *p, enum policy_field field, enum policy_match match,
                               const char *pattern) {
    static const struct policy_class all = { .name = "exempt", .id = 1, .quantum = 1 };
    char *error = NULL;

    if (!e->rules) {
        e->rules = policy_new();
        if (!e->rules) return "QosExempt: out of memory";
        httpd_policy_own(&e->rules, p);
        if (policy_add_class(e->rules, &all, &error)) return httpd_take_error(p, "QosExempt: ", &error);
    }
    if (policy_add_rule(e->rules, 0, field, match, pattern, strlen(pattern), &error))
        return httpd_take_error(p, "QosExempt: ", &error);
    return NULL;
}

/* The path itself, and what is below it. */
static const char *exempt_path(struct qos_exempt *e, apr_pool_t *p, const char *path) {
    size_t n = strlen(path);
    const char *bad;

    if (path[0] != '/' || strchr(path, '?'))
        return apr_psprintf(p, "QosExempt path %s: must begin with a slash and have no ?", path);
    if (n == 1) return "QosExempt path /: that is all of the server; QosEngine Off leaves it alone";
    if (path[n - 1] == '/') return exempt_rule(e, p, POLICY_URL, POLICY_PREFIX, path);
    bad = exempt_rule(e, p, POLICY_URL, POLICY_EXACT, path);
    return bad ? bad : exempt_rule(e, p, POLICY_URL, POLICY_PREFIX, apr_pstrcat(p, path, "/", NULL));
}

static const char *exempt_method(struct qos_exempt *e, apr_pool_t *p, const char *name) {
    if (!name[0] || name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-")])
        return apr_psprintf(p, "QosExempt method %s: must be in capital letters, as OPTIONS", name);
    if (!e->methods) e->methods = apr_array_make(p, 4, sizeof(const char *));
    APR_ARRAY_PUSH(e->methods, const char *) = name;
    return NULL;
}

const char *qos_exempt_set(cmd_parms *cmd, void *dir, int argc, char *const argv[]) {
    struct qos_exempt *e = &qos_config()->exempt;
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (bad) return bad;
    if (argc == 1 && !strncasecmp(argv[0], "limit=", 6))
        return httpd_number(cmd->pool, "QosExempt limit=", argv[0] + 6, 1, QOS_EXEMPT_MOST, &e->most);
    if (argc < 2) return "QosExempt: write limit=N, or path, method or address and what is exempt";
    for (int i = 1; i < argc && !bad; i++) {
        if (!strcasecmp(argv[0], "path")) bad = exempt_path(e, cmd->pool, argv[i]);
        else if (!strcasecmp(argv[0], "method")) bad = exempt_method(e, cmd->pool, argv[i]);
        else if (!strcasecmp(argv[0], "address"))
            bad = exempt_rule(e, cmd->pool, POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, argv[i]);
        else bad = apr_psprintf(cmd->pool, "QosExempt %s: must be path, method, address or limit=N", argv[0]);
    }
    return bad;
}

int qos_exempt_finish(struct qos_exempt *e, const char **why) {
    static char *error;

    if (!e->rules || !policy_freeze(e->rules, &error)) return 0;
    *why = error ? error : "out of memory";
    return -1;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* What stands behind may resolve what httpd leaves as it is: such a path is nobody's exemption. */
static bool exempt_is_clear(request_rec *r, const char *target) {
    const char *path = apr_pstrmemdup(r->pool, target, strcspn(target, "?#"));

    return !strpbrk(path, ";\\") && !ap_strcasestr(path, "%2f") && !ap_strcasestr(path, "%5c") &&
           !ap_strcasestr(path, "%3b");
}

static int exempt_names(const struct qos_exempt *e, request_rec *r) {
    struct policy_request pr = { .src_addr = NULL };
    char usual[1024], *spelt = usual;
    size_t room = sizeof usual, n;

    for (int i = 0; e->methods && i < e->methods->nelts; i++)
        if (!strcmp(r->method, APR_ARRAY_IDX(e->methods, i, const char *))) return 1;
    if (!e->rules) return 0;
    if (policy_uses(e->rules, POLICY_SRC_IP_ADDR)) {
        const apr_sockaddr_t *a = r->useragent_addr;

        if (a && (a->family == APR_INET || a->family == APR_INET6)) {
            pr.src_addr = a->ipaddr_ptr;
            pr.src_addr_len = (unsigned)a->ipaddr_len;
        }
    }
    if (policy_uses(e->rules, POLICY_URL) && r->method_number != M_CONNECT) {
        const char *target = qos_classify_target(r);

        n = strlen(target);
        if (PAGES_URL_ROOM(n) > room) spelt = apr_palloc(r->pool, room = PAGES_URL_ROOM(n));
        if (exempt_is_clear(r, target)) {
            pr.url.n = pages_url_plain(target, n, qos_classify_slashes(r), spelt, room);
            pr.url.p = spelt;
        }
    }
    return policy_match_request(e->rules, &pr).position != POLICY_NONE;
}

static bool is_free(uint64_t holder) {
    uint32_t row = (uint32_t)holder - 1;
    return !holder || row >= P.view.size.owners || *(volatile pid_t *)&P.view.owners[row].pid != (pid_t)(holder >> 32);
}

static uint64_t exempt_me(void) { return (uint64_t)P.pid << 32 | (P.row + 1); }

int qos_exempt_takes(struct qos_request *q) {
    const struct qos_exempt *e = &qos_config()->exempt;
    struct qos_exempt_places *places = &P.sizes.area->exempt;

    if ((!e->rules && !e->methods) || !exempt_names(e, q->r)) return 0;
    for (uint32_t i = 0; i < (uint32_t)e->most; i++) {
        uint64_t holder = atomic_load_explicit(&places->holder[i], memory_order_relaxed);

        if (!is_free(holder) || !atomic_compare_exchange_strong(&places->holder[i], &holder, exempt_me())) continue;
        q->exempt = i + 1;
        atomic_fetch_add_explicit(&places->passed, 1, memory_order_relaxed);
        return 1;
    }
    atomic_fetch_add_explicit(&places->beyond, 1, memory_order_relaxed);
    return 0;
}

void qos_exempt_leaves(struct qos_request *q) {
    uint64_t me = exempt_me();

    if (!q->exempt || q->exempt > QOS_EXEMPT_MOST) return;
    atomic_compare_exchange_strong(&P.sizes.area->exempt.holder[q->exempt - 1], &me, 0);
    q->exempt = 0;
}
