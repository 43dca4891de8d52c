/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_exempt.h - what a host is not to schedule: paths, methods and addresses, as a policy's <exempt> or a host's
 * own directives say them.
 *
 *     <exempt limit="8">
 *       <path>/healthz</path>                  the page, and what is below it
 *       <method>OPTIONS</method>
 *       <address>192.0.2.0/24</address>
 *     </exempt>
 *
 * Built, frozen, then read only, as policies are (policy.h).  How many may be at the server at one time the host sees
 * to.  Only mod_qos_drr does any of it; other hosts say that they do not.
 */
#ifndef FAIRGATE_POLICY_EXEMPT_H
#define FAIRGATE_POLICY_EXEMPT_H

#include "policy.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POLICY_EXEMPT_RULES_MAX 256     /* paths, methods and addresses of one */
#define POLICY_EXEMPT_LIMIT_MAX 256     /* at one time */

struct policy_exempt;

enum policy_exempt_word { POLICY_EXEMPT_PATH, POLICY_EXEMPT_METHOD, POLICY_EXEMPT_ADDRESS, POLICY_EXEMPT_WORDS };
int         policy_exempt_by_name(const char *name);    /* -1 unknown */
const char *policy_exempt_name(enum policy_exempt_word word);

struct policy_exempt *policy_exempt_new(void);  /* NULL: out of memory */
void                  policy_exempt_free(struct policy_exempt **e);
/* 0, or -1 and *error "what is wrong; what would be right" (malloc'ed, the caller frees). */
int                   policy_exempt_add(struct policy_exempt *e, enum policy_exempt_word word, const char *pattern,
                                        size_t n, char **error);
int                   policy_exempt_freeze(struct policy_exempt *e, char **error);
uint32_t              policy_exempt_count(const struct policy_exempt *e);       /* rules */

/* Does any rule look at it: POLICY_URL or POLICY_SRC_IP_ADDR? */
bool policy_exempt_uses(const struct policy_exempt *e, enum policy_field field);
/* Frozen.  Of r the address counts, and the URL, which here is a path in its one spelling, without a site. */
bool policy_exempt_takes(const struct policy_exempt *e, const char *method, const struct policy_request *r);

/* That of a policy's file; NULL: it has none.  It goes with the policy. */
const struct policy_exempt *policy_exempt_of(const policy_t *p);
uint32_t                    policy_exempt_limit(const policy_t *p);     /* 0: not said */

#ifdef __cplusplus
}
#endif

#endif
