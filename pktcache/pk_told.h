/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_told.h - which bytes of connections belong to blocks (pk_wire.h), as the parent has told the child: it gathers
 * them when they come, which may be later, and again.  All connections share the places; the oldest is given away.
 *
 * Of each connection what was told last is known, and from there on what was told before.  Sequence numbers come again
 * after 4 GB, and mean other bytes then: whoever goes on in the flow calls pk_told_pass, which forgets what is far
 * behind.  All memory is taken when it is made.
 */
#ifndef FAIRGATE_PK_TOLD_H
#define FAIRGATE_PK_TOLD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pk_told pk_told_t;

/* Of a connection.  All zero: nothing was told. */
struct pk_told_flow {
    uint64_t id;            /* not 0, and no other one's */
    uint64_t last;          /* what was told last */
    uint32_t passed;
};

/* Bytes [from, to) by sequence numbers, the first one at `place`; ends: a block ends with the last one. */
struct pk_told_part { uint32_t from, to, place; bool ends; };

pk_told_t *pk_told_make(void);      /* NULL: no memory */
void       pk_told_free(pk_told_t **t);

void       pk_told_add(pk_told_t *t, struct pk_told_flow *f, const struct pk_told_part *part);
/*
 * What of the n bytes from there on was told, one part at a time; *at: f->last at first, then the caller's no more.
 * false: there are no more.
 */
bool       pk_told_next(const pk_told_t *t, const struct pk_told_flow *f, uint64_t *at, uint32_t from, uint32_t n,
                        struct pk_told_part *part);
/* The flow has come to `next`. */
void       pk_told_pass(pk_told_t *t, struct pk_told_flow *f, uint32_t next);

#endif
