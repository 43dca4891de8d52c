/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ndn_digests.c - digests that are computed side by side are those that are computed one by one. */
#include "run_suite.h"
#include "test_ndn.h"
#include "ndn/ndn_digests.h"

static void same_as_one_by_one(const struct ndn_span *texts, size_t n, uint8_t (*digests)[NDN_DIGEST]) {
    uint8_t right[NDN_DIGEST];

    for (size_t i = 0; i < n; i++) {
        ndn_digest(&texts[i], 1, right);
        ck_assert_msg(!memcmp(right, digests[i], NDN_DIGEST), "the digest of text %zu of %zu, of %zu bytes", i, n,
                      texts[i].n);
    }
}

static const unsigned widths[] = { 8, 16 };

/* Every length around the ends of blocks, and how much of the last one its padding takes; each in every lane. */
START_TEST(lanes_agree_with_libcrypto) {
    unsigned lanes = widths[_i];
    uint8_t digests[NDN_LANES_MAX][NDN_DIGEST];
    uint64_t seed = 1;

    for (size_t round = 0; round < 3000; round++) {
        size_t n = 1 + chance_below(&seed, lanes);
        struct ndn_span texts[NDN_LANES_MAX];
        for (size_t i = 0; i < n; i++) {
            size_t length = round < 200 ? round + i : round % 2 ? chance_below(&seed, 300) : chance_below(&seed, 9000);
            uint8_t *bytes = malloc(length + 1);
            ck_assert_ptr_nonnull(bytes);
            for (size_t k = 0; k < length; k++) bytes[k] = (uint8_t)chance(&seed);
            texts[i] = span_copy(bytes, length);
            free(bytes);
        }
        if (ndn_digests_in(lanes, texts, n, digests)) same_as_one_by_one(texts, n, digests);
        for (size_t i = 0; i < n; i++) span_free(texts[i]);
    }
}
END_TEST

START_TEST(any_number_of_texts) {
    static const uint8_t bytes[5000];
    struct ndn_span texts[50];
    uint8_t digests[50][NDN_DIGEST];
    unsigned lanes = ndn_digest_lanes();

    ck_assert(lanes == 1 || lanes == 8 || lanes == 16);
    for (size_t i = 0; i < 50; i++) texts[i] = (struct ndn_span){ bytes, i * 100 };
    for (size_t n = 0; n <= 50; n++) {
        memset(digests, 0xee, sizeof digests);
        ndn_digests(texts, n, digests);
        same_as_one_by_one(texts, n, digests);
        for (size_t i = n; i < 50; i++) ck_assert_uint_eq(digests[i][0], 0xee);
    }
}
END_TEST

START_TEST(no_more_texts_than_lanes) {
    struct ndn_span texts[17] = { { NULL, 0 } };
    uint8_t digests[17][NDN_DIGEST];

    ck_assert(!ndn_digests_in(16, texts, 17, digests));
    ck_assert(!ndn_digests_in(16, texts, 0, digests));
    ck_assert(!ndn_digests_in(4, texts, 1, digests));
}
END_TEST

/* ---- Data that are written together ------------------------------------------------------------------------------ */

static const uint8_t object_name[] = { 8, 1, 'a', 54, 1, 1 };

static struct ndn_data_form segment_form(uint64_t i, const uint8_t *content, size_t n) {
    return (struct ndn_data_form){ .name = { object_name, sizeof object_name },
                                   .segment = 250 + i,
                                   .last = 70000,
                                   .window = i ? NDN_NO_NUMBER : 7,
                                   .status = i ? NDN_NO_NUMBER : 200,
                                   .content = { content, n },
                                   .key = ndn_key_none() };
}

START_TEST(written_together_as_one_by_one) {
    static uint8_t content[4096], packet[NDN_DATA_SOME][5000], one[5000];
    struct ndn_data_form forms[NDN_DATA_SOME];
    uint8_t *out[NDN_DATA_SOME];
    size_t bytes[NDN_DATA_SOME], n = (size_t)_i;

    for (size_t i = 0; i < sizeof content; i++) content[i] = (uint8_t)i;
    for (size_t i = 0; i < n; i++) {
        forms[i] = segment_form(i, content, i + 1 == n ? 17 : sizeof content);
        out[i] = packet[i];
    }
    ck_assert(ndn_data_write_some(forms, out, sizeof packet[0], n, bytes));
    for (size_t i = 0; i < n; i++) {
        struct ndn_data d;
        ck_assert_uint_eq(ndn_data_write(&forms[i], one, sizeof one), bytes[i]);
        ck_assert(!memcmp(one, packet[i], bytes[i]));
        ck_assert_ptr_null(ndn_data_read((struct ndn_span){ packet[i], bytes[i] }, &d));
        ck_assert(
            ndn_verify(ndn_key_none(), d.signature.type, d.signature.covered, d.signature.ncovered, d.signature.value));
    }
}
END_TEST

/* Room that lacks for one of them, a key that is no digest, more than may be. */
START_TEST(together_or_not_at_all) {
    static uint8_t content[4096], packet[NDN_DATA_SOME + 1][5000];
    struct ndn_data_form forms[NDN_DATA_SOME + 1];
    uint8_t *out[NDN_DATA_SOME + 1];
    size_t bytes[NDN_DATA_SOME + 1];
    struct ndn_name name = { { object_name, 3 }, 1 };
    struct ndn_key *hmac = ndn_key_hmac("0123456789abcdef", 16, &name);

    ck_assert_ptr_nonnull(hmac);
    for (size_t i = 0; i <= NDN_DATA_SOME; i++) {
        forms[i] = segment_form(i, content, sizeof content);
        out[i] = packet[i];
    }
    ck_assert(!ndn_data_write_some(forms, out, sizeof packet[0], NDN_DATA_SOME + 1, bytes));
    ck_assert(!ndn_data_write_some(forms, out, 4100, 3, bytes));
    forms[1].content.n = 0;
    ck_assert(!ndn_data_write_some(forms, out, 4100, 3, bytes));
    forms[2].key = hmac;
    ck_assert(!ndn_data_write_some(forms, out, sizeof packet[0], 3, bytes));
    ck_assert(ndn_data_write_some(forms, out, sizeof packet[0], 2, bytes));
    ndn_key_free(&hmac);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_digests");
    TCase *t = tcase_create("digests");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, lanes_agree_with_libcrypto, 0, ROWS(widths));
    tcase_add_test(t, any_number_of_texts);
    tcase_add_test(t, no_more_texts_than_lanes);
    tcase_add_loop_test(t, written_together_as_one_by_one, 0, NDN_DATA_SOME + 1);
    tcase_add_test(t, together_or_not_at_all);
    suite_add_tcase(s, t);
    return run_suite(s);
}
