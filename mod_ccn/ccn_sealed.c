/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_sealed.h"

#include <stdlib.h>
#include <string.h>

uint64_t ccn_sealed_segments(const struct ccn_sealed_form *f) {
    size_t head = ndn_seal_head_size(&f->head), plain;

    if (f->size > NDN_PACKET_MAX || f->size < NDN_SEAL_TAG || head > f->size - NDN_SEAL_TAG) return 0;
    plain = f->size - NDN_SEAL_TAG;
    return ((uint64_t)head + f->body.n + plain - 1) / plain;
}

/* The first segment holds the head, and what of the body has room behind it: *taken bytes. */
static bool seal_first(struct ndn_seal *s, const struct ccn_sealed_form *f, uint64_t last, uint8_t *out,
                       size_t *taken) {
    uint8_t text[NDN_PACKET_MAX];
    struct ndn_out o = ndn_out_into(text, f->size - NDN_SEAL_TAG);

    ndn_seal_head_put(&o, &f->head);
    *taken = f->body.n < o.room - o.n ? f->body.n : o.room - o.n;
    if (*taken) ndn_put(&o, f->body.at, *taken);
    return !o.full && ndn_seal_put(s, f->object, last, (struct ndn_span){ text, o.n }, out);
}

static bool seal_all(struct ndn_seal *s, const struct ccn_sealed_form *f, uint64_t segments, uint8_t *out) {
    size_t plain = f->size - NDN_SEAL_TAG, at;

    if (!seal_first(s, f, segments - 1, out, &at)) return false;
    for (uint64_t i = 1; i < segments; i++) {
        size_t n = f->body.n - at < plain ? f->body.n - at : plain;
        if (!ndn_seal_put(s, f->object, segments - 1, (struct ndn_span){ f->body.at + at, n }, out + i * f->size))
            return false;
        at += n;
    }
    return true;
}

uint8_t *ccn_sealed_make(const struct ccn_sealed_form *f, uint8_t told[NDN_SEAL_KEY], size_t *n) {
    uint64_t segments = ccn_sealed_segments(f);
    struct ndn_seal *s = segments ? ndn_seal_new(f->caller, f->digest, told) : NULL;
    uint8_t *out;

    if (!s) return NULL;
    *n = ndn_seal_head_size(&f->head) + f->body.n + segments * NDN_SEAL_TAG;
    out = malloc(*n);
    if (out && !seal_all(s, f, segments, out)) {
        free(out);
        out = NULL;
    }
    ndn_seal_free(&s);
    return out;
}
