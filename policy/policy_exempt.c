/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_exempt.c - what is exempt: paths and addresses are the rules of a policy of one class, methods a short list.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policy_exempt.h"
#include "policy_impl.h"

#define METHOD_MAX 32 /* with NUL */

#define EXEMPT_MAGIC 0x746d7865u

struct policy_exempt {
    uint32_t magic;
    policy_t *rules;
    char method[POLICY_EXEMPT_RULES_MAX][METHOD_MAX];
    uint32_t methods, count;
};

static const char *const exempt_words[POLICY_EXEMPT_WORDS] = { "path", "method", "address" };

int policy_exempt_by_name(const char *name) {
    for (int i = 0; i < POLICY_EXEMPT_WORDS; i++)
        if (strcmp(exempt_words[i], name) == 0) return i;
    return -1;
}

const char *policy_exempt_name(enum policy_exempt_word word) { return exempt_words[word]; }

struct policy_exempt *policy_exempt_new(void) {
    static const struct policy_class all = { .name = "exempt", .id = 1, .quantum = 1 };
    struct policy_exempt *e = calloc(1, sizeof *e);

    if (e) {
        e->magic = EXEMPT_MAGIC;
        e->rules = policy_new();
    }
    if (e && (!e->rules || policy_add_class(e->rules, &all, NULL) != 0)) policy_exempt_free(&e);
    return e;
}

void policy_exempt_free(struct policy_exempt **ee) {
    struct policy_exempt *e = *ee;

    *ee = NULL;
    if (!e) return;
    assert(e->magic == EXEMPT_MAGIC);
    e->magic = 0;
    policy_free(&e->rules);
    free(e);
}

static int exempt_rule(struct policy_exempt *e, enum policy_field field, enum policy_match match, const char *pattern,
                       size_t n, char **error) {
    return policy_add_rule(e->rules, 0, field, match, pattern, n, error);
}

/* Servers take these for slashes, or for the end of a name, and others do not. */
static bool exempt_can_match(const char *path, size_t n) {
    static const char *const escaped[] = { "%2f", "%5c", "%3b" };

    if (memchr(path, ';', n) || memchr(path, '\\', n)) return false;
    for (size_t i = 0; i + 3 <= n; i++)
        for (size_t k = 0; k < sizeof escaped / sizeof *escaped; k++)
            if (strncasecmp(path + i, escaped[k], 3) == 0) return false;
    return true;
}

/* The path itself, and what is below it. */
static int exempt_path(struct policy_exempt *e, const char *path, size_t n, char **error) {
    char below[POLICY_PATTERN_MAX];

    if (n == 0 || path[0] != '/' || memchr(path, '?', n))
        return base_fail(error, "path %s must begin with a slash and have no ?; write one like /healthz",
                         base_quote(path, n).s);
    if (!exempt_can_match(path, n))
        return base_fail(error,
                         "path %s has a ; or a \\, or an escaped one or an escaped slash; no request for such a "
                         "path is exempt, since servers read them in different ways: name what is above it",
                         base_quote(path, n).s);
    if (n == 1) return base_fail(error, "path / is all of the server; name what is below it, as in /healthz");
    if (n >= sizeof below) return base_fail(error, "the path has %zu bytes; use less than %zu", n, sizeof below);
    if (path[n - 1] == '/') return exempt_rule(e, POLICY_URL, POLICY_PREFIX, path, n, error);
    memcpy(below, path, n);
    below[n] = '/';
    if (exempt_rule(e, POLICY_URL, POLICY_EXACT, path, n, error) != 0) return -1;
    return exempt_rule(e, POLICY_URL, POLICY_PREFIX, below, n + 1, error);
}

static int exempt_method(struct policy_exempt *e, const char *name, size_t n, char **error) {
    size_t right = 0;

    while (right < n && ((name[right] >= 'A' && name[right] <= 'Z') || name[right] == '-')) right++;
    if (n == 0 || right < n || n >= METHOD_MAX)
        return base_fail(error, "method %s is none; write its name in capital letters, %d at most, as OPTIONS",
                         base_quote(name, n).s, METHOD_MAX - 1);
    memcpy(e->method[e->methods], name, n);
    e->method[e->methods++][n] = '\0';
    return 0;
}

int policy_exempt_add(struct policy_exempt *e, enum policy_exempt_word word, const char *pattern, size_t n,
                      char **error) {
    int failed;

    assert(e->magic == EXEMPT_MAGIC);
    if (e->count == POLICY_EXEMPT_RULES_MAX)
        return base_fail(error, "more than %d paths, methods and addresses are exempt; name what they have in common",
                         POLICY_EXEMPT_RULES_MAX);
    failed = word == POLICY_EXEMPT_PATH ? exempt_path(e, pattern, n, error)
             : word == POLICY_EXEMPT_METHOD
                 ? exempt_method(e, pattern, n, error)
                 : exempt_rule(e, POLICY_SRC_IP_ADDR, POLICY_DEFAULT_MATCH, pattern, n, error);
    if (!failed) e->count++;
    return failed;
}

int policy_exempt_freeze(struct policy_exempt *e, char **error) {
    assert(e->magic == EXEMPT_MAGIC);
    return policy_freeze(e->rules, error);
}

uint32_t policy_exempt_count(const struct policy_exempt *e) {
    assert(e->magic == EXEMPT_MAGIC);
    return e->count;
}

bool policy_exempt_uses(const struct policy_exempt *e, enum policy_field field) {
    assert(e->magic == EXEMPT_MAGIC);
    return policy_uses(e->rules, field);
}

bool policy_exempt_takes(const struct policy_exempt *e, const char *method, const struct policy_request *r) {
    assert(e->magic == EXEMPT_MAGIC);
    for (uint32_t i = 0; i < e->methods; i++)
        if (strcmp(method, e->method[i]) == 0) return true;
    return policy_match_request(e->rules, r).position != POLICY_NONE;
}

const struct policy_exempt *policy_exempt_of(const policy_t *p) {
    assert(p->magic == POLICY_MAGIC);
    return p->exempt;
}

uint32_t policy_exempt_limit(const policy_t *p) {
    assert(p->magic == POLICY_MAGIC);
    return p->exempt_limit;
}
