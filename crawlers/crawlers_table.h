/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crawlers_table.h - who crawls from where: what fairgate-bots writes and the gateway reads.
 *
 * Version 1 is text: lines that end with \n, fields with a TAB between them.
 *
 *     fairgate-bots  1  MADE
 *     crawler  googlebot
 *     agent  Googlebot
 *     name  googlebot.com
 *     source  https://www.example.com/googlebot.json  1790000000  "5f1-2a"
 *     66.249.64.0/27
 *     ...
 *     end  CRC
 *
 *     MADE       when the file was written, seconds since 1970
 *     crawler    its name, each once; what follows is its own, in this order, of each as many as there are:
 *     agent      what stands in the user agents of those who claim to be it, in letters of either case
 *     name       names of its addresses end so, at a dot
 *     source     where its networks were published; when that was last confirmed; the validator of HTTP by which it is
 *                asked for again (an entity tag, or a date), or "-"
 *
 * and behind a source its networks (crawlers_prefix.h), ascending, each once.  CRC is that of RFC 1952, eight
 * hexadecimal digits, over all bytes before the line that begins with `end`.
 *
 * The file comes from outside: nothing of it is used before it has proved whole, and whoever writes it decides who is
 * believed: nobody else may write there.
 */
#ifndef FAIRGATE_CRAWLERS_TABLE_H
#define FAIRGATE_CRAWLERS_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "crawlers_prefix.h"

#define CRAWLERS_MAX           64u          /* crawlers: a bit for each of a number */
#define CRAWLERS_NAME_ROOM     32u          /* of a name, with its NUL: lower-case letters, digits, '-', '_', '.' */
#define CRAWLERS_AGENTS_MAX    8u           /* of one crawler */
#define CRAWLERS_SUFFIXES_MAX  8u
#define CRAWLERS_SOURCES_MAX   16u
#define CRAWLERS_AGENT_MAX     63u          /* bytes */
#define CRAWLERS_AGENT_LEAST   3u           /* fewer stand in anybody's user agent */
#define CRAWLERS_SUFFIX_MAX    253u
#define CRAWLERS_URL_MAX       2000u
#define CRAWLERS_VALIDATOR_MAX 255u
#define CRAWLERS_PREFIXES_MAX  65536u       /* of all crawlers */

struct crawlers_source {
    char                   *url;            /* or the path of a file */
    char                   *validator;      /* NULL: none */
    int64_t                 checked;        /* 0: never */
    struct crawlers_prefix *prefix;
    uint32_t                n;
};

struct crawlers_crawler {
    char                    name[CRAWLERS_NAME_ROOM];
    char                   *agent[CRAWLERS_AGENTS_MAX], *suffix[CRAWLERS_SUFFIXES_MAX];
    struct crawlers_source  source[CRAWLERS_SOURCES_MAX];
    uint32_t                nagents, nsuffixes, nsources;
};

struct crawlers_table {
    int64_t                 made;
    uint32_t                n;
    struct crawlers_crawler crawler[CRAWLERS_MAX];
};

/* Empty; NULL: no memory.  What it leads to is malloc'ed and its own. */
struct crawlers_table *crawlers_table_new(void);
void                   crawlers_table_free(struct crawlers_table **t);

/* NULL and *error: "FILE:LINE: what is wrong" (base_error.h).  The stream form closes it; name is for sentences. */
struct crawlers_table *crawlers_table_read(const char *path, char **error);
struct crawlers_table *crawlers_table_read_stream(FILE *stream, const char *name, char **error);

/*
 * In the place of what stood at path, whole or not at all (base_replace.h), readable by all.  0, or -1 and *error.  The
 * stream form only writes.  What is not as the bounds above have it is our own mistake, asserted.
 */
int crawlers_table_write(const struct crawlers_table *t, const char *path, char **error);
int crawlers_table_write_stream(const struct crawlers_table *t, FILE *stream);

/* May they stand in a table?  Whoever fills one asks. */
bool crawlers_name_fits(const char *name);
bool crawlers_agent_fits(const char *agent);
/* a domain in lower case, at least two labels, no dot at its ends */
bool crawlers_suffix_fits(const char *suffix);
bool crawlers_url_fits(const char *url);
bool crawlers_validator_fits(const char *validator);

#endif
