/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_httpd.h - what modules ask of httpd, without httpd: what is logged is kept, and the MPM answers what a test
 * says.
 */
#ifndef FAIRGATE_TEST_HTTPD_H
#define FAIRGATE_TEST_HTTPD_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ap_mpm.h>
#include <apr_general.h>
#include <apr_pools.h>
#include <http_log.h>

#include "run_suite.h"

#define ROWS(a) (int)(sizeof(a) / sizeof *(a))

static char logged[16384];
static apr_pool_t *process_pool, *pconf;
static process_rec process;
static server_rec server;

/* Exported by httpd to its modules. */
void ap_log_error_(const char *file, int line, int module, int level, apr_status_t status, const server_rec *s,
                   const char *form, ...) {
    size_t n = strlen(logged);
    va_list args;

    (void)file, (void)line, (void)module, (void)level, (void)status, (void)s;
    va_start(args, form);
    vsnprintf(logged + n, sizeof logged - n - 1, form, args);
    va_end(args);
    strcat(logged, "\n");
}

__attribute__((unused)) static unsigned times_logged(const char *words) {
    unsigned n = 0;

    for (const char *at = logged; (at = strstr(at, words)) != NULL; at++) n++;
    return n;
}

static void begin_httpd(void) {
    ck_assert_int_eq(apr_initialize(), APR_SUCCESS);
    ck_assert_int_eq(apr_pool_create(&process_pool, NULL), APR_SUCCESS);
    ck_assert_int_eq(apr_pool_create(&pconf, process_pool), APR_SUCCESS);
    process.pool = process_pool;
    server.process = &process;
    server.log.level = APLOG_INFO;
    logged[0] = 0;
}

/* What was configured goes, as when httpd restarts; what is kept stays. */
__attribute__((unused)) static void restart_httpd(void) { apr_pool_clear(pconf); }

static void end_httpd(void) {
    apr_pool_destroy(process_pool);
    apr_terminate();
}

#endif
