/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_reference.c - what a rule means, said as plainly as possible: one rule, one request, no tables.
 *
 * `fairgate-policy explain` uses it to find what else would have matched, and the tests hold the tables against it; it
 * therefore shares no search with them.
 */
#include <string.h>

#include "match_interval.h"
#include "match_regex.h"
#include "policy_impl.h"

static char reference_folded(char c, int fold) { return fold && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static int same(const char *a, const char *b, size_t n, int fold) {
    for (size_t i = 0; i < n; i++)
        if (reference_folded(a[i], fold) != reference_folded(b[i], fold)) return 0;
    return 1;
}

static int literal_matches(enum policy_match match, struct policy_text pattern, struct policy_text text, int fold) {
    if (text.n < pattern.n) return 0;
    switch (match) {
    case POLICY_PREFIX: return same(text.p, pattern.p, pattern.n, fold);
    case POLICY_SUFFIX: return same(text.p + text.n - pattern.n, pattern.p, pattern.n, fold);
    case POLICY_EXACT: return text.n == pattern.n && same(text.p, pattern.p, pattern.n, fold);
    default:
        for (size_t i = 0; i + pattern.n <= text.n; i++)
            if (same(text.p + i, pattern.p, pattern.n, fold)) return 1;
        return 0;
    }
}

static int domain_matches(enum policy_match match, struct policy_text pattern, struct policy_text name, int fold) {
    if (match == POLICY_SUFFIX || match == POLICY_EXACT) pattern = policy_domain(pattern);
    if (match != POLICY_SUFFIX) return literal_matches(match, pattern, name, fold);
    if (pattern.p[0] == '.') {
        pattern.p++;
        pattern.n--;
    }
    if (!literal_matches(POLICY_SUFFIX, pattern, name, fold)) return 0;
    return name.n == pattern.n || name.p[name.n - pattern.n - 1] == '.';
}

static int number_matches(const struct match_range *ranges, int n, struct match_number x) {
    for (int i = 0; i < n; i++) {
        const struct match_range *r = &ranges[i];
        int from = x.high > r->from.high || (x.high == r->from.high && x.low >= r->from.low);
        int to = x.high < r->to.high || (x.high == r->to.high && x.low <= r->to.low);

        if (from && to) return 1;
    }
    return 0;
}

static int address_matches(struct policy_text pattern, const void *addr, unsigned len) {
    struct match_range ranges[2];
    struct match_number x;

    if (!addr || !match_address_number(addr, len, &x)) return 0;
    return number_matches(ranges, match_parse_address(pattern.p, pattern.n, ranges, NULL), x);
}

static int port_matches(struct policy_text pattern, uint16_t port) {
    struct match_range range;

    if (port == 0) return 0;
    return number_matches(&range, match_parse_port(pattern.p, pattern.n, &range, NULL),
                          (struct match_number){ 0, port });
}

static int regex_matches(struct policy_text pattern, struct policy_text text, int fold) {
    struct match_regex *regex = match_regex_new(pattern.p, pattern.n, fold, NULL);
    int found = regex && match_regex_find(regex, text.p, text.n);

    match_regex_free(&regex);
    return found;
}

static int text_matches(const struct policy_rule *rule, struct policy_text pattern, struct policy_text text) {
    const struct policy_field_row *row = &policy_field_rows[rule->field];
    struct policy_text cookie;

    if (!text.p) return 0;
    if (row->kind == POLICY_DOMAIN) text = policy_domain(text);
    if (rule->match == POLICY_REGEX) return regex_matches(pattern, text, row->fold);
    if (row->kind == POLICY_DOMAIN) return domain_matches(rule->match, pattern, text, row->fold);
    if (rule->field == POLICY_URL) text = policy_url_seen(text, memchr(pattern.p, '?', pattern.n) != NULL);
    if (rule->field == POLICY_CRAWLER && literal_matches(rule->match, pattern, policy_any_crawler, row->fold)) return 1;
    if (row->kind != POLICY_COOKIES) return literal_matches(rule->match, pattern, text, row->fold);
    while (policy_next_cookie(&text, &cookie))
        if (literal_matches(rule->match, pattern, cookie, row->fold)) return 1;
    return 0;
}

static int visitor_matches(struct policy_text pattern, const struct policy_visitor *is) {
    struct policy_visitor v;

    if (!is->known || policy_visitor_read(pattern, &v, NULL) != 0 || is->age_s < v.age_s) return 0;
    return v.word.n == 0 || (v.word.n == is->word.n && same(v.word.p, is->word.p, v.word.n, 0));
}

bool policy_rule_matches(const policy_t *p, uint32_t number, const struct policy_request *r) {
    const struct policy_rule *rule;
    struct policy_text pattern;

    assert(p->magic == POLICY_MAGIC && number < p->rule_count);
    rule = &p->rules[number];
    pattern = (struct policy_text){ p->text + rule->text, rule->len };
    switch (rule->field) {
    case POLICY_SRC_IP_ADDR: return address_matches(pattern, r->src_addr, r->src_addr_len);
    case POLICY_DST_IP_ADDR: return address_matches(pattern, r->dst_addr, r->dst_addr_len);
    case POLICY_SRC_PORT: return port_matches(pattern, r->src_port);
    case POLICY_DST_PORT: return port_matches(pattern, r->dst_port);
    case POLICY_VISITOR: return visitor_matches(pattern, &r->visitor);
    default: return text_matches(rule, pattern, *policy_request_text(r, rule->field));
    }
}
