/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_replay.h - trains that go twice: one that is lost as a whole, when the server sends again what was in it, since
 * else so much would cross as packets that it stood for; and on a link that loses datagrams what only tells, since else
 * what is lost of that would be missing at the child, and cross the link again.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_REPLAY_H
#define FAIRGATE_PK_REPLAY_H

#include "pk_train.h"

typedef struct pk_replay pk_replay_t;

struct pk_replay_train {
    struct pk_tuple tuple;
    uint64_t        at;             /* when it went */
    uint32_t        from, to;       /* sequence numbers; the same: there is none */
    uint32_t        behind;         /* what of it needs not cross as packets ends there */
    bool            again;          /* it went once more */
    uint32_t        n;
    uint8_t         tos;
    uint8_t         bytes[PK_DATAGRAM_MAX];
};

pk_replay_t *pk_replay_make(void);      /* NULL: no memory */
void         pk_replay_free(pk_replay_t **r);

/* A train went; of those that went last some are remembered. */
void         pk_replay_add(pk_replay_t *r, const struct pk_tuple *tuple, const struct pk_train *t, uint64_t now);
/*
 * A server sends n bytes again.  *train: what had the first of them, the first time that this is asked; or NULL.
 * Numbers come again after 4 GB, so what went long ago had none of them.  Whether they need not cross as packets, too:
 * they are all of that train, the server has not sent them again before, and not even the timer of a server so far away
 * made it do so.  Should what goes once more be lost as well, that timer is still to come, or the server knows by what
 * is acknowledged behind it.
 */
bool         pk_replay_again(pk_replay_t *r, const struct pk_tuple *tuple, uint32_t seq, uint32_t n,
                             uint64_t round_trip, uint64_t now, const struct pk_replay_train **train);

/* Another connection of this tuple begins, whose numbers may be the same. */
void         pk_replay_forget(pk_replay_t *r, const struct pk_tuple *tuple);

/* A new session. */
void         pk_replay_begin(pk_replay_t *r);
/* The child's last word: of the datagrams up to the newest of this session so many came. */
void         pk_replay_seen(pk_replay_t *r, uint64_t newest, uint64_t came, uint64_t now);
/* Whether the link loses some. */
bool         pk_replay_loses(const pk_replay_t *r, uint64_t now);

#endif
