/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_keeper.h - what is done in the background for what all children use: the prober's table read when it changes,
 * sizes shared with other gateways (qos_share.h), names of crawlers looked up (qos_crawler.h), keys of those that sign
 * fetched (qos_signers.h), figures kept for the console (qos_console.h).
 *
 * Each child has a thread for either, if it is configured, that wakes once a second.  One child's are at work: the
 * keeper's, of the newest generation; another child takes over when it ends.  No request ever waits for them, the table
 * does not wait for a cache, and a child that ends does not wait for long.  Only the table of crawlers each child reads
 * for itself.
 *
 * All of it is done with the rights of httpd's user, the first time too: the parent, which is root, reads nothing into
 * memory that children write.
 */
#ifndef FAIRGATE_QOS_KEEPER_H
#define FAIRGATE_QOS_KEEPER_H

#include <httpd.h>

/* In a child; `first`: of its generation.  0, or an errno: then this child keeps nothing, others may. */
int qos_keeper_start(apr_pool_t *pchild, server_rec *s, int first);
/* Of this child's threads: are they at work; are they to end (P.keeper_stop, a word to wait on)? */
int qos_keeper_leads(void);
int qos_keeper_stopping(void);

#endif
