/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_interest.c - Interests (ndn_packet.h). */
#include <string.h>

#include "ndn_packet.h"
#include "ndn_signature.h"

enum {
    INTEREST_NAME,
    CAN_BE_PREFIX,
    MUST_BE_FRESH,
    HINT,
    NONCE,
    LIFETIME,
    HOP_LIMIT,
    PARAMETERS,
    INTEREST_INFO,
    INTEREST_VALUE,
    INTEREST_FIELDS
};

static const uint32_t interest_types[INTEREST_FIELDS] = {
    NDN_NAME,     NDN_CAN_BE_PREFIX, NDN_MUST_BE_FRESH, NDN_FORWARDING_HINT,         NDN_NONCE,
    NDN_LIFETIME, NDN_HOP_LIMIT,     NDN_PARAMETERS,    NDN_INTEREST_SIGNATURE_INFO, NDN_INTEREST_SIGNATURE_VALUE
};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Names of forwarders; what they are is nothing to us. */
static bool interest_hint_right(struct ndn_span hint) {
    struct ndn_element e;
    struct ndn_name name;

    while (hint.n)
        if (!ndn_next(&hint, &e) || (e.type == NDN_NAME ? !ndn_name_read(e.value, &name) : ndn_is_critical(e.type)))
            return false;
    return true;
}

/* How many components are digests of parameters; the last one of them. */
static unsigned interest_digests(const struct ndn_name *name, unsigned *at, struct ndn_element *digest) {
    struct ndn_span rest = name->bytes;
    struct ndn_element c;
    unsigned found = 0;

    for (unsigned i = 0; ndn_next(&rest, &c); i++)
        if (c.type == NDN_PARAMETERS_COMPONENT) {
            found++;
            *at = i;
            *digest = c;
        }
    return found;
}

static const char *interest_read_parameters(const struct ndn_element f[INTEREST_FIELDS], struct ndn_span whole,
                                            struct ndn_interest *i) {
    struct ndn_element digest = { 0 };
    unsigned digests = interest_digests(&i->name, &i->digest_at, &digest);
    struct ndn_span told;
    uint8_t right[NDN_DIGEST];

    i->has_parameters = f[PARAMETERS].type;
    if (!i->has_parameters) {
        if (f[INTEREST_INFO].type || f[INTEREST_VALUE].type) return "a signature must stand behind parameters";
        return digests ? "a digest of parameters must not be in the name where there are none" : NULL;
    }
    if (digests != 1) return "one digest of the parameters must be in the name";
    told.at = f[PARAMETERS].whole.at;
    told.n = (size_t)(whole.at + whole.n - told.at);
    ndn_digest(&told, 1, right);
    if (memcmp(right, digest.value.at, NDN_DIGEST)) return "the digest in the name must be that of the parameters";
    i->parameters = f[PARAMETERS].value;
    return NULL;
}

/* The name but for the digest, with which it ends, and all from the parameters up to the signature itself. */
static void interest_cover(const struct ndn_element f[INTEREST_FIELDS], struct ndn_interest *i) {
    struct ndn_signature *s = &i->signature;
    const uint8_t *parameters = f[PARAMETERS].whole.at;

    s->covered[0] = ndn_name_first(&i->name, i->digest_at).bytes;
    s->covered[1] = (struct ndn_span){ parameters, (size_t)(f[INTEREST_VALUE].whole.at - parameters) };
    s->ncovered = 2;
}

static const char *interest_read_signature(const struct ndn_element f[INTEREST_FIELDS], struct ndn_interest *i) {
    const char *wrong;

    i->is_signed = f[INTEREST_INFO].type;
    if (!f[INTEREST_INFO].type != !f[INTEREST_VALUE].type)
        return "of InterestSignatureInfo and InterestSignatureValue one is not there";
    if (!i->is_signed) return NULL;
    if (i->digest_at + 1 != i->name.n) return "the name of a signed Interest must end with the digest";
    wrong = ndn_signature_read(f[INTEREST_INFO].value, true, &i->signature);
    if (wrong) return wrong;
    i->signature.value = f[INTEREST_VALUE].value;
    interest_cover(f, i);
    return NULL;
}

const char *ndn_interest_read(struct ndn_span packet, struct ndn_interest *i) {
    struct ndn_element whole, f[INTEREST_FIELDS];
    uint64_t nonce;
    const char *wrong;

    memset(i, 0, sizeof *i);
    i->signature.time = i->signature.seq = NDN_NO_NUMBER;
    if (packet.n > NDN_PACKET_MAX || !ndn_whole(packet, &whole) || whole.type != NDN_INTEREST)
        return "must be one whole Interest of 8800 bytes at most";
    wrong = ndn_fields(whole.value, interest_types, INTEREST_FIELDS, ndn_is_critical, f);
    if (wrong) return wrong;
    if (f[INTEREST_NAME].whole.at != whole.value.at) return "the Name must come first";
    if (!ndn_name_read(f[INTEREST_NAME].value, &i->name) || !i->name.n)
        return "the Name must hold 1 to 128 components and nothing else";
    if (f[CAN_BE_PREFIX].value.n) return "CanBePrefix must be empty";
    if (f[MUST_BE_FRESH].value.n) return "MustBeFresh must be empty";
    i->can_be_prefix = f[CAN_BE_PREFIX].type;
    i->must_be_fresh = f[MUST_BE_FRESH].type;
    if (!interest_hint_right(f[HINT].value)) return "a ForwardingHint must hold Names";
    i->has_nonce = f[NONCE].type;
    if (i->has_nonce && (f[NONCE].value.n != 4 || !ndn_number(f[NONCE].value, &nonce)))
        return "a Nonce must have 4 octets";
    i->nonce = i->has_nonce ? (uint32_t)nonce : 0;
    i->lifetime_ms = NDN_LIFETIME_USUAL_MS;
    if (f[LIFETIME].type && !ndn_number(f[LIFETIME].value, &i->lifetime_ms))
        return "an InterestLifetime must be a number of milliseconds";
    if (f[HOP_LIMIT].type && f[HOP_LIMIT].value.n != 1) return "a HopLimit must have 1 octet";
    i->hop_limit = f[HOP_LIMIT].type ? *f[HOP_LIMIT].value.at : UINT8_MAX;
    wrong = interest_read_parameters(f, whole.value, i);
    return wrong ? wrong : interest_read_signature(f, i);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool interest_with_parameters(const struct ndn_interest_form *f) { return f->has_parameters || f->key; }

static size_t interest_name_size(const struct ndn_interest_form *f) {
    return f->name.n + (f->segment == NDN_NO_NUMBER ? 0 : ndn_number_size(NDN_SEGMENT_COMPONENT, f->segment)) +
           (interest_with_parameters(f) ? ndn_element_size(NDN_PARAMETERS_COMPONENT, NDN_DIGEST) : 0);
}

static size_t interest_info_size(const struct ndn_interest_form *f) {
    return ndn_signed_by_size(f->key) + ndn_element_size(NDN_SIGNATURE_NONCE, sizeof f->signature_nonce) +
           ndn_number_size(NDN_SIGNATURE_TIME, f->signature_time);
}

/* Bytes of the Interest's value, at most. */
static size_t interest_value_size(const struct ndn_interest_form *f) {
    return ndn_element_size(NDN_NAME, interest_name_size(f)) +
           (f->can_be_prefix ? ndn_element_size(NDN_CAN_BE_PREFIX, 0) : 0) +
           (f->must_be_fresh ? ndn_element_size(NDN_MUST_BE_FRESH, 0) : 0) + ndn_element_size(NDN_NONCE, 4) +
           (f->lifetime_ms ? ndn_number_size(NDN_LIFETIME, f->lifetime_ms) : 0) +
           (interest_with_parameters(f) ? ndn_element_size(NDN_PARAMETERS, f->parameters.n) : 0) +
           (f->key ? ndn_element_size(NDN_INTEREST_SIGNATURE_INFO, interest_info_size(f)) + ndn_signature_size(f->key)
                   : 0);
}

/* name, parameters: where they begin in what was put; the name's end is where its digest will be. */
static void interest_put_signature(struct ndn_out *o, const struct ndn_interest_form *f, size_t name, size_t name_end,
                                   size_t parameters) {
    struct ndn_span covered[2];

    ndn_put_head(o, NDN_INTEREST_SIGNATURE_INFO, interest_info_size(f));
    ndn_put_signed_by(o, f->key);
    ndn_put_element(o, NDN_SIGNATURE_NONCE, f->signature_nonce, sizeof f->signature_nonce);
    ndn_put_number(o, NDN_SIGNATURE_TIME, f->signature_time);
    covered[0] = (struct ndn_span){ o->at + name, name_end - name };
    covered[1] = (struct ndn_span){ o->at + parameters, o->n - parameters };
    ndn_put_signature(o, NDN_INTEREST_SIGNATURE_VALUE, f->key, covered, 2);
}

size_t ndn_interest_write(const struct ndn_interest_form *f, void *out, size_t room) {
    static const uint8_t later[NDN_DIGEST];
    const uint8_t nonce[4] = { (uint8_t)(f->nonce >> 24), (uint8_t)(f->nonce >> 16), (uint8_t)(f->nonce >> 8),
                               (uint8_t)f->nonce };
    struct ndn_out o = ndn_out_into(out, room < NDN_PACKET_MAX ? room : NDN_PACKET_MAX);
    size_t packet = ndn_put_open(&o, NDN_INTEREST, interest_value_size(f)), name, name_end, parameters;
    struct ndn_span told;

    ndn_put_head(&o, NDN_NAME, interest_name_size(f));
    name = o.n;
    ndn_put(&o, f->name.at, f->name.n);
    if (f->segment != NDN_NO_NUMBER) ndn_put_number(&o, NDN_SEGMENT_COMPONENT, f->segment);
    name_end = o.n;
    if (name_end == name) return 0;
    if (interest_with_parameters(f)) ndn_put_element(&o, NDN_PARAMETERS_COMPONENT, later, sizeof later);
    if (f->can_be_prefix) ndn_put_head(&o, NDN_CAN_BE_PREFIX, 0);
    if (f->must_be_fresh) ndn_put_head(&o, NDN_MUST_BE_FRESH, 0);
    ndn_put_element(&o, NDN_NONCE, nonce, sizeof nonce);
    if (f->lifetime_ms) ndn_put_number(&o, NDN_LIFETIME, f->lifetime_ms);
    parameters = o.n;
    if (interest_with_parameters(f)) ndn_put_element(&o, NDN_PARAMETERS, f->parameters.at, f->parameters.n);
    if (f->key) interest_put_signature(&o, f, name, name_end, parameters);
    if (o.full) return 0;
    if (interest_with_parameters(f)) {
        told = (struct ndn_span){ o.at + parameters, o.n - parameters };
        ndn_digest(&told, 1, o.at + name_end + ndn_element_size(NDN_PARAMETERS_COMPONENT, NDN_DIGEST) - NDN_DIGEST);
    }
    ndn_put_close(&o, packet);
    return o.n;
}
