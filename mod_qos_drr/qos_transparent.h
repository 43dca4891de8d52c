/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_transparent.h - requests that the kernel brings here on their way to a website's own port (website-gateway paper
 * 4.1 and Fig. 8): iptables redirects them (etc/iptables/fairgate-transparent, mode site), and the kernel tells where
 * they were going.
 *
 * Such a request is handed to mod_proxy, for the address and port that its client connected to: not those that it
 * names, or the gateway would fetch from wherever strangers like.  A connection that was not redirected is refused: it
 * would go to the gateway itself.  So is one to an address of loopback, of a link, or that no server has, however the
 * client wrote it.  A server of this host is connected to from an address that is no server's (qos_source.h).
 */
#ifndef FAIRGATE_QOS_TRANSPARENT_H
#define FAIRGATE_QOS_TRANSPARENT_H

#include "qos_request.h"

/* Hook: before all that maps URLs. */
int qos_transparent_translate(request_rec *r);

/* Where this connection was going, for rules; where it came if it was not redirected, or nobody asks. */
const apr_sockaddr_t *qos_transparent_meant(conn_rec *c);

#endif
