/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_told.h - which bytes of connections belong to blocks (pk_wire.h), as the parent has told the child: it gathers
 * them when they come, which may be later, and again.  The parent knows it, too, and tells it once more when they are
 * sent again.  All connections share the places; the oldest is given away.
 *
 * Of each connection what stands last in the stream is known, and from there on what stands before; what is told again
 * and was lost has its place between them, if that is not far back.  Sequence numbers come again after 4 GB, and mean
 * other bytes then: whoever goes on in the flow calls pk_told_pass, which forgets what is far behind.  All memory is
 * taken when it is made.
 */
#ifndef FAIRGATE_PK_TOLD_H
#define FAIRGATE_PK_TOLD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pk_told pk_told_t;

/* Of a connection.  All zero: nothing was told. */
struct pk_told_flow {
    uint64_t id;            /* not 0, and no other one's */
    uint64_t last;          /* what was told of its last bytes */
    uint32_t passed;
};

/* Bytes [from, to) by sequence numbers, the first one at `place`; ends: a block ends with the last one. */
struct pk_told_part { uint32_t from, to, place; bool ends; };

pk_told_t *pk_told_make(void);      /* NULL: no memory */
void       pk_told_free(pk_told_t **t);

void       pk_told_add(pk_told_t *t, struct pk_told_flow *f, const struct pk_told_part *part);
/*
 * What of the n bytes from there on was told, the last part first; *at: f->last at first, then the caller's no more.
 * false: there are no more.
 */
bool       pk_told_next(const pk_told_t *t, const struct pk_told_flow *f, uint64_t *at, uint32_t from, uint32_t n,
                        struct pk_told_part *part);
/* The flow has come to `next`. */
void       pk_told_pass(pk_told_t *t, struct pk_told_flow *f, uint32_t next);

#endif
