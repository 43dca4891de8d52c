/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_page.h - one page: what to ask for, and what of that which comes is believed.
 *
 * It knows no socket, and of the time only what it is told (as in ndn_fetch.h), but for what a signed Interest says.
 * What comes from the network is hostile: a packet that is wrong, was not asked for, or is not signed as it should be,
 * changes nothing but a count.
 *
 *     going ──→ whole         every byte of it went to the caller, in order
 *       │
 *       ├─────→ silent        a segment was asked for as often as settings allow
 *       ├─────→ gone          the producer knows this version no more (status 410): to be asked for anew
 *       ├─────→ stopped       the caller wanted no more: head or content returned false
 *       └─────→ wrong         cannot go on: ndn_page_why
 *
 * The first Interest is for the page's name and may be answered by any version: ndn_found.h.  Other Interests are for
 * segments by their exact names.
 *
 * Where parameters hold a key, the answer is to be sealed for it: one that is not is refused, whoever says that it is
 * right, or it would be for him to decide whether others may read it.  But for a refusal, which may come from who never
 * saw the key: a negative answer that says a status of 400 or more, in its first segment.
 *
 * A page takes some 150 KB, and copies of what comes before its turn (ndn_order.h): who fetches many bounds them.
 *
 * LOCKING.  None: a page is one thread's at a time, its calls come in that thread, and threads may have pages of their
 * own at the same time.  What signed Interests say of the time is later with each that a process makes, in whatever
 * thread; in which order threads send theirs is for the caller to see to, if a server minds the order of a key's.
 */
#ifndef FAIRGATE_NDN_PAGE_H
#define FAIRGATE_NDN_PAGE_H

#include "ndn_found.h"
#include "ndn_order.h"
#include "ndn_seal.h"

struct ndn_page_ask {                       /* the caller's, as long as the page */
    struct ndn_name       name;
    bool                  fresh;
    uint64_t              lifetime_ms;
    struct ndn_span       parameters;       /* n = 0: no private request */
    const struct ndn_seal_pair *pair;       /* whose public half the parameters hold; NULL: none */
    const struct ndn_key *key;              /* signs it; NULL: nobody */
    const struct ndn_key *verify;           /* NULL: digests are looked at, and nothing else is believed */
    const char           *how_to_verify;    /* what ndn_page_why says of it when one is missing; NULL: nothing */
    struct ndn_name       signer;           /* with verify: what the key's name begins with; of no components: any */
    struct ndn_fetch_settings fetch;
    struct ndn_span       have;             /* the object of which so many segments are there; n = 0: of none */
    uint64_t              have_segments;
    struct ndn_span       gone;             /* an object that is no answer any more; n = 0: none */
};

struct ndn_page_head {                      /* what the first segment says; views of it */
    uint64_t        status;                 /* of HTTP; 200 if it does not say; NDN_NO_NUMBER: a negative answer's */
    struct ndn_span media_type, location, encoding;
    struct ndn_span object;                 /* components; n = 0: there is just this one packet */
    uint64_t        version, last, window;  /* NDN_NO_NUMBER: not said */
    uint64_t        first;                  /* segment whose content comes first: those before are there already */
};

struct ndn_page_calls {                     /* neither may free the page; false: no more is wanted */
    void *to;
    bool (*head)(void *to, const struct ndn_page_head *h);      /* once, before all content; not if it is silent */
    bool (*content)(void *to, struct ndn_span bytes);
};

enum ndn_page_state {
    NDN_PAGE_GOING,
    NDN_PAGE_WHOLE,
    NDN_PAGE_SILENT,
    NDN_PAGE_GONE,
    NDN_PAGE_STOPPED,
    NDN_PAGE_WRONG
};

struct ndn_page_counts {
    uint64_t interests, retransmissions, losses, marks;
    uint64_t strange, forged;               /* packets that were not asked for, or not to be read; wrongly signed */
};

struct ndn_page;

/* NULL and *error (base_error.h). */
struct ndn_page *ndn_page_new(const struct ndn_page_ask *ask, const struct ndn_page_calls *calls, uint64_t now,
                              char **error);
void             ndn_page_free(struct ndn_page **p);

/* An Interest to send now; its bytes, or 0: none until *again, or until something comes. */
size_t ndn_page_next(struct ndn_page *p, uint64_t now, uint8_t out[NDN_PACKET_MAX], uint64_t *again);
/* A packet came. */
void ndn_page_packet(struct ndn_page *p, uint64_t now, struct ndn_span packet);

enum ndn_page_state     ndn_page_state(const struct ndn_page *p);
const char             *ndn_page_why(const struct ndn_page *p);     /* a sentence, of those that are silent or wrong */
const struct ndn_fetch *ndn_page_fetch(const struct ndn_page *p);
struct ndn_page_counts  ndn_page_counts(const struct ndn_page *p);
struct ndn_span         ndn_page_object(const struct ndn_page *p);  /* components; n = 0: not known */
uint64_t                ndn_page_segments(const struct ndn_page *p);        /* went to the caller, or were there */

#endif
