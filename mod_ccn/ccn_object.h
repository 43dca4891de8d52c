/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_object.h - the result of a call as Data: it is cut and signed once, whatever address asks for it, and however its
 * call is written.
 *
 *     base        BASE/54=VERSION/50=0..n-1, kept whole; BASE is the call in its one form (service_bind.h, `key`)
 *     variant     any other name of the same call.  The content is the base's.  A segment is signed when it is asked
 *                 for, since the signature covers the name.
 *     answer      what a name gets first, in each way (ccn_answer.h): kept by itself, with what is left of the
 *                 result's freshness, rounded down
 *
 * VERSION is the time when the result was made, and the size of a segment: the same result has the same names and
 * segments in every process, and each time that it is cut.  A result of one segment needs a base only for its metadata.
 * What has no such form (a problem, a listing, a call that is too long for a name) is its own base.
 *
 * A name with parameters beside it (32=result/8=HEX) does not say what it calls: the key is kept for it.
 *
 * What signs or reads a result belongs in a task (ccn_threads.h): all functions but those that say otherwise.
 * Tasks of all processes that need the same base wait for the one that makes it (ccn_flights.h).
 */
#ifndef FAIRGATE_CCN_OBJECT_H
#define FAIRGATE_CCN_OBJECT_H

#include "ccn_answer.h"
#include "ccn_results.h"

struct ccn_object {
    const struct ccn_seen_as *as;
    const struct ndn_key     *sign;
    struct ndn_name           page;         /* as it was asked for */
    struct ndn_span           digest;       /* of parameters beside the name; n = 0: none */
    const char               *key;          /* NULL: it has none */
    struct ndn_name           base;         /* in `bytes`; n = 0: page and digest are their own base */
    size_t                    size;         /* of a segment's content */
    uint64_t                  at_us, fresh_us;
    struct ccn_store_id       id;           /* of the base, in this version */
    bool                      is_base;      /* page is */
    struct ccn_cut            cut;          /* what page's name says: version, segments, window */
    struct ccn_made           made;         /* what the first segment says and holds */
    uint8_t                   bytes[CCN_NAME_MAX], content[NDN_PACKET_MAX];
};

/* Views of all that it is given.  False: the name is too long.  In any thread. */
bool ccn_object_of(struct ccn_object *o, const struct ccn_seen_as *as, const struct ndn_key *sign,
                   const struct ndn_name *page, struct ndn_span digest, const char *key);
/* Which result it is.  In any thread. */
void ccn_object_at(struct ccn_object *o, uint64_t at_us, uint64_t fresh_us);

/* True if an answer of that way is kept: nothing has to be signed.  In any thread. */
bool ccn_object_has(const struct ccn_object *o, unsigned way);
/* Answers and frees the waiters whose answer is kept; returns the others.  In any thread. */
struct ccn_waiter *ccn_object_reply(const struct ccn_object *o, struct ccn_waiter *all);

enum ccn_object_is { CCN_OBJECT_READY, CCN_OBJECT_LOST, CCN_OBJECT_NO_ROOM };
/*
 * All that ccn_object_tell needs; `whole`: its base, too.  `r`: its result, or NULL: it is read, and may be another one
 * by now.  Lost: it is not kept any more.  No room: *why.
 */
enum ccn_object_is ccn_object_prepare(struct ccn_object *o, struct ccn_result *r, bool whole, const char **why);
/* Answers all of them, and frees them. */
void ccn_object_tell(const struct ccn_object *o, struct ccn_waiter *all);

/*
 * A segment by its whole name, whose version is `object`; `key` as above, of names beside parameters NULL.  Its bytes;
 * 0: it is kept no longer.
 */
size_t ccn_object_segment(const struct ccn_seen_as *as, const struct ndn_key *sign, const struct ndn_name *object,
                          uint64_t segment, const char *key, uint8_t bytes[NDN_PACKET_MAX]);

#endif
