/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetch.h - requests over a few connections, and what their answers were (libcurl's multi interface, HTTP/1.1 and
 * HTTP/2).
 *
 * One thread; callbacks come from fetch_run.  Nothing here follows a redirect, keeps a cookie, uses a proxy or knows a
 * scheme but http and https; whom a connection goes to is checked by its address (scope_allows).
 */
#ifndef FAIRGATE_FETCH_H
#define FAIRGATE_FETCH_H

#include <stdint.h>

#include "scope.h"
#include "settings.h"

#define FETCH_UNKNOWN UINT64_MAX

struct fetch_request {
    uint16_t          origin;
    const char       *target;           /* spelt; read at fetch_start only, like etag */
    int               head;
    enum pages_coding coding;           /* the most that is accepted */
    const char       *etag;             /* validators of an answer that is known, NULL and 0 without */
    uint32_t          modified;
    void             *context;
};

enum fetch_type { FETCH_OTHER, FETCH_HTML, FETCH_CSS, FETCH_XML };

enum fetch_end {
    FETCH_WHOLE,            /* the answer came to its end */
    FETCH_CUT,              /* we broke it off: the callback for its body said so */
    FETCH_REFUSED,          /* no address that the scope allows */
    FETCH_FAILED            /* anything else: see `error` */
};

/* An answer; complete in `done`, header only in `header`. */
struct fetch_answer {
    enum fetch_end    end;
    unsigned          status;           /* 0: no answer */
    enum fetch_type   type;
    enum pages_coding coding;           /* what it is packed with */
    int               coded;            /* packed with something, known or not */
    int               packable;         /* of a type that servers pack */
    int               cookie, nofollow;
    uint64_t          length;           /* Content-Length, or FETCH_UNKNOWN */
    uint64_t          wire;             /* bytes of the body as they came */
    uint64_t          plain;            /* the same unpacked */
    uint32_t          header;           /* bytes of the header */
    uint32_t          time;             /* microseconds from the request to the end */
    uint32_t          modified;
    uint32_t          retry_after;      /* seconds, 0 = not said */
    char              etag[PAGES_ETAG_MAX + 1];
    char              location[PAGES_TARGET_MAX + 1];
    char              error[256];
};

/* header: before the body.  body: unpacked; both return 0 to go on, else the answer is broken off (FETCH_CUT). */
struct fetch_calls {
    int  (*header)(void *context, const struct fetch_answer *a);
    int  (*body)(void *context, const struct fetch_answer *a, const char *data, size_t n);
    void (*done)(void *context, const struct fetch_answer *a);
};

struct fetch;

/* settings and scope stay the caller's and must outlive it.  NULL and *error, a sentence the caller frees. */
struct fetch *fetch_new(const struct settings *s, const struct scope *scope, const struct fetch_calls *calls,
                        char **error);
/* 0, or -1 when all connections are taken */
int           fetch_start(struct fetch *f, const struct fetch_request *r);
unsigned      fetch_running(const struct fetch *f);
void          fetch_run(struct fetch *f, int timeout_ms);       /* until something happens, or so long */
/* received so far, headers and bodies of answers that ended */
uint64_t      fetch_bytes(const struct fetch *f);
uint64_t      fetch_requests(const struct fetch *f);
void          fetch_free(struct fetch **f);

#endif
