/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_status.h - seeing it: the handler qos-status, and lines in mod_status.
 *
 *     /qos-status               a page for people that refreshes itself
 *     /qos-status?json          one JSON object
 *     /qos-status?prometheus    Prometheus text format 0.0.4
 *
 * Shares are of the bytes of all classes since the start.
 */
#ifndef FAIRGATE_QOS_STATUS_H
#define FAIRGATE_QOS_STATUS_H

#include <httpd.h>

int qos_status_handler(request_rec *r);
int qos_status_lines(request_rec *r, int flags);    /* mod_status's hook */

#endif
