/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ccn_private.c - Interests with parameters: which fields, nonces and signatures make one that is obeyed.
 */
#include "mod_ccn/ccn_private.h"
#include "run_suite.h"
#include "test_ndn_key.h"

#define NONCE "Ccn-Nonce: 0123456789abcdef\n"
#define MADE  UINT64_C(1790000000123)
#define KEY   "00112233445566778899aabbccddeeff0123456789ABCDEFabcdef0123456789"

enum { OK, BAD = 400, FORBIDDEN = 403, LARGE = 413 };

/* An Interest as it comes, read; its bytes live on. */
static struct ndn_interest interest_of(const char *parameters, size_t n, const struct ndn_key *key) {
    static uint8_t bytes[NDN_PACKET_MAX], name[SPAN_ROOM];
    struct ndn_name page = name_of("/site/a", name);
    struct ndn_interest_form f = { .name = page.bytes,
                                   .segment = NDN_NO_NUMBER,
                                   .has_parameters = true,
                                   .parameters = { (const uint8_t *)parameters, n },
                                   .key = key,
                                   .signature_nonce = { 1, 2, 3, 4, 5, 6, 7, 8 },
                                   .signature_time = MADE };
    struct ndn_interest i;
    size_t size = ndn_interest_write(&f, bytes, sizeof bytes);
    const char *wrong = ndn_interest_read((struct ndn_span){ bytes, size }, &i);

    ck_assert_uint_ne(size, 0);
    ck_assert_msg(!wrong, "%s", wrong);
    ck_assert(i.has_parameters && i.is_signed == (key != NULL));
    return i;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

#define ROW(text, status, says)                                                                                        \
    { text, sizeof(text) - 1, status, says }
#define NO_FIELD "is no \"Field: value\""
#define NOT_SENT "may not be sent"
#define NO_TEXT  "holds what is no text"
#define NO_NONCE "need a nonce"
#define NO_KEY   "must hold an X25519 key"
#define SMALL    "there is no secret"

static const struct {
    const char *text;
    size_t n;
    int status;
    const char *says;
} texts[] = {
    ROW(NONCE, OK, NULL),
    ROW("Ccn-Nonce: 0123456789abcdef", OK, NULL),
    ROW("CCN-NONCE:0123456789ABCDEF", OK, NULL),
    ROW("ccn-nonce:\t 0123456789abcdef0123456789abcdef \t\r\n", OK, NULL),
    ROW("\n\r\n" NONCE, OK, NULL),
    ROW("Cookie: a=b; c=d\r\nAccept: */*\r\n" NONCE, OK, NULL),
    ROW(NONCE "Cookie: a=b", OK, NULL),
    ROW(NONCE "Cookie:", OK, NULL),
    ROW(NONCE "Cookie: a:b: c", OK, NULL),
    ROW(NONCE "Cookie: a\tb", OK, NULL),
    ROW(NONCE "Cookie: \x80\xff\xc3\xa9", OK, NULL),
    ROW(NONCE "Cookie: a\r\r\n\r\r\n", OK, NULL),
    ROW(NONCE "\n\n\n", OK, NULL),
    /* no nonce, or none that is long enough */
    ROW("", BAD, NO_NONCE),
    ROW("\r\n\r\n", BAD, NO_NONCE),
    ROW("Cookie: a=b\n", BAD, NO_NONCE),
    ROW("Ccn-Nonce:", BAD, NO_NONCE),
    ROW("Ccn-Nonce: 0123456789abcde", BAD, NO_NONCE),
    ROW("Ccn-Nonce: 0123456789abcde\n" NONCE, BAD, NO_NONCE),
    ROW("Ccn-Nonce: 0123456789abcdeg", BAD, NO_NONCE),
    ROW("Ccn-Nonce: 01234567 89abcdef", BAD, NO_NONCE),
    ROW("Ccn-Nonce: 0x0123456789abcdef", BAD, NO_NONCE),
    ROW("Ccn-Nonce: 0123456789abcde/", BAD, NO_NONCE),
    ROW("Ccn-Nonce: 0123456789abcde:", BAD, NO_NONCE),
    ROW("Ccn-Nonce: 0123456789abcde@", BAD, NO_NONCE),
    ROW("Ccn-Nonce: 0123456789abcdeG", BAD, NO_NONCE),
    ROW("Ccn-Nonce: 0123456789abcde`", BAD, NO_NONCE),
    /* a key, or none */
    ROW(NONCE "Ccn-Key: " KEY, OK, NULL),
    ROW("ccn-key:" KEY " \r\n" NONCE, OK, NULL),
    ROW("Ccn-Key: " KEY, BAD, NO_NONCE),
    ROW(NONCE "Ccn-Key:", BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: " KEY "0", BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: " KEY KEY, BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: 0123456789abcdef\nCcn-Key: " KEY, BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: g0112233445566778899aabbccddeeff0123456789ABCDEFabcdef0123456789", BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: 00112233445566778899aabbccddeeff0123456789ABCDEFabcdef012345678/", BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: 00112233445566778899aabbccddeeff0123456789ABCDEFabcdef012345678:", BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: 00112233445566778899aabbccddeeff0123456789ABCDEFabcdef012345678@", BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: 00112233445566778899aabbccddeeff0123456789ABCDEFabcdef012345678G", BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: 00112233445566778899aabbccddeeff0123456789ABCDEFabcdef01234567 8", BAD, NO_KEY),
    ROW(NONCE "Ccn-Key: 0000000000000000000000000000000000000000000000000000000000000000", BAD, SMALL),
    ROW("Ccn-Key: 0100000000000000000000000000000000000000000000000000000000000080\n" NONCE, BAD, SMALL),
    ROW(NONCE "Ccn-Key: edFFffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", BAD, SMALL),
    ROW(NONCE "Ccn-Key: 0200000000000000000000000000000000000000000000000000000000000000", OK, NULL),
    /* what is no field */
    ROW(NONCE "Cookie", BAD, NO_FIELD),
    ROW(NONCE ": x", BAD, NO_FIELD),
    ROW(NONCE ":", BAD, NO_FIELD),
    ROW("{\"a\"}", BAD, NO_FIELD),
    ROW(NONCE "\0", BAD, NO_FIELD),
    /* what may not come along */
    ROW(NONCE "Host: other", BAD, NOT_SENT),
    ROW(NONCE "Content-Length: 5", BAD, NOT_SENT),
    ROW(NONCE "Cookie : a", BAD, NOT_SENT),
    ROW(NONCE " Cookie: a", BAD, NOT_SENT),
    ROW(NONCE "\tCookie: a", BAD, NOT_SENT),
    ROW(NONCE "Cook\0ie: a", BAD, NOT_SENT),
    ROW(NONCE "Cookie\r: a", BAD, NOT_SENT),
    ROW(NONCE "Accept: a\nX-Forwarded-For: 127.0.0.1", BAD, NOT_SENT),
    ROW(NONCE "Ccn-Nonce2: 0", BAD, NOT_SENT),
    /* a value that would be more than one line, or none */
    ROW(NONCE "Cookie: a\rHost: other", BAD, NO_TEXT),
    ROW(NONCE "Cookie: a\0b", BAD, NO_TEXT),
    ROW(NONCE "Cookie: \0", BAD, NO_TEXT),
    ROW(NONCE "Cookie: a\x0b", BAD, NO_TEXT),
    ROW(NONCE "Cookie: a\x1b[2J", BAD, NO_TEXT),
    ROW(NONCE "Cookie: \x7f", BAD, NO_TEXT),
    ROW("Ccn-Nonce: 0123456789abcdef\0", BAD, NO_TEXT),
};

START_TEST(a_text) {
    struct ndn_interest i = interest_of(texts[_i].text, texts[_i].n, NULL);
    struct ccn_private p;
    const char *why = NULL;

    ck_assert_int_eq(ccn_private_read(&i, NULL, 0, &p, &why), texts[_i].status);
    ck_assert_ptr_null(p.signer);
    if (texts[_i].status) {
        ck_assert_ptr_nonnull(strstr(why, texts[_i].says));
        ck_assert_int_eq(why[strlen(why) - 1], '\n');
    } else {
        ck_assert(p.fields.at == i.parameters.at && p.fields.n == i.parameters.n);
    }
}
END_TEST

/* In either case of its digits, wherever its line stands; and not there where there is none. */
START_TEST(a_key_is_read) {
    static const uint8_t right[NDN_SEAL_KEY] = {
        0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
        0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89,
    };
    const char *with = "Cookie: a\nCcn-Key: " KEY "\n" NONCE;
    struct ndn_interest i = interest_of(with, strlen(with), NULL);
    struct ccn_private p;
    const char *why;

    ck_assert_int_eq(ccn_private_read(&i, NULL, 0, &p, &why), OK);
    ck_assert(p.has_key && !memcmp(p.key, right, sizeof right));
    i = interest_of(NONCE, strlen(NONCE), NULL);
    ck_assert_int_eq(ccn_private_read(&i, NULL, 0, &p, &why), OK);
    ck_assert(!p.has_key);
}
END_TEST

START_TEST(how_long_they_may_be) {
    char text[CCN_PARAMETERS_MAX + 1];
    struct ccn_private p;
    struct ndn_interest i;
    const char *why = NULL;

    memset(text, 'a', sizeof text);
    memcpy(text, NONCE "Cookie: ", strlen(NONCE "Cookie: "));
    i = interest_of(text, CCN_PARAMETERS_MAX, NULL);
    ck_assert_int_eq(ccn_private_read(&i, NULL, 0, &p, &why), OK);
    i = interest_of(text, CCN_PARAMETERS_MAX + 1, NULL);
    ck_assert_int_eq(ccn_private_read(&i, NULL, 0, &p, &why), LARGE);
    ck_assert_ptr_nonnull(strstr(why, "too long"));
}
END_TEST

START_TEST(a_field_by_its_name) {
    static const char text[] = "\r\nAccept:  a , b \t\r\nCOOKIE:x\nnone\nCookie: y\nEmpty:\nOrigin: \xff";
    struct ndn_span fields = span_copy(text, sizeof text - 1); /* which ends where it ends */

    ck_assert(span_is(ccn_private_field(fields, "accept"), "a , b"));
    ck_assert(span_is(ccn_private_field(fields, "Cookie"), "x"));
    ck_assert(span_is(ccn_private_field(fields, "Origin"), "\xff"));
    ck_assert_uint_eq(ccn_private_field(fields, "Empty").n, 0);
    ck_assert_uint_eq(ccn_private_field(fields, "none").n, 0);
    ck_assert_uint_eq(ccn_private_field(fields, "Cooki").n, 0);
    ck_assert_uint_eq(ccn_private_field(fields, "Cookies").n, 0);
    ck_assert_uint_eq(ccn_private_field((struct ndn_span){ NULL, 0 }, "Cookie").n, 0);
    span_free(fields);
}
END_TEST

/* ---- signatures -------------------------------------------------------------------------------------------------- */

static const enum ndn_signature_type types[] = { NDN_SIGNED_HMAC, NDN_SIGNED_ECDSA, NDN_SIGNED_ED25519 };

static int read_by(const struct ndn_interest *i, const struct ndn_key *const *trusted, unsigned n,
                   struct ccn_private *p, const char **why) {
    memset(p, 1, sizeof *p);
    *why = NULL;
    return ccn_private_read(i, trusted, n, p, why);
}

static void expect_refused(const struct ndn_interest *i, const struct ndn_key *const *trusted, unsigned n, int status,
                           const char *says) {
    struct ccn_private p;
    const char *why;

    ck_assert_int_eq(read_by(i, trusted, n, &p, &why), status);
    ck_assert_ptr_nonnull(strstr(why, says));
    ck_assert(status != FORBIDDEN || !p.signer);
}

START_TEST(by_a_key_that_is_trusted) {
    struct ndn_key *key = key_new(types[_i]), *others[2] = { key_new(NDN_SIGNED_ECDSA), key_new(NDN_SIGNED_ED25519) };
    const struct ndn_key *trusted[3] = { others[0], others[1], key };
    struct ndn_interest i = interest_of("Cookie: a=b", 11, key);
    struct ccn_private p;
    const char *why;

    ck_assert_int_eq(read_by(&i, trusted, 3, &p, &why), OK);
    ck_assert_ptr_eq(p.signer, key);
    ck_assert_uint_eq(p.made, MADE);
    ck_assert(span_is(p.fields, "Cookie: a=b"));
    expect_refused(&i, trusted, 2, FORBIDDEN, "trusted");
    expect_refused(&i, NULL, 0, FORBIDDEN, "trusted");
    i = interest_of("", 0, key);
    ck_assert_int_eq(read_by(&i, trusted, 3, &p, &why), OK);
    ck_assert_uint_eq(p.fields.n, 0);
    i = interest_of("Host: a", 7, key);
    expect_refused(&i, trusted, 3, BAD, "may not be sent");
    ndn_key_free(&key);
    for (int k = 0; k < 2; k++) ndn_key_free(&others[k]);
}
END_TEST

/* Whose public key is in a file: who has only that signs nothing, and verifies. */
START_TEST(by_a_public_key) {
    EVP_PKEY *pair = _i ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519") : EVP_EC_gen("P-256");
    struct ndn_key *key, *public;
    struct ndn_interest i;
    struct ccn_private p;
    const char *why;

    ck_assert_ptr_nonnull(pair);
    key_file_private(pair, NULL, 0600);
    key = key_from_file();
    key_file_public(pair, 0644);
    public = key_from_file();
    ck_assert(!ndn_key_can_sign(public));
    i = interest_of("", 0, key);
    ck_assert_int_eq(read_by(&i, (const struct ndn_key *const *)&public, 1, &p, &why), OK);
    ck_assert_ptr_eq(p.signer, public);
    EVP_PKEY_free(pair);
    ndn_key_free(&key);
    ndn_key_free(&public);
}
END_TEST

/* Another bit of the value, of the parameters, of the name; another key under the same name; this one under another. */
START_TEST(by_nobody) {
    struct ndn_key *key = key_new(types[_i]), *same_name, *same_secret;
    uint8_t room[SPAN_ROOM], value[NDN_SIGNATURE_MAX], first[256];
    struct ndn_name other = name_of("/example/other", room), name = ndn_key_name(key);
    const struct ndn_key *trusted[1] = { key };
    struct ndn_interest i = interest_of("Cookie: a=b", 11, key);
    struct ndn_span right = i.signature.value, covered = i.signature.covered[0];

    same_name =
        types[_i] == NDN_SIGNED_HMAC ? ndn_key_hmac("another secret, just as long as ", 32, &name) : key_new(types[_i]);
    same_secret = ndn_key_hmac(HMAC_SECRET, strlen(HMAC_SECRET), &other);
    for (size_t k = 0; k < right.n; k++) {
        memcpy(value, right.at, right.n);
        value[k] ^= 1;
        i.signature.value = (struct ndn_span){ value, right.n };
        expect_refused(&i, trusted, 1, FORBIDDEN, "trusted");
    }
    for (size_t n = 0; n < right.n; n += 7) {
        i.signature.value = (struct ndn_span){ right.at, n };
        expect_refused(&i, trusted, 1, FORBIDDEN, "trusted");
    }
    i.signature.value = right;
    for (size_t k = 0; k < covered.n; k++) {
        memcpy(first, covered.at, covered.n);
        first[k] ^= 1;
        i.signature.covered[0].at = first;
        expect_refused(&i, trusted, 1, FORBIDDEN, "trusted");
    }
    i.signature.covered[0] = covered;
    trusted[0] = same_name;
    expect_refused(&i, trusted, 1, FORBIDDEN, "trusted");
    trusted[0] = same_secret;
    expect_refused(&i, trusted, 1, FORBIDDEN, "trusted");
    i.signature.key = other;
    if (types[_i] != NDN_SIGNED_HMAC) expect_refused(&i, trusted, 1, FORBIDDEN, "trusted");
    trusted[0] = key;
    expect_refused(&i, trusted, 1, FORBIDDEN, "trusted");
    ndn_key_free(&key);
    ndn_key_free(&same_name);
    ndn_key_free(&same_secret);
}
END_TEST

/* RSA, none that there is, and another one's: a type is part of the key. */
START_TEST(by_another_type) {
    static const uint64_t others[] = { NDN_SIGNED_RSA, 2, 6, 200, UINT64_MAX, NDN_SIGNED_ECDSA, NDN_SIGNED_ED25519 };
    struct ndn_key *key = key_hmac();
    struct ndn_interest i = interest_of(NONCE, strlen(NONCE), key);

    i.signature.type = others[_i];
    expect_refused(&i, (const struct ndn_key *const *)&key, 1, FORBIDDEN, "trusted");
    ndn_key_free(&key);
}
END_TEST

/* It must say when, or it could be replayed for ever; and hold a nonce, of its own or as a line. */
START_TEST(when_and_which) {
    struct ndn_key *key = key_hmac();
    const struct ndn_key *const *trusted = (const struct ndn_key *const *)&key;
    struct ndn_interest i = interest_of("", 0, key);
    struct ccn_private p;
    const char *why;

    i.signature.time = NDN_NO_NUMBER;
    expect_refused(&i, trusted, 1, BAD, "when it was made");
    i.signature.time = 0;
    ck_assert_int_eq(read_by(&i, trusted, 1, &p, &why), OK);
    ck_assert_uint_eq(p.made, 0);
    i.signature.nonce.n = 7;
    expect_refused(&i, trusted, 1, BAD, "need a nonce");
    i.signature.nonce.n = 0;
    expect_refused(&i, trusted, 1, BAD, "need a nonce");
    i = interest_of(NONCE, strlen(NONCE), key);
    i.signature.nonce.n = 0;
    ck_assert_int_eq(read_by(&i, trusted, 1, &p, &why), OK);
    ck_assert_ptr_eq(p.signer, key);
    ndn_key_free(&key);
}
END_TEST

/* A digest says nothing of who signed: it is right or it is not, its nonce counts, and nobody is trusted. */
START_TEST(by_a_digest) {
    const struct ndn_key *trusted[1] = { ndn_key_none() };
    struct ndn_interest i = interest_of("Cookie: a=b", 11, ndn_key_none());
    uint8_t value[NDN_DIGEST];
    struct ccn_private p;
    const char *why;

    ck_assert_int_eq(read_by(&i, trusted, 1, &p, &why), OK);
    ck_assert(!p.signer && p.made == 0);
    i.signature.time = NDN_NO_NUMBER;
    ck_assert_int_eq(read_by(&i, NULL, 0, &p, &why), OK);
    i.signature.nonce.n = 7;
    expect_refused(&i, NULL, 0, BAD, "need a nonce");
    i.signature.nonce.n = 8;
    memcpy(value, i.signature.value.at, sizeof value);
    value[31] ^= 1;
    i.signature.value.at = value;
    expect_refused(&i, NULL, 0, FORBIDDEN, "not that of this Interest");
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccn_private");
    TCase *t = tcase_create("parameters");
    tcase_set_timeout(t, 60);

    tcase_add_loop_test(t, a_text, 0, ROWS(texts));
    tcase_add_test(t, a_key_is_read);
    tcase_add_test(t, how_long_they_may_be);
    tcase_add_test(t, a_field_by_its_name);
    tcase_add_loop_test(t, by_a_key_that_is_trusted, 0, ROWS(types));
    tcase_add_loop_test(t, by_a_public_key, 0, 2);
    tcase_add_loop_test(t, by_nobody, 0, ROWS(types));
    tcase_add_loop_test(t, by_another_type, 0, 7);
    tcase_add_test(t, when_and_which);
    tcase_add_test(t, by_a_digest);
    suite_add_tcase(s, t);
    return run_suite(s);
}
