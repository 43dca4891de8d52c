/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_source.h - the address from which QosTransparent connects to a server of this host.
 *
 * The kernel gives a connection to an address of this host that same address as its source.  A server would then take
 * every client for a local one (mod_authz_host's "Require local" compares the two).  The module therefore binds such a
 * connection to an address that belongs to no server: IPv4's dummy address (RFC 7600), or one of IPv6's dummy prefix
 * (RFC 9780).  They are neither loopback nor private, so no usual rule trusts them.  etc/iptables/fairgate-transparent
 * adds them to `lo`.
 *
 * mod_proxy binds what it opens to the ProxySourceAddress of the request's server, one address for both families; if
 * that fails, it connects without.  So each child has, for each server and family, a copy of the server's record whose
 * configuration of mod_proxy names the address and no worker, so that no connection is shared with other requests:
 *
 *     handler, first: r->server is the copy   --   mod_proxy connects   --   request_status: r->server is as before
 *                                                        |
 *                              pre_connection: refused unless the source is that address
 */
#ifndef FAIRGATE_QOS_SOURCE_H
#define FAIRGATE_QOS_SOURCE_H

#include <httpd.h>

#define QOS_SOURCE4 "192.0.0.8"
#define QOS_SOURCE6 "100:0:0:1::8"

/* The backend's address is one of this host.  Called before the handler runs. */
void qos_source_want(request_rec *r, const apr_sockaddr_t *backend);

/* Its hooks.  At start and for `configtest` it warns if the sites of this httpd do not see their clients' addresses. */
void qos_source_register(void);

#endif
