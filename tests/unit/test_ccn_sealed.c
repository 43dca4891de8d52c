/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ccn_sealed.c - a page's bytes, sealed and cut: each piece is a segment that opens to what stands there. */
#include "mod_ccn/ccn_sealed.h"
#include "run_suite.h"
#include "test_ndn.h"

enum { SIZE = 600, PLAIN = SIZE - NDN_SEAL_TAG };

static struct ndn_seal_pair caller;
static uint8_t digest[NDN_DIGEST] = { 1, 2, 3 }, body[20 * SIZE], name[SPAN_ROOM];

static struct ccn_sealed_form form_of(size_t n) {
    struct ccn_sealed_form f = {
        .head = { 404, { (const uint8_t *)"text/plain", 10 }, { NULL, 0 }, { (const uint8_t *)"br", 2 } },
        .body = { body, n },
        .object = name_of("/site/a/32=result/8=00/v=7", name).bytes,
        .size = SIZE,
        .caller = caller.open,
        .digest = digest
    };
    return f;
}

static void draw(void) {
    ck_assert(ndn_seal_draw(&caller));
    for (size_t i = 0; i < sizeof body; i++) body[i] = (uint8_t)(i * 131 + (i >> 8));
}

static void expect_page(size_t n) {
    struct ccn_sealed_form f = form_of(n);
    size_t head = ndn_seal_head_size(&f.head), bytes, at = 0;
    uint64_t segments = ccn_sealed_segments(&f);
    uint8_t told[NDN_SEAL_KEY], *made = ccn_sealed_make(&f, told, &bytes), out[SIZE];
    struct ndn_seal *s = ndn_seal_of(&caller, told, digest);

    ck_assert(made && s);
    ck_assert_uint_eq(segments, (head + n + PLAIN - 1) / PLAIN);
    ck_assert_uint_eq(bytes, head + n + segments * NDN_SEAL_TAG);
    for (uint64_t i = 0; i < segments; i++) {
        size_t from = (size_t)i * SIZE, length = bytes - from < SIZE ? bytes - from : SIZE;
        struct ndn_span text = { out, length - NDN_SEAL_TAG };
        struct ndn_seal_head h;

        ck_assert(ndn_seal_take(s, f.object, i, segments - 1, (struct ndn_span){ made + from, length }, out));
        if (i == 0) {
            ck_assert_ptr_null(ndn_seal_head_read(&text, &h));
            ck_assert(h.status == 404 && span_is(h.media_type, "text/plain") && !h.location.n &&
                      span_is(h.encoding, "br"));
        }
        ck_assert(at + text.n <= n && (!text.n || !memcmp(text.at, body + at, text.n)));
        at += text.n;
    }
    ck_assert_uint_eq(at, n);
    ndn_seal_free(&s);
    free(made);
}

START_TEST(a_page_of_any_length) {
    struct ccn_sealed_form f = form_of(0);
    size_t room = PLAIN - ndn_seal_head_size(&f.head); /* for the body, in the first segment */
    const size_t lengths[] = { 0, 1, room - 1, room, room + 1, room + PLAIN, room + PLAIN + 1, sizeof body };

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) expect_page(lengths[i]);
}
END_TEST

/* The head is whole in the first segment, or there is no page. */
START_TEST(a_head_that_is_too_long) {
    struct ccn_sealed_form f = form_of(10);
    uint8_t told[NDN_SEAL_KEY], *made;
    size_t bytes, head;

    f.head.location = (struct ndn_span){ body, 500 };
    head = ndn_seal_head_size(&f.head);
    f.size = head + NDN_SEAL_TAG;
    ck_assert_uint_eq(ccn_sealed_segments(&f), 2);
    made = ccn_sealed_make(&f, told, &bytes);
    ck_assert_ptr_nonnull(made);
    free(made);
    f.size--;
    ck_assert_uint_eq(ccn_sealed_segments(&f), 0);
    ck_assert_ptr_null(ccn_sealed_make(&f, told, &bytes));
    f.size = NDN_SEAL_TAG - 1;
    ck_assert_uint_eq(ccn_sealed_segments(&f), 0);
}
END_TEST

START_TEST(a_key_that_is_none) {
    static const uint8_t none[NDN_SEAL_KEY];
    struct ccn_sealed_form f = form_of(10);
    uint8_t told[NDN_SEAL_KEY];
    size_t bytes;

    f.caller = none;
    ck_assert_ptr_null(ccn_sealed_make(&f, told, &bytes));
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccn_sealed");
    TCase *t = tcase_create("sealed");

    tcase_add_checked_fixture(t, draw, NULL);
    tcase_add_test(t, a_page_of_any_length);
    tcase_add_test(t, a_head_that_is_too_long);
    tcase_add_test(t, a_key_that_is_none);
    suite_add_tcase(s, t);
    return run_suite(s);
}
