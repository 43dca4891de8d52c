/* SPDX-License-Identifier: BSD-2-Clause */
#include "httpd_policy.h"

#include <stdlib.h>

#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>

#include "base/base_number.h"

const char *httpd_take_error(apr_pool_t *p, const char *before, char **error) {
    const char *text = apr_pstrcat(p, before, *error ? *error : "out of memory", NULL);
    free(*error);
    *error = NULL;
    return text;
}

const char *httpd_number(apr_pool_t *p, const char *what, const char *text, uint64_t least, uint64_t most, int *out) {
    char *error = NULL;
    uint64_t n;

    if (base_number(what, text, "", least, most, &n, &error)) return httpd_take_error(p, "", &error);
    *out = (int)n;
    return NULL;
}

static apr_status_t free_policy(void *data) {
    policy_free((policy_t **)data);
    return APR_SUCCESS;
}

void httpd_policy_own(policy_t **policy, apr_pool_t *p) {
    apr_pool_cleanup_register(p, policy, free_policy, apr_pool_cleanup_null);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The file's text, in `p`; NULL and a sentence if it can't be read. */
static const char *policy_read_text(apr_pool_t *p, const char *path, apr_size_t *len, const char **why) {
    apr_file_t *f;
    apr_finfo_t info;
    char *text, number[128];
    apr_status_t rv = apr_file_open(&f, path, APR_FOPEN_READ | APR_FOPEN_BINARY, APR_OS_DEFAULT, p);

    if (rv == APR_SUCCESS) rv = apr_file_info_get(&info, APR_FINFO_SIZE | APR_FINFO_TYPE, f);
    if (rv != APR_SUCCESS) {
        *why = apr_psprintf(p, "%s: %s", path, apr_strerror(rv, number, sizeof number));
        return NULL;
    }
    if (info.filetype != APR_REG || info.size > POLICY_FILE_MAX) {
        *why = apr_psprintf(p, "%s: must be a file of at most %u MB", path, POLICY_FILE_MAX >> 20);
        return NULL;
    }
    text = apr_palloc(p, (apr_size_t)info.size + 1);
    rv = apr_file_read_full(f, text, (apr_size_t)info.size, len);
    apr_file_close(f);
    if (rv != APR_SUCCESS && rv != APR_EOF) {
        *why = apr_psprintf(p, "%s: %s", path, apr_strerror(rv, number, sizeof number));
        return NULL;
    }
    text[*len] = '\0';
    return text;
}

struct kept_policy {
    apr_pool_t *pool; /* of the text, and of nothing else */
    const char *text;
    apr_size_t len;
};

static struct kept_policy *policy_kept(const char *key, apr_pool_t *process) {
    void *data = NULL;
    struct kept_policy *k;

    apr_pool_userdata_get(&data, key, process);
    if (data) return data;
    k = apr_pcalloc(process, sizeof *k);
    apr_pool_userdata_set(k, key, NULL, process);
    return k;
}

int httpd_policy_load(const struct httpd_policy_file *f, apr_pool_t *pconf, server_rec *s, policy_t **policy) {
    struct kept_policy *k = policy_kept(f->key, s->process->pool);
    apr_size_t len = 0;
    const char *why = NULL, *text = policy_read_text(pconf, f->path, &len, &why);
    char *error = NULL;

    if (text) {
        *policy = policy_parse(text, len, f->path, &error);
        if (!*policy) why = httpd_take_error(pconf, "", &error);
    }
    if (*policy) {
        apr_pool_t *kept = NULL;
        if (apr_pool_create(&kept, s->process->pool) == APR_SUCCESS) {
            if (k->pool) apr_pool_destroy(k->pool);
            *k = (struct kept_policy){ kept, apr_pmemdup(kept, text, len + 1), len };
        }
    } else if (k->text) {
        ap_log_error(__FILE__, __LINE__, f->module, APLOG_ERR, 0, s, "%s: %s", f->directive, why);
        ap_log_error(__FILE__, __LINE__, f->module, APLOG_ERR, 0, s, "%s: the policy of before stays in force",
                     f->directive);
        *policy = policy_parse(k->text, k->len, f->path, &error);
        if (!*policy) why = httpd_take_error(pconf, "", &error);
    }
    if (!*policy) {
        ap_log_error(__FILE__, __LINE__, f->module, APLOG_STARTUP | APLOG_ERR, 0, s, "%s: %s", f->directive, why);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    httpd_policy_own(policy, pconf);
    return OK;
}

/* ---- its classes ------------------------------------------------------------------------------------------------- */

static void policy_add_to(struct httpd_classes *to, const struct policy_engine_class *c) {
    to->settings[to->n] = c->settings;
    to->wait_s[to->n++] = c->wait_s;
    to->weights += c->settings.weight;
}

void httpd_policy_classes(const policy_t *policy, const struct policy_engine_host *host, apr_pool_t *pconf,
                          struct httpd_classes *to) {
    uint32_t n = policy_class_count(policy), lightest = 0;
    struct policy_engine_class c;

    memset(to, 0, sizeof *to);
    to->settings = apr_pcalloc(pconf, (n + 1) * sizeof *to->settings);
    to->wait_s = apr_pcalloc(pconf, (n + 1) * sizeof *to->wait_s);
    to->number = apr_pcalloc(pconf, (n + 1) * sizeof *to->number);
    for (uint32_t i = 0; i < n; i++) {
        const struct policy_class *from = policy_class_at(policy, i);

        if (!i || from->quantum < lightest) lightest = from->quantum;
        policy_engine_class(from, host, &c);
        policy_add_to(to, &c);
    }
    to->otherwise = policy_engine_default(policy);
    if (to->otherwise == POLICY_NONE) {
        policy_engine_other(lightest, host, &c);
        to->otherwise = to->n;
        policy_add_to(to, &c);
    }
}
