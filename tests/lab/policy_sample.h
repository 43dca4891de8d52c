/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_sample.h - a policy of any size that looks like a large site's, and requests to try on it; for measuring and
 * testing.
 *
 * Of 100 rules 40 are user agents, 30 CIDRs, 20 URLs, 5 cookies and 5 domains, with patterns of 10 to 60 bytes that
 * share beginnings as real ones do.  The same number of rules gives the same policy each time.
 */
#ifndef FAIRGATE_POLICY_SAMPLE_H
#define FAIRGATE_POLICY_SAMPLE_H

#include "policy/policy.h"

enum { SAMPLE_REQUESTS = 4 };

/* Frozen, 10 classes and a default.  NULL: out of memory. */
policy_t             *sample_policy(unsigned rules);
/*
 * 0: a browser, which matches nothing; 1, 2, 3: what the last user agent, cookie or URL rule names (if there are so
 * many rules).
 */
struct policy_request sample_request(unsigned rules, unsigned which);

#endif
