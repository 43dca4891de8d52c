/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_header.h"

#include <string.h>
#include <strings.h>

#define YEAR 31536000u /* seconds */

/* Behind the quoted string that begins there (RFC 9110, 5.6.4); NULL: it has no end. */
static const char *behind_quotes(const char *s) {
    for (s++; *s && *s != '"'; s++)
        if (*s == '\\' && s[1]) s++;
    return *s ? s + 1 : NULL;
}

/* Walks through a list of NAME or NAME=VALUE; false at its end.  A quote that is never closed is like any character. */
static bool next_word(const char **p, const char **name, size_t *n, const char **value) {
    const char *s = *p, *end;

    s += strspn(s, ", \t");
    if (!*s) return false;
    *name = s;
    *n = strcspn(s, "=, \t;");
    s += *n;
    *value = NULL;
    if (*s == '=') {
        *value = ++s;
        end = *s == '"' ? behind_quotes(s) : NULL;
        if (end) {
            *value = s + 1;
            s = end;
        }
    }
    s += strcspn(s, ",");
    *p = s;
    return true;
}

static bool is_word(const char *name, size_t n, const char *word) {
    return strlen(word) == n && !strncasecmp(name, word, n);
}

bool ccn_is_private(const char *cache_control) {
    const char *name, *value;
    size_t n;

    while (cache_control && next_word(&cache_control, &name, &n, &value))
        if (is_word(name, n, "private") || is_word(name, n, "no-store")) return true;
    return false;
}

/* A year at most; 0: it is no number, and says nothing of how long. */
static uint64_t seconds_of(const char *text) {
    uint64_t s = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        if (s < YEAR) s = s * 10 + (uint64_t)(*text - '0');
    if (!strchr("\", \t;", *text)) return 0;
    return s < YEAR ? s : YEAR;
}

/* RFC 9111, 4.2.1: of a directive that is there twice the first holds. */
uint64_t ccn_freshness(const char *cache_control, const char *age) {
    uint64_t max_age = UINT64_MAX, shared = UINT64_MAX, old = age ? seconds_of(age) : 0;
    const char *name, *value;
    size_t n;

    while (cache_control && next_word(&cache_control, &name, &n, &value)) {
        if (is_word(name, n, "no-cache") || is_word(name, n, "no-store") || is_word(name, n, "private")) return 0;
        if (value && max_age == UINT64_MAX && is_word(name, n, "max-age")) max_age = seconds_of(value);
        if (value && shared == UINT64_MAX && is_word(name, n, "s-maxage")) shared = seconds_of(value);
    }
    if (shared != UINT64_MAX) max_age = shared;
    return max_age != UINT64_MAX && max_age > old ? (max_age - old) * 1000 : 0;
}

bool ccn_field_allowed(const char *name, size_t n) {
    static const char *const allowed[] = { "Accept", "Accept-Language", "Authorization", "Cache-Control",   "Cookie",
                                           "Origin", "Referer",         "User-Agent",    "X-Requested-With" };

    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (is_word(name, n, allowed[i])) return true;
    return false;
}
