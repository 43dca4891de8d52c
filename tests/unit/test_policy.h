/* SPDX-License-Identifier: BSD-2-Clause */
/* test_policy.h - the suites of test_policy, one file each, and what they share. */
#ifndef TEST_POLICY_H
#define TEST_POLICY_H

#include "run_suite.h"

#include "policy/policy.h"

/* The sanitizer has an allocator and a memory use of its own. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

Suite *policy_build_suite(void);
Suite *policy_xml_suite(void);
Suite *policy_hostile_suite(void);
Suite *policy_match_suite(void);
Suite *policy_random_suite(void);
Suite *policy_tables_suite(void);
Suite *policy_command_suite(void);
Suite *policy_warn_suite(void);
Suite *policy_url_suite(void);

/*
 * Parses as file "f.xml".  `wanted` NULL: must be right, and the policy is returned.  Else it must be refused with a
 * sentence that begins with "f.xml:LINE: " and contains `wanted` and a "; " before the cure.
 */
policy_t *parse_expecting(const char *xml, size_t len, unsigned line, const char *wanted);

struct policy_text text_of(const char *s);

#endif
