/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_pools.h - PHP-FPM's pools that the configuration passes requests to: how many requests each serves at one time.
 *
 * Requests beyond that wait in PHP-FPM in the order of arrival, without classes.  So `QosWindow auto` without max= lets
 * in no more than the pools serve.  That holds if each other backend has a <Proxy> with a window of its own, and no
 * other section has one.
 *
 * Reads the configuration tree and the files of pools, which are the administrator's, in the parent.
 */
#ifndef FAIRGATE_QOS_POOLS_H
#define FAIRGATE_QOS_POOLS_H

#include <httpd.h>

#include "qos_config.h"

struct qos_pool {
    const char *name, *file;
    uint32_t    children;       /* pm.max_children */
};
typedef void qos_pool_found(void *of, const struct qos_pool *pool);

void qos_pools(apr_pool_t *p, qos_pool_found *found, void *of);
/* Before the settings are in force. */
void qos_pools_fit(apr_pool_t *p, server_rec *s, struct qos_server *conf);

#endif
