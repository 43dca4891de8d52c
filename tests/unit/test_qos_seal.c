/* SPDX-License-Identifier: BSD-2-Clause */
/* test_qos_seal.c - what another gateway told is believed, and nothing else that stands in the cache. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "mod_qos_drr/qos_seal.h"
#include "pages/pages_table.h"
#include "run_suite.h"

#define KEY  UINT64_C(0x123456789abcdef0)
#define HOUR 500000u

static struct qos_seal ours, theirs;

static void make_keys(void) {
    qos_seal_keys(&ours, "correct-horse");
    qos_seal_keys(&theirs, "battery-staple");
}

static uint64_t opened(const char *value, size_t n) { return qos_seal_open(&ours, KEY, HOUR, value, n); }

START_TEST(what_was_told_is_believed) {
    static const uint64_t sizes[] = { 1, 2048, 123456789, PAGES_SIZE_MAX };
    char value[QOS_SEAL_ROOM];
    unsigned n;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        n = qos_seal_close(&ours, KEY, sizes[i], HOUR, value);
        ck_assert_uint_lt(n, QOS_SEAL_ROOM);
        ck_assert_uint_eq(opened(value, n), sizes[i]);
    }
    n = qos_seal_close(&ours, KEY, UINT64_MAX, UINT64_MAX, value);
    ck_assert_uint_lt(n, QOS_SEAL_ROOM);
    ck_assert_uint_eq(opened(value, n), 0);
}
END_TEST

/* The seal covers every byte, and is there to its end. */
START_TEST(a_changed_value_is_not_believed) {
    char value[QOS_SEAL_ROOM], longer[QOS_SEAL_ROOM + 100];
    unsigned n = qos_seal_close(&ours, KEY, 2048, HOUR, value);

    for (unsigned i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            value[i] = (char)(value[i] ^ 1 << bit);
            ck_assert_uint_eq(opened(value, n), 0);
            value[i] = (char)(value[i] ^ 1 << bit);
        }
    for (unsigned i = 0; i < n; i++) ck_assert_uint_eq(opened(value, i), 0);
    memset(longer, 'x', sizeof longer);
    memcpy(longer, value, n);
    for (size_t i = n + 1; i <= sizeof longer; i++) ck_assert_uint_eq(opened(longer, i), 0);
    ck_assert_uint_eq(opened(value, n), 2048);
}
END_TEST

START_TEST(a_value_of_elsewhere_is_not_believed) {
    static const char *const old[] = {
        "1 4398046511104", "1 5", "", "2 5", "2 5 500000 ", "2  500000 00000000000000000000000000000000"
    };
    char value[QOS_SEAL_ROOM];
    unsigned n = qos_seal_close(&theirs, KEY, 2048, HOUR, value);

    ck_assert_uint_eq(opened(value, n), 0); /* another secret */
    n = qos_seal_close(&ours, KEY + 1, 2048, HOUR, value);
    ck_assert_uint_eq(opened(value, n), 0); /* another page */
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) ck_assert_uint_eq(opened(old[i], strlen(old[i])), 0);
}
END_TEST

START_TEST(a_value_is_believed_for_a_week) {
    static const struct {
        int hours;
        int yes;
    } rows[] = { { -2, 0 }, { -1, 1 }, { 0, 1 }, { QOS_SEAL_HOURS, 1 }, { QOS_SEAL_HOURS + 1, 0 } };
    char value[QOS_SEAL_ROOM];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned n = qos_seal_close(&ours, KEY, 2048, (uint64_t)(HOUR - rows[i].hours), value);
        ck_assert_uint_eq(opened(value, n), rows[i].yes ? 2048 : 0);
    }
}
END_TEST

/* Keys of other uses, other secrets and other pages have nothing in common. */
START_TEST(names_tell_nothing) {
    uint8_t a[QOS_SEAL_NAME], b[QOS_SEAL_NAME];

    qos_seal_name(&ours, KEY, a);
    qos_seal_name(&ours, KEY + 1, b);
    ck_assert_int_ne(memcmp(a, b, sizeof a), 0);
    qos_seal_name(&theirs, KEY, b);
    ck_assert_int_ne(memcmp(a, b, sizeof a), 0);
    ck_assert_int_ne(memcmp(ours.names, ours.seals, sizeof ours.names), 0);
    ck_assert_int_ne(memcmp(ours.names, ours.pages, sizeof ours.pages), 0);
    ck_assert_int_ne(memcmp(ours.pages, theirs.pages, sizeof ours.pages), 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("qos_seal");
    TCase *t = tcase_create("seal");

    tcase_add_unchecked_fixture(t, make_keys, NULL);
    tcase_add_test(t, what_was_told_is_believed);
    tcase_add_test(t, a_changed_value_is_not_believed);
    tcase_add_test(t, a_value_of_elsewhere_is_not_believed);
    tcase_add_test(t, a_value_is_believed_for_a_week);
    tcase_add_test(t, names_tell_nothing);
    suite_add_tcase(s, t);
    return run_suite(s);
}
