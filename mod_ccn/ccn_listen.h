/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_listen.h - faces of programs on this machine, over a unix socket that CcnListen names: clients, and forwarders
 * that connect to one.
 *
 * The parent makes the socket at each start of a configuration, and takes it away at its end; a path where another
 * server still listens, or that is no socket, is an error.  Anybody on this machine may connect (the folder it lies in
 * says who gets there), and is 127.0.0.1 to httpd.  In each child a thread accepts, and each connection has a thread of
 * its own, CCN_LISTEN_MAX of them at most; seats (ccn_seats.h), by the user of who connects, make room among them.
 */
#ifndef FAIRGATE_CCN_LISTEN_H
#define FAIRGATE_CCN_LISTEN_H

#include "ccn_config.h"

#define CCN_LISTEN_MAX 64u          /* connections of a child's */

/* In post_config: OK, or an error that was logged. */
int  ccn_listen_open(apr_pool_t *pconf, server_rec *s);
void ccn_listen_child_init(apr_pool_t *pchild, server_rec *s);

#endif
