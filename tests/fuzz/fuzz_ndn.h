/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_ndn.h - what the fuzz targets of ndn/ have in common: blocks that end where they end, and what must hold. */
#ifndef FAIRGATE_FUZZ_NDN_H
#define FAIRGATE_FUZZ_NDN_H

#include "ndn/ndn_packet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(truth) ((truth) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of at least one byte, which a sanitizer guards on both sides; freed by fuzz_free. */
static inline struct ndn_span fuzz_copy(const uint8_t *bytes, size_t n) {
    uint8_t *at = malloc(n ? n : 1);
    MUST(at);
    if (n) memcpy(at, bytes, n);
    return (struct ndn_span){ at, n };
}

static inline void fuzz_free(struct ndn_span s) { free((void *)(uintptr_t)s.at); }

static inline bool fuzz_equal(struct ndn_span a, struct ndn_span b) {
    return a.n == b.n && (!a.n || !memcmp(a.at, b.at, a.n));
}

/* None, or within what it was read from. */
static inline bool fuzz_within(struct ndn_span part, struct ndn_span whole) {
    return !part.n || (part.at >= whole.at && part.at + part.n <= whole.at + whole.n);
}

/* Its text is read as the same name; cut short, it is a beginning of that text. */
static inline void fuzz_name_text(const struct ndn_name *name) {
    size_t n = ndn_name_print(name, NULL, 0), half = n / 2;
    char *text = malloc(n + 1), *cut = malloc(half + 1), *error = NULL;
    uint8_t *bytes = malloc(name->bytes.n + 1);
    struct ndn_out out = ndn_out_into(bytes, name->bytes.n);
    struct ndn_name again;

    MUST(text && cut && bytes);
    MUST(ndn_name_print(name, text, n + 1) == n && strlen(text) == n && *text == '/');
    MUST(ndn_name_print(name, cut, half + 1) == n && strlen(cut) == half && !memcmp(text, cut, half));
    MUST(!ndn_name_parse(text, &out, &again, &error) && !error);
    MUST(again.n == name->n && fuzz_equal(again.bytes, name->bytes) && ndn_name_equal(name, &again));
    free(text);
    free(cut);
    free(bytes);
}

#endif
