/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_lead.h - keeps the hooks (pk_hook.h) at the device by which the other end is reached, and leads packets to ours as
 * long as both devices are up.
 *
 * Which device that is `link` says, or routing: it is asked each second, when a device changes, and when the other end
 * is elsewhere than before.  An administrator who wants no packets to come to our device takes it down.  Filters that
 * somebody has taken away are put back.  What another daemon wants, too, is said.
 */
#ifndef FAIRGATE_PK_LEAD_H
#define FAIRGATE_PK_LEAD_H

#include "pk_hook.h"

#include <stdatomic.h>

typedef struct pk_lead pk_lead_t;

/* Memory that who leads packets and who parses them have.  Each believes the other one no more than is said here. */
struct pk_shared {
    /* who leads writes: */
    atomic_uint      aside;     /* enum pk_why, whether and why packets are not led to the device */
    _Atomic uint64_t clashes;   /* packets that another daemon wanted, too, and so nobody has taken */
    /*
     * who parses packets writes: where the other end is, if the configuration does not say that.  It chooses the device
     * that packets are taken from by that, among those that routing has, unless `link` names one.  An address of
     * another family than `local` is none; and of many only some are taken, the newest of them each time (pk_lead.c,
     * MOVES).
     */
    atomic_uint      moved;     /* twice for each time; odd while the address is written; 0: it is not known */
    _Atomic uint64_t address[2];        /* as on the wire; IPv4 in ::ffff:0:0/96 */
};

/* By who parses packets, one thread at a time. */
void       pk_lead_tell(struct pk_shared *shared, const struct sockaddr_storage *there);

/* NULL and *error, a sentence that the caller frees. */
pk_lead_t *pk_lead_start(const struct pk_config *c, pk_hook_t *hook, struct pk_shared *shared, char **error);
/* Readable: pk_lead_look is due, which is so ten times a second anyway. */
int        pk_lead_fd(const pk_lead_t *l);
void       pk_lead_look(pk_lead_t *l);
void       pk_lead_stop(pk_lead_t **l);

#endif
