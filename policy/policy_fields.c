/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_fields.c - the rule types: one row each; a new one is a new row here, a name in enum policy_field, a member of
 * struct policy_request, and an element in fairgate-policy.rng.
 *
 * Source: website-gateway paper 3.2, list of types.
 */
#include <string.h>

#include "policy_impl.h"

const struct policy_field_row policy_field_rows[POLICY_FIELDS] = {
    [POLICY_SRC_IP_ADDR] = { "src_ip_addr", POLICY_ADDRESS, POLICY_DEFAULT_MATCH, 0, "192.0.2.0/24" },
    [POLICY_DST_IP_ADDR] = { "dst_ip_addr", POLICY_ADDRESS, POLICY_DEFAULT_MATCH, 0, "192.0.2.1" },
    [POLICY_SRC_PORT] = { "src_port", POLICY_PORT, POLICY_DEFAULT_MATCH, 0, "1024-65535" },
    [POLICY_DST_PORT] = { "dst_port", POLICY_PORT, POLICY_DEFAULT_MATCH, 0, "8080" },
    [POLICY_PROT_TYPE] = { "prot_type", POLICY_TEXT, POLICY_EXACT, 1, "https" },
    [POLICY_SRC_DN] = { "src_dn", POLICY_DOMAIN, POLICY_SUFFIX, 1, "example.org" },
    [POLICY_DST_DN] = { "dst_dn", POLICY_DOMAIN, POLICY_SUFFIX, 1, "www.example.org" },
    [POLICY_URL] = { "url", POLICY_TEXT, POLICY_SUBSTRING, 0, "/download/" },
    [POLICY_USER_AGENT] = { "user_agent", POLICY_TEXT, POLICY_SUBSTRING, 1, "Googlebot" },
    [POLICY_COOKIE] = { "cookie", POLICY_COOKIES, POLICY_PREFIX, 0, "session=" },
    [POLICY_SSL_ID] = { "ssl_id", POLICY_TEXT, POLICY_EXACT, 1, "5f3a09c1" },
    [POLICY_VISITOR] = { "visitor", POLICY_VISITORS, POLICY_DEFAULT_MATCH, 0, "class=member" },
    [POLICY_CRAWLER] = { "crawler", POLICY_TEXT, POLICY_EXACT, 1, "googlebot" },
};

const struct policy_text policy_any_crawler = { "*", 1 };

static const char *const match_names[] = {
    [POLICY_DEFAULT_MATCH] = "", [POLICY_SUBSTRING] = "substring", [POLICY_PREFIX] = "prefix",
    [POLICY_SUFFIX] = "suffix",  [POLICY_EXACT] = "exact",         [POLICY_REGEX] = "regex",
};

int policy_field_by_name(const char *name) {
    for (int i = 0; i < POLICY_FIELDS; i++)
        if (strcmp(policy_field_rows[i].name, name) == 0) return i;
    return -1;
}

int policy_match_by_name(const char *name) {
    for (int i = POLICY_SUBSTRING; i <= POLICY_REGEX; i++)
        if (strcmp(match_names[i], name) == 0) return i;
    return -1;
}

const char *policy_match_name(enum policy_match match) { return match_names[match]; }

bool policy_is_numeric(enum policy_field field) {
    enum policy_kind kind = policy_field_rows[field].kind;

    return kind == POLICY_ADDRESS || kind == POLICY_PORT;
}

bool policy_takes_match(enum policy_field field) { return policy_field_rows[field].usual != POLICY_DEFAULT_MATCH; }

const char *policy_no_match_reason(enum policy_field field) {
    switch (policy_field_rows[field].kind) {
    case POLICY_ADDRESS: return "addresses are compared as numbers";
    case POLICY_PORT: return "ports are compared as numbers";
    default: return "words are compared as they are";
    }
}

unsigned policy_slips(const char *a, const char *b) {
    enum { LONGEST = 24 };
    unsigned row[LONGEST + 1];
    size_t na = strlen(a), nb = strlen(b);

    if (na > LONGEST || nb > LONGEST) return LONGEST;
    for (size_t j = 0; j <= nb; j++) row[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

const char *policy_nearest_field(const char *name) {
    const char *nearest = NULL;
    unsigned least = 3;

    for (int i = 0; i < POLICY_FIELDS; i++) {
        unsigned d = policy_slips(name, policy_field_rows[i].name);

        /* A beginning counts as a slip: src_ip for src_ip_addr. */
        if (strlen(name) >= 5 && strncmp(name, policy_field_rows[i].name, strlen(name)) == 0) d = 1;
        if (d < least) {
            least = d;
            nearest = policy_field_rows[i].name;
        }
    }
    return nearest;
}

const struct policy_text *policy_request_text(const struct policy_request *r, enum policy_field field) {
    switch (field) {
    case POLICY_PROT_TYPE: return &r->prot_type;
    case POLICY_SRC_DN: return &r->src_dn;
    case POLICY_DST_DN: return &r->dst_dn;
    case POLICY_URL: return &r->url;
    case POLICY_USER_AGENT: return &r->user_agent;
    case POLICY_COOKIE: return &r->cookie;
    case POLICY_SSL_ID: return &r->ssl_id;
    case POLICY_CRAWLER: return &r->crawler;
    default: break;
    }
    assert(!"a text field");
    return NULL;
}

static int is_blank(char c) { return c == ' ' || c == '\t'; }

bool policy_next_cookie(struct policy_text *left, struct policy_text *cookie) {
    const char *end = left->p + left->n, *p = left->p, *stop;

    while (p < end && (is_blank(*p) || *p == ';')) p++;
    if (p == end) return 0;
    stop = memchr(p, ';', (size_t)(end - p));
    if (!stop) stop = end;
    left->p = stop;
    left->n = (size_t)(end - stop);
    while (stop > p && is_blank(stop[-1])) stop--;
    cookie->p = p;
    cookie->n = (size_t)(stop - p);
    return 1;
}

struct policy_text policy_domain(struct policy_text name) {
    if (name.n > 0 && name.p[name.n - 1] == '.') name.n--;
    return name;
}

struct policy_text policy_url_seen(struct policy_text url, int with_query) {
    const char *query = url.p && !with_query ? memchr(url.p, '?', url.n) : NULL;

    if (query) url.n = (size_t)(query - url.p);
    return url;
}
