/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * httpd/httpd_policy.h - a policy file as a module of httpd has it, and what directives say of numbers.
 *
 * At start, and for `apachectl configtest`, a bad file is an error and httpd does not start.  On a graceful restart it
 * is an error in the log, and the policy of before, whose text outlives its configuration under a key of the process
 * pool, stays in force.
 */
#ifndef FAIRGATE_HTTPD_POLICY_H
#define FAIRGATE_HTTPD_POLICY_H

#include <httpd.h>

#include "core/rs.h"
#include "policy/policy.h"
#include "policy/policy_engine.h"

/* The sentence of *error (base/base_error.h) behind `before`, in the pool; *error is freed. */
const char *httpd_take_error(apr_pool_t *p, const char *before, char **error);
/* A decimal number in bounds into *out; NULL, or a sentence in the pool. */
const char *httpd_number(apr_pool_t *p, const char *what, const char *text, uint64_t least, uint64_t most, int *out);

/* Frees it with the pool. */
void httpd_policy_own(policy_t **policy, apr_pool_t *p);

struct httpd_policy_file {
    const char *path, *directive;       /* what log lines begin with: "QosPolicy" */
    const char *key;                    /* of the process pool */
    int         module;                 /* APLOG_MODULE_INDEX */
};
/* In post_config.  OK and *policy, which goes with pconf; or an error, which is logged. */
int httpd_policy_load(const struct httpd_policy_file *f, apr_pool_t *pconf, server_rec *s, policy_t **policy);

/* A frozen policy's classes as the engine has them, in pconf; "other" at the end if the policy has no default. */
struct httpd_classes {
    struct rs_class_settings *settings;
    uint32_t                 *wait_s;           /* longest wait */
    uint32_t                 *number;           /* zeroes: room for its number in the engine */
    uint32_t                  n, otherwise;     /* how many; the default's position */
    uint64_t                  weights;          /* their sum */
};
void httpd_policy_classes(const policy_t *policy, const struct policy_engine_host *host, apr_pool_t *pconf,
                          struct httpd_classes *to);

#endif
