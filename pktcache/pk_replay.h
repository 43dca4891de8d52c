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
    uint32_t        from, to;       /* sequence numbers; the same: it went once more, or there is none */
    uint32_t        n;
    uint8_t         tos;
    uint8_t         bytes[PK_DATAGRAM_MAX];
};

pk_replay_t *pk_replay_make(void);      /* NULL: no memory */
void         pk_replay_free(pk_replay_t **r);

/* A train went; of those that went last some are remembered. */
void         pk_replay_add(pk_replay_t *r, const struct pk_tuple *tuple, const struct pk_train *t);
/* The train that had this byte; once.  NULL: there is none. */
const struct pk_replay_train *pk_replay_take(pk_replay_t *r, const struct pk_tuple *tuple, uint32_t seq);

/* A new session. */
void         pk_replay_begin(pk_replay_t *r);
/* The child's last word: of the datagrams up to the newest of this session so many came. */
void         pk_replay_seen(pk_replay_t *r, uint64_t newest, uint64_t came, uint64_t now);
/* Whether the link loses some. */
bool         pk_replay_loses(const pk_replay_t *r, uint64_t now);

#endif
