/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_train.h - token trains, written and read: packets of one flow that follow each other, in one datagram (pk_wire.h
 * has the form; EEOD paper, II-D).
 *
 * What is read was sealed by the peer; nevertheless it is not believed.  Nothing allocates.
 */
#ifndef FAIRGATE_PK_TRAIN_H
#define FAIRGATE_PK_TRAIN_H

#include "pk_fingerprint.h"
#include "pk_packet.h"
#include "pk_parts.h"

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct pk_train {
    uint8_t       *bytes;
    size_t         n, room;
    struct pk_head next;            /* of the segment that follows, if nothing changes */
    size_t         extend;          /* where the last record begins, if tokens may be added to it; or 0 */
    uint8_t        tos;             /* for its datagram: the DSCP of its packets, and ECN as they all have it */
    bool           kept;            /* there are KEPT bytes, of which the child must hear */
    bool           sliced;          /* there are SLICES; where the last ones end, and in which block */
    uint32_t       slice_end;
    struct pk_fingerprint slice;
    uint32_t       tokens;
    size_t         saved;           /* bytes that the packets in it would have had, headers included */
};

/* room: at least PK_TRAIN_LEAST, in which headers and a fingerprint always fit. */
#define PK_TRAIN_LEAST (1u + PK_HEADERS_MAX + 64u)
void     pk_train_open(struct pk_train *t, void *bytes, size_t room, const struct pk_head *first);

/*
 * Adds segments; h: the first one's headers, flags: the last one's.  How many of them found room; 0: none, or they do
 * not follow what is in the train, or have another DSCP.
 */
uint32_t pk_train_tokens(struct pk_train *t, const struct pk_head *h, const struct pk_fingerprint *fps, uint32_t count,
                         uint32_t segment, uint32_t last, uint8_t flags);
bool     pk_train_literal(struct pk_train *t, const struct pk_head *h, const void *bytes, uint32_t n, uint8_t flags);
bool     pk_train_native(struct pk_train *t, const struct pk_head *h, uint32_t n);
/* Adds segments; `at`: where they begin in `payload`, and so in its parts. */
bool     pk_train_parts(struct pk_train *t, const struct pk_head *h, const uint8_t *payload,
                        const struct pk_parts *parts, uint32_t at, uint32_t count, uint32_t segment, uint32_t last,
                        uint8_t flags);
/* Tells what of n bytes that follow natively is KEPT: as many of these parts as have room.  false: none has. */
bool     pk_train_gather(struct pk_train *t, const struct pk_head *h, const struct pk_parts *parts, uint32_t at,
                         uint32_t n);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Where the last SLICES ended. */
struct pk_sliced {
    const uint8_t *fp;          /* of the block; NULL: there were none */
    uint32_t       end;         /* in the block */
};

struct pk_reader {
    const uint8_t   *at, *end;
    struct pk_head   next;
    struct pk_sliced sliced;
};

struct pk_record {
    enum pk_record_kind kind;
    uint8_t             flags;  /* PSH, FIN */
    struct pk_head      head;
    uint32_t            n;      /* bytes of payload in all */
    uint32_t            count, segment;
    const uint8_t      *bytes;  /* fingerprints, the literal, parts, orders */
    const uint8_t      *end;    /* of parts */
    bool                slices; /* parts: there are some */
    struct pk_sliced    sliced; /* before it */
};

/* One of a record's parts, and of its orders. */
struct pk_read_part {
    enum pk_part_kind kind;
    bool              ends;
    uint32_t          at, n;            /* of the record's payload; orders: of what follows */
    uint32_t          place;            /* KEPT, orders; SLICES: where they begin in the first block */
    uint32_t          blocks;           /* SLICES: how many they touch */
    const uint8_t    *bytes;            /* PLAIN, KEPT */
    const uint8_t    *first, *more;     /* SLICES: the first fingerprint; the others, one behind the other */
};

struct pk_part_reader {
    const uint8_t   *next, *end;
    uint32_t         at, left;
    struct pk_sliced sliced;
};

enum pk_read { PK_RECORD, PK_TRAIN_END, PK_TRAIN_BAD };

bool         pk_train_read(struct pk_reader *r, const void *bytes, size_t n);
enum pk_read pk_train_next(struct pk_reader *r, struct pk_record *record);

/* Of a record of PARTS or GATHER that was read; false: there are no more. */
void         pk_parts_read(struct pk_part_reader *r, const struct pk_record *record);
bool         pk_parts_next(struct pk_part_reader *r, struct pk_read_part *part);
bool         pk_orders_next(struct pk_part_reader *r, struct pk_read_part *order);
/* The fingerprint of one of the blocks, and its slice of n bytes from `offset` on. */
static inline const uint8_t *pk_slice(const struct pk_read_part *p, uint32_t i, uint32_t *offset, uint32_t *n) {
    uint32_t end = p->place + p->n - i * PK_BLOCK;
    *offset = i ? 0 : p->place;
    *n = (end < PK_BLOCK ? end : PK_BLOCK) - *offset;
    return i ? p->more + (i - 1) * PK_TOKEN : p->first;
}

#endif
