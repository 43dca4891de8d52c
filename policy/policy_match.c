/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_match.c - a request against the frozen tables.
 *
 * Each field's table lowers `best`, the smallest rank so far; a table that holds no smaller rank is not asked.  Numbers
 * come first, because they are cheapest, then texts, then the regular expressions by rank until one can only be worse.
 *
 * The policy is only read, and all that is written lies on the stack: any number of threads may be here at once.
 */
#include <string.h>

#include "match_interval.h"
#include "match_literal.h"
#include "match_regex.h"
#include "policy_impl.h"

static uint32_t match_lower(uint32_t best, uint32_t rank) { return rank < best ? rank : best; }

static uint32_t match_address(const struct match_interval *m, const void *addr, unsigned len, uint32_t best) {
    struct match_number x;

    if (!m || !addr || !match_address_number(addr, len, &x)) return best;
    return match_lower(best, match_interval_find(m, x));
}

static uint32_t match_port(const struct match_interval *m, uint16_t port, uint32_t best) {
    if (!m || port == 0) return best;
    return match_lower(best, match_interval_find(m, (struct match_number){ 0, port }));
}

static uint32_t match_text(const struct match_literal *m, struct policy_text text, uint32_t best) {
    struct match_scan s;

    if (!m || !text.p) return best;
    s = match_scan_begin(m, best);
    match_scan_feed(&s, text.p, text.n);
    return match_scan_end(&s);
}

static uint32_t match_cookies(const struct match_literal *m, struct policy_text field, uint32_t best) {
    struct policy_text cookie;

    if (!m || !field.p) return best;
    while (best > match_literal_least(m) && policy_next_cookie(&field, &cookie)) best = match_text(m, cookie, best);
    return best;
}

static uint32_t match_visitors(const policy_t *p, const struct policy_visitor *v, uint32_t best) {
    for (uint32_t i = 0; v->known && i < p->visitor_count && p->visitor_rank[i] < best; i++)
        if (policy_visitor_fits(&p->visitor[i], v)) return p->visitor_rank[i];
    return best;
}

static uint32_t match_regexes(const policy_t *p, const struct policy_request *r, uint32_t best) {
    for (uint32_t i = 0; i < p->regex_count && p->regex_rank[i] < best; i++) {
        enum policy_field field = p->rules[p->by_rank[p->regex_rank[i]]].field;
        struct policy_text text = *policy_request_text(r, field);

        if (policy_field_rows[field].kind == POLICY_DOMAIN) text = policy_domain(text);
        if (text.p && match_regex_find(p->regex[i], text.p, text.n)) return p->regex_rank[i];
    }
    return best;
}

struct policy_answer policy_match_request(const policy_t *p, const struct policy_request *r) {
    uint32_t best = POLICY_NONE, rule;

    assert(p->magic == POLICY_MAGIC && p->frozen);
    best = match_address(p->interval[POLICY_SRC_IP_ADDR], r->src_addr, r->src_addr_len, best);
    best = match_address(p->interval[POLICY_DST_IP_ADDR], r->dst_addr, r->dst_addr_len, best);
    best = match_port(p->interval[POLICY_SRC_PORT], r->src_port, best);
    best = match_port(p->interval[POLICY_DST_PORT], r->dst_port, best);
    best = match_visitors(p, &r->visitor, best);
    best = match_text(p->literal[POLICY_PROT_TYPE], r->prot_type, best);
    best = match_text(p->literal[POLICY_SSL_ID], r->ssl_id, best);
    best = match_text(p->literal[POLICY_CRAWLER], r->crawler, best);
    if (r->crawler.p) best = match_text(p->literal[POLICY_CRAWLER], policy_any_crawler, best);
    best = match_text(p->literal[POLICY_SRC_DN], policy_domain(r->src_dn), best);
    best = match_text(p->literal[POLICY_DST_DN], policy_domain(r->dst_dn), best);
    best = match_cookies(p->literal[POLICY_COOKIE], r->cookie, best);
    best = match_text(p->literal[POLICY_USER_AGENT], r->user_agent, best);
    best = match_text(p->literal[POLICY_URL], policy_url_seen(r->url, 0), best);
    best = match_text(p->with_query, policy_url_seen(r->url, 1), best);
    best = match_regexes(p, r, best);
    if (best == POLICY_NONE) return (struct policy_answer){ p->default_class, POLICY_NONE };
    rule = p->by_rank[best];
    return (struct policy_answer){ p->rules[rule].class, rule };
}
