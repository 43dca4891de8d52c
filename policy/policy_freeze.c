/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_freeze.c - from a list of rules to tables that any number of threads may read. */
#include <stdlib.h>
#include <string.h>

#include "match_interval.h"
#include "match_literal.h"
#include "match_regex.h"
#include "policy_exempt.h"
#include "policy_impl.h"

/* Counting sort by class: rules of a class keep their order. */
static int rank_rules(policy_t *p) {
    uint32_t *next = calloc((size_t)p->class_count + 1, sizeof *next);

    p->by_rank = calloc((size_t)p->rule_count + 1, sizeof *p->by_rank);
    if (!next || !p->by_rank) {
        free(next);
        return -1;
    }
    for (uint32_t i = 0; i < p->rule_count; i++) next[p->rules[i].class + 1]++;
    for (uint32_t c = 1; c <= p->class_count; c++) next[c] += next[c - 1];
    for (uint32_t i = 0; i < p->rule_count; i++) p->by_rank[next[p->rules[i].class]++] = i;
    free(next);
    return 0;
}

static const struct policy_rule *of_rank(const policy_t *p, uint32_t rank, enum policy_field field) {
    const struct policy_rule *r = &p->rules[p->by_rank[rank]];

    return r->field == field ? r : NULL;
}

static int freeze_numbers(policy_t *p, enum policy_field field) {
    struct match_range *ranges = calloc(2 * (size_t)p->rule_count, sizeof *ranges);
    size_t n = 0;

    if (!ranges) return -1;
    for (uint32_t rank = 0; rank < p->rule_count; rank++) {
        const struct policy_rule *r = of_rank(p, rank, field);
        int more;

        if (!r) continue;
        if (policy_field_rows[field].kind == POLICY_ADDRESS)
            more = match_parse_address(p->text + r->text, r->len, ranges + n, NULL);
        else more = match_parse_port(p->text + r->text, r->len, ranges + n, NULL);
        assert(more > 0); /* policy_add_rule has refused what is wrong */
        while (more-- > 0) ranges[n++].rank = rank;
    }
    p->interval[field] = match_interval_new(ranges, n);
    free(ranges);
    return p->interval[field] != NULL ? 0 : -1;
}

static enum match_kind freeze_kind_of(enum policy_match match) {
    switch (match) {
    case POLICY_PREFIX: return MATCH_PREFIX;
    case POLICY_SUFFIX: return MATCH_SUFFIX;
    case POLICY_EXACT: return MATCH_EXACT;
    default: return MATCH_SUBSTRING;
    }
}

/* One rule as patterns.  A domain suffix is two: the name itself, and the name behind a dot, which `dotted` holds. */
static size_t rule_patterns(const policy_t *p, const struct policy_rule *r, uint32_t rank, struct match_pattern *out,
                            char *dotted) {
    struct match_pattern m = { p->text + r->text, r->len, rank, freeze_kind_of(r->match) };

    if (policy_field_rows[r->field].kind != POLICY_DOMAIN || m.kind == MATCH_SUBSTRING || m.kind == MATCH_PREFIX) {
        out[0] = m;
        return 1;
    }
    if (m.n > 1 && m.p[m.n - 1] == '.') m.n--;
    out[0] = m;
    if (m.kind == MATCH_EXACT) return 1;
    if (m.p[0] == '.') {
        out[0].p++;
        out[0].n--;
    }
    out[0].kind = MATCH_EXACT;
    dotted[0] = '.';
    memcpy(dotted + 1, out[0].p, out[0].n);
    out[1] = (struct match_pattern){ dotted, out[0].n + 1, rank, MATCH_SUFFIX };
    return 2;
}

/* In which of a field's two tables the rule is: rules of URLs that have a ? look at more than the others. */
static int sees_query(const policy_t *p, const struct policy_rule *r) {
    return r->field == POLICY_URL && memchr(p->text + r->text, '?', r->len) != NULL;
}

static int freeze_literals(policy_t *p, enum policy_field field, int with_query, struct match_literal **table) {
    size_t n = 0, used = 0;
    struct match_pattern *patterns = calloc(2 * (size_t)p->rule_count, sizeof *patterns);
    char *dotted = malloc((size_t)p->text_len + p->rule_count);
    int failed = !patterns || !dotted;

    for (uint32_t rank = 0; rank < p->rule_count && !failed; rank++) {
        const struct policy_rule *r = of_rank(p, rank, field);

        if (!r || r->match == POLICY_REGEX || sees_query(p, r) != with_query) continue;
        n += rule_patterns(p, r, rank, patterns + n, dotted + used);
        used += r->len + 1;
    }
    if (!failed && n > 0) {
        *table = match_literal_new(patterns, n, policy_field_rows[field].fold);
        failed = !*table;
    }
    free(patterns);
    free(dotted);
    return failed ? -1 : 0;
}

static int freeze_visitors(policy_t *p) {
    uint32_t n = 0;

    p->visitor = calloc(p->visitor_count, sizeof *p->visitor);
    p->visitor_rank = calloc(p->visitor_count, sizeof *p->visitor_rank);
    if (!p->visitor || !p->visitor_rank) return -1;
    for (uint32_t rank = 0; rank < p->rule_count; rank++) {
        const struct policy_rule *r = of_rank(p, rank, POLICY_VISITOR);

        if (!r) continue;
        /* policy_add_rule has refused what is wrong.  The text does not move any more. */
        if (policy_visitor_read((struct policy_text){ p->text + r->text, r->len }, &p->visitor[n], NULL)) return -1;
        p->visitor_rank[n++] = rank;
    }
    return 0;
}

static int freeze_regexes(policy_t *p, char **error) {
    uint32_t n = 0;

    p->regex = calloc((size_t)p->regex_count + 1, sizeof(*p->regex));
    p->regex_rank = calloc((size_t)p->regex_count + 1, sizeof *p->regex_rank);
    if (!p->regex || !p->regex_rank) return -1;
    for (uint32_t rank = 0; rank < p->rule_count; rank++) {
        const struct policy_rule *r = &p->rules[p->by_rank[rank]];

        if (r->match != POLICY_REGEX) continue;
        p->regex[n] = match_regex_new(p->text + r->text, r->len, policy_field_rows[r->field].fold, error);
        if (!p->regex[n]) return -1;
        p->regex_rank[n++] = rank;
    }
    return 0;
}

/* Without a default the class "other" is it, for all hosts: they make one of that name when there is neither. */
static void choose_default(policy_t *p) {
    for (uint32_t i = 0; i < p->class_count && p->default_class == POLICY_NONE; i++)
        if (strcmp(p->classes[i].name, POLICY_OTHER) == 0) {
            p->default_class = i;
            p->classes[i].is_default = 1;
        }
}

int policy_freeze(policy_t *p, char **error) {
    int failed;

    assert(p->magic == POLICY_MAGIC && !p->frozen);
    if (p->class_count == 0)
        return base_fail(
            error, "there is no class; write at least one, as in <class id=\"1\" quantum=\"1\" default=\"yes\"/>");
    p->frozen = 1;
    choose_default(p);
    failed = rank_rules(p);
    for (int f = 0; f < POLICY_FIELDS && !failed; f++)
        if (policy_uses(p, f))
            failed = policy_is_numeric(f)  ? freeze_numbers(p, f)
                     : f == POLICY_VISITOR ? freeze_visitors(p)
                                           : freeze_literals(p, f, 0, &p->literal[f]);
    if (!failed && policy_uses(p, POLICY_URL)) failed = freeze_literals(p, POLICY_URL, 1, &p->with_query);
    if (!failed) failed = freeze_regexes(p, error);
    if (!failed && p->exempt) failed = policy_exempt_freeze(p->exempt, error);
    if (failed && error && !*error) base_fail(error, "out of memory; give the process more, or write fewer rules");
    return failed ? -1 : 0;
}

size_t policy_table_bytes(const policy_t *p) {
    size_t n = sizeof *p + p->rule_count * (sizeof *p->rules + sizeof *p->by_rank) + p->text_len;

    for (int f = 0; f < POLICY_FIELDS; f++) {
        n += p->literal[f] ? match_literal_bytes(p->literal[f]) : 0;
        n += p->interval[f] ? match_interval_bytes(p->interval[f]) : 0;
    }
    n += p->visitor_count * (sizeof *p->visitor + sizeof *p->visitor_rank);
    return n + (p->with_query != NULL ? match_literal_bytes(p->with_query) : 0);
}
