/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of robots.txt against a matcher that tries everything; and files as they come. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pages/pages_url.h"
#include "prober/robots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* By the letter of RFC 9309, 2.2.3, with all its choices: can[i][k] is whether pattern[i..] matches target[k..]. */
static int slowly(const char *pattern, size_t n, const char *target) {
    size_t m = strlen(target);
    unsigned char *can = calloc((n + 1) * (m + 1), 1);
    int anchored = n && pattern[n - 1] == '$', answer;

    if (!can) abort();
    if (anchored) n--;
    for (size_t i = n + 1; i-- > 0;)
        for (size_t k = m + 1; k-- > 0;) {
            unsigned char *c = &can[i * (m + 1) + k];
            if (i == n) *c = !anchored || k == m;
            else if (pattern[i] == '*') *c = can[(i + 1) * (m + 1) + k] || (k < m && can[i * (m + 1) + k + 1]);
            else *c = k < m && pattern[i] == target[k] && can[(i + 1) * (m + 1) + k + 1];
        }
    answer = can[0];
    free(can);
    return answer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *gap = size ? memchr(data, '\n', size) : NULL;
    struct robots *r;
    char pattern[1024], target[1024];
    size_t n;

    r = robots_parse((const char *)data, size, "fairgate-prober");
    if (!r) abort();
    robots_allow(r, "/", NULL, NULL);
    for (size_t i = 0; robots_sitemap(r, i); i++)
        if (!*robots_sitemap(r, i)) abort();
    if (robots_delay(r) < 0 || robots_delay(r) > 120) abort();
    robots_free(&r);
    /* First line a pattern, the rest a target. */
    if (!gap || size > 300) return 0;
    n = pages_url_spell((const char *)data, (size_t)(gap - data), pattern, sizeof pattern);
    pages_url_spell((const char *)gap + 1, size - (size_t)(gap + 1 - data), target, sizeof target);
    if (robots_pattern_matches(pattern, n, target, strlen(target)) != slowly(pattern, n, target)) abort();
    return 0;
}
