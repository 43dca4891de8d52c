/* SPDX-License-Identifier: BSD-2-Clause */
/* run_suite.h - what the main of a program with one suite returns. */
#ifndef FAIRGATE_RUN_SUITE_H
#define FAIRGATE_RUN_SUITE_H

#include <check.h>

static inline int run_suite(Suite *s) {
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

#endif
