/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ndn_packet.c - elements in elements, Interests and Data.
 *
 * What is read lies within the packet; its name prints and is read again; and written anew from its parts it means the
 * same and its signature verifies.
 */
#include "fuzz_ndn.h"

static struct ndn_key *secret;

static void make_secret(void) {
    struct ndn_name name;

    if (secret) return;
    MUST(ndn_name_read((struct ndn_span){ (const uint8_t *)"\x08\x01k", 3 }, &name));
    secret = ndn_key_hmac("what the two of them know", 25, &name);
    MUST(secret);
}

/* Elements fill what holds them, and are written as they were. */
static void walk(struct ndn_span in, unsigned depth) {
    uint8_t head[20];
    struct ndn_element e;
    uint64_t n;

    for (struct ndn_span before = in; ndn_next(&in, &e); before = in) {
        struct ndn_out o = ndn_out_into(head, sizeof head);
        MUST(e.type && e.whole.at == before.at && fuzz_within(e.whole, before) && fuzz_within(e.value, e.whole));
        MUST(in.at == e.whole.at + e.whole.n && in.n == before.n - e.whole.n);
        MUST(ndn_element_size(e.type, e.value.n) == e.whole.n);
        ndn_put_head(&o, e.type, e.value.n);
        MUST(!o.full && o.n == e.whole.n - e.value.n && !memcmp(head, e.whole.at, o.n));
        (void)ndn_number(e.value, &n);
        if (depth) walk(e.value, depth - 1);
    }
}

static void check_signature(const struct ndn_signature *s, struct ndn_span packet) {
    MUST(fuzz_within(s->value, packet) && fuzz_within(s->key.bytes, packet) && fuzz_within(s->key_digest, packet));
    MUST(fuzz_within(s->nonce, packet) && s->ncovered && s->ncovered <= NDN_COVERED);
    for (unsigned i = 0; i < s->ncovered; i++) MUST(fuzz_within(s->covered[i], packet));
    if (s->key.n) fuzz_name_text(&s->key);
    MUST(!ndn_verify(secret, s->type, s->covered, s->ncovered, s->value) || s->type == NDN_SIGNED_HMAC);
}

static void check_written(const struct ndn_signature *s) {
    MUST(ndn_verify(secret, s->type, s->covered, s->ncovered, s->value));
}

/* ---- Interests --------------------------------------------------------------------------------------------------- */

/* The parts that we write; the digest's place is the end of the name. */
static void write_interest(const struct ndn_interest *i) {
    uint8_t name[NDN_PACKET_MAX], bytes[NDN_PACKET_MAX];
    struct ndn_out o = ndn_out_into(name, sizeof name);
    struct ndn_interest_form f = { .segment = NDN_NO_NUMBER,
                                   .can_be_prefix = i->can_be_prefix,
                                   .must_be_fresh = i->must_be_fresh,
                                   .nonce = i->nonce,
                                   .lifetime_ms = i->lifetime_ms,
                                   .has_parameters = i->has_parameters,
                                   .parameters = i->parameters,
                                   .key = i->is_signed ? secret : NULL,
                                   .signature_time = i->signature.time == NDN_NO_NUMBER ? 0 : i->signature.time };
    struct ndn_interest again;
    struct ndn_element c;
    size_t n;

    for (unsigned k = 0; ndn_name_at(&i->name, k, &c); k++)
        if (!i->has_parameters || k != i->digest_at) ndn_put(&o, c.whole.at, c.whole.n);
    f.name = (struct ndn_span){ name, o.n };
    n = ndn_interest_write(&f, bytes, sizeof bytes);
    if (!n) { /* too long with another signature, or no name but the digest */
        MUST(!f.name.n || i->name.bytes.n + i->parameters.n > NDN_PACKET_MAX - 200);
        return;
    }
    MUST(!ndn_interest_read((struct ndn_span){ bytes, n }, &again));
    MUST(again.name.n == i->name.n && ndn_name_begins(&again.name, &(struct ndn_name){ f.name, 0 }));
    MUST(again.can_be_prefix == i->can_be_prefix && again.must_be_fresh == i->must_be_fresh && again.has_nonce);
    MUST(again.nonce == i->nonce && (again.lifetime_ms == i->lifetime_ms || !i->lifetime_ms));
    MUST(again.has_parameters == i->has_parameters && fuzz_equal(again.parameters, i->parameters));
    MUST(again.is_signed == i->is_signed && (!again.is_signed || again.signature.time == f.signature_time));
    if (again.is_signed) check_written(&again.signature);
}

/* Whoever makes up an Interest can make its digest right, so the fuzzer is helped to. */
static void repair_digest(struct ndn_span packet) {
    struct ndn_element whole, name, e;
    struct ndn_span in;

    if (!ndn_whole(packet, &whole) || whole.type != NDN_INTEREST) return;
    in = whole.value;
    if (!ndn_next(&in, &name)) return;
    while (ndn_next(&in, &e))
        if (e.type == NDN_PARAMETERS) {
            struct ndn_span told = { e.whole.at, (size_t)(whole.value.at + whole.value.n - e.whole.at) };
            uint8_t digest[NDN_DIGEST];

            ndn_digest(&told, 1, digest);
            for (in = name.value; ndn_next(&in, &e);)
                if (e.type == NDN_PARAMETERS_COMPONENT && e.value.n == NDN_DIGEST)
                    memcpy((void *)(uintptr_t)e.value.at, digest, sizeof digest);
            return;
        }
}

static void check_interest(struct ndn_span packet) {
    struct ndn_interest i;
    struct ndn_element c;

    if (ndn_interest_read(packet, &i)) return;
    MUST(i.name.n && i.name.n <= NDN_COMPONENTS_MAX && fuzz_within(i.name.bytes, packet));
    MUST(fuzz_within(i.parameters, packet) && (!i.is_signed || i.has_parameters) && i.hop_limit <= 255);
    for (unsigned k = 0; ndn_name_at(&i.name, k, &c); k++)
        MUST((c.type == NDN_PARAMETERS_COMPONENT) == (i.has_parameters && k == i.digest_at));
    fuzz_name_text(&i.name);
    if (i.is_signed) check_signature(&i.signature, packet);
    write_interest(&i);
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

static void write_data(const struct ndn_data *d) {
    uint8_t bytes[NDN_PACKET_MAX];
    struct ndn_data_form f = { .name = d->name.bytes,
                               .segment = NDN_NO_NUMBER,
                               .last = ndn_data_last(d),
                               .content_type = (enum ndn_content_type)d->content_type,
                               .freshness_ms = d->freshness_ms,
                               .window = d->window,
                               .status = d->status,
                               .media_type = d->media_type,
                               .location = d->location,
                               .encoding = d->encoding,
                               .content = d->content,
                               .key = secret };
    struct ndn_data again;
    size_t n = ndn_data_write(&f, bytes, sizeof bytes), most = ndn_data_room(&f);

    MUST(n ? n == most : most > NDN_PACKET_MAX);
    if (!n) return;
    MUST(!ndn_data_read((struct ndn_span){ bytes, n }, &again));
    MUST(ndn_name_equal(&again.name, &d->name) && again.content_type == (uint32_t)d->content_type);
    MUST(again.freshness_ms == d->freshness_ms && ndn_data_last(&again) == ndn_data_last(d));
    MUST(again.window == d->window && again.status == d->status && fuzz_equal(again.content, d->content));
    MUST(fuzz_equal(again.media_type, d->media_type) && fuzz_equal(again.location, d->location));
    MUST(fuzz_equal(again.encoding, d->encoding));
    MUST(ndn_segment_of(&again.name) == ndn_segment_of(&d->name));
    check_written(&again.signature);
}

static void check_data(struct ndn_span packet) {
    struct ndn_data d;

    if (ndn_data_read(packet, &d)) return;
    MUST(d.name.n && d.name.n <= NDN_COMPONENTS_MAX && fuzz_within(d.name.bytes, packet));
    MUST(fuzz_within(d.content, packet) && fuzz_within(d.media_type, packet) && fuzz_within(d.location, packet));
    MUST(d.media_type.n <= NDN_MEDIA_TYPE_MAX && d.location.n <= NDN_LOCATION_MAX);
    MUST(fuzz_within(d.encoding, packet) && d.encoding.n <= NDN_ENCODING_MAX);
    MUST(!d.has_final || fuzz_within(d.final.whole, packet));
    fuzz_name_text(&d.name);
    check_signature(&d.signature, packet);
    write_data(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ndn_span packet = fuzz_copy(data, size);

    make_secret();
    walk(packet, 6);
    repair_digest(packet);
    check_interest(packet);
    check_data(packet);
    fuzz_free(packet);
    return 0;
}
