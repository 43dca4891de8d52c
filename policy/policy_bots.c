/* SPDX-License-Identifier: BSD-2-Clause */
#include "policy_bots.h"

#include <string.h>

#include "base/base_error.h"

struct crawlers_known *policy_bots_load(const char *path, char **error) {
    struct crawlers_table *t = crawlers_table_read(path, error);
    struct crawlers_known *k = t ? crawlers_known_new(t) : NULL;

    if (t && !k) base_fail(error, "%s: out of memory", path);
    crawlers_table_free(&t);
    return k;
}

struct policy_text policy_bots_of(const struct crawlers_known *k, const struct policy_request *r) {
    char agent[CRAWLERS_AGENT_SEEN + 1];
    size_t n = r->user_agent.p ? r->user_agent.n : 0;
    const char *name;
    int crawler;

    if (!r->src_addr) return (struct policy_text){ NULL, 0 };
    if (n > CRAWLERS_AGENT_SEEN) n = CRAWLERS_AGENT_SEEN;
    if (n) memcpy(agent, r->user_agent.p, n);
    agent[n] = 0;
    crawler = crawlers_known_which(crawlers_known_of(k, r->src_addr, r->src_addr_len), crawlers_known_claims(k, agent));
    if (crawler < 0) return (struct policy_text){ NULL, 0 };
    name = crawlers_known_name(k, (uint32_t)crawler);
    return (struct policy_text){ name, strlen(name) };
}
