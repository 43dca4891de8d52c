/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy.c - runs the suites of policy/. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_policy.h"

struct policy_text text_of(const char *s) {
    return (struct policy_text){ s, strlen(s) };
}

policy_t *parse_expecting(const char *xml, size_t len, unsigned line, const char *wanted) {
    char *error = NULL, place[32];
    policy_t *p = policy_parse(xml, len, "f.xml", &error);

    if (wanted == NULL) {
        ck_assert_msg(p != NULL, "refused: %s", error);
        ck_assert_ptr_null(error);
        return p;
    }
    snprintf(place, sizeof place, "f.xml:%u: ", line);
    ck_assert_msg(p == NULL, "accepted, but should say: %s", wanted);
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strncmp(error, place, strlen(place)) == 0, "%s does not begin with %s", error, place);
    ck_assert_msg(strstr(error, wanted) != NULL, "%s does not say: %s", error, wanted);
    ck_assert_msg(strstr(error, "; ") != NULL, "%s has no cure", error);
    ck_assert_msg(strlen(error) < 800, "too long: %s", error);
    for (const char *c = error; *c != '\0'; c++) ck_assert_msg(*c >= 0x20 && *c < 0x7f, "byte %d in %s", *c, error);
    free(error);
    return NULL;
}

int main(void) {
    SRunner *runner = srunner_create(policy_build_suite());

    srunner_add_suite(runner, policy_xml_suite());
    srunner_add_suite(runner, policy_hostile_suite());
    srunner_add_suite(runner, policy_match_suite());
    srunner_add_suite(runner, policy_random_suite());
    srunner_add_suite(runner, policy_tables_suite());
    srunner_add_suite(runner, policy_command_suite());
    srunner_add_suite(runner, policy_warn_suite());
    srunner_add_suite(runner, policy_url_suite());
    return run_suites(runner);
}
