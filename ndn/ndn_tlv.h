/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_tlv.h - type, length, value: the form of all that an NDN packet holds (NDN packet format 0.3, "TLV").
 *
 *     TYPE    a VAR-NUMBER from 1 to 2^32 - 1
 *     LENGTH  a VAR-NUMBER: bytes of VALUE
 *     VALUE   bytes, or elements back to back
 *
 * A VAR-NUMBER is its octet up to 252; 253, 254 and 255 stand before 2, 4 and 8 octets, most significant first.  Only
 * the shortest form is right, here as on the wire.  A NonNegativeInteger is a VALUE of 1, 2, 4 or 8 octets.
 *
 * What is read comes from outside: nothing is looked at before it is known to be there.  Spans lead into the caller's
 * bytes and live as long as these.  Nothing allocates.
 */
#ifndef FAIRGATE_NDN_TLV_H
#define FAIRGATE_NDN_TLV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NDN_PACKET_MAX 8800u            /* bytes of a packet on the wire, NDNLPv2's header included */
#define NDN_NO_NUMBER  UINT64_MAX       /* no segment, no version */

/* Types of elements (NDN packet format 0.3; NDNLPv2; naming conventions revision 3). */
enum ndn_type {
    NDN_DIGEST_COMPONENT = 1,
    NDN_PARAMETERS_COMPONENT = 2,
    NDN_INTEREST = 5,
    NDN_DATA = 6,
    NDN_NAME = 7,
    NDN_GENERIC_COMPONENT = 8,
    NDN_NONCE = 10,
    NDN_LIFETIME = 12,
    NDN_MUST_BE_FRESH = 18,
    NDN_META_INFO = 20,
    NDN_CONTENT = 21,
    NDN_SIGNATURE_INFO = 22,
    NDN_SIGNATURE_VALUE = 23,
    NDN_CONTENT_TYPE = 24,
    NDN_FRESHNESS = 25,
    NDN_FINAL_BLOCK_ID = 26,
    NDN_SIGNATURE_TYPE = 27,
    NDN_KEY_LOCATOR = 28,
    NDN_KEY_DIGEST = 29,
    NDN_FORWARDING_HINT = 30,
    NDN_KEYWORD_COMPONENT = 32,
    NDN_CAN_BE_PREFIX = 33,
    NDN_HOP_LIMIT = 34,
    NDN_PARAMETERS = 36,
    NDN_SIGNATURE_NONCE = 38,
    NDN_SIGNATURE_TIME = 40,
    NDN_SIGNATURE_SEQ = 42,
    NDN_INTEREST_SIGNATURE_INFO = 44,
    NDN_INTEREST_SIGNATURE_VALUE = 46,
    NDN_SEGMENT_COMPONENT = 50,
    NDN_OFFSET_COMPONENT = 52,
    NDN_VERSION_COMPONENT = 54,
    NDN_TIMESTAMP_COMPONENT = 56,
    NDN_SEQUENCE_COMPONENT = 58,
    NDN_FRAGMENT = 80,
    NDN_LP_SEQUENCE = 81,
    NDN_LP_FRAG_INDEX = 82,
    NDN_LP_FRAG_COUNT = 83,
    NDN_LP_PIT_TOKEN = 98,
    NDN_LP_PACKET = 100,
    NDN_VALIDITY_PERIOD = 253,          /* of a certificate, in SignatureInfo; odd, so it has to be known */
    NDN_LP_NACK = 800,
    NDN_LP_NACK_REASON = 801,
    NDN_LP_CONGESTION_MARK = 832,
    /* ours, in MetaInfo behind the standard's: even, so that others pass them over */
    NDN_OUR_WINDOW = 0xf520,            /* APDSFC's pipeline size, a number */
    NDN_OUR_STATUS = 0xf522,            /* HTTP's status, a number */
    NDN_OUR_MEDIA_TYPE = 0xf524,        /* the Content-Type, a text */
    NDN_OUR_LOCATION = 0xf526,          /* where a redirect leads, a text */
    NDN_OUR_ENCODING = 0xf528,          /* the Content-Encoding, a text */
    NDN_OUR_SEAL = 0xf52a,              /* the server's key, where the content is sealed (ndn_seal.h) */
    NDN_OUR_HEAD = 0xf52c               /* in what is sealed: what else would stand in MetaInfo */
};

struct ndn_span {
    const uint8_t *at;
    size_t         n;
};

struct ndn_element {
    uint32_t        type;
    struct ndn_span value, whole;       /* whole: with its type and length */
};

/* The element with which *in begins; *in goes on behind it.  False, and *in as it was: there is no right one. */
bool ndn_next(struct ndn_span *in, struct ndn_element *e);
bool ndn_whole(struct ndn_span in, struct ndn_element *e);  /* false too if something stands behind it */
bool ndn_number(struct ndn_span value, uint64_t *n);    /* of a NonNegativeInteger; false if it is none */

/* Whether one who does not know an element must refuse the whole (types up to 31, and odd ones). */
static inline bool ndn_is_critical(uint32_t type) { return type < 32 || type & 1; }

/*
 * The elements of a value: found[i] is the one of types[i], and of type 0 if it is not there.  These must stand in this
 * order, each once; others are passed over unless they are critical: ndn_is_critical, or what else holds there.  NULL,
 * or a static sentence: what is wrong.
 */
const char *ndn_fields(struct ndn_span in, const uint32_t *types, unsigned n, bool (*critical)(uint32_t type),
                       struct ndn_element *found);

/*
 * How long the packet is that a stream of bytes goes on with, and so perhaps more than the n bytes that came already:
 * 0, more must come to tell; -1, none begins here (Interest, Data or LpPacket of NDN_PACKET_MAX bytes at most), and
 * nothing that follows can be trusted.
 */
int ndn_framed(const uint8_t *at, size_t n);

/* ---- writing: into room that the caller has; what does not fit sets `full`, and nothing is written any more ------ */

struct ndn_out {
    uint8_t *at;
    size_t   n, room;                   /* written; of at */
    bool     full;
};

static inline struct ndn_out ndn_out_into(void *at, size_t room) {
    struct ndn_out o = { at, 0, room, false };
    return o;
}
void ndn_put(struct ndn_out *o, const void *bytes, size_t n);           /* as they are */
void ndn_put_var(struct ndn_out *o, uint64_t n);                        /* a VAR-NUMBER */
void ndn_put_head(struct ndn_out *o, uint32_t type, size_t length);     /* of an element whose value follows */
void ndn_put_element(struct ndn_out *o, uint32_t type, const void *value, size_t n);
void ndn_put_number(struct ndn_out *o, uint32_t type, uint64_t n);      /* a NonNegativeInteger */

/*
 * An element around what is put between these two, `most` bytes at most; ndn_put_close is told what ndn_put_open
 * returned.  Bytes are moved only where the length needs fewer octets than `most`.
 */
size_t ndn_put_open(struct ndn_out *o, uint32_t type, size_t most);
void   ndn_put_close(struct ndn_out *o, size_t at);

size_t ndn_var_size(uint64_t n);
size_t ndn_element_size(uint32_t type, size_t length);                  /* with its type and length */
size_t ndn_number_size(uint32_t type, uint64_t n);

#endif
