/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ndn_sign.c - a signed packet on its way, in which somebody changes, cuts out or puts in bytes; and any bytes as
 * a signature's info.
 *
 * What verifies was signed: with the key that it says, and not a byte of what is covered is another one.
 */
#include "fuzz_ndn.h"

#include <openssl/pem.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGEST, HMAC, ED25519, ECDSA, KEYS };
static const struct ndn_key *keys[KEYS];

/* As a file that only its owner may read. */
static struct ndn_key *key_of(EVP_PKEY *pair) {
    int fd = memfd_create("key", 0);
    FILE *f = fdopen(fd, "w");
    char path[32], *error = NULL;
    struct ndn_key *key;

    MUST(pair && f && !fchmod(fd, 0600) && PEM_write_PrivateKey(f, pair, NULL, NULL, 0, NULL, NULL) && !fflush(f));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    key = ndn_key_read(path, "/key", &error);
    MUST(key && ndn_key_can_sign(key));
    fclose(f);
    EVP_PKEY_free(pair);
    return key;
}

static void make_keys(void) {
    struct ndn_name name;

    if (*keys) return;
    MUST(ndn_name_read((struct ndn_span){ (const uint8_t *)"\x08\x01k", 3 }, &name));
    keys[DIGEST] = ndn_key_none();
    keys[HMAC] = ndn_key_hmac("what the two of them know", 25, &name);
    keys[ED25519] = key_of(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"));
    keys[ECDSA] = key_of(EVP_EC_gen("P-256"));
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

struct came {
    bool right, verifies;
    uint8_t covered[NDN_PACKET_MAX];
    size_t n;
};

static void look(struct ndn_span packet, bool interest, const struct ndn_key *key, struct came *c) {
    struct ndn_interest i;
    struct ndn_data d;
    const struct ndn_signature *s = interest ? &i.signature : &d.signature;
    struct ndn_out o = ndn_out_into(c->covered, sizeof c->covered);

    c->right = !(interest ? ndn_interest_read(packet, &i) : ndn_data_read(packet, &d));
    c->verifies = false;
    if (!c->right || (interest && !i.is_signed)) return;
    for (unsigned k = 0; k < s->ncovered; k++) ndn_put(&o, s->covered[k].at, s->covered[k].n);
    c->n = o.n;
    c->verifies = ndn_verify(key, s->type, s->covered, s->ncovered, s->value);
    if (c->verifies) MUST(s->type == (uint64_t)ndn_key_type(key) && !o.full);
    for (unsigned k = 0; k < KEYS; k++)
        if (keys[k] != key && ndn_key_type(keys[k]) != NDN_SIGNED_DIGEST)
            MUST(!ndn_verify(keys[k], s->type, s->covered, s->ncovered, s->value));
}

/* ---- what is sent ------------------------------------------------------------------------------------------------ */

static size_t make_signed(const struct ndn_key *key, bool interest, struct ndn_span text,
                          uint8_t bytes[NDN_PACKET_MAX]) {
    const struct ndn_span name = { (const uint8_t *)"\x08\x01"
                                                    "a",
                                   3 };
    struct ndn_interest_form i = { .name = name,
                                   .segment = text.n,
                                   .has_parameters = true,
                                   .parameters = text,
                                   .key = key,
                                   .signature_time = text.n << 32 };
    struct ndn_data_form d = { .name = name,
                               .segment = text.n,
                               .last = text.n,
                               .window = 7,
                               .status = NDN_NO_NUMBER,
                               .content = text,
                               .key = key };
    return interest ? ndn_interest_write(&i, bytes, NDN_PACKET_MAX) : ndn_data_write(&d, bytes, NDN_PACKET_MAX);
}

/* Each edit: what, where (two bytes), which byte. */
static size_t edit(uint8_t bytes[NDN_PACKET_MAX], size_t n, const uint8_t *edits, size_t count) {
    for (; count--; edits += 4) {
        size_t at = n ? (size_t)(edits[1] << 8 | edits[2]) % n : 0;
        switch (edits[0] % 4) {
        case 0: bytes[at] = edits[3]; break;
        case 1: bytes[at] ^= edits[3]; break;
        case 2:
            if (n > 1) memmove(bytes + at, bytes + at + 1, --n - at);
            break;
        case 3:
            if (n < NDN_PACKET_MAX) {
                memmove(bytes + at + 1, bytes + at, n++ - at);
                bytes[at] = edits[3];
            }
        }
    }
    return n;
}

static void on_its_way(const struct ndn_key *key, bool interest, const uint8_t *data, size_t size) {
    uint8_t bytes[NDN_PACKET_MAX];
    size_t edits = *data % 8 * 4, n;
    static struct came before, behind;
    struct ndn_span packet;

    data++, size--;
    if (edits > size) edits = size - size % 4;
    n = make_signed(key, interest, (struct ndn_span){ data + edits, size - edits }, bytes);
    if (!n) return;
    look((struct ndn_span){ bytes, n }, interest, key, &before);
    MUST(before.right && before.verifies);
    n = edit(bytes, n, data, edits / 4);
    packet = fuzz_copy(bytes, n);
    look(packet, interest, key, &behind);
    MUST(!behind.verifies || (behind.n == before.n && !memcmp(behind.covered, before.covered, before.n)));
    fuzz_free(packet);
}

/* ---- any info ---------------------------------------------------------------------------------------------------- */

/* Around it a Data whose value is the digest, or hmac, of what it covers: it verifies if it says so. */
static void around_info(bool hmac, const uint8_t *data, size_t size) {
    uint8_t bytes[NDN_PACKET_MAX], sig[NDN_SIGNATURE_MAX];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    const struct ndn_key *key = keys[hmac ? HMAC : DIGEST];
    size_t at = ndn_put_open(&o, NDN_DATA, NDN_PACKET_MAX - 4), from = o.n;
    struct ndn_span covered, packet;
    struct ndn_data d;

    ndn_put_element(&o, NDN_NAME,
                    "\x08\x01"
                    "a",
                    3);
    ndn_put_element(&o, NDN_SIGNATURE_INFO, data, size);
    covered = (struct ndn_span){ bytes + from, o.n - from };
    ndn_put_element(&o, NDN_SIGNATURE_VALUE, sig, ndn_sign(key, &covered, 1, sig));
    if (o.full) return;
    ndn_put_close(&o, at);
    packet = fuzz_copy(bytes, o.n);
    if (!ndn_data_read(packet, &d)) {
        const struct ndn_signature *s = &d.signature;
        bool yes = ndn_verify(key, s->type, s->covered, s->ncovered, s->value);
        MUST(yes == (s->type == (uint64_t)ndn_key_type(key)));
        MUST(s->type != NDN_SIGNED_DIGEST || !s->key.n);
        if (s->key.n) fuzz_name_text(&s->key);
    }
    fuzz_free(packet);
}

/* The first byte says what is done; pairs of keys cost a thousand times what the others do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    make_keys();
    if (*data & 1) around_info(*data & 2, data + 1, size - 1);
    else
        on_its_way(keys[*data >= 0xfc   ? ECDSA
                        : *data >= 0xf8 ? ED25519
                                        : *data >> 2 & 1],
                   *data & 2, data + 1, size - 1);
    return 0;
}
