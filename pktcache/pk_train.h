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
#include "pk_wire.h"

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct pk_train {
    uint8_t       *bytes;
    size_t         n, room;
    struct pk_head next;            /* of the segment that follows, if nothing changes */
    size_t         extend;          /* where the last record begins, if tokens may be added to it; or 0 */
    uint32_t       tokens;
    size_t         saved;           /* bytes that the packets in it would have had, headers included */
};

/* room: at least PK_TRAIN_LEAST, in which headers and a fingerprint always fit. */
#define PK_TRAIN_LEAST (1u + PK_HEADERS_MAX + 64u)
void     pk_train_open(struct pk_train *t, void *bytes, size_t room, const struct pk_head *first);

/*
 * Adds segments; h: the first one's headers, flags: the last one's.  How many of them found room; 0: none, or they do
 * not follow what is in the train.
 */
uint32_t pk_train_tokens(struct pk_train *t, const struct pk_head *h, const struct pk_fingerprint *fps, uint32_t count,
                         uint32_t segment, uint32_t last, uint8_t flags);
bool     pk_train_literal(struct pk_train *t, const struct pk_head *h, const void *bytes, uint32_t n, uint8_t flags);
bool     pk_train_native(struct pk_train *t, const struct pk_head *h, uint32_t n);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct pk_reader {
    const uint8_t *at, *end;
    struct pk_head next;
};

struct pk_record {
    enum pk_record_kind kind;
    uint8_t             flags;  /* PSH, FIN */
    struct pk_head      head;
    uint32_t            n;      /* bytes of payload in all */
    uint32_t            count, segment;
    const uint8_t      *bytes;  /* fingerprints, or the literal */
};

enum pk_read { PK_RECORD, PK_TRAIN_END, PK_TRAIN_BAD };

bool         pk_train_read(struct pk_reader *r, const void *bytes, size_t n);
enum pk_read pk_train_next(struct pk_reader *r, struct pk_record *record);

#endif
