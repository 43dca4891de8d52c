/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HTML, CSS, sitemaps (the first byte says which): the same links however the bytes come in, none too long, and each
 * resolves to a place whose spelling is its own, or to nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pages/pages_url.h"
#include "prober/links.h"
#include "prober/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct scope scope;
static struct scope_place base, place;
static uint64_t sum, links;

static void note(void *context, const char *ref, size_t n, enum links_kind kind) {
    char again[SCOPE_TEXT];

    (void)context;
    if (!n || n > LINKS_REF_MAX) abort();
    links++;
    for (size_t i = 0; i < n; i++) sum = (sum ^ (unsigned char)ref[i]) * UINT64_C(0x100000001b3);
    sum = (sum ^ kind) * UINT64_C(0x100000001b3);
    if (scope_resolve(&scope, &base, ref, n, &place) != SCOPE_IN) return;
    if (place.origin != 0 || place.length > PAGES_TARGET_MAX || place.target[0] != '/' ||
        strlen(place.target) != place.length)
        abort();
    if (pages_url_spell(place.target, place.length, again, sizeof again) != place.length || strcmp(again, place.target))
        abort();
}

static uint64_t read_in(enum links_type type, const char *data, size_t size, size_t piece, uint64_t *count) {
    struct links *l = links_new(type, note, NULL, NULL);

    if (!l) abort();
    sum = links = 0;
    for (size_t at = 0; at < size; at += piece) links_feed(l, data + at, size - at < piece ? size - at : piece);
    links_end(l);
    links_free(&l);
    *count = links;
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum links_type type;
    uint64_t whole, pieces, n, m;

    if (size < 2) return 0;
    if (!scope.n) scope_add(&scope, "http://www.example.org/dir/page?x", &base);
    type = (enum links_type)(data[0] % 3);
    whole = read_in(type, (const char *)data + 1, size - 1, size, &n);
    pieces = read_in(type, (const char *)data + 1, size - 1, 1 + data[0] / 3 % 7, &m);
    if (n != m || whole != pieces) abort();
    return 0;
}
