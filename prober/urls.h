/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * urls.h - every URL that a walk has met, each once, in the order in which they were met: the set and the queue in one.
 *
 * A URL is an origin (scope.h) and a target in the spelling of pages/pages_url.h.  One record of 80 bytes, its text,
 * and 6 bytes of hash on average; numbers of URLs stay what they are.  What is to be asked for next is the next number:
 * links are followed breadth first without a queue of their own.
 */
#ifndef FAIRGATE_URLS_H
#define FAIRGATE_URLS_H

#include <stddef.h>
#include <stdint.h>

#include "pages/pages_table.h"

#define URLS_NONE UINT32_MAX

/*
 *     UNASKED ──> KNOWN      a complete 200 answer, now or on an earlier run, gave its size
 *             ──> NOTHING    it was asked for and has none: a redirect, an error, a refusal
 */
enum url_state { URL_UNASKED, URL_KNOWN, URL_NOTHING };

struct url {
    uint64_t body[PAGES_CODINGS], spread;       /* as in pages_table.h; so are header, samples and depth */
    uint32_t text, etag;                        /* urls_target, urls_etag */
    uint32_t hash, header, checked, modified;   /* when: seconds since 1970, 0 = unknown */
    uint32_t time;                              /* microseconds, as in pages_table.h */
    uint16_t length, etag_length, samples, depth, origin;
    uint8_t  state, flags, tries;               /* flags: PAGES_... */
};

struct urls;

struct urls *urls_new(void);                    /* NULL: out of memory */
void         urls_free(struct urls **u);
uint32_t     urls_count(const struct urls *u);
struct url  *urls_at(struct urls *u, uint32_t i);       /* valid until the next urls_add */
const char  *urls_target(const struct urls *u, uint32_t i);
const char  *urls_etag(const struct urls *u, uint32_t i);       /* NULL = none */
uint32_t     urls_find(const struct urls *u, uint16_t origin, const char *target, size_t n);
/*
 * The URL's number; URLS_NONE when out of memory or room (2^32 bytes of text, PAGES_ROWS_MAX URLs).  *fresh: it was not
 * known.
 */
uint32_t     urls_add(struct urls *u, uint16_t origin, const char *target, size_t n, int *fresh);
/* 0, or -1 when out of memory */
int          urls_set_etag(struct urls *u, uint32_t i, const char *etag, size_t n);

#endif
