/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_keys.h"

#include <string.h>

#include <apr_strings.h>
#include <http_log.h>

#include "base/base_hash.h"
#include "httpd/httpd_policy.h"
#include "qos_request.h"

APLOG_USE_MODULE(qos_drr);

const char *qos_keys_add(struct qos_keys *k, cmd_parms *cmd, const char *text) {
    static const char word[] = "client";
    bool client = !strncmp(text, word, sizeof word - 1) || !strcmp(text, "visitor");
    const char *wrong = NULL;
    char *error = NULL;

    if (k->levels == RS_KEY_LEVELS)
        return apr_psprintf(cmd->pool, "within=%s: a class has two levels of keys at most", text);
    if (policy_within_read(client ? text : word, client ? strlen(text) : sizeof word - 1, &k->level[k->levels].address,
                           &error))
        return httpd_take_error(cmd->pool, "", &error);
    if (!client && !strstr(text, "%{"))
        return apr_psprintf(
            cmd->pool,
            "within=%s is the same for all requests: it must be client, client/24/56, visitor, or an expression "
            "like %%{reqenv:MM_ASN}",
            text);
    /* What it looks at does not change the answer: no Vary. */
    if (!client)
        k->level[k->levels].expr =
            ap_expr_parse_cmd(cmd, text, AP_EXPR_FLAG_STRING_RESULT | AP_EXPR_FLAG_DONT_VARY, &wrong, NULL);
    k->levels++;
    return wrong ? apr_psprintf(cmd->pool, "within=%s: %s", text, wrong) : NULL;
}

/* Of an expression, an address and a visitor different things are never the same. */
static uint64_t keys_hash(char kind, const void *bytes, size_t n) {
    struct base_hash s;

    base_hash_begin(&s, qos_process.sizes.hash_key);
    base_hash_add(&s, &kind, 1);
    base_hash_add(&s, bytes, n);
    return base_hash_end(s);
}

static uint64_t keys_address(const struct policy_within *within, const apr_sockaddr_t *a) {
    unsigned char prefix[16];
    unsigned n;

    if (!a || (a->family != APR_INET && a->family != APR_INET6)) return 0;
    n = policy_within_prefix(within, a->ipaddr_ptr, (unsigned)a->ipaddr_len, prefix);
    return keys_hash('a', prefix, n);
}

static uint64_t keys_level(const struct qos_request *q, const struct qos_keys *k, uint32_t level) {
    const char *text, *wrong = NULL;

    if (k->level[level].expr) {
        text = ap_expr_str_exec(q->r, k->level[level].expr, &wrong);
        if (wrong) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, q->r, "qos: within= of class %s: %s",
                          qos_config()->classes[q->class].name, wrong);
            text = "";
        }
        if (text && *text) return keys_hash('e', text, strlen(text));
        if (level + 1 < k->levels) return 0;
    }
    if (k->level[level].address.visitor && q->person.visitor.known)
        return keys_hash('v', q->person.visitor.id, strlen(q->person.visitor.id));
    return keys_address(&k->level[level].address, q->r->useragent_addr);
}

void qos_keys_of(struct qos_request *q) {
    const struct qos_keys *k = &qos_config()->keys[q->class];

    for (uint32_t level = 0; level < k->levels; level++) q->key[level] = keys_level(q, k, level);
}
