/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_warn.h - rules that a host accepts and that never decide: what `fairgate-policy check` and a host's check of
 * its configuration warn about.
 *
 *     shadowed    each request that the rule matches belongs to an earlier class
 *     wildcard    a literal pattern has the letters of a regular expression or of a wildcard
 *     no scheme   a URL's prefix begins with its path, and each URL begins with its scheme
 *     misspelt    a crawler's name is a small slip away from one of etc/bots-example.conf
 *
 * A shadowed rule is found by example: requests are made from its pattern, and the policy's own tables classify them.
 * A regex has no such requests; it is compared with the other regexes only.
 */
#ifndef FAIRGATE_POLICY_WARN_H
#define FAIRGATE_POLICY_WARN_H

#include "policy.h"

#define POLICY_WARN_RULES 4096u     /* rules that are examined: the rest of a larger policy is not */
#define POLICY_WARN_MAX   20u       /* sentences */

struct policy_warn {
    void (*tell)(void *to, const char *sentence);       /* "line 12: ...; the cure" */
    void  *to;
    bool (*knows)(const void *of, const char *crawler); /* NULL, or: the host has a crawler of that name */
    const void *of;
};

/* The number of sentences.  The policy is frozen. */
unsigned policy_warn(const policy_t *p, const struct policy_warn *w);

#endif
