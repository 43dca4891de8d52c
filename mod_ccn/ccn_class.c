/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_class.h"

#include <string.h>

#include "ccn_private.h"
#include "pages/pages_url.h"
#include "policy/policy_url.h"

#define P          ccn_process
#define SEGMENT_NS 5000u /* that one takes to send, where nothing is known */

static struct policy_text class_text(struct ndn_span s) { return (struct policy_text){ (const char *)s.at, s.n }; }
static struct policy_text class_string(const char *s) { return (struct policy_text){ s, s ? strlen(s) : 0 }; }

uint32_t ccn_class_by_policy(const struct ccn_seen_as *from, const char *url, struct ndn_span fields) {
    const struct ccn_site *c = ccn_config();
    struct policy_request q = { .src_addr = NULL };
    char text[POLICY_URL_ROOM(CCN_URL_MAX + 512)];
    struct policy_url u = { .scheme = class_string("http"),
                            .host = class_string(from->server->server_hostname),
                            .target = class_string(url) };
    struct policy_answer a;

    if (from->client && (from->client->family == APR_INET || from->client->family == APR_INET6)) {
        q.src_addr = from->client->ipaddr_ptr;
        q.src_addr_len = (unsigned)from->client->ipaddr_len;
        q.src_port = from->client->port;
    }
    if (from->local && (from->local->family == APR_INET || from->local->family == APR_INET6)) {
        q.dst_addr = from->local->ipaddr_ptr;
        q.dst_addr_len = (unsigned)from->local->ipaddr_len;
        q.dst_port = from->local->port;
    }
    q.prot_type = class_string("ndn");
    q.dst_dn = u.host;
    q.user_agent = class_text(ccn_private_field(fields, "User-Agent"));
    q.cookie = class_text(ccn_private_field(fields, "Cookie"));
    if (policy_uses(c->policy, POLICY_URL) && policy_url_room(&u) <= sizeof text)
        q.url = policy_url_text(&u, text, sizeof text);
    a = policy_match_request(c->policy, &q);
    return a.position == POLICY_NONE ? c->classes.otherwise : a.position;
}

void ccn_class_of(const struct ccn_seen_as *from, const char *url, struct ndn_span fields, struct ccn_class *c) {
    char spelt[PAGES_URL_ROOM(CCN_URL_MAX)];
    size_t n = pages_url_spell(url, strlen(url), spelt, sizeof spelt);

    pages_keys(P.hash_key, from->server->server_hostname, spelt, n, &c->keys);
    c->class = ccn_class_by_policy(from, url, fields);
    c->estimate = pages_learnt_mean(P.learnt, CCN_LEARNT, c->keys.url);
    if (c->estimate) return;
    c->class = ccn_config()->classes.n - 1;
    if (c->keys.pattern) c->estimate = pages_learnt_mean(P.learnt, CCN_LEARNT, c->keys.pattern);
    if (!c->estimate) c->estimate = pages_learnt_mean(P.learnt, CCN_LEARNT, c->keys.dir);
}

void ccn_class_of_service(const server_rec *s, const char *name, struct ccn_class *c) {
    pages_keys(P.hash_key, s->server_hostname, name, strlen(name), &c->keys);
    c->estimate = pages_learnt_mean(P.learnt, CCN_LEARNT, c->keys.url);
}

uint64_t ccn_class_sending(uint32_t segments) { return (uint64_t)segments * SEGMENT_NS / 1000 + 1; }

/* Nor does it take a row from others. */
static void learn_what_is_known(uint64_t key, int status, uint64_t work) {
    if (key && (status < 400 || pages_learnt_mean(P.learnt, CCN_LEARNT, key)))
        pages_learnt_add(P.learnt, CCN_LEARNT, key, work);
}

uint64_t ccn_class_learn(const struct ccn_class *c, int status, uint64_t us, uint32_t segments) {
    uint64_t work = us + ccn_class_sending(segments);

    /* A name that brings no page stays one that nobody knows. */
    if (status < 400) pages_learnt_add(P.learnt, CCN_LEARNT, c->keys.url, work);
    learn_what_is_known(c->keys.pattern, status, work);
    learn_what_is_known(c->keys.dir, status, work);
    return work;
}
