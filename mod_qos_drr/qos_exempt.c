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

#define AGAIN_US      1000000u /* so long a thread waits for a place, which others leave as their answers end */
#define AGAIN_STEP_US 10000

/* ---- the directive ----------------------------------------------------------------------------------------------- */

static apr_status_t exempt_free(void *said) {
    policy_exempt_free(said);
    return APR_SUCCESS;
}

static const char *exempt_say(struct qos_exempt *e, apr_pool_t *p, enum policy_exempt_word word, const char *pattern) {
    char *error = NULL;

    if (!e->said) {
        e->said = policy_exempt_new();
        if (!e->said) return "QosExempt: out of memory";
        apr_pool_cleanup_register(p, &e->said, exempt_free, apr_pool_cleanup_null);
    }
    if (!policy_exempt_add(e->said, word, pattern, strlen(pattern), &error)) return NULL;
    return httpd_take_error(p, "QosExempt: ", &error);
}

const char *qos_exempt_set(cmd_parms *cmd, void *dir, int argc, char *const argv[]) {
    struct qos_exempt *e = &qos_config()->exempt;
    const char *bad = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    char *what;
    int word;

    (void)dir;
    if (bad) return bad;
    if (argc == 1 && !strncasecmp(argv[0], "limit=", 6))
        return httpd_number(cmd->pool, "QosExempt limit=", argv[0] + 6, 1, POLICY_EXEMPT_LIMIT_MAX, &e->most);
    if (argc < 2) return "QosExempt: write limit=N, or path, method or address and what is exempt";
    what = apr_pstrdup(cmd->temp_pool, argv[0]);
    ap_str_tolower(what);
    word = policy_exempt_by_name(what);
    if (word < 0) return apr_psprintf(cmd->pool, "QosExempt %s: must be path, method, address or limit=N", argv[0]);
    for (int i = 1; i < argc && !bad; i++) bad = exempt_say(e, cmd->pool, (enum policy_exempt_word)word, argv[i]);
    return bad;
}

int qos_exempt_finish(struct qos_exempt *e, const policy_t *policy, const char **why) {
    static char *error;

    e->in_policy = policy_exempt_of(policy);
    if (!e->most) e->most = policy_exempt_limit(policy) ? (int)policy_exempt_limit(policy) : QOS_EXEMPT_USUAL;
    if (!e->said || !policy_exempt_freeze(e->said, &error)) return 0;
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

static bool exempt_uses(const struct qos_exempt *e, enum policy_field field) {
    return (e->said && policy_exempt_uses(e->said, field)) || (e->in_policy && policy_exempt_uses(e->in_policy, field));
}

static bool exempt_names(const struct qos_exempt *e, request_rec *r) {
    struct policy_request pr = { .src_addr = NULL };
    char usual[1024], *spelt = usual;
    size_t room = sizeof usual, n;

    if (exempt_uses(e, POLICY_SRC_IP_ADDR)) {
        const apr_sockaddr_t *a = r->useragent_addr;

        if (a && (a->family == APR_INET || a->family == APR_INET6)) {
            pr.src_addr = a->ipaddr_ptr;
            pr.src_addr_len = (unsigned)a->ipaddr_len;
        }
    }
    if (exempt_uses(e, POLICY_URL) && r->method_number != M_CONNECT) {
        const char *target = qos_classify_target(r);

        n = strlen(target);
        if (PAGES_URL_ROOM(n) > room) spelt = apr_palloc(r->pool, room = PAGES_URL_ROOM(n));
        if (exempt_is_clear(r, target)) {
            pr.url.n = pages_url_plain(target, n, qos_classify_slashes(r), spelt, room);
            pr.url.p = spelt;
        }
    }
    return (e->said && policy_exempt_takes(e->said, r->method, &pr)) ||
           (e->in_policy && policy_exempt_takes(e->in_policy, r->method, &pr));
}

static bool is_free(uint64_t holder) {
    uint32_t row = (uint32_t)holder - 1;
    return !holder || row >= P.view.size.owners || *(volatile pid_t *)&P.view.owners[row].pid != (pid_t)(holder >> 32);
}

static uint64_t exempt_me(void) { return (uint64_t)P.pid << 32 | (P.row + 1); }

static bool exempt_place(struct qos_request *q) {
    struct qos_exempt_places *places = &P.sizes.area->exempt;

    for (uint32_t i = 0; i < (uint32_t)qos_config()->exempt.most; i++) {
        uint64_t holder = atomic_load_explicit(&places->holder[i], memory_order_relaxed);

        if (!is_free(holder) || !atomic_compare_exchange_strong(&places->holder[i], &holder, exempt_me())) continue;
        q->exempt = i + 1;
        return true;
    }
    return false;
}

int qos_exempt_takes(struct qos_request *q) {
    const struct qos_exempt *e = &qos_config()->exempt;
    struct qos_exempt_places *places = &P.sizes.area->exempt;
    bool has;

    if ((!e->said && !e->in_policy) || !exempt_names(e, q->r)) return 0;
    has = exempt_place(q);
    atomic_fetch_add_explicit(has ? &places->passed : &places->beyond, 1, memory_order_relaxed);
    return has;
}

bool qos_exempt_again(struct qos_request *q) {
    uint64_t until = shm_now() + AGAIN_US;

    while (!exempt_place(q)) {
        if (shm_now() > until) {
            q->outcome = QOS_WAIT_TIMEOUT;
            q->reason = "too-long";
            return false;
        }
        apr_sleep(AGAIN_STEP_US);
    }
    return true;
}

void qos_exempt_leaves(struct qos_request *q) {
    uint64_t me = exempt_me();

    if (!q->exempt || q->exempt > QOS_EXEMPT_MOST) return;
    atomic_compare_exchange_strong(&P.sizes.area->exempt.holder[q->exempt - 1], &me, 0);
    q->exempt = 0;
}
