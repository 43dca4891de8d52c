/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_park.h - when a request is parked: what QosPark says, and what its URL is known to do.
 *
 * A request that waits at the backend (a long poll, a session's lock, an event stream) keeps a slot and does no work.
 * Its response tells how long it took, never whether it worked.  So
 *
 * - without QosPark a request is parked after QOS_PARK_USUAL_US.  That teaches its URL the time, while it goes on;
 * - a request whose URL is known to take as long as it may is parked as it is released, and is not charged.  Its time
 *   goes on teaching its URL: after a few responses a backend that hung for a while is known to be quick again;
 * - not while this machine's CPUs are busy (QOS_PARK_BUSY): such a request may be what keeps them so.  Niced processes
 *   do not count: they give way.
 *
 * Nor is any request parked for its time while parked ones of its backend have three quarters of the threads that the
 * windows leave over.  Each keeps its thread, and one more is released for it: a backend that hangs, or one that makes
 * its clients wait, leaves the other threads to others.
 *
 * What a client makes slow says nothing of the URL: the time of a request that was parked for its client while it
 * occupied its backend (shm_row.slow) teaches nothing.  Nor is a URL known by the mean of its directory.
 *
 * PHP-FPM serves a parked request with one of a few workers.  There it waits for its turn as a request that takes long,
 * and counts as one until the handler has all of the response (rs_reserve.h).  So does a download to a slow client.
 *
 * A backend on another machine is judged by this machine's CPUs: where its long requests work, QosPark Off says so.
 */
#ifndef FAIRGATE_QOS_PARK_H
#define FAIRGATE_QOS_PARK_H

#include "qos_request.h"

#define QOS_PARK_USUAL_US UINT64_C(10000000)
#define QOS_PARK_PRICE_US UINT64_C(1000) /* what a class must have earned for a request that waits */
#define QOS_PARK_BUSY     900u /* of 1,000 parts of the CPUs' time */

/* Of a classified request, by what the configuration says where it goes. */
void qos_park_set(struct qos_request *q, const struct qos_park *said);

/* shm_host.parked_long; the tag of a ticket is the key of its URL's time. */
void qos_park_learn(const struct shm_view *v, rs_ticket_t t, uint64_t us);

/* shm_host.may_park */
bool qos_park_may(const struct shm_view *v, uint32_t outlet);

/* Once a second, in one process: how busy the CPUs were since the last call. */
void qos_park_look(void);

#endif
