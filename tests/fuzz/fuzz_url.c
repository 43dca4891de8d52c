/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_url.c - any bytes as the path and query of a URL.
 *
 * What must hold: the spelling is its own spelling; it has only characters that may stand in a URL, begins with a slash, and has no dot
 * segment in its path.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pages/pages_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_segments(const char *path, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t end = i + 1;
        if (path[i] != '/') continue;
        while (end < n && path[end] != '/') end++;
        assert(!(end - i == 2 && path[i + 1] == '.'));
        assert(!(end - i == 3 && path[i + 1] == '.' && path[i + 2] == '.'));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?%";
    size_t room = PAGES_URL_ROOM(size), n, m;
    char *once = malloc(room), *twice, *query;

    assert(once);
    n = pages_url_spell((const char *)data, size, once, room);
    assert(n >= 1 && n <= 3 * size + 1 && once[0] == '/' && once[n] == 0 && strspn(once, legal) == n);
    query = strchr(once, '?');
    check_segments(once, query ? (size_t)(query - once) : n);
    twice = malloc(PAGES_URL_ROOM(n));
    assert(twice);
    m = pages_url_spell(once, n, twice, PAGES_URL_ROOM(n));
    assert(m == n && !memcmp(once, twice, n));
    free(once);
    free(twice);
    return 0;
}
