/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_status.h - what is going on, for people (SetHandler ccn-status), as JSON (?json), for Prometheus (?prometheus),
 * and in mod_status.  The figures have the names that all our hosts use (docs/figures.md); work, which the engine
 * counts in microseconds, is shown as seconds of service.
 */
#ifndef FAIRGATE_CCN_STATUS_H
#define FAIRGATE_CCN_STATUS_H

#include <httpd.h>

void ccn_status_second(apr_pool_t *p);      /* to be called now and then: a sample for the console, if one is due */

int ccn_status_handler(request_rec *r);
int ccn_status_lines(request_rec *r, int flags);

#endif
