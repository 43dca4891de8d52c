/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_cut.h - a page as Data packets: names, versions, segments, what its metadata say.
 *
 * Each page that is made is a version of its own, a number that grows: microseconds since 1970, or one more than the
 * last.  FinalBlockId stands in every segment; HTTP's status, Content-Type, Location and Content-Encoding, and the
 * window for its client (ccn_hint.h), in the first one's MetaInfo.  A page whose status is 400 or more has the content
 * type of a negative answer.  Of a page that is sealed (ccn_sealed.h) the first one's MetaInfo says the window and the
 * server's key, and nothing else; and no packet says whether it is a negative answer.
 *
 * What is kept is found again from the address alone that it was made for: whose Interests reach a page is decided by
 * httpd's access checks, and versions can be guessed.
 */
#ifndef FAIRGATE_CCN_CUT_H
#define FAIRGATE_CCN_CUT_H

#include "ccn_make.h"

#define CCN_GONE "This version is not kept, or no longer: ask for the page anew.\n"

/* Which page, and for whom. */
struct ccn_cut_for {
    const struct ccn_seen_as *as;
    struct ndn_name           page;
    struct ndn_span           digest;   /* of the parameters; n = 0: it was asked for by its plain name */
    const uint8_t            *caller;   /* NDN_SEAL_KEY bytes that it is sealed for; NULL: it is not */
    const struct ndn_key     *key;      /* what Data is signed with */
    bool                      shared;   /* whatever address asks */
};

struct ccn_cut {
    struct ccn_store_id id;
    uint32_t            n;              /* segments */
    uint32_t            window;         /* 0: none was told */
    uint64_t            version;
    int                 status;
    bool                sealed;
    uint8_t             seal[NDN_SEAL_KEY];     /* the server's key, if it is sealed */
    size_t              name_n;         /* of the object's name: page, and version */
    uint8_t             name[CCN_NAME_MAX + 128];
    /* what answers an Interest with parameters: the first segment under that Interest's name; n = 0: there is none */
    struct ccn_store_id first;
    bool                has_first;
};

/*
 * Cuts the page into segments that are kept.  `m` is changed where a private page was asked for plainly, or can't be
 * kept.  False: not even the sentence that says why found room.
 */
bool ccn_cut(const struct ccn_cut_for *whom, struct ccn_made *m, struct ccn_cut *cut);

/* What a name is kept by: each host has its own, and each address that asks. */
struct ccn_store_id ccn_cut_id(const struct ccn_seen_as *as, struct ndn_span name);
/* The same of what all addresses share. */
struct ccn_store_id ccn_cut_shared_id(const struct ccn_seen_as *as, struct ndn_span name);
/* Microseconds since that version was made, as it says itself; 0 of one that can't be. */
uint64_t ccn_cut_age(uint64_t version);

/*
 * The content that each segment of a result has, but the last: the same of each time that it is cut, and so short that
 * a segment fits under any name of the same call.  0: the name is too long.
 */
size_t ccn_cut_result_size(struct ndn_span page, const struct ndn_key *key);
/* A result as that version; *why if there is no room. */
bool ccn_cut_result(const struct ccn_cut_for *whom, const struct ccn_made *m, uint64_t version, size_t size,
                    struct ccn_cut *cut, const char **why);
/* The name of that version: cut->name.  False: it is too long. */
bool ccn_cut_name(const struct ndn_name *page, struct ndn_span digest, struct ccn_cut *cut);

/* The first segment of what was cut, below that name: m->body is its content alone.  0: no room. */
size_t ccn_cut_first(const struct ndn_name *name, const struct ccn_cut *cut, const struct ccn_made *m,
                     const struct ndn_key *key, void *out, size_t room);
/* A segment that is kept, under another name, which ends with its version.  0: no room. */
size_t ccn_cut_renamed(struct ndn_span name, const struct ndn_data *kept, const struct ndn_key *key, void *out,
                       size_t room);
/* The metadata of what was cut, for a plain name (RDR): one Data, its bytes in `out`; 0: no room. */
size_t ccn_cut_metadata(const struct ndn_name *page, const struct ccn_cut *cut, const struct ccn_made *m,
                        const struct ndn_key *key, void *out, size_t room);
/*
 * The only segment under just the page's name, for who does not take a longer one; not of a page that is sealed.  0: no
 * room.
 */
size_t ccn_cut_exact(const struct ndn_name *name, const struct ccn_cut *cut, const struct ccn_made *m,
                     const struct ndn_key *key, void *out, size_t room);
/* A sentence in the place of a page, not kept; `exact`: under that name, else a version below it. */
size_t ccn_cut_refusal(const struct ndn_name *name, bool exact, int status, const char *why, const struct ndn_key *key,
                       void *out, size_t room);

#endif
