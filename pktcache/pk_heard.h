/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_heard.h - whether what the parent sends reaches the child.  Only then packets go as fingerprints.
 *
 *     HERE       A session begins so, with a probe: the largest datagram that the link should carry.  If the child does not say in time that it came: GONE.
 *                Behind a train a word of the child that tells of it is due: if none comes in time: GONE.
 *                Every ten seconds with trains another probe, since a path may begin to lose large datagrams only.  If three do not come: GONE.
 *     GONE       A probe goes at once, and again and again while the child speaks, but not often.  If one came: HERE.
 *
 * In time: 0.35 to 0.9 s, by the round-trip time, or longer if that is; but one of more than 2 s counts as none.  The child says in each PK_STATUS which datagram was the newest that came, and which the
 * newest probe (their numbers in the session).  Nothing else counts: what a host or a router says by ICMP anybody can say.
 */
#ifndef FAIRGATE_PK_HEARD_H
#define FAIRGATE_PK_HEARD_H

#include <stdbool.h>
#include <stdint.h>

struct pk_heard {
    bool     here;
    uint64_t spoke;                     /* when the child's last word came */
    uint64_t train, train_at;           /* that a word is due of, and when it went; train_at 0: none */
    uint64_t probe, probe_at, again;    /* the newest, when it went, how long until the next; probe_at 0: one is to go now */
    uint64_t check_at;                  /* HERE: the next probe */
    unsigned tries, limit;              /* HERE: probes that did not come yet; how many may */
    uint64_t round_trip, deviation;     /* smoothed as RFC 6298 has it; 0: not known */
};

enum pk_news { PK_NO_NEWS, PK_NOW_HERE, PK_NOW_GONE };

/* A session begins. */
void         pk_heard_begin(struct pk_heard *h, uint64_t now);
/* A train went, or a probe: its number.  (A train that still went when GONE is not waited for.) */
void         pk_heard_train(struct pk_heard *h, uint64_t number, uint64_t now);
void         pk_heard_probe(struct pk_heard *h, uint64_t number, uint64_t now);
/* A probe is to go. */
bool         pk_heard_asks(const struct pk_heard *h, uint64_t now);
/* The child spoke. */
enum pk_news pk_heard_status(struct pk_heard *h, uint64_t newest, uint64_t newest_probe, uint64_t now);
enum pk_news pk_heard_tick(struct pk_heard *h, uint64_t now);
uint64_t     pk_heard_due(const struct pk_heard *h);

#endif
