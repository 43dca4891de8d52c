/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccn_make.h - a page from httpd: the request for its URL runs through the normal handlers, in the thread that asks.
 *
 * The request has a secondary connection, as mod_http2's streams have.  That and its master connection are the
 * request's own, and so is their socket, which is not connected.  The client's address is the face's, for Require.
 * Filters of content, error documents, redirects inside, logs and everything else are httpd's; the one thing that is
 * missing is the header as text.
 */
#ifndef FAIRGATE_CCN_MAKE_H
#define FAIRGATE_CCN_MAKE_H

#include <stddef.h>     /* before APR, whose macros take its offsetof only if it is there already */

#include <apr_thread_proc.h>
#include <httpd.h>

#include "ccn_child.h"
#include "ndn/ndn_packet.h"

/* What a face looks like to httpd. */
struct ccn_seen_as {
    server_rec     *server;
    apr_sockaddr_t *client, *local;
    const char     *client_ip, *local_ip;
};

struct ccn_order {
    const struct ccn_seen_as *from;
    const char *url;                /* path and query */
    const char *media_type;         /* of `body`, which is posted; NULL: GET */
    struct ndn_span body;
    const char *fields;             /* lines "Field: value\n" that the client adds, or NULL */
    const char *signer;             /* name of the key that signed the Interest, or NULL */
    const char *name;               /* of the page, for people */
    const char *class;
    uint64_t    waited_us;
    uint32_t    joined;             /* how many ask for it */
};

struct ccn_made {
    int       status;
    char      media_type[NDN_MEDIA_TYPE_MAX], location[NDN_LOCATION_MAX], encoding[NDN_ENCODING_MAX + 1];
    uint64_t  freshness_ms;
    bool      says_freshness;       /* Cache-Control or Expires stands in its header */
    bool      is_private;           /* for nobody else than who asked */
    bool      too_large, whole;
    uint8_t  *body;                 /* malloc'ed: the caller frees it */
    size_t    n, room, most;        /* most: bytes that a page may have */
};

/* `m` is zeroed but for `most`.  The page's status, also when there was none: 500. */
void ccn_make(const struct ccn_order *o, struct ccn_made *m, apr_thread_t *thread, unsigned number);

/* As who a request is made that no client makes: this host itself, or nobody, whom only what is open to all lets in. */
void ccn_make_as_host(server_rec *s, struct ccn_seen_as *as);
void ccn_make_as_nobody(server_rec *s, struct ccn_seen_as *as);

/* It is one of those on which pages are made. */
bool ccn_make_is_ours(const conn_rec *c);

int  ccn_make_child_init(apr_pool_t *pchild, server_rec *s);
void ccn_make_register(void);       /* filters */
int  ccn_make_post_read_request(request_rec *r);

#endif
