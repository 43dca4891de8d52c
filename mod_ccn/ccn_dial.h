/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_dial.h - faces that we open: to a forwarder that CcnForwarder names, where our prefixes are registered.
 *
 * One process's threads do (shm_keeps), of the newest configuration; when it ends, another's.  A connection that ends
 * is opened again, after a pause that grows from 100 ms to 5 s; then the prefixes are registered again, for a route
 * dies with its face (ccn_register.h).
 */
#ifndef FAIRGATE_CCN_DIAL_H
#define FAIRGATE_CCN_DIAL_H

#include "ccn_child.h"

/* A connection to it, which is the caller's; -1 and errno.  It takes some seconds at most. */
int ccn_dial_connect(const struct ccn_forwarder *to);

/* In a child: a thread for each forwarder. */
void ccn_dial_child_init(apr_pool_t *pchild, server_rec *s);

#endif
