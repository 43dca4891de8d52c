/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_wire.h - what goes between the two of a pair: every datagram, drawn.  Numbers are in network order; (n) is bytes.
 *
 * HANDSHAKE (pk_session.h), types below PK_TRAIN.  MACs are HMAC-SHA-256, of all that stands before, but for WELCOME,
 * under a key from the pair's secret.  Keys are public ones of X25519 (RFC 7748).
 *
 *     head       type (1), version (1), lane (1), lanes (1), how fingerprints are made (1)
 *
 *     HELLO      child to parent    head, child's key (32), MAC (16)
 *     WHO        parent to child    head, parent's key (32), MAC (16)
 *     WELCOME    parent to child    head, parent's key (32), MAC (16), which is of head, child's key (32) and parent's
 *                                   key: no longer than what it answers, since nobody knows yet who has said that
 *     READY      child to parent    head, child's key (32), parent's key (32),
 *                                   sealed: cache's name (16), key of its fingerprints (64), its bytes (8);
 *                                   tag (16), MAC (16)
 *
 * A datagram of the handshake is for its version only.  HELLO and WHO have their form in all versions, so that the two
 * of a pair can tell that theirs are not the same, and believe it.
 *
 * SEALED, all other types.  AES-256-GCM under the session's key of this direction.  The nonce is counter, which begins
 * at 1, salt, and 0 (4); both are authenticated with all that stands before what is sealed.
 *
 *     type (1), session (3), counter (4), salt (4) | sealed, by type: | tag (16)
 *
 *     TRAIN      parent to child    packets of a flow: below
 *     PAYLOAD    parent to child    fingerprint (16), bytes of the payload (2), where this part of it begins (2), part
 *     PROBE      parent to child    random bytes, as many as fit a datagram
 *     STATUS     child to parent    still here: counters of the newest datagram (8) and the newest probe (8) that came,
 *                                   and how many came (8)
 *     MISSING    child to parent    fingerprints (16 each) that it has no payload for
 *     ASIDE      either way         packets go as they are, since the sender says so: why (1; pk_why.h), 0: no longer
 *
 * TRAIN (pk_train.h; EEOD paper, II-D: its window of N packets is a train of at most N tokens without literals).
 *
 *     length of the headers (1), headers of the first packet as pk_head_of leaves them, records
 *
 *     record     kind and flags (1), header changes if CHANGED, content
 *     changes    how many (1), then each: which 16 bits of the headers (1), what they are now (2)
 *     TOKENS     segments (1), bytes of each but the last (2), of the last (2), a fingerprint (16) for each;
 *                if ONE, of one segment: its bytes (2), its fingerprint (16)
 *     LITERAL    bytes (2), these: one segment
 *     NATIVE     bytes (4): so many come as packets of their own, and are to be stored, each segment by itself.  The
 *                last record of a train
 *     PARTS      segments (1), bytes of each but the last (2), of the last (2), parts; if ONE: its bytes (2), parts
 *     GATHER     how many (1), then each: flags (1), bytes skipped (2), bytes (2), place (4).  Of what comes behind the
 *                headers' sequence number as packets of its own, these bytes belong to blocks.  The last record of a
 *                train
 *
 *     part       kind and flags (1), bytes (2), content.  The parts are the payload of the record's segments, whole
 *     PLAIN      these bytes
 *     KEPT       place (4), these bytes: they belong to blocks
 *     SLICES     where it begins in the first block (2), a fingerprint (16) for each block that it touches;
 *                if GOES_ON, it begins where the last SLICES of the train ended, and the first fingerprint is that one
 *
 * A block is PK_BLOCK bytes of a response's body, or of a run of it between two pairs of marks, counted from its
 * beginning; the last one has fewer.  Place: block and byte in it of the first of these bytes, as one number that goes
 * on through a connection; each body and each run begins with a new block.  ENDS: a block ends with the last of these
 * bytes, of which there may be none.
 *
 * The headers of a record are those of the one before, with the sequence number that follows and, IPv4, the next
 * identification; then its changes.  PSH and FIN are its last segment's.
 */
#ifndef FAIRGATE_PK_WIRE_H
#define FAIRGATE_PK_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PK_VERSION      5
#define PK_DATAGRAM_MAX 9216u       /* bytes of a datagram, and so of what is sealed in it */

enum pk_type {
    PK_HELLO = 1, PK_WELCOME, PK_READY, PK_WHO,
    PK_TRAIN = 16, PK_PAYLOAD, PK_PROBE, PK_STATUS, PK_MISSING, PK_ASIDE
};

static inline bool pk_wire_is_handshake(const void *datagram, size_t n) {
    return n && *(const uint8_t *)datagram < PK_TRAIN;
}

/* ---- handshake --------------------------------------------------------------------------------------------------- */

#define PK_KEY          32u         /* bytes of a public key */
#define PK_MAC          16u
#define PK_CONTROL_MAX  192u        /* bytes of a datagram of the handshake, in any version */

struct pk_wire_head { uint8_t type, version, lane, lanes, how; };
struct pk_wire_hello { struct pk_wire_head head; uint8_t key[PK_KEY], mac[PK_MAC]; };     /* and WHO */
struct pk_wire_welcome { struct pk_wire_head head; uint8_t parent[PK_KEY], mac[PK_MAC]; };
struct pk_wire_ready {
    struct pk_wire_head head;
    uint8_t child[PK_KEY], parent[PK_KEY], cache[16], fingerprints[64], bytes[8], tag[16], mac[PK_MAC];
};
static_assert(sizeof(struct pk_wire_ready) == 189 && sizeof(struct pk_wire_ready) <= PK_CONTROL_MAX, "no padding");
static_assert(sizeof(struct pk_wire_welcome) <= sizeof(struct pk_wire_hello), "nobody's bytes are made more");

/* ---- sealed ------------------------------------------------------------------------------------------------------ */

#define PK_SEAL_HEAD    12u         /* bytes before what is sealed */
#define PK_SEAL_TAG     16u         /* and behind it */
#define PK_SEAL_MORE    (PK_SEAL_HEAD + PK_SEAL_TAG)
#define PK_TOKEN        16u         /* bytes of a fingerprint */
#define PK_BLOCK        2048u       /* bytes of a block; a power of two */

struct pk_wire_part { uint8_t fingerprint[PK_TOKEN], bytes[2], at[2]; };     /* PAYLOAD: before the part */
struct pk_wire_status { uint8_t newest[8], newest_probe[8], came[8]; };

/* ---- a train's records ------------------------------------------------------------------------------------------- */

enum pk_record_kind { PK_TOKENS, PK_LITERAL, PK_NATIVE, PK_PARTS, PK_GATHER };

enum {                              /* of the first byte */
    PK_RECORD_KIND = 7, PK_RECORD_CHANGED = 8, PK_RECORD_PSH = 16, PK_RECORD_FIN = 32, PK_RECORD_ONE = 64,
    PK_RECORD_KNOWN = PK_RECORD_KIND | PK_RECORD_CHANGED | PK_RECORD_PSH | PK_RECORD_FIN | PK_RECORD_ONE
};

enum { PK_CHANGE = 3, PK_TOKENS_HEAD = 5, PK_ONE_HEAD = 2, PK_LITERAL_HEAD = 2, PK_NATIVE_BYTES = 4, PK_ORDER = 9 };

enum pk_part_kind { PK_PART_PLAIN, PK_PART_KEPT, PK_PART_SLICES };

enum {                              /* of a part's first byte, and of an order's (ENDS) */
    PK_PART_KIND = 3, PK_PART_ENDS = 4, PK_PART_GOES_ON = 8,
    PK_PART_KNOWN = PK_PART_KIND | PK_PART_ENDS | PK_PART_GOES_ON
};

enum { PK_PART_HEAD = 3, PK_PLACE = 4, PK_SLICES_AT = 2 };

#define PK_TOKENS_MAX   255u        /* of a record */
#define PK_CHANGES_MAX  8u          /* of a record; more are a train of their own */
#define PK_NATIVE_MAX   (UINT32_C(1) << 20)

#endif
