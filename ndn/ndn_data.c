/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_data.c - Data (ndn_packet.h). */
#include <string.h>

#include "ndn_digests.h"
#include "ndn_packet.h"
#include "ndn_signature.h"

enum { DATA_NAME, META_INFO, CONTENT, DATA_INFO, DATA_VALUE, DATA_FIELDS };

static const uint32_t data_types[DATA_FIELDS] = { NDN_NAME, NDN_META_INFO, NDN_CONTENT, NDN_SIGNATURE_INFO,
                                                  NDN_SIGNATURE_VALUE };

enum { CONTENT_TYPE, FRESHNESS, FINAL, WINDOW, STATUS, MEDIA_TYPE, LOCATION, ENCODING, SEAL, META_FIELDS };

static const uint32_t meta_types[META_FIELDS] = { NDN_CONTENT_TYPE, NDN_FRESHNESS,    NDN_FINAL_BLOCK_ID,
                                                  NDN_OUR_WINDOW,   NDN_OUR_STATUS,   NDN_OUR_MEDIA_TYPE,
                                                  NDN_OUR_LOCATION, NDN_OUR_ENCODING, NDN_OUR_SEAL };

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* `absent` if it is not there; false: it is there and no number. */
static bool data_number(const struct ndn_element *e, uint64_t absent, uint64_t *n) {
    *n = absent;
    return !e->type || ndn_number(e->value, n);
}

static const char *data_read_meta(struct ndn_span meta, struct ndn_data *d) {
    struct ndn_element f[META_FIELDS];
    const char *wrong = ndn_fields(meta, meta_types, META_FIELDS, ndn_is_critical, f);

    if (wrong) return wrong;
    if (!data_number(&f[CONTENT_TYPE], NDN_BLOB, &d->content_type)) return "a ContentType must be a number";
    if (!data_number(&f[FRESHNESS], 0, &d->freshness_ms)) return "a FreshnessPeriod must be a number of milliseconds";
    d->has_final = f[FINAL].type;
    if (d->has_final && !ndn_component_read(f[FINAL].value, &d->final))
        return "a FinalBlockId must hold a component and nothing else";
    if (!data_number(&f[WINDOW], NDN_NO_NUMBER, &d->window)) return "a window must be a number";
    if (!data_number(&f[STATUS], NDN_NO_NUMBER, &d->status)) return "a status must be a number";
    if (f[MEDIA_TYPE].value.n > NDN_MEDIA_TYPE_MAX) return "a media type must have 128 bytes at most";
    if (f[LOCATION].value.n > NDN_LOCATION_MAX) return "a location must have 1024 bytes at most";
    if (f[ENCODING].value.n > NDN_ENCODING_MAX) return "an encoding must have 64 bytes at most";
    if (f[SEAL].type && f[SEAL].value.n != NDN_SEAL_KEY) return "a seal's key must have 32 bytes";
    d->media_type = f[MEDIA_TYPE].value;
    d->location = f[LOCATION].value;
    d->encoding = f[ENCODING].value;
    d->seal = f[SEAL].value;
    return NULL;
}

const char *ndn_data_read(struct ndn_span packet, struct ndn_data *d) {
    struct ndn_element whole, f[DATA_FIELDS];
    const uint8_t *from, *to;
    const char *wrong;

    memset(d, 0, sizeof *d);
    if (packet.n > NDN_PACKET_MAX || !ndn_whole(packet, &whole) || whole.type != NDN_DATA)
        return "must be one whole Data of 8800 bytes at most";
    wrong = ndn_fields(whole.value, data_types, DATA_FIELDS, ndn_is_critical, f);
    if (wrong) return wrong;
    if (f[DATA_NAME].whole.at != whole.value.at) return "the Name must come first";
    if (!ndn_name_read(f[DATA_NAME].value, &d->name) || !d->name.n)
        return "the Name must hold 1 to 128 components and nothing else";
    wrong = data_read_meta(f[META_INFO].value, d);
    if (wrong) return wrong;
    d->content = f[CONTENT].value;
    if (!f[DATA_INFO].type || !f[DATA_VALUE].type) return "SignatureInfo and SignatureValue must be there";
    wrong = ndn_signature_read(f[DATA_INFO].value, false, &d->signature);
    if (wrong) return wrong;
    d->signature.value = f[DATA_VALUE].value;
    from = f[DATA_NAME].whole.at;
    to = f[DATA_INFO].whole.at + f[DATA_INFO].whole.n;
    d->signature.covered[0] = (struct ndn_span){ from, (size_t)(to - from) };
    d->signature.ncovered = 1;
    return NULL;
}

uint64_t ndn_data_last(const struct ndn_data *d) {
    uint64_t n;
    return d->has_final && ndn_component_number(&d->final, NDN_SEGMENT_COMPONENT, &n) ? n : NDN_NO_NUMBER;
}

uint64_t ndn_segment_of(const struct ndn_name *name) {
    struct ndn_element c;
    uint64_t n;

    if (!name->n || !ndn_name_at(name, name->n - 1, &c)) return NDN_NO_NUMBER;
    return ndn_component_number(&c, NDN_SEGMENT_COMPONENT, &n) ? n : NDN_NO_NUMBER;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static size_t data_number_size(uint32_t type, uint64_t n, uint64_t absent) {
    return n == absent ? 0 : ndn_number_size(type, n);
}

static void data_put_number(struct ndn_out *o, uint32_t type, uint64_t n, uint64_t absent) {
    if (n != absent) ndn_put_number(o, type, n);
}

static size_t data_text_size(uint32_t type, struct ndn_span text) {
    return text.n ? ndn_element_size(type, text.n) : 0;
}

static void data_put_text(struct ndn_out *o, uint32_t type, struct ndn_span text) {
    if (text.n) ndn_put_element(o, type, text.at, text.n);
}

static size_t data_name_size(const struct ndn_data_form *f) {
    return f->name.n + data_number_size(NDN_SEGMENT_COMPONENT, f->segment, NDN_NO_NUMBER);
}

static size_t data_final_size(const struct ndn_data_form *f) { return ndn_number_size(NDN_SEGMENT_COMPONENT, f->last); }

static size_t data_meta_size(const struct ndn_data_form *f) {
    return data_number_size(NDN_CONTENT_TYPE, f->content_type, NDN_BLOB) +
           data_number_size(NDN_FRESHNESS, f->freshness_ms, 0) +
           (f->last == NDN_NO_NUMBER ? 0 : ndn_element_size(NDN_FINAL_BLOCK_ID, data_final_size(f))) +
           data_number_size(NDN_OUR_WINDOW, f->window, NDN_NO_NUMBER) +
           data_number_size(NDN_OUR_STATUS, f->status, NDN_NO_NUMBER) +
           data_text_size(NDN_OUR_MEDIA_TYPE, f->media_type) + data_text_size(NDN_OUR_LOCATION, f->location) +
           data_text_size(NDN_OUR_ENCODING, f->encoding) + data_text_size(NDN_OUR_SEAL, f->seal);
}

static void data_put_meta(struct ndn_out *o, const struct ndn_data_form *f, size_t size) {
    ndn_put_head(o, NDN_META_INFO, size);
    data_put_number(o, NDN_CONTENT_TYPE, f->content_type, NDN_BLOB);
    data_put_number(o, NDN_FRESHNESS, f->freshness_ms, 0);
    if (f->last != NDN_NO_NUMBER) {
        ndn_put_head(o, NDN_FINAL_BLOCK_ID, data_final_size(f));
        ndn_put_number(o, NDN_SEGMENT_COMPONENT, f->last);
    }
    data_put_number(o, NDN_OUR_WINDOW, f->window, NDN_NO_NUMBER);
    data_put_number(o, NDN_OUR_STATUS, f->status, NDN_NO_NUMBER);
    data_put_text(o, NDN_OUR_MEDIA_TYPE, f->media_type);
    data_put_text(o, NDN_OUR_LOCATION, f->location);
    data_put_text(o, NDN_OUR_ENCODING, f->encoding);
    data_put_text(o, NDN_OUR_SEAL, f->seal);
}

/* Bytes of the Data's value, at most. */
static size_t data_value_size(const struct ndn_data_form *f, size_t meta) {
    return ndn_element_size(NDN_NAME, data_name_size(f)) + (meta ? ndn_element_size(NDN_META_INFO, meta) : 0) +
           ndn_element_size(NDN_CONTENT, f->content.n) +
           ndn_element_size(NDN_SIGNATURE_INFO, ndn_signed_by_size(f->key)) + ndn_signature_size(f->key);
}

size_t ndn_data_room(const struct ndn_data_form *f) {
    return ndn_element_size(NDN_DATA, data_value_size(f, data_meta_size(f)));
}

/* Where a Data's signature is to cover what, and where its value began. */
struct data_open {
    struct ndn_out out;
    size_t packet;
    struct ndn_span covered;
};

/* All of it but the signature itself; `out` is full where it can't be. */
static void data_open(const struct ndn_data_form *f, void *out, size_t room, struct data_open *d) {
    struct ndn_out *o = &d->out;
    size_t name = data_name_size(f), meta = data_meta_size(f), from;

    *o = ndn_out_into(out, room < NDN_PACKET_MAX ? room : NDN_PACKET_MAX);
    o->full = !name || f->media_type.n > NDN_MEDIA_TYPE_MAX || f->location.n > NDN_LOCATION_MAX ||
              f->encoding.n > NDN_ENCODING_MAX;
    d->packet = ndn_put_open(o, NDN_DATA, data_value_size(f, meta));
    from = o->n;
    ndn_put_head(o, NDN_NAME, name);
    ndn_put(o, f->name.at, f->name.n);
    data_put_number(o, NDN_SEGMENT_COMPONENT, f->segment, NDN_NO_NUMBER);
    if (meta) data_put_meta(o, f, meta);
    ndn_put_element(o, NDN_CONTENT, f->content.at, f->content.n);
    ndn_put_head(o, NDN_SIGNATURE_INFO, ndn_signed_by_size(f->key));
    ndn_put_signed_by(o, f->key);
    d->covered = (struct ndn_span){ o->at + from, o->n - from };
}

static size_t data_close(struct data_open *d) {
    if (d->out.full) return 0;
    ndn_put_close(&d->out, d->packet);
    return d->out.n;
}

size_t ndn_data_write(const struct ndn_data_form *f, void *out, size_t room) {
    struct data_open d;

    data_open(f, out, room, &d);
    ndn_put_signature(&d.out, NDN_SIGNATURE_VALUE, f->key, &d.covered, 1);
    return data_close(&d);
}

bool ndn_data_write_some(const struct ndn_data_form *forms, uint8_t *const *out, size_t room, size_t n, size_t *bytes) {
    struct data_open d[NDN_DATA_SOME];
    struct ndn_span covered[NDN_DATA_SOME] = { { NULL, 0 } };
    uint8_t digests[NDN_DATA_SOME][NDN_DIGEST];
    bool all = n <= NDN_DATA_SOME;

    for (size_t i = 0; i < n && all; i++) {
        data_open(&forms[i], out[i], room, &d[i]);
        all = !d[i].out.full && ndn_key_type(forms[i].key) == NDN_SIGNED_DIGEST;
        covered[i] = d[i].covered;
    }
    if (!all) return false;
    ndn_digests(covered, n, digests);
    for (size_t i = 0; i < n && all; i++) {
        ndn_put_element(&d[i].out, NDN_SIGNATURE_VALUE, digests[i], NDN_DIGEST);
        bytes[i] = data_close(&d[i]);
        all = bytes[i] > 0;
    }
    return all;
}
