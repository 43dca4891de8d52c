/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_register.h - our prefixes at a forwarder that we have connected to: commands that are signed Interests (NFD
 * management, "RIB"), and what it says to them.
 *
 * A forwarder takes commands below /localhost from the programs of its own machine and drops those of others, without
 * a word; others are heard below /localhop if it is set so.  Who is at a unix socket or a loopback address is asked
 * below /localhost, anybody else below /localhop.  What has no answer, or was refused, is asked for again and again,
 * below the other one every second time: a forwarder in a container may take us for a stranger.
 */
#ifndef FAIRGATE_CCN_REGISTER_H
#define FAIRGATE_CCN_REGISTER_H

#include "ccn_face.h"

/* All of it belongs to the face's thread. */
struct ccn_register {
    server_rec      *server;
    const char      *forwarder;             /* as people call it */
    struct ccn_face *face;
    bool             far;                   /* it is not on this machine */
    unsigned         tries;
    uint64_t         due;                   /* when what is left is asked for again */
    bool             told_silent, told_refused;
    int              left;                  /* prefixes that are not registered */
    struct ccn_dialed *shown;               /* where others see how far it is; may be NULL */
    uint8_t          at[CCN_PREFIXES_MAX];  /* how far each of the host's is */
};

/*
 * Asks for all prefixes of the server's on a new face, whose open socket `fd` is; `r`, zeroed but for server, forwarder
 * and shown, hears of the answers.
 */
void ccn_register_begin(struct ccn_register *r, struct ccn_face *f, int fd);
/* The face has ended. */
void ccn_register_end(struct ccn_register *r);

#endif
