/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * web_fetch.h - what stands behind URLs that others name, fetched by http, https and ftp (libcurl).
 *
 * Any thread starts transfers; one thread of the caller's runs them, many at once, and calls what they were started
 * with.  Everything about a transfer is hostile: the URL, the names and addresses behind it, each redirect, the header,
 * how long the body is and how fast it comes.  So:
 *
 * - whom it may ask is judged for the URL and anew for every redirect (web_rules.h), the address at each connection;
 * - nothing of ours goes along: no user, cookie, proxy or .netrc; only the validator that is given, redirects included;
 * - a transfer ends `seconds` after web_start and holds no more than `bytes` of a body and 64 KiB of headers.  No
 *   packed answers are asked for, and one that is packed all the same fails;
 * - a certificate that is not valid fails.
 *
 * A name's look-up that takes longer than its transfer goes on in a thread of libcurl's until the resolver gives up.
 * libcurl waits for what an ftp server says at a transfer's end, and nothing else runs meanwhile; that is at most
 * WEB_FTP_WAIT seconds for each of two answers, and no more than that is waited for any other answer of such a server.
 */
#ifndef FAIRGATE_WEB_FETCH_H
#define FAIRGATE_WEB_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "web_rules.h"

#define WEB_FTP_WAIT 5

enum web_end {
    WEB_WHOLE,          /* an answer, whatever its status: a server's 404 is whole */
    WEB_NOT_ALLOWED,    /* the URL or one that it led to, by its name, its port or its address */
    WEB_TOO_LARGE, WEB_TOO_SLOW,
    WEB_NO_ROOM,        /* `take` of the rules found none for the body */
    WEB_FAILED          /* anything else; too many redirects too */
};

struct web_answer {
    enum web_end end;
    unsigned     status;                /* of HTTP or ftp, the last that came; 0: none */
    char        *validator;             /* to ask again by: ETag, else Last-Modified; NULL: none */
    char        *media_type;            /* Content-Type as it was said, with its parameters; NULL: not said, or ftp */
    uint8_t     *body;                  /* WEB_WHOLE: not NULL, with a NUL behind it; else NULL */
    size_t       n;                     /* bytes of the body */
    uint64_t     fresh_s;               /* how long it may be given again (web_fresh.h), the way to it included */
    char         error[WEB_ERROR_MAX];  /* printable ASCII; for logs, since it says what is found inside; "" if whole */
};

/*
 * Called once for each transfer, from web_run or web_free.  The answer is the callee's until it returns: what it wants
 * to keep of validator, media_type and body it takes (all malloc'ed) and leaves NULL there; the rest is freed.  It may
 * call web_start, but neither web_run nor web_free.
 */
typedef void web_done(void *of, struct web_answer *a);

struct web_fetch;

/* The rules are copied.  NULL and *error (base_error.h).  The process ignores SIGPIPE, which TLS may raise. */
struct web_fetch *web_new(const struct web_rules *rules, char **error);
/*
 * Any thread.  0, and done is called, perhaps before this returns; or -1 (no memory; in web_free), and it is not.
 * `bytes`: of this one's body, at most, where the rules permit more.
 */
int               web_start(struct web_fetch *f, const char *uri, uint64_t bytes, web_done *done, void *of);
/* The same; unless it has another validator by now, a server of HTTP answers 304, without a body. */
int               web_start_if(struct web_fetch *f, const char *uri, uint64_t bytes, const char *validator,
                               web_done *done, void *of);
/*
 * One thread: starts, goes on with and ends transfers; waits for something to do for timeout_ms at the most.  How many
 * are under way or wait.
 */
unsigned          web_run(struct web_fetch *f, int timeout_ms);
/*
 * Ends all with WEB_FAILED.  By the thread of web_run, or when that has ended; no other thread may be in web_start or
 * call it any more.
 */
void              web_free(struct web_fetch **f);

#endif
