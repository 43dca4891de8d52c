/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of addresses, and what answers of DNS say; that real servers are asked is tests/system/drr/test_crawlers.py's.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crawlers/crawlers_dns.h"
#include "crawlers/crawlers_prefix.h"
#include "test_crawlers.h"

static void test_address(const char *text, uint8_t out[16]) {
    struct crawlers_prefix p;

    ck_assert_ptr_null(crawlers_prefix_read(text, &p));
    memcpy(out, p.address, 16);
}

START_TEST(the_name_to_ask_for) {
    char name[CRAWLERS_DNS_NAME];
    uint8_t address[16];

    test_address("66.249.66.1", address);
    crawlers_dns_reverse(address, name);
    ck_assert_str_eq(name, "1.66.249.66.in-addr.arpa");
    test_address("2001:db8::567:89ab", address);
    crawlers_dns_reverse(address, name);
    ck_assert_str_eq(name, "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa");
}
END_TEST

START_TEST(a_name_ends_at_a_dot) {
    static const struct {
        const char *name, *suffix;
        bool yes;
    } t[] = {
        { "googlebot.com", "googlebot.com", true },
        { "crawl-66-249-66-1.googlebot.com", "googlebot.com", true },
        { "evilgooglebot.com", "googlebot.com", false },
        { "googlebot.com.evil.net", "googlebot.com", false },
        { "com", "googlebot.com", false },
        { "", "googlebot.com", false },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        ck_assert_msg(crawlers_dns_ends(t[i].name, t[i].suffix) == t[i].yes, "%s", t[i].name);
}
END_TEST

/* An answer, made by hand. */
struct answer {
    uint8_t bytes[4096];
    size_t n;
};

static void put16(struct answer *a, unsigned x) {
    a->bytes[a->n++] = (uint8_t)(x >> 8);
    a->bytes[a->n++] = (uint8_t)x;
}

static void put_name(struct answer *a, const char *name) {
    while (*name) {
        size_t k = strcspn(name, ".");

        a->bytes[a->n++] = (uint8_t)k;
        memcpy(a->bytes + a->n, name, k);
        a->n += k;
        name += k + (name[k] == '.');
    }
    a->bytes[a->n++] = 0;
}

static void answer_begin(struct answer *a, unsigned answers) {
    memset(a, 0, sizeof *a);
    put16(a, 7);
    put16(a, 0x8180);
    put16(a, 1);
    put16(a, answers);
    put16(a, 0);
    put16(a, 0);
    put_name(a, "q.example");
    put16(a, 12);
    put16(a, 1);
}

static void answer_record(struct answer *a, unsigned type, const void *data, const char *name, size_t n) {
    size_t at;

    put16(a, 0xc00c);
    put16(a, type);
    put16(a, 1);
    put16(a, 0);
    put16(a, 60);
    at = a->n;
    put16(a, 0);
    if (name) put_name(a, name);
    else memcpy(a->bytes + a->n, data, n), a->n += n;
    a->bytes[at] = (uint8_t)((a->n - at - 2) >> 8);
    a->bytes[at + 1] = (uint8_t)(a->n - at - 2);
}

enum { A = 1, CNAME = 5, PTR = 12, AAAA = 28 };

START_TEST(names_of_an_answer) {
    char name[CRAWLERS_DNS_NAMES][CRAWLERS_DNS_NAME];
    struct answer a;

    answer_begin(&a, 4);
    answer_record(&a, CNAME, NULL, "other.example", 0);
    answer_record(&a, PTR, NULL, "Crawl-1.GoogleBot.com", 0);
    answer_record(&a, PTR, NULL, "bad\nname.googlebot.com", 0);
    answer_record(&a, PTR, NULL, "two.example", 0);
    ck_assert_uint_eq(crawlers_dns_names(a.bytes, a.n, name), 2);
    ck_assert_str_eq(name[0], "crawl-1.googlebot.com");
    ck_assert_str_eq(name[1], "two.example");
    /* Cut short anywhere: no more than what is whole, and nothing is read behind it. */
    for (size_t k = 0; k <= a.n; k++) {
        uint8_t *exact = malloc(k + !k);

        memcpy(exact, a.bytes, k);
        ck_assert_uint_le(crawlers_dns_names(exact, k, name), 2);
        free(exact);
    }
    answer_begin(&a, 9);
    for (unsigned i = 0; i < 9; i++) answer_record(&a, PTR, NULL, "x.example", 0);
    ck_assert_uint_eq(crawlers_dns_names(a.bytes, a.n, name), CRAWLERS_DNS_NAMES);
    answer_begin(&a, 0);
    ck_assert_uint_eq(crawlers_dns_names(a.bytes, a.n, name), 0);
}
END_TEST

START_TEST(addresses_of_an_answer) {
    static const uint8_t v4[] = { 66, 249, 66, 1 }, v6[16] = { 0x20, 1, 0x0d, 0xb8, [15] = 7 };
    uint8_t of4[16], of6[16], other[16];
    struct answer a;

    test_address("66.249.66.1", of4);
    test_address("2001:db8::7", of6);
    test_address("66.249.66.2", other);
    answer_begin(&a, 3);
    answer_record(&a, CNAME, NULL, "other.example", 0);
    answer_record(&a, A, v4, NULL, 4);
    answer_record(&a, AAAA, v6, NULL, 16);
    ck_assert(crawlers_dns_leads_to(a.bytes, a.n, of4));
    ck_assert(crawlers_dns_leads_to(a.bytes, a.n, of6));
    ck_assert(!crawlers_dns_leads_to(a.bytes, a.n, other));
    /* Of another length than an address has. */
    answer_begin(&a, 2);
    answer_record(&a, A, v4, NULL, 3);
    answer_record(&a, AAAA, v4, NULL, 4);
    ck_assert(!crawlers_dns_leads_to(a.bytes, a.n, of4));
    ck_assert(!crawlers_dns_leads_to(a.bytes, a.n, of6));
    ck_assert(!crawlers_dns_leads_to(a.bytes, 0, of4));
}
END_TEST

TCase *crawlers_dns_case(void) {
    TCase *t = tcase_create("dns");

    tcase_add_test(t, the_name_to_ask_for);
    tcase_add_test(t, a_name_ends_at_a_dot);
    tcase_add_test(t, names_of_an_answer);
    tcase_add_test(t, addresses_of_an_answer);
    return t;
}
