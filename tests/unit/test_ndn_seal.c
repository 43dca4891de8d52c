/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ndn_seal.c - pages that only who asked for them can read: what was sealed is opened by the one key, as it was,
 * in its place, and by nobody and in no way else.
 */
#include "ndn/ndn_seal.h"
#include "run_suite.h"
#include "test_ndn.h"

#define LAST 5u

static struct ndn_seal_pair caller;
static uint8_t digest[NDN_DIGEST], told[NDN_SEAL_KEY];
static struct ndn_seal *seal;
static struct ndn_span page; /* /site/a/v=7 */
static uint8_t name[SPAN_ROOM];

static void begin(void) {
    page = name_of("/site/a/v=7", name).bytes;
    for (size_t i = 0; i < sizeof digest; i++) digest[i] = (uint8_t)(i * 7);
    ck_assert(ndn_seal_draw(&caller));
    seal = ndn_seal_new(caller.open, digest, told);
    ck_assert_ptr_nonnull(seal);
}

static void end(void) {
    ndn_seal_free(&seal);
    ck_assert_ptr_null(seal);
}

static struct ndn_span text_of(uint32_t segment, uint8_t room[64]) {
    for (size_t i = 0; i < 64; i++) room[i] = (uint8_t)(segment * 31 + i);
    return (struct ndn_span){ room, segment * 12 };
}

/* The next one, in a block of its own. */
static struct ndn_span sealed_next(uint32_t segment) {
    uint8_t room[64], out[64 + NDN_SEAL_TAG];
    struct ndn_span text = text_of(segment, room);

    ck_assert(ndn_seal_put(seal, page, LAST, text, out));
    return span_copy(out, text.n + NDN_SEAL_TAG);
}

static struct ndn_seal *opener(void) {
    struct ndn_seal *s = ndn_seal_of(&caller, told, digest);
    ck_assert_ptr_nonnull(s);
    return s;
}

static bool opens(struct ndn_seal *s, struct ndn_span in, uint32_t segment) {
    uint8_t room[64], out[64];
    struct ndn_span text = text_of(segment, room);

    return ndn_seal_take(s, page, segment, LAST, in, out) && in.n == text.n + NDN_SEAL_TAG &&
           (!text.n || !memcmp(out, text.at, text.n));
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

START_TEST(there_and_back) {
    struct ndn_span came[LAST + 1];
    struct ndn_seal *s = opener();

    for (uint32_t i = 0; i <= LAST; i++) came[i] = sealed_next(i);
    for (uint32_t i = LAST + 1; i-- > 0;) ck_assert(opens(s, came[i], i)); /* they come in any order, */
    for (uint32_t i = 0; i <= LAST; i++) ck_assert(opens(s, came[i], i));  /* and again */
    for (uint32_t i = 0; i <= LAST; i++) {
        uint8_t room[64];
        struct ndn_span text = text_of(i, room);
        if (text.n) ck_assert(memcmp(came[i].at, text.at, text.n));
        span_free(came[i]);
    }
    ndn_seal_free(&s);
}
END_TEST

START_TEST(each_page_has_a_key_of_its_own) {
    uint8_t other[NDN_SEAL_KEY], one[NDN_SEAL_TAG + 64], two[NDN_SEAL_TAG + 64];
    struct ndn_seal *s = ndn_seal_new(caller.open, digest, other);
    uint8_t room[64];
    struct ndn_span text = text_of(4, room);

    ck_assert_ptr_nonnull(s);
    ck_assert(memcmp(other, told, sizeof told));
    ck_assert(ndn_seal_put(seal, page, LAST, text, one) && ndn_seal_put(s, page, LAST, text, two));
    ck_assert(memcmp(one, two, text.n) && memcmp(one + text.n, two + text.n, NDN_SEAL_TAG));
    ndn_seal_free(&s);
}
END_TEST

/* A byte of it, or of what goes with it, is another one. */
START_TEST(what_was_changed_is_none) {
    struct ndn_span first = sealed_next(0), came = sealed_next(1);
    struct ndn_seal *s = opener();
    uint8_t copy[64], out[64];

    for (size_t i = 0; i < came.n; i++) {
        memcpy(copy, came.at, came.n);
        copy[i] ^= 1;
        ck_assert(!opens(s, (struct ndn_span){ copy, came.n }, 1));
    }
    for (size_t i = 0; i < page.n; i++) {
        name[i] ^= 1;
        ck_assert(!ndn_seal_take(s, page, 1, LAST, came, out));
        name[i] ^= 1;
    }
    ck_assert(!ndn_seal_take(s, (struct ndn_span){ page.at, page.n - 3 }, 1, LAST, came, out));
    ck_assert(!ndn_seal_take(s, page, 1, LAST - 1, came, out)); /* a page that was made shorter */
    ck_assert(!ndn_seal_take(s, page, 1, LAST + 1, came, out));
    ck_assert(!opens(s, came, 0) && !opens(s, came, 2) && !opens(s, first, 1)); /* in another's place */
    ck_assert(!ndn_seal_take(s, page, UINT64_C(1) << 32 | 1, LAST, came, out));
    ck_assert(opens(s, came, 1) && opens(s, first, 0));
    span_free(first);
    span_free(came);
    ndn_seal_free(&s);
}
END_TEST

START_TEST(what_was_cut_is_none) {
    struct ndn_span came = sealed_next(0), more;
    struct ndn_seal *s = opener();
    uint8_t out[64];

    span_free(came);
    came = sealed_next(1);
    for (size_t n = 0; n < came.n; n++) {
        struct ndn_span cut = span_copy(came.at, n), behind = span_copy(came.at + came.n - n, n);
        ck_assert(!ndn_seal_take(s, page, 1, LAST, cut, out));
        ck_assert(!ndn_seal_take(s, page, 1, LAST, behind, out));
        span_free(cut);
        span_free(behind);
    }
    memcpy(out, came.at, came.n);
    out[came.n] = 0;
    more = span_copy(out, came.n + 1);
    ck_assert(!ndn_seal_take(s, page, 1, LAST, more, out));
    ck_assert(opens(s, came, 1));
    span_free(came);
    span_free(more);
    ndn_seal_free(&s);
}
END_TEST

START_TEST(nobody_else_opens_it) {
    struct ndn_span came = sealed_next(0);
    struct ndn_seal_pair other, mixed = caller;
    struct ndn_seal *s[3];
    uint8_t changed[NDN_DIGEST];

    ck_assert(ndn_seal_draw(&other));
    ck_assert(memcmp(&other, &caller, sizeof other));
    memcpy(changed, digest, sizeof changed);
    changed[31] ^= 1;
    memcpy(mixed.open, other.open, sizeof mixed.open); /* the right secret, and another key that was told */
    s[0] = ndn_seal_of(&other, told, digest);
    s[1] = ndn_seal_of(&caller, told, changed); /* an answer to another Interest */
    s[2] = ndn_seal_of(&mixed, told, digest);
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_nonnull(s[i]);
        ck_assert(!opens(s[i], came, 0));
        ndn_seal_free(&s[i]);
    }
    span_free(came);
}
END_TEST

/* ---- nonces ------------------------------------------------------------------------------------------------------ */

/* A seal counts by itself: the same text is sealed under another nonce each time; behind the last one nothing is. */
START_TEST(no_nonce_is_used_twice) {
    uint8_t out[LAST + 1][16 + NDN_SEAL_TAG], more[16 + NDN_SEAL_TAG];
    const struct ndn_span text = { (const uint8_t *)"the same 16 byte", 16 };

    for (uint32_t i = 0; i <= LAST; i++) {
        ck_assert(ndn_seal_put(seal, page, LAST, text, out[i]));
        for (uint32_t k = 0; k < i; k++) ck_assert(memcmp(out[i], out[k], text.n));
    }
    ck_assert(!ndn_seal_put(seal, page, LAST, text, more));
    ck_assert(!ndn_seal_put(seal, page, UINT64_MAX - 1, text, more)); /* nor does it begin again */
}
END_TEST

START_TEST(who_opens_does_not_seal) {
    struct ndn_seal *s = opener();
    struct ndn_span came = sealed_next(0);
    uint8_t out[64];

    ck_assert(!ndn_seal_put(s, page, LAST, came, out));
    ck_assert(!ndn_seal_take(seal, page, 0, LAST, came, out));
    ck_assert(opens(s, came, 0));
    span_free(came);
    ndn_seal_free(&s);
}
END_TEST

/*
 * Keys of small order (RFC 7748, 6.1), with which anybody knows the secret: those and no others are called so, and
 * libcrypto is of the same opinion.  Each has a twin, since X25519 passes over the highest bit.
 */
static const struct {
    uint8_t first, byte, last; /* all bytes between the first and the last are this one */
    bool small;
} plain_keys[] = {
    { 0, 0, 0, true },          { 1, 0, 0, true },           { 2, 0, 0, false },          { 9, 0, 0, false },
    { 0, 0, 1, false },         { 0xeb, 0xff, 0x7f, false }, { 0xec, 0xff, 0x7f, true },  { 0xed, 0xff, 0x7f, true },
    { 0xee, 0xff, 0x7f, true }, { 0xef, 0xff, 0x7f, false }, { 0xed, 0xff, 0x7e, false },
};

static void expect_key(uint8_t key[NDN_SEAL_KEY], bool small) {
    uint8_t out[NDN_SEAL_KEY];

    for (int twin = 0; twin < 2; twin++, key[NDN_SEAL_KEY - 1] ^= 0x80) {
        struct ndn_seal *ours = ndn_seal_new(key, digest, out), *theirs = ndn_seal_of(&caller, key, digest);
        ck_assert(ndn_seal_key_is_small(key) == small && (ours == NULL) == small && (theirs == NULL) == small);
        ndn_seal_free(&ours);
        ndn_seal_free(&theirs);
    }
}

START_TEST(keys_that_are_none) {
    uint8_t key[NDN_SEAL_KEY], two[][NDN_SEAL_KEY] = {
        { 0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
          0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00 },
        { 0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
          0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57 },
    };

    for (size_t i = 0; i < ROWS(plain_keys); i++) {
        memset(key, plain_keys[i].byte, sizeof key);
        key[0] = plain_keys[i].first;
        key[NDN_SEAL_KEY - 1] = plain_keys[i].last;
        expect_key(key, plain_keys[i].small);
    }
    for (int i = 0; i < 2; i++) {
        expect_key(two[i], true);
        two[i][7] ^= 1;
        expect_key(two[i], false);
    }
    expect_key(caller.open, false);
}
END_TEST

/* ---- what stands before the page --------------------------------------------------------------------------------- */

START_TEST(a_head) {
    const struct ndn_seal_head heads[] = {
        { 200, { (const uint8_t *)"text/html", 9 }, { NULL, 0 }, { (const uint8_t *)"gzip", 4 } },
        { 302, { NULL, 0 }, { (const uint8_t *)"ndn:/site/b", 11 }, { NULL, 0 } },
        { NDN_NO_NUMBER, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } },
    };
    uint8_t bytes[256];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);
    struct ndn_seal_head h;
    struct ndn_span in;

    ndn_seal_head_put(&o, &heads[_i]);
    ck_assert_uint_eq(o.n, ndn_seal_head_size(&heads[_i]));
    ndn_put(&o, "page", 4);
    in = (struct ndn_span){ bytes, o.n };
    ck_assert_ptr_null(ndn_seal_head_read(&in, &h));
    ck_assert(h.status == heads[_i].status && span_equal(h.media_type, heads[_i].media_type) &&
              span_equal(h.location, heads[_i].location) && span_equal(h.encoding, heads[_i].encoding) &&
              span_is(in, "page"));
}
END_TEST

static const struct {
    const char *hex, *says; /* NULL: it is right */
} heads[] = {
    { "fdf52c{}", NULL },
    { "fdf52c{fdf522{00c8}} 61", NULL },
    { "fdf52c{fdf522{00c8} fdf52e{6778}}", NULL }, /* one that is not known yet, and not critical */
    { "", "begin with its head" },
    { "61", "begin with its head" },
    { "fdf52c05 61", "begin with its head" },
    { "fdf522{00c8}", "begin with its head" },
    { "fdf52c{fdf522{}}", "status must be a number" },
    { "fdf52c{fdf522{010203}}", "status must be a number" },
    { "fdf52c{fdf523{61}}", "" },
    { "fdf52c{fdf526{61} fdf522{00c8} 07{}}", "" },
    { "fdf52c{61}", "" },
    { "fdf52c{fdf524{*129 61}}", "128 bytes" },
    { "fdf52c{fdf524{*128 61}}", NULL },
    { "fdf52c{fdf526{*1025 61}}", "1024 bytes" },
    { "fdf52c{fdf526{*1024 61}}", NULL },
    { "fdf52c{fdf528{*65 61}}", "64 bytes" },
    { "fdf52c{fdf528{*64 61}}", NULL },
    { "fdf52c{fdf528{61} fdf526{61}}", "out of its place" },
};

START_TEST(heads_that_come) {
    struct ndn_span whole = span_of(heads[_i].hex), in = whole;
    struct ndn_seal_head h;
    const char *wrong = ndn_seal_head_read(&in, &h);

    ck_assert_int_eq(wrong != NULL, heads[_i].says != NULL);
    if (wrong) ck_assert_msg(strstr(wrong, heads[_i].says) && in.at == whole.at && in.n == whole.n, "%s", wrong);
    span_free(whole);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_seal");
    TCase *t = tcase_create("seal");

    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, there_and_back);
    tcase_add_test(t, each_page_has_a_key_of_its_own);
    tcase_add_test(t, what_was_changed_is_none);
    tcase_add_test(t, what_was_cut_is_none);
    tcase_add_test(t, nobody_else_opens_it);
    tcase_add_test(t, no_nonce_is_used_twice);
    tcase_add_test(t, who_opens_does_not_seal);
    tcase_add_test(t, keys_that_are_none);
    tcase_add_loop_test(t, a_head, 0, 3);
    tcase_add_loop_test(t, heads_that_come, 0, ROWS(heads));
    suite_add_tcase(s, t);
    return run_suite(s);
}
