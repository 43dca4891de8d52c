/* SPDX-License-Identifier: BSD-2-Clause */
/* test_crawlers.h - one test case per noun of crawlers/. */
#ifndef FAIRGATE_TEST_CRAWLERS_H
#define FAIRGATE_TEST_CRAWLERS_H

#include "run_suite.h"

TCase *crawlers_table_case(void);
TCase *crawlers_known_case(void);
TCase *crawlers_dns_case(void);
TCase *crawlers_seen_case(void);

#endif
