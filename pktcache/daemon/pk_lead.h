/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_lead.h - leads packets to the device, as long as that is good for them: sets rules and routes (pk_route.h), looks
 * after them, and decides by what becomes of connections (pk_way.h, pk_sight.h, pk_filter.h).
 *
 * Other programs delete rules that they did not make (systemd-networkd, when it is started again).  Those are set
 * again, once a second at most.  An administrator who wants no packets to go to the device takes it down: then nothing
 * is set.
 */
#ifndef FAIRGATE_PK_LEAD_H
#define FAIRGATE_PK_LEAD_H

#include "pk_lane.h"

typedef struct pk_lead pk_lead_t;

/* NULL and *error, a sentence the caller frees. */
pk_lead_t *pk_lead_start(struct pk_common *common, char **error);
/* Readable: pk_lead_look is due, which is so ten times a second anyway. */
int        pk_lead_fd(const pk_lead_t *l);
void       pk_lead_look(pk_lead_t *l, pk_lane_t *const *lane);
void       pk_lead_stop(pk_lead_t **l);

#endif
