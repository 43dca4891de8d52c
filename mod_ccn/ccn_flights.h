/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_flights.h - which calls are in work, of all processes: an equal one that comes to another process waits for it.
 *
 * A row says what is in work (a hash of what the call means, under a key that nobody outside knows) and whose it is.
 * Whoever finds a row waits until it is gone; then the result stands where all processes find it (ccn_results.h), or
 * there is none that others may have, and who waited runs the call himself.  A row of a process that died is nobody's.
 *
 * LOCK.  The segment's, for a few words at a time.
 * TRUST.  Any child may write here: what comes of it is that a call waits until its own time is over, or runs twice.
 */
#ifndef FAIRGATE_CCN_FLIGHTS_H
#define FAIRGATE_CCN_FLIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#define CCN_FLIGHT_SETS 1024u
#define CCN_FLIGHT_WAYS 8u

struct ccn_flights {
    struct ccn_flight {
        uint64_t key[2], holder;        /* ccn_seat_holder; 0: free */
        uint64_t waited;                /* somebody elsewhere waits for it */
    } row[CCN_FLIGHT_SETS][CCN_FLIGHT_WAYS];
};

enum ccn_flown { CCN_FLIGHT_OURS, CCN_FLIGHT_OTHERS, CCN_FLIGHT_NO_ROOM };

/* It is ours from now on; or somebody else's, who will say when it is over; or there is no room to say so. */
enum ccn_flown ccn_flight_begin(const uint64_t key[2]);
/* Somebody else's still is; true until it is over, or its process. */
bool ccn_flight_goes_on(const uint64_t key[2]);
/* Ours: whether somebody waits for it elsewhere.  If nobody does, it is over. */
bool ccn_flight_is_waited_for(const uint64_t key[2]);
/* Ours is over; who waits elsewhere is woken. */
void ccn_flight_end(const uint64_t key[2]);

#endif
