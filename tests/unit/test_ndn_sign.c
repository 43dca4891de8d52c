/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ndn_sign.c - digests and signatures, and the files that keys are read from. */
#include "run_suite.h"
#include "test_ndn_captured.h"
#include "test_ndn_key.h"

#include <openssl/crypto.h>
#include <openssl/x509.h>
#include <pthread.h>

static bool hex_is(const uint8_t *bytes, size_t n, const char *hex) {
    struct ndn_span right = span_of(hex);
    bool same = span_equal((struct ndn_span){ bytes, n }, right);
    span_free(right);
    return same;
}

static const enum ndn_signature_type all_types[] = { NDN_SIGNED_DIGEST, NDN_SIGNED_HMAC, NDN_SIGNED_ECDSA,
                                                     NDN_SIGNED_ED25519 };

static struct ndn_key *made(enum ndn_signature_type type) { return type == NDN_SIGNED_DIGEST ? NULL : key_new(type); }

static const struct ndn_key *use(const struct ndn_key *key) { return key ? key : ndn_key_none(); }

/* ---- what is signed ---------------------------------------------------------------------------------------------- */

/* FIPS 180-2, in one span and in several. */
START_TEST(digests_are_known) {
    static const struct {
        struct ndn_span spans[3];
        const char *digest;
    } rows[] = {
        { { { NULL, 0 } }, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { { { (const uint8_t *)"abc", 3 } }, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { { { (const uint8_t *)"a", 1 }, { NULL, 0 }, { (const uint8_t *)"bc", 2 } },
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    };
    uint8_t digest[NDN_DIGEST];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ndn_digest(rows[i].spans, 3, digest);
        ck_assert(hex_is(digest, sizeof digest, rows[i].digest));
    }
}
END_TEST

/* RFC 4231, test cases 1 to 4, 6 and 7. */
START_TEST(hmacs_are_known) {
    static const struct {
        const char *secret, *text, *mac;
    } rows[] = {
        { "*20 0b", "4869205468657265", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
        { "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
        { "*20 aa", "*50 dd", "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
        { "0102030405060708090a0b0c0d0e0f10111213141516171819", "*50 cd",
          "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
        { "*131 aa",
          "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b657920466972737"
          "4",
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
        { "*131 aa",
          "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b657920616e64"
          "2061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565647320746f2062652068"
          "6173686564206265666f7265206265696e6720757365642062792074686520484d414320616c676f726974686d2e",
          "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" },
    };
    struct ndn_name name = { { NULL, 0 }, 0 };
    uint8_t sig[NDN_SIGNATURE_MAX];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ndn_span secret = span_of(rows[i].secret), text = span_of(rows[i].text), halves[2];
        struct ndn_key *key = ndn_key_hmac(secret.at, secret.n, &name);

        halves[0] = (struct ndn_span){ text.at, text.n / 2 };
        halves[1] = (struct ndn_span){ text.at + text.n / 2, text.n - text.n / 2 };
        ck_assert_uint_eq(ndn_sign(key, &text, 1, sig), NDN_DIGEST);
        ck_assert(hex_is(sig, NDN_DIGEST, rows[i].mac));
        ck_assert_uint_eq(ndn_sign(key, halves, 2, sig), NDN_DIGEST);
        ck_assert(hex_is(sig, NDN_DIGEST, rows[i].mac));
        ndn_key_free(&key);
        ck_assert_ptr_null(key);
        span_free(secret);
        span_free(text);
    }
}
END_TEST

/* RFC 8032, 7.1, test 3. */
START_TEST(ed25519_is_known) {
    struct ndn_span seed = span_of("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7"),
                    text = span_of("af82"), halves[2] = { { text.at, 1 }, { text.at + 1, 1 } };
    EVP_PKEY *pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed.at, seed.n);
    struct ndn_key *key;
    uint8_t sig[NDN_SIGNATURE_MAX];

    key_file_private(pair, NULL, 0600);
    key = key_from_file();
    ck_assert_uint_eq(ndn_sign(key, halves, 2, sig), 64);
    ck_assert(hex_is(sig, 64,
                     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                     "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"));
    ck_assert(ndn_verify(key, NDN_SIGNED_ED25519, &text, 1, (struct ndn_span){ sig, 64 }));
    ndn_key_free(&key);
    EVP_PKEY_free(pair);
    span_free(seed);
    span_free(text);
}
END_TEST

/* Whose public key, or secret, the captured packets were signed with. */
static struct ndn_key *captured_key(int type) {
    struct ndn_span cert = span_of(captured_data[ROWS(captured_data) - 1].hex);
    struct ndn_data d;
    const uint8_t *der;
    EVP_PKEY *pair;

    if (type == NDN_SIGNED_DIGEST || type == NDN_SIGNED_HMAC) {
        span_free(cert);
        return type == NDN_SIGNED_HMAC ? key_hmac() : NULL;
    }
    ck_assert_ptr_null(ndn_data_read(cert, &d));
    ck_assert_uint_eq(d.content_type, NDN_KEY);
    der = d.content.at;
    pair = d2i_PUBKEY(NULL, &der, (long)d.content.n);
    ck_assert_ptr_nonnull(pair);
    key_file_public(pair, 0644);
    EVP_PKEY_free(pair);
    span_free(cert);
    return key_from_file();
}

static void verifies(const struct ndn_signature *s, int type) {
    struct ndn_key *key = captured_key(type);

    ck_assert_uint_eq(s->type, (uint64_t)type);
    ck_assert(ndn_verify(use(key), s->type, s->covered, s->ncovered, s->value));
    ck_assert(!ndn_verify(use(key), s->type + 1, s->covered, s->ncovered, s->value));
    ck_assert(!ndn_verify(use(key), s->type, s->covered, s->ncovered, (struct ndn_span){ s->value.at, 31 }));
    ndn_key_free(&key);
}

START_TEST(signatures_of_others_verify) {
    struct ndn_span packet = span_of(captured_data[_i].hex);
    struct ndn_data d;

    ck_assert_ptr_null(ndn_data_read(packet, &d));
    verifies(&d.signature, captured_data[_i].signature);
    span_free(packet);
}
END_TEST

START_TEST(signed_interests_of_others_verify) {
    struct ndn_span packet = span_of(captured_interests[_i].hex);
    struct ndn_interest i;

    ck_assert_ptr_null(ndn_interest_read(packet, &i));
    ck_assert(i.is_signed == (captured_interests[_i].signature >= 0));
    if (i.is_signed) verifies(&i.signature, captured_interests[_i].signature);
    span_free(packet);
}
END_TEST

/* Whoever changes a bit of what is covered, of the signature or its type, or has another key, is not believed. */
START_TEST(only_what_was_signed_verifies) {
    enum ndn_signature_type type = all_types[_i];
    struct ndn_key *key = made(type), *other = made(type);
    uint8_t text[] = "what is covered, in two spans", sig[NDN_SIGNATURE_MAX];
    struct ndn_span covered[] = { { text, 9 }, { text + 9, sizeof text - 9 } };
    size_t n = ndn_sign(use(key), covered, 2, sig);
    struct ndn_span made_sig = { sig, n };

    ck_assert(n >= NDN_DIGEST && n <= 72);
    ck_assert(ndn_verify(use(key), type, covered, 2, made_sig));
    ck_assert(ndn_verify(use(key), type, &(struct ndn_span){ text, sizeof text }, 1, made_sig));
    ck_assert(!ndn_verify(use(key), type, covered, 1, made_sig));
    for (size_t k = 0; k < sizeof all_types / sizeof *all_types; k++)
        ck_assert(ndn_verify(use(key), all_types[k], covered, 2, made_sig) == (all_types[k] == type));
    ck_assert(!ndn_verify(use(key), NDN_SIGNED_RSA, covered, 2, made_sig));
    ck_assert(!ndn_verify(use(key), type | UINT64_C(1) << 32, covered, 2, made_sig));
    for (size_t bit = 0; bit < 8 * sizeof text; bit += 3) {
        text[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!ndn_verify(use(key), type, covered, 2, made_sig));
        text[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * n; bit += 3) {
        sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!ndn_verify(use(key), type, covered, 2, made_sig));
        sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t i = 0; i < n; i++) {
        struct ndn_span cut = span_copy(sig, i);
        ck_assert(!ndn_verify(use(key), type, covered, 2, cut));
        span_free(cut);
    }
    ck_assert(!ndn_verify(use(key), type, covered, 2, (struct ndn_span){ sig, n + 1 }));
    if (type == NDN_SIGNED_ECDSA || type == NDN_SIGNED_ED25519)
        ck_assert(!ndn_verify(other, type, covered, 2, made_sig));
    ck_assert(ndn_verify(use(key), type, covered, 2, made_sig));
    ndn_key_free(&key);
    ndn_key_free(&other);
}
END_TEST

START_TEST(another_secret_makes_another_mac) {
    struct ndn_name name = { { NULL, 0 }, 0 };
    struct ndn_key *a = ndn_key_hmac("secret of sixteen", 17, &name), *b = ndn_key_hmac("secret of sixteeN", 17, &name);
    struct ndn_span covered = { (const uint8_t *)"abc", 3 };
    uint8_t sig[NDN_SIGNATURE_MAX];
    size_t n = ndn_sign(a, &covered, 1, sig);

    ck_assert(ndn_verify(a, NDN_SIGNED_HMAC, &covered, 1, (struct ndn_span){ sig, n }));
    ck_assert(!ndn_verify(b, NDN_SIGNED_HMAC, &covered, 1, (struct ndn_span){ sig, n }));
    ndn_key_free(&a);
    ndn_key_free(&b);
}
END_TEST

/* More than a packet in several spans is refused by those that must gather them, and not written anywhere. */
START_TEST(more_than_a_packet_is_not_signed) {
    static uint8_t text[NDN_PACKET_MAX + 1];
    struct ndn_span covered[] = { { text, 100 }, { text + 100, NDN_PACKET_MAX - 100 } };
    uint8_t sig[NDN_SIGNATURE_MAX];
    struct ndn_key *key = key_new(NDN_SIGNED_ED25519);

    ck_assert_uint_eq(ndn_sign(key, covered, 2, sig), 64);
    ck_assert(ndn_verify(key, NDN_SIGNED_ED25519, covered, 2, (struct ndn_span){ sig, 64 }));
    covered[1].n++;
    ck_assert_uint_eq(ndn_sign(key, covered, 2, sig), 0);
    ck_assert(!ndn_verify(key, NDN_SIGNED_ED25519, covered, 2, (struct ndn_span){ sig, 64 }));
    ndn_key_free(&key);
}
END_TEST

/* ---- threads and memory ------------------------------------------------------------------------------------------ */

struct signer {
    const struct ndn_key *key;
    unsigned right;
};

static void *signs(void *arg) {
    struct signer *s = arg;
    uint8_t text[600], sig[NDN_SIGNATURE_MAX];
    unsigned rounds = ndn_key_type(s->key) == NDN_SIGNED_ECDSA ? 50 : 2000;

    for (unsigned i = 0; i < rounds; i++) {
        struct ndn_span covered = { text, 1 + i % sizeof text };
        memset(text, (int)i, sizeof text);
        size_t n = ndn_sign(s->key, &covered, 1, sig);
        s->right += n && ndn_verify(s->key, ndn_key_type(s->key), &covered, 1, (struct ndn_span){ sig, n });
    }
    s->right = s->right == rounds;
    return NULL;
}

START_TEST(threads_use_one_key) {
    struct ndn_key *hmac = key_hmac(), *ecdsa = key_new(NDN_SIGNED_ECDSA);
    const struct ndn_key *keys[] = { ndn_key_none(), hmac, ecdsa };
    struct signer s[9];
    pthread_t thread[9];

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 9; i++) {
            s[i] = (struct signer){ keys[i % 3], 0 };
            ck_assert_int_eq(pthread_create(&thread[i], NULL, signs, &s[i]), 0);
        }
        for (size_t i = 0; i < 9; i++) {
            ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
            ck_assert_uint_eq(s[i].right, 1);
        }
    }
    ndn_key_free(&hmac);
    ndn_key_free(&ecdsa);
}
END_TEST

static _Atomic unsigned allocations;

static void *count_malloc(size_t n, const char *file, int line) {
    (void)file, (void)line;
    allocations++;
    return malloc(n);
}

static void *count_realloc(void *p, size_t n, const char *file, int line) {
    (void)file, (void)line;
    allocations++;
    return realloc(p, n);
}

static void count_free(void *p, const char *file, int line) {
    (void)file, (void)line;
    free(p);
}

/* Two small pieces for each digest that is made, of which hmac makes two; asking anew for an algorithm takes more. */
START_TEST(digest_and_hmac_allocate_little) {
    struct ndn_key *hmac = key_hmac();
    const struct ndn_key *keys[] = { ndn_key_none(), hmac };
    uint8_t room[SPAN_ROOM], packet[NDN_PACKET_MAX];
    struct ndn_name name = name_of("/example/site/v=1", room);
    unsigned before;

    for (size_t k = 0; k < 2; k++) {
        struct ndn_data_form f = { .name = name.bytes,
                                   .last = 9,
                                   .window = NDN_NO_NUMBER,
                                   .status = 200,
                                   .content = { room, 4096 },
                                   .key = keys[k] };
        struct ndn_data d;

        ck_assert_uint_gt(ndn_data_write(&f, packet, sizeof packet), 4096);
        ck_assert_uint_gt(allocations, 0);
        before = allocations;
        for (f.segment = 0; f.segment < 100; f.segment++) {
            size_t n = ndn_data_write(&f, packet, sizeof packet);
            ck_assert_ptr_null(ndn_data_read((struct ndn_span){ packet, n }, &d));
        }
        ck_assert_uint_le(allocations - before, 100 * 2 * (k + 1));
    }
    ndn_key_free(&hmac);
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    mode_t mode;
    const char *why; /* NULL: a secret of 16 bytes from 00 on */
} secrets[] = {
    { "000102030405060708090a0b0c0d0e0f\n", 0600, NULL },
    { "000102030405060708090A0B0C0D0E0F", 0400, NULL },
    { "00010203\r\n04050607\r\n08090a0b\r\n0c0d0e0f\r\n\r\n", 0600, NULL },
    { "0\n00102030405060708090a0b0c0d0e0f", 0600, NULL },
    { "000102030405060708090a0b0c0d0e0f\n", 0640, "others may read" },
    { "000102030405060708090a0b0c0d0e0f\n", 0604, "others may read" },
    { "000102030405060708090a0b0c0d0e0f\n", 0620, "others may read" },
    { "", 0600, "must hold a key" },
    { "\n", 0600, "must hold a key" },
    { "000102030405060708090a0b0c0d0e\n", 0600, "must hold a key" },
    { "000102030405060708090a0b0c0d0e0f1\n", 0600, "must hold a key" },
    { "000102030405060708090a0b0c0d0e0g\n", 0600, "must hold a key" },
    { "0x000102030405060708090a0b0c0d0e0f\n", 0600, "must hold a key" },
    { "00 0102030405060708090a0b0c0d0e0f\n", 0600, "must hold a key" },
    { "-----BEGIN NOTHING-----\n-----END NOTHING-----\n", 0600, "no key in PEM" },
    { "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", 0600, "no key in PEM" },
    { "-----BEGIN PRIVATE KEY-----\nAAAA\n", 0600, "no key in PEM" },
};

START_TEST(secrets_are_read_from_files) {
    static const uint8_t secret[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    struct ndn_name name = { { NULL, 0 }, 0 };
    struct ndn_key *key, *same = ndn_key_hmac(secret, sizeof secret, &name);
    struct ndn_span covered = { secret, sizeof secret };
    uint8_t sig[NDN_SIGNATURE_MAX];
    char *error = NULL;

    key_file_text(secrets[_i].text, strlen(secrets[_i].text), secrets[_i].mode);
    key = ndn_key_read(key_path, KEY_NAME, &error);
    if (secrets[_i].why) {
        ck_assert_msg(!key && error && strstr(error, secrets[_i].why), "%s", error);
        ck_assert_int_eq(strncmp(error, key_path, strlen(key_path)), 0);
    } else {
        struct ndn_name read;
        ck_assert_msg(key && !error, "%s", error);
        ck_assert(ndn_key_type(key) == NDN_SIGNED_HMAC && ndn_key_can_sign(key));
        read = ndn_key_name(key);
        ck_assert_str_eq(text_of_name(&read), KEY_NAME);
        ndn_sign(key, &covered, 1, sig);
        ck_assert(ndn_verify(same, NDN_SIGNED_HMAC, &covered, 1, (struct ndn_span){ sig, NDN_DIGEST }));
    }
    free(error);
    ndn_key_free(&key);
    ndn_key_free(&same);
}
END_TEST

START_TEST(a_secret_has_64_bytes_at_most) {
    char text[2 * 65];
    char *error = NULL;
    struct ndn_key *key;

    memset(text, 'a', sizeof text);
    key_file_text(text, 2 * 64, 0600);
    key = key_from_file();
    ndn_key_free(&key);
    key_file_text(text, 2 * 65, 0600);
    ck_assert_ptr_null(ndn_key_read(key_path, KEY_NAME, &error));
    ck_assert_ptr_nonnull(strstr(error, "must hold a key"));
    free(error);
}
END_TEST

static void refused(const char *path, const char *name, const char *why) {
    char *error = NULL;

    ck_assert_ptr_null(ndn_key_read(path, name, &error));
    ck_assert_msg(error && strstr(error, why), "%s: %s", path, error);
    ck_assert_ptr_null(ndn_key_read(path, name, NULL));
    free(error);
}

START_TEST(what_is_no_file_is_refused) {
    static char much[20000];
    char directory[] = "/tmp/test_ndn.XXXXXX", path[64];

    ck_assert_ptr_nonnull(mkdtemp(directory));
    refused(directory, KEY_NAME, "no regular file");
    snprintf(path, sizeof path, "%s/fifo", directory);
    refused(path, KEY_NAME, "No such file");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    refused(path, KEY_NAME, "no regular file");
    unlink(path);
    rmdir(directory);
    refused("/dev/zero", KEY_NAME, "no regular file");
    memset(much, 'a', sizeof much);
    key_file_text(much, 16385, 0600);
    refused(key_path, KEY_NAME, "larger than 16384");
    key_file_text(much, 16384, 0600);
    refused(key_path, KEY_NAME, "must hold a key");
}
END_TEST

START_TEST(a_key_has_a_name) {
    char longest[NDN_KEY_NAME_MAX + 2];
    uint8_t room[SPAN_ROOM];
    struct ndn_name name;
    struct ndn_key *key;

    key_file_text("000102030405060708090a0b0c0d0e0f", 32, 0600);
    refused(key_path, "", "must begin with a slash");
    refused(key_path, "/", "has a component");
    refused(key_path, "/a//b", "meant to be empty");
    memset(longest, 'a', sizeof longest); /* 4 bytes of head and n - 1 of it */
    longest[0] = '/';
    longest[NDN_KEY_NAME_MAX - 3] = 0;
    name = name_of(longest, room);
    ck_assert_uint_eq(name.bytes.n, NDN_KEY_NAME_MAX);
    key = ndn_key_read(key_path, longest, NULL);
    ck_assert_ptr_nonnull(key);
    ndn_key_free(&key);
    key = ndn_key_hmac("", 0, &name);
    ck_assert_ptr_nonnull(key);
    ndn_key_free(&key);
    ndn_key_free(&key);
    longest[NDN_KEY_NAME_MAX - 3] = 'a';
    longest[NDN_KEY_NAME_MAX - 2] = 0;
    refused(key_path, longest, "too long");
    name = name_of(longest, room);
    ck_assert_ptr_null(ndn_key_hmac("", 0, &name));
}
END_TEST

static void read_pair(EVP_PKEY *pair, enum ndn_signature_type type) {
    struct ndn_span covered = { (const uint8_t *)"abc", 3 };
    uint8_t sig[NDN_SIGNATURE_MAX];
    struct ndn_key *private, *public;
    size_t n;

    key_file_private(pair, NULL, 0644);
    refused(key_path, KEY_NAME, "others may read");
    key_file_private(pair, "password", 0600);
    refused(key_path, KEY_NAME, "password");
    key_file_private(pair, NULL, 0600);
    private = key_from_file();
    key_file_public(pair, 0644);
    public = key_from_file();
    ck_assert(ndn_key_type(private) == type && ndn_key_type(public) == type);
    ck_assert(ndn_key_can_sign(private) && !ndn_key_can_sign(public));
    ck_assert_uint_eq(ndn_sign(public, &covered, 1, sig), 0);
    n = ndn_sign(private, &covered, 1, sig);
    ck_assert_uint_gt(n, 0);
    ck_assert(ndn_verify(public, type, &covered, 1, (struct ndn_span){ sig, n }));
    ndn_key_free(&private);
    ndn_key_free(&public);
}

/* The curve before the key, which has a form of its own. */
static void read_as_older_tools_write(EVP_PKEY *pair) {
    FILE *f = key_file_begin(0600);
    BIO *b = BIO_new_fp(f, BIO_NOCLOSE);
    struct ndn_key *key;

    fputs("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n", f);
    ck_assert_int_eq(PEM_write_bio_PrivateKey_traditional(b, pair, NULL, NULL, 0, NULL, NULL), 1);
    BIO_free(b);
    fclose(f);
    key = key_from_file();
    ck_assert(ndn_key_type(key) == NDN_SIGNED_ECDSA && ndn_key_can_sign(key));
    ndn_key_free(&key);
}

START_TEST(pairs_are_read_from_files) {
    static const struct {
        const char *kind, *group;
        int type; /* -1: of another kind */
    } rows[] = {
        { "EC", "P-256", NDN_SIGNED_ECDSA },
        { "ED25519", NULL, NDN_SIGNED_ED25519 },
        { "EC", "P-384", -1 },
        { "EC", "secp256k1", -1 },
        { "RSA", NULL, -1 },
        { "X25519", NULL, -1 },
    };
    EVP_PKEY *pair;

    if (rows[_i].group) pair = EVP_EC_gen(rows[_i].group);
    else if (!strcmp(rows[_i].kind, "RSA")) pair = EVP_RSA_gen(2048);
    else pair = EVP_PKEY_Q_keygen(NULL, NULL, rows[_i].kind);
    ck_assert_ptr_nonnull(pair);
    if (rows[_i].type >= 0) {
        read_pair(pair, (enum ndn_signature_type)rows[_i].type);
        if (rows[_i].type == NDN_SIGNED_ECDSA) read_as_older_tools_write(pair);
    } else {
        key_file_private(pair, NULL, 0600);
        refused(key_path, KEY_NAME, "of another kind");
        key_file_public(pair, 0644);
        refused(key_path, KEY_NAME, "of another kind");
    }
    EVP_PKEY_free(pair);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_sign");
    TCase *t = tcase_create("sign");

    if (!CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free)) return EXIT_FAILURE;
    tcase_set_timeout(t, 60);
    tcase_add_test(t, digests_are_known);
    tcase_add_test(t, hmacs_are_known);
    tcase_add_test(t, ed25519_is_known);
    tcase_add_loop_test(t, signatures_of_others_verify, 0, ROWS(captured_data));
    tcase_add_loop_test(t, signed_interests_of_others_verify, 0, ROWS(captured_interests));
    tcase_add_loop_test(t, only_what_was_signed_verifies, 0, ROWS(all_types));
    tcase_add_test(t, another_secret_makes_another_mac);
    tcase_add_test(t, more_than_a_packet_is_not_signed);
    tcase_add_test(t, threads_use_one_key);
    tcase_add_test(t, digest_and_hmac_allocate_little);
    tcase_add_loop_test(t, secrets_are_read_from_files, 0, ROWS(secrets));
    tcase_add_test(t, a_secret_has_64_bytes_at_most);
    tcase_add_test(t, what_is_no_file_is_refused);
    tcase_add_test(t, a_key_has_a_name);
    tcase_add_loop_test(t, pairs_are_read_from_files, 0, 6);
    suite_add_tcase(s, t);
    return run_suite(s);
}
