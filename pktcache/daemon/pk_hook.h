/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_hook.h - takes packets from their way to our device, and puts them back where they were taken: programs in the
 * kernel (eBPF), at the device by which the link is reached (clsact) and at ours.
 *
 *     parent, going out by the link      from a server to a client: to our device, instead
 *     parent, coming in by the link      from a client to a server: to our device, a copy
 *     parent, coming from our device     goes out by the link, with the Ethernet header that the last packet to that
 *                                        client had there (or what routing says, if there was none)
 *     child, coming in by the link       from a server to a client: to our device, instead
 *     child, coming from our device      comes in by the link, as if it had come from there just now
 *
 * All that the machine does with a packet it does once, and as if we were not there: routing, the packet filter,
 * connection tracking, address translation, the time to live.  At the parent that is over when a packet goes out, at
 * the child it begins when one comes in.  What comes from our device and is not from a server to a client goes nowhere:
 * whoever takes the daemon over can send nothing else.
 *
 * SEVERAL DAEMONS may take packets from one device, and other ones at other devices of the machine.  A filter of each
 * claims what it wants (preference 4754), and one of each behind those of all takes what it has claimed (4755).  A
 * packet that two claim nobody takes: it goes its plain way, and both count it.  What came from a daemon's device bears
 * a mark (tc_index) past all that stand at the device where it is put back, and is claimed by none of them; there the
 * mark ends.  So no packet goes round, whatever their configurations say.
 *
 * BYPASS.  The parent's daemon may name connections whose packets need not come (pk_bypass.h), as those that are not
 * HTTP: they are passed without waking anybody.
 *
 * LEASE.  Packets are taken only while pk_hook_lead says so and each of the daemon's threads has renewed its lease
 * within PK_LEASE.  The kernel looks at that by itself, at each packet: if the daemon is killed, stopped, frozen or
 * hangs, packets take their plain way.  What waits for it in the device's queue TCP sends again.  The programs stay
 * where they are until a daemon is started that has a device of the same name, or somebody takes them away
 * (`tc filter del dev LINK egress pref 4754`, and ingress; 4755); they let all pass.
 *
 * Needs Linux 5.11; CAP_BPF and CAP_NET_ADMIN to make it, CAP_NET_ADMIN for pk_hook_place and pk_hook_leave.
 */
#ifndef FAIRGATE_PK_HOOK_H
#define FAIRGATE_PK_HOOK_H

#include "pk_bypass.h"
#include "pktcache/pk_config.h"

#define PK_LEASE 300000u        /* microseconds */

typedef struct pk_hook pk_hook_t;

/*
 * A device that packets are taken from; bytes: of its address, 0 if its packets have no Ethernet header; bare: nor any
 * other that the next hop decides about.
 */
struct pk_place { unsigned device, bytes; bool bare; uint8_t address[6]; };

/* c->device is there; nothing is taken yet.  NULL and *error, a sentence that the caller frees. */
pk_hook_t *pk_hook_make(const struct pk_config *c, bool parent, char **error);
/*
 * Who parses packets keeps the lease and the bypass only, and can do nothing of the next five any more.  The other
 * process that has the hook by then (fork) keeps all.
 */
void       pk_hook_keep_lease(pk_hook_t *h);
/* From now on from there, and from nowhere else.  0, or an errno. */
int        pk_hook_place(pk_hook_t *h, const struct pk_place *place);
void       pk_hook_leave(pk_hook_t *h);
/* Whether a filter of that handle is one of ours; 0: all of a preference are. */
bool       pk_hook_has(const pk_hook_t *h, uint32_t handle);
/* Packets since the last time that another daemon wanted, too; *other: its device. */
uint32_t   pk_hook_clashes(pk_hook_t *h, unsigned *other);
/* Whether packets are taken at all. */
void       pk_hook_lead(pk_hook_t *h, bool lead);
/* Parent: its table, which stays the hook's. */
pk_bypass_table_t *pk_hook_bypass(const pk_hook_t *h);
/* By each thread; `now` of CLOCK_MONOTONIC, in microseconds.  Whether it was too late, and packets were not taken. */
bool       pk_hook_renew(pk_hook_t *h, unsigned thread, uint64_t now);
/* Whether packets are not taken now since one of these threads has not renewed it. */
bool       pk_hook_over(const pk_hook_t *h, unsigned threads, uint64_t now);
void       pk_hook_free(pk_hook_t **h);

#endif
