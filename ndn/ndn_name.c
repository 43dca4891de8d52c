/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_name.h"

#include <string.h>

static bool name_component_right(const struct ndn_element *c) {
    if (c->type > UINT16_MAX) return false;
    return (c->type != NDN_DIGEST_COMPONENT && c->type != NDN_PARAMETERS_COMPONENT) || c->value.n == NDN_DIGEST;
}

bool ndn_name_read(struct ndn_span value, struct ndn_name *name) {
    struct ndn_element c;

    name->bytes = value;
    name->n = 0;
    while (value.n)
        if (name->n++ == NDN_COMPONENTS_MAX || !ndn_next(&value, &c) || !name_component_right(&c)) return false;
    return true;
}

bool ndn_component_read(struct ndn_span element, struct ndn_element *component) {
    return ndn_whole(element, component) && name_component_right(component);
}

bool ndn_name_at(const struct ndn_name *name, unsigned i, struct ndn_element *component) {
    struct ndn_span rest = name->bytes;

    if (i >= name->n) return false;
    do {
        if (!ndn_next(&rest, component)) return false;
    } while (i--);
    return true;
}

struct ndn_name ndn_name_first(const struct ndn_name *name, unsigned n) {
    struct ndn_name first = *name;
    struct ndn_element c;

    if (n < name->n) {
        first.n = n;
        first.bytes.n = n && ndn_name_at(name, n - 1, &c) ? (size_t)(c.whole.at + c.whole.n - name->bytes.at) : 0;
    }
    return first;
}

static bool name_bytes_equal(const uint8_t *a, const void *b, size_t n) { return !n || !memcmp(a, b, n); }

bool ndn_name_equal(const struct ndn_name *a, const struct ndn_name *b) {
    return a->bytes.n == b->bytes.n && name_bytes_equal(a->bytes.at, b->bytes.at, a->bytes.n);
}

/* No component is the beginning of another one: where bytes agree to the end of `with`, components do. */
bool ndn_name_begins(const struct ndn_name *name, const struct ndn_name *with) {
    return name->bytes.n >= with->bytes.n && name_bytes_equal(name->bytes.at, with->bytes.at, with->bytes.n);
}

bool ndn_component_number(const struct ndn_element *component, uint32_t type, uint64_t *n) {
    return component->type == type && ndn_number(component->value, n) &&
           ndn_number_size(type, *n) == component->whole.n;
}

bool ndn_component_is(const struct ndn_element *component, uint32_t type, const char *text) {
    return component->type == type && component->value.n == strlen(text) &&
           name_bytes_equal(component->value.at, text, component->value.n);
}
