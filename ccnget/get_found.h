/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_found.h - what a Data is that answers the Interest for a page, by its name.
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
#ifndef FAIRGATE_GET_FOUND_H
#define FAIRGATE_GET_FOUND_H

#include "ndn/ndn_packet.h"

enum get_found_kind { GET_STRANGER, GET_SEGMENT, GET_ALONE, GET_METADATA };

struct get_found {
    enum get_found_kind kind;
    uint64_t            segment;                /* of GET_SEGMENT */
    size_t              n;                      /* of the object's name; 0: there is no more to ask for */
    uint8_t             object[NDN_PACKET_MAX]; /* components */
};

/* `name` was asked for; `digests`: n of those of private requests for it, NDN_DIGEST bytes each; 0: it was none. */
void get_found(struct get_found *f, const struct ndn_name *name, const uint8_t (*digests)[NDN_DIGEST], unsigned n,
               const struct ndn_data *d);

#endif
