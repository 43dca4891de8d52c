/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_names.h - a process that asks for the address of `peer`, if that is a name, so that the one that parses packets
 * has no need to open files, load the libraries of the name service and speak to servers of names.
 *
 * It begins before all else is made and before the secret is read, so it has nothing of the daemon's, is of the same
 * user without any capability, and lasts as long as the daemon.  What it prints about the name it prints itself, when
 * that changes.
 *
 * TRUST.  It parses what servers of names say.  What it tells is an address, of a fixed length, which is looked at
 * before it is used: of the family of `local`, and of one machine.  Who lies to it has the daemon speak to somebody
 * else, who has no secret: then there is no session, and packets go as they are.
 */
#ifndef FAIRGATE_PK_NAMES_H
#define FAIRGATE_PK_NAMES_H

#include "pk_power.h"
#include "pktcache/pk_config.h"

#define PK_NAMES_EVERY 3000000u     /* microseconds between two questions */

typedef struct pk_names pk_names_t;

/* NULL and *error, a sentence that the caller frees. */
pk_names_t *pk_names_start(const struct pk_config *c, const struct pk_user *u, char **error);
/* Asks for the name once more, unless that is under way; if it has several addresses, they come in turn. */
void        pk_names_ask(pk_names_t *n);
/* Readable: there is something to hear, or it has ended. */
int         pk_names_fd(const pk_names_t *n);
bool        pk_names_gone(const pk_names_t *n);
/* Whether an address has come: *there, with the port of `peer`. */
bool        pk_names_hear(pk_names_t *n, struct sockaddr_storage *there);
void        pk_names_stop(pk_names_t **n);

#endif
