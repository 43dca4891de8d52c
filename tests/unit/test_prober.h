/* SPDX-License-Identifier: BSD-2-Clause */
/* test_prober.h - one test case per noun of prober/. */
#ifndef FAIRGATE_TEST_PROBER_H
#define FAIRGATE_TEST_PROBER_H

#include "run_suite.h"

TCase *robots_case(void);
TCase *scope_case(void);
TCase *traps_case(void);
TCase *links_case(void);
TCase *urls_case(void);
TCase *settings_case(void);

#endif
