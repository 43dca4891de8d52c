/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_again.h - what servers send again, at the parent, which lets it go as it is.
 *
 * What was lost together with it may be what told the child which of its bytes belong to new blocks; so that is told
 * once more, before them, and for that it is remembered which bytes those are (pk_told.h).  And where only the end of a
 * piece is new, that end is made a piece of its own.
 *
 * What went in trains is remembered elsewhere: those that go twice by pk_replay.h, the one of a trial by pk_trial.h.
 * All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_AGAIN_H
#define FAIRGATE_PK_AGAIN_H

#include "pk_follow.h"
#include "pk_train_queue.h"

typedef struct pk_again pk_again_t;

/* queue: of the trains that tell; it stays the caller's.  NULL: no memory. */
pk_again_t *pk_again_make(pk_train_queue_t *queue);
void        pk_again_free(pk_again_t **a);

/* Another connection begins, of which nothing was told. */
void        pk_again_forget(struct pk_follow *f);
/* A piece goes on, and the child is told which of its bytes it is to gather: those of its parts that are KEPT. */
void        pk_again_kept(pk_again_t *a, struct pk_follow *f, const struct pk_packet *k, const struct pk_parts *parts);
/* The server sends n bytes again, h: with this header.  Tells the child which of them it is to gather, if any. */
void        pk_again_tell(pk_again_t *a, struct pk_follow *f, const struct pk_head *h, uint32_t n, uint64_t now);

/* Whether only the end of a piece is new, and can have headers of its own. */
bool        pk_again_is_half(const struct pk_follow *f, const struct pk_packet *k);
/*
 * The payload of a piece from `old` bytes on, as if it had come alone: with these headers before it, over what was
 * there.  flags: of its last segment.  Where that begins, in the piece; *n: its bytes.
 */
void       *pk_again_rest(const struct pk_packet *k, void *piece, uint32_t old, const struct pk_head *h, uint8_t flags,
                          size_t *n);

#endif
