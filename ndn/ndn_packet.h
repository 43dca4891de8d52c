/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_packet.h - Interests and Data (NDN packet format 0.3), read in place and written whole.
 *
 *     Interest  Name [CanBePrefix] [MustBeFresh] [ForwardingHint] [Nonce] [InterestLifetime] [HopLimit]
 *               [ApplicationParameters [InterestSignatureInfo InterestSignatureValue]]
 *     Data      Name [MetaInfo: ContentType, FreshnessPeriod, FinalBlockId, ours] [Content]
 *               SignatureInfo SignatureValue
 *
 * Strict: elements in this order, each once; an unknown one that is critical, or a known one out of its place, refuses
 * the packet; others are passed over.  A name of no component is refused, and so are parameters without their digest in
 * the name, a digest without parameters, or one that is not theirs: forwarders do not look.  The name of a signed
 * Interest ends with the digest.
 *
 * A signature that was read was not verified yet: ndn_verify.  The signed Interests of 2014, four more generic
 * components, are names like others.
 */
#ifndef FAIRGATE_NDN_PACKET_H
#define FAIRGATE_NDN_PACKET_H

#include "ndn_sign.h"

#define NDN_LIFETIME_USUAL_MS 4000u
#define NDN_MEDIA_TYPE_MAX    128u
#define NDN_LOCATION_MAX      1024u
#define NDN_ENCODING_MAX      64u
#define NDN_SEAL_KEY          32u         /* bytes of a public key */

/* NDN_NO: a negative answer of the application. */
enum ndn_content_type { NDN_BLOB = 0, NDN_LINK = 1, NDN_KEY = 2, NDN_NO = 3 };

struct ndn_signature {
    uint64_t        type;               /* enum ndn_signature_type, or one that we don't know */
    struct ndn_name key;                /* the locator's name; of no components if there is none, as with digests */
    struct ndn_span key_digest;         /* n = 0: none */
    struct ndn_span value;
    struct ndn_span covered[NDN_COVERED];
    unsigned        ncovered;
    /* of a signed Interest */
    struct ndn_span nonce;              /* n = 0: none */
    uint64_t        time, seq;          /* milliseconds since 1970; NDN_NO_NUMBER: none */
};

struct ndn_interest {
    struct ndn_name      name;
    bool                 can_be_prefix, must_be_fresh, has_nonce, has_parameters, is_signed;
    uint32_t             nonce;
    uint64_t             lifetime_ms;   /* NDN_LIFETIME_USUAL_MS if it does not say */
    unsigned             hop_limit;     /* 255 if it does not say */
    struct ndn_span      parameters;    /* value of ApplicationParameters */
    unsigned             digest_at;     /* which component is their digest; counts if has_parameters */
    struct ndn_signature signature;     /* counts if is_signed */
};

struct ndn_data {
    struct ndn_name      name;
    uint64_t             content_type;  /* enum ndn_content_type, or one that we don't know */
    uint64_t             freshness_ms;  /* 0 if it does not say */
    bool                 has_final;
    struct ndn_element   final;         /* FinalBlockId's component; counts if has_final */
    struct ndn_span      content;
    struct ndn_signature signature;
    uint64_t             window, status;        /* NDN_NO_NUMBER: not there */
    struct ndn_span      media_type, location, encoding; /* as they came, any bytes; n = 0: not there */
    struct ndn_span      seal;          /* NDN_SEAL_KEY bytes (ndn_seal.h); n = 0: not there */
};

/* `packet`: one whole Interest or Data element and nothing behind it.  NULL, or a static sentence: what is wrong. */
const char *ndn_interest_read(struct ndn_span packet, struct ndn_interest *i);
const char *ndn_data_read(struct ndn_span packet, struct ndn_data *d);

/* The last segment's number by FinalBlockId, NDN_NO_NUMBER if it does not say. */
uint64_t ndn_data_last(const struct ndn_data *d);
/* The segment's number, which its name ends with, or NDN_NO_NUMBER. */
uint64_t ndn_segment_of(const struct ndn_name *name);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct ndn_interest_form {
    struct ndn_span       name;         /* components; none of them a digest of parameters, whose place is the end */
    uint64_t              segment;      /* one more component, or NDN_NO_NUMBER */
    bool                  can_be_prefix, must_be_fresh;
    uint32_t              nonce;
    uint64_t              lifetime_ms;  /* 0: left out, the usual holds */
    bool                  has_parameters;
    struct ndn_span       parameters;
    /* NULL: not signed.  A signed one has parameters, if empty ones, and says when and which. */
    const struct ndn_key *key;
    uint8_t               signature_nonce[8];
    uint64_t              signature_time;       /* milliseconds since 1970 */
};
/*
 * Bytes written; 0: they don't fit into `room` or a packet, it has no name, a text is too long, or it could not be
 * signed.
 */
size_t ndn_interest_write(const struct ndn_interest_form *f, void *out, size_t room);

struct ndn_data_form {
    struct ndn_span       name;         /* components */
    uint64_t              segment;      /* one more, or NDN_NO_NUMBER */
    uint64_t              last;         /* FinalBlockId: a segment, or NDN_NO_NUMBER */
    enum ndn_content_type content_type;
    uint64_t              freshness_ms; /* 0: left out */
    uint64_t              window, status;       /* NDN_NO_NUMBER: left out */
    struct ndn_span       media_type, location, encoding, seal; /* n = 0: left out */
    struct ndn_span       content;
    const struct ndn_key *key;          /* ndn_key_none() for a digest */
};
/*
 * As ndn_interest_write.  Nothing is allocated but by libcrypto (ndn_sign.h), and every byte is written once; but where
 * a small Data's ecdsa signature comes out shorter than it may be, it can move by two bytes.
 */
size_t ndn_data_write(const struct ndn_data_form *f, void *out, size_t room);
/*
 * Several, at most NDN_DATA_SOME, whose keys are all digests: out[i] has the i-th, of bytes[i].  False: one of them
 * can't be written, and none counts.  Their digests are computed side by side (ndn_digests.h).
 */
#define NDN_DATA_SOME 16u
bool ndn_data_write_some(const struct ndn_data_form *forms, uint8_t *const *out, size_t room, size_t n, size_t *bytes);
/* Room that is enough for it in any case; a packet holds NDN_PACKET_MAX, of which NDN_LP_HEAD_MAX may be needed. */
size_t ndn_data_room(const struct ndn_data_form *f);

#endif
