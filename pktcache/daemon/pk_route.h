/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_route.h - the way of packets to the device and past it.
 *
 *     priority        what comes from the device skips the next rules; and so does what this machine itself sends,
 *                     since such a packet would not be let in again when it comes from the device
 *     priority + 1    what goes from a server and its port to a client (parent: and back): look into our table, which
 *                     has one route, to the device
 *     priority + 2    does nothing; it is where the first one leads
 *
 * It fails open: a device that is gone or down takes the table's route with it, and what finds no route there goes on
 * to the rules behind, as if we were not there.  `ip` of iproute2 does the work.
 */
#ifndef FAIRGATE_PK_ROUTE_H
#define FAIRGATE_PK_ROUTE_H

#include "pktcache/pk_config.h"

/* Whether this machine would let packets pass: NULL, or a sentence that the caller frees. */
char *pk_route_obstacle(const struct pk_config *c);
bool  pk_route_has_family(const struct pk_config *c, bool four);
/*
 * Rules and, if `led`, routes; what an earlier process left is taken away first.  0, or -1 and *error, a sentence the
 * caller frees.
 */
int   pk_route_set(const struct pk_config *c, bool parent, bool led, char **error);
/* The route alone, when the device is up again; or away with it alone: the rules lead nowhere then. */
int   pk_route_again(const struct pk_config *c, char **error);
void  pk_route_aside(const struct pk_config *c);
void  pk_route_clear(const struct pk_config *c);

/* Whether something of what pk_route_set has made is gone.  What can't be found out is not. */
bool  pk_route_rules_lack(const struct pk_config *c, bool parent);
bool  pk_route_lacks(const struct pk_config *c);
/*
 * A socket that is readable when some device changes or some rule goes, or -1; what has become of them since it was
 * asked last.
 */
struct pk_route_changes { bool up /* our device came, so it has no route */, rules; };
int   pk_route_watch(void);
struct pk_route_changes pk_route_changed(int watch, const struct pk_config *c);

#endif
