/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ndn_page_sealed.c - a request that sent a key: what is not sealed for it is no part of its page, whatever a
 * hostile producer or forwarder calls it.
 */
#include "ndn/ndn_page.h"
#include "run_suite.h"
#include "test_ndn.h"

#define PLAIN  "in plain"
#define SECRET "sealed"

static const char fields[] = "Cookie: a\nCcn-Nonce: 00112233445566778899aabbccddeeff\n";
static struct ndn_seal_pair pair;
static struct ndn_page *page;
static uint8_t asked[SPAN_ROOM], digest[NDN_DIGEST];
static struct ndn_page_head head;
static unsigned heads;
static char text[256];

static bool sealed_on_head(void *to, const struct ndn_page_head *h) {
    (void)to;
    heads++;
    head = *h;
    return true;
}

static bool sealed_on_content(void *to, struct ndn_span bytes) {
    (void)to;
    ck_assert(heads == 1 && strlen(text) + bytes.n < sizeof text);
    strncat(text, (const char *)bytes.at, bytes.n);
    return true;
}

static void begin(void) {
    struct ndn_page_calls calls = { NULL, sealed_on_head, sealed_on_content };
    struct ndn_page_ask ask = { .name = name_of("/a/b", asked),
                                .fresh = true,
                                .parameters = { (const uint8_t *)fields, sizeof fields - 1 },
                                .pair = &pair,
                                .fetch = { NDN_WINDOW_FIXED, 4, 3, 1000000 } };

    heads = 0;
    *text = 0;
    ck_assert(ndn_seal_draw(&pair));
    page = ndn_page_new(&ask, &calls, 0, NULL);
    ck_assert_ptr_nonnull(page);
}

static void end(void) { ndn_page_free(&page); }

/* What it asks for next, of which a request with parameters says the digest; false: nothing. */
static bool asks_for(struct ndn_interest *i) {
    static uint8_t out[NDN_PACKET_MAX];
    struct ndn_element c;
    uint64_t again;
    size_t n = ndn_page_next(page, 0, out, &again);

    if (!n) return false;
    ck_assert_ptr_null(ndn_interest_read((struct ndn_span){ out, n }, i));
    if (i->has_parameters) {
        ck_assert(ndn_name_at(&i->name, i->digest_at, &c));
        memcpy(digest, c.value.at, sizeof digest);
    }
    return true;
}

/* Version 1 of the page, under the name of its request, or under its result's. */
static size_t put_object(uint8_t out[SPAN_ROOM], bool result) {
    char hex[2 * NDN_DIGEST + 1];
    struct ndn_out o = ndn_out_into(out, SPAN_ROOM);
    struct ndn_name name = name_of("/a/b", asked);

    for (size_t i = 0; i < NDN_DIGEST; i++) sprintf(hex + 2 * i, "%02x", digest[i]);
    ndn_put(&o, name.bytes.at, name.bytes.n);
    if (result) {
        ndn_put_component(&o, NDN_KEYWORD_COMPONENT, "result", strlen("result"));
        ndn_put_component(&o, NDN_GENERIC_COMPONENT, hex, 2 * NDN_DIGEST);
    } else {
        ndn_put_component(&o, NDN_PARAMETERS_COMPONENT, digest, NDN_DIGEST);
    }
    ndn_put_component_number(&o, NDN_VERSION_COMPONENT, 1);
    ck_assert(!o.full);
    return o.n;
}

static struct ndn_data_form data_in_plain(uint64_t segment, uint64_t status, uint64_t type) {
    return (struct ndn_data_form){ .segment = segment,
                                   .last = NDN_NO_NUMBER,
                                   .content_type = type,
                                   .window = NDN_NO_NUMBER,
                                   .status = status,
                                   .content = { (const uint8_t *)PLAIN, strlen(PLAIN) },
                                   .key = ndn_key_none() };
}

static void comes(struct ndn_data_form f, bool result) {
    uint8_t name[SPAN_ROOM], out[NDN_PACKET_MAX];
    size_t n;

    if (!f.name.n) f.name = (struct ndn_span){ name, put_object(name, result) };
    n = ndn_data_write(&f, out, sizeof out);
    ck_assert_uint_ne(n, 0);
    ndn_page_packet(page, 0, (struct ndn_span){ out, n });
}

/* The right answer: one segment, with nothing in its head. */
static void comes_sealed(void) {
    uint8_t told[NDN_SEAL_KEY], object[SPAN_ROOM], plain[64], sealed[64 + NDN_SEAL_TAG];
    const struct ndn_seal_head none = { .status = NDN_NO_NUMBER };
    struct ndn_seal *s = ndn_seal_new(pair.open, digest, told);
    struct ndn_out o = ndn_out_into(plain, sizeof plain);
    struct ndn_data_form f = data_in_plain(0, NDN_NO_NUMBER, NDN_BLOB);

    ck_assert_ptr_nonnull(s);
    ndn_seal_head_put(&o, &none);
    ndn_put(&o, SECRET, strlen(SECRET));
    ck_assert(ndn_seal_put(s, (struct ndn_span){ object, put_object(object, true) }, 0, (struct ndn_span){ plain, o.n },
                           sealed));
    f.last = 0;
    f.seal = (struct ndn_span){ told, sizeof told };
    f.content = (struct ndn_span){ sealed, o.n + NDN_SEAL_TAG };
    comes(f, false);
    ndn_seal_free(&s);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

#define NONE NDN_NO_NUMBER
static const struct {
    uint64_t segment, status, type; /* segment NONE: all there is, in one */
    bool taken;
} refusals[] = {
    { 0, 403, NDN_NO, true },     { NONE, 403, NDN_NO, true },    { 0, 400, NDN_NO, true },
    { 0, 503, NDN_NO, true },     { 5, 403, NDN_NO, false },      { 1, 403, NDN_NO, false },
    { 5, NONE, NDN_NO, false },   { 0, NONE, NDN_NO, false },     { NONE, NONE, NDN_NO, false },
    { 0, 399, NDN_NO, false },    { 0, 200, NDN_NO, false },      { NONE, 200, NDN_NO, false },
    { 0, 403, NDN_BLOB, false },  { NONE, 403, NDN_BLOB, false }, { 0, NONE, NDN_BLOB, false },
    { 5, NONE, NDN_BLOB, false },
};

/* One is taken that says its status, first or alone.  Any other leaves the page to be asked for as before. */
START_TEST(a_refusal) {
    struct ndn_interest i;
    struct ndn_data_form f = data_in_plain(refusals[_i].segment, refusals[_i].status, refusals[_i].type);

    ck_assert(asks_for(&i));
    if (refusals[_i].segment != NONE) f.last = refusals[_i].segment;
    comes(f, false);
    if (refusals[_i].taken) {
        ck_assert_uint_eq(head.status, refusals[_i].status);
        ck_assert_str_eq(text, PLAIN);
        ck_assert(ndn_page_state(page) == NDN_PAGE_WHOLE);
        return;
    }
    ck_assert(heads == 0 && ndn_page_state(page) == NDN_PAGE_GOING && ndn_page_object(page).n == 0);
    comes(data_in_plain(0, 200, NDN_BLOB), true); /* what it would have asked for then */
    ck_assert_uint_eq(heads, 0);
    comes_sealed();
    ck_assert_str_eq(text, SECRET);
    ck_assert(ndn_page_state(page) == NDN_PAGE_WHOLE);
}
END_TEST

/* It has further segments, which go with it, and none of them turns it into a page. */
START_TEST(a_refusal_of_several_segments) {
    struct ndn_interest i;
    struct ndn_data_form f = data_in_plain(0, 403, NDN_NO);

    ck_assert(asks_for(&i));
    f.last = 1;
    comes(f, false);
    ck_assert(heads == 1 && head.status == 403 && ndn_page_state(page) == NDN_PAGE_GOING);
    ck_assert(asks_for(&i) && !i.has_parameters);
    comes_sealed(); /* too late */
    f = data_in_plain(1, 200, NDN_BLOB);
    f.last = 1;
    comes(f, true);
    ck_assert(heads == 1 && head.status == 403 && ndn_page_state(page) == NDN_PAGE_WHOLE);
    ck_assert_str_eq(text, PLAIN PLAIN);
}
END_TEST

/* All there is, in one, whatever it says of a last segment: nothing is asked for behind it, nor another head taken. */
START_TEST(what_is_alone_has_no_more) {
    struct ndn_interest i;
    struct ndn_data_form f = data_in_plain(NDN_NO_NUMBER, 403, NDN_NO);

    ck_assert(asks_for(&i));
    f.last = 5;
    comes(f, false);
    ck_assert(ndn_page_state(page) == NDN_PAGE_WHOLE && head.last == 0);
    ck_assert(!asks_for(&i));
    comes_sealed();
    ck_assert_uint_eq(heads, 1);
    ck_assert_str_eq(text, PLAIN);
}
END_TEST

/* ---- what nobody asked for --------------------------------------------------------------------------------------- */

/* Who is connected to may send before he is asked, when no digest is known that an answer must have. */
START_TEST(what_comes_before_it_is_asked_for) {
    static const char *const names[] = { "/a/b/54=%01", "/a/b", "/a/b/32=metadata" };
    uint8_t room[SPAN_ROOM], told[NDN_SEAL_KEY] = { 9 }, object[SPAN_ROOM];
    struct ndn_interest i;
    struct ndn_data_form f = data_in_plain(_i % 2 ? NDN_NO_NUMBER : 0, 403, NDN_NO);

    f.name = name_of(names[_i / 2], room).bytes;
    if (_i / 2 == 2) { /* it names the page that is to be fetched then */
        struct ndn_name name = name_of("/a/b/54=%01", object);
        static uint8_t named[SPAN_ROOM];
        struct ndn_out o = ndn_out_into(named, sizeof named);
        ndn_put_element(&o, NDN_NAME, name.bytes.at, name.bytes.n);
        f.content = (struct ndn_span){ named, o.n };
    }
    comes(f, false);
    f.seal = (struct ndn_span){ told, sizeof told }; /* under a digest that is shorter than one */
    comes(f, false);
    ck_assert(heads == 0 && ndn_page_object(page).n == 0 && ndn_page_counts(page).strange == 2);
    ck_assert(asks_for(&i) && i.has_parameters);
    comes_sealed();
    ck_assert_str_eq(text, SECRET);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_page_sealed");
    TCase *t = tcase_create("sealed");

    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, a_refusal, 0, ROWS(refusals));
    tcase_add_test(t, a_refusal_of_several_segments);
    tcase_add_test(t, what_is_alone_has_no_more);
    tcase_add_loop_test(t, what_comes_before_it_is_asked_for, 0, 6);
    suite_add_tcase(s, t);
    return run_suite(s);
}
