/* SPDX-License-Identifier: BSD-2-Clause */
#include "test_prober.h"
#include "run_suite.h"

int main(void) {
    Suite *s = suite_create("prober");

    suite_add_tcase(s, robots_case());
    suite_add_tcase(s, scope_case());
    suite_add_tcase(s, traps_case());
    suite_add_tcase(s, links_case());
    suite_add_tcase(s, urls_case());
    suite_add_tcase(s, settings_case());
    return run_suite(s);
}
