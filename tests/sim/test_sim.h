/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sim.h - what the scenario programs share.
 *
 * Each scenario prints the figures that it judges, so a log tells more than pass or fail.  A tolerance is derived where
 * it stands.  Seeds are fixed; scenarios about distributions run over TEST_SEEDS of them and every one must pass.
 */
#ifndef FAIRGATE_TEST_SIM_H
#define FAIRGATE_TEST_SIM_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/run_suite.h"
#include "sim_host.h"

#define TEST_SEEDS   20
#define TEST_SECONDS 600        /* a scenario may take under sanitizers on a busy machine */

#define WITHIN(what, value, want, tolerance)                                                                           \
    do {                                                                                                               \
        double within_value = (value), within_want = (want), within_by = (tolerance);                                  \
        ck_assert_msg(fabs(within_value - within_want) <= within_by, "%s: %.4f is not %.4f +- %.4f", what,             \
                      within_value, within_want, within_by);                                                           \
    } while (0)

#define AT_LEAST(what, value, least)                                                                                   \
    do {                                                                                                               \
        double at_value = (value), at_least = (least);                                                                 \
        ck_assert_msg(at_value >= at_least, "%s: %.4f is less than %.4f", what, at_value, at_least);                   \
    } while (0)

#define AT_MOST(what, value, most)                                                                                     \
    do {                                                                                                               \
        double at_value = (value), at_most = (most);                                                                   \
        ck_assert_msg(at_value <= at_most, "%s: %.4f is more than %.4f", what, at_value, at_most);                     \
    } while (0)

/* `times`: each test runs with _i from 0 to times - 1. */
static inline int test_sim_run(const char *name, const TTest *const *tests, size_t n, int times) {
    setvbuf(stdout, NULL, _IOLBF, 0);   /* a test that fails says how far it came */
    Suite *suite = suite_create(name);
    for (size_t i = 0; i < n; i++) {
        TCase *tcase = tcase_create(tests[i]->name);
        tcase_set_timeout(tcase, TEST_SECONDS);
        tcase_add_loop_test(tcase, tests[i], 0, times);
        suite_add_tcase(suite, tcase);
    }
    return run_suite(suite);
}

#endif
