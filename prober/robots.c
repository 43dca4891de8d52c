/* SPDX-License-Identifier: BSD-2-Clause */
#include "robots.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pages/pages_url.h"

#define DELAY_MAX 120.0
#define AT_ONCE   16u /* rules that are tried between two questions whether there is time */

struct rule {
    size_t at, length;
    int allow;
}; /* pattern: text[at .. at+length), spelt, NUL behind it */

struct robots {
    char *text; /* patterns and sitemaps */
    size_t used, room;
    struct rule *rules;
    size_t nrules, rules_room;
    size_t *sitemaps; /* places in text */
    size_t nsitemaps, sitemaps_room;
    double delay;
};

struct part {
    const char *p;
    size_t n;
};

static struct part trim(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    while (p < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
    return (struct part){ p, (size_t)(end - p) };
}

static int robots_is(struct part a, const char *word) { return a.n == strlen(word) && !strncasecmp(a.p, word, a.n); }

/* The next line of *p..end that has a key and a value; 0 at the end. */
static int robots_next_line(const char **p, const char *end, struct part *key, struct part *value) {
    while (*p < end) {
        const char *line = *p, *stop = line, *hash, *colon;

        while (stop < end && *stop != '\n' && *stop != '\r') stop++;
        *p = stop < end ? stop + 1 : end;
        hash = memchr(line, '#', (size_t)(stop - line));
        if (hash) stop = hash;
        colon = memchr(line, ':', (size_t)(stop - line));
        if (!colon) continue;
        *key = trim(line, colon);
        *value = trim(colon + 1, stop);
        return 1;
    }
    return 0;
}

/*
 * The product token at the head of a User-agent line: "fairgate-prober/1.0 (...)" is "fairgate-prober" (RFC 9309,
 * 2.2.1).
 */
static struct part token_of(struct part value) {
    size_t n = 0;
    if (value.n && value.p[0] == '*') return (struct part){ value.p, 1 };
    while (n < value.n && (value.p[n] == '-' || value.p[n] == '_' || isalpha((unsigned char)value.p[n]))) n++;
    return (struct part){ value.p, n };
}

static int robots_make_room(void **array, size_t *room, size_t need, size_t size) {
    size_t more = *room ? *room : 16;
    void *grown;

    while (more < need) more *= 2;
    if (more == *room) return 1;
    grown = realloc(*array, more * size);
    if (!grown) return 0;
    *array = grown;
    *room = more;
    return 1;
}

static int add_rule(struct robots *r, struct part pattern, int allow) {
    size_t room = PAGES_URL_ROOM(pattern.n), n;

    if (!pattern.n || r->nrules == ROBOTS_RULES_MAX) return 1; /* "Disallow:" forbids nothing */
    if (!robots_make_room((void **)&r->text, &r->room, r->used + room, 1)) return 0;
    if (!robots_make_room((void **)&r->rules, &r->rules_room, r->nrules + 1, sizeof *r->rules)) return 0;
    n = pages_url_spell(pattern.p, pattern.n, r->text + r->used, room);
    r->rules[r->nrules++] = (struct rule){ r->used, n, allow };
    r->used += n + 1;
    return 1;
}

static int robots_add_sitemap(struct robots *r, struct part url) {
    if (!url.n || memchr(url.p, 0, url.n)) return 1;
    if (!robots_make_room((void **)&r->text, &r->room, r->used + url.n + 1, 1)) return 0;
    if (!robots_make_room((void **)&r->sitemaps, &r->sitemaps_room, r->nsitemaps + 1, sizeof *r->sitemaps)) return 0;
    r->sitemaps[r->nsitemaps++] = r->used;
    memcpy(r->text + r->used, url.p, url.n);
    r->text[r->used + url.n] = 0;
    r->used += url.n + 1;
    return 1;
}

static double number_of(struct part value) {
    char copy[32];
    double d;

    if (!value.n || value.n >= sizeof copy) return 0;
    memcpy(copy, value.p, value.n);
    copy[value.n] = 0;
    d = strtod(copy, NULL);
    return d > 0 ? d < DELAY_MAX ? d : DELAY_MAX : 0;
}

/* The groups of `token`; returns whether there are any, -1 when out of memory. */
static int take_groups(struct robots *r, struct part text, const char *token) {
    const char *p = text.p, *end = text.p + text.n;
    int inside = 0, naming = 0, found = 0; /* naming: the lines before this one name agents of the same group */
    struct part key, value;

    while (robots_next_line(&p, end, &key, &value)) {
        if (robots_is(key, "user-agent")) {
            int ours = robots_is(token_of(value), token);
            inside = (naming && inside) || ours;
            naming = 1;
            found |= ours;
            continue;
        }
        if (robots_is(key, "sitemap")) continue; /* belongs to no group, and ends none */
        naming = 0;
        if (!inside) continue;
        if (robots_is(key, "allow") || robots_is(key, "disallow")) {
            if (!add_rule(r, value, robots_is(key, "allow"))) return -1;
        } else if (robots_is(key, "crawl-delay")) {
            r->delay = number_of(value);
        }
    }
    return found;
}

static int take_sitemaps(struct robots *r, struct part text) {
    const char *p = text.p, *end = text.p + text.n;
    struct part key, value;

    while (robots_next_line(&p, end, &key, &value))
        if (robots_is(key, "sitemap") && !robots_add_sitemap(r, value)) return 0;
    return 1;
}

/* The longest pattern first, of two equal ones Allow: the first that matches decides. */
static int by_weight(const void *a, const void *b) {
    const struct rule *x = a, *y = b;
    return x->length != y->length ? (x->length < y->length) - (x->length > y->length) : y->allow - x->allow;
}

struct robots *robots_parse(const char *text, size_t n, const char *token) {
    struct robots *r = calloc(1, sizeof *r);
    struct part all = { text, n < ROBOTS_MAX ? n : ROBOTS_MAX };
    int found;

    if (!r) return NULL;
    if (all.n >= 3 && !memcmp(all.p, "\xef\xbb\xbf", 3)) all = (struct part){ all.p + 3, all.n - 3 };
    found = take_groups(r, all, token);
    if (!found) found = take_groups(r, all, "*");
    if (found < 0 || !take_sitemaps(r, all)) robots_free(&r);
    else if (r->nrules) qsort(r->rules, r->nrules, sizeof *r->rules, by_weight);
    return r;
}

void robots_free(struct robots **r) {
    if (!*r) return;
    free((*r)->text);
    free((*r)->rules);
    free((*r)->sitemaps);
    free(*r);
    *r = NULL;
}

/*
 * Pieces between stars are looked for from the left, each as early as it is found: enough, since a star takes anything,
 * and nothing is looked at twice for another choice.
 */
bool robots_pattern_matches(const char *pattern, size_t n, const char *target, size_t left) {
    const char *end = pattern + n;
    int anchored = n && end[-1] == '$', first = 1;

    if (anchored) end--;
    while (1) {
        const char *star = memchr(pattern, '*', (size_t)(end - pattern));
        size_t piece = (size_t)((star ? star : end) - pattern);

        if (first || (!star && anchored)) {
            const char *at = first ? target : target + left - piece;
            if (left < piece || memcmp(at, pattern, piece)) return 0;
            if (first && !star && anchored && left != piece) return 0;
            left -= (size_t)(at - target) + piece;
            target = at + piece;
        } else if (piece) {
            const char *at = memmem(target, left, pattern, piece);
            if (!at) return 0;
            left -= (size_t)(at - target) + piece;
            target = at + piece;
        }
        if (!star) return 1;
        first = 0;
        pattern = star + 1;
    }
}

bool robots_allow(const struct robots *r, const char *target, robots_over *over, void *context) {
    size_t length = strlen(target);

    if (!r || !strcmp(target, "/robots.txt")) return 1;
    for (size_t i = 0; i < r->nrules; i++) {
        if (over && i % AT_ONCE == AT_ONCE - 1 && over(context)) return 0;
        if (robots_pattern_matches(r->text + r->rules[i].at, r->rules[i].length, target, length))
            return r->rules[i].allow;
    }
    return 1;
}

double robots_delay(const struct robots *r) { return r ? r->delay : 0; }

const char *robots_sitemap(const struct robots *r, size_t i) {
    return r && i < r->nsitemaps ? r->text + r->sitemaps[i] : NULL;
}
