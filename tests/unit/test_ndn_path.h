/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ndn_path.h - fetches over a path in simulated time, test_ndn_path.c; and what both files need. */
#ifndef FAIRGATE_TEST_NDN_PATH_H
#define FAIRGATE_TEST_NDN_PATH_H

#include "run_suite.h"
#include "test_ndn_fetch.h"

TCase *path_case(void);

#endif
