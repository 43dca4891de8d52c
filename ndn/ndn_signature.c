/* SPDX-License-Identifier: BSD-2-Clause */
#include "ndn_signature.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *signature_read_locator(struct ndn_span locator, struct ndn_signature *s) {
    enum { NAME, DIGEST, FIELDS };
    static const uint32_t types[FIELDS] = { NDN_NAME, NDN_KEY_DIGEST };
    struct ndn_element f[FIELDS];
    const char *wrong = ndn_fields(locator, types, FIELDS, ndn_is_critical, f);

    if (wrong) return wrong;
    if (!f[NAME].type == !f[DIGEST].type) return "a KeyLocator must hold a Name or a KeyDigest";
    if (f[DIGEST].type && !f[DIGEST].value.n) return "a KeyDigest must not be empty";
    if (f[NAME].type && (!ndn_name_read(f[NAME].value, &s->key) || !s->key.n)) return "a KeyLocator's Name is none";
    s->key_digest = f[DIGEST].value;
    return NULL;
}

static bool signature_number(const struct ndn_element *e, uint64_t *n) {
    *n = NDN_NO_NUMBER;
    return !e->type || (ndn_number(e->value, n) && *n != NDN_NO_NUMBER);
}

const char *ndn_signature_read(struct ndn_span info, bool of_interest, struct ndn_signature *s) {
    enum { TYPE, LOCATOR, DATA_FIELDS, VALIDITY = DATA_FIELDS, NONCE = DATA_FIELDS, TIME, SEQ, FIELDS };
    static const uint32_t of_data[] = { NDN_SIGNATURE_TYPE, NDN_KEY_LOCATOR, NDN_VALIDITY_PERIOD };
    static const uint32_t of_interests[] = { NDN_SIGNATURE_TYPE, NDN_KEY_LOCATOR, NDN_SIGNATURE_NONCE,
                                             NDN_SIGNATURE_TIME, NDN_SIGNATURE_SEQ };
    struct ndn_element f[FIELDS] = { 0 };
    const char *wrong = of_interest ? ndn_fields(info, of_interests, FIELDS, ndn_is_critical, f)
                                    : ndn_fields(info, of_data, VALIDITY + 1, ndn_is_critical, f);

    if (wrong) return wrong;
    if (!ndn_number(f[TYPE].value, &s->type)) return "a SignatureType must be there, a number";
    /* That of a digest is to be ignored, whatever it holds. */
    if (f[LOCATOR].type && s->type != NDN_SIGNED_DIGEST && (wrong = signature_read_locator(f[LOCATOR].value, s)))
        return wrong;
    s->time = s->seq = NDN_NO_NUMBER;
    if (!of_interest) return NULL;
    if (f[NONCE].type && !f[NONCE].value.n) return "a SignatureNonce must not be empty";
    s->nonce = f[NONCE].value;
    if (!signature_number(&f[TIME], &s->time)) return "a SignatureTime must be a number of milliseconds";
    if (!signature_number(&f[SEQ], &s->seq)) return "a SignatureSeqNum must be a number";
    return NULL;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static size_t signature_locator_size(const struct ndn_name *name) { return ndn_element_size(NDN_NAME, name->bytes.n); }

size_t ndn_signed_by_size(const struct ndn_key *key) {
    struct ndn_name name = ndn_key_name(key);
    return ndn_number_size(NDN_SIGNATURE_TYPE, ndn_key_type(key)) +
           (name.n ? ndn_element_size(NDN_KEY_LOCATOR, signature_locator_size(&name)) : 0);
}

void ndn_put_signed_by(struct ndn_out *o, const struct ndn_key *key) {
    struct ndn_name name = ndn_key_name(key);

    ndn_put_number(o, NDN_SIGNATURE_TYPE, ndn_key_type(key));
    if (!name.n) return;
    ndn_put_head(o, NDN_KEY_LOCATOR, signature_locator_size(&name));
    ndn_put_element(o, NDN_NAME, name.bytes.at, name.bytes.n);
}

static size_t signature_longest(const struct ndn_key *key) {
    switch (ndn_key_type(key)) {
    case NDN_SIGNED_DIGEST:
    case NDN_SIGNED_HMAC: return NDN_DIGEST;
    case NDN_SIGNED_ED25519: return 64;
    case NDN_SIGNED_ECDSA: return 72;
    case NDN_SIGNED_RSA: break;
    }
    return 0;
}

/* Of either type: both are small. */
size_t ndn_signature_size(const struct ndn_key *key) {
    return ndn_element_size(NDN_SIGNATURE_VALUE, signature_longest(key));
}

void ndn_put_signature(struct ndn_out *o, uint32_t type, const struct ndn_key *key, const struct ndn_span *covered,
                       size_t n) {
    uint8_t sig[NDN_SIGNATURE_MAX];
    size_t made = o->full ? 0 : ndn_sign(key, covered, n, sig);

    if (made) ndn_put_element(o, type, sig, made);
    else o->full = true;
}
