/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_sealed.h - a page's bytes as only who asked for it can read them (ndn/ndn_seal.h), to be cut as they stand: each
 * piece of `size` bytes is a segment's content, and the last one what is left.
 *
 * What HTTP says of the page is sealed with it, before its bytes; of the page are seen its name, how long it is, and
 * when it was made.
 */
#ifndef FAIRGATE_CCN_SEALED_H
#define FAIRGATE_CCN_SEALED_H

#include "ndn/ndn_seal.h"

struct ccn_sealed_form {
    struct ndn_seal_head head;
    struct ndn_span      body;
    struct ndn_span      object;        /* the page's name up to its version */
    size_t               size;          /* of a segment's content, NDN_PACKET_MAX at most */
    const uint8_t       *caller;        /* NDN_SEAL_KEY bytes, whom it is for */
    const uint8_t       *digest;        /* NDN_DIGEST bytes, of the parameters that asked for it */
};

/* How many segments it has; 0: the head does not fit into the first one. */
uint64_t ccn_sealed_segments(const struct ccn_sealed_form *f);
/*
 * The bytes, malloc'ed, *n of them, and the key that the first segment is to say.  NULL: ccn_sealed_segments is 0, no
 * memory, or the caller's key is none with which there would be a secret.
 */
uint8_t *ccn_sealed_make(const struct ccn_sealed_form *f, uint8_t told[NDN_SEAL_KEY], size_t *n);

#endif
