/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_keeper.h - what is done in the background for the page sizes that all children use: the prober's table read when
 * it changes, sizes shared with other gateways (qos_share.h).
 *
 * Each child has a keeper, a thread that wakes once a second; one of them, of the newest generation, is at work, and another takes over when
 * its child ends.  No request ever waits for it.
 */
#ifndef FAIRGATE_QOS_KEEPER_H
#define FAIRGATE_QOS_KEEPER_H

#include <httpd.h>

/* In the parent, at start and on graceful, before there are children of this configuration. */
void qos_keeper_config(server_rec *s);
/* In a child.  0, or an errno: then this child keeps nothing, others may. */
int  qos_keeper_start(apr_pool_t *pchild, server_rec *s);

#endif
