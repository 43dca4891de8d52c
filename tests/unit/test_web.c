/* SPDX-License-Identifier: BSD-2-Clause */
#include "test_web.h"

int main(void) {
    Suite *s = suite_create("web");

    suite_add_tcase(s, web_address_case());
    suite_add_tcase(s, web_own_case());
    suite_add_tcase(s, web_rules_case());
    suite_add_tcase(s, web_fresh_case());
    suite_add_tcase(s, web_fetch_case());
    return run_suite(s);
}
