/* SPDX-License-Identifier: BSD-2-Clause */
#include "web_fresh.h"

#include <string.h>
#include <strings.h>

#define FRESH_MOST 2147483648u /* RFC 9111, 1.2.2: what is more counts as that */

/* Digits, perhaps in quotes; false if it is no number. */
static bool fresh_number(const char *value, size_t n, uint64_t *seconds) {
    uint64_t total = 0;

    if (n > 2 && value[0] == '"' && value[n - 1] == '"') value++, n -= 2;
    for (size_t i = 0; i < n; i++) {
        if (value[i] < '0' || value[i] > '9') return false;
        if (total < FRESH_MOST) total = total * 10 + (uint64_t)(value[i] - '0');
    }
    *seconds = total < FRESH_MOST ? total : FRESH_MOST;
    return n > 0;
}

static bool fresh_is(const char *name, size_t n, const char *word) {
    return strlen(word) == n && !strncasecmp(name, word, n);
}

static void fresh_least(bool *said, uint64_t *least, const char *value, size_t n) {
    uint64_t seconds;

    if (!fresh_number(value, n, &seconds)) seconds = 0;
    if (!*said || seconds < *least) *least = seconds;
    *said = true;
}

static void fresh_directive(struct web_fresh *f, const char *text, size_t n) {
    const char *equals = memchr(text, '=', n);
    size_t name = equals ? (size_t)(equals - text) : n;
    const char *value = equals ? equals + 1 : text + n;
    size_t rest = n - (size_t)(value - text);

    while (name && strchr(" \t", text[name - 1])) name--;
    while (rest && strchr(" \t", *value)) value++, rest--;
    if (fresh_is(text, name, "no-store") || fresh_is(text, name, "no-cache") || fresh_is(text, name, "private"))
        f->never = true;
    else if (fresh_is(text, name, "max-age")) fresh_least(&f->has_max_age, &f->max_age, value, rest);
    else if (fresh_is(text, name, "s-maxage")) fresh_least(&f->has_s_maxage, &f->s_maxage, value, rest);
}

void web_fresh_control(struct web_fresh *f, const char *value, size_t n) {
    size_t i = 0;

    while (i < n) {
        size_t begin, end;
        bool quoted = false;

        while (i < n && (value[i] == ' ' || value[i] == '\t' || value[i] == ',')) i++;
        for (begin = i; i < n && (quoted || value[i] != ','); i++)
            if (quoted && value[i] == '\\' && i + 1 < n) i++;
            else if (value[i] == '"') quoted = !quoted;
        for (end = i; end > begin && (value[end - 1] == ' ' || value[end - 1] == '\t');) end--;
        if (end > begin) fresh_directive(f, value + begin, end - begin);
    }
}

/* Of a list the first counts, of what is none nothing (RFC 9111, 5.1). */
void web_fresh_age(struct web_fresh *f, const char *value, size_t n) {
    const char *comma = memchr(value, ',', n);
    uint64_t seconds;

    if (comma) n = (size_t)(comma - value);
    while (n && strchr(" \t", value[n - 1])) n--;
    if (fresh_number(value, n, &seconds) && seconds > f->age) f->age = seconds;
}

void web_fresh_vary(struct web_fresh *f, const char *value, size_t n) {
    if (memchr(value, '*', n)) f->never = true;
}

bool web_fresh_was_said(const struct web_fresh *f) { return f->never || f->has_max_age || f->has_s_maxage; }

uint64_t web_fresh_seconds(const struct web_fresh *f) {
    uint64_t seconds = f->has_s_maxage ? f->s_maxage : f->has_max_age ? f->max_age : 0;
    return f->never || seconds < f->age ? 0 : seconds - f->age;
}
