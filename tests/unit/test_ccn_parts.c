/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ccn_parts.c - the small parts of mod_ccn that know no httpd: whose an address is, what header fields say, the
 * window that a client is told, signed Interests that were seen.
 */
#include "mod_ccn/ccn_address.h"
#include "mod_ccn/ccn_header.h"
#include "mod_ccn/ccn_hint.h"
#include "mod_ccn/ccn_seen.h"
#include "run_suite.h"
#include "test_ndn.h"

#include <arpa/inet.h>
#include <pthread.h>

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *one, *other;
    bool same;
} addresses[] = {
    { "192.0.2.1", "192.0.2.1", true },
    { "192.0.2.1", "192.0.2.2", false },
    { "192.0.2.1", "::ffff:192.0.2.1", true },
    { "::ffff:192.0.2.1", "::ffff:192.0.2.2", false },
    { "2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true },
    { "2001:db8:1:2::1", "2001:db8:1:3::1", false },
    { "::1", "0.0.0.0", false },
};

static uint64_t address_number(const char *text, uint64_t key) {
    uint64_t keys[2] = { key, 4711 };
    uint8_t bytes[16];
    int family = strchr(text, ':') ? AF_INET6 : AF_INET;

    ck_assert_int_eq(inet_pton(family, text, bytes), 1);
    return ccn_address(keys, bytes, family == AF_INET6 ? 16 : 4);
}

START_TEST(whose_an_address_is) {
    uint64_t one = address_number(addresses[_i].one, 1);

    ck_assert_int_eq(one == address_number(addresses[_i].other, 1), addresses[_i].same);
    ck_assert_uint_ne(one, address_number(addresses[_i].one, 2)); /* nobody foresees it */
}
END_TEST

/* ---- header fields ----------------------------------------------------------------------------------------------- */

#define YEAR UINT64_C(31536000000)

static const struct {
    const char *control, *age;
    uint64_t ms;
} freshness[] = {
    { NULL, NULL, 0 },
    { "", NULL, 0 },
    { "max-age=60", NULL, 60000 },
    { "Max-Age=60", NULL, 60000 },
    { "MAX-AGE=60", NULL, 60000 },
    { "max-age=0", NULL, 0 },
    { "max-age=1", NULL, 1000 },
    { "public", NULL, 0 },
    { "public, max-age=60", NULL, 60000 },
    { "public,max-age=60,must-revalidate", NULL, 60000 },
    { ",,\t ,max-age=60 ,, ", NULL, 60000 },
    { "max-age=60\t,public", NULL, 60000 },
    { "proxy-revalidate, no-transform, immutable, stale-if-error=5, max-age=60", NULL, 60000 },
    /* a shared cache goes by s-maxage */
    { "s-maxage=30, max-age=60", NULL, 30000 },
    { "max-age=60, s-maxage=30", NULL, 30000 },
    { "max-age=60, s-maxage=0", NULL, 0 },
    { "max-age=0, s-maxage=60", NULL, 60000 },
    { "S-MaxAge=30", NULL, 30000 },
    /* less the time that it has lain elsewhere */
    { "max-age=60", "0", 60000 },
    { "max-age=60", "10", 50000 },
    { "max-age=60", "59", 1000 },
    { "max-age=60", "60", 0 },
    { "max-age=60", "61", 0 },
    { "max-age=60", "10, 20", 50000 },
    { "max-age=60", "99999999999999999999999999", 0 },
    { "max-age=60", "abc", 60000 },
    { "max-age=60", "", 60000 },
    { "max-age=60", "-5", 60000 },
    { NULL, "10", 0 },
    /* not at all */
    { "no-cache, max-age=60", NULL, 0 },
    { "max-age=60, no-cache", NULL, 0 },
    { "max-age=60, No-Store", NULL, 0 },
    { "max-age=60, PRIVATE", NULL, 0 },
    { "no-cache=\"Set-Cookie\", max-age=60", NULL, 0 },
    { "private=\"X-A, X-B\", max-age=60", NULL, 0 },
    { "s-maxage=60 , private", NULL, 0 },
    /* numbers */
    { "max-age=31535999", NULL, YEAR - 1000 },
    { "max-age=31536000", NULL, YEAR },
    { "max-age=31536001", NULL, YEAR },
    { "max-age=4294967297", NULL, YEAR },
    { "max-age=18446744073709551617", NULL, YEAR },
    { "max-age=99999999999999999999999999999999999999", NULL, YEAR },
    { "max-age=00000000000000000000000000060", NULL, 60000 },
    { "s-maxage=99999999999999999999", "31535999", 1000 },
    { "max-age=\"60\"", NULL, 60000 },
    { "max-age=60; public", NULL, 60000 },
    /* what is no number says nothing of how long */
    { "max-age", NULL, 0 },
    { "max-age=", NULL, 0 },
    { "max-age=,public", NULL, 0 },
    { "max-age=\"\"", NULL, 0 },
    { "max-age=abc", NULL, 0 },
    { "max-age=60abc", NULL, 0 },
    { "max-age=6.5", NULL, 0 },
    { "max-age=-60", NULL, 0 },
    { "max-age=+60", NULL, 0 },
    { "max-age=0x60", NULL, 0 },
    { "max-age= 60", NULL, 0 },
    { "max-age =60", NULL, 0 },
    { "max-age=99999999999999999999x", NULL, 0 },
    { "max-age=60, s-maxage=x", NULL, 0 },
    { "max-age=60, s-maxage", NULL, 60000 },
    /* of two, the first */
    { "max-age=60, max-age=3600", NULL, 60000 },
    { "max-age=3600, max-age=60", NULL, 3600000 },
    { "s-maxage=1, s-maxage=3600", NULL, 1000 },
    { "max-age=x, max-age=3600", NULL, 0 },
    /* other names */
    { "xmax-age=60", NULL, 0 },
    { "max-age2=60", NULL, 0 },
    { "max-ag=60", NULL, 0 },
    { "maxage=60", NULL, 0 },
    /* what stands between quotes is nobody's directive */
    { "x=\"a, max-age=99\"", NULL, 0 },
    { "x=\"a, max-age=99\", max-age=60", NULL, 60000 },
    { "x=\"a\\\", max-age=99\", max-age=60", NULL, 60000 },
    { "x=\"a\\\\\", max-age=60", NULL, 60000 },
    { "x=\"\\\\\\\", max-age=99\", max-age=60", NULL, 60000 },
    { "x=\"\", max-age=60", NULL, 60000 },
    { "x=\", no-store", NULL, 0 },
    { "x=\"\\", NULL, 0 },
    { "x=", NULL, 0 },
    { "=60, max-age=60", NULL, 60000 },
    { "=\"", NULL, 0 },
};

START_TEST(how_long_it_is_fresh) {
    ck_assert_uint_eq(ccn_freshness(freshness[_i].control, freshness[_i].age), freshness[_i].ms);
}
END_TEST

static const struct {
    const char *control;
    bool is_private;
} privacies[] = {
    { NULL, false },
    { "", false },
    { "private", true },
    { "Private", true },
    { "PRIVATE", true },
    { "no-store", true },
    { "No-Store", true },
    { "private=\"Set-Cookie\"", true },
    { "max-age=60,private", true },
    { "max-age=60 ,\tprivate\t, x", true },
    { "private;x", true },
    { "private x", true },
    { "public", false },
    { "no-cache", false },
    { "max-age=60", false },
    { "xprivate", false },
    { "privat", false },
    { "private2", false },
    { "no-stor", false },
    { "x=private", false },
    { "x=\"private\"", false },
    { "x=\"a, private\"", false },
    { "x=\"a\\\", private\"", false },
    { "x=\"a\\\"\", private", true },
    { "x=\"a\\\\\", private", true },
    { "x=\"a\"b, private", true },
    /* a quote that is never closed hides nothing */
    { "x=\"a, private", true },
    { "x=\"a\\\", private", true },
    { "x=\"a, no-store, y", true },
};

START_TEST(who_may_have_it) { ck_assert_int_eq(ccn_is_private(privacies[_i].control), privacies[_i].is_private); }
END_TEST

static const struct {
    const char *name;
    bool allowed;
} fields[] = {
    { "Accept", true },
    { "Accept-Language", true },
    { "Authorization", true },
    { "Cache-Control", true },
    { "Cookie", true },
    { "Origin", true },
    { "Referer", true },
    { "User-Agent", true },
    { "X-Requested-With", true },
    { "Cache-Control", true },
    { "cookie", true },
    { "USER-AGENT", true },
    { "", false },
    { "Cooki", false },
    { "Cookie2", false },
    { "Cookie ", false },
    { "Accept-", false },
    { "Accept-Encoding", false },
    { "Host", false },
    { "Range", false },
    { "If-None-Match", false },
    { "Content-Length", false },
    { "Transfer-Encoding", false },
    { "Connection", false },
    { "X-Forwarded-For", false },
    { "Proxy-Authorization", false },
    { "Ccn-Nonce", false },
};

START_TEST(what_an_interest_may_bring) {
    struct ndn_span name = span_copy(fields[_i].name, strlen(fields[_i].name)); /* which ends where it ends */

    ck_assert_int_eq(ccn_field_allowed((const char *)name.at, name.n), fields[_i].allowed);
    span_free(name);
}
END_TEST

/* ---- the window -------------------------------------------------------------------------------------------------- */

static const struct {
    uint32_t remain, divisor, most, in_work, window;
} windows[] = {
    { 10, 1, 512, 1, 10 },
    { 10, 2, 512, 1, 5 },
    { 10, 3, 512, 1, 4 },
    { 9, 3, 512, 1, 3 },
    { 1, 1, 512, 1, 1 },
    { 1, 1000, 512, 1, 1 },
    { 1001, 1000, 512, 1, 2 },
    /* nothing to tell */
    { 0, 1, 512, 1, 0 },
    { 10, 0, 512, 1, 0 },
    { 0, 0, 0, 0, 0 },
    /* no more than was set */
    { 512, 1, 512, 1, 512 },
    { 513, 1, 512, 1, 512 },
    { 65535, 1, 1, 1, 1 },
    /* nor than forwarders hold for all together */
    { 65535, 1, 1024, 1, 900 },
    { 65535, 1, 1024, 0, 900 },
    { 65535, 1, 1024, 2, 450 },
    { 65535, 1, 1024, 7, 128 },
    { 65535, 1, 1024, 60, 15 },
    { 10, 1, 1024, 60, 10 },
    { 65535, 1, 1024, 900, 1 },
    { 65535, 1, 1024, 901, 1 },
    { 65535, 1, 1024, UINT32_MAX, 1 },
    { UINT32_MAX, 1, 1024, 1, 900 },
    { UINT32_MAX, 1000, 1024, 1, 900 },
    { UINT32_MAX, UINT32_MAX, 1024, 1, 1 },
};

START_TEST(a_window) {
    ck_assert_uint_eq(ccn_hint(windows[_i].remain, windows[_i].divisor, windows[_i].most, windows[_i].in_work),
                      windows[_i].window);
}
END_TEST

START_TEST(all_windows_together) {
    for (uint32_t in_work = 1; in_work <= CCN_HINT_BUDGET; in_work++)
        for (uint32_t remain = 1; remain < 3000; remain += 7) {
            uint32_t window = ccn_hint(remain, 1, 1024, in_work);
            ck_assert_uint_ge(window, 1);
            ck_assert_uint_le(window, remain);
            ck_assert_uint_le(window * in_work, CCN_HINT_BUDGET);
        }
}
END_TEST

/* ---- signed Interests that were seen ----------------------------------------------------------------------------- */

#define NOW UINT64_C(1790000000000)

static struct ccn_seen *seen;

static void make_seen(void) {
    seen = calloc(1, sizeof *seen);
    ck_assert_ptr_nonnull(seen);
}

static void free_seen(void) { free(seen); }

/* A digest's first eight bytes are what is kept of it, the next eight say in which set; the rest is as it may be. */
static enum ccn_fresh add(uint64_t kept, uint64_t set, uint64_t made, uint64_t now) {
    uint8_t digest[NDN_DIGEST] = { [31] = (uint8_t)made };

    memcpy(digest, &kept, 8);
    memcpy(digest + 8, &set, 8);
    return ccn_seen_add(seen, digest, made, now);
}

START_TEST(none_is_obeyed_twice) {
    ck_assert_int_eq(add(1, 1, NOW, NOW), CCN_FRESH);
    ck_assert_int_eq(add(1, 1, NOW, NOW), CCN_REPLAYED);
    ck_assert_int_eq(add(2, 1, NOW, NOW), CCN_FRESH);
    ck_assert_int_eq(add(1, 2, NOW, NOW), CCN_FRESH);
    for (uint64_t later = 0; later <= CCN_SEEN_MS; later += 1000)
        ck_assert_int_eq(add(1, 1, NOW, NOW + later), CCN_REPLAYED);
    ck_assert_int_eq(add(1, 1, NOW, NOW + CCN_SEEN_MS + 1), CCN_STALE);
    ck_assert_int_eq(add(2, 1, NOW, NOW + CCN_SEEN_MS), CCN_REPLAYED);
    /* whatever it says of when it was made: that is the digest's */
    ck_assert_int_eq(add(1, 1, NOW + 5, NOW + 10), CCN_REPLAYED);
}
END_TEST

static const struct {
    uint64_t made, now;
    enum ccn_fresh fresh;
} times[] = {
    { NOW, NOW, CCN_FRESH },
    { NOW - CCN_SEEN_MS, NOW, CCN_FRESH },
    { NOW - CCN_SEEN_MS - 1, NOW, CCN_STALE },
    { NOW + CCN_SEEN_AHEAD_MS, NOW, CCN_FRESH },
    { NOW + CCN_SEEN_AHEAD_MS + 1, NOW, CCN_STALE },
    { 0, NOW, CCN_STALE },
    { UINT64_MAX - 1, NOW, CCN_STALE },
    { 0, UINT64_MAX, CCN_STALE },
    { UINT64_MAX - 1, 0, CCN_STALE },
};

START_TEST(a_time) {
    ck_assert_int_eq(add(1, 1, times[_i].made, times[_i].now), times[_i].fresh);
    ck_assert_int_eq(add(1, 1, times[_i].made, times[_i].now), times[_i].fresh == CCN_FRESH ? CCN_REPLAYED : CCN_STALE);
}
END_TEST

/* By a clock that is ahead of ours it counts for longer. */
START_TEST(for_as_long_as_it_counts) {
    ck_assert_int_eq(add(1, 1, NOW, NOW - CCN_SEEN_AHEAD_MS), CCN_FRESH);
    for (uint64_t i = 0; i < 4 * CCN_SEEN_WAYS; i++) /* others come and go */
        add(100 + i, 1, NOW - CCN_SEEN_AHEAD_MS + i * 100, NOW - CCN_SEEN_AHEAD_MS + i * 100);
    ck_assert_int_eq(add(1, 1, NOW, NOW), CCN_REPLAYED);
    ck_assert_int_eq(add(1, 1, NOW, NOW + CCN_SEEN_MS), CCN_REPLAYED);
    ck_assert_int_eq(add(1, 1, NOW, NOW + CCN_SEEN_MS + 1), CCN_STALE);
}
END_TEST

/* Nothing that counts is forgotten for another one's sake: that one is refused. */
START_TEST(a_set_that_is_full) {
    uint64_t later = NOW + CCN_SEEN_MS + 1;

    for (uint64_t i = 0; i < CCN_SEEN_WAYS; i++) ck_assert_int_eq(add(i + 1, 5, NOW + i, NOW), CCN_FRESH);
    ck_assert_int_eq(add(99, 5, NOW, NOW), CCN_SEEN_FULL);
    ck_assert_int_eq(add(99, 5 + CCN_SEEN_SETS, NOW, NOW), CCN_SEEN_FULL); /* the same set */
    ck_assert_int_eq(add(99, 6, NOW, NOW), CCN_FRESH);
    for (uint64_t i = 0; i < CCN_SEEN_WAYS; i++) ck_assert_int_eq(add(i + 1, 5, NOW + i, NOW), CCN_REPLAYED);
    /* the first of them counts no longer, and its place is free; the others' are not */
    ck_assert_int_eq(add(99, 5, later, later), CCN_FRESH);
    ck_assert_int_eq(add(98, 5, later, later), CCN_SEEN_FULL);
    for (uint64_t i = 1; i < CCN_SEEN_WAYS; i++) ck_assert_int_eq(add(i + 1, 5, NOW + i, later), CCN_REPLAYED);
    ck_assert_int_eq(add(99, 5, later, later), CCN_REPLAYED);
}
END_TEST

/* In time every place is used again. */
START_TEST(a_set_without_end) {
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t now = NOW + i * (2 * CCN_SEEN_MS / CCN_SEEN_WAYS);
        ck_assert_int_eq(add(i + 1, 5, now, now), CCN_FRESH);
        ck_assert_int_eq(add(i + 1, 5, now, now), CCN_REPLAYED);
    }
}
END_TEST

/* All sets, and none of them beyond the last: who chooses digests chooses no place outside. */
START_TEST(every_set) {
    for (uint64_t i = 0; i < CCN_SEEN_SETS; i++) ck_assert_int_eq(add(1, UINT64_MAX - i, NOW, NOW), CCN_FRESH);
    for (uint64_t i = 0; i < CCN_SEEN_SETS; i++) {
        unsigned used = 0;
        for (unsigned k = 0; k < CCN_SEEN_WAYS; k++) used += seen->row[i][k].time == NOW && seen->row[i][k].digest == 1;
        ck_assert_uint_eq(used, 1);
    }
}
END_TEST

/* The table of a server that was stopped and started: what the old table held does not count again. */
START_TEST(test_signed_interest_obeyed_before_a_start_is_refused_after_it) {
    uint64_t stop = NOW, start = NOW + 100;

    for (uint64_t made = stop - CCN_SEEN_MS; made <= stop + CCN_SEEN_AHEAD_MS; made += 500) {
        ck_assert_int_eq(add(made, made, made, stop), CCN_FRESH);
    }
    memset(seen, 0, sizeof *seen);
    ccn_seen_begin(seen, start);
    for (uint64_t now = start; now < start + 2 * CCN_SEEN_MS; now += 1000)
        for (uint64_t made = stop - CCN_SEEN_MS; made <= stop + CCN_SEEN_AHEAD_MS; made += 500)
            ck_assert_int_ne(add(made, made, made, now), CCN_FRESH);
    ck_assert_int_eq(add(1, 1, start + CCN_SEEN_AHEAD_MS, start + 1000), CCN_TOO_EARLY);
    ck_assert_int_eq(add(1, 1, start + CCN_SEEN_AHEAD_MS + 1, start + 1000), CCN_FRESH);
}
END_TEST

/* A clock that jumps an hour ahead and back, while others' Interests take the rows of the first. */
START_TEST(test_signed_interest_after_the_clock_was_set_back_is_not_obeyed_again) {
    uint64_t hour = UINT64_C(3600000);

    ck_assert_int_eq(add(1, 1, NOW, NOW), CCN_FRESH);
    for (uint64_t i = 0; i < 4 * CCN_SEEN_WAYS; i++) add(100 + i, 1, NOW + hour + i * 100, NOW + hour + i * 100);
    ck_assert_int_eq(add(1, 1, NOW, NOW + 10), CCN_TOO_EARLY);
    /* One that was obeyed before the clock was set back is known when its time comes again. */
    ck_assert_int_eq(add(2, 2, NOW + 100, NOW + 100), CCN_FRESH);
    for (uint64_t i = 0; i < 4 * CCN_SEEN_WAYS; i++) add(200 + i, 2, NOW - hour + i * 100, NOW - hour + i * 100);
    ck_assert_int_eq(add(2, 2, NOW + 100, NOW + 200), CCN_REPLAYED);
}
END_TEST

#define THREADS 4

static _Atomic unsigned obeyed[CCN_SEEN_SETS];
static pthread_barrier_t together;

static void *obey_all(void *which) {
    pthread_barrier_wait(&together);
    for (uint64_t k = 0; k < CCN_SEEN_SETS; k++) {
        uint64_t i = (uintptr_t)which & 1 ? k : k ^ 1;
        if (add(i, i, NOW, NOW) == CCN_FRESH) obeyed[i]++;
    }
    return NULL;
}

/* All come with the same at the same time. */
START_TEST(at_one_time_one_obeys) {
    pthread_t t[THREADS];
    unsigned all = 0;

    ck_assert_int_eq(pthread_barrier_init(&together, NULL, THREADS), 0);
    for (int tries = 0; tries < 20; tries++) {
        memset(seen, 0, sizeof *seen);
        memset(obeyed, 0, sizeof obeyed);
        for (uintptr_t i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&t[i], NULL, obey_all, (void *)i), 0);
        for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_join(t[i], NULL), 0);
        for (unsigned i = 0; i < CCN_SEEN_SETS; i++) {
            ck_assert_uint_le(obeyed[i], 1);
            all += obeyed[i];
        }
    }
    ck_assert_uint_gt(all, 20 * CCN_SEEN_SETS / 2);
    pthread_barrier_destroy(&together);
}
END_TEST

/* Another process may write there: what it says decides what counts, and nothing else. */
START_TEST(written_over) {
    uint64_t seed = (uint64_t)_i;

    for (int tries = 0; tries < 10000; tries++) {
        for (unsigned k = 0; k < CCN_SEEN_WAYS; k++) {
            seen->row[3][k].time =
                chance_below(&seed, 2) ? chance_number(&seed) : NOW + chance_below(&seed, 200000) - 100000;
            seen->row[3][k].digest = chance_below(&seed, 3);
        }
        ck_assert_int_ne(add(chance_below(&seed, 3), 3, NOW, NOW), CCN_STALE);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("ccn_parts");
    TCase *address = tcase_create("address"), *header = tcase_create("header"), *hint = tcase_create("hint"),
          *again = tcase_create("seen");

    tcase_add_loop_test(address, whose_an_address_is, 0, ROWS(addresses));
    suite_add_tcase(s, address);
    tcase_add_loop_test(header, how_long_it_is_fresh, 0, ROWS(freshness));
    tcase_add_loop_test(header, who_may_have_it, 0, ROWS(privacies));
    tcase_add_loop_test(header, what_an_interest_may_bring, 0, ROWS(fields));
    suite_add_tcase(s, header);
    tcase_add_loop_test(hint, a_window, 0, ROWS(windows));
    tcase_add_test(hint, all_windows_together);
    suite_add_tcase(s, hint);
    tcase_add_checked_fixture(again, make_seen, free_seen);
    tcase_add_test(again, none_is_obeyed_twice);
    tcase_add_loop_test(again, a_time, 0, ROWS(times));
    tcase_add_test(again, for_as_long_as_it_counts);
    tcase_add_test(again, a_set_that_is_full);
    tcase_add_test(again, a_set_without_end);
    tcase_add_test(again, every_set);
    tcase_add_test(again, test_signed_interest_obeyed_before_a_start_is_refused_after_it);
    tcase_add_test(again, test_signed_interest_after_the_clock_was_set_back_is_not_obeyed_again);
    tcase_add_test(again, at_one_time_one_obeys);
    tcase_add_loop_test(again, written_over, 0, 3);
    suite_add_tcase(s, again);
    return run_suite(s);
}
