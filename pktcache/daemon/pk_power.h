/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_power.h - what power the daemon's processes have, and how each gives up what it does not need.
 *
 *     process   what it may do                             from whom it takes what
 *     packets   nothing: no capability, no way to one,     strangers: the link, the device, who asks for figures
 *               and of the system calls those of a list
 *               (pk_calls.h)
 *     helper    CAP_NET_ADMIN (pk_helper.h)                packets: one byte at a time, of a table; an
 *                                                          address (pk_lead.h)
 *     names     no capability (pk_names.h)                 packets: one byte; servers of names
 *
 * All are one user's, who is not root.  The first has the pair's secret; the others have begun before it was read.
 * What only a greater power can do is done before any of that: the device, the programs for the kernel, sockets with
 * large buffers, reading the secret.
 *
 * TRUST.  Who takes over the process of packets has what that has: the secret, what is stored, the device's packets.
 * Of the machine it can ask that packets are led no longer, or, unless the configuration says where the other end is or
 * what the link's device is, from the device that leads to an address of its choice, some times a minute; and through
 * the device it can send what the programs in the kernel let pass (pk_hook.h): packets from a server to a client.
 */
#ifndef FAIRGATE_PK_POWER_H
#define FAIRGATE_PK_POWER_H

#include <stdbool.h>

#include <sys/types.h>

struct pk_user { uid_t user; gid_t group; };

/*
 * Who the daemon is to be.  Whom somebody else than root has started stays who that is.  The usual user need not be
 * there: nobody takes the place, and that is said.  0, or -1 and *error, a sentence that the caller frees.
 */
int  pk_power_user(struct pk_user *u, const char *name, char **error);
/*
 * This thread, and those that it will make, are that user's from now on, for good; net_admin: programs that it runs,
 * too, have CAP_NET_ADMIN, otherwise nothing.  0, or -1 and *error.
 */
int  pk_power_keep(const struct pk_user *u, bool net_admin, char **error);

#endif
