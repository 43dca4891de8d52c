/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_begun.h - what a side sees of connections that begin, so that the daemon can tell whether they come about
 * (pk_way.h).
 *
 * A SYN that comes again had no answer, or none that came to its client; and a SYN with ACK that comes again was not
 * heard, either.  A side only counts.  The daemon judges by all sides' counts together (struct pk_vain), ten times a
 * second, since a server's answer may come by another queue.
 *
 * `alone` counts SYNs that come again while no server answers any, `again` SYNs and SYNs with ACK that come again while
 * no server sends anything new on any connection.  Both are told only when that has lasted for PK_VAIN: between two
 * answers a single client can send its SYN a thousand times.
 */
#ifndef FAIRGATE_PK_BEGUN_H
#define FAIRGATE_PK_BEGUN_H

#include "pk_packet.h"

#define PK_ASKED 64u
#define PK_VAIN  500000u            /* microseconds */

struct pk_tries {
    uint64_t asked, unheard;        /* SYNs that came again; SYNs with ACK that did */
    uint64_t answers, news;         /* SYNs with ACK; whatever else servers sent that was new */
};

struct pk_begun {
    struct pk_tries tries;
    bool     other;                 /* the other end stands aside: what was in the way may have been there */
    bool     unheard;               /* what is sent does not reach the other end: that may have been in the way */
    uint32_t asked[PK_ASKED];       /* pk_tuple_mark of those that came last, from the server */
    unsigned next;
};

/* Tells connections from each other, well enough. */
static inline uint32_t pk_tuple_mark(const struct pk_tuple *t) {
    uint32_t mark = 2166136261u;
    for (const uint8_t *p = (const uint8_t *)t; p < (const uint8_t *)(t + 1); p++) mark = (mark ^ *p) * 16777619u;
    return mark;
}

/* A client's SYN; tuple: from the server. */
static inline void pk_begun_asked(struct pk_begun *b, const struct pk_tuple *tuple, bool again) {
    b->asked[b->next++ % PK_ASKED] = pk_tuple_mark(tuple);
    b->tries.asked += again;
}

/* A server's SYN with ACK. */
static inline void pk_begun_answered(struct pk_begun *b, bool again) {
    b->tries.answers++;
    b->tries.unheard += again;
}

/* A server sends something new on some connection. */
static inline void pk_begun_goes_on(struct pk_begun *b) { b->tries.news++; }

/* ---- of all sides ------------------------------------------------------------------------------------------------ */

static inline void pk_tries_add(struct pk_tries *sum, const struct pk_tries *t) {
    sum->asked += t->asked;
    sum->unheard += t->unheard;
    sum->answers += t->answers;
    sum->news += t->news;
}

struct pk_vain {
    struct pk_tries before;
    unsigned        alone, again;
    uint64_t        alone_at, again_at;     /* the first of them */
};

static inline void pk_vain_count(unsigned *n, uint64_t *at, uint64_t more, uint64_t now) {
    if (!*n) *at = now;
    *n += (unsigned)more;
}

/* sum: the sides' counts, which only grow. */
static inline void pk_vain_look(struct pk_vain *v, const struct pk_tries *sum, uint64_t now) {
    const struct pk_tries *was = &v->before;
    bool news = sum->news != was->news, answers = sum->answers != was->answers;

    if (news) v->again = 0;
    else pk_vain_count(&v->again, &v->again_at, sum->asked - was->asked + sum->unheard - was->unheard, now);
    if (news || answers) v->alone = 0;
    else pk_vain_count(&v->alone, &v->alone_at, sum->asked - was->asked, now);
    v->before = *sum;
}

static inline unsigned pk_vain_alone(const struct pk_vain *v, uint64_t now) {
    return now >= v->alone_at + PK_VAIN ? v->alone : 0;
}
static inline unsigned pk_vain_again(const struct pk_vain *v, uint64_t now) {
    return now >= v->again_at + PK_VAIN ? v->again : 0;
}

/* Packets take another way from now on: what was in vain by the former one tells nothing of it. */
static inline void pk_vain_forget(struct pk_vain *v) { v->alone = v->again = 0; }

#endif
