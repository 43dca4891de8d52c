/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_advance.h - whether connections go on after what the parent sends as trains.
 *
 * That a datagram came the child says (pk_liveness.h).  But something on the link may follow TCP (a firewall with
 * connection tracking): it has not seen the bytes that went in trains, takes a client's acknowledgement of them for
 * invalid, and throws it away.  Then that connection stands still, and so does each one after it.
 *
 *     GO        Some trains are watched: the sequence number behind their last byte is remembered, of one train of a
 *               flow, of PK_WATCHED flows, ten a second when all is well.
 *               A client's acknowledgement of it, before the server has sent any of it again, is a PROOF: all that was
 *               held against trains is forgotten.
 *               Without a PROOF, each time counts that the server sends the same byte again, from the second on, as
 *               long as the connection stands still.  In doubt after PK_STILL_FLOWS such times of two flows or more, or
 *               PK_STILL of one, if for 2 s there was no PROOF; and if PK_VAIN times in a row, 0.15 s apart at least, a
 *               watched train was acknowledged only after it had been sent again: connections go on then, a train for
 *               each timer.  In doubt: TRIED; or STOPPED, if two flows or more stood still within the last minute, too.
 *     STOPPED   No trains, so that new connections work; for 60 s, then twice as long each time, up to an hour.  Then
 *               TRIED.
 *     TRIED     So each session with another child begins, and what is in doubt.  One train of one connection at a
 *               time, and of no connection another one soon after it failed; all else goes as it is.  It goes twice,
 *               since a link may lose one.  What is behind that train in its flow waits: what follows TCP would take
 *               that for all that came before.  A PROOF: GO.  If the server sends again what was in the train, or, with
 *               no word of its client for so long that it is a timer's work, what was before it, or nobody answers in
 *               time, it goes once more as the packets that it stands for, so that what follows TCP sees them and the
 *               connection goes on; STOPPED after PK_TRIALS such trains in a row.  So it goes, too, when more waits
 *               than there is room for; that shows nothing, nor does it when a client acknowledges what waits (it went
 *               by us).  What was lost before the train the server sends again as its client's words let it, and the
 *               trial goes on; but a word that names the train beside it what follows TCP may keep back.
 *
 * So a device that was there when the session began stops no connection for longer than its server's timer.  One that
 * comes later does, as GO says.
 *
 * Why not sooner: on a link that loses a tenth of its packets one small response of 800 or so is sent again four times;
 * but other connections give proofs meanwhile, and it comes at last.  A client that has gone away acknowledges nothing,
 * either; that is why a doubt is tried, and is not the end: the next client's first train shows how it is.  Connections
 * whose client's packets do not come by the parent (asymmetric routes) are not watched.
 *
 * How soon: Linux sends again after 0.2, 0.6, 1.4 and 3 s and a round trip each.  Two connections that stand still are
 * enough after 2 s, one after 3 s; what their servers send again from then on goes as it is, and they go on.
 *
 * A trial shows something only if the device has seen nothing of what is in its train.  What the server sends again may
 * have passed it before we saw the connection: pk_flow.whole says that there is no such thing.  It may have passed,
 * too, while we did not go on (pk_side_passed): what is watched then tells nothing.  If it was lost behind the device
 * as well and comes again, a trial with it is a proof that is none, and there is a doubt some two seconds later.
 *
 * Times in microseconds.  Nothing allocates.
 */
#ifndef FAIRGATE_PK_ADVANCE_H
#define FAIRGATE_PK_ADVANCE_H

#include "pk_packet.h"

#include <string.h>

#define PK_WATCHED     32u
#define PK_STILL       3u
#define PK_STILL_FLOWS 4u
#define PK_TRIALS      6u
#define PK_VAIN        16u

enum pk_advance_state { PK_GO, PK_STOPPED, PK_TRIED };

struct pk_watched {
    bool            used;
    struct pk_tuple tuple;          /* from the server */
    uint32_t        begin, end;     /* of the train; behind it */
    uint32_t        first;          /* the lowest that was sent again */
    unsigned        again;          /* how often that was */
    uint64_t        at, again_at;
    uint64_t        heard_at;       /* its client acknowledged what was before it; it went, if it did not */
};

struct pk_advance {
    struct pk_watched     watched[PK_WATCHED];
    unsigned              used;
    enum pk_advance_state state;
    uint64_t              proof_at, vain_at;        /* vain_at: of `vain` */
    uint64_t              next;                     /* no train is watched before */
    uint64_t              doubted_at;               /* the last time; 0: never */
    uint64_t              wait, until;              /* STOPPED */
    bool                  chosen, out;              /* TRIED: there is a connection for it; its train has gone */
    struct pk_tuple       trial;
    uint32_t              trial_end;
    unsigned              failed, vain;             /* trains in a row: of trials; that had to be sent again */
    uint64_t              proofs, stops;
};

/* A session with another child. */
void pk_advance_begin(struct pk_advance *a);
/* Whether this flow's packets may go in trains. */
bool pk_advance_may(struct pk_advance *a, const struct pk_tuple *tuple, uint64_t now);
/* Whether the train of this flow that goes now is the one of a trial: it may have to go once more. */
bool pk_advance_tries(const struct pk_advance *a, const struct pk_tuple *tuple);
/*
 * The trial's train is to go as the packets that it stands for.  failed: since nobody has answered in time; otherwise
 * there was no more room for what waits behind it.
 */
void pk_advance_give_up(struct pk_advance *a, bool failed, uint64_t now);
/* Whether what this flow sends from there on is to wait for the end of a trial. */
bool pk_advance_waits(const struct pk_advance *a, const struct pk_tuple *tuple, uint32_t seq);
/* A train of the flow went; its first sequence number, and the one behind it. */
void pk_advance_train(struct pk_advance *a, const struct pk_tuple *tuple, uint32_t begin, uint32_t end, uint64_t now);
/* The server sent n bytes again.  Whether the trial's train is to go now as the packets that it stands for. */
bool pk_advance_again(struct pk_advance *a, const struct pk_tuple *tuple, uint32_t seq, uint32_t n, uint64_t now);
/* A client's acknowledgement; tuple: from the server. */
void pk_advance_acknowledged(struct pk_advance *a, const struct pk_tuple *tuple, uint32_t ack, uint64_t now);
/* How often servers have sent again in vain, beyond once each, to how many connections that stand still now. */
unsigned pk_advance_still(const struct pk_advance *a, unsigned *flows, uint64_t now);
/* The link is out, or there is a session with another child: what was remembered tells nothing any more. */
void pk_advance_forget(struct pk_advance *a);

#endif
