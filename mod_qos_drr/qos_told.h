/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qos_told.h - who was told of late to come back soon: once each, so that who keeps no cookies does not come for ever.
 *
 * In the gateway's area of the segment, a place for as many as it has: of two who share one the later is remembered.
 * Who is forgotten is told once more, and what children write there makes nobody anything but that.
 */
#ifndef FAIRGATE_QOS_TOLD_H
#define FAIRGATE_QOS_TOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define QOS_TOLD_PLACES 32768u
#define QOS_TOLD_S      60u                     /* once in so many seconds */

struct qos_told { _Atomic uint64_t at[QOS_TOLD_PLACES]; };      /* 32 bits of whose, 32 of the second */

/*
 * who: any 64 bits of a hash; now: seconds.  Is he to be told to come back in `soon` seconds?  Not, if he was, and this
 * is so much later that he has come back; requests that came together are told alike.
 */
bool qos_told_once(struct qos_told *t, uint64_t who, uint64_t now, uint32_t soon);

#endif
