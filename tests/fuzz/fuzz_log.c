/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_log.c - any bytes as a format, and any bytes as a line of it.
 *
 * Bytes up to the first NUL are the format (none: combined), the rest is lines.  What must hold: what comes out of a
 * line lies within it, and its numbers are within their bounds.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_within(struct policy_text t, const char *line, size_t n) {
    if (t.p) assert(t.p >= line && t.p <= line + n && t.n <= n - (size_t)(t.p - line));
}

static void check(const struct policy_log_line *l, const char *line, size_t n) {
    is_within(l->method, line, n);
    is_within(l->target, line, n);
    is_within(l->host, line, n);
    is_within(l->agent, line, n);
    is_within(l->cookie, line, n);
    is_within(l->address_text, line, n);
    assert(l->has_time && (l->fine == 1 || l->fine == 1000 || l->fine == 1000000));
    assert(l->took_us <= UINT64_C(100000000000000));
    assert(l->time_us > -INT64_C(100000000000000000) && l->time_us < INT64_C(260000000000000000));
    assert(!l->has_address || l->address_len == 4 || l->address_len == 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct policy_log_format format;
    struct policy_log_memory memory = { .seconds = 0 };
    const uint8_t *nul = memchr(data, 0, size);
    size_t n = nul ? (size_t)(nul - data) : 0;
    char *text = malloc(size + 1), *error = NULL, *line, *end, *last;

    assert(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (policy_log_format(&format, n ? text : POLICY_LOG_COMBINED, &error)) {
        assert(error != NULL);
        free(error);
        free(text);
        return 0;
    }
    last = text + size;
    for (line = nul ? text + n + 1 : text; line < last; line = end + 1) {
        struct policy_log_line l;

        end = memchr(line, '\n', (size_t)(last - line));
        if (!end) end = last;
        if (!policy_log_read(&format, &memory, line, (size_t)(end - line), &l)) check(&l, line, (size_t)(end - line));
    }
    free(text);
    return 0;
}
