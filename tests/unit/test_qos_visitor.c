/* SPDX-License-Identifier: BSD-2-Clause */
/* test_qos_visitor.c - a visitor is known by the cookie that a gateway wrote for him, and by nothing else. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "mod_qos_drr/qos_page.h"
#include "mod_qos_drr/qos_told.h"
#include "mod_qos_drr/qos_visitor.h"
#include "run_suite.h"

#define NOW  UINT64_C(1800000000)
#define DAY  86400u
#define HOST (&www)
#define ID   "00112233445566778899aabbccddeeff"
#define A    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
#define B    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"

static const struct qos_visitor_place www = { "www.example.org", "c0000200" };
static const struct qos_visitor member = { true, "member", NOW - 1000, NOW - 100, NOW - 100 + 7 * DAY, ID };
static const struct qos_visitor anybody = { true, "", NOW - 1000, NOW - 100, NOW - 100 + 7 * DAY, ID };

static struct policy_text text_of(const char *s) { return (struct policy_text){ s, strlen(s) }; }

static struct qos_visitor_form with_keys(const char *keys) {
    struct qos_visitor_form f = { .name = "fairgate", .life_s = 7 * DAY };

    ck_assert_int_eq(qos_visitor_keys_read(&f.keys, keys, strlen(keys), NULL), 0);
    return f;
}

static enum qos_visitor_verdict opened(const struct qos_visitor_form *f, const char *value, size_t n) {
    struct qos_visitor v;
    enum qos_visitor_verdict verdict = qos_visitor_open(f, HOST, NOW, (struct policy_text){ value, n }, &v);

    ck_assert_int_eq(v.known, verdict == QOS_VISITOR_KNOWN);
    return verdict;
}

START_TEST(who_was_written_is_known) {
    struct qos_visitor_form f = with_keys(A);
    const struct qos_visitor *both[] = { &member, &anybody };
    char value[QOS_VISITOR_ROOM];
    struct qos_visitor v;

    for (int i = 0; i < 2; i++) {
        unsigned n = qos_visitor_write(&f, HOST, both[i], value);

        ck_assert_uint_gt(n, 0);
        ck_assert_uint_eq(n, strlen(value));
        ck_assert_uint_eq(strspn(value, "0123456789abcdefghijklmnopqrstuvwxyz_-."), n);
        ck_assert_int_eq(qos_visitor_open(&f, HOST, NOW, text_of(value), &v), QOS_VISITOR_KNOWN);
        ck_assert_str_eq(v.class, both[i]->class);
        ck_assert_str_eq(v.id, ID);
        ck_assert_uint_eq(v.first, NOW - 1000);
        ck_assert_uint_eq(v.issued, NOW - 100);
        ck_assert_uint_eq(v.expires, NOW - 100 + 7 * DAY);
        ck_assert_uint_eq(qos_visitor_age(&v, NOW), 1000);
        ck_assert_uint_eq(qos_visitor_age(&v, NOW - 5000), 0);
    }
    /* The longest there can be. */
    v = (struct qos_visitor){ true, "a234567890123456789012345678901", 999999999999, 999999999999, 999999999999, ID };
    ck_assert_uint_gt(qos_visitor_write(&f, HOST, &v, value), 0);
}
END_TEST

/*
 * HMAC-SHA-256 as `printf 'fairgate visitor 2\nwww.example.org\n2.member.1799999000.1799999900.1800604700.ID.' |
 * openssl dgst -sha256 -mac HMAC -macopt hexkey:aa...` prints it: other gateways, and later versions, must know it.
 */
START_TEST(a_cookie_of_another_gateway_is_known) {
    struct qos_visitor_form f = with_keys(A);
    static const char value[] = "2.member.1799999000.1799999900.1800604700." ID "."
                                "5a6759055dd31cba8d3b866a84ca7992";

    ck_assert_int_eq(opened(&f, value, sizeof value - 1), QOS_VISITOR_KNOWN);
}
END_TEST

/* The seal covers every byte, and is there to its end. */
START_TEST(a_changed_cookie_is_forged) {
    struct qos_visitor_form f = with_keys(A);
    char value[QOS_VISITOR_ROOM], longer[2 * QOS_VISITOR_ROOM];
    unsigned n = qos_visitor_write(&f, HOST, &member, value);

    for (unsigned i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            value[i] = (char)(value[i] ^ 1 << bit);
            ck_assert_int_eq(opened(&f, value, n), QOS_VISITOR_FORGED);
            value[i] = (char)(value[i] ^ 1 << bit);
        }
    for (unsigned i = 0; i < n; i++) {
        char *exact = malloc(i + 1);
        memcpy(exact, value, i);
        ck_assert_int_eq(opened(&f, exact, i), QOS_VISITOR_FORGED);
        free(exact);
    }
    memset(longer, '0', sizeof longer);
    memcpy(longer, value, n);
    for (size_t i = n + 1; i <= sizeof longer; i++) ck_assert_int_eq(opened(&f, longer, i), QOS_VISITOR_FORGED);
    ck_assert_int_eq(opened(&f, value, n), QOS_VISITOR_KNOWN);
}
END_TEST

static const char *const junk[] = {
    "",
    ".",
    "2",
    "2.",
    "2.......",
    "2.member.1.2.3." ID ".",
    "1.member.1.2.3." ID ".00112233445566778899aabbccddeeff",
    "2.member.-1.2.3." ID ".00112233445566778899aabbccddeeff",
    "2.-.1.2.3." ID ".00112233445566778899aabbccddeeff",
    "2.member.1.2.0000000000003." ID ".00112233445566778899aabbccddeeff",
    "2.member..2.3." ID ".00112233445566778899aabbccddeeff",
    "2.Member.1.2.3." ID ".00112233445566778899aabbccddeeff",
    "2.member.1.2.3.00112233445566778899AABBCCDDEEFF.00112233445566778899aabbccddeeff",
    "MS5tZW1iZXIuMS4yLjMuMDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY=",
};

START_TEST(what_has_not_the_form_is_forged) {
    struct qos_visitor_form f = with_keys(A);

    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++)
        ck_assert_int_eq(opened(&f, junk[i], strlen(junk[i])), QOS_VISITOR_FORGED);
}
END_TEST

START_TEST(a_cookie_of_elsewhere_is_forged) {
    struct qos_visitor_form ours = with_keys(A), theirs = with_keys(B);
    char value[QOS_VISITOR_ROOM], long_host[300];
    struct qos_visitor v;

    qos_visitor_write(&theirs, HOST, &member, value);
    ck_assert_int_eq(opened(&ours, value, strlen(value)), QOS_VISITOR_FORGED);
    qos_visitor_write(&ours, &(struct qos_visitor_place){ "other.example.org", "c0000200" }, &member, value);
    ck_assert_int_eq(opened(&ours, value, strlen(value)), QOS_VISITOR_FORGED);
    qos_visitor_write(&ours, &(struct qos_visitor_place){ NULL, "c0000200" }, &member, value);
    ck_assert_int_eq(opened(&ours, value, strlen(value)), QOS_VISITOR_FORGED);
    /* The same host, as clients may write it. */
    qos_visitor_write(&ours, &(struct qos_visitor_place){ "WWW.Example.org.", "" }, &member, value);
    ck_assert_int_eq(opened(&ours, value, strlen(value)), QOS_VISITOR_KNOWN);
    memset(long_host, 'a', sizeof long_host - 1);
    long_host[sizeof long_host - 1] = '\0';
    ck_assert_int_eq(qos_visitor_open(&ours, &(struct qos_visitor_place){ long_host, "" }, NOW, text_of(value), &v),
                     QOS_VISITOR_FORGED);
    ck_assert_uint_eq(qos_visitor_write(&ours, &(struct qos_visitor_place){ long_host, "" }, &member, value), 0);
}
END_TEST

/* Of whom nobody has said anything the cookie counts in the network that it was given to; a member's in all. */
START_TEST(who_came_back_is_somebody_in_his_network) {
    static const unsigned char v4[] = { 192, 0, 2, 77 }, near4[] = { 192, 0, 2, 1 }, far4[] = { 192, 0, 3, 77 },
                               mapped[16] = { [10] = 0xff, 0xff, 192, 0, 2, 9 },
                               v6[16] = { 0x20, 1, 0xd, 0xb8, 0, 1, 0, 2, 9 }, near6[16] = { 0x20, 1, 0xd, 0xb8, 0, 1 },
                               far6[16] = { 0x20, 1, 0xd, 0xb8, 0, 2 };
    static const struct {
        const void *given, *shown;
        unsigned given_n, shown_n;
        bool known;
    } rows[] = {
        { v4, near4, 4, 4, true },   { v4, far4, 4, 4, false },   { v4, mapped, 4, 16, true },
        { v6, near6, 16, 16, true }, { v6, far6, 16, 16, false }, { v4, NULL, 4, 0, false },
        { NULL, NULL, 0, 0, true },  { NULL, v4, 0, 4, false },   { v6, v4, 16, 4, false },
    };
    struct qos_visitor_form f = with_keys(A);
    char value[QOS_VISITOR_ROOM];
    struct qos_visitor v;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct qos_visitor_place given = qos_visitor_place("www.example.org", rows[i].given, rows[i].given_n),
                                 shown = qos_visitor_place("www.example.org", rows[i].shown, rows[i].shown_n);

        qos_visitor_write(&f, &given, &anybody, value);
        ck_assert_msg(qos_visitor_open(&f, &shown, NOW, text_of(value), &v) ==
                          (rows[i].known ? QOS_VISITOR_KNOWN : QOS_VISITOR_ELSEWHERE),
                      "row %zu", i);
        qos_visitor_write(&f, &given, &member, value);
        ck_assert_int_eq(qos_visitor_open(&f, &shown, NOW, text_of(value), &v), QOS_VISITOR_KNOWN);
    }
}
END_TEST

/* Of what is not known: does it say that somebody has a class? */
START_TEST(what_it_says_of_a_class) {
    static const struct {
        const char *field;
        bool says;
    } rows[] = {
        { "fairgate=2..1.2.3." ID ".00112233445566778899aabbccddeeff", false },
        { "fairgate=2.member.1.2.3." ID ".00112233445566778899aabbccddeeff", true },
        { "a=b; fairgate=2..; fairgate=2..", false },
        { "fairgate=2..; fairgate=2.m.", true },
        { "fairgate=junk", true },
        { "fairgate=", true },
        { "fairgate=2.", true },
        { "xfairgate=2.member.; a=b", false },
        { "", false },
    };
    struct qos_visitor_form f = with_keys(A);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].field);
        char *exact = malloc(n + 1);

        memcpy(exact, rows[i].field, n);
        ck_assert_msg(qos_visitor_says_class(&f, (struct policy_text){ exact, n }) == rows[i].says, "row %zu", i);
        free(exact);
    }
    ck_assert(!qos_visitor_says_class(&f, (struct policy_text){ NULL, 0 }));
}
END_TEST

/* Who does not show what he was given is told to come soon once a minute; as many more do not make that more. */
START_TEST(who_comes_back_without_it_was_told) {
    static struct qos_told t;
    static const uint64_t who = UINT64_C(0x123456789abcdef0), other = who ^ UINT64_C(1) << 63;

    ck_assert(qos_told_once(&t, who, NOW, 1));
    ck_assert(qos_told_once(&t, who, NOW, 1)); /* with the first one */
    ck_assert(!qos_told_once(&t, who, NOW + 1, 1));
    ck_assert(!qos_told_once(&t, who, NOW + QOS_TOLD_S - 1, 1));
    ck_assert(qos_told_once(&t, who, NOW + QOS_TOLD_S, 1));
    ck_assert(!qos_told_once(&t, who, NOW + QOS_TOLD_S + 1, 1));
    /* Other places, and somebody else at the same one. */
    for (uint64_t i = 1; i < QOS_TOLD_PLACES; i++) ck_assert(qos_told_once(&t, who + i, NOW + QOS_TOLD_S + 1, 1));
    ck_assert(!qos_told_once(&t, who, NOW + QOS_TOLD_S + 2, 1));
    ck_assert(qos_told_once(&t, other, NOW + QOS_TOLD_S + 2, 1));
    ck_assert(qos_told_once(&t, who, NOW + QOS_TOLD_S + 2, 1));
    /* A longer time, and a clock that was set back. */
    ck_assert(qos_told_once(&t, other, NOW, 10));
    ck_assert(qos_told_once(&t, other, NOW + 9, 10));
    ck_assert(!qos_told_once(&t, other, NOW + 10, 10));
    ck_assert(qos_told_once(&t, other, NOW - 1000, 10));
    ck_assert(!qos_told_once(&t, other, NOW - 990, 10));
}
END_TEST

/* A rotation: the first key seals, all of them open. */
START_TEST(keys_take_turns) {
    struct qos_visitor_form before = with_keys(A), both = with_keys(B A), after = with_keys(B);
    char old[QOS_VISITOR_ROOM], new[QOS_VISITOR_ROOM];

    qos_visitor_write(&before, HOST, &member, old);
    qos_visitor_write(&both, HOST, &member, new);
    ck_assert_int_eq(opened(&both, old, strlen(old)), QOS_VISITOR_KNOWN);
    ck_assert_int_eq(opened(&both, new, strlen(new)), QOS_VISITOR_KNOWN);
    ck_assert_int_eq(opened(&after, new, strlen(new)), QOS_VISITOR_KNOWN);
    ck_assert_int_eq(opened(&after, old, strlen(old)), QOS_VISITOR_FORGED);
    ck_assert_int_eq(opened(&before, new, strlen(new)), QOS_VISITOR_FORGED);
}
END_TEST

/* Whatever a clock said when it was written: it lasts no longer than its life, and no gateway's clock is far ahead. */
START_TEST(a_cookie_has_its_time) {
    static const struct {
        int64_t first, issued, expires; /* from NOW */
        enum qos_visitor_verdict verdict;
    } rows[] = {
        { -10, -10, 60, QOS_VISITOR_KNOWN },
        { -10, -10, 1, QOS_VISITOR_KNOWN },
        { -10, -10, 0, QOS_VISITOR_EXPIRED },
        { -400 * (int64_t)DAY, -(7 * (int64_t)DAY - 1), DAY, QOS_VISITOR_KNOWN },
        { -400 * (int64_t)DAY, -7 * (int64_t)DAY, DAY, QOS_VISITOR_EXPIRED }, /* age= was longer then */
        { 0, QOS_VISITOR_SKEW, 8 * DAY, QOS_VISITOR_KNOWN },
        { 0, QOS_VISITOR_SKEW + 1, 8 * DAY, QOS_VISITOR_EXPIRED },
        { 365 * DAY, 365 * DAY, 372 * DAY, QOS_VISITOR_EXPIRED },
        { 10, 9, 60, QOS_VISITOR_EXPIRED },
    };
    struct qos_visitor_form f = with_keys(A);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char value[QOS_VISITOR_ROOM];
        struct qos_visitor v = { true, "member", NOW, NOW, NOW, ID };

        v.first += (uint64_t)rows[i].first;
        v.issued += (uint64_t)rows[i].issued;
        v.expires += (uint64_t)rows[i].expires;
        qos_visitor_write(&f, HOST, &v, value);
        ck_assert_msg(opened(&f, value, strlen(value)) == rows[i].verdict, "row %zu", i);
    }
    ck_assert(!qos_visitor_old(&member, member.issued + 3 * DAY));
    ck_assert(!qos_visitor_old(&member, 0));
    ck_assert(qos_visitor_old(&member, member.issued + 4 * DAY));
}
END_TEST

/* Of many cookies of the name the first two are looked at: whoever sends thousands costs no more. */
START_TEST(a_field_is_looked_through) {
    struct qos_visitor_form f = with_keys(A);
    char value[QOS_VISITOR_ROOM], old[QOS_VISITOR_ROOM], field[2048], left[4097];
    struct qos_visitor v, past = { true, "member", NOW - 9 * DAY, NOW - 9 * DAY, NOW - 2 * DAY, ID };
    struct {
        const char *format;
        enum qos_visitor_verdict verdict;
        const char *left;
    } rows[] = {
        { "%1$.0s%2$.0sa=b; session=1", QOS_VISITOR_NONE, "a=b; session=1" },
        { "fairgate=%1$s%2$.0s", QOS_VISITOR_KNOWN, "" },
        { "a=b;fairgate=%1$s%2$.0s ;\tc=d", QOS_VISITOR_KNOWN, "a=b; c=d" },
        { "fairgate=; a=b; fairgate=%1$s%2$.0s", QOS_VISITOR_KNOWN, "a=b" },
        { "fairgate=x; fairgate=y; fairgate=%1$s%2$.0s", QOS_VISITOR_FORGED, "" },
        { "fairgate=x; fairgate=%2$s; fairgate=%1$s", QOS_VISITOR_EXPIRED, "" },
        { "fairgate=%2$s; fairgate=%1$s", QOS_VISITOR_KNOWN, "" },
        { "xfairgate=%1$s; Fairgate=%1$s%2$.0s", QOS_VISITOR_NONE, NULL },
        { "fairgate=\"%1$s\"%2$.0s; fairgate", QOS_VISITOR_FORGED, "fairgate" },
    };

    qos_visitor_write(&f, HOST, &member, value);
    qos_visitor_write(&f, HOST, &past, old);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n = snprintf(field, sizeof field, rows[i].format, value, old);
        char *exact = malloc((size_t)n), *room = malloc(2 * (size_t)n + 1);
        struct policy_text text = { exact, (size_t)n };
        size_t kept;

        memcpy(exact, field, (size_t)n);
        ck_assert_msg(qos_visitor_find(&f, HOST, NOW, text, &v) == rows[i].verdict, "row %zu", i);
        ck_assert_int_eq(v.known, rows[i].verdict == QOS_VISITOR_KNOWN);
        ck_assert_int_eq(qos_visitor_has(&f, text), rows[i].verdict != QOS_VISITOR_NONE);
        kept = qos_visitor_without(&f, text, room);
        ck_assert_uint_eq(kept, strlen(room));
        ck_assert_msg(strcmp(room, rows[i].left ? rows[i].left : field) == 0, "row %zu: %s", i, room);
        free(exact);
        free(room);
    }
    ck_assert_int_eq(qos_visitor_find(&f, HOST, NOW, (struct policy_text){ NULL, 0 }, &v), QOS_VISITOR_NONE);
    /* As many and as short as there can be. */
    for (size_t i = 0; i + 1 < sizeof field; i += 2) memcpy(field + i, "a;", 2);
    ck_assert_uint_eq(qos_visitor_without(&f, (struct policy_text){ field, sizeof field }, left), 3 * 1024 - 2);
}
END_TEST

static const struct {
    const char *text;
    unsigned n;
    const char *wrong;
} key_files[] = {
    { A, 1, NULL },
    { "# new\n" B "\n# old\r\n" A "\r\n", 2, NULL },
    { "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 1, NULL },
    { A A A A, 4, NULL },
    { A A A A A, 0, "line 5: is one more than 4 keys" },
    { "", 0, "holds no key; write one with `openssl rand -hex 32`" },
    { "# nothing\n\n", 0, "holds no key" },
    { A "secret\n", 0, "line 2: has 6 characters; a key is 64 to 128 hexadecimal digits" },
    { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, "line 1: has 65 characters" },
    { "gaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", 0, "line 1: is no key; write hex" },
    { " " A, 0, "line 1: has 65 characters" },
};

START_TEST(a_file_of_keys_is_read_or_refused) {
    struct qos_visitor_keys k;
    char *error = NULL;
    int rv = qos_visitor_keys_read(&k, key_files[_i].text, strlen(key_files[_i].text), &error);

    ck_assert_int_eq(rv, key_files[_i].wrong ? -1 : 0);
    if (key_files[_i].wrong) ck_assert_msg(error && strstr(error, key_files[_i].wrong), "%s", error);
    else ck_assert_uint_eq(k.n, key_files[_i].n);
    free(error);
}
END_TEST

START_TEST(names_of_cookies) {
    static const char *const right[] = { "fairgate", "__Host-fairgate", "a.b_c-9" }, *const wrong[] = { "", "a b",
                                                                                                        "a=b", "a;b",
                                                                                                        "\xc3\xa4" };

    for (size_t i = 0; i < sizeof right / sizeof *right; i++) ck_assert(qos_visitor_name_right(right[i]));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) ck_assert(!qos_visitor_name_right(wrong[i]));
}
END_TEST

/* A cookie that is sent with a page, for a policy that asks for `least` seconds, as a gateway reads it. */
static struct qos_visitor of_page(uint32_t least) {
    return (struct qos_visitor){ true, "", qos_page_first(least, NOW), NOW, NOW + 7 * DAY, ID };
}

START_TEST(test_cookie_of_page_counts_at_once_and_is_young_for_the_least_age) {
    for (uint32_t least = 1; least <= QOS_PAGE_AGE_MAX; least++) {
        struct qos_visitor v = of_page(least), refused = v;

        refused.first = refused.issued;
        ck_assert_uint_eq(qos_visitor_age(&v, NOW), least);
        ck_assert(qos_page_young(&v, least, NOW) && qos_page_young(&v, least, NOW + least - 1));
        ck_assert(!qos_page_young(&v, least, NOW + least));
        ck_assert(!qos_page_young(&v, least + 1, NOW) && !qos_page_young(&refused, least, NOW));
        v.known = false;
        ck_assert(!qos_page_young(&v, least, NOW));
    }
}
END_TEST

START_TEST(test_cookie_of_page_skips_no_long_age_and_none_that_the_policy_does_not_ask_for) {
    static const uint32_t ages[] = { 0, QOS_PAGE_AGE_MAX + 1, 600, POLICY_AGE_MAX };

    for (size_t i = 0; i < sizeof ages / sizeof *ages; i++) {
        struct qos_visitor v = of_page(ages[i]);

        ck_assert_uint_eq(v.first, NOW);
        ck_assert(!qos_page_young(&v, ages[i], NOW));
    }
}
END_TEST

START_TEST(test_count_of_page_ends_and_a_cookie_of_the_same_place_begins_anew) {
    struct qos_pages *p = calloc(1, sizeof *p);
    uint64_t one = UINT64_C(0x1234567800000001), other = UINT64_C(0x8765432100000000) | (one % QOS_PAGE_PLACES);

    ck_assert_ptr_nonnull(p);
    for (unsigned i = 0; i < QOS_PAGE_REQUESTS; i++) ck_assert(qos_page_takes(p, one));
    for (unsigned i = 0; i < 1000; i++) ck_assert(!qos_page_takes(p, one));
    ck_assert(qos_page_takes(p, one + 1));
    for (unsigned i = 0; i < QOS_PAGE_REQUESTS; i++) ck_assert(qos_page_takes(p, other));
    ck_assert(!qos_page_takes(p, other));
    /* Whatever a child wrote there. */
    p->at[one % QOS_PAGE_PLACES] = UINT64_MAX;
    ck_assert(qos_page_takes(p, one));
    free(p);
}
END_TEST

int main(void) {
    Suite *s = suite_create("qos_visitor");
    TCase *t = tcase_create("visitor");

    tcase_add_test(t, who_was_written_is_known);
    tcase_add_test(t, a_cookie_of_another_gateway_is_known);
    tcase_add_test(t, a_changed_cookie_is_forged);
    tcase_add_test(t, what_has_not_the_form_is_forged);
    tcase_add_test(t, a_cookie_of_elsewhere_is_forged);
    tcase_add_test(t, who_came_back_is_somebody_in_his_network);
    tcase_add_test(t, what_it_says_of_a_class);
    tcase_add_test(t, who_comes_back_without_it_was_told);
    tcase_add_test(t, keys_take_turns);
    tcase_add_test(t, a_cookie_has_its_time);
    tcase_add_test(t, a_field_is_looked_through);
    tcase_add_loop_test(t, a_file_of_keys_is_read_or_refused, 0, sizeof key_files / sizeof *key_files);
    tcase_add_test(t, names_of_cookies);
    tcase_add_test(t, test_cookie_of_page_counts_at_once_and_is_young_for_the_least_age);
    tcase_add_test(t, test_cookie_of_page_skips_no_long_age_and_none_that_the_policy_does_not_ask_for);
    tcase_add_test(t, test_count_of_page_ends_and_a_cookie_of_the_same_place_begins_anew);
    suite_add_tcase(s, t);
    return run_suite(s);
}
