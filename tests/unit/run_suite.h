/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_suite.h - what the main of a test program returns, and how many tests it holds.
 *
 *     return run_suite(s);            one suite
 *     return run_suites(runner);      a runner with several
 *
 * Each file that adds tests includes this one, which counts them as they are added.  A program that runs fewer than it
 * was given, or none, fails, whatever is left out by Check's own variables (CK_RUN_CASE and others) excepted, and that
 * is said.  A ck_assert in an inner loop costs what its comparison costs: each place tells Check only once in a test
 * that it was passed.  What Check calls the last known line of a test that died is the place that was reached last for
 * the first time.
 *
 * With RUN_SUITE=count in the environment it only prints the number that it holds: tests/run compares that with what
 * the log says.
 */
#ifndef FAIRGATE_RUN_SUITE_H
#define FAIRGATE_RUN_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One for the whole program, however many of its files include this. */
__attribute__((weak)) int run_suite_held;

/* Check's own writes a message into a file each time, which the parent of the test reads and takes apart. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                                       \
    ((expr) ? ({                                                                                                       \
        static bool run_suite_told;                                                                                    \
        if (!run_suite_told) _mark_point(__FILE__, __LINE__);                                                          \
        run_suite_told = true;                                                                                         \
    }) : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", ##__VA_ARGS__))

/* All of Check's tcase_add_* end in this call. */
#define _tcase_add_test(tcase, test, signal, status, first, end)                                                       \
    (run_suite_held += (int)(end) - (int)(first),                                                                      \
     (_tcase_add_test)((tcase), (test), (signal), (status), (first), (end)))

static inline int run_suites(SRunner *r) {
    const char *asked = getenv("RUN_SUITE");
    if (asked && strcmp(asked, "count") == 0) {
        printf("%d\n", run_suite_held);
        srunner_free(r);
        return EXIT_SUCCESS;
    }
    srunner_run_all(r, CK_ENV);
    int ran = srunner_ntests_run(r), failed = srunner_ntests_failed(r);
    srunner_free(r);
    if (ran != run_suite_held) {
        bool chosen =
            getenv("CK_RUN_SUITE") || getenv("CK_RUN_CASE") || getenv("CK_INCLUDE_TAGS") || getenv("CK_EXCLUDE_TAGS");
        printf("%d tests ran of %d that the program holds%s\n", ran, run_suite_held,
               chosen ? ", as CK_... in the environment asks"
                      : "; a file that adds tests without run_suite.h is not counted");
        if (!chosen)
            return EXIT_FAILURE;
    }
    if (ran == 0) {
        printf("no test ran\n");
        return EXIT_FAILURE;
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline int run_suite(Suite *s) { return run_suites(srunner_create(s)); }

#endif
