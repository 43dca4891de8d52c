/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_seal.h - pages that only who asked for them can read, by libcrypto.
 *
 * What a forwarder has passed on it may keep, and give to whoever asks for the beginning of its name: no name and no
 * field of a packet keeps anybody from it.  So the content is sealed:
 *
 *     caller   sends a public X25519 key, drawn for this one request, with its parameters
 *     server   draws one for this one page, and says its public half in the first segment (NDN_OUR_SEAL)
 *     secret   HKDF-SHA256 of what X25519 makes of the two; the salt is the digest of the Interest's parameters, the
 *              info says what it is for, and holds both public keys, the caller's first
 *     segment  AES-256-GCM, whose nonce is the segment's number; with it, and changed by nobody, go the page's name up
 *              to its version and the last segment's number, both as components: a segment of another page or version,
 *              one in another's place, and a page that was made shorter, are none
 *
 *     sealed page      NDN_OUR_HEAD { [status] [Content-Type] [Location] [Content-Encoding] } | the page's bytes
 *
 * cut into segments, each of them NDN_SEAL_TAG bytes longer than what it holds; the head is whole in the first one.
 *
 * TRUST.  Nobody who only reads along, or gets the packets later, learns more than names, sizes and times.  Who can
 * change packets on their way can put a key of its own in the place of the caller's, or of the server's unless Data is
 * signed and verified (ndn_sign.h); and the parameters themselves are not sealed.  What is opened is outside input.
 *
 * A seal is one thread's at a time.  Each segment costs no memory but what libcrypto may take.
 */
#ifndef FAIRGATE_NDN_SEAL_H
#define FAIRGATE_NDN_SEAL_H

#include "ndn_packet.h"

#define NDN_SEAL_TAG 16u                /* by so many bytes is longer what is sealed */

/* An X25519 key of the caller's, for one request. */
struct ndn_seal_pair {
    uint8_t open[NDN_SEAL_KEY];         /* to be told */
    uint8_t secret[NDN_SEAL_KEY];
};

/* False: the system gives no random numbers, or libcrypto refuses. */
bool ndn_seal_draw(struct ndn_seal_pair *pair);

/*
 * Whether it is one of the few public keys of small order, with which there is no secret: anybody knows it.  Both that
 * make a seal refuse it; this says beforehand that they will, for the price of a comparison.
 */
bool ndn_seal_key_is_small(const uint8_t key[NDN_SEAL_KEY]);

struct ndn_seal;                        /* made by one of these two, freed by ndn_seal_free */

/*
 * The server's, for one page: draws its key, whose public half goes into `told`.  NULL: the caller's key is none with
 * which there would be a secret, no memory, or no random numbers.
 */
struct ndn_seal *ndn_seal_new(const uint8_t caller[NDN_SEAL_KEY], const uint8_t digest[NDN_DIGEST],
                              uint8_t told[NDN_SEAL_KEY]);
/* The caller's, of a page whose first segment says `server`; it only opens.  NULL: likewise. */
struct ndn_seal *ndn_seal_of(const struct ndn_seal_pair *caller, const uint8_t server[NDN_SEAL_KEY],
                             const uint8_t digest[NDN_DIGEST]);
void             ndn_seal_free(struct ndn_seal **s);

/*
 * Seals the next segment, from 0 on, each once: there is no second one under a nonce.  `page`: its name up to the
 * version; `last`: the last segment's number.  in.n + NDN_SEAL_TAG bytes into `out`, which is not `in`.  False:
 * libcrypto refuses, or it is the caller's seal; nothing can be sealed with it any more.
 */
bool ndn_seal_put(struct ndn_seal *s, struct ndn_span page, uint64_t last, struct ndn_span in, uint8_t *out);
/*
 * Opens a segment: in.n - NDN_SEAL_TAG bytes into `out`, which counts only if this is true.  False: not a byte of it is
 * to be believed.
 */
bool ndn_seal_take(struct ndn_seal *s, struct ndn_span page, uint64_t segment, uint64_t last, struct ndn_span in,
                   uint8_t *out);

/* ---- what stands before the page --------------------------------------------------------------------------------- */

struct ndn_seal_head {
    uint64_t        status;             /* NDN_NO_NUMBER: not there */
    struct ndn_span media_type, location, encoding;     /* n = 0: not there */
};

void ndn_seal_head_put(struct ndn_out *o, const struct ndn_seal_head *h);
size_t ndn_seal_head_size(const struct ndn_seal_head *h);
/* What a first segment that was opened begins with; *in goes on behind it.  NULL, or a static sentence. */
const char *ndn_seal_head_read(struct ndn_span *in, struct ndn_seal_head *h);

#endif
