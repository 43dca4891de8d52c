/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_http.h - what of a connection may be kept: what HTTP/1.1 responses and mod_eeod's marks say (docs/pktcache.md,
 * "What is kept").
 *
 * Both directions are fed in the order of their bytes, segment by segment.  Then each segment of a response may be kept
 * or not.  Who hands over a list of spans gets spans of its body instead, however it is cut, whose framing, and what
 * else is in their segments, is left out.  Where marks bound what is unique, each run between two pairs has spans of
 * its own, from the closing mark to the opening one, these included: so where it ends is known when its last byte is
 * there.
 *
 * - Of a response with the header `Eeod` that names our marks: what stands outside of all pairs of these
 *   (marks/eeod_pairs.h), however the stream is cut and whoever the page is for: Cookie, Authorization, Set-Cookie,
 *   Vary, Pragma and no-cache do not matter.  But nothing if the response says `private` or `no-store`, of all or some
 *   of it, or the request no-store; if another `Eeod` does not agree; or if there is a Content-Encoding.  If its
 *   request was not seen, it may answer a HEAD: then only if its header ends with its segment.
 * - Marks without that header open nothing: anybody's text may have them.
 * - Of a response without that header: its body but for what is in marks, if its request was seen and RFC 9111 (3) lets
 *   a shared cache keep it.  More strictly than there: status 200 or 206, to a GET; `public`, max-age or s-maxage, or
 *   at least Last-Modified and no Expires; no no-store in the request; no Set-Cookie, no-store, no-cache, private,
 *   s-maxage=0; max-age=0 and Pragma only with `public` or s-maxage.  If the request had a Cookie, or what is a
 *   credential by its name (pk_asks.h), Last-Modified is not enough; nothing if it, or one before it on the connection,
 *   had Authorization, and only by `public` or s-maxage if those before were not seen.
 * - Of one that may vary by who asks, only if nobody said who he is.  Vary by `*`: nothing.  By Cookie or
 *   Authorization: if the request had none (and as above, none before it), and Last-Modified is not enough.  By what
 *   says how to answer rather than whom (pk_asks.h): as if it were not there.  By anything else: as by Cookie, if the
 *   request had nothing that is not in that table.
 * - Of a part (206): if it is one range of bytes, whose header `Content-Range` and Content-Length agree.  Its spans say
 *   where in the whole it begins, so that its blocks are those of the whole.  Nothing of one with a header `Eeod`.
 * - Never something of a header, of a chunk's extension or of a trailer, nor the segment that holds it, if segments are
 *   kept.
 *
 * Whatever is not as HTTP says, or not the same to all who read it (a CR or 0 in a line, half a line's end in the
 * framing of chunks, chunks of HTTP/1.0), or does not come in order, makes the connection lost: nothing of it is kept
 * until a request begins when all before it was acknowledged.  The caller knows where that is.
 *
 * No allocation.  What is read here comes from outside.
 */
#ifndef FAIRGATE_PK_HTTP_H
#define FAIRGATE_PK_HTTP_H

#include "marks/eeod_pairs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PK_ASKED_MAX  32u           /* requests in a pipeline; more make the connection lost */
#define PK_LINE_MAX   200u          /* bytes of a line that are looked at */
#define PK_HEADER_MAX 65536u        /* bytes of a header; more make it lost */
#define PK_SPANS_MAX  256u          /* of a piece */

/*
 * Bytes of a body that may be kept; `at` of the piece.  They follow those of the span before, unless they begin the
 * body, or a run of it.  ends: with them, that, or the whole, ends, too; a span without bytes may do so.
 */
struct pk_span {
    uint32_t at, n;
    uint32_t offset;                /* begins: of the first one in its block */
    bool     begins, ends;
    bool     goes_on;               /* begins: as another run of the same body, behind what is unique */
};
struct pk_spans {
    uint32_t       n;
    uint32_t       base;            /* where in the piece the segment begins that is fed next; the caller's */
    struct pk_span span[PK_SPANS_MAX];
};

/* One direction.  States: pk_http.c. */
struct pk_message {
    uint8_t  state;
    uint8_t  line_n;
    bool     line_long;             /* there was more than is in `line` */
    bool     line_cr, line_odd;     /* it ends with CR so far; has one elsewhere, or a 0 */
    bool     old;                   /* HTTP/1.0, or that is not known: it has no chunks */
    bool     chunked, sized;
    uint16_t seen;                  /* what its header said */
    uint16_t status;                /* of a response */
    uint16_t offset;                /* of a range: of its first byte in its block */
    uint32_t header;                /* bytes of the header so far */
    uint64_t part;                  /* bytes of it, if it is a range */
    uint64_t left;                  /* bytes of the body, or of the chunk */
    uint32_t begun;                 /* messages */
    char     line[PK_LINE_MAX];
};

struct pk_http {
    struct pk_message ask, answer;
    uint8_t  asked[PK_ASKED_MAX];   /* of each request that waits for its response */
    uint8_t  first, waiting;
    uint8_t  keep;                  /* of the present response */
    bool     authorized, unknown;   /* a request had Authorization; those before were not seen */
    bool     never;                 /* what was seen from its beginning is not HTTP, or is not any more */
    bool     blocks;                /* it goes as spans */
    bool     begun, over;           /* a span has begun it, has ended it */
    bool     run;                   /* the next span begins another run of it */
    bool     to_end;                /* with it, the whole ends */
    uint16_t offset;                /* of its first byte in its block */
    struct eeod_pairs pairs;        /* of its body */
    bool     ended;                 /* the last segment that was fed ends a response */
};

void pk_http_begin(struct pk_http *h);      /* a connection is made */
void pk_http_lose(struct pk_http *h);       /* something is missing */
bool pk_http_lost(const struct pk_http *h);
/* For as long as the connection lasts: it was no HTTP before its first response was over, or is none since (101). */
bool pk_http_never(const struct pk_http *h);

/* Of the present response, for figures: it has a Content-Encoding; its header says that it is not to be kept. */
bool pk_http_encoded(const struct pk_http *h);
bool pk_http_private(const struct pk_http *h);

/*
 * Whether a segment from a client is one whole request without a body: then a lost connection may begin anew with it.
 */
bool pk_http_looks_asked(const void *bytes, size_t n);

void pk_http_ask(struct pk_http *h, const void *bytes, size_t n);
/*
 * A segment of responses: whether it may be kept, as a whole.  spans: adds to them, of the piece of which spans->base
 * bytes stand before it; NULL: nothing goes as spans.
 */
bool pk_http_answer(struct pk_http *h, const struct eeod_marks *marks, const void *bytes, size_t n,
                    struct pk_spans *spans);

#endif
