/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_tlv.h"

#include <assert.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static uint64_t tlv_big_endian(const uint8_t *at, size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v = v << 8 | at[i];
    return v;
}

/* Octets of the VAR-NUMBER that stands there; 0: they are not all there; -1: it is not in its shortest form. */
static int tlv_var(const uint8_t *at, size_t n, uint64_t *v) {
    int octets;

    if (!n) return 0;
    if (*at < 253) {
        *v = *at;
        return 1;
    }
    octets = 2 << (*at - 253);
    if (n < 1 + (size_t)octets) return 0;
    *v = tlv_big_endian(at + 1, (size_t)octets);
    return ndn_var_size(*v) == 1 + (size_t)octets ? 1 + octets : -1;
}

bool ndn_next(struct ndn_span *in, struct ndn_element *e) {
    uint64_t type, length;
    int types = tlv_var(in->at, in->n, &type), lengths;
    size_t head;

    if (types <= 0 || !type || type > UINT32_MAX) return false;
    lengths = tlv_var(in->at + types, in->n - (size_t)types, &length);
    if (lengths <= 0) return false;
    head = (size_t)types + (size_t)lengths;
    if (length > in->n - head) return false;
    e->type = (uint32_t)type;
    e->value = (struct ndn_span){ in->at + head, (size_t)length };
    e->whole = (struct ndn_span){ in->at, head + (size_t)length };
    in->at += e->whole.n;
    in->n -= e->whole.n;
    return true;
}

bool ndn_whole(struct ndn_span in, struct ndn_element *e) { return ndn_next(&in, e) && !in.n; }

bool ndn_number(struct ndn_span value, uint64_t *n) {
    if (value.n != 1 && value.n != 2 && value.n != 4 && value.n != 8) return false;
    *n = tlv_big_endian(value.at, value.n);
    return true;
}

const char *ndn_fields(struct ndn_span in, const uint32_t *types, unsigned n, bool (*critical)(uint32_t type),
                       struct ndn_element *found) {
    struct ndn_element e;
    unsigned next = 0, i;

    memset(found, 0, n * sizeof *found);
    while (in.n) {
        if (!ndn_next(&in, &e))
            return "an element does not fit into what holds it, or a number is not in its shortest form";
        for (i = 0; i < n && types[i] != e.type; i++) {}
        if (i < next) return "an element stands twice, or out of its place";
        if (i < n) {
            found[i] = e;
            next = i + 1;
        } else if (critical(e.type)) {
            return "an element that is not known, and must be";
        }
    }
    return NULL;
}

int ndn_framed(const uint8_t *at, size_t n) {
    uint64_t length;
    int lengths;

    if (!n) return 0;
    if (*at != NDN_INTEREST && *at != NDN_DATA && *at != NDN_LP_PACKET) return -1;
    lengths = tlv_var(at + 1, n - 1, &length);
    if (lengths <= 0) return lengths;
    if (length > NDN_PACKET_MAX - 1 - (unsigned)lengths) return -1;
    return 1 + lengths + (int)length;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

size_t ndn_var_size(uint64_t n) { return n < 253 ? 1 : n <= UINT16_MAX ? 3 : n <= UINT32_MAX ? 5 : 9; }

static size_t tlv_number_octets(uint64_t n) {
    return n <= UINT8_MAX ? 1 : n <= UINT16_MAX ? 2 : n <= UINT32_MAX ? 4 : 8;
}

size_t ndn_element_size(uint32_t type, size_t length) { return ndn_var_size(type) + ndn_var_size(length) + length; }

size_t ndn_number_size(uint32_t type, uint64_t n) { return ndn_element_size(type, tlv_number_octets(n)); }

void ndn_put(struct ndn_out *o, const void *bytes, size_t n) {
    if (o->full || n > o->room - o->n) {
        o->full = true;
        return;
    }
    if (n) memcpy(o->at + o->n, bytes, n);
    o->n += n;
}

static void tlv_put_big_endian(struct ndn_out *o, uint64_t n, size_t octets) {
    uint8_t bytes[8];
    for (size_t i = 0; i < octets; i++) bytes[i] = (uint8_t)(n >> (8 * (octets - 1 - i)));
    ndn_put(o, bytes, octets);
}

void ndn_put_var(struct ndn_out *o, uint64_t n) {
    static const uint8_t mark[] = { [3] = 253, [5] = 254, [9] = 255 };
    size_t size = ndn_var_size(n);

    if (size > 1) ndn_put(o, mark + size, 1);
    tlv_put_big_endian(o, n, size > 1 ? size - 1 : 1);
}

void ndn_put_head(struct ndn_out *o, uint32_t type, size_t length) {
    ndn_put_var(o, type);
    ndn_put_var(o, length);
}

void ndn_put_element(struct ndn_out *o, uint32_t type, const void *value, size_t n) {
    ndn_put_head(o, type, n);
    ndn_put(o, value, n);
}

void ndn_put_number(struct ndn_out *o, uint32_t type, uint64_t n) {
    size_t octets = tlv_number_octets(n);
    ndn_put_head(o, type, octets);
    tlv_put_big_endian(o, n, octets);
}

size_t ndn_put_open(struct ndn_out *o, uint32_t type, size_t most) {
    size_t at = o->n;
    ndn_put_head(o, type, most);
    return at;
}

void ndn_put_close(struct ndn_out *o, size_t at) {
    struct ndn_out head = { o->at, at, o->n, false };
    uint64_t type, most;
    int types, lengths;
    size_t value, length;

    if (o->full) return;
    types = tlv_var(o->at + at, o->n - at, &type);
    assert(types > 0);
    lengths = tlv_var(o->at + at + types, o->n - at - (size_t)types, &most);
    assert(lengths > 0);
    value = at + (size_t)types + (size_t)lengths;
    length = o->n - value;
    assert(length <= most);
    ndn_put_head(&head, (uint32_t)type, length);
    if (head.n != value) memmove(o->at + head.n, o->at + value, length);
    o->n = head.n + length;
}
