/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_cost.h - what a request costs its class (QosCharge).  The engine counts cost, calls it bytes, and does not care.
 *
 *     bytes   those of its answer
 *     time    microseconds in which it has a slot at the server, from release to the end of the work there; none while
 *             it is parked for its client, or its body
 *     both    its class's dominant share (Ghodsi et al., Dominant Resource Fairness, 2011): time or bytes, whichever of
 *             the two the class has more of.  A byte costs as many microseconds as there are of slots in the time in
 *             which the server sends one when it sends as fast as it was ever seen to in three seconds on end (what
 *             fills buffers is over in one), and one at most; and half of what it cost before after each second in
 *             which it sent less than half as fast, or than 1 MB.  Who sends less runs out of something else, and a
 *             light class that pays all the same has so little that nobody ever sees more.
 *
 * Dominant is what a class has had more of in all, not one request of it: a class that asks for pages that take long
 * and for files is not charged for each what it is.  So the class keeps how far its bytes are ahead of its time
 * (shm_view.leads), one second of the whole server at most, and what only catches up costs nothing.
 *
 * Where there are outlets with windows of their own (qos_outlet.h), each is a server by itself: a byte's price is made
 * of its window and of how fast its answers leave, and what a class had of the others is not looked at.
 *
 * A part of each resource by weight is what every class has when it wants it; what one leaves, the others get.
 */
#ifndef FAIRGATE_QOS_COST_H
#define FAIRGATE_QOS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rs.h"
#include "shm/shm.h"

/*
 * Where time counts: a slot that somebody gave back waits for his next request so long at most, and nothing of what a
 * class owes is forgiven.  It has had the slots, and pays with no more than three quarters of what it earns.
 */
#define QOS_AWAIT_US UINT64_C(50000)

enum qos_charge { QOS_CHARGE_BYTES, QOS_CHARGE_TIME, QOS_CHARGE_BOTH };

#define QOS_OUTLETS 64u             /* that the engine can have, the server's own window among them */

/* How fast answers of an outlet leave: in the gateway's area of the segment.  Zeroes at first. */
struct qos_rate {
    _Atomic uint64_t since, bytes;      /* of the second that is under way */
    _Atomic uint64_t before[2];         /* bytes/s, of the second before that, and of the one before */
    _Atomic uint64_t peak;              /* bytes/s, slowly forgotten */
    _Atomic uint32_t price;             /* of a byte: microseconds of a slot x 2^20; 0 = there are enough */
};

struct qos_costs {
    enum qos_charge        charge;
    struct qos_rate       *rate;        /* QOS_OUTLETS of them, used with `both` alone */
    const struct shm_view *view;
};

/* What so many bytes of an outlet would cost if they were all that a class has. */
uint64_t qos_cost_of_bytes(const struct qos_costs *k, uint32_t outlet, uint64_t bytes);
/* So many bytes left the server beside what is charged: how fast it sends is known by them, too. */
void     qos_cost_saw(const struct qos_costs *k, uint32_t outlet, uint64_t now, uint64_t bytes);
/* What a request costs that is expected to take so long, or 0 where that is not known, and to bring so much. */
uint64_t qos_cost_expected(const struct qos_costs *k, uint32_t outlet, uint64_t us, uint64_t bytes);
/*
 * What a request that had its slot for `took` microseconds counts in the running mean of its URL, which is `usual` (0:
 * not known).  That mean tells brief requests from long ones, and must not follow the times that they wait at the
 * backend: it counts as twice the usual time at most, or as 5/4 if it was released into a crowd (rs_crowded).  So it is
 * more like a median: a URL of which less than a third of the requests take long stays brief.
 */
uint64_t qos_cost_taught(uint64_t usual, uint64_t took, bool crowded);
/*
 * With the lock: so much more of either of a class at an outlet, by their numbers in the engine; what it costs.  What
 * it had is counted (struct shm_class).
 */
uint64_t qos_cost_bytes(const struct qos_costs *k, uint32_t class, uint32_t outlet, uint64_t now, uint64_t bytes);
uint64_t qos_cost_time(const struct qos_costs *k, uint32_t class, uint32_t outlet, uint64_t us);

#endif
