/* SPDX-License-Identifier: BSD-2-Clause */
#include "policy_warn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match_interval.h"
#include "policy_impl.h"

#define WARN_EXAMPLES 8u /* requests that are made from one rule */
/* Bytes of an example: the pattern, and what stands before and behind it. */
#define WARN_ROOM     (POLICY_PATTERN_MAX + 128u)

struct warning {
    const policy_t *p;
    const struct policy_warn *w;
    unsigned told;
};

static void warn_tell(struct warning *is, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn_tell(struct warning *is, const char *format, ...) {
    char sentence[1024];
    va_list ap;

    if (is->told == POLICY_WARN_MAX) return;
    va_start(ap, format);
    vsnprintf(sentence, sizeof sentence, format, ap);
    va_end(ap);
    is->told++;
    is->w->tell(is->w->to, sentence);
}

static struct policy_text warn_pattern(const policy_t *p, const struct policy_rule *r) {
    return (struct policy_text){ p->text + r->text, r->len };
}

static bool warn_begins(struct policy_text t, const char *with) {
    return t.n >= strlen(with) && memcmp(t.p, with, strlen(with)) == 0;
}

/* ---- shadowed ---------------------------------------------------------------------------------------------------- */

/* What the examples of one rule are made in. */
struct example {
    struct policy_request r;
    unsigned char address[16];
    char text[WARN_ROOM];
};

/* The n-th of some places in a range, its ends among them. */
static uint64_t warn_place(uint64_t from, uint64_t to, unsigned n) {
    return n + 1 == WARN_EXAMPLES ? to : from + (uint64_t)((unsigned __int128)(to - from) * n / (WARN_EXAMPLES - 1));
}

static bool example_number(struct example *e, const struct policy_rule *r, struct policy_text pattern, unsigned n) {
    struct match_range range[2];
    uint64_t high, low;

    if (policy_field_rows[r->field].kind == POLICY_PORT) {
        if (match_parse_port(pattern.p, pattern.n, range, NULL) < 1) return false;
        low = warn_place(range[0].from.low, range[0].to.low, n);
        *(r->field == POLICY_SRC_PORT ? &e->r.src_port : &e->r.dst_port) = (uint16_t)low;
        return true;
    }
    if (match_parse_address(pattern.p, pattern.n, range, NULL) < 1) return false;
    high = warn_place(range[0].from.high, range[0].to.high, n);
    low = warn_place(range[0].from.low, range[0].to.low, n);
    for (unsigned i = 0; i < 8; i++) {
        e->address[i] = (unsigned char)(high >> (56 - 8 * i));
        e->address[8 + i] = (unsigned char)(low >> (56 - 8 * i));
    }
    if (r->field == POLICY_SRC_IP_ADDR) e->r.src_addr = e->address, e->r.src_addr_len = 16;
    else e->r.dst_addr = e->address, e->r.dst_addr_len = 16;
    return true;
}

static bool example_visitor(struct example *e, struct policy_text pattern, unsigned n) {
    struct policy_visitor v;

    if (policy_visitor_read(pattern, &v, NULL) != 0) return false;
    e->r.visitor = v;
    if (n % 2) e->r.visitor.age_s = POLICY_AGE_MAX;
    if (!v.word.n && n % 4 > 1) e->r.visitor.word = (struct policy_text){ "fairgate-example", 16 };
    return true;
}

/* The pattern with something before and behind it, as far as its kind of match leaves room for that. */
static bool example_text(struct example *e, const struct policy_rule *r, struct policy_text pattern, unsigned n) {
    static const char *const around[][2] = {
        { "", "" }, { "", "9 x" }, { "x.9", "" }, { "Mozilla/5.0 (x; ", "/1.0)" }
    };
    const char *before = around[n % 4][0], *behind = around[n % 4][1];
    bool starts = r->match == POLICY_PREFIX || r->match == POLICY_EXACT;
    bool ends = r->match == POLICY_SUFFIX || r->match == POLICY_EXACT;

    if (r->field == POLICY_URL) {
        static const char *const site[] = { "http://fairgate.invalid", "https://host.invalid:8443" };

        before = memmem(pattern.p, pattern.n, "://", 3) ? "" : site[n % 2];
        if (*before && pattern.p[0] != '/') before = n % 2 ? "https://host.invalid/x" : "http://fairgate.invalid/";
        behind = n % 4 > 1 ? "x/y" : "";
    } else if (policy_field_rows[r->field].kind == POLICY_DOMAIN) {
        before = r->match == POLICY_EXACT || pattern.p[0] == '.' ? "" : n % 2 ? "host." : "";
        if (pattern.p[0] == '.') before = n % 2 ? "host" : "a.host";
        behind = "";
        starts = false;
    } else if (r->field == POLICY_CRAWLER && pattern.n == 1 && pattern.p[0] == '*') {
        pattern = (struct policy_text){ "fairgate-example", 16 };
        starts = ends = true;
    }
    n = (unsigned)snprintf(e->text, sizeof e->text, "%s%.*s%s", starts ? "" : before, (int)pattern.n, pattern.p,
                           ends ? "" : behind);
    if (n >= sizeof e->text || r->match == POLICY_REGEX) return false;
    /* The fields of text are read through one accessor. */
    *(struct policy_text *)(uintptr_t)policy_request_text(&e->r, r->field) = (struct policy_text){ e->text, n };
    return true;
}

/* Each request has a URL and a protocol: a rule that takes all of them shadows the others. */
static bool example_make(struct example *e, const policy_t *p, uint32_t rule, unsigned n) {
    const struct policy_rule *r = &p->rules[rule];
    struct policy_text pattern = warn_pattern(p, r);
    static const char *const urls[] = { "http://fairgate.invalid/", "https://host.invalid/x?y=z" };
    bool made;

    memset(&e->r, 0, sizeof e->r);
    if (n == 0 || n == 3) e->r.url = (struct policy_text){ urls[n / 3], strlen(urls[n / 3]) };
    else e->r.url = (struct policy_text){ urls[n % 2], strlen(urls[n % 2]) };
    e->r.prot_type = n % 2 ? (struct policy_text){ "https", 5 } : (struct policy_text){ "http", 4 };
    made = policy_is_numeric(r->field)  ? example_number(e, r, pattern, n)
           : r->field == POLICY_VISITOR ? example_visitor(e, pattern, n)
                                        : example_text(e, r, pattern, n);
    return made && policy_rule_matches(p, rule, &e->r);
}

/* The rule of an earlier class that decides instead; POLICY_NONE: it is not always so. */
static uint32_t warn_shadow(const policy_t *p, uint32_t rule, struct example *e) {
    uint32_t by = POLICY_NONE;

    for (unsigned n = 0; n < WARN_EXAMPLES; n++) {
        struct policy_answer a;

        if (!example_make(e, p, rule, n)) continue;
        a = policy_match_request(p, &e->r);
        if (a.position >= p->rules[rule].class) return POLICY_NONE;
        if (by == POLICY_NONE) by = a.rule;
    }
    return by;
}

static uint32_t warn_same_regex(const policy_t *p, uint32_t rule) {
    const struct policy_rule *r = &p->rules[rule];

    if (r->match != POLICY_REGEX) return POLICY_NONE;
    for (uint32_t i = 0; i < p->regex_count; i++) {
        const struct policy_rule *other = &p->rules[p->by_rank[p->regex_rank[i]]];

        if (other->class < r->class && other->field == r->field && other->len == r->len &&
            !memcmp(p->text + other->text, p->text + r->text, r->len))
            return p->by_rank[p->regex_rank[i]];
    }
    return POLICY_NONE;
}

/* One sentence for each class: its first rule that is shadowed, and how many more are. */
static void warn_class(struct warning *is, uint32_t first, uint32_t by, uint32_t shadowed, uint32_t rules) {
    const policy_t *p = is->p;
    const struct policy_class *c = &p->classes[p->rules[first].class];
    const char *earlier = p->classes[p->rules[by].class].name;
    char text[256], other[256], more[64] = "";

    policy_rule_text(p, first, text, sizeof text);
    policy_rule_text(p, by, other, sizeof other);
    if (shadowed == rules && !c->is_default) snprintf(more, sizeof more, ", and no other rule of it decides either");
    else if (shadowed > 1) snprintf(more, sizeof more, ", as do %u more rules of it", shadowed - 1);
    warn_tell(is,
              "%s never decides for class \"%s\"%s: class \"%s\" is above it and takes these requests by %s; move "
              "class \"%s\" up, or make that rule narrower",
              text, c->name, more, earlier, other, c->name);
}

static void warn_shadowed(struct warning *is, struct example *e, uint32_t most) {
    const policy_t *p = is->p;
    uint32_t class = POLICY_NONE, first = 0, by = 0, shadowed = 0, rules = 0;

    for (uint32_t rank = 0; rank < most; rank++) {
        uint32_t rule = p->by_rank[rank], shadow;

        if (p->rules[rule].class != class) {
            if (shadowed) warn_class(is, first, by, shadowed, rules);
            class = p->rules[rule].class;
            shadowed = rules = 0;
        }
        rules++;
        shadow = p->rules[rule].match == POLICY_REGEX ? warn_same_regex(p, rule) : warn_shadow(p, rule, e);
        if (shadow == POLICY_NONE) continue;
        if (!shadowed++) first = rule, by = shadow;
    }
    if (shadowed) warn_class(is, first, by, shadowed, rules);
}

/* ---- one rule by itself ------------------------------------------------------------------------------------------ */

static void warn_wildcard(struct warning *is, uint32_t rule) {
    const struct policy_rule *r = &is->p->rules[rule];
    struct policy_text t = warn_pattern(is->p, r);
    const char *sign = memchr(t.p, '|', t.n);
    char text[256];

    if (!sign) sign = memchr(t.p, '*', t.n);
    if (!sign && memmem(t.p, t.n, "\\b", 2)) sign = "\\";
    if (!sign && t.p[0] == '^') sign = "^";
    if (!sign && t.p[t.n - 1] == '$') sign = "$";
    if (!sign) return;
    policy_rule_text(is->p, rule, text, sizeof text);
    warn_tell(is,
              "%s is compared letter by letter, and %c has no other meaning there; write a rule for each word, without "
              "it, or match=\"regex\"",
              text, *sign);
}

/* What begins a URL is "http://" or alike; a CONNECT's has a host and a port, and no slash. */
static void warn_no_scheme(struct warning *is, uint32_t rule) {
    const struct policy_rule *r = &is->p->rules[rule];
    struct policy_text t = warn_pattern(is->p, r);
    char text[256];

    if (r->match == POLICY_REGEX ? !warn_begins(t, "^/")
                                 : (r->match != POLICY_PREFIX && r->match != POLICY_EXACT) || !memchr(t.p, '/', t.n) ||
                                       memmem(t.p, t.n, ":/", 2))
        return;
    policy_rule_text(is->p, rule, text, sizeof text);
    warn_tell(is,
              "%s matches no URL: each begins with its scheme and host; write match=\"substring\", or the whole of it, "
              "as in http://www.example.org/",
              text);
}

/* The crawlers of etc/bots-example.conf. */
static const char *const warn_crawlers[] = {
    "googlebot",       "google-special", "google-fetcher", "bingbot",       "applebot",     "duckduckbot",
    "yandexbot",       "baiduspider",    "gptbot",         "oai-searchbot", "chatgpt-user", "perplexitybot",
    "perplexity-user", "claudebot",      "ccbot",          "amazonbot",
};

static void warn_misspelt(struct warning *is, uint32_t rule) {
    const struct policy_rule *r = &is->p->rules[rule];
    struct policy_text t = warn_pattern(is->p, r);
    char name[32], text[256];
    unsigned least = 3;
    const char *nearest = NULL;

    if (t.n >= sizeof name || (r->match != POLICY_EXACT && memchr(t.p, '*', t.n) == NULL)) return;
    for (size_t i = 0; i < t.n; i++) name[i] = (char)(t.p[i] >= 'A' && t.p[i] <= 'Z' ? t.p[i] - 'A' + 'a' : t.p[i]);
    name[t.n] = '\0';
    if (is->w->knows && is->w->knows(is->w->of, name)) return;
    for (size_t i = 0; i < sizeof warn_crawlers / sizeof *warn_crawlers; i++) {
        unsigned d = policy_slips(name, warn_crawlers[i]);

        if (d < least) least = d, nearest = warn_crawlers[i];
    }
    if (!nearest || least == 0) return;
    policy_rule_text(is->p, rule, text, sizeof text);
    warn_tell(is, "%s names a crawler that the example's table does not have; write %s, if that is meant", text,
              nearest);
}

unsigned policy_warn(const policy_t *p, const struct policy_warn *w) {
    struct warning is = { p, w, 0 };
    uint32_t most = p->rule_count < POLICY_WARN_RULES ? p->rule_count : POLICY_WARN_RULES;
    struct example *e = malloc(sizeof *e);

    assert(p->magic == POLICY_MAGIC && p->frozen);
    for (uint32_t rank = 0; rank < most; rank++) {
        uint32_t rule = p->by_rank[rank];
        const struct policy_rule *r = &p->rules[rule];

        if (!policy_takes_match(r->field)) continue;
        if (r->field == POLICY_CRAWLER) warn_misspelt(&is, rule);
        else if (r->match != POLICY_REGEX) warn_wildcard(&is, rule);
        if (r->field == POLICY_URL) warn_no_scheme(&is, rule);
    }
    if (e) warn_shadowed(&is, e, most);
    free(e);
    return is.told;
}
