/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_guard.h - a process that looks whether the daemon's threads go on, and takes the device down when one does not:
 * packets take their plain way then.
 *
 * A thread beats at least every PK_BEAT_MOST microseconds.  When one has not for PK_GUARD_STALL, the device goes down,
 * which takes its route along; when all beat again, it comes up, and the daemon sets its route again.  The guard ends
 * with the daemon.  A guard that ends before is replaced (pk_guard_look).
 *
 * TRUST.  A guard is the program run anew, with two descriptors and the memory of the beats: nothing of what the daemon
 * knows (the pair's secret, keys, payloads) is in its memory, whenever it began.  It is in a session of its own; if
 * both are stopped all the same, there is pk_lease.h.
 */
#ifndef FAIRGATE_PK_GUARD_H
#define FAIRGATE_PK_GUARD_H

#include "pktcache/pk_config.h"

#define PK_BEAT_MOST   50000u
#define PK_GUARD_STALL 300000u

#define PK_GUARD_WORD "--guard"     /* of the command line: main then calls pk_guard_run, and returns what that does */

typedef struct pk_guard pk_guard_t;

/* To be called before there are threads or a device.  NULL and *error, a sentence the caller frees. */
pk_guard_t *pk_guard_start(const struct pk_config *c, char **error);
/* The device is up: from now on the threads are watched. */
void        pk_guard_watch(pk_guard_t *g);
/* A thread goes on. */
void        pk_guard_beat(pk_guard_t *g, unsigned thread);
/* Now and then: starts another guard when this one has ended.  Its process. */
int         pk_guard_look(pk_guard_t *g);
/* How often the device was taken down. */
unsigned    pk_guard_stalls(const pk_guard_t *g);
void        pk_guard_stop(pk_guard_t **g);

int         pk_guard_run(void);

#endif
