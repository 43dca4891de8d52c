/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * web_own.h - whether an address belongs to this machine.
 *
 * The kernel's routing table decides (RTM_GETROUTE): it knows the addresses of every interface, local routes and
 * anycast addresses, and it is asked at each connection.  An IPv4 address inside an IPv6 address (mapped, NAT64, 6to4)
 * is looked up too.
 *
 * LIMIT.  If a router translates a public address to an address of this machine, the kernel does not know that public
 * address.
 */
#ifndef FAIRGATE_WEB_OWN_H
#define FAIRGATE_WEB_OWN_H

#include <stdbool.h>
#include <sys/socket.h>

/* True also if the kernel does not answer.  False if no route leads to the address. */
bool web_address_is_own(const struct sockaddr *address);

#endif
