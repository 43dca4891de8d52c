/* SPDX-License-Identifier: BSD-2-Clause */
/* test_qos_outer.c - a token is believed by the gateway that made it; other well-formed tokens are passed on. */
#include <stdio.h>
#include <string.h>

#include <check.h>

#include "mod_qos_drr/qos_outer.h"
#include "run_suite.h"

#define TICKET UINT64_C(0x0000001200000034)

static const uint64_t ours[2] = { 1, 2 }, theirs[2] = { 1, 3 };
static char others[QOS_OUTER_TEXT];

static struct qos_outer read_text(const char *text) { return qos_outer_read(ours, text, strlen(text), others); }

START_TEST(test_token_of_our_key_is_believed) {
    static const uint32_t depths[][2] = { { 0, 0 }, { 1, 1 }, { 255, 255 }, { 256, 255 }, { UINT32_MAX, 255 } };
    char token[QOS_OUTER_TOKEN + 1];

    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct qos_outer got;

        qos_outer_write(ours, (struct qos_outer){ TICKET, depths[i][0] }, token);
        ck_assert_uint_eq(strlen(token), QOS_OUTER_TOKEN);
        got = read_text(token);
        ck_assert_uint_eq(got.ticket, TICKET);
        ck_assert_uint_eq(got.depth, depths[i][1]);
        ck_assert_str_eq(others, "");
    }
}
END_TEST

START_TEST(test_changed_token_is_passed_on_but_not_believed) {
    char token[QOS_OUTER_TOKEN + 1];

    for (unsigned at = 0; at < QOS_OUTER_TOKEN; at++) {
        qos_outer_write(ours, (struct qos_outer){ TICKET, 3 }, token);
        token[at] = token[at] == '0' ? '1' : '0';
        ck_assert_uint_eq(read_text(token).ticket, RS_NO_TICKET);
        ck_assert_str_eq(others, token);
    }
}
END_TEST

START_TEST(test_token_of_another_gateway_is_passed_on_beside_ours) {
    char a[QOS_OUTER_TOKEN + 1], b[QOS_OUTER_TOKEN + 1], text[2 * sizeof a + 8];

    qos_outer_write(theirs, (struct qos_outer){ TICKET + 1, 1 }, a);
    qos_outer_write(ours, (struct qos_outer){ TICKET, 2 }, b);
    snprintf(text, sizeof text, "%s , %s,", a, b);
    ck_assert_uint_eq(read_text(text).ticket, TICKET);
    ck_assert_str_eq(others, a);
}
END_TEST

START_TEST(test_more_tokens_than_are_passed_on_are_dropped) {
    char text[64 * 40] = "", first[QOS_OUTER_TEXT] = "";
    size_t n = 0;

    for (unsigned i = 0; i < 64; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%034x", i ? "," : "", i);
        if (i + 1 == QOS_OUTER_OTHERS) memcpy(first, text, n + 1);
    }
    ck_assert_uint_eq(read_text(text).ticket, RS_NO_TICKET);
    ck_assert_str_eq(others, first);
}
END_TEST

START_TEST(test_malformed_token_is_dropped) {
    static const char *const texts[] = { "",
                                         ",",
                                         " ,\t, ",
                                         "0",
                                         "ABCDEFABCDEFABCDEFABCDEFABCDEFABCD",
                                         "0123456789abcdef0123456789abcdef0",
                                         "0123456789abcdef0123456789abcdef012",
                                         "0123456789abcdef0123456789abcdef0g",
                                         "\xff\x01" };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_uint_eq(read_text(texts[i]).ticket, RS_NO_TICKET);
        ck_assert_str_eq(others, "");
    }
    /* Nothing behind n is looked at. */
    qos_outer_read(ours, "0123456789abcdef0123456789abcdef01", QOS_OUTER_TOKEN - 1, others);
    ck_assert_str_eq(others, "");
}
END_TEST

int main(void) {
    Suite *s = suite_create("qos_outer");
    TCase *t = tcase_create("outer");

    tcase_add_test(t, test_token_of_our_key_is_believed);
    tcase_add_test(t, test_changed_token_is_passed_on_but_not_believed);
    tcase_add_test(t, test_token_of_another_gateway_is_passed_on_beside_ours);
    tcase_add_test(t, test_more_tokens_than_are_passed_on_are_dropped);
    tcase_add_test(t, test_malformed_token_is_dropped);
    suite_add_tcase(s, t);
    return run_suite(s);
}
