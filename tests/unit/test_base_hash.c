/* SPDX-License-Identifier: BSD-2-Clause */
/* test_base_hash.c - the hash of what strangers choose is SipHash-1-3, in whatever pieces it is added. */
#include "base/base_hash.h"
#include "run_suite.h"

#include <string.h>

static uint8_t bytes[256]; /* 1, 8, 15, ... */

static void make_bytes(void) {
    for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 + 1);
}

/* Made by CPython 3.11's, whose hash of bytes is this one, under keys that PYTHONHASHSEED gives it. */
static const uint64_t keys[2][2] = { { 0, 0 }, { UINT64_C(0xdc504fd368cd90af), UINT64_C(0xb920bb9ffe99e9c1) } };
static const struct {
    size_t n;
    uint64_t hash[2];
} vectors[] = {
    { 1, { 0x44bc103b1f8540ed, 0x89404b342d44cd29 } },  { 2, { 0xb238744ea7a5a1d0, 0x4fc344472a3a2094 } },
    { 3, { 0x58c04bf1747a31b8, 0x26959a06eaeb2442 } },  { 4, { 0x2427d2b30edc6058, 0xa1d7a9a7376deb0b } },
    { 5, { 0x63b01940e2c889f5, 0xa06552200d6bbe7b } },  { 6, { 0x59628e596094307d, 0xef65712f3658e49b } },
    { 7, { 0xb41012aeee05c7d4, 0x974342723b427029 } },  { 8, { 0xd22d9341176d0728, 0x5403d4956c011be0 } },
    { 9, { 0x4ec42971d570753b, 0xc6a346713cc4d6df } },  { 15, { 0x566f711d32f59152, 0x18fb9e5793f74ebf } },
    { 16, { 0x7e6bfb8bf1d36ac4, 0x6ec5ccfda2701062 } }, { 17, { 0xe11516de8399dc83, 0x9885b3ffe755510a } },
    { 24, { 0x387c003e20bcb995, 0xe1e7637435a1a7db } }, { 31, { 0x1c67696cfcadb9a6, 0x4e9ed244350b06ca } },
    { 32, { 0x2aeaaeff82fc305b, 0xc2227b88ba2380ed } }, { 63, { 0x5c34c6b66e3070ff, 0xd3248c9de1f634b8 } },
    { 64, { 0x814eabd66a4299eb, 0x99d084a154428838 } },
};

static uint64_t hash_of(const uint64_t key[2], size_t n) {
    struct base_hash h;

    base_hash_begin(&h, key);
    base_hash_add(&h, bytes, n);
    return base_hash_end(h);
}

START_TEST(as_others_make_it) {
    for (int k = 0; k < 2; k++) ck_assert_uint_eq(hash_of(keys[k], vectors[_i].n), vectors[_i].hash[k]);
}
END_TEST

/* Where it is cut, and how often it is asked for its hash, makes no difference; a copy goes on by itself. */
START_TEST(in_pieces) {
    for (size_t n = 0; n <= 40; n++)
        for (size_t a = 0; a <= n; a++)
            for (size_t b = a; b <= n; b++) {
                struct base_hash h, copy;
                base_hash_begin(&h, keys[1]);
                base_hash_add(&h, bytes, a);
                copy = h;
                ck_assert_uint_eq(base_hash_end(h), hash_of(keys[1], a));
                base_hash_add(&h, bytes + a, b - a);
                base_hash_add(&h, bytes + b, n - b);
                ck_assert_uint_eq(base_hash_end(h), hash_of(keys[1], n));
                ck_assert_uint_eq(base_hash_end(copy), hash_of(keys[1], a));
            }
}
END_TEST

/* The length counts, also where it is more than a byte says: zeros behind are no nothing. */
START_TEST(every_byte_counts) {
    static uint8_t zeros[600];
    struct base_hash h;
    uint64_t seen[600];

    for (size_t n = 0; n < 600; n++) {
        base_hash_begin(&h, keys[1]);
        base_hash_add(&h, zeros, n);
        seen[n] = base_hash_end(h);
        for (size_t k = 0; k < n; k++) ck_assert_uint_ne(seen[k], seen[n]);
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        for (int bit = 0; bit < 8; bit++) {
            uint64_t before = hash_of(keys[1], sizeof bytes);
            bytes[i] ^= (uint8_t)(1 << bit);
            ck_assert_uint_ne(hash_of(keys[1], sizeof bytes), before);
            bytes[i] ^= (uint8_t)(1 << bit);
        }
}
END_TEST

int main(void) {
    Suite *s = suite_create("base_hash");
    TCase *t = tcase_create("hash");

    tcase_add_checked_fixture(t, make_bytes, NULL);
    tcase_add_loop_test(t, as_others_make_it, 0, sizeof vectors / sizeof *vectors);
    tcase_add_test(t, in_pieces);
    tcase_add_test(t, every_byte_counts);
    suite_add_tcase(s, t);
    return run_suite(s);
}
