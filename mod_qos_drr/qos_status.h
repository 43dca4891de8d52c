/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_status.h - seeing it: the handler qos-status, and lines in mod_status.
 *
 *     /qos-status               a page for people that refreshes itself
 *     /qos-status?json          one JSON object
 *     /qos-status?prometheus    Prometheus text format 0.0.4
 *     /qos-status?console       a page that is live (qos_console.h)
 *
 * Shares are of the bytes of all classes since the start.
 */
#ifndef FAIRGATE_QOS_STATUS_H
#define FAIRGATE_QOS_STATUS_H

#include <httpd.h>

#include "base/base_report.h"

struct rs_figures;
struct qos_paper_look;

int qos_status_handler(request_rec *r);
int qos_status_lines(request_rec *r, int flags);    /* mod_status's hook */

/*
 * What the console shows, of at most so many classes; in the pool.  Where QosEngine only observes, it is of *dry_run,
 * which is NULL elsewhere.
 */
const struct rs_figures *qos_status_figures(apr_pool_t *p, uint32_t most, const struct qos_paper_look **dry_run);
struct base_sink         qos_status_client(request_rec *r);

#endif
