/* SPDX-License-Identifier: BSD-2-Clause */
#include "test_prober.h"

int main(void) {
    Suite *s = suite_create("prober");
    SRunner *r;
    int failed;

    suite_add_tcase(s, robots_case());
    suite_add_tcase(s, scope_case());
    suite_add_tcase(s, traps_case());
    suite_add_tcase(s, links_case());
    suite_add_tcase(s, urls_case());
    suite_add_tcase(s, settings_case());
    r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
