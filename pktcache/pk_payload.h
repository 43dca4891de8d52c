/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_payload.h - the payload of a train's record, out of the store: at the child, and at the parent when a train is to
 * go as the packets that it stands for.
 */
#ifndef FAIRGATE_PK_PAYLOAD_H
#define FAIRGATE_PK_PAYLOAD_H

#include "pk_store.h"
#include "pk_train.h"

/* Fingerprints of which the store has nothing, one behind the other. */
struct pk_lacking {
    uint32_t n;
    uint8_t  fingerprints[PK_TOKENS_MAX * PK_TOKEN];
};

/*
 * The payload of a record of TOKENS or PARTS, to PK_PAYLOAD_MAX bytes at out.  false: something is not there; *lacking
 * says what, unless it is NULL.
 *
 * key: fingerprints are computed anew from what the store has, of a block all of it, so that no other bytes than those
 * that the parent means go to a client.  NULL: the store is believed.
 */
bool pk_payload_of(pk_store_t *store, const struct pk_fingerprint_key *key, const struct pk_record *record,
                   uint8_t *out, struct pk_lacking *lacking);

#endif
