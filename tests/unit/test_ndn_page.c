/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ndn_page.c - a page that is fetched: segments in their order, what answers its name, what is asked for and what
 * of that which comes is believed.  test_ndn_page_sealed.c has requests that sent a key.
 */
#include "ndn/ndn_lp.h"
#include "ndn/ndn_page.h"
#include "run_suite.h"
#include "test_ndn.h"

#include <pthread.h>

/* ---- order ------------------------------------------------------------------------------------------------------- */

static uint8_t taken[4 * NDN_PLACES_MAX];
static size_t ntaken, most_taken;

static bool take(void *to, struct ndn_span bytes) {
    (void)to;
    ck_assert(ntaken + bytes.n <= sizeof taken);
    if (ntaken >= most_taken) return false;
    if (bytes.n) memcpy(taken + ntaken, bytes.at, bytes.n);
    ntaken += bytes.n;
    return true;
}

static struct ndn_order *order_from(uint64_t first) {
    static struct ndn_order o;
    ntaken = 0;
    most_taken = SIZE_MAX;
    ndn_order_begin(&o, first, take, NULL);
    return &o;
}

static bool put(struct ndn_order *o, uint64_t segment) {
    const uint8_t text[3] = { (uint8_t)segment, (uint8_t)(segment >> 8), '.' };
    return ndn_order_put(o, segment, (struct ndn_span){ text, segment % 5 ? 3 : 0 }); /* some are empty */
}

START_TEST(segments_go_on_in_their_order) {
    uint64_t random = (uint64_t)_i * 77 + 1;
    struct ndn_order *o = order_from(1000);
    bool came[NDN_PLACES_MAX] = { false };
    size_t at = 0;

    for (uint64_t left = NDN_PLACES_MAX; left; left--) { /* 0: each in its turn; 1: backwards; else in any order */
        uint64_t s = _i == 0 ? NDN_PLACES_MAX - left : left - 1;
        if (_i > 1) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            s = random >> 52;
            while (came[s]) s = (s + 1) % NDN_PLACES_MAX;
        }
        came[s] = true;
        ck_assert(put(o, 1000 + s));
    }
    ck_assert_uint_eq(o->next, 1000 + NDN_PLACES_MAX);
    for (uint64_t s = 1000; s < 1000 + NDN_PLACES_MAX; s++) {
        if (s % 5 == 0) continue;
        ck_assert(taken[at] == (uint8_t)s && taken[at + 1] == (uint8_t)(s >> 8) && taken[at + 2] == '.');
        at += 3;
    }
    ck_assert_uint_eq(at, ntaken);
    ndn_order_end(o);
}
END_TEST

START_TEST(who_wants_no_more_gets_no_more) {
    struct ndn_order *o = order_from(1);
    most_taken = 6;
    ck_assert(put(o, 3) && put(o, 4) && put(o, 2)); /* wait */
    ck_assert(!put(o, 1));                          /* 1 and 2 are taken, 3 is not */
    ck_assert_uint_eq(ntaken, 6);
    ndn_order_end(o);
}
END_TEST

/* ---- what a Data is ---------------------------------------------------------------------------------------------- */

#define DIGEST "0000000000000000000000000000000000000000000000000000000000000000"
#define OTHER  "0100000000000000000000000000000000000000000000000000000000000000"
#define V      "/54=%01"

START_TEST(what_answers_a_name) {
    static const struct {
        const char *data, *metadata; /* what it names */
        bool is_private;
        enum ndn_found_kind kind;
        uint64_t segment;
        const char *object;
    } rows[] = {
        { "/a/b" V "/50=%00", NULL, false, NDN_FOUND_SEGMENT, 0, "/a/b" V },
        { "/a/b" V "/50=%07", NULL, false, NDN_FOUND_SEGMENT, 7, "/a/b" V },
        { "/a/b/50=%00", NULL, false, NDN_FOUND_SEGMENT, 0, "/a/b" },
        { "/a/b/56=%01/58=%02/50=%00", NULL, false, NDN_FOUND_SEGMENT, 0, "/a/b/56=%01/58=%02" },
        { "/a/b" V, NULL, false, NDN_FOUND_ALONE, 0, NULL },
        { "/a/b", NULL, false, NDN_FOUND_ALONE, 0, NULL },
        { "/a", NULL, false, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/c" V "/50=%00", NULL, false, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b/c" V "/50=%00", NULL, false, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b/32=result" V "/50=%00", NULL, false, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b" V "/50=%00%00", NULL, false, NDN_FOUND_STRANGER, 0, NULL }, /* not in its shortest form */
        { "/a/b" V "/50=...", NULL, false, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b" V "/52=%00", NULL, false, NDN_FOUND_STRANGER, 0, NULL }, /* where its bytes begin */
        { "/a/b/32=metadata/54=%09/50=%00", "/a/b" V, false, NDN_FOUND_METADATA, 0, "/a/b" V },
        { "/a/b/32=metadata", "/a/b", false, NDN_FOUND_METADATA, 0, "/a/b" },
        { "/a/b/32=metadata", "/a/c" V, false, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b/32=metadata", "/a/b/c" V, false, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b/32=metadata", "/a", false, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b/32=metadata", NULL, false, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b/params-sha256=" DIGEST V "/50=%00", NULL, true, NDN_FOUND_SEGMENT, 0, "/a/b/32=result/" DIGEST V },
        { "/a/b/params-sha256=" DIGEST "/50=%03", NULL, true, NDN_FOUND_SEGMENT, 3, "/a/b/32=result/" DIGEST },
        { "/a/b/params-sha256=" DIGEST, NULL, true, NDN_FOUND_ALONE, 0, NULL },
        { "/a/b/params-sha256=" OTHER V "/50=%00", NULL, true, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b" V "/50=%00", NULL, true, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b/32=metadata", "/a/b" V, true, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b", NULL, true, NDN_FOUND_STRANGER, 0, NULL },
        { "/a/b/params-sha256=" DIGEST V "/50=%00", NULL, false, NDN_FOUND_STRANGER, 0, NULL },
    };
    const uint8_t digests[1][NDN_DIGEST] = { { 0 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t asked[SPAN_ROOM], name[SPAN_ROOM], named[SPAN_ROOM], content[SPAN_ROOM];
        struct ndn_name page = name_of("/a/b", asked);
        struct ndn_data d = { .name = name_of(rows[i].data, name) };
        struct ndn_out o = ndn_out_into(content, sizeof content);
        struct ndn_found f;

        if (rows[i].metadata) {
            struct ndn_name m = name_of(rows[i].metadata, named);
            ndn_put_element(&o, NDN_NAME, m.bytes.at, m.bytes.n);
        }
        d.content = (struct ndn_span){ content, o.n };
        ndn_found(&f, &page, digests, rows[i].is_private, &d);
        ck_assert_msg(f.kind == rows[i].kind, "row %zu, %s: %d", i, rows[i].data, f.kind);
        if (f.kind == NDN_FOUND_SEGMENT) ck_assert_uint_eq(f.segment, rows[i].segment);
        ck_assert_uint_eq(f.n != 0, rows[i].object != NULL);
        if (!f.n) continue;
        uint8_t object[SPAN_ROOM];
        struct ndn_name right = name_of(rows[i].object, object), is;
        ck_assert(ndn_name_read((struct ndn_span){ f.object, f.n }, &is));
        ck_assert_msg(ndn_name_equal(&is, &right), "row %zu: %s", i, text_of_name(&is));
    }
}
END_TEST

/* ---- a page ------------------------------------------------------------------------------------------------------ */

struct seen {
    unsigned heads;
    struct ndn_page_head head;
    size_t n;
    uint8_t bytes[1 << 16];
};

static bool on_head(void *to, const struct ndn_page_head *h) {
    struct seen *s = to;
    s->heads++;
    s->head = *h;
    return true;
}

static bool on_content(void *to, struct ndn_span bytes) {
    struct seen *s = to;
    ck_assert(s->heads == 1 && s->n + bytes.n <= sizeof s->bytes);
    memcpy(s->bytes + s->n, bytes.at, bytes.n);
    s->n += bytes.n;
    return true;
}

static uint8_t asked_room[SPAN_ROOM];

static struct ndn_page *page_of(struct ndn_page_ask *ask, struct seen *seen) {
    struct ndn_page_calls calls = { seen, on_head, on_content };
    char *error = NULL;
    memset(seen, 0, sizeof *seen);
    ask->name = name_of("/a/b", asked_room);
    ask->fetch = (struct ndn_fetch_settings){ NDN_WINDOW_FIXED, 4, 3, 1000000 };
    struct ndn_page *p = ndn_page_new(ask, &calls, 0, &error);
    ck_assert_msg(p, "%s", error);
    return p;
}

/* A Data of that name whose content is its segment's number, 10 times; its bytes. */
static size_t data_of(const char *text, uint64_t segment, uint64_t last, uint8_t out[NDN_PACKET_MAX]) {
    uint8_t room[SPAN_ROOM], content[10];
    struct ndn_data_form f = { .name = name_of(text, room).bytes,
                               .segment = segment,
                               .last = last,
                               .window = NDN_NO_NUMBER,
                               .status = NDN_NO_NUMBER,
                               .content = { content, sizeof content },
                               .key = ndn_key_none() };
    memset(content, (int)segment, sizeof content);
    return ndn_data_write(&f, out, NDN_PACKET_MAX);
}

static void comes(struct ndn_page *p, uint64_t now, const char *text, uint64_t segment, uint64_t last) {
    uint8_t out[NDN_PACKET_MAX];
    size_t n = data_of(text, segment, last, out);
    ck_assert_uint_gt(n, 0);
    ndn_page_packet(p, now, (struct ndn_span){ out, n });
}

/* What it asks for now, as text; "": nothing. */
static const char *asks(struct ndn_page *p, uint64_t now, uint64_t *again) {
    uint8_t out[NDN_PACKET_MAX];
    struct ndn_interest i;
    size_t n = ndn_page_next(p, now, out, again);
    if (!n) return "";
    ck_assert_ptr_null(ndn_interest_read((struct ndn_span){ out, n }, &i));
    ck_assert(i.has_nonce);
    return text_of_name(&i.name);
}

START_TEST(a_page_comes_in_any_order) {
    struct seen seen;
    struct ndn_page_ask ask = { .fresh = true };
    struct ndn_page *p = page_of(&ask, &seen);
    uint64_t again;

    ck_assert_str_eq(asks(p, 0, &again), "/a/b");
    ck_assert_str_eq(asks(p, 0, &again), "");
    ck_assert_uint_eq(again, 1000000);
    comes(p, 1000, "/a/b/v=1", 0, 3);
    ck_assert(seen.heads == 1 && seen.head.status == 200 && seen.head.last == 3 && seen.head.version == 1);
    ck_assert_str_eq(asks(p, 1000, &again), "/a/b/v=1/seg=1");
    ck_assert_str_eq(asks(p, 1000, &again), "/a/b/v=1/seg=2");
    ck_assert_str_eq(asks(p, 1000, &again), "/a/b/v=1/seg=3");
    ck_assert_str_eq(asks(p, 1000, &again), "");
    comes(p, 2000, "/a/b/v=1", 3, 3);
    comes(p, 2000, "/a/b/v=2", 1, 3); /* of another version */
    comes(p, 2000, "/a/b/v=1", 2, 4); /* names another last */
    comes(p, 2000, "/a/b/v=1", 4, NDN_NO_NUMBER);
    comes(p, 2000, "/a/b/v=1", 2, 3);
    comes(p, 2000, "/a/b/v=1", 2, 3);
    ck_assert_uint_eq(seen.n, 10);
    ck_assert(ndn_page_state(p) == NDN_PAGE_GOING);
    comes(p, 2000, "/a/b/v=1", 1, 3);
    ck_assert(ndn_page_state(p) == NDN_PAGE_WHOLE);
    ck_assert_uint_eq(ndn_page_segments(p), 4);
    for (size_t i = 0; i < 40; i++) ck_assert_uint_eq(seen.bytes[i], i / 10);
    ck_assert_uint_eq(seen.n, 40);
    ck_assert_uint_eq(ndn_page_counts(p).strange, 3);
    ck_assert_uint_eq(ndn_page_counts(p).interests, 4);
    ndn_page_free(&p);
}
END_TEST

START_TEST(a_page_that_is_there_in_part) {
    uint8_t have[SPAN_ROOM];
    struct seen seen;
    struct ndn_page_ask ask = { .have = name_of("/a/b/v=1", have).bytes, .have_segments = 3 };
    struct ndn_page *p = page_of(&ask, &seen);
    uint64_t again;

    asks(p, 0, &again);
    comes(p, 0, "/a/b/v=1", 0, 4);
    ck_assert(seen.heads == 1 && seen.head.first == 3 && seen.n == 0);
    ck_assert_str_eq(asks(p, 0, &again), "/a/b/v=1/seg=3");
    comes(p, 0, "/a/b/v=1", 3, 4);
    ck_assert_str_eq(asks(p, 0, &again), "/a/b/v=1/seg=4");
    comes(p, 0, "/a/b/v=1", 4, 4);
    ck_assert(ndn_page_state(p) == NDN_PAGE_WHOLE && seen.n == 20 && seen.bytes[0] == 3 && seen.bytes[19] == 4);
    ndn_page_free(&p);

    p = page_of(&ask, &seen); /* now there is another version: all of it */
    asks(p, 0, &again);
    comes(p, 0, "/a/b/v=2", 0, 0);
    ck_assert(ndn_page_state(p) == NDN_PAGE_WHOLE && seen.head.first == 0 && seen.n == 10);
    ndn_page_free(&p);
}
END_TEST

START_TEST(what_is_gone_is_no_answer_again) {
    uint8_t gone[SPAN_ROOM];
    struct seen seen;
    struct ndn_page_ask ask = { .gone = name_of("/a/b/v=1", gone).bytes };
    struct ndn_page *p = page_of(&ask, &seen);
    uint64_t again;

    asks(p, 0, &again);
    comes(p, 0, "/a/b/v=1", 7, 9); /* was asked for before */
    comes(p, 0, "/a/b/v=1", 0, 9);
    ck_assert(seen.heads == 0 && ndn_page_counts(p).strange == 2);
    comes(p, 0, "/a/b/v=2", 0, 0);
    ck_assert(ndn_page_state(p) == NDN_PAGE_WHOLE);
    ndn_page_free(&p);
}
END_TEST

START_TEST(nobody_answers_a_page) {
    struct seen seen;
    struct ndn_page_ask ask = { .fresh = true };
    struct ndn_page *p = page_of(&ask, &seen);
    uint64_t again = 0;

    for (uint64_t i = 0; i < 3; i++) {
        ck_assert_str_eq(asks(p, again, &again), "/a/b");
        ck_assert_str_eq(asks(p, i * 1000000, &again), "");
        ck_assert_uint_eq(again, (i + 1) * 1000000);
    }
    ck_assert_str_eq(asks(p, again, &again), "");
    ck_assert(ndn_page_state(p) == NDN_PAGE_SILENT);
    ck_assert_str_eq(ndn_page_why(p), "no answer after 3 tries");
    comes(p, 3000001, "/a/b/v=1", 0, 0); /* too late */
    ck_assert(ndn_page_state(p) == NDN_PAGE_SILENT && !seen.heads);
    ndn_page_free(&p);
}
END_TEST

/* The last try was refused, and nobody has looked since: a head here would have nothing behind it. */
START_TEST(an_answer_after_the_last_try) {
    struct seen seen;
    struct ndn_page_ask ask = { .fresh = true };
    struct ndn_page *p = page_of(&ask, &seen);
    uint8_t out[NDN_PACKET_MAX], nack[NDN_PACKET_MAX];
    uint64_t again = 0;
    size_t n = 0;

    for (uint64_t i = 0; i < 3; i++) {
        n = ndn_page_next(p, i * 1000000, out, &again);
        ck_assert_uint_gt(n, 0);
        if (i < 2) ndn_page_next(p, i * 1000000, nack, &again);
    }
    n = ndn_lp_nack((struct ndn_span){ NULL, 0 }, NDN_NACK_NO_ROUTE, (struct ndn_span){ out, n }, nack, sizeof nack);
    ndn_page_packet(p, 2000001, (struct ndn_span){ nack, n });
    for (uint64_t i = 0; i < 2; i++) comes(p, 2000001, "/a/b", NDN_NO_NUMBER, NDN_NO_NUMBER);
    ck_assert(seen.heads == 0 && ndn_page_counts(p).strange == 2);
    ck_assert_str_eq(asks(p, 2000001, &again), "");
    ck_assert(ndn_page_state(p) == NDN_PAGE_SILENT);
    ndn_page_free(&p);
}
END_TEST

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static uint8_t signer_room[SPAN_ROOM];

static struct ndn_key *signer(void) {
    struct ndn_name name = name_of("/a/KEY/1", signer_room);
    struct ndn_key *key = ndn_key_hmac("a secret of 16 b", 16, &name);
    ck_assert_ptr_nonnull(key);
    return key;
}

/* Nobody said which key is right.  One answer may have been changed on its way; the second one's sentence is said. */
START_TEST(what_is_signed_with_a_key) {
    static const struct {
        const char *how_to_verify, *why;
    } rows[] = {
        { NULL, "it is signed with a key; there is none to verify it with" },
        { "--verify says which is right", "it is signed with a key; --verify says which is right" },
    };
    struct seen seen;
    struct ndn_page_ask ask = { .how_to_verify = rows[_i].how_to_verify };
    struct ndn_page *p = page_of(&ask, &seen);
    struct ndn_key *key = signer();
    uint8_t room[SPAN_ROOM], out[NDN_PACKET_MAX];
    struct ndn_data_form f = {
        .name = name_of("/a/b/v=1", room).bytes, .last = 0, .window = NDN_NO_NUMBER, .status = NDN_NO_NUMBER, .key = key
    };
    size_t n = ndn_data_write(&f, out, sizeof out);
    uint64_t again;

    ck_assert_uint_gt(n, 0);
    for (uint64_t tries = 1; tries <= 2; tries++) {
        ck_assert(ndn_page_state(p) == NDN_PAGE_GOING);
        ck_assert_str_eq(asks(p, tries * 2000000, &again), "/a/b");
        ndn_page_packet(p, tries * 2000000, (struct ndn_span){ out, n });
        ck_assert_uint_eq(ndn_page_counts(p).forged, tries);
    }
    ck_assert(ndn_page_state(p) == NDN_PAGE_WRONG && !seen.heads);
    ck_assert_str_eq(ndn_page_why(p), rows[_i].why);
    ndn_page_free(&p);
    ndn_key_free(&key);
}
END_TEST

enum { SIGNERS = 4, SIGNED = 15000 };

static struct ndn_page_ask signed_ask;
static uint64_t signed_at[SIGNERS][SIGNED];
static pthread_barrier_t together;

/* What SIGNED Interests, all for the same page, say of the time.  Pages give up, and others follow them. */
static void *sign_some(void *times) {
    const struct ndn_page_calls calls = { NULL, on_head, on_content };
    uint8_t out[NDN_PACKET_MAX];
    struct ndn_interest i;
    uint64_t *at = times, now, again;
    size_t size;

    pthread_barrier_wait(&together);
    for (size_t n = 0; n < SIGNED;) {
        struct ndn_page *p = ndn_page_new(&signed_ask, &calls, 0, NULL);
        if (!p) return NULL;
        for (now = 0; n < SIGNED && (size = ndn_page_next(p, now, out, &again)); now++)
            if (!ndn_interest_read((struct ndn_span){ out, size }, &i) && i.is_signed) at[n++] = i.signature.time;
        ndn_page_free(&p);
    }
    return times;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* One more than before where the clock says the same, as it does for most of these: no two threads may get that. */
START_TEST(no_two_signed_interests_say_one_time) {
    struct ndn_key *key = signer();
    pthread_t thread[SIGNERS];
    uint64_t *all = signed_at[0];

    signed_ask = (struct ndn_page_ask){ .name = name_of("/a/b", asked_room),
                                        .parameters = { (const uint8_t *)"A: b", 4 },
                                        .key = key,
                                        .fetch = { NDN_WINDOW_FIXED, 1, NDN_TRIES_MAX, 1 } };
    ck_assert_int_eq(pthread_barrier_init(&together, NULL, SIGNERS), 0);
    for (int i = 0; i < SIGNERS; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, sign_some, signed_at[i]), 0);
    for (int i = 0; i < SIGNERS; i++) {
        void *times;
        ck_assert_int_eq(pthread_join(thread[i], &times), 0);
        ck_assert_ptr_nonnull(times);
    }
    for (int i = 0; i < SIGNERS; i++)
        for (size_t n = 1; n < SIGNED; n++) ck_assert_uint_lt(signed_at[i][n - 1], signed_at[i][n]);
    qsort(all, SIGNERS * SIGNED, sizeof *all, by_number);
    for (size_t n = 1; n < SIGNERS * SIGNED; n++) ck_assert_uint_ne(all[n - 1], all[n]);
    pthread_barrier_destroy(&together);
    ndn_key_free(&key);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ndn_page");
    TCase *t = tcase_create("page");

    tcase_add_loop_test(t, segments_go_on_in_their_order, 0, 5);
    tcase_add_test(t, who_wants_no_more_gets_no_more);
    tcase_add_test(t, what_answers_a_name);
    tcase_add_test(t, a_page_comes_in_any_order);
    tcase_add_test(t, a_page_that_is_there_in_part);
    tcase_add_test(t, what_is_gone_is_no_answer_again);
    tcase_add_test(t, nobody_answers_a_page);
    tcase_add_test(t, an_answer_after_the_last_try);
    tcase_add_loop_test(t, what_is_signed_with_a_key, 0, 2);
    tcase_add_test(t, no_two_signed_interests_say_one_time);
    suite_add_tcase(s, t);
    return run_suite(s);
}
