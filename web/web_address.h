/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * web_address.h - which addresses are nobody's to ask for, by those for whom a server of ours fetches.
 *
 * The judgement is of the address that a connection is about to go to, when it is about to: a name says nothing about
 * where it leads, nor that it will lead there the next time.  An IPv4 address in the clothes of IPv6 (mapped, NAT64,
 * 6to4) is judged as what it is.  Ranges are those of RFC 6890 and its successors; an IPv6 address that is in none of
 * them and not global unicast is WEB_NEVER, and so is any other family.
 */
#ifndef FAIRGATE_WEB_ADDRESS_H
#define FAIRGATE_WEB_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

enum web_range {
    WEB_PUBLIC,
    WEB_PRIVATE,        /* of this machine, of a network like ours, of examples */
    WEB_NEVER           /* link-local (where clouds keep their secrets), multicast, reserved: only if written out */
};

enum web_range web_address_range(const struct sockaddr *address);
/*
 * Of all the addresses of a network, whose first bits those of the address are, the range furthest from public.  The
 * clothes of IPv4 other than mapped are WEB_NEVER.
 */
enum web_range web_network_range(const struct sockaddr *address, unsigned bits);
bool           web_address_is_loopback(const struct sockaddr *address);

/*
 * ADDRESS or ADDRESS:PORT as somebody wrote it, an IPv6 address in brackets if a port follows it.  Without a port, the
 * port is 0.  0, or -1 if it is none.
 */
int            web_address_read(const char *text, struct sockaddr_storage *address);
/* The same address and, if `given` has one, port. */
bool           web_address_fits(const struct sockaddr *address, const struct sockaddr_storage *given);

#endif
