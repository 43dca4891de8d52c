/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages_table.h - the page-size table as a file (website-gateway paper, 2.3 and 3.4): what the prober writes and the
 * gateway reads.
 *
 * Version 2 is text: lines that end with \n, fields with a TAB between them.
 *
 *     fairgate-pages  2  ROWS
 *     origin  http://www.example.org  5ca1ab1e0ddba115
 *     /index.html  5120  1411  -  310  0  1  0  1790000000  1789000000  -  "5f1-2a"  2150
 *     ...
 *     end  CRC
 *
 * Origins stand in ascending order of bytes, each once; behind each, sixteen hexadecimal digits that stand for the
 * rules by which its links were followed (robots.txt, patterns, bounds), or zeros if not all were: who walks by other
 * rules must read documents anew.  A row is  target, body, gzip, br, header, spread, samples, depth, checked, modified,
 * flags, etag, time:
 *
 *     target      path and query in the spelling of pages_url.h; rows of an origin stand in ascending order of bytes,
 *                 each once
 *     body        bytes that the body of a complete 200 answer to GET has on the wire, mean over the samples, for a
 *                 client that takes no content coding; "-" is unknown
 *     gzip, br    the same for a client that takes gzip, and one that takes br too; "-" is as `body`
 *     header      bytes of the answer's header
 *     spread      standard deviation of the samples, bytes
 *     samples     answers that this was learnt from; 0: there is no size (a redirect, an error), it is only asked for
 *                 again
 *     depth       links from where the walk began
 *     checked     when it was last asked for, and when it was last modified by its own account: seconds since 1970, 0
 *                 is unknown
 *     flags       letters, or "-": c it sets a cookie, d it may hold links, v its size varies, u it was found and not
 *                 asked for yet (only in a checkpoint)
 *     etag        its validator, or "-"
 *     time        microseconds from the request to the end of a whole answer to GET, mean; 0 is unknown
 *
 * Version 1 is the same without `time`, and is read, too.
 *
 * CRC is that of RFC 1952, eight hexadecimal digits, over all bytes before the line that begins with `end`.
 *
 * The file comes from outside: a reader believes nothing before its bounds are checked, and who reads must not use a
 * row for good before PAGES_END came, which says that the file is whole.
 */
#ifndef FAIRGATE_PAGES_TABLE_H
#define FAIRGATE_PAGES_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PAGES_TARGET_MAX 8192u                      /* bytes of a target */
#define PAGES_ETAG_MAX   256u
#define PAGES_ORIGIN_MAX 300u
#define PAGES_ROWS_MAX   (UINT32_C(1) << 28)
#define PAGES_SIZE_MAX   (UINT64_C(1) << 42)        /* bytes of a body */
#define PAGES_TIME_MAX   UINT32_MAX                 /* microseconds: more than an hour */
#define PAGES_UNKNOWN    UINT64_MAX

enum pages_coding { PAGES_IDENTITY, PAGES_GZIP, PAGES_BR, PAGES_CODINGS };     /* the most that a client takes */

#define PAGES_COOKIE   1u
#define PAGES_DOCUMENT 2u
#define PAGES_VARIES   4u
#define PAGES_UNASKED  8u
#define PAGES_FLAGS_ROOM 8          /* for pages_flags_text */

struct pages_row {
    const char *target;             /* NUL behind it; stays until the next call with the reader */
    const char *etag;               /* NULL = none */
    uint64_t    body[PAGES_CODINGS];
    uint64_t    spread;
    uint32_t    target_length, etag_length;
    uint32_t    header, samples, depth, flags, time;
    int64_t     checked, modified;
};

typedef struct pages_reader pages_reader_t;
typedef struct pages_writer pages_writer_t;

enum pages_next { PAGES_ROW, PAGES_END, PAGES_BAD };

/*
 * error: NULL, or a sentence "FILE:LINE: what is wrong", malloc'ed, the caller frees.
 *
 * The stream form reads from where the stream stands and closes it with the reader; name is for sentences.
 */
pages_reader_t *pages_reader_open(const char *path, char **error);
pages_reader_t *pages_reader_of(FILE *stream, const char *name, char **error);
/* as many as the file promises; not more will come */
uint32_t        pages_reader_rows(const pages_reader_t *r);
/* of the last row: scheme, host in lower case, port if it isn't the scheme's */
const char     *pages_reader_origin(const pages_reader_t *r);
uint64_t        pages_reader_rules(const pages_reader_t *r);        /* of that origin */
enum pages_next pages_reader_next(pages_reader_t *r, struct pages_row *row, char **error);
void            pages_reader_close(pages_reader_t **r);

/* The letters of flags, "-" for none, to out and back; the latter 0 if the text is not what the former writes. */
void            pages_flags_text(uint32_t flags, char out[PAGES_FLAGS_ROOM]);
int             pages_flags_of(const char *text, uint32_t *flags);
/* May it stand in a table?  What a writer is given must. */
bool pages_etag_fits(const char *etag);

/*
 * Writes to PATH.new, a new file (what had that name goes, and nothing is written through it), readable by all; and
 * `commit` puts it in PATH's place when all of it is on the disk:  PATH is the old file or the new one at any moment.
 * One writer at a time: the caller holds a lock of its own.  After an error of any call only `abort` is left, and PATH
 * is as it was.  Both take the writer away.
 */
pages_writer_t *pages_writer_open(const char *path, uint32_t rows, char **error);
/* commit then only writes the end */
pages_writer_t *pages_writer_of(FILE *stream, const char *name, uint32_t rows, char **error);
int             pages_writer_origin(pages_writer_t *w, const char *origin, uint64_t rules);     /* ascending */
/* ascending by target in an origin */
int             pages_writer_row(pages_writer_t *w, const struct pages_row *row);
int             pages_writer_commit(pages_writer_t **w, char **error);
void            pages_writer_abort(pages_writer_t **w);

#endif
