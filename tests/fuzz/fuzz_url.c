/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_url.c - any bytes as the path and query of a URL, and as a whole URL and as its pieces.
 *
 * What must hold of a page's spelling: it is its own spelling; it has only characters that may stand in a URL, begins
 * with a slash, and has no dot segment in its path.  Of the text that rules see, besides: no run of slashes in its
 * path, one question mark at most; nothing in a host reaches into the path.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pages/pages_url.h"
#include "policy/policy_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?%";

static void check_segments(const char *path, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t end = i + 1;
        if (path[i] != '/') continue;
        while (end < n && path[end] != '/') end++;
        assert(!(end - i == 2 && path[i + 1] == '.'));
        assert(!(end - i == 3 && path[i + 1] == '.' && path[i + 2] == '.'));
    }
}

static void check_page(const char *data, size_t size) {
    size_t room = PAGES_URL_ROOM(size), n, m;
    char *once = malloc(room), *twice, *query;

    assert(once);
    n = pages_url_spell(data, size, once, room);
    assert(n >= 1 && n <= 3 * size + 1 && once[0] == '/' && once[n] == 0 && strspn(once, legal) == n);
    query = strchr(once, '?');
    check_segments(once, query ? (size_t)(query - once) : n);
    twice = malloc(PAGES_URL_ROOM(n));
    assert(twice);
    m = pages_url_spell(once, n, twice, PAGES_URL_ROOM(n));
    assert(m == n && !memcmp(once, twice, n));
    free(once);
    free(twice);
}

static struct policy_text text_of(const struct policy_url *u) {
    size_t room = policy_url_room(u);
    char *out = malloc(room);
    struct policy_text text;

    assert(out);
    text = policy_url_text(u, out, room);
    assert(text.p == out && text.n < room && out[text.n] == 0);
    return text;
}

/* site: bytes in front of the path. */
static void check_path(struct policy_text text, size_t site) {
    const char *query = memchr(text.p, '?', text.n), *path = text.p + site;
    size_t n = query ? (size_t)(query - path) : text.n - site;

    assert(site <= text.n && path[0] == '/' && strspn(path, legal) == text.n - site);
    assert(!query || (query >= path && !memchr(query + 1, '?', text.n - (size_t)(query + 1 - text.p))));
    for (size_t i = 1; i < n; i++) assert(path[i] != '/' || path[i - 1] != '/');
    check_segments(path, n);
}

static void check_whole(const char *data, size_t size) {
    struct policy_url u = policy_url_parse((struct policy_text){ data, size }), v;
    struct policy_text once = text_of(&u), twice;

    v = policy_url_parse(once);
    twice = text_of(&v);
    assert(once.n == twice.n && !memcmp(once.p, twice.p, once.n));
    free((char *)(uintptr_t)once.p);
    free((char *)(uintptr_t)twice.p);
}

/* The first byte says how long the host is; the port and the rest are of it too. */
static void check_pieces(const char *data, size_t size) {
    size_t host = size ? (unsigned char)data[0] % size : 0;
    struct policy_url u = { .scheme = { "http", 4 },
                            .host = { data, host },
                            .port = size > 1 ? (unsigned char)data[1] : 0,
                            .target = { data + host, size - host },
                            .slashes = size & 1 };
    struct policy_text text = text_of(&u);
    const char *slash = memchr(text.p + 7, '/', text.n - 7);

    assert(slash && !memcmp(text.p, "http://", 7));
    check_path(text, (size_t)(slash - text.p));
    if (u.slashes) {
        const char *query = strchr(slash, '?'), *escaped = strstr(slash, "%2F");
        assert(!escaped || (query && escaped > query));
    }
    free((char *)(uintptr_t)text.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_page((const char *)data, size);
    check_whole((const char *)data, size);
    check_pieces((const char *)data, size);
    return 0;
}
