/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_map.h - what a name asks for: a page of a mapped URL space, its metadata, or a segment of one that was made.
 *
 *     /PREFIX/a/b/page                            the page PATH/a/b/page; is made anew
 *     /PREFIX/a/b/page/32=metadata                its metadata (RDR); made as well, and what they name is kept
 *     /PREFIX/a/b/page/54=VERSION[/50=SEGMENT]    of one that is kept
 *     /PREFIX/a/b/page/2=DIGEST                   the page, with fields that the parameters hold; for who asks, alone
 *     /SERVICE/!{"a":1}                           the result of that call (service/service_name.h); no prefix is needed
 *     /SERVICE/32=services                        what is published here
 *     /PREFIX/a/b/page/32=result/8=HEX/54=VERSION/50=SEGMENT      of one that is kept, and was asked for like that
 *
 * A generic component is a piece of the path, in its octets: what a URL must escape is escaped here.  The last one may
 * hold a '?' and behind it the query, which is written as in a URL.  An empty component at the end is a slash at the
 * end.  "." and "..", and empty components elsewhere, are refused: nothing leads out of the space that is mapped.  Nor
 * does what others read as that, who take an escaped slash for one, or drop what follows a ';': "..;x", "a/../..".
 */
#ifndef FAIRGATE_CCN_MAP_H
#define FAIRGATE_CCN_MAP_H

#include "ndn/ndn_packet.h"

#define CCN_URL_MAX  4096u          /* bytes of path and query, with the NUL */
#define CCN_NAME_MAX 2304u          /* bytes of a name that we serve */

struct ccn_map {
    struct ndn_name prefix;
    const char     *path;           /* begins and ends with a slash */
};

enum ccn_kind { CCN_PAGE, CCN_METADATA, CCN_SEGMENT };

struct ccn_wanted {
    enum ccn_kind   kind;
    unsigned        map;            /* place among the maps */
    struct ndn_name page;           /* prefix and path; views of the Interest */
    struct ndn_name object;         /* CCN_SEGMENT: up to its version */
    uint64_t        segment, version;       /* CCN_SEGMENT */
    struct ndn_span digest;         /* the parameters' digest component's value; n = 0: none */
    bool            exact;          /* an answer has just this name */
    bool            is_call;        /* of a service: page ends with the component that holds "!" and its parameters, */
    struct ndn_span arguments;      /* but where they came beside the name (ApplicationParameters) */
    bool            is_listing;     /* of what is published */
    bool            is_result;      /* CCN_SEGMENT: of a call's result, or of a listing, which all callers share */
};

/*
 * The call that such a name is, as text (service/service_name.h), with a NUL; its length, or 0: it has none.
 */
size_t ccn_map_call(const struct ndn_name *page, char *out, size_t room);

/* The name of a service, whose components are its text's; its bytes are written into `o`.  False: no room. */
bool ccn_map_service(const char *text, struct ndn_out *o, struct ndn_name *name);

/* The longest prefix that fits decides.  NULL, or a static sentence: why nothing has that name. */
const char *ccn_map_read(const struct ccn_map *maps, unsigned n, const struct ndn_interest *i, struct ccn_wanted *w);

/* Path and query of that page, with a NUL; their length, or 0: it has none, or one that is too long. */
size_t ccn_map_url(const struct ccn_map *m, const struct ndn_name *page, char *out, size_t room);

/*
 * Where a redirect leads, for who asks by name: "ndn:" and the name of a page of ours, on this host (`host`, if the
 * location names one).  Its length, or 0: it leads elsewhere, or is too long, and stays as it is.
 */
size_t ccn_map_location(const struct ccn_map *maps, unsigned n, const char *host, const char *location, char *out,
                        size_t room);

#endif
