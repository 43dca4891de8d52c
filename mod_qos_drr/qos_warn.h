/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_warn.h - settings that httpd accepts and that silently have no effect: `apachectl configtest` and each start warn
 * about them, and name the cure.
 *
 * Reads the configuration tree, and PHP-FPM's files of pools where the configuration names a pool's socket.
 */
#ifndef FAIRGATE_QOS_WARN_H
#define FAIRGATE_QOS_WARN_H

#include <httpd.h>

#include "qos_config.h"

/* In `configtest`, or at a start, when the MPM has fixed its limits. */
void qos_warn(apr_pool_t *p, server_rec *s, const struct qos_server *conf);

#endif
