/* SPDX-License-Identifier: BSD-2-Clause */
/* test_qos_cost.c - what a class is charged for bytes and for time. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "mod_qos_drr/qos_cost.h"
#include "run_suite.h"

#define SECOND  UINT64_C(1000000)
#define WINDOW  8u
#define DEAREST (1u << 20) /* a microsecond for a byte */

static struct shm_view v;
static struct qos_rate rate[QOS_OUTLETS];
static struct qos_costs k;

static void set_up(void) {
    static const struct rs_class_settings classes[2] = { { .name = "a", .weight = 1 }, { .name = "b", .weight = 1 } };
    const struct shm_size size = { .owners = 2, .classes = 2, .tickets = 16, .area = 64 };
    const char *why = "";
    struct rs_settings s;

    rs_settings_default(&s);
    s.window = WINDOW;
    v.alarm = -1;
    ck_assert_msg(!shm_make(&v, &size, &s, classes, 2, &why), "%s", why);
    memset(rate, 0, sizeof rate);
    for (uint32_t o = 0; o < 2; o++) rate[o].price = DEAREST;
    k = (struct qos_costs){ QOS_CHARGE_BOTH, rate, &v };
}

static void tear_down(void) { shm_free(&v); }

START_TEST(one_of_the_two) {
    k.charge = QOS_CHARGE_BYTES;
    ck_assert_uint_eq(qos_cost_bytes(&k, 0, 0, 1, 5000), 5000);
    ck_assert_uint_eq(qos_cost_time(&k, 0, 0, 7000), 0);
    ck_assert_uint_eq(qos_cost_expected(&k, 0, 7000, 5000), 5000);
    k.charge = QOS_CHARGE_TIME;
    ck_assert_uint_eq(qos_cost_bytes(&k, 0, 0, 1, 5000), 0);
    ck_assert_uint_eq(qos_cost_time(&k, 0, 0, 7000), 7000);
    ck_assert_uint_eq(qos_cost_expected(&k, 0, 7000, 5000), 7000);
    /* Both are counted all the same. */
    ck_assert_uint_eq(v.classes[0].bytes, 10000);
    ck_assert_uint_eq(v.classes[0].slot_us, 14000);
    ck_assert_uint_eq(v.classes[1].bytes + v.classes[1].slot_us, 0);
}
END_TEST

/* Not the sum of what its requests have most of: that would be twice what it has of either. */
START_TEST(a_class_is_charged_its_dominant_share) {
    uint64_t cost = 0;

    for (int i = 0; i < 100; i++) cost += qos_cost_time(&k, 0, 0, SECOND) + qos_cost_bytes(&k, 0, 0, 1, SECOND);
    ck_assert_uint_eq(cost, 100 * SECOND);
    for (int i = 0; i < 100; i++) cost += qos_cost_time(&k, 0, 0, 3000) + qos_cost_bytes(&k, 0, 0, 1, 1000);
    ck_assert_uint_eq(cost, 100 * SECOND + 300000);
    /* Another class's affair. */
    ck_assert_uint_eq(qos_cost_bytes(&k, 1, 0, 1, 1000), 1000);
}
END_TEST

/* Who has had files all day does not have a day of the server's time for nothing: a second of all of it. */
START_TEST(what_may_be_caught_up_is_bounded) {
    qos_cost_bytes(&k, 0, 0, 1, 1000 * SECOND);
    ck_assert_uint_eq(qos_cost_time(&k, 0, 0, 100 * SECOND), (100 - WINDOW) * SECOND);
    ck_assert_uint_eq(qos_cost_bytes(&k, 0, 0, 1, 100 * SECOND), (100 - WINDOW) * SECOND);
}
END_TEST

START_TEST(what_others_write_is_judged) {
    static const int64_t leads[] = { INT64_MAX, INT64_MIN, INT64_MIN + 1 };

    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        v.leads[0] = leads[i];
        ck_assert_uint_le(qos_cost_time(&k, 0, 0, UINT64_MAX), UINT64_C(1) << 40);
        ck_assert_uint_le(llabs((long long)v.leads[0]), WINDOW * SECOND);
        v.leads[0] = leads[i];
        ck_assert_uint_le(qos_cost_bytes(&k, 0, 0, 1, UINT64_MAX), UINT64_C(1) << 40);
    }
    rate[0].price = UINT32_MAX;
    ck_assert_uint_eq(qos_cost_of_bytes(&k, 0, 1000), 1000);
    rate[0].peak = UINT64_MAX;
    rate[0].bytes = UINT64_MAX;
    qos_cost_bytes(&k, 0, 0, 1, 1);
    qos_cost_bytes(&k, 0, 0, SECOND + 1, 1);
    ck_assert_uint_le(qos_cost_of_bytes(&k, 0, 1000), 1000);
    /* a class that can't be */
    ck_assert_uint_eq(qos_cost_time(&k, 2, 0, 1000), 0);
    ck_assert_uint_eq(qos_cost_time(&k, RS_NO_CLASS, 0, 1000), 0);
}
END_TEST

/* 80 MB in a second through eight slots: a byte is a tenth of a microsecond.  A slow second does not make it dearer. */
START_TEST(a_byte_costs_what_part_of_the_fastest_second_it_is) {
    uint64_t now = 5 * SECOND;

    qos_cost_bytes(&k, 0, 0, now, 1);
    for (int i = 0; i < 30; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 8000000);
    ck_assert_uint_ge(qos_cost_of_bytes(&k, 0, 1000000), 99000);
    ck_assert_uint_le(qos_cost_of_bytes(&k, 0, 1000000), 101000);
    for (int i = 0; i < 5; i++) qos_cost_bytes(&k, 0, 0, now += SECOND, 8000);
    ck_assert_uint_le(qos_cost_of_bytes(&k, 0, 1000000), 101000);
    /* Nor does an hour in which nobody comes. */
    qos_cost_bytes(&k, 0, 0, now += 3600 * SECOND, 8000);
    ck_assert_uint_le(qos_cost_of_bytes(&k, 0, 1000000), 101000);
}
END_TEST

/*
 * Pages of 200 bytes all day say nothing of what the server can send.  At a microsecond each the first files of 5 MB
 * would cost five seconds of a slot, and their class have too few of them to show that they take 20 ms.
 */
START_TEST(a_byte_costs_nothing_while_there_are_enough) {
    uint64_t now = 5 * SECOND;

    memset(rate, 0, sizeof rate);
    ck_assert_uint_eq(qos_cost_of_bytes(&k, 0, 5000000), 0);
    ck_assert_uint_eq(qos_cost_expected(&k, 0, 20000, 5000000), 20000);
    for (int i = 0; i < 100; i++) ck_assert_uint_eq(qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 200), 0);
    ck_assert_uint_eq(qos_cost_of_bytes(&k, 0, 5000000), 0);
    for (int i = 0; i < 40; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 4000000);
    ck_assert_uint_ge(qos_cost_of_bytes(&k, 0, 1000000), 199000);
    ck_assert_uint_le(qos_cost_of_bytes(&k, 0, 1000000), 201000);
    /* Half as fast is still much, less is not, and costs less and less; nor is what nobody asks for. */
    for (int i = 0; i < 20; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 2100000);
    ck_assert_uint_ge(qos_cost_of_bytes(&k, 0, 1000000), 199000);
    for (int i = 0; i < 50; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 1900000);
    ck_assert_uint_le(qos_cost_of_bytes(&k, 0, 1000000), 26000);
    for (int i = 0; i < 200; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 1900000);
    ck_assert_uint_eq(qos_cost_of_bytes(&k, 0, 1000000), 0);
    for (int i = 0; i < 20; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 4000000);
    ck_assert_uint_ge(qos_cost_of_bytes(&k, 0, 1000000), 199000);
    qos_cost_bytes(&k, 0, 0, now += 3600 * SECOND, 200);
    ck_assert_uint_eq(qos_cost_of_bytes(&k, 0, 1000000), 0);
}
END_TEST

/*
 * Pages of 100 ms that wait 4 s at a backend with too many long requests are not known as long ones by that.  If all of
 * them take longer from now on, that is known after a while.
 */
START_TEST(pages_that_wait_at_the_backend_are_still_known_to_be_brief) {
    ck_assert_uint_eq(qos_cost_taught(0, 4000000, true), 4000000);
    ck_assert_uint_eq(qos_cost_taught(0, 4000000, false), 4000000);
    ck_assert_uint_eq(qos_cost_taught(100000, 4000000, true), 125000);
    ck_assert_uint_eq(qos_cost_taught(100000, 4000000, false), 200000);
    ck_assert_uint_eq(qos_cost_taught(100000, 150000, false), 150000);
    ck_assert_uint_eq(qos_cost_taught(100000, 90000, true), 90000);
    ck_assert_uint_eq(qos_cost_taught(1000, 4000000, true), QOS_AWAIT_US);
}
END_TEST

/* Who downloads in every other second pays, and more than half. */
START_TEST(a_pause_of_a_second_makes_no_byte_free) {
    uint64_t now = 5 * SECOND, cost = 0, all = 0;

    memset(rate, 0, sizeof rate);
    for (int i = 0; i < 40; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 8000000);
    for (int s = 0; s < 10; s++) {
        for (int i = 0; i < 10; i++) qos_cost_bytes(&k, 1, 0, now += SECOND / 10, 100000);
        for (int i = 0; i < 10; i++, all += 800000) {
            cost += qos_cost_of_bytes(&k, 0, 8000000);
            qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 8000000);
        }
    }
    ck_assert_uint_ge(cost, all / 2);
}
END_TEST

/* Answers that fill the buffers of clients who do not read leave at a rate that the network never has. */
START_TEST(one_second_is_no_peak) {
    uint64_t now = 5 * SECOND;

    memset(rate, 0, sizeof rate);
    for (int i = 0; i < 50; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 4000000);
    for (int i = 0; i < 10; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 400000000);
    for (int i = 0; i < 30; i++) qos_cost_bytes(&k, 0, 0, now += SECOND / 10, 4000000);
    ck_assert_uint_ge(qos_cost_of_bytes(&k, 0, 1000000), 199000);
}
END_TEST

/* Each outlet has a price of its own, of its window and its answers; what a class had at one is no lead at another. */
START_TEST(each_outlet_is_a_server_by_itself) {
    const struct shm_size size = { .owners = 2, .classes = 2, .tickets = 16, .outlets = 2 };
    const struct rs_class_settings class = { .name = "a", .weight = 1 };
    const struct rs_outlet_settings app = { .name = "app", .gate = RS_GATE_WINDOW, .window = 2, .window_max = 2 };
    uint64_t now = 5 * SECOND;
    struct rs_settings s;
    const char *why = "";

    shm_free(&v);
    rs_settings_default(&s);
    s.window = WINDOW;
    ck_assert(!shm_make(&v, &size, &s, &class, 1, &why));
    ck_assert(!rs_outlets(v.engine, &app, 1, 0, &why));
    /* Both send 80 MB in a second, one through eight slots and one through two. */
    for (uint32_t o = 0; o < 2; o++) qos_cost_bytes(&k, 0, o, now, 1);
    for (int i = 0; i < 20; i++) {
        now += SECOND / 10;
        for (uint32_t o = 0; o < 2; o++) qos_cost_bytes(&k, 0, o, now, 8000000);
    }
    ck_assert_uint_ge(qos_cost_of_bytes(&k, 0, 1000000), 99000);
    ck_assert_uint_le(qos_cost_of_bytes(&k, 0, 1000000), 101000);
    ck_assert_uint_ge(qos_cost_of_bytes(&k, 1, 1000000), 24000);
    ck_assert_uint_le(qos_cost_of_bytes(&k, 1, 1000000), 26000);
    ck_assert_uint_eq(qos_cost_of_bytes(&k, QOS_OUTLETS, 1000), 1000);
    for (uint32_t o = 0; o < 2; o++) {
        rate[o] = (struct qos_rate){ .since = 1, .price = DEAREST };
        atomic_store(&v.leads[o * 2], 0);
    }
    qos_cost_bytes(&k, 0, 0, 1, SECOND);
    ck_assert_uint_eq(qos_cost_time(&k, 0, 1, 1000), 1000);
    ck_assert_uint_eq(qos_cost_time(&k, 0, 0, 1000), 0);
    /* One second of its own slots is what may be caught up there. */
    qos_cost_bytes(&k, 0, 1, 1, 1000 * SECOND);
    ck_assert_uint_eq(qos_cost_time(&k, 0, 1, 100 * SECOND), 98 * SECOND);
    /* an outlet that can't be */
    ck_assert_uint_eq(qos_cost_time(&k, 0, 2, 1000), 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("qos_cost");
    TCase *c = tcase_create("cost");

    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, one_of_the_two);
    tcase_add_test(c, a_class_is_charged_its_dominant_share);
    tcase_add_test(c, what_may_be_caught_up_is_bounded);
    tcase_add_test(c, what_others_write_is_judged);
    tcase_add_test(c, a_byte_costs_nothing_while_there_are_enough);
    tcase_add_test(c, a_pause_of_a_second_makes_no_byte_free);
    tcase_add_test(c, one_second_is_no_peak);
    tcase_add_test(c, pages_that_wait_at_the_backend_are_still_known_to_be_brief);
    tcase_add_test(c, each_outlet_is_a_server_by_itself);
    tcase_add_test(c, a_byte_costs_what_part_of_the_fastest_second_it_is);
    suite_add_tcase(s, c);
    return run_suite(s);
}
