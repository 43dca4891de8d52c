/* SPDX-License-Identifier: BSD-2-Clause */
#include "test_crawlers.h"

int main(void) {
    Suite *s = suite_create("crawlers");

    suite_add_tcase(s, crawlers_table_case());
    suite_add_tcase(s, crawlers_known_case());
    suite_add_tcase(s, crawlers_dns_case());
    suite_add_tcase(s, crawlers_seen_case());
    return run_suite(s);
}
