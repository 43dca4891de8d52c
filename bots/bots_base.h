/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bots/bots_base.h - what a signature of a request is a signature of: the signature base of RFC 9421, 2.5.
 *
 * Components: @method @scheme @authority @path @query @target-uri, header fields, and members of those that are
 * dictionaries (;key=).  One that is not known, or that the request does not have, or that is named twice, makes the
 * whole wrong: nobody knows then what was signed.  So do @request-target, @query-param, @status, and the parameters sf,
 * bs, tr and req.  `content-digest` is a field like others: that the body has this digest, nobody here has seen.
 */
#ifndef FAIRGATE_BOTS_BASE_H
#define FAIRGATE_BOTS_BASE_H

#include "bots_fields.h"

#define BOTS_BASE_MAX       16384u      /* bytes */
#define BOTS_COMPONENTS_MAX 32u

/* A request as its recipient sees it, each part as the RFC has it: 2.2. */
struct bots_message {
    struct bots_text method;
    struct bots_text scheme;            /* in lower case */
    struct bots_text authority;         /* in lower case, without the port that the scheme has anyhow */
    struct bots_text path;              /* as it was written, at least a slash */
    struct bots_text query;             /* as it was written, the ? in front of it; n 0: none */
    /* A header field's value, of several lines joined by ", "; name in lower case with a NUL behind it. */
    struct bots_text (*field)(const void *of, const char *name);
    const void      *of;
};

/*
 * list: a member of Signature-Input, an inner list.  Bytes in `out`; -1: there is no base for it, or not the room.
 */
int bots_base(const struct bots_message *m, const struct bots_item *list, char *out, size_t room);

/* Ed25519 (RFC 8032): is it the signature of these bytes by the key? */
bool bots_base_is_signed(const uint8_t key[32], const char *base, size_t n, const uint8_t signature[64]);

#endif
