/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_found.h - what a Data is that answers the Interest for a page, by its name.
 *
 *     NAME/54=VERSION/50=SEGMENT              a segment of the object NAME/54=VERSION; the version may be missing
 *     NAME/54=VERSION, or NAME                all there is, in one
 *     NAME/32=metadata/...                    its content names the object (RDR): a forwarder may answer with that, too
 *     NAME/2=DIGEST/54=VERSION/50=SEGMENT     of a private request, whose further segments are those of
 *                                             NAME/32=result/8=HEX-DIGITS-OF-IT/54=VERSION
 *
 * Anything else below NAME, a page of its own for instance, which an Interest that may be a prefix's brings up, too,
 * is a stranger.
 */
#ifndef FAIRGATE_NDN_FOUND_H
#define FAIRGATE_NDN_FOUND_H

#include "ndn_packet.h"

enum ndn_found_kind { NDN_FOUND_STRANGER, NDN_FOUND_SEGMENT, NDN_FOUND_ALONE, NDN_FOUND_METADATA };

struct ndn_found {
    enum ndn_found_kind kind;
    uint64_t            segment;                /* of NDN_FOUND_SEGMENT */
    size_t              n;                      /* of the object's name; 0: there is no more to ask for */
    uint8_t             object[NDN_PACKET_MAX]; /* components */
};

/* `name` was asked for; `digests`: n of those of private requests for it, NDN_DIGEST bytes each; 0: it was none. */
void ndn_found(struct ndn_found *f, const struct ndn_name *name, const uint8_t (*digests)[NDN_DIGEST], unsigned n,
               const struct ndn_data *d);

#endif
