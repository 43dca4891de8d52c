/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_liveness.h - whether what the parent sends reaches the child: packets go as fingerprints only while it does.
 *
 *     HERE       A session with another child begins here, with a probe: the largest datagram that the link should
 *                carry.  GONE if the child does not say in time that it came.
 *                After each train the child is to say in time that it came; GONE if it does not.
 *                While trains go there is a probe every ten seconds, since a path may begin to lose only what is large.
 *                GONE if three in a row do not come.
 *                When none go there is a beat every half of a second; GONE if for 1.25 s, or longer than a round trip,
 *                the child did not say that it has come, or another one.
 *     GONE       A probe goes at once, then now and then as long as the child speaks.  HERE when one has come.
 *
 * In time: 0.35 to 0.9 s, by the round-trip time, or longer if that is; a round trip of more than 2 s counts as none.
 * But not while the child speaks of something newer than before at least every 0.35 s (of beats: 1.25 s): where a queue
 * fills, each train takes longer than the one before, and comes.
 *
 * The child says in each PK_STATUS which datagram was the newest that came, and which the newest probe (their numbers
 * in the session).  Nothing else counts: what a host or a router says by ICMP anybody can say.
 */
#ifndef FAIRGATE_PK_LIVENESS_H
#define FAIRGATE_PK_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

struct pk_liveness {
    bool     here;
    uint64_t spoke;                     /* when the child's last word came */
    uint64_t newest, newer_at;          /* what it spoke of, and when it was newer than before */
    uint64_t train, train_at;           /* the one that the child is to speak of, and when it went; train_at 0: none */
    /* the newest, when it went, how long until the next; probe_at 0: one is to go now */
    uint64_t probe, probe_at, again;
    uint64_t first, first_at;           /* GONE: the first one since, and when it went; first 0: none yet */
    uint64_t check_at;                  /* HERE: the next probe */
    unsigned tries, limit;              /* HERE: probes that did not come yet; how many may */
    uint64_t beat, beat_at;             /* HERE: the one that the child is to speak of; beat_at 0: none */
    uint64_t round_trip, deviation;     /* smoothed as RFC 6298 has it; 0: not known */
};

enum pk_news { PK_NO_NEWS, PK_NOW_HERE, PK_NOW_GONE };

/* A session begins. */
void         pk_liveness_begin(struct pk_liveness *l, uint64_t now);
/* A session is followed by another with the same child: its numbers begin anew, what is known of the path stays. */
void         pk_liveness_renew(struct pk_liveness *l);
/* A train went, or a probe: its number.  (A train that still went when GONE is not waited for.) */
void         pk_liveness_train(struct pk_liveness *l, uint64_t number, uint64_t now);
void         pk_liveness_probe(struct pk_liveness *l, uint64_t number, uint64_t now);
/* Something small went, which the child need not speak of at once. */
void         pk_liveness_beat(struct pk_liveness *l, uint64_t number, uint64_t now);
/* The child stands aside, and says nothing of what came. */
void         pk_liveness_aside(struct pk_liveness *l);
/* A probe is to go. */
bool         pk_liveness_asks(const struct pk_liveness *l, uint64_t now);
/* The child spoke. */
enum pk_news pk_liveness_status(struct pk_liveness *l, uint64_t newest, uint64_t newest_probe, uint64_t now);
enum pk_news pk_liveness_tick(struct pk_liveness *l, uint64_t now);
uint64_t     pk_liveness_due(const struct pk_liveness *l);

#endif
