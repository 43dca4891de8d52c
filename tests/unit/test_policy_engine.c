/* SPDX-License-Identifier: BSD-2-Clause */
/* A policy's classes as the engine has them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_engine.h"
#include "run_suite.h"

static const struct policy_engine_host knowing = { 30, true, true, true, 800 },
                                       unknowing = { 240, false, false, false, 800 };

static policy_t *parse(const char *classes) {
    char xml[1024], *error = NULL;
    snprintf(xml, sizeof xml, "<classification>%s</classification>", classes);
    policy_t *p = policy_parse(xml, strlen(xml), "test", &error);
    ck_assert_msg(p != NULL, "%s", error ? error : "no reason");
    return p;
}

START_TEST(a_class_of_a_policy) {
    policy_t *p =
        parse("<class id=\"1\" name=\"people\" quantum=\"600\"/>"
              "<class id=\"2\" name=\"bots\" quantum=\"7\" queue=\"20\" wait=\"86400\" delay=\"250\" slots=\"3\" "
              "order=\"shortest\"/>");
    struct policy_engine_class c;

    policy_engine_class(policy_class_at(p, 0), &knowing, &c);
    ck_assert_str_eq(c.settings.name, "people");
    ck_assert_uint_eq(c.settings.weight, 600);
    ck_assert_uint_eq(c.settings.queue_max, 0);
    ck_assert_uint_eq(c.settings.slots, 0);
    ck_assert_int_eq(c.settings.order, RS_ORDER_FIFO);
    ck_assert_uint_eq(c.settings.wait_bound_ms, 0);
    ck_assert_uint_eq(c.settings.level, 0);
    ck_assert_uint_eq(c.settings.delay_ms, 800);
    ck_assert_uint_eq(c.wait_s, 30);
    policy_engine_class(policy_class_at(p, 1), &knowing, &c);
    ck_assert_str_eq(c.settings.name, "bots");
    ck_assert_uint_eq(c.settings.weight, 7);
    ck_assert_uint_eq(c.settings.queue_max, 20);
    ck_assert_uint_eq(c.settings.slots, 3);
    ck_assert_int_eq(c.settings.order, RS_ORDER_SHORTEST);
    ck_assert_uint_eq(c.settings.wait_bound_ms, 43200000);
    ck_assert_uint_eq(c.settings.delay_ms, 250);
    ck_assert_uint_eq(c.wait_s, 86400);
    ck_assert_uint_eq(policy_engine_default(p), POLICY_NONE);
    policy_free(&p);
}
END_TEST

/* Its mean goes down while answers come: who is expected to bring that would be overtaken by all who come later. */
START_TEST(where_no_size_is_known_shortest_is_the_order_of_arrival) {
    policy_t *p = parse("<class id=\"1\" name=\"a\" quantum=\"1\" wait=\"60\" delay=\"9\" order=\"shortest\"/>");
    struct policy_engine_class c;

    policy_engine_class(policy_class_at(p, 0), &unknowing, &c);
    ck_assert_int_eq(c.settings.order, RS_ORDER_FIFO);
    ck_assert_uint_eq(c.settings.wait_bound_ms, 0);
    ck_assert_uint_eq(c.settings.delay_ms, 0); /* nor does it refuse whom the engine names */
    ck_assert_uint_eq(c.wait_s, 60);
    policy_free(&p);
}
END_TEST

/* Who does not tell whose requests are has no keys to share a class by. */
START_TEST(where_keys_are_known_they_share) {
    policy_t *p = parse("<class id=\"1\" name=\"a\" quantum=\"1\" within=\"client/24/56\"/>");
    struct policy_engine_class c;

    policy_engine_class(policy_class_at(p, 0), &knowing, &c);
    ck_assert_uint_eq(c.settings.within, 1);
    policy_engine_class(policy_class_at(p, 0), &unknowing, &c);
    ck_assert_uint_eq(c.settings.within, 0);
    policy_free(&p);
}
END_TEST

/* Signed-in visitors rather wait than be refused; others get the host's default, unless the class says 0. */
START_TEST(delay_of_a_class_that_names_none_is_the_hosts_but_for_signed_in_visitors) {
    policy_t *p = parse("<class id=\"1\" name=\"members\" quantum=\"1\"><visitor class=\"member\"/></class>"
                        "<class id=\"2\" name=\"returning\" quantum=\"1\"><visitor age=\"10m\"/></class>"
                        "<class id=\"3\" name=\"patient\" quantum=\"1\" delay=\"0\"/>"
                        "<class id=\"4\" name=\"staff\" quantum=\"1\" delay=\"70\"><visitor class=\"staff\"/></class>");
    static const uint32_t delays[] = { 0, 800, 0, 70 }, turns[] = { POLICY_USUAL_TURNS, POLICY_USUAL_TURNS, 0, 0 };
    struct policy_engine_class c;

    for (uint32_t i = 0; i < 4; i++) {
        policy_engine_class(policy_class_at(p, i), &knowing, &c);
        ck_assert_uint_eq(c.settings.delay_ms, delays[i]);
        ck_assert_uint_eq(c.settings.delay_turns, turns[i]);
    }
    policy_engine_other(7, &knowing, &c);
    ck_assert_uint_eq(c.settings.delay_ms, 800);
    policy_free(&p);
}
END_TEST

START_TEST(who_takes_the_rest) {
    static const struct {
        const char *classes;
        uint32_t position;
    } all[] = {
        { "<class id=\"1\" name=\"a\" quantum=\"2\"/><class id=\"2\" name=\"b\" quantum=\"1\" default=\"yes\"/>", 1 },
        { "<class id=\"1\" name=\"a\" quantum=\"2\"/><class id=\"2\" name=\"other\" quantum=\"1\"/>", 1 },
        { "<class id=\"1\" name=\"a\" quantum=\"2\" default=\"yes\"/><class id=\"2\" name=\"other\" quantum=\"1\"/>",
          0 },
        { "<class id=\"1\" name=\"a\" quantum=\"2\"/>", POLICY_NONE },
    };
    struct policy_engine_class c;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        policy_t *p = parse(all[i].classes);
        ck_assert_uint_eq(policy_engine_default(p), all[i].position);
        policy_free(&p);
    }
    policy_engine_other(7, &unknowing, &c);
    ck_assert_str_eq(c.settings.name, "other");
    ck_assert_uint_eq(c.settings.weight, 7);
    ck_assert_uint_eq(c.wait_s, 240);
    policy_engine_other(0, &unknowing, &c);
    ck_assert_uint_eq(c.settings.weight, 1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("policy_engine");
    TCase *c = tcase_create("mapping");
    suite_add_tcase(s, c);
    tcase_add_test(c, a_class_of_a_policy);
    tcase_add_test(c, delay_of_a_class_that_names_none_is_the_hosts_but_for_signed_in_visitors);
    tcase_add_test(c, where_no_size_is_known_shortest_is_the_order_of_arrival);
    tcase_add_test(c, where_keys_are_known_they_share);
    tcase_add_test(c, who_takes_the_rest);
    return run_suite(s);
}
