/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_route.h - the way of packets to the device and past it.
 *
 *     priority        from the device, and from this machine itself, which a packet from the device could not come back to: skip the next rules
 *     priority + 1    from a server and its port to a client (parent: back, too): look into our table, which has one route, to the device
 *     priority + 2    nothing; where the first one leads
 *
 * It fails open: a device that is gone or down takes the table's route with it, and what finds no route there goes on to the rules behind, as if we
 * were not there.  `ip` of iproute2 does the work.
 */
#ifndef FAIRGATE_PK_ROUTE_H
#define FAIRGATE_PK_ROUTE_H

#include "pk_config.h"

/* Whether this machine would let packets pass: NULL, or a sentence that the caller frees. */
char *pk_route_obstacle(const struct pk_config *c);
/* Rules and routes; what an earlier process left is taken away first.  0, or -1 and *error, a sentence the caller frees. */
int   pk_route_set(const struct pk_config *c, bool parent, char **error);
/* The route alone, when the device is up again. */
int   pk_route_again(const struct pk_config *c, char **error);
void  pk_route_clear(const struct pk_config *c);
/* A socket that is readable when some device changes, or -1; whether ours came up since it was asked last, so that its route is gone. */
int   pk_route_watch(void);
bool  pk_route_lost(int watch, const struct pk_config *c);

#endif
