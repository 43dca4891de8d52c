/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_lane.h - a thread: one queue of the device, one socket, and one side (pk_side.h) between them.  Lanes share the
 * store and nothing else.
 */
#ifndef FAIRGATE_PK_LANE_H
#define FAIRGATE_PK_LANE_H

#include "pk_lead.h"
#include "pktcache/pk_config.h"
#include "pktcache/pk_flows.h"
#include "pktcache/pk_out.h"
#include "pktcache/pk_secret.h"
#include "pktcache/pk_session.h"
#include "pktcache/pk_store.h"
#include "pktcache/pk_why.h"

#include <pthread.h>
#include <stdatomic.h>

#define PK_SEEN_FLOWS 64u
#define PK_BEAT_MOST  50000u       /* microseconds between two turns of a thread */

/* What the daemon has in common. */
struct pk_common {
    const struct pk_config   *c;
    enum pk_role              role;
    struct pk_secrets         secrets;
    struct pk_fingerprint_key key;      /* child: of its cache */
    struct pk_ready           ready;    /* child: its cache */
    pk_store_t               *store;
    pk_hook_t                *hook;
    struct pk_shared         *shared;   /* with who leads packets to the device */
    /* secrets and there, and telling who leads packets where the other end is, once there are threads */
    pthread_mutex_t           lock;
    atomic_uint               renewed;  /* how often one of these has changed; the secrets: */
    unsigned                  secrets_renewed;
    struct sockaddr_storage   there;    /* of a peer that is a name, with the port of the first queue */
    atomic_uint               stalls;   /* times that a thread did not go on, and packets took their plain way */
};

/* A picture of a lane, at most a tenth of a second old. */
struct pk_seen {
    struct pk_counters counters;
    enum pk_why        why;             /* packets go as they are; PK_WHY_NOTHING: at work */
    unsigned           theirs;          /* the other end's version */
    bool               known;           /* where it is: */
    struct sockaddr_storage there;
    uint32_t           flows;           /* that are followed */
    unsigned           listed;          /* of these, the newest */
    struct pk_flow     flow[PK_SEEN_FLOWS];
};

typedef struct pk_lane pk_lane_t;

/* Opens the socket; tun stays the caller's.  NULL and *error, a sentence the caller frees, or NULL: no memory. */
pk_lane_t *pk_lane_make(struct pk_common *common, unsigned number, int tun, char **error);
/* The thread; 0 or an errno. */
int        pk_lane_start(pk_lane_t *l);
/* From any thread: a peer that is a name is there from now on. */
void       pk_lane_move(struct pk_common *common, const struct sockaddr_storage *there);
void       pk_lane_see(pk_lane_t *l, struct pk_seen *seen);
/* The thread has ended, since its device is gone. */
bool       pk_lane_broken(pk_lane_t *l);
/* Ends the thread, and with it what waits. */
void       pk_lane_stop(pk_lane_t **l);

#endif
