/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_url.h - a URL as rules see it: one text for all the ways in which a client can write it.
 *
 *     scheme://host[:port]/path?query         the query with its ? only if there is one
 *     host:port                               of a request for a tunnel (CONNECT), which has nothing else
 *
 * Scheme and host are in small letters; a dot that ends the host, a user and a port that the scheme implies are not
 * there; an IPv6 address is in brackets and written the shortest way; whatever may not stand in a host is escaped, so
 * that nothing in it looks like a path.  Path and query have the plain spelling of pages/pages_url.h.  So the first ?
 * of the text is where the query begins, and there is no other.
 *
 * INPUT IS HOSTILE: any bytes in any piece.  No allocation, no lock, no system call.
 */
#ifndef FAIRGATE_POLICY_URL_H
#define FAIRGATE_POLICY_URL_H

#include "policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a host knows of it; p == NULL is not known.  Pieces are as they came. */
struct policy_url {
    struct policy_text scheme;
    struct policy_text host;        /* without user and port; an IPv6 address with or without brackets */
    uint32_t           port;        /* 0: none was named */
    struct policy_text target;      /* path and query; with scheme.p == NULL and target.p == NULL it is host:port */
    int                slashes;     /* this server takes %2F in a path for a slash */
};

#define POLICY_URL_ROOM(n) (3 * (n) + 64)   /* for n bytes of scheme, host and target together; with the NUL */

static inline size_t policy_url_room(const struct policy_url *u)
{
    return POLICY_URL_ROOM(u->scheme.n + u->host.n + u->target.n);
}

/*
 * The text, in `out` and with a NUL behind it; policy_url_room(u) is always enough, and with less there is none (p ==
 * NULL).
 */
struct policy_text policy_url_text(const struct policy_url *u, char *out, size_t room);
/*
 * Takes a URL that somebody wrote in one piece apart: a user is left out, text without "://" is a path if it has a
 * slash, else host:port.
 */
struct policy_url  policy_url_parse(struct policy_text text);

#ifdef __cplusplus
}
#endif

#endif
