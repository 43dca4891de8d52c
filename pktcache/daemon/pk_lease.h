/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_lease.h - a lease that the daemon's threads renew and the kernel itself looks at: packets are for the device only
 * while all of them have renewed it lately.
 *
 * The guard (pk_guard.h) is a process, and can be stopped together with the daemon: by a frozen control group, by a
 * signal to both.  Nobody is left then who could take the device down.  So a program in the kernel, behind the device's
 * queueing discipline (clsact, egress), reads the clock and the time at which each thread has beaten last, which stands
 * in memory that both see.  If one is older than PK_LEASE, it looks up the packet's plain way, as for a packet that
 * came from the device (pk_route.h: that skips our rules), and sends it there.  The program goes when the device does.
 *
 * Packets that were in the device's queue already wait there for the daemon; TCP sends them again.  What is sent its
 * plain way so has passed FORWARD of the packet filter once, as a packet for the device, and POSTROUTING likewise.
 */
#ifndef FAIRGATE_PK_LEASE_H
#define FAIRGATE_PK_LEASE_H

#include <stddef.h>
#include <stdint.h>

#define PK_LEASE 400000u        /* microseconds */

typedef struct pk_lease pk_lease_t;

/*
 * For a device that is there and is not used yet.  NULL and *error, a sentence that the caller frees: this kernel can't
 * (Linux 5.10 can).
 */
pk_lease_t *pk_lease_make(const char *device, unsigned threads, char **error);
/* `now` of CLOCK_MONOTONIC, in microseconds. */
void        pk_lease_renew(pk_lease_t *l, unsigned thread, uint64_t now);
void        pk_lease_free(pk_lease_t **l);

#endif
