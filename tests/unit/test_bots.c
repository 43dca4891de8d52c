/* SPDX-License-Identifier: BSD-2-Clause */
/* test_bots.c - crawlers that sign: what is read of their fields, what was signed, by whose key, how often. */
#include "test_bots.h"

int main(void) {
    Suite *s = suite_create("bots");

    suite_add_tcase(s, bots_fields_case());
    suite_add_tcase(s, bots_base_case());
    suite_add_tcase(s, bots_claim_case());
    suite_add_tcase(s, bots_keys_case());
    suite_add_tcase(s, bots_agent_case());
    suite_add_tcase(s, bots_seen_case());
    return run_suite(s);
}
