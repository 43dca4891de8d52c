/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_found.h"

#include <string.h>

static struct ndn_span found_behind(const struct ndn_name *name, const struct ndn_name *beginning) {
    return (struct ndn_span){ name->bytes.at + beginning->bytes.n, name->bytes.n - beginning->bytes.n };
}

/* Its components behind `at` are of the conventions' types: versions, times, segments and their like. */
static bool found_conventional(const struct ndn_name *name, unsigned at) {
    struct ndn_element c;

    for (; ndn_name_at(name, at, &c); at++)
        if (c.type < NDN_SEGMENT_COMPONENT || c.type > 62) return false;
    return true;
}

/* The name that metadata hold, which must be one of the page's. */
static void found_metadata(struct ndn_found *f, const struct ndn_name *name, const struct ndn_data *d) {
    struct ndn_span content = d->content;
    struct ndn_element e;
    struct ndn_name object;

    if (!ndn_next(&content, &e) || e.type != NDN_NAME || !ndn_name_read(e.value, &object)) return;
    if (object.bytes.n > sizeof f->object || !ndn_name_begins(&object, name) || !found_conventional(&object, name->n))
        return;
    memcpy(f->object, object.bytes.at, object.bytes.n);
    f->n = object.bytes.n;
    f->kind = NDN_FOUND_METADATA;
}

static bool found_digest(const struct ndn_element *c, const uint8_t (*digests)[NDN_DIGEST], unsigned n) {
    if (c->type != NDN_PARAMETERS_COMPONENT || c->value.n != NDN_DIGEST) return false;
    for (unsigned i = 0; i < n; i++)
        if (!memcmp(digests[i], c->value.at, NDN_DIGEST)) return true;
    return false;
}

static void put_result(struct ndn_out *o, const struct ndn_element *digest) {
    static const char digits[] = "0123456789abcdef";
    char hex[2 * NDN_DIGEST];

    for (size_t i = 0; i < NDN_DIGEST; i++) {
        hex[2 * i] = digits[digest->value.at[i] >> 4];
        hex[2 * i + 1] = digits[digest->value.at[i] & 15];
    }
    ndn_put_component(o, NDN_KEYWORD_COMPONENT, "result", strlen("result"));
    ndn_put_component(o, NDN_GENERIC_COMPONENT, hex, sizeof hex);
}

void ndn_found(struct ndn_found *f, const struct ndn_name *name, const uint8_t (*digests)[NDN_DIGEST], unsigned n,
               const struct ndn_data *d) {
    struct ndn_out o = ndn_out_into(f->object, sizeof f->object);
    struct ndn_name whole = ndn_name_first(&d->name, d->name.n), asked = *name, object;
    struct ndn_element c, last;

    *f = (struct ndn_found){ .kind = NDN_FOUND_STRANGER };
    if (!ndn_name_begins(&whole, name)) return;
    if (n) {
        if (!ndn_name_at(&whole, name->n, &c) || !found_digest(&c, digests, n)) return;
        asked = ndn_name_first(&whole, name->n + 1);
    } else if (ndn_name_at(&whole, name->n, &c) && ndn_component_is(&c, NDN_KEYWORD_COMPONENT, "metadata")) {
        found_metadata(f, name, d);
        return;
    }
    if (!found_conventional(&whole, asked.n)) return;
    f->segment = whole.n > asked.n ? ndn_segment_of(&whole) : NDN_NO_NUMBER;
    if (f->segment == NDN_NO_NUMBER) {
        /* One that ends with a segment of no right number, or where its bytes begin, is a piece of something. */
        if (whole.n == asked.n || (ndn_name_at(&whole, whole.n - 1, &last) && last.type != NDN_SEGMENT_COMPONENT &&
                                   last.type != NDN_OFFSET_COMPONENT))
            f->kind = NDN_FOUND_ALONE;
        return;
    }
    ndn_put(&o, name->bytes.at, name->bytes.n);
    if (n) put_result(&o, &c);
    object = ndn_name_first(&whole, whole.n - 1);
    ndn_put(&o, found_behind(&object, &asked).at, found_behind(&object, &asked).n);
    if (o.full) return;
    f->n = o.n;
    f->kind = NDN_FOUND_SEGMENT;
}
