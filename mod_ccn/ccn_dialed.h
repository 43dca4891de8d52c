/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_dialed.h - how it stands with the forwarders that one of the children has connected to, for all who look.
 *
 * A row for each CcnForwarder, in the order of the configuration, in memory that every child may write: a reader takes
 * numbers from it and nothing else, and bounds them.
 */
#ifndef FAIRGATE_CCN_DIALED_H
#define FAIRGATE_CCN_DIALED_H

#include <stdatomic.h>
#include <stdint.h>

#define CCN_DIALED_MAX 64u      /* what is beyond is connected, and not shown */

struct ccn_dialed {
    _Atomic uint64_t holder;    /* the child that has the connection (ccn_seat_holder); 0: none has */
    _Atomic uint32_t registered, refused;   /* prefixes */
};

#endif
